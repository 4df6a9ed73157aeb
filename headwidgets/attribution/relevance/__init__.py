"""Layer-wise relevance propagation to heads: how much of a prediction is handed down to each head's output?"""

from headwidgets.attribution.relevance.measuring import measure, propagate_relevance
from headwidgets.attribution.relevance.result import Leak, Relevance

__all__ = ["Leak", "Relevance", "measure", "propagate_relevance"]
