"""What does a head bring back between a clean and a corrupted text?"""

from headwidgets.attribution.patching.effects import Patching
from headwidgets.attribution.patching.patch import measure, patch

__all__ = ["Patching", "measure", "patch"]
