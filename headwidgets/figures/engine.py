"""The drawing code without a browser: runs the figure bundle in a bare V8 engine."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple, cast

from headwidgets.errors import HeadwidgetsError, InputError
from headwidgets.wire.arrays import inline

STATIC = Path(__file__).resolve().parent.parent / "static"
"""Built by ``npm run build``; shipped in the wheel."""

THEMES = ("light", "dark")
WIDTH = 760
"""CSS pixels that a picture may take where nobody says."""
_SECONDS = 60.0


class DrawingError(HeadwidgetsError, RuntimeError):
    """A picture could not be made; the message says why."""


class Drawing(NamedTuple):
    """A picture as markup."""

    svg: str
    width: float
    """In CSS pixels."""
    height: float


class _Engine:
    """One V8 context with the figure bundle; calls take turns, from whatever thread.

    It lives in a thread of its own: in a notebook the caller's thread runs an event loop, and there the engine
    refuses to wait with a time limit.
    """

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._loaded: tuple[Path, int] | None = None
        self._context: Any = None
        self._thread: ThreadPoolExecutor | None = None

    def call(self, document: str, options: str) -> dict[str, Any]:
        with self._turn:
            if self._thread is None:
                self._thread = ThreadPoolExecutor(1, thread_name_prefix="headwidgets drawing")
            answer = self._thread.submit(self._draw, document, options).result()
        return cast(dict[str, Any], json.loads(answer))

    def _draw(self, document: str, options: str) -> Any:
        return self._ready().call("headwidgetsFigure.draw", document, options, timeout_sec=_SECONDS)

    def _ready(self) -> Any:
        path = STATIC / "figure.js"
        if not path.exists():
            raise DrawingError(
                "the front end is not built: figure.js is missing from headwidgets/static. In a clone run `npm ci` and"
                " `npm run build`; an installed wheel carries it, so install headwidgets again if this is one."
            )
        version = (path, path.stat().st_mtime_ns)
        if self._loaded != version:
            try:
                from py_mini_racer import MiniRacer
            except ImportError:
                raise DrawingError(
                    "drawing without a browser needs the package mini-racer: pip install mini-racer"
                ) from None
            context = MiniRacer()
            context.eval(path.read_text(encoding="utf-8") + "\n;0")
            self._context, self._loaded = context, version
        return self._context


def _first_line(error: Exception) -> str:
    """The message without the source text that the engine quotes after it."""
    return (str(error).splitlines() or [type(error).__name__])[0].removeprefix("<anonymous>:1: ")[:400]


_engine = _Engine()


def draw(
    document: Any,
    *,
    theme: str = "light",
    width: int | None = None,
    background: bool = True,
    provenance: bool = False,
) -> Drawing:
    """Return the picture of a document, drawn by the code that also draws it in the browser.

    Args:
        document: Any document of `headwidgets.wire.documents`, with NumPy arrays or `ArrayRef`.
        theme: ``light`` or ``dark``.
        width: In CSS pixels; None is `WIDTH`. A picture that needs less or more says so in its own width.
        background: Paint the theme's background; False leaves it transparent.
        provenance: Print how the result was made as a foot line.

    Raises:
        InputError: an option cannot be used.
        DrawingError: the bundle or the JavaScript engine is missing, or the drawing code failed.
    """
    if theme not in THEMES:
        raise InputError(f"theme is 'light' or 'dark' for a picture, got {theme!r}")
    if width is not None and not 100 <= width <= 20_000:
        raise InputError(f"width is in pixels, from 100 to 20000; got {width!r}")
    options = {"theme": theme, "width": width or WIDTH, "background": background, "provenance": provenance}
    try:
        drawn = _engine.call(json.dumps(inline(document), allow_nan=False), json.dumps(options))
        return Drawing(str(drawn["svg"]), float(drawn["width"]), float(drawn["height"]))
    except HeadwidgetsError:
        raise
    except Exception as error:
        kind = document.get("document") if isinstance(document, dict) else type(document).__name__
        raise DrawingError(f"the {kind} could not be drawn: {_first_line(error)}") from error
