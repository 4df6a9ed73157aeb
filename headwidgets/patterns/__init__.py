"""Where does a head look? Statistics of attention over many texts, in one streaming pass (`hw.patterns`)."""

from headwidgets.patterns.alike import HeadDistances
from headwidgets.patterns.distances import distance
from headwidgets.patterns.gradient import gradient
from headwidgets.patterns.layers import LayerTest
from headwidgets.patterns.layout import Clusters, Layout
from headwidgets.patterns.result import PatternSummary
from headwidgets.patterns.singles import confidence, entropy, mean_distance, offset, separators, token_attention
from headwidgets.patterns.summary import summary

__all__ = [
    "Clusters",
    "HeadDistances",
    "LayerTest",
    "Layout",
    "PatternSummary",
    "confidence",
    "distance",
    "entropy",
    "gradient",
    "mean_distance",
    "offset",
    "separators",
    "summary",
    "token_attention",
]
