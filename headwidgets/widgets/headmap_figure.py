"""The live map of heads: a bqplot figure with lasso, brush, hover, pan and zoom."""

import html
from typing import Any

import bqplot
import numpy as np
from numpy.typing import NDArray

from headwidgets.widgets.curve import GRID, INK, UPRIGHT
from headwidgets.widgets.points_figure import FONT, SELECTED, PointFigure, point_names

RAMP = ("#eef3f8", "#c3d9ec", "#7fb2d9", "#2f7ab8", "#0a3a70")
CATEGORIES = (
    "#2f7ab8", "#e08a1e", "#3a9a6b", "#b5487f", "#8ecae6", "#c9b21f", "#7b5fb0", "#8a949f", "#c8553d", "#7fb8a4",
    "#9b6b43", "#dba3c4",
)  # fmt: skip
KNOWN_ROLES = (
    "positional", "syntactic", "separator", "rare-word", "previous-token", "broad", "sink", "duplicate-token",
    "induction", "coreference",
)  # fmt: skip
"""As in the saved picture and the grid; a test compares them."""
SHAPES = ("circle", "square", "triangle-up", "diamond", "plus", "triangle-down", "rectangle")
_NONE = "rgba(128, 128, 128, 0.15)"
_WIDTH, _HEIGHT = 520, 440
_MARGIN = {"top": 40, "bottom": 44, "left": 68, "right": 16}
_MOST_NUMBERS = 160
"""Points that have room for the number of their layer."""

_KEPT = 4
"""Generations of parts that are no longer on show and not yet closed."""

Floats = NDArray[np.float64]


