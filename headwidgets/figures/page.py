"""One self-contained HTML file: the live component, its data, no network."""

import base64
import hashlib
import html
import json
import re
from typing import Any

from headwidgets.errors import InputError
from headwidgets.figures import engine
from headwidgets.wire.arrays import inline

_PAGE = """<!doctype html>
<html lang="en" data-theme="{theme}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="headwidgets">
<title>{title}</title>
<style>{css}</style>
<style>:root{{color-scheme:{scheme}}}body{{margin:16px;{colours}}}main{{{width}}}</style>
</head>
<body>
<main data-headwidgets="{document}" data-theme="{theme}"{provenance}>
<script type="application/json">{data}</script>
</main>
<noscript>This figure is drawn by a script inside this file; nothing is loaded from elsewhere.</noscript>
<script>{script}</script>
</body>
</html>
"""


def page(document: Any, *, theme: str = "auto", width: int | None = None, provenance: bool = False) -> str:
    """Return a page that shows a document with the interactive component, offline, from one file.

    The content security policy in it forbids every request; data stands in the body as JSON in which no
    character can end the element, the scripts are the bundle alone, named by its hash.

    Args:
        document: Any document of `headwidgets.wire.documents`, with NumPy arrays or `ArrayRef`.
        theme: ``light``, ``dark`` or ``auto`` (the reader's own choice).
        width: In CSS pixels; None follows the window.
        provenance: Print how the result was made as a foot line.
    """
    if theme not in ("auto", *engine.THEMES):
        raise InputError(f"theme is 'auto', 'light' or 'dark' for a page, got {theme!r}")
    script = _closed(_static(f"page-{_shown_by(document)}.js"), "script")
    policy = (
        f"default-src 'none'; script-src 'sha256-{_hash(script)}'; style-src 'unsafe-inline'; img-src data: blob:;"
        " base-uri 'none'; form-action 'none'"
    )
    return _PAGE.format(
        theme=theme,
        scheme="light dark" if theme == "auto" else theme,
        colours="background:Canvas;color:CanvasText",
        policy=policy,
        title=html.escape(str(document.get("title") or "headwidgets")),
        css=_closed(_static("widgets.css"), "style"),
        width=f"max-width:{int(width)}px" if width else "",
        document=html.escape(str(document.get("document", ""))),
        provenance=' data-provenance="true"' if provenance else "",
        data=as_inert_json(inline(document)),
        script=script,
    )


def _shown_by(document: Any) -> str:
    """Return the kind of page that shows a document; each carries only the component it needs."""
    name = str(document.get("document", ""))
    name = "grid" if name == "scores" else name
    known = sorted(path.stem.removeprefix("page-") for path in engine.STATIC.glob("page-*.js"))
    if known and name not in known:
        raise InputError(f"expected a document that a page can show ({', '.join(known)}), got {name!r}")
    return name


def as_inert_json(value: Any) -> str:
    """Return JSON that is plain text inside HTML: no ``<``, ``>`` or ``&``, no line separators."""
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _closed(text: str, element: str) -> str:
    """Keep `text` from ending its element: ``</script`` in a bundle is only ever inside a string."""
    return re.sub(rf"<(?=/{element}|!--)", r"\\x3c" if element == "script" else r"\\3c ", text, flags=re.IGNORECASE)


def _hash(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")


def _static(name: str) -> str:
    path = engine.STATIC / name
    if not path.exists():
        raise engine.DrawingError(
            f"the front end is not built: {name} is missing from headwidgets/static. In a clone run `npm ci` and"
            " `npm run build`; an installed wheel carries it, so install headwidgets again if this is one."
        )
    # what an HTML parser makes of line ends must be what was hashed
    return path.read_text(encoding="utf-8").replace("\r\n", "\n").replace("\r", "\n")
