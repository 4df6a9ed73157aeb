"""The live scatter: a bqplot figure with brush, hover, pan and zoom."""

import html
from typing import Any

import bqplot
import numpy as np
from numpy.typing import NDArray

from headwidgets.widgets.curve import GRID, INK, LINE, UPRIGHT
from headwidgets.widgets.points_figure import FONT, SELECTED, PointFigure, point_names

_FAINT_LINE = "rgba(59, 142, 194, 0.35)"
_MARKERS = ("circle", "square", "triangle-up")
_MOST_BARS = 200


class ScatterFigure(PointFigure):
    """Points with error bars, and who chose what in the browser."""

    def __init__(self, document: dict[str, Any]) -> None:
        super().__init__()
        x, y = (np.asarray(document[axis], dtype=np.float64) for axis in ("x", "y"))
        self._n = len(x)
        self._scales = {
            "x": bqplot.LinearScale(allow_padding=False, **_span(x, document["x_error"], self._n)),
            "y": bqplot.LinearScale(allow_padding=False, **_span(y, document["y_error"], self._n)),
        }
        names = point_names(document["heads"])
        self._bars = bqplot.Lines(
            **_bars(document),
            scales=self._scales,
            colors=[_FAINT_LINE],
            stroke_width=1,
            visible=_has_bars(document),
        )
        style = {"color": INK, "tick_style": {"font-size": "11px"}, "grid_color": GRID}
        self._axes = [
            bqplot.Axis(scale=self._scales["x"], label=_axis_title(document, "x"), label_offset="34px", **style),
            bqplot.Axis(
                scale=self._scales["y"], label=_axis_title(document, "y"), label_offset="52px", **UPRIGHT, **style
            ),
        ]
        kinds = np.asarray(document["heads"])[:, 0]
        for kind in np.unique(kinds):
            places = np.flatnonzero(kinds == kind)
            tooltip = bqplot.Tooltip(fields=["name", "x", "y"], labels=["head", *_tooltip_names(document)])
            mark = bqplot.Scatter(
                x=x[places],
                y=y[places],
                names=np.array(names)[places],
                display_names=False,
                scales=self._scales,
                colors=[LINE],
                marker=_MARKERS[int(kind)],
                default_size=48 if self._n <= _MOST_BARS else 26,
                opacities=[0.7],
                selected_style={"opacity": 1.0, "fill": SELECTED, "stroke": SELECTED, "stroke-width": 3},
                unselected_style={"opacity": 0.35},
                tooltip=tooltip,
                interactions={"hover": "tooltip", "click": "select"},
            )
            self._follow(places, mark)
        marks = [mark for _, mark in self._points]
        self._tools["brush"] = bqplot.interacts.BrushSelector(
            x_scale=self._scales["x"], y_scale=self._scales["y"], marks=marks, color=SELECTED
        )
        self._tools["pan"] = bqplot.PanZoom(scales={"x": [self._scales["x"]], "y": [self._scales["y"]]})
        self.figure = bqplot.Figure(
            marks=[self._bars, *marks],
            axes=self._axes,
            fig_margin={
                "top": 40,  # the toolbar must not cover the heads that matter most
                "bottom": 44,
                "left": 68,
                "right": 16,
            },
            background_style={"fill": "none"},
            min_aspect_ratio=0.5,
            max_aspect_ratio=2.0,
        )
        self.figure.add_class("hw-curve")  # its text then has the page's own ink
        self.figure.layout.width = "520px"
        self.figure.layout.max_width = "100%"
        self.figure.layout.height = "420px"
        self.figure.layout.flex = "1 1 420px"

    @staticmethod
    def heading(document: dict[str, Any]) -> str:
        """The lines over the figure as HTML; every text in it is escaped."""
        c = document["correlation"]
        left = f", {document['missing']} not measured" if document["missing"] else ""
        lines = []
        if document["title"]:
            lines.append(f"<b>{html.escape(document['title'])}</b>")
        lines.append(f"<b>r = {_interval(c['pearson'])}, {c['heads']} heads{left}</b>")
        parts = [f"Spearman {_interval(c['spearman'])}"]
        if c["within_layers"] is not None:
            parts.append(f"within layers {_interval(c['within_layers'])}")
        if c["ceiling"] is not None:
            parts.append(f"r at most {_interval(c['ceiling'])}, as far as each agrees with itself")
        small = "font-size:11px;color:var(--jp-ui-font-color2, #808080)"
        lines.append(f'<span style="{small}">{html.escape(" · ".join(parts))}</span>')
        bars = "Thin lines: one standard error. " if _has_bars(document) else ""
        lines.append(
            f'<span style="{small}">95 % intervals, bootstrap over {html.escape(c["resampled"])}. {bars}By keyboard: '
            "choose heads in the grid.</span>"
        )
        body = "<br>".join(lines)
        return f"<div style='font:13px/1.5 {FONT};color:var(--jp-ui-font-color1, inherit)'>{body}</div>"

    def close(self) -> None:
        """Take the figure and everything in it from the page."""
        super().close()
        for part in (self._bars, *self._axes, *self._scales.values()):
            part.close()


def _has_bars(document: dict[str, Any]) -> bool:
    return len(document["heads"]) <= _MOST_BARS and any(document[f"{axis}_error"] is not None for axis in ("x", "y"))


def _interval(found: Any) -> str:
    value, low, high = (f"{found[end]:.2f}".replace("-", "−") for end in ("value", "low", "high"))
    return f"{value} ({low} to {high})"


def _axis_title(document: dict[str, Any], axis: str) -> str:
    unit = document[f"{axis}_unit"]
    return f"{document[f'{axis}_name']} ({unit})" if unit else str(document[f"{axis}_name"])


def _tooltip_names(document: dict[str, Any]) -> list[str]:
    return [_axis_title(document, "x"), _axis_title(document, "y")]


def _span(values: NDArray[np.float64], errors: Any, n: int) -> dict[str, float]:
    """The range of an axis: all values with their error bars, some room, and 0 where it is near."""
    half = np.nan_to_num(np.asarray(errors, dtype=np.float64)) if errors is not None and n <= _MOST_BARS else 0.0
    low, high = float((values - half).min()), float((values + half).max())
    span = (high - low) or abs(high) or 1.0
    if 0 < low < 0.15 * span:
        low = 0.0
    if 0 > high > -0.15 * span:
        high = 0.0
    return {"min": low - 0.05 * span, "max": high + 0.05 * span}


def _bars(document: dict[str, Any]) -> dict[str, NDArray[np.float64]]:
    """One line per error bar, x and y [bars, 2]; bqplot has no gaps in a line."""
    x, y = (np.asarray(document[axis], dtype=np.float64) for axis in ("x", "y"))
    ends: list[tuple[NDArray[np.float64], NDArray[np.float64]]] = []
    for axis in ("x", "y"):
        errors = document[f"{axis}_error"]
        if errors is None or len(x) > _MOST_BARS:
            continue
        half = np.nan_to_num(np.asarray(errors, dtype=np.float64))
        shift, still = np.stack([-half, half], axis=1), np.zeros((len(half), 2))
        move = (shift, still) if axis == "x" else (still, shift)
        ends.append((x[:, None] + move[0], y[:, None] + move[1]))
    if not ends:
        return {"x": np.zeros((1, 2)), "y": np.zeros((1, 2))}
    return {"x": np.concatenate([one for one, _ in ends]), "y": np.concatenate([two for _, two in ends])}