class HeadMapFigure(PointFigure):
    """Points coloured by one of several groupings; a category has a shape of its own."""

    def __init__(self, document: dict[str, Any]) -> None:
        super().__init__()
        self._x, self._y = (np.asarray(document[axis], dtype=np.float64) for axis in ("x", "y"))
        spans = _spans(self._x, self._y)
        self._scales = {
            axis: bqplot.LinearScale(allow_padding=False, min=low, max=high)
            for axis, (low, high) in zip(("x", "y"), spans, strict=True)
        }
        self._names = np.array(point_names(document["heads"]))
        style = {"color": INK, "tick_style": {"font-size": "11px"}, "grid_color": GRID}
        unit = document["unit"]
        self._axes = [
            bqplot.Axis(scale=self._scales["x"], label=f"first direction ({unit})", label_offset="34px", **style),
            bqplot.Axis(
                scale=self._scales["y"], label=f"second direction ({unit})", label_offset="52px", **UPRIGHT, **style
            ),
        ]
        self._extra: list[Any] = []
        self._retired: list[list[Any]] = []
        self.figure = bqplot.Figure(
            axes=self._axes,
            fig_margin=dict(_MARGIN),
            background_style={"fill": "none"},
            min_aspect_ratio=_WIDTH / _HEIGHT,
            max_aspect_ratio=_WIDTH / _HEIGHT,
        )
        self.figure.add_class("hw-curve")  # its text then has the page's own ink
        self.figure.add_class("hw-headmap-live")
        self.figure.layout.width = f"{_WIDTH}px"
        self.figure.layout.max_width = "100%"
        self.figure.layout.height = f"{_HEIGHT}px"

    def colour(self, document: dict[str, Any]) -> None:
        """Draw the points anew in the colours of the grouping on show."""
        old, old_tools = [*(mark for _, mark in self._points), *self._extra], list(self._tools.values())
        self._points, self._extra = [], []
        grouping = document["groups"][document["shown"]]
        group = np.asarray(grouping["group"])
        count = len(group)
        size = 64 if count <= 90 else 50 if count <= 400 else 22
        if grouping["ordered"]:
            numbered = count <= _MOST_NUMBERS
            fills = [ramp_colour(label, len(grouping["labels"])) for label in group]
            self._add(np.arange(count), fills, "circle", 190 if numbered else size, grouping)
            if numbered:
                texts = [grouping["labels"][label] for label in group]
                self._extra = [self._numbers(texts, [_ink_on(fill) for fill in fills])]
        else:
            looks = category_looks(grouping)
            for label in (-1, *range(len(grouping["labels"]))):
                places = np.flatnonzero(group == label)
                if not len(places):
                    continue
                fill, shape = (_NONE, "circle") if label < 0 else looks[label]
                self._add(places, [fill] * len(places), shape, 36 if label < 0 else 1.4 * size, grouping)
        self._tools = {
            "lasso": self._selector(bqplot.interacts.LassoSelector),
            "brush": self._selector(bqplot.interacts.BrushSelector),
            "pan": bqplot.PanZoom(scales={"x": [self._scales["x"]], "y": [self._scales["y"]]}),
        }
        self.figure.interaction = None
        self.figure.marks = [*(mark for _, mark in self._points), *self._extra]
        self._retire([*old_tools, *old])

    def _selector(self, tool: Any) -> Any:
        marks = [mark for _, mark in self._points]
        return tool(marks=marks, color=SELECTED, x_scale=self._scales["x"], y_scale=self._scales["y"])

    def select(self, wanted: list[int]) -> None:
        """Mark points; outlines that were drawn before no longer say what is chosen, and go."""
        super().select(wanted)
        if not self._drawn:
            return
        self._drawn = False
        for name, tool in (("lasso", bqplot.interacts.LassoSelector), ("brush", bqplot.interacts.BrushSelector)):
            old, self._tools[name] = self._tools[name], self._selector(tool)
            if self._mode == name:
                self.figure.interaction = self._tools[name]
            self._retire([old])

    def _retire(self, parts: list[Any]) -> None:
        """Close parts later: the browser still writes to those that it takes down."""
        self._retired.append(parts)
        while len(self._retired) > _KEPT:
            _close(self._retired.pop(0))

    def _add(self, places: Any, fills: list[str], shape: str, size: float, grouping: dict[str, Any]) -> None:
        own = grouping.get("about") or [grouping["labels"][i] if i >= 0 else "" for i in grouping["group"]]
        kind = grouping["name"]
        said = [f"{self._names[i]}" + (f" · {kind} {own[i]}" if own[i] and kind != "layer" else "") for i in places]
        mark = bqplot.Scatter(
            x=self._x[places],
            y=self._y[places],
            names=np.array(said),
            display_names=False,
            scales=self._scales,
            colors=fills,
            marker=shape,
            stroke=INK,
            stroke_width=1.0,
            default_size=int(size),
            selected_style={"opacity": 1.0, "stroke": SELECTED, "stroke-width": 3},
            unselected_style={"opacity": 0.7},
            tooltip=bqplot.Tooltip(fields=["name"], labels=["head"]),
            interactions={"hover": "tooltip", "click": "select"},
        )
        self._follow(np.asarray(places, dtype=np.int64), mark)

    def _numbers(self, texts: list[str], inks: list[str]) -> Any:
        return bqplot.Label(
            x=self._x,
            y=self._y,
            text=texts,
            colors=inks,
            scales=self._scales,
            default_size=10,
            font_weight="normal",
            align="middle",
            y_offset=0,
            interactions={},
        )

    @staticmethod
    def heading(document: dict[str, Any], *, by_grid: bool) -> str:
        """The lines over the figure as HTML; every text in it is escaped."""
        lines = [f"<b>{html.escape(document['title'])}</b>"] if document["title"] else []
        share = f"distances in the picture account for {100 * document['fit']:.0f} % of the variance of theirs"
        lines.append(f"{len(document['heads'])} heads, stress {document['stress']:.2f}; {share}")
        keys = " By keyboard: choose heads in the grid." if by_grid else ""
        small = "font-size:11px;color:var(--jp-ui-font-color2, #808080)"
        lines.append(f'<span style="{small}">{html.escape(document["note"])}{keys}</span>')
        body = "<br>".join(lines)
        return f"<div style='font:13px/1.5 {FONT};color:var(--jp-ui-font-color1, inherit)'>{body}</div>"

    @staticmethod
    def legend(document: dict[str, Any]) -> str:
        """What colours and shapes mean, as HTML."""
        grouping = document["groups"][document["shown"]]
        group = np.asarray(grouping["group"])
        name = html.escape(grouping["name"])
        items = []
        if grouping["ordered"]:
            shown = range(len(grouping["labels"]))
            step = max(1, -(-len(shown) // 16))
            for label in shown[::step]:
                fill = ramp_colour(label, len(grouping["labels"]))
                items.append(_swatch(fill, "circle") + html.escape(grouping["labels"][label]))
        else:
            looks = category_looks(grouping)
            for label, text in enumerate(grouping["labels"]):
                items.append(_swatch(*looks[label]) + f"{html.escape(text)} ({int((group == label).sum())})")
            if (group < 0).any():
                items.append(_swatch(_NONE, "circle", 3.5) + f"no {name} ({int((group < 0).sum())})")
        body = " ".join(f'<span style="white-space:nowrap;margin-right:12px">{item}</span>' for item in items)
        lead = f'<span style="margin-right:8px">{name}</span>'
        ink = "color:var(--jp-ui-font-color1, inherit)"
        return f"<div style='font:12px/1.6 {FONT};{ink};padding-left:68px;white-space:normal'>{lead}{body}</div>"

    def close(self) -> None:
        """Take the figure and everything in it from the page."""
        super().close()
        _close([*(part for parts in self._retired for part in parts), *self._extra, *self._axes])
        _close(list(self._scales.values()))


def _close(parts: list[Any]) -> None:
    for part in parts:
        if getattr(part, "tooltip", None) is not None:
            part.tooltip.close()
        part.close()


def _spans(x: Floats, y: Floats) -> tuple[tuple[float, float], tuple[float, float]]:
    """Ranges of both axes with one unit for both, so that distances are what they look like."""
    wide, high = _WIDTH - _MARGIN["left"] - _MARGIN["right"], _HEIGHT - _MARGIN["top"] - _MARGIN["bottom"]
    centre = [(float(v.min()) + float(v.max())) / 2 for v in (x, y)]
    reach = [1.16 * float(v.max() - v.min()) for v in (x, y)]
    unit = max(reach[0] / wide, reach[1] / high) or 1.0 / wide
    half = wide * unit / 2, high * unit / 2
    return (centre[0] - half[0], centre[0] + half[0]), (centre[1] - half[1], centre[1] + half[1])


def ramp_colour(label: int, count: int) -> str:
    """The colour of the n-th of `count` ordered labels."""
    at = (len(RAMP) - 1) * int(label) / max(1, count - 1)
    low = min(int(at), len(RAMP) - 2)
    first, second = (np.array([int(RAMP[i][k : k + 2], 16) for k in (1, 3, 5)]) for i in (low, low + 1))
    mixed = np.round(first + (at - low) * (second - first)).astype(int)
    return "#" + "".join(f"{part:02x}" for part in mixed)


def _ink_on(fill: str) -> str:
    parts = [int(fill[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return "#ffffff" if 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2] < 0.18 else "#10151c"


def category_looks(grouping: dict[str, Any]) -> list[tuple[str, str]]:
    """A colour and a shape for every label; roles of a known name have the same colour everywhere."""
    labels = grouping["labels"]
    slots = list(range(len(labels)))
    if grouping["name"] == "role":
        slots = []
        free = [i for i in range(len(CATEGORIES)) if i >= len(KNOWN_ROLES) or KNOWN_ROLES[i] not in labels]
        for name in labels:
            known = name in KNOWN_ROLES
            slots.append(KNOWN_ROLES.index(name) if known else free.pop(0) if free else len(CATEGORIES) + len(slots))
    return [(CATEGORIES[slot % len(CATEGORIES)], SHAPES[i % len(SHAPES)]) for i, slot in enumerate(slots)]


_OUTLINES = {
    "circle": "M{l} 0a{r} {r} 0 1 0 {d} 0a{r} {r} 0 1 0 -{d} 0z",
    "square": "M-5 -5H5V5H-5z",
    "triangle-up": "M0 -6.5L6 5H-6z",
    "diamond": "M0 -7L5.5 0L0 7L-5.5 0z",
    "plus": "M-2 -6H2V-2H6V2H2V6H-2V2H-6V-2H-2z",
    "triangle-down": "M0 6.5L6 -5H-6z",
    "rectangle": "M-7 -3.5H7V3.5H-7z",
}


def _swatch(fill: str, shape: str, r: float = 5.5) -> str:
    path = _OUTLINES[shape].format(l=-r, r=r, d=2 * r)
    return (
        '<svg width="16" height="16" viewBox="-8 -8 16 16" style="vertical-align:-3px;margin-right:4px" '
        f'aria-hidden="true"><path d="{path}" fill="{fill}" stroke="{INK}"/></svg>'
    )
