"""headwidgets: see, probe and prune the attention heads of any Hugging Face transformer, live in a notebook.

The names below are resolved when first used, so that importing the package costs nothing and needs no torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOMES = {
    "Attack": "headwidgets.attribution",
    "AttentionMaps": "headwidgets.models.attention",
    "AttentionView": "headwidgets.widgets",
    "Attribution": "headwidgets.attribution",
    "AttributionTree": "headwidgets.widgets",
    "AttributionView": "headwidgets.widgets",
    "Cancelled": "headwidgets.errors",
    "Comparison": "headwidgets.pruning",
    "Correlation": "headwidgets.attribution",
    "CorrelationDifference": "headwidgets.attribution",
    "CurveView": "headwidgets.widgets",
    "Effectiveness": "headwidgets.attribution",
    "Estimate": "headwidgets.scores",
    "Evaluator": "headwidgets.pruning",
    "Explorer": "headwidgets.widgets",
    "Faithfulness": "headwidgets.attribution",
    "Frequencies": "headwidgets.probing",
    "Head": "headwidgets.scores",
    "HeadDistances": "headwidgets.patterns.alike",
    "HeadGrid": "headwidgets.widgets",
    "HeadMap": "headwidgets.widgets",
    "HeadModel": "headwidgets.models",
    "HeadScores": "headwidgets.scores",
    "HeadwidgetsError": "headwidgets.errors",
    "ImportanceScatter": "headwidgets.widgets",
    "InputError": "headwidgets.errors",
    "Interval": "headwidgets.scores",
    "Job": "headwidgets.jobs",
    "Knockout": "headwidgets.pruning",
    "Link": "headwidgets.probing",
    "LinkExample": "headwidgets.probing",
    "Links": "headwidgets.probing",
    "MemoryLimitError": "headwidgets.errors",
    "NormMaps": "headwidgets.models.norms",
    "Patching": "headwidgets.attribution",
    "PatternSummary": "headwidgets.patterns",
    "PatternView": "headwidgets.widgets",
    "PositionalHeads": "headwidgets.probing",
    "Probe": "headwidgets.probing.probe.trained",
    "ProbeEvaluation": "headwidgets.probing.probe.evaluation",
    "ProbeView": "headwidgets.widgets",
    "PruningCurve": "headwidgets.pruning",
    "PruningExplorer": "headwidgets.widgets",
    "RareWords": "headwidgets.probing",
    "Relevance": "headwidgets.attribution",
    "Roles": "headwidgets.roles",
    "RolesAfter": "headwidgets.probing",
    "Standing": "headwidgets.probing",
    "Tree": "headwidgets.attribution",
    "Treebank": "headwidgets.text.treebank",
    "Trigger": "headwidgets.attribution",
    "TriggerTable": "headwidgets.widgets",
    "Triggers": "headwidgets.attribution",
    "UnsupportedError": "headwidgets.errors",
    "VerificationError": "headwidgets.errors",
    "VerificationReport": "headwidgets.models.report",
    "doctor": "headwidgets.doctor",
    "explore": "headwidgets.widgets",
    "load": "headwidgets.models",
    "read": "headwidgets.files",
    "wrap": "headwidgets.models",
}
_ROOMS = ("attribution", "demo", "jobs", "models", "patterns", "probing", "pruning")

__all__ = ["__version__", *_HOMES, *_ROOMS]

if TYPE_CHECKING:
    from headwidgets import attribution as attribution
    from headwidgets import demo as demo
    from headwidgets import jobs as jobs
    from headwidgets import models as models
    from headwidgets import patterns as patterns
    from headwidgets import probing as probing
    from headwidgets import pruning as pruning
    from headwidgets.attribution import Attack as Attack
    from headwidgets.attribution import Attribution as Attribution
    from headwidgets.attribution import Correlation as Correlation
    from headwidgets.attribution import CorrelationDifference as CorrelationDifference
    from headwidgets.attribution import Effectiveness as Effectiveness
    from headwidgets.attribution import Faithfulness as Faithfulness
    from headwidgets.attribution import Patching as Patching
    from headwidgets.attribution import Relevance as Relevance
    from headwidgets.attribution import Tree as Tree
    from headwidgets.attribution import Trigger as Trigger
    from headwidgets.attribution import Triggers as Triggers
    from headwidgets.doctor import doctor as doctor
    from headwidgets.errors import Cancelled as Cancelled
    from headwidgets.errors import HeadwidgetsError as HeadwidgetsError
    from headwidgets.errors import InputError as InputError
    from headwidgets.errors import MemoryLimitError as MemoryLimitError
    from headwidgets.errors import UnsupportedError as UnsupportedError
    from headwidgets.errors import VerificationError as VerificationError
    from headwidgets.files import read as read
    from headwidgets.jobs import Job as Job
    from headwidgets.models import HeadModel as HeadModel
    from headwidgets.models import load as load
    from headwidgets.models import wrap as wrap
    from headwidgets.models.attention import AttentionMaps as AttentionMaps
    from headwidgets.models.norms import NormMaps as NormMaps
    from headwidgets.models.report import VerificationReport as VerificationReport
    from headwidgets.patterns import PatternSummary as PatternSummary
    from headwidgets.patterns.alike import HeadDistances as HeadDistances
    from headwidgets.probing import Frequencies as Frequencies
    from headwidgets.probing import Link as Link
    from headwidgets.probing import LinkExample as LinkExample
    from headwidgets.probing import Links as Links
    from headwidgets.probing import PositionalHeads as PositionalHeads
    from headwidgets.probing import RareWords as RareWords
    from headwidgets.probing import RolesAfter as RolesAfter
    from headwidgets.probing import Standing as Standing
    from headwidgets.probing.probe.evaluation import ProbeEvaluation as ProbeEvaluation
    from headwidgets.probing.probe.trained import Probe as Probe
    from headwidgets.pruning import Comparison as Comparison
    from headwidgets.pruning import Evaluator as Evaluator
    from headwidgets.pruning import Knockout as Knockout
    from headwidgets.pruning import PruningCurve as PruningCurve
    from headwidgets.roles import Roles as Roles
    from headwidgets.scores import Estimate as Estimate
    from headwidgets.scores import Head as Head
    from headwidgets.scores import HeadScores as HeadScores
    from headwidgets.scores import Interval as Interval
    from headwidgets.text.treebank import Treebank as Treebank
    from headwidgets.widgets import AttentionView as AttentionView
    from headwidgets.widgets import AttributionTree as AttributionTree
    from headwidgets.widgets import AttributionView as AttributionView
    from headwidgets.widgets import CurveView as CurveView
    from headwidgets.widgets import Explorer as Explorer
    from headwidgets.widgets import HeadGrid as HeadGrid
    from headwidgets.widgets import HeadMap as HeadMap
    from headwidgets.widgets import ImportanceScatter as ImportanceScatter
    from headwidgets.widgets import PatternView as PatternView
    from headwidgets.widgets import ProbeView as ProbeView
    from headwidgets.widgets import PruningExplorer as PruningExplorer
    from headwidgets.widgets import TriggerTable as TriggerTable
    from headwidgets.widgets import explore as explore


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return import_module(f"headwidgets.{name}")
    if name in _HOMES:
        value = getattr(import_module(_HOMES[name]), name)
        globals()[name] = value  # importing `headwidgets.doctor` put the module there; the name means the function
        return value
    raise AttributeError(f"module 'headwidgets' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES, *_ROOMS})


def _jupyter_labextension_paths() -> list[dict[str, str]]:
    return [{"src": "labextension", "dest": "headwidgets"}]
