"""What does the user hold? Live widgets for a notebook; thin, and free of torch."""

from headwidgets.widgets.attention import AttentionView
from headwidgets.widgets.attribution import AttributionView
from headwidgets.widgets.curves import CurveView
from headwidgets.widgets.explorer import Explorer, explore
from headwidgets.widgets.grid import HeadGrid
from headwidgets.widgets.headmap import HeadMap
from headwidgets.widgets.patterns import PatternView
from headwidgets.widgets.probe import ProbeView
from headwidgets.widgets.pruning import PruningExplorer
from headwidgets.widgets.scatter import ImportanceScatter
from headwidgets.widgets.tree import AttributionTree
from headwidgets.widgets.triggers import TriggerTable

__all__ = [
    "AttentionView",
    "AttributionTree",
    "AttributionView",
    "CurveView",
    "Explorer",
    "HeadGrid",
    "HeadMap",
    "ImportanceScatter",
    "PatternView",
    "ProbeView",
    "PruningExplorer",
    "TriggerTable",
    "explore",
]
