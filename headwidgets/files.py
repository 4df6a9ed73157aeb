"""What is in a ``.heads`` file? UTF-8 JSON, read with checks and written in one step. Nothing is unpickled."""

import json
import math
import os
import tempfile
from pathlib import Path
from typing import Any

from headwidgets.errors import InputError
from headwidgets.wire.arrays import inline, unpack
from headwidgets.wire.documents import SCHEMA

_TO_LOOK_AT = (
    "grid",
    "attention",
    "attribution",
    "pruning",
    "tree",
    "scatter",
    "curves",
    "headmap",
    "patterns",
    "dashboard",
)


_RESULTS = (
    "scores", "attribution-result", "distances", "links", "patterns-result", "roles", "trained-probe", "triggers",
)  # fmt: skip


def write(path: str | Path, document: dict[str, Any]) -> Path:
    """Write a document with NumPy arrays, to a temporary name first, then renamed: no half file is ever left.

    Args:
        path: Where to; ``.heads`` is added to a name without an extension.
        document: Plain JSON values and arrays.

    Returns:
        The path written.
    """
    if not isinstance(path, (str, os.PathLike)):
        raise InputError(f"expected a path to write to, got {path!r}")
    target = Path(path)
    if not target.suffix:
        target = target.with_suffix(".heads")
    text = json.dumps(_finite(inline(document)), ensure_ascii=False, allow_nan=False, indent=1)
    return put(target, (text + "\n").encode("utf-8"))


def put(target: Path, data: bytes) -> Path:
    """Write bytes to a temporary name, then rename it.

    Raises:
        InputError: there is no such folder.
    """
    if not target.parent.is_dir():
        raise InputError(f"cannot write {target.name}: there is no folder {target.parent}")
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        Path(temporary).chmod(_mode())
        Path(temporary).replace(target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    return target


def _mode() -> int:
    """What a plain ``open`` would have given; temporary files are private by default."""
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def _finite(value: Any) -> Any:
    """JSON has no NaN: outside arrays it becomes null."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return value


def load(path: str | Path) -> dict[str, Any]:
    """The document in a ``.heads`` file, with its arrays decoded.

    Raises:
        InputError: no such file, no ``.heads`` file, a newer or a damaged one.
    """
    if not isinstance(path, (str, os.PathLike)):
        raise InputError(f"expected the path of a .heads file, got {type(path).__name__}")
    source = Path(path)
    try:
        document = json.loads(source.read_bytes().decode("utf-8"))
    except OSError as error:
        raise InputError(f"cannot read {source}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise InputError(f"{source.name} is not a .heads file: expected UTF-8 JSON, got other bytes") from None
    except (json.JSONDecodeError, RecursionError) as error:
        raise InputError(
            f"{source.name} is not a whole .heads file: its JSON breaks off or is wrong ({error})"
        ) from None
    if not isinstance(document, dict) or not isinstance(document.get("document"), str):
        raise InputError(f"{source.name} is not a .heads file: expected a JSON object that names its document")
    schema = document.get("schema")
    if not isinstance(schema, int) or isinstance(schema, bool) or schema < 1:
        raise InputError(f"{source.name} is not a .heads file: expected a schema number, got {schema!r}")
    if schema > SCHEMA:
        raise InputError(
            f"{source.name} was written by a newer headwidgets (schema {schema}, this one reads up to {SCHEMA}): "
            "pip install --upgrade headwidgets"
        )
    try:
        return dict(unpack(document))
    except ValueError as error:
        raise InputError(f"{source.name} is damaged: {error}") from None


def read(path: str | Path) -> Any:
    """What a ``.heads`` file holds: `HeadScores` for a measurement, an `Attribution`, `Roles`, ... for those.

    Args:
        path: Of the file.

    Raises:
        InputError: no such file, no ``.heads`` file, a newer, damaged or unknown one; the message says which.
    """
    document = load(path)
    kind = document["document"]
    if kind == "patterns" and "result" in document:
        kind = "patterns-result"  # a file of patterns is its own picture, with the numbers beside it
    if kind in _RESULTS:
        try:
            return _restored(kind, document)
        except InputError as error:
            raise InputError(f"{Path(path).name} is damaged: {error}") from None
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            what = f"it has no {error}" if isinstance(error, KeyError) else str(error)
            raise InputError(f"{Path(path).name} is damaged: {what}") from None
    if kind in _TO_LOOK_AT:
        raise InputError(f"{Path(path).name} holds a picture's data ({kind}), no scores: open it in JupyterLab")
    raise InputError(f"{Path(path).name} holds {kind!r}, which this headwidgets does not know")


def _restored(kind: str, document: dict[str, Any]) -> Any:
    if kind == "triggers":
        from headwidgets.attribution.triggers.found import Triggers

        return Triggers.from_document(document)  # type: ignore[arg-type]
    if kind == "patterns-result":
        from headwidgets.patterns.result import PatternSummary

        return PatternSummary.from_document(document)
    if kind == "distances":
        from headwidgets.patterns.alike import HeadDistances

        return HeadDistances.from_document(document)  # type: ignore[arg-type]
    if kind == "links":
        from headwidgets.probing.linking.result import Links

        return Links.from_document(document)
    if kind == "trained-probe":
        from headwidgets.probing.probe.stored import probe_of

        return probe_of(document)
    if kind == "roles":
        from headwidgets.roles import Roles

        return Roles.from_document(document)  # type: ignore[arg-type]
    if kind == "attribution-result":
        from headwidgets.attribution.result import Attribution

        return Attribution.from_document(document)
    from headwidgets.scores import HeadScores

    return HeadScores.from_document(document)  # type: ignore[arg-type]
