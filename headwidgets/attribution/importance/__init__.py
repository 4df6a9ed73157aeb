"""Which heads matter for a task? One number per head, by any of several methods."""

from headwidgets.attribution.importance.ablation import ablate
from headwidgets.attribution.importance.methods import METHODS, importance, options_of

__all__ = ["METHODS", "ablate", "importance", "options_of"]
