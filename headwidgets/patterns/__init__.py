"""Where does a head look? Statistics of attention over many texts, in one streaming pass (`hw.patterns`)."""

from headwidgets.patterns.result import PatternSummary
from headwidgets.patterns.singles import confidence, entropy, mean_distance, offset, separators, token_attention
from headwidgets.patterns.summary import summary

__all__ = [
    "PatternSummary",
    "confidence",
    "entropy",
    "mean_distance",
    "offset",
    "separators",
    "summary",
    "token_attention",
]
