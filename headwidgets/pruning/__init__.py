"""What is left without it? Curves of a metric over the number of pruned heads."""

from headwidgets.models.evaluate import Evaluator
from headwidgets.pruning.comparison import Comparison, compare
from headwidgets.pruning.curves import PruningCurve, curve, default_counts, evaluator, pruning_order
from headwidgets.pruning.knockout import Knockout, knockout

__all__ = [
    "Comparison",
    "Evaluator",
    "Knockout",
    "PruningCurve",
    "compare",
    "curve",
    "default_counts",
    "evaluator",
    "knockout",
    "pruning_order",
]
