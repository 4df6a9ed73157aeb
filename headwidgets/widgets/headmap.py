"""Which heads attend alike? Heads as points, near each other where they do (Clark et al. 2019, figure 6)."""

from collections.abc import Iterable, Mapping
from typing import Any

import ipywidgets
import numpy as np
import traitlets as t

from headwidgets.errors import InputError
from headwidgets.scores import KIND_ORDER, Head, HeadScores
from headwidgets.widgets.grid import HeadGrid
from headwidgets.widgets.heads import Shapes, as_heads
from headwidgets.widgets.points import PointBox, expect_grid
from headwidgets.wire.documents import SCHEMA, KindName

MODES = ("lasso", "brush", "hover", "pan")
_MOST_TESTED = 400
"""Heads up to which the test of layers takes no time that anybody notices."""


class HeadMap(PointBox):
    """Heads laid out by how differently they attend, coloured by layer, role or cluster, linked to a grid.

    Draw a line around points (or a rectangle) to choose heads; they are marked in the grid, and heads chosen there are
    marked here. The grid is the way by keyboard and screen reader; the saved picture takes arrow keys itself.

    Example:
        >>> distances = hw.patterns.distance(model, texts)
        >>> hw.HeadMap(distances, roles=roles)
        >>> HeadMap(distances, grid=my_grid, colour="cluster")
    """

    mode = t.Enum(MODES, "lasso", help="What the pointer does: lasso, brush, hover or pan.")
    colour = t.Unicode("layer", help="What colours the points: layer, role or cluster.")

    def __init__(
        self,
        distances: Any,
        *,
        roles: Any = None,
        grid: Any = True,
        kind: KindName | None = None,
        clusters: int | bool = True,
        root: bool = False,
        seed: int = 0,
        title: str = "",
        theme: str = "auto",
        selected: Any = (),
        **options: Any,
    ) -> None:
        """Show the heads of one kind of attention.

        Args:
            distances: `HeadDistances`, from `hw.patterns.distance`.
            roles: `Roles`, or heads by name of the role; a head with several has the colour of its first one, and all
                are read out.
            grid: True adds a grid of the same heads; a `HeadGrid` of your own is linked instead; False for none.
            kind: Which kind of attention; the first that was measured by default.
            clusters: How many groups of heads that attend alike; True chooses a number, False is none.
            root: Lay out the square roots of the divergences instead of the divergences, as published.
            seed: Of the layout and of the test of layers.
            title: Heading; empty for none.
            theme: ``auto``, ``light`` or ``dark``, of the grid.
            selected: Chosen heads.
            **options: Other traits, for example ``mode="brush"``, ``colour="role"``.

        Raises:
            InputError: no distances, a kind that was not measured, heads that do not exist, an unknown colour.
            TypeError: an option is not known.
        """
        if not hasattr(distances, "layout") or not hasattr(distances, "clusters"):
            raise InputError(
                f"expected distances between heads, from hw.patterns.distance(model, texts); got "
                f"{type(distances).__name__}"
            )
        self.distances = distances
        name: KindName = distances.kinds[0] if kind is None else kind
        self.layout_of_heads = distances.layout(name, root=root, seed=seed)
        heads: list[Head] = list(self.layout_of_heads.heads)
        groups = [_by_layer(heads)]
        if roles is not None:
            groups.append(_by_role(heads, roles))
        if clusters is not False and len(heads) > 3:
            groups.append(_by_cluster(distances.clusters(None if clusters is True else clusters, kind=name)))
        self._current = {
            "schema": SCHEMA,
            "document": "headmap",
            "title": title,
            "heads": np.array([(KIND_ORDER.index(h.kind), h.layer, h.index) for h in heads], dtype=np.int32),
            "x": self.layout_of_heads.x.astype(np.float32),
            "y": self.layout_of_heads.y.astype(np.float32),
            "unit": "root of nats per token" if root else "nats per token",
            "stress": float(self.layout_of_heads.stress),
            "fit": float(self.layout_of_heads.fit),
            "groups": groups,
            "shown": 0,
            "selected": [],
            "note": _note(distances, name, len(heads), seed),
            "provenance": distances.provenance,
        }
        self._place_heads()
        self.shapes: Shapes = {name: (max(h.layer for h in heads) + 1, max(h.index for h in heads) + 1)}
        self.grid = expect_grid(grid)
        own = grid is True
        if own:
            self.grid = HeadGrid(
                roles if hasattr(roles, "roles") else _unlike(distances, name, self.shapes), theme=theme
            )
        from headwidgets.widgets.headmap_figure import HeadMapFigure

        self._figure: Any = HeadMapFigure(self._current)
        switch = self._switch_of(MODES, options.get("mode"))
        names = [group["name"] for group in groups]
        self._colours = ipywidgets.Dropdown(options=names, description="colour by", layout={"width": "auto"})
        clear = ipywidgets.Button(description="let go", tooltip="Choose no head", layout={"width": "auto"})
        clear.on_click(lambda _: setattr(self, "selected", ()))
        bar = ipywidgets.HBox(
            [switch, clear, *([self._colours] if len(names) > 1 else [])],
            layout={"flex_flow": "row wrap", "align_items": "center"},
        )
        self._legend = ipywidgets.HTML()
        chart = ipywidgets.VBox([self._figure.figure, self._legend], layout={"flex": "0 1 520px", "max_width": "100%"})
        row = ipywidgets.HBox(
            [chart, *([self.grid] if own else [])], layout={"flex_flow": "row wrap", "align_items": "flex-start"}
        )
        heading = ipywidgets.HTML(self._figure.heading(self._current, by_grid=self.grid is not None))
        super().__init__([heading, bar, row], **options)
        self.observe(self._coloured, "colour")
        self._colours.observe(self._colour_picked, "value")
        self._coloured({"new": self.colour})
        self._connect(switch)
        if selected:
            self.selected = selected

    @t.validate("colour")
    def _check_colour(self, proposal: Any) -> str:
        names = [group["name"] for group in self._current["groups"]]
        wanted = proposal["value"]
        if wanted not in names:
            hint = "; pass roles= to have that" if wanted == "role" else ""
            raise InputError(f"expected colour as one of {', '.join(names)}, got {wanted!r}{hint}")
        return str(wanted)

    def _coloured(self, change: Any) -> None:
        names = [group["name"] for group in self._current["groups"]]
        self._current["shown"] = names.index(change["new"])
        if self._figure is None:
            return
        self._colours.value = change["new"]
        self._figure.colour(self._current)
        self._legend.value = self._figure.legend(self._current)
        self._figure.select([self._place[head] for head in self.selected if head in self._place])
        self._figure.set_mode(self.mode)
        self._refresh_soon()

    def _colour_picked(self, change: Any) -> None:
        self.colour = change["new"]

    def summary(self) -> str:
        """Return one line: how many heads, how good the picture is."""
        found = self.layout_of_heads
        return (
            f"HeadMap({len(self._heads)} {found.kind} heads, stress {found.stress:.2f}, coloured by {self.colour}; "
            f"{len(self.selected)} selected)"
        )


