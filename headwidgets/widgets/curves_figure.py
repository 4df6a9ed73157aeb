"""The live chart of several curves: a bqplot figure, and a legend with the areas beneath it."""

import html
import math
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import bqplot
import numpy as np

from headwidgets.widgets.curve import GRID, INK, UPRIGHT

# Contrast above 3 on white and on JupyterLab's dark grey alike.
COLOURS = ("#3b8ec2", "#d9730d", "#1f9470", "#c2569b", "#8f8200", "#8374d6", "#d6473c", "#7d8896")
_STYLES = ("solid", "dashed", "dotted", "dash_dotted")
_DASHES = {"solid": "", "dashed": "8 4", "dotted": "2 3", "dash_dotted": "8 3 2 3"}
_MARKS = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross", "rectangle", "ellipse")
_OUTLINES = {
    "circle": '<circle cx="17" cy="7" r="3.5"/>',
    "square": '<rect x="13.5" y="3.5" width="7" height="7"/>',
    "triangle-up": '<path d="M17 3l4 7h-8z"/>',
    "diamond": '<path d="M17 2.5l4.5 4.5l-4.5 4.5l-4.5 -4.5z"/>',
    "triangle-down": '<path d="M17 11l4 -7h-8z"/>',
    "cross": '<path d="M15.6 3h2.8v2.6h2.6v2.8h-2.6v2.6h-2.8v-2.6h-2.6v-2.8h2.6z"/>',
    "rectangle": '<rect x="12" y="4.5" width="10" height="5"/>',
    "ellipse": '<ellipse cx="17" cy="7" rx="5" ry="2.8"/>',
}
_LEAST_SPAN = 0.1
_FEW = 12
"""Counts that get a tick each."""
_FONT = 'Helvetica, Arial, "Liberation Sans", sans-serif'


class Look(NamedTuple):
    """How a line looks; no two of the first eight share a colour and a mark."""

    colour: str
    style: str
    mark: str


def looks(document: dict[str, Any]) -> list[Look]:
    """Looks of all curves; controls are grey."""
    found, place = [], 0
    for curve in document["curves"]:
        if curve["control"]:
            found.append(Look(INK, "dotted", ""))
            continue
        found.append(Look(COLOURS[place % 8], _STYLES[place % 4], _MARKS[place % 8]))
        place += 1
    return found


def is_share(metric: str) -> bool:
    """Whether a metric is a share of examples, drawn in percent."""
    return re.search(r"accuracy|(^|_)acc$", metric, re.IGNORECASE) is not None


