"""Which heads and links carry a prediction?"""

from headwidgets.attribution.correlation import (
    Correlation,
    CorrelationDifference,
    compare_correlations,
    correlate,
)
from headwidgets.attribution.effectiveness import Effectiveness, effectiveness
from headwidgets.attribution.faithfulness.checks import faithfulness
from headwidgets.attribution.faithfulness.report import Faithfulness
from headwidgets.attribution.importance.ablation import ablate
from headwidgets.attribution.importance.methods import importance
from headwidgets.attribution.patching.effects import Patching
from headwidgets.attribution.patching.patch import patch
from headwidgets.attribution.paths import attribute
from headwidgets.attribution.relevance import Relevance, propagate_relevance
from headwidgets.attribution.result import Attribution
from headwidgets.attribution.trees import Tree, tree
from headwidgets.attribution.triggers.attack import attack
from headwidgets.attribution.triggers.find import find_triggers
from headwidgets.attribution.triggers.found import Trigger, Triggers
from headwidgets.attribution.triggers.outcome import Attack

__all__ = [
    "Attack",
    "Attribution",
    "Correlation",
    "CorrelationDifference",
    "Effectiveness",
    "Faithfulness",
    "Patching",
    "Relevance",
    "Tree",
    "Trigger",
    "Triggers",
    "ablate",
    "attack",
    "attribute",
    "compare_correlations",
    "correlate",
    "effectiveness",
    "faithfulness",
    "find_triggers",
    "importance",
    "patch",
    "propagate_relevance",
    "tree",
]
