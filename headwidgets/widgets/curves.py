"""Which ranking prunes best? Several curves of one metric on one chart, each with the area under it."""

import math
from collections.abc import Mapping
from typing import Any

import ipywidgets
import traitlets as t

from headwidgets.errors import InputError
from headwidgets.widgets.boxes import HeadBox
from headwidgets.wire.documents import SCHEMA

_NONE = ""
_DIGITS = 7


class CurveView(HeadBox):
    """Curves of several rankings against the number of pruned heads, random orders as a grey band behind.

    The lines differ by colour, dashes and marks. The interval of one of them is drawn at a time: of that under the
    pointer, or of the one chosen in the menu.

    Example:
        >>> view = CurveView(hw.pruning.compare(model, rankings, texts, labels))
        >>> view.highlighted = "attribution"; view.save("curves.pdf")
    """

    highlighted = t.Unicode("", help="Name of the curve that is brought forward with its interval; empty for none.")

    def __init__(self, curves: Any, *, title: str | None = None, highlighted: str = "", **options: Any) -> None:
        """Show curves.

        Args:
            curves: From `headwidgets.pruning.compare` or `headwidgets.attribution.effectiveness`; or one
                `PruningCurve`, or several by name.
            title: Heading; empty for none, None for the result's own.
            highlighted: Name of the curve that is brought forward.
            **options: Other traits of the box.

        Raises:
            InputError: something without curves, or a name that no curve has.
            TypeError: an option is not known.
        """
        self._title = title
        self._current = _document(curves, title)
        from headwidgets.widgets.curves_figure import CurvesFigure

        self._figure: Any = CurvesFigure(self._current)
        self._heading = ipywidgets.HTML(self._figure.heading(self._current))
        self._legend = ipywidgets.HTML(self._figure.legend(self._current))
        self._menu = ipywidgets.Dropdown(
            description="Interval of",
            style={"description_width": "initial"},
            layout={"width": "auto", "max_width": "420px"},
        )
        self._fill_menu()
        super().__init__([self._heading, self._figure.figure, self._menu, self._legend], **options)
        self._figure.on_hover(self._hovered)
        self._menu.observe(self._menu_chosen, "value")
        self.observe(self._highlight, "highlighted")
        self.observe(lambda _: self._refresh_soon(), "highlighted")
        if highlighted:
            self.highlighted = highlighted

    @property
    def names(self) -> tuple[str, ...]:
        """Of the curves."""
        return tuple(curve["name"] for curve in self._current["curves"])

    @t.validate("highlighted")
    def _check_highlighted(self, proposal: Any) -> str:
        name = str(proposal["value"])
        if name and name not in self.names:
            raise InputError(f"there is no curve {name!r} here: the curves are {', '.join(self.names)}")
        return name

    def show(self, curves: Any) -> None:
        """Show other curves in place, for example those that a job has so far.

        Args:
            curves: As in the constructor.
        """
        self._current = _document(curves, self._title)
        if self.highlighted not in self.names:
            self.highlighted = ""
        self._fill_menu()
        if self._figure is not None:
            self._heading.value = self._figure.heading(self._current)
            self._legend.value = self._figure.legend(self._current, self.highlighted)
            self._figure.show(self._current, self.highlighted)
        self._refresh_soon()

    def _fill_menu(self) -> None:
        options = [("no curve", _NONE), *((name, name) for name in self.names)]
        if list(self._menu.options) != options:
            chosen = self._menu.value
            self._menu.options = options
            self._menu.value = chosen if chosen in self.names else _NONE

    def _menu_chosen(self, change: Any) -> None:
        self.highlighted = change["new"] or ""

    def _hovered(self, name: str) -> None:
        self.highlighted = name

    def _highlight(self, change: Any) -> None:
        self._menu.value = change["new"]
        if self._figure is not None:
            self._legend.value = self._figure.legend(self._current, change["new"])
            self._figure.highlight(change["new"])

    def picture(self) -> dict[str, Any]:
        """Return the document of the curves."""
        return dict(self._current)

    def summary(self) -> str:
        """Return one line: the areas."""
        parts = []
        for curve in self._current["curves"]:
            area = curve["area"]
            known = "" if area is None else f" {area['value']:.4g} ({area['low']:.4g} to {area['high']:.4g})"
            parts.append(f"{curve['name']}{known}")
        what = "area under " if any(curve["area"] for curve in self._current["curves"]) else ""
        return f"CurveView({what}{self._current['metric']} against {self._current['x_label']}: {'; '.join(parts)})"

    def close(self) -> None:
        """Take everything from the page."""
        figure, self._figure = self.__dict__.get("_figure"), None
        if figure is not None:
            figure.close()
        super().close()


def _document(curves: Any, title: str | None) -> dict[str, Any]:
    if hasattr(curves, "document"):
        document: Any = curves.document()
        if document.get("document") != "curves":
            raise InputError(f"expected curves, got {type(curves).__name__}, which is drawn as {document['document']}")
    elif _is_curve(curves):
        document = _of_curves({curves.method or "given order": curves})
    elif isinstance(curves, Mapping) and curves and all(_is_curve(one) for one in curves.values()):
        document = _of_curves(curves)
    else:
        raise InputError(
            "expected what hw.pruning.compare or hw.attribution.effectiveness returned, a PruningCurve or several by "
            f"name; got {type(curves).__name__}"
        )
    names = [curve["name"] for curve in document["curves"]]
    if not names:
        raise InputError("expected at least one curve, got none")
    if len(set(names)) < len(names):
        raise InputError(f"expected curves with different names, got {', '.join(names)}")
    found: dict[str, Any] = _lean({**document, **({} if title is None else {"title": title})})
    return found


def _is_curve(value: Any) -> bool:
    return all(hasattr(value, name) for name in ("counts", "estimates", "ranking", "metric", "data"))


def _of_curves(curves: Mapping[str, Any]) -> dict[str, Any]:
    first = next(iter(curves.values()))
    for name, curve in curves.items():
        if curve.metric != first.metric:
            raise InputError(f"expected curves of one metric, got {first.metric} and, for {name}, {curve.metric}")
    points = {str(name): curve.data() for name, curve in curves.items()}
    full = next((p[0]["estimate"] for p in points.values() if p and p[0]["count"] == 0), None)
    return {
        "schema": SCHEMA,
        "document": "curves",
        "title": "",
        "metric": first.metric,
        "x_label": "heads pruned",
        "total": max(len(curve.ranking) for curve in curves.values()),
        "baseline": full,
        "curves": [
            {"name": name, "points": own, "control": False, "area": None, "draws": 1} for name, own in points.items()
        ],
        "note": "",
        "provenance": first.provenance,
    }


def _lean(value: Any) -> Any:
    """Numbers with as many digits as can be drawn: many curves have to fit in a saved output."""
    if isinstance(value, float):
        return float(f"{value:.{_DIGITS}g}") if math.isfinite(value) else value
    if isinstance(value, dict):
        return {key: _lean(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_lean(item) for item in value]
    return value
