"""Where is the front end? Reads the built bundles in ``headwidgets/static``."""

from functools import lru_cache
from pathlib import Path

from headwidgets.errors import HeadwidgetsError

FOLDER = Path(__file__).resolve().parent.parent / "static"
"""Built by ``npm run build``; shipped in the wheel."""


class NotBuiltError(HeadwidgetsError, FileNotFoundError):
    """A front-end bundle is missing."""


@lru_cache(maxsize=32)
def _read(path: Path, modified: int) -> str:
    return path.read_text(encoding="utf-8")


def read(name: str) -> str:
    """Return the text of a bundle, for example ``grid.js``.

    Raises:
        NotBuiltError: the bundle is not there; says how to build it.
    """
    path = FOLDER / name
    try:
        modified = path.stat().st_mtime_ns
    except FileNotFoundError:
        raise NotBuiltError(
            f"the front end is not built: {name} is missing from headwidgets/static. In a clone run `npm ci` and"
            " `npm run build`; an installed wheel carries it, so install headwidgets again if this is one."
        ) from None
    return _read(path, modified)
