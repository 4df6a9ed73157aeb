"""The live layer curves: a bqplot figure with brush, hover, pan and zoom, and a legend beneath it."""

import html
import math
from typing import Any

import bqplot
import numpy as np
from numpy.typing import NDArray

from headwidgets.widgets.curve import GRID, INK, UPRIGHT
from headwidgets.widgets.curves_figure import COLOURS
from headwidgets.widgets.points_figure import FONT, SELECTED, Places, PointFigure, point_names

_MARKS = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "rectangle")
_OUTLINES = (
    '<circle cx="12" cy="7" r="4"/>',
    '<rect x="8.5" y="3.5" width="7" height="7"/>',
    '<path d="M12 2.5l4.4 8h-8.8z"/>',
    '<path d="M12 1.8l4.6 5.2l-4.6 5.2l-4.6 -5.2z"/>',
    '<path d="M10.4 2.4h3.2v3h3v3.2h-3v3h-3.2v-3h-3v-3.2h3z"/>',
    '<path d="M12 11.5l4.4 -8h-8.8z"/>',
    '<rect x="7" y="4.5" width="10" height="5"/>',
)
_KINDS = ("encoder", "decoder", "cross")
_MANY = 700
_LABELLED = bool(bqplot.Axis.class_traits().get("tick_labels"))


