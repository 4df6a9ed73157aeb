"""Which heads and links carry a prediction?"""

from headwidgets.attribution.effectiveness import Effectiveness, effectiveness
from headwidgets.attribution.importance import importance
from headwidgets.attribution.paths import attribute
from headwidgets.attribution.result import Attribution

__all__ = ["Attribution", "Effectiveness", "attribute", "effectiveness", "importance"]
