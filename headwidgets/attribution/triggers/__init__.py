"""Which words lead a model astray? Found along its strongest links, tried in other texts."""

from headwidgets.attribution.triggers.attack import attack
from headwidgets.attribution.triggers.find import find_triggers
from headwidgets.attribution.triggers.found import Trigger, Triggers
from headwidgets.attribution.triggers.outcome import Attack

__all__ = ["Attack", "Trigger", "Triggers", "attack", "find_triggers"]
