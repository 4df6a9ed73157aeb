"""Which heads and links carry a prediction?"""

from headwidgets.attribution.ablation import ablate
from headwidgets.attribution.attack import attack
from headwidgets.attribution.attack_result import Attack
from headwidgets.attribution.correlation import (
    Correlation,
    CorrelationDifference,
    compare_correlations,
    correlate,
)
from headwidgets.attribution.effectiveness import Effectiveness, effectiveness
from headwidgets.attribution.effects import Patching
from headwidgets.attribution.faithfulness import faithfulness
from headwidgets.attribution.importance import importance
from headwidgets.attribution.patching import patch
from headwidgets.attribution.paths import attribute
from headwidgets.attribution.relevance import Relevance, propagate_relevance
from headwidgets.attribution.report import Faithfulness
from headwidgets.attribution.result import Attribution
from headwidgets.attribution.trees import Tree, tree
from headwidgets.attribution.trigger_result import Trigger, Triggers
from headwidgets.attribution.triggers import find_triggers

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