def _by_layer(heads: list[Head]) -> dict[str, Any]:
    labels = [str(layer) for layer in range(max(head.layer for head in heads) + 1)]
    return {
        "name": "layer",
        "labels": labels,
        "ordered": True,
        "group": np.array([head.layer for head in heads], dtype=np.int32),
    }


def _by_role(heads: list[Head], roles: Any) -> dict[str, Any]:
    """Roles as groups: the first of each head, all of them in words."""
    named: dict[str, Iterable[Any]]
    if isinstance(roles, Mapping):
        named = dict(roles)
    elif hasattr(roles, "roles"):
        named = {role.name: role.heads for role in roles.roles}
    else:
        raise InputError(f"expected roles as Roles, or heads by name of the role, got {type(roles).__name__}")
    own: dict[Head, list[str]] = {head: [] for head in heads}
    kinds = {head.kind for head in heads}
    for name, members in named.items():
        for head in as_heads(members):
            if head in own:
                own[head].append(name)
            elif head.kind in kinds:
                raise InputError(f"the role {name!r} names {head.label(True)}, which was not measured")
    labels = [name for name in named if any(name in found for found in own.values())]
    return {
        "name": "role",
        "labels": labels,
        "ordered": False,
        "group": np.array([labels.index(own[h][0]) if own[h] else -1 for h in heads], dtype=np.int32),
        "about": [", ".join(own[head]) for head in heads],
    }


def _by_cluster(found: Any) -> dict[str, Any]:
    return {
        "name": "cluster",
        "labels": [_letters(i) for i in range(len(found))],
        "ordered": False,
        "group": np.asarray(found.labels, dtype=np.int32),
    }


def _letters(number: int) -> str:
    """A, B, ..., Z, AA, AB, ..."""
    text = ""
    number += 1
    while number:
        number, rest = divmod(number - 1, 26)
        text = chr(65 + rest) + text
    return text


def _note(distances: Any, kind: KindName, count: int, seed: int) -> str:
    without = ", without special tokens and the first key" if distances.keys == "content" else ""
    said = [
        f"{kind.capitalize()} attention; Jensen-Shannon divergence between heads' rows, mean over the tokens of "
        f"{distances.n} texts{without}."
    ]
    if count <= _MOST_TESTED:
        try:
            test = distances.layers(kind, samples=1000, seed=seed)
        except InputError:  # one layer, or one head in each
            return said[0]
        said.append(
            f"Within a layer {test.within:.3f}, between layers {test.between:.3f} (p {_p(test.p)} when heads are dealt "
            f"to layers at random; p {_p(test.neighbours_p)} against neighbouring layers alone)."
        )
    other = [k for k in distances.kinds if k != kind]
    if other:
        said.append(f"Also measured: {' and '.join(other)} attention.")
    return " ".join(said)


def _p(value: float) -> str:
    return "< 0.002" if value < 0.002 else f"= {value:.3f}"


def _unlike(distances: Any, kind: KindName, shapes: Shapes) -> HeadScores:
    """How far each head is from all others, for the grid."""
    square = distances.values[kind]
    values = np.full(shapes[kind], np.nan)
    for head, row in zip(distances.heads(kind), square, strict=True):
        values[head.layer, head.index] = row.sum() / (len(row) - 1)
    return HeadScores({kind: values}, name="distance to other heads", unit="nats", provenance=distances.provenance)