class CurvesFigure:
    """Lines, the band of the random orders, and the interval of one curve."""

    def __init__(self, document: dict[str, Any]) -> None:
        self._x = bqplot.LinearScale(allow_padding=False)
        self._y = bqplot.LinearScale(allow_padding=False)
        self._scales = {"x": self._x, "y": self._y}
        self._hovered: Callable[[str], None] | None = None
        self._lines: dict[str, Any] = {}
        self._dots: dict[str, Any] = {}
        self._bands: dict[str, Any] = {}
        style = {"color": INK, "tick_style": {"font-size": "11px"}, "grid_color": GRID}
        self._axes = [
            bqplot.Axis(scale=self._x, label_offset="34px", tick_format="d", **style),
            bqplot.Axis(scale=self._y, label_offset="48px", tick_format="~g", **UPRIGHT, **style),
        ]
        self._full = bqplot.Lines(
            x=np.zeros(2), y=np.zeros(2), scales=self._scales, colors=[INK], stroke_width=1.2, line_style="dashed"
        )
        self.figure = bqplot.Figure(
            axes=self._axes,
            fig_margin={"top": 40, "bottom": 44, "left": 64, "right": 16},  # room for the toolbar
            background_style={"fill": "none"},
            min_aspect_ratio=0.5,
            max_aspect_ratio=4.0,
        )
        self.figure.add_class("hw-curve")  # its text then has the page's own ink
        self.figure.layout.width = "720px"
        self.figure.layout.max_width = "100%"
        self.figure.layout.height = "380px"
        self.show(document, "")

    def on_hover(self, hovered: Callable[[str], None]) -> None:
        """Tell at which curve's points the pointer is, by name."""
        self._hovered = hovered

    def show(self, document: dict[str, Any], highlighted: str) -> None:
        """Draw other curves."""
        self._drop()
        metric, total = document["metric"], max(1, document["total"])
        factor = 100.0 if is_share(metric) else 1.0
        with self._x.hold_sync():
            self._x.min, self._x.max = -0.01 * total, 1.01 * total
        low, high = _range(document)
        with self._y.hold_sync():
            # half a point stands out where a curve runs along the edge
            self._y.min, self._y.max = factor * low, factor * (high + 0.015 * (high - low))
        self._axes[0].label = document["x_label"]
        # between whole numbers of heads there is nothing: few of them get a tick each
        self._axes[0].tick_values = np.arange(total + 1) if total <= _FEW else None
        self._axes[1].label = f"{metric} (%)" if factor == 100 else metric
        full = document["baseline"]
        self._full.visible = full is not None
        if full is not None:
            with self._full.hold_sync():
                self._full.x = np.array([0.0, total])
                self._full.y = np.full(2, factor * full["value"])
        controls = []
        for curve, look in zip(document["curves"], looks(document), strict=True):
            name = curve["name"]
            x = np.array([point["count"] for point in curve["points"]], dtype=np.float64)
            y, *ends = (
                factor * np.array([point["estimate"][key] for point in curve["points"]], dtype=np.float64)
                for key in ("value", "low", "high")
            )
            always = curve["control"] and curve["draws"] > 1
            self._bands[name] = bqplot.Lines(
                x=x,
                y=np.stack(ends),
                scales=self._scales,
                colors=[look.colour],
                fill="between",
                fill_colors=[look.colour],
                fill_opacities=[0.22 if always else 0.18],
                opacities=[0.0, 0.0],
                visible=(always or name == highlighted) and len(x) > 1,
            )
            self._lines[name] = bqplot.Lines(
                x=x,
                y=y,
                scales=self._scales,
                colors=[look.colour],
                stroke_width=2,
                line_style=look.style,
            )
            if look.mark:  # points of their own: those of a bqplot line do not feel the pointer
                self._dots[name] = bqplot.Scatter(
                    x=x,
                    y=y,
                    names=np.array([name] * len(x)),
                    display_names=False,
                    scales=self._scales,
                    colors=[look.colour],
                    marker=look.mark,
                    default_size=44,
                    tooltip=bqplot.Tooltip(
                        fields=["name", "x", "y"], labels=["curve", document["x_label"], self._axes[1].label]
                    ),
                    interactions={"hover": "tooltip"},
                )
                self._dots[name].on_hover(self._teller(name))
            if always:
                controls.append(name)
        self._controls = controls
        self.figure.marks = [
            *(self._bands[name] for name in controls),
            self._full,
            *(band for name, band in self._bands.items() if name not in controls),
            *self._lines.values(),
            *self._dots.values(),
        ]
        self.highlight(highlighted)

    def _teller(self, name: str) -> Callable[[Any, Any], None]:
        def told(_: Any, __: Any) -> None:
            if self._hovered is not None:
                self._hovered(name)

        return told

    def highlight(self, name: str) -> None:
        """Bring a curve forward with its interval; an empty name shows all alike."""
        for own, line in self._lines.items():
            shown = 1.0 if name in ("", own) or own in self._controls else 0.5
            line.opacities = [shown]
            line.stroke_width = 3.0 if own == name else 2.0
            if own in self._dots:
                self._dots[own].opacities = [shown]
        for own, band in self._bands.items():
            if own not in self._controls:
                band.visible = own == name and len(band.x) > 1

    @staticmethod
    def heading(document: dict[str, Any]) -> str:
        """The title over the figure as HTML, escaped; empty for none."""
        title = html.escape(document["title"])
        style = f"font:bold 14px/1.4 {_FONT};color:var(--jp-ui-font-color1, inherit)"
        return f"<div style='{style}'>{title}</div>" if title else ""

    @staticmethod
    def legend(document: dict[str, Any], highlighted: str = "") -> str:
        """A table of names, areas and intervals as HTML; every text in it is escaped."""
        metric = document["metric"]
        ink, muted = "var(--jp-ui-font-color1, inherit)", "var(--jp-ui-font-color2, #808080)"
        cell, end = "padding:1px 10px 1px 0", "padding:1px 10px 1px 0;text-align:right"
        rows = []
        if any(curve["area"] is not None for curve in document["curves"]):
            rows.append(
                f'<tr><td></td><td></td><td colspan="2" style="{cell};color:{muted};font-size:11px">area under the '
                "curve (mean height), 95 % interval</td></tr>"
            )
        for curve, look in zip(document["curves"], looks(document), strict=True):
            name = html.escape(curve["name"])
            if curve["control"] and curve["draws"] > 1:
                name += f" (mean and 95 % of {curve['draws']})"
            if curve["name"] == highlighted:
                name = f"<b>{name}</b>"
            area = curve["area"]
            value = "" if area is None else _number(metric, area["value"])
            known = area is not None and area["low"] < area["high"]
            between = _between(metric, area) if known else ""
            rows.append(
                f'<tr><td style="{cell}">{_swatch(look, curve)}</td><td style="{cell}">{name}</td>'
                f'<td style="{end}">{value}</td><td style="{cell};color:{muted}">{between}</td></tr>'
            )
        full = document["baseline"]
        if full is not None:
            rows.append(
                f'<tr><td style="{cell}">{_swatch(Look(INK, "dashed", ""), None)}</td>'
                f'<td style="{cell}">full model</td><td style="{end}">{_number(metric, full["value"])}</td></tr>'
            )
        note = html.escape(document["note"])
        under = f"<div style='font-size:11px;color:{muted}'>{note}</div>" if note else ""
        table = f"<table style='border-spacing:0;border:0;margin:0'>{''.join(rows)}</table>"
        return f"<div style='font:13px/1.4 {_FONT};color:{ink}'>{table}{under}</div>"

    def _drop(self) -> None:
        """Take the curves from the page."""
        for mark in (*self._lines.values(), *self._bands.values(), *self._dots.values()):
            mark.close()
        for mark in self._dots.values():
            mark.tooltip.close()
        self._lines, self._dots, self._bands = {}, {}, {}

    def close(self) -> None:
        """Take the figure and everything in it from the page."""
        self._drop()
        for part in (self._full, *self._axes, self._x, self._y, self.figure):
            part.close()


