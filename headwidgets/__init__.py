"""headwidgets: see, probe and prune the attention heads of any Hugging Face transformer, live in a notebook.

The names below are resolved when first used, so that importing the package costs nothing and needs no torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOMES = {
    "Head": "headwidgets.scores",
    "HeadModel": "headwidgets.models",
    "load": "headwidgets.models",
    "wrap": "headwidgets.models",
}

__all__ = ["__version__", *_HOMES]

if TYPE_CHECKING:
    from headwidgets.models import HeadModel as HeadModel
    from headwidgets.models import load as load
    from headwidgets.models import wrap as wrap
    from headwidgets.scores import Head as Head


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'headwidgets' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])


def _jupyter_labextension_paths() -> list[dict[str, str]]:
    return [{"src": "labextension", "dest": "headwidgets"}]
