"""Do two measurements agree on which heads matter? A point is a head (Hao et al. 2021, figure 4)."""

from typing import Any

import ipywidgets
import traitlets as t

from headwidgets.errors import InputError
from headwidgets.scores import Head, HeadScores
from headwidgets.widgets.grid import HeadGrid, shown_unit
from headwidgets.widgets.heads import Shapes
from headwidgets.widgets.points import PointBox, expect_grid

MODES = ("brush", "hover", "pan")


class ImportanceScatter(PointBox):
    """Two scores of the same heads against each other, with r and its interval, linked to a grid of the heads.

    Drag a rectangle to choose heads; they are marked in the grid, and heads chosen there are marked here. In the mode
    ``hover`` the pointer chooses the head under it, and a click keeps it (with Ctrl: adds it). The grid is the way by
    keyboard and screen reader; the saved picture takes arrow keys itself.

    Example:
        >>> scatter = ImportanceScatter(scores_sst2, scores_mrpc, names=("SST-2", "MRPC"))
        >>> scatter.correlation; scatter.selected
    """

    mode = t.Enum(MODES, "brush", help="What the pointer does: brush, hover or pan.")

    def __init__(
        self,
        scores_a: Any,
        scores_b: Any = None,
        *,
        grid: Any = True,
        names: tuple[str, str] | None = None,
        kind: Any = None,
        seed: int = 0,
        samples: int = 2000,
        title: str = "",
        theme: str = "auto",
        selected: Any = (),
        **options: Any,
    ) -> None:
        """Show two scores of the same heads.

        Args:
            scores_a: `HeadScores` (or an array [layers, heads]) for the x axis; or a `Correlation`, alone.
            scores_b: The other measurement, for the y axis.
            grid: True adds a grid of both scores; a `HeadGrid` of your own is linked instead; False for none.
            names: What to call the two, for example the tasks; by default the scores' names.
            kind: Only heads of this kind of attention.
            seed: Of the bootstrap.
            samples: Bootstrap draws.
            title: Heading; empty for none.
            theme: ``auto``, ``light`` or ``dark``, of the grid.
            selected: Chosen heads.
            **options: Other traits, for example ``mode="hover"``.

        Raises:
            InputError: scores that cannot be compared, or a head that does not exist.
            TypeError: an option is not known.
        """
        self.correlation = _correlation(scores_a, scores_b, names=names, kind=kind, seed=seed, samples=samples)
        units = dict(zip(("x_unit", "y_unit"), map(shown_unit, self.correlation.scores), strict=True))
        self._current = {**self.correlation.document(), **units, "title": title}
        self._place_heads()
        self.shapes = _shapes(self.correlation.scores, {head.kind for head in self._heads})
        self.grid = expect_grid(grid)
        own = grid is True
        if own:
            self.grid = HeadGrid(_named(self.correlation, self.shapes), theme=theme)
        from headwidgets.widgets.scatter_figure import ScatterFigure

        self._figure: Any = ScatterFigure(self._current)
        switch = self._switch_of(MODES, options.get("mode"))
        row = ipywidgets.HBox(
            [self._figure.figure, *([self.grid] if own else [])],
            layout={"flex_flow": "row wrap", "align_items": "flex-start"},
        )
        heading = ipywidgets.HTML(self._figure.heading(self._current))
        super().__init__([heading, switch, row], **options)
        self._connect(switch)
        if selected:
            self.selected = selected

    def _ranked(self, heads: list[Head]) -> list[Head]:
        """Those that matter most lead."""
        y = self._current["y"]
        return sorted(heads, key=lambda head: -float(y[self._place[head]]))

    def summary(self) -> str:
        """Return one line: r with its interval."""
        return f"ImportanceScatter({self.correlation}; {len(self.selected)} selected)"


def _correlation(first: Any, second: Any, **options: Any) -> Any:
    """The correlation of two scores; imports the engine when it has to be computed."""
    if second is None and hasattr(first, "pearson") and hasattr(first, "document"):
        return first
    if second is None:
        raise InputError(
            "expected two scores of the same heads, or what hw.attribution.correlate returned; got "
            f"{type(first).__name__} alone"
        )
    from headwidgets import studio

    return studio.correlate(first, second, **options)


def _shapes(scores: Any, kinds: set[Any]) -> Shapes:
    shapes: Shapes = {}
    for kind, values in scores[0].values.items():
        if kind in kinds:
            shapes[kind] = (int(values.shape[0]), int(values.shape[1]))
    return shapes


def _named(correlation: Any, shapes: Shapes) -> list[HeadScores]:
    """Both scores under the names of the axes, for the grid's menu."""
    found = []
    for name, own in zip(_apart(correlation.names), correlation.scores, strict=True):
        values = {kind: own.values[kind] for kind in shapes}
        errors = {kind: own.stderr[kind] for kind in shapes} if own.stderr is not None else None
        found.append(HeadScores(values, name=name, unit=own.unit, n=own.n, stderr=errors, provenance=own.provenance))
    return found


def _apart(names: tuple[str, str]) -> tuple[str, str]:
    return names if names[0] != names[1] else (f"{names[0]} (x)", f"{names[1]} (y)")
