"""headwidgets: see, probe and prune the attention heads of any Hugging Face transformer, live in a notebook.

The names below are resolved when first used, so that importing the package costs nothing and needs no torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOMES = {
    "AttentionMaps": "headwidgets.models.attention",
    "AttentionView": "headwidgets.widgets",
    "Attribution": "headwidgets.attribution",
    "AttributionTree": "headwidgets.widgets",
    "AttributionView": "headwidgets.widgets",
    "Cancelled": "headwidgets.errors",
    "CurveView": "headwidgets.widgets",
    "Estimate": "headwidgets.scores",
    "Head": "headwidgets.scores",
    "HeadGrid": "headwidgets.widgets",
    "HeadModel": "headwidgets.models",
    "HeadScores": "headwidgets.scores",
    "HeadwidgetsError": "headwidgets.errors",
    "ImportanceScatter": "headwidgets.widgets",
    "InputError": "headwidgets.errors",
    "Job": "headwidgets.jobs",
    "MemoryLimitError": "headwidgets.errors",
    "PruningCurve": "headwidgets.pruning",
    "PruningExplorer": "headwidgets.widgets",
    "Tree": "headwidgets.attribution",
    "TriggerTable": "headwidgets.widgets",
    "UnsupportedError": "headwidgets.errors",
    "VerificationError": "headwidgets.errors",
    "doctor": "headwidgets.doctor",
    "explore": "headwidgets.widgets",
    "load": "headwidgets.models",
    "read": "headwidgets.files",
    "wrap": "headwidgets.models",
}
_ROOMS = ("attribution", "demo", "jobs", "models", "probing", "pruning")

__all__ = ["__version__", *_HOMES, *_ROOMS]

if TYPE_CHECKING:
    from headwidgets import attribution as attribution
    from headwidgets import demo as demo
    from headwidgets import jobs as jobs
    from headwidgets import models as models
    from headwidgets import probing as probing
    from headwidgets import pruning as pruning
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
    from headwidgets.scores import Estimate as Estimate
    from headwidgets.scores import Head as Head
    from headwidgets.scores import HeadScores as HeadScores


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
