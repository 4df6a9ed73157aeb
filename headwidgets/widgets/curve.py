"""The live pruning curve: a bqplot figure (axes, pan and zoom come with it)."""

import re
from collections.abc import Sequence

import bqplot
import numpy as np

from headwidgets.wire.documents import CurvePoint, EstimateData

# Readable on white and on JupyterLab's dark grey alike (contrast above 3 on both), and for colour-blind readers.
INK = "#808080"
LINE = "#3b8ec2"
MARK = "#d9730d"
GRID = "rgba(128, 128, 128, 0.25)"

UPRIGHT = (
    {"side": "left", "orientation": "vertical"} if bqplot.Axis.class_traits().get("orientation") else {"side": "left"}
)
"""An axis at the left; before bqplot 0.13 its direction was a trait of its own."""

_LEAST_SPAN = 0.1
"""A share of texts is drawn over at least this range: noise must not look like a landslide."""


class CurveFigure:
    """Metric against number of pruned heads: a line, its 95 % band and the point where the slider stands."""

    def __init__(self, metric: str, n_heads: int) -> None:
        self._x = bqplot.LinearScale(allow_padding=False)
        self._span(n_heads)
        self._share = re.search(r"accuracy|(^|_)acc$", metric, re.IGNORECASE) is not None
        self._factor = 100.0 if self._share else 1.0
        self._y = bqplot.LinearScale(allow_padding=False)
        self._range([])
        scales = {"x": self._x, "y": self._y}
        axis = {"color": INK, "tick_style": {"font-size": "11px"}, "grid_color": GRID}
        self._band = bqplot.Lines(
            x=np.zeros(2),
            y=np.zeros((2, 2)),
            scales=scales,
            colors=[LINE],
            fill="between",
            fill_colors=[LINE],
            fill_opacities=[0.18],
            opacities=[0.0, 0.0],
            visible=False,
        )
        self._line = bqplot.Lines(
            x=np.zeros(1),
            y=np.zeros(1),
            scales=scales,
            colors=[LINE],
            stroke_width=2,
            marker="circle",
            marker_size=18,
            visible=False,
        )
        self._mark = bqplot.Scatter(
            x=np.zeros(1),
            y=np.zeros(1),
            scales=scales,
            colors=[MARK],
            marker="diamond",
            default_size=110,
            visible=False,
        )
        self._axes = [
            bqplot.Axis(scale=self._x, label="heads pruned", label_offset="34px", tick_format="d", **axis),
            bqplot.Axis(
                scale=self._y,
                label=f"{metric} (%)" if self._share else metric,
                label_offset="44px",
                tick_format="~g",
                **UPRIGHT,
                **axis,
            ),
        ]
        self.figure = bqplot.Figure(
            marks=[self._band, self._line, self._mark],
            axes=self._axes,
            fig_margin={"top": 12, "bottom": 44, "left": 60, "right": 16},
            background_style={"fill": "none"},
            min_aspect_ratio=0.5,
            max_aspect_ratio=4.0,
        )
        self.figure.add_class("hw-curve")  # its text then has the page's own ink
        self.figure.layout.width = "420px"
        self.figure.layout.max_width = "100%"
        self.figure.layout.height = "310px"
        self.figure.layout.flex = "1 1 360px"

    def show(self, points: Sequence[CurvePoint], current: CurvePoint | None, n_heads: int) -> None:
        """Draw the known points, by count ascending, and the one where the slider stands."""
        self._span(n_heads)
        counts = np.array([point["count"] for point in points], dtype=np.float64)
        estimates = [point["estimate"] for point in points]
        self._range([*estimates, *([] if current is None else [current["estimate"]])])
        factor = self._factor
        with self._line.hold_sync():
            self._line.x = counts
            self._line.y = factor * np.array([estimate["value"] for estimate in estimates])
            self._line.visible = bool(points)
        with self._band.hold_sync():
            self._band.x = counts
            self._band.y = factor * np.array([[e["low"] for e in estimates], [e["high"] for e in estimates]])
            self._band.visible = len(points) > 1
        with self._mark.hold_sync():
            if current is not None:
                self._mark.x = np.array([float(current["count"])])
                self._mark.y = factor * np.array([current["estimate"]["value"]])
            self._mark.visible = current is not None

    def _span(self, n_heads: int) -> None:
        """Show 0 to all heads, with room for the marks at both ends."""
        most = float(max(n_heads, 1))
        if self._x.max != 1.02 * most:
            with self._x.hold_sync():
                self._x.min, self._x.max = -0.02 * most, 1.02 * most

    def _range(self, estimates: Sequence[EstimateData]) -> None:
        """Show all of the intervals, and of a share at least a tenth, within 0 to 100 %."""
        ends = [number for e in estimates for number in (e["low"], e["value"], e["high"]) if np.isfinite(number)]
        low, high = (min(ends), max(ends)) if ends else (0.0, 1.0)
        room = max(0.06 * (high - low), 0.01 * abs(high), 0.01 if self._share else 1e-9)
        low, high = low - room, high + room
        if self._share:
            high = min(1.0, max(high, (low + high + _LEAST_SPAN) / 2))
            low = max(0.0, min(low, high - _LEAST_SPAN))
            high = max(high, low + _LEAST_SPAN)
        span = (self._factor * low, self._factor * high)
        if (self._y.min, self._y.max) != span:
            with self._y.hold_sync():
                self._y.min, self._y.max = span

    def close(self) -> None:
        """Take the figure and everything in it from the page."""
        for part in (*self.figure.marks, *self._axes, self._x, self._y, self.figure):
            part.close()


def fill_order(n_heads: int, most: int) -> list[int]:
    """Return at most `most` counts from 0 to `n_heads`, coarse to fine, so that the curve's shape comes first."""
    if most <= 0:
        return []
    wanted = sorted({round(i * n_heads / max(most - 1, 1)) for i in range(most)})
    order: list[int] = []
    step = 1
    while step < len(wanted) - 1:
        step *= 2
    while step >= 1:
        order += [wanted[i] for i in range(0, len(wanted), step) if wanted[i] not in order]
        if step > 1 and wanted[-1] not in order:
            order.append(wanted[-1])
        step //= 2
    return order