class PatternFigure(PointFigure):
    """One chart at a time: points, the means of layers, and what an indifferent head would have."""

    def __init__(self, document: dict[str, Any], chart: int) -> None:
        super().__init__()
        self._scales = {"x": bqplot.LinearScale(allow_padding=False), "y": bqplot.LinearScale(allow_padding=False)}
        style = {"color": INK, "tick_style": {"font-size": "11px"}, "grid_color": GRID}
        self._axes = [
            bqplot.Axis(scale=self._scales["x"], label_offset="34px", grid_lines="none", **style),
            bqplot.Axis(scale=self._scales["y"], label_offset="52px", tick_format="~g", **UPRIGHT, **style),
        ]
        self._lines: list[Any] = []
        self._rings: Any = bqplot.Scatter(
            x=np.zeros(0),
            y=np.zeros(0),
            scales=self._scales,
            colors=[SELECTED],
            fill=False,
            stroke=SELECTED,
            stroke_width=2.5,
            default_size=150,
            marker="circle",
            interactions={},
        )
        self.figure = bqplot.Figure(
            axes=self._axes,
            fig_margin={"top": 40, "bottom": 44, "left": 68, "right": 16},  # room for the toolbar
            background_style={"fill": "none"},
            min_aspect_ratio=0.5,
            max_aspect_ratio=4.0,
        )
        self.figure.add_class("hw-curve")  # its text then has the page's own ink
        self.figure.layout.width = "680px"
        self.figure.layout.max_width = "100%"
        self.figure.layout.height = "400px"
        self.figure.layout.flex = "1 1 480px"
        self._tools["pan"] = bqplot.PanZoom(scales={"x": [self._scales["x"]], "y": [self._scales["y"]]})
        self.show(document, chart)

    def show(self, document: dict[str, Any], chart: int) -> None:
        """Draw another chart."""
        before = [*self._lines, *(mark for _, mark in self._points)]
        tooltips = [mark.tooltip for _, mark in self._points]
        self._points, self._lines = [], []
        own = document["charts"][chart]
        series = [document["statistics"][number] for number in own["statistics"]]
        heads = np.asarray(document["heads"])
        columns = columns_of(heads)
        names = point_names(heads)
        self._at: list[tuple[NDArray[np.float64], NDArray[np.float64]]] = []
        many = len(heads) * len(series) > _MANY
        for place, one in enumerate(series):
            colour = COLOURS[place % len(COLOURS)]
            values = np.asarray(one["values"], dtype=np.float64)
            known = np.flatnonzero(np.isfinite(values))
            x = spread(heads, columns, place, len(series))
            self._at.append((x, values))
            self._lines += self._curves(heads, columns, values, place, len(series), colour)
            self._lines += self._references(columns, one["reference"], colour)
            tooltip = bqplot.Tooltip(fields=["name", "y"], labels=["head", _titled(one["label"], one["unit"])])
            mark = bqplot.Scatter(
                x=x[known],
                y=values[known],
                names=np.array(names)[known],
                display_names=False,
                scales=self._scales,
                colors=[colour],
                marker=_MARKS[place % len(_MARKS)],
                default_size=20 if many else 42,
                opacities=[0.65],
                tooltip=tooltip,
                interactions={"hover": "tooltip", "click": "select"},
            )
            self._follow(known, mark)
        self._range(series, columns)
        self._axes[0].label = "layer"
        self._tick(columns)
        self._axes[1].label = _titled(own["label"], own["unit"])
        # a brush knows the marks that it began with: another chart needs another one
        marks = [mark for _, mark in self._points]
        brush = self._tools.pop("brush", None)
        self._tools["brush"] = bqplot.interacts.BrushSelector(
            x_scale=self._scales["x"], y_scale=self._scales["y"], marks=marks, color=SELECTED
        )
        self.figure.interaction = None
        self.figure.marks = [*self._lines, *marks, self._rings]
        self.set_mode(self._mode)
        for part in (*before, *tooltips, *([] if brush is None else [brush])):
            part.close()

    def _follow(self, places: Places, mark: Any) -> None:
        """Listen to a mark. A click on one statistic's point lets go of those chosen on another's."""

        def alone(_: Any) -> None:
            if self._setting or self._mode == "brush":
                return
            self._setting = True
            try:
                for _, other in self._points:
                    if other is not mark:
                        other.selected = None
            finally:
                self._setting = False

        mark.observe(alone, "selected")
        super()._follow(places, mark)

    def ring(self, wanted: list[int]) -> None:
        """Ring heads wherever they have a point."""
        x = [own[wanted] for own, _ in self._at]
        y = [own[wanted] for _, own in self._at]
        across, up = (np.concatenate(parts) if parts else np.zeros(0) for parts in (x, y))
        known = np.isfinite(up)
        with self._rings.hold_sync():
            self._rings.x, self._rings.y = across[known], up[known]

    def select(self, wanted: list[int]) -> None:
        """Mark heads."""
        super().select(wanted)
        self.ring(wanted)

    def _curves(self, heads: Any, columns: "Columns", values: Any, place: int, count: int, colour: str) -> list[Any]:
        found = []
        shift = shift_of(place, count)
        for kind in range(len(_KINDS)):
            x, y = [], []
            for (own, layer), at in columns.items():
                if own != kind:
                    continue
                inside = values[(heads[:, 0] == kind) & (heads[:, 1] == layer)]
                inside = inside[np.isfinite(inside)]
                if len(inside):
                    x.append(at + shift)
                    y.append(float(inside.mean()))
            if len(x) > 1:
                found.append(
                    bqplot.Lines(
                        x=np.array(x), y=np.array(y), scales=self._scales, colors=[colour], stroke_width=1.6,
                        interpolation="linear",
                    )
                )  # fmt: skip
        return found

    def _references(self, columns: "Columns", reference: dict[str, float], colour: str) -> list[Any]:
        found = []
        for kind, name in enumerate(_KINDS):
            at = [x for (own, _), x in columns.items() if own == kind]
            if at and math.isfinite(reference.get(name, math.nan)):
                found.append(
                    bqplot.Lines(
                        x=np.array([min(at) - 0.5, max(at) + 0.5]), y=np.full(2, reference[name]),
                        scales=self._scales, colors=[colour], stroke_width=1.2, line_style="dashed",
                    )
                )  # fmt: skip
        return found

    def _range(self, series: list[dict[str, Any]], columns: "Columns") -> None:
        numbers = np.concatenate(
            [np.asarray(one["values"], dtype=np.float64) for one in series]
            + [np.array(list(one["reference"].values()), dtype=np.float64) for one in series]
        )
        numbers = numbers[np.isfinite(numbers)]
        low, high = (float(numbers.min()), float(numbers.max())) if len(numbers) else (0.0, 1.0)
        span = (high - low) or abs(high) or 1.0
        if 0 < low < 0.5 * high:
            low = 0.0
        with self._scales["y"].hold_sync():
            self._scales["y"].min = 0.0 if low == 0 else low - 0.04 * span
            self._scales["y"].max = high + 0.04 * span
        with self._scales["x"].hold_sync():
            self._scales["x"].min, self._scales["x"].max = -0.55, max(columns.values(), default=0) + 0.55

    def _tick(self, columns: "Columns") -> None:
        """Layers under the plot; where there are several kinds, the first letters of each before its first layer."""
        several = len({kind for kind, _ in columns}) > 1
        step = max(1, math.ceil(len(columns) / 26))
        shown = {at: (kind, layer) for (kind, layer), at in columns.items() if layer % step == 0}
        axis = self._axes[0]
        axis.tick_values = np.array(sorted(shown), dtype=np.float64)
        axis.tick_format = "d"
        if _LABELLED and several:
            axis.tick_labels = {
                str(at): f"{_KINDS[kind]} {layer}" if layer == 0 else str(layer) for at, (kind, layer) in shown.items()
            }

    def close(self) -> None:
        """Take the figure and everything in it from the page."""
        super().close()
        for part in (*self._lines, self._rings, *self._axes, *self._scales.values()):
            part.close()

    @staticmethod
    def heading(document: dict[str, Any], chart: int) -> str:
        """The lines over the figure as HTML; every text in it is escaped."""
        series = [document["statistics"][number] for number in document["charts"][chart]["statistics"]]
        n = sorted({one["n"] for one in series})
        texts = f"{n[0]:,}" if len(n) == 1 else f"{n[0]:,} to {n[-1]:,}"
        lines = [f"<b>{html.escape(document['title'])}</b>"] if document["title"] else []
        lines.append(f"{len(document['heads']):,} heads, {texts} texts. Lines: means of layers.")
        if document["note"]:
            lines.append(html.escape(document["note"]))
        style = f"font:13px/1.5 {FONT};color:var(--jp-ui-font-color1, inherit)"
        return f"<div style='{style}'>{'<br>'.join(lines)}</div>"

    @staticmethod
    def legend(document: dict[str, Any], chart: int) -> str:
        """What marks and lines mean, as HTML; every text in it is escaped."""
        series = [document["statistics"][number] for number in document["charts"][chart]["statistics"]]
        items = []
        for place, one in enumerate(series):
            colour, outline = COLOURS[place % len(COLOURS)], _OUTLINES[place % len(_OUTLINES)]
            swatch = (
                f'<svg width="24" height="14" aria-hidden="true"><path d="M0 7h24" stroke="{colour}" fill="none"/>'
                f'<g fill="{colour}">{outline}</g></svg>'
            )
            items.append(f"{swatch} {html.escape(one['label'])}")
        if any(one["reference"] for one in series):
            line = f'<path d="M0 7h24" stroke="{INK}" stroke-width="1.5" stroke-dasharray="5 4"/>'
            swatch = f'<svg width="24" height="14" aria-hidden="true">{line}</svg>'
            items.append(f"{swatch} a head that looks at all keys alike")
        style = "display:inline-block;margin:0 16px 2px 0;white-space:nowrap"
        body = "".join(f'<span style="{style}">{item}</span>' for item in items)
        return f"<div style='font:12px/1.5 {FONT};color:var(--jp-ui-font-color1, inherit)'>{body}</div>"


