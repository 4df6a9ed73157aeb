"""Which heads and links carry a prediction?"""

from headwidgets.attribution.ablation import ablate
from headwidgets.attribution.correlation import (
    Correlation,
    CorrelationDifference,
    compare_correlations,
    correlate,
)
from headwidgets.attribution.effectiveness import Effectiveness, effectiveness
from headwidgets.attribution.effects import Patching
from headwidgets.attribution.importance import importance
from headwidgets.attribution.patching import patch
from headwidgets.attribution.paths import attribute
from headwidgets.attribution.relevance import Relevance, propagate_relevance
from headwidgets.attribution.result import Attribution

__all__ = [
    "Attribution",
    "Correlation",
    "CorrelationDifference",
    "Effectiveness",
    "Patching",
    "Relevance",
    "ablate",
    "attribute",
    "compare_correlations",
    "correlate",
    "effectiveness",
    "importance",
    "patch",
    "propagate_relevance",
]