def _range(document: dict[str, Any]) -> tuple[float, float]:
    """The range of the metric's axis: all intervals, and of a share at least a tenth within 0 to 1."""
    estimates = [point["estimate"] for curve in document["curves"] for point in curve["points"]]
    ends = [e[key] for e in estimates for key in ("low", "value", "high") if math.isfinite(e[key])]
    if document["baseline"] is not None:
        ends.append(document["baseline"]["value"])
    low, high = (min(ends), max(ends)) if ends else (0.0, 1.0)
    share = is_share(document["metric"])
    room = max(0.04 * (high - low), 0.005 if share else 0.01 * abs(high), 1e-9)
    low, high = low - room, high + room
    if share:
        high = min(1.0, max(high, (low + high + _LEAST_SPAN) / 2))
        low = max(0.0, min(low, high - _LEAST_SPAN))
        high = max(high, low + _LEAST_SPAN)
    return low, high


def _number(metric: str, value: float) -> str:
    shown = f"{100 * value:.1f} %" if is_share(metric) else f"{value:.4g}"
    return shown.replace("-", "−")


def _between(metric: str, area: dict[str, float]) -> str:
    low, high = _number(metric, area["low"]), _number(metric, area["high"])
    return f"{low.removesuffix(' %')} to {high}"


def _swatch(look: Look, curve: dict[str, Any] | None) -> str:
    band = ""
    if curve is not None and curve["control"] and curve["draws"] > 1:
        band = f'<rect width="34" height="14" fill="{look.colour}" fill-opacity="0.22"/>'
    dash = f' stroke-dasharray="{_DASHES[look.style]}"' if _DASHES[look.style] else ""
    line = f'<path d="M0 7h34" stroke="{look.colour}" stroke-width="2"{dash}/>'
    mark = f'<g fill="{look.colour}">{_OUTLINES[look.mark]}</g>' if look.mark else ""
    return f'<svg width="34" height="14" viewBox="0 0 34 14" aria-hidden="true">{band}{line}{mark}</svg>'