Columns = dict[tuple[int, int], float]
"""By kind and layer, where it stands on the x axis."""


def columns_of(heads: Any) -> Columns:
    """Layers side by side; kinds of attention are one column apart."""
    rows = np.asarray(heads)
    found: Columns = {}
    at = 0
    for kind in range(len(_KINDS)):
        layers = rows[rows[:, 0] == kind, 1]
        if not len(layers):
            continue
        at += 1 if at else 0
        for layer in range(int(layers.max()) + 1):
            found[kind, layer] = float(at)
            at += 1
    return found


def shift_of(place: int, count: int) -> float:
    """How far from the middle of its column a statistic stands."""
    return ((place + 0.5) / max(1, count) - 0.5) * 0.86


def spread(heads: Any, columns: Columns, place: int, count: int) -> NDArray[np.float64]:
    """Where the points of a statistic stand: by layer, by statistic, and inside by the head's number, [points]."""
    most: dict[tuple[int, int], int] = {}
    for kind, layer, index in heads.tolist():
        most[kind, layer] = max(most.get((kind, layer), 0), index + 1)
    return np.array(
        [
            columns[kind, layer]
            + shift_of(place, count)
            + ((index + 0.5) / most[kind, layer] - 0.5) * (0.66 / max(1, count))
            for kind, layer, index in heads.tolist()
        ],
        dtype=np.float64,
    )


def _titled(label: str, unit: str) -> str:
    return f"{label} ({unit})" if unit else label
