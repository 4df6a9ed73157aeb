"""What is true of each head? The layer x head grid."""

from collections.abc import Iterable, Mapping
from typing import Any, cast

import numpy as np
import traitlets as t
from numpy.typing import NDArray

from headwidgets.errors import InputError
from headwidgets.jobs import Job
from headwidgets.scores import KIND_LABELS, KIND_ORDER, Head
from headwidgets.widgets.base import HeadWidget, Reply, as_source
from headwidgets.widgets.following import Following
from headwidgets.widgets.heads import Heads, Shapes, to_wire
from headwidgets.wire.documents import SCHEMA, GridPanel, KindName, ScoreLayer


class HeadGrid(HeadWidget):
    """Layer x head grid: one tab per kind of attention, colour by score, heads chosen by click or keyboard.

    A job that measures scores can be shown while it runs: the grid shows what it has found so far, `status` says how
    far it is, Stop ends it. The job is the caller's: closing the grid leaves it running.

    Example:
        >>> grid = HeadGrid(numpy.random.rand(12, 12), name="confidence")
        >>> grid.selected = [Head("encoder", 3, 7)]
        >>> HeadGrid(hw.jobs.start(hw.attribution.importance, model, texts, labels))
        >>> HeadGrid(scores, roles=hw.probing.roles(model, texts))
    """

    _script = "grid.js"

    selected: Any = Heads(help="Chosen heads, the first one leads.")
    pruned: Any = Heads(help="Heads marked as pruned.")
    score = t.Unicode(help="Name of the score that is drawn; empty draws the first.").tag(sync=True, echo_update=False)
    kind = t.Unicode(help="The kind whose tab is open; empty opens the first.").tag(sync=True, echo_update=False)
    running = t.Bool(help="Whether a job still brings scores.").tag(sync=True)

    def __init__(
        self,
        scores: Any,
        *,
        name: str = "score",
        unit: str = "",
        title: str = "",
        kind: str = "",
        roles: Any = None,
        selected: Any = (),
        pruned: Any = (),
        wait: float = 2.0,
        **options: Any,
    ) -> None:
        """Show scores of heads, their roles, or both.

        Args:
            scores: An array [layers, heads]; a dict from kind to such arrays, or from a name to scores; a
                `HeadScores`; a list of several; `Roles`; a model (no scores: a grid to choose heads in); or a `Job`
                that returns any of these.
            name: What a bare array measures.
            unit: Of a bare array; empty for a pure number.
            title: Heading; empty for none.
            kind: The kind whose tab is open; also the kind of a bare array (default ``encoder``).
            roles: `Roles` of the same heads, drawn in the cells with a colour and a pattern each.
            selected: Chosen heads.
            pruned: Heads marked as pruned.
            wait: Seconds to wait for a job's first scores before showing progress.
            **options: Other traits, for example ``theme="dark"``.

        Raises:
            InputError: the scores cannot be drawn, or a head does not exist.
            TypeError: an option is not known.
        """
        self._following: Following | None = None
        self._roles = roles
        if isinstance(scores, Job):
            self.shapes = {}  # nothing is refused before it is known what there is
            super().__init__(_empty(title), selected=selected, pruned=pruned, kind=kind, **options)
            self._follow(scores, wait, name=name, unit=unit)
            return
        document = grid_document(scores, name=name, unit=unit, title=title, kind=kind, roles=roles)
        self.shapes = _shapes(document)
        super().__init__(document, selected=selected, pruned=pruned, kind=kind, **options)

    # ---- a job

    @property
    def job(self) -> "Job[Any] | None":
        """The job whose scores are shown, or None."""
        return None if self._following is None else self._following.job

    def stop(self) -> None:
        """Tell the job to stop; it does so within one batch, and what it has found stays."""
        if self._following is not None:
            self._following.job.cancel()

    def _follow(self, job: "Job[Any]", wait: float, **options: Any) -> None:
        def tell(status: str, running: bool) -> None:
            self._publish(status=status, running=running)
            if not running:
                self._refresh_soon()

        self._following = Following(job, lambda scores: self._replace(scores, **options), tell)
        self._following.wait_for_first(wait)

    def _leave(self) -> None:
        following, self._following = self._following, None
        if following is not None:
            following.leave()

    def wait(self, timeout: float | None = None, *, background: bool = True) -> bool:
        """Block until the job, if there is one, has ended; see `Pictured.wait`."""
        ended = self._following is None or self._following.wait(timeout)
        return super().wait(timeout, background=background) and ended

    def _busy(self) -> bool:
        return super()._busy() or bool(self.running)

    def _free(self) -> None:
        self._leave()

    def _work_for(self, request: Any) -> Reply:
        if request.get("ask") != "stop":
            return super()._work_for(request)

        def work(_: Any) -> None:
            self.stop()
            self._answer({"id": request["id"], "answer": "done"})

        return Reply(work)

    @t.validate("kind")
    def _check_kind(self, proposal: Any) -> str:
        kind = str(proposal["value"])
        if kind and self.shapes and kind not in self.shapes:
            raise InputError(f"there is no kind {kind!r} here: the kinds are {', '.join(self.shapes)}")
        return kind

    @t.validate("score")
    def _check_score(self, proposal: Any) -> str:
        score = str(proposal["value"])
        names = list(dict.fromkeys(layer["name"] for panel in self._current["panels"] for layer in panel["scores"]))
        if score and names and score not in names:
            raise InputError(f"there is no score {score!r} here: the scores are {', '.join(names)}")
        return score

    def show(self, scores: Any, **options: Any) -> None:
        """Show other scores in place; selected and pruned heads that still exist stay.

        Args:
            scores: As in the constructor.
            **options: `name`, `unit`, `title`, `kind`, `roles` as in the constructor. Roles stay until others are
                given, or ``roles=None``.
        """
        self._leave()
        self._roles = options.pop("roles", self._roles)
        self._replace(scores, status="", running=False, **options)

    def _replace(self, scores: Any, *, status: str | None = None, running: bool | None = None, **options: Any) -> None:
        document = grid_document(scores, **{"title": self._current["title"], "roles": self._roles, **options})
        self.shapes = _shapes(document)
        names = {layer["name"] for panel in document["panels"] for layer in panel["scores"]}
        traits: dict[str, Any] = {}
        for name, heads in (("selected", self.selected), ("pruned", self.pruned)):
            left = [head for head in heads if _exists(head, self.shapes)]
            if len(left) < len(heads):
                traits[name] = left
        if self.score and self.score not in names:
            traits["score"] = ""
        if self.kind and self.kind not in self.shapes:
            traits["kind"] = ""
        if running is not None and (self.running or self.status):
            traits |= {"status": status, "running": running}
        self._show(document, **traits)

    def picture(self) -> dict[str, Any]:
        """Return the grid document with the heads selected and pruned now; the open tab and score come first."""
        panels = [_score_first(panel, self.score) for panel in self._current["panels"]]
        panels.sort(key=lambda panel: panel["kind"] != self.kind)
        return {
            **self._current,
            "panels": panels,
            "selected": to_wire(self.selected),
            "pruned": to_wire(self.pruned),
        }

    def summary(self) -> str:
        """Return one line: sizes and counts."""
        sizes = ", ".join(f"{kind} {layers} x {heads}" for kind, (layers, heads) in self.shapes.items())
        if not sizes:
            return f"HeadGrid({self.status or 'no scores yet'})"
        counts = ", ".join(f"{role['name']} {len(role['heads'])}" for role in self._current.get("roles", ()))
        roles = f" roles: {counts};" if counts else ""
        return f"HeadGrid({sizes};{roles} {len(self.selected)} selected, {len(self.pruned)} pruned)"


def _empty(title: str) -> dict[str, Any]:
    """The document of a grid that has no scores yet."""
    return {
        "schema": SCHEMA,
        "document": "grid",
        "title": title,
        "panels": [],
        "selected": [],
        "pruned": [],
        "provenance": None,
    }


def grid_document(
    scores: Any, *, name: str = "score", unit: str = "", title: str = "", kind: str = "", roles: Any = None
) -> dict[str, Any]:
    """Return the document of a grid; arguments as in `HeadGrid`."""
    panels: dict[KindName, dict[str, Any]] = {}
    provenance: Any = None
    if _is_roles(scores):
        if roles is not None:
            raise InputError("expected scores with roles=, got roles twice: Roles alone are shown by HeadGrid(roles)")
        roles, provenance = scores, scores.provenance
        panels = {k: _bare_panel(k, shape) for k, shape in roles.shapes.items()}
        model = (provenance or {}).get("model")
        title = title or (f"Roles of the heads of {model}" if model else "")
    elif hasattr(scores, "attend") or hasattr(scores, "panel"):
        source = as_source(scores)
        panels = {k: dict(source.panel(k)) for k in source.kinds}
        provenance = source.provenance
    else:
        for layers in _measurements(scores, name, unit, kind or "encoder"):
            for k, layer in layers.items():
                _add(panels, k, layer)
        first = scores[0] if isinstance(scores, (list, tuple)) and scores else scores
        provenance = getattr(first, "provenance", None)
    if not panels:
        raise InputError("there are no scores to show: pass an array [layers, heads] or head scores")
    document = {
        "schema": SCHEMA,
        "document": "grid",
        "title": title,
        "panels": [panels[k] for k in KIND_ORDER if k in panels],
        "selected": [],
        "pruned": [],
        "provenance": provenance if isinstance(provenance, Mapping) else None,
    }
    return document if roles is None else {**document, "roles": _role_layers(roles, panels)}


def _is_roles(value: Any) -> bool:
    return hasattr(value, "shapes") and hasattr(value, "layers") and hasattr(value, "provenance")


def _bare_panel(kind: KindName, shape: tuple[int, int]) -> dict[str, Any]:
    layers, heads = shape
    panel = GridPanel(kind=kind, label=KIND_LABELS[kind], layers=layers, heads=heads, kv_heads=heads, scores=[])
    return cast(dict[str, Any], panel)


def _role_layers(roles: Any, panels: Mapping[KindName, dict[str, Any]]) -> Any:
    """Roles as the wire has them; they must be of the heads shown."""
    if not _is_roles(roles):
        raise InputError(f"expected roles= as Roles from hw.probing.roles(...), got {type(roles).__name__}")
    for kind, shape in roles.shapes.items():
        panel = panels.get(kind)
        if panel is not None and (panel["layers"], panel["heads"]) != tuple(shape):
            raise InputError(
                f"expected roles of the heads shown ({kind}: {panel['layers']} layers of {panel['heads']} heads), got "
                f"roles of {shape[0]} layers of {shape[1]}"
            )
    if not set(roles.shapes) & set(panels):
        raise InputError(f"expected roles of {', '.join(panels)} attention, got roles of {', '.join(roles.shapes)}")
    return roles.layers()


def _measurements(scores: Any, name: str, unit: str, kind: str) -> Iterable[dict[Any, ScoreLayer]]:
    """Yield one {kind: layer} per measurement."""
    if isinstance(getattr(scores, "values", None), Mapping):
        yield _from_head_scores(scores)
    elif isinstance(scores, Mapping):
        kinds = [key in KIND_ORDER for key in scores]
        if kinds and all(kinds):
            yield {key: _layer(value, None, name, unit, 0) for key, value in scores.items()}
        elif any(kinds):
            raise InputError(f"a dict of scores has kinds as keys, or names; got {', '.join(map(str, scores))}")
        else:
            for key, value in scores.items():
                yield from _measurements(value, str(key), unit, kind)
    elif isinstance(scores, (list, tuple)) and scores and isinstance(getattr(scores[0], "values", None), Mapping):
        for item in scores:
            yield from _measurements(item, name, unit, kind)
    else:
        yield {kind: _layer(scores, None, name, unit, 0)}


def _from_head_scores(scores: Any) -> dict[str, ScoreLayer]:
    stderr = getattr(scores, "stderr", None) or {}
    unit = shown_unit(scores)
    return {
        kind: _layer(values, stderr.get(kind), str(scores.name), unit, int(scores.n or 0))
        for kind, values in scores.values.items()
    }


def shown_unit(scores: Any) -> str:
    """The unit, or for a pure number what it is a number of: a legend that says only "attribution" says little."""
    if scores.unit:
        return str(scores.unit)
    settings = (getattr(scores, "provenance", None) or {}).get("settings") or {}
    if settings.get("method") == "confidence":
        return "attention weight"
    return str(settings["output"]) if settings.get("output") == "probability" else ""


def _layer(values: Any, stderr: Any, name: str, unit: str, n: int) -> ScoreLayer:
    array = _matrix(values, name)
    errors = None if stderr is None else _matrix(stderr, f"standard error of {name}")
    if errors is not None and errors.shape != array.shape:
        raise InputError(f"the standard errors of {name} have shape {errors.shape}, its values {array.shape}")
    layer = {
        "name": name,
        "unit": unit,
        "n": n,
        "signed": bool((array < 0).any()),
        "values": array,
        "stderr": errors,
    }
    return cast(ScoreLayer, layer)


def _matrix(values: Any, name: str) -> NDArray[np.float32]:
    try:
        array = np.asarray(values)
        if array.dtype.kind not in "biuf":
            raise TypeError(f"its dtype is {array.dtype}")
        array = array.astype(np.float32)
    except (TypeError, ValueError, RuntimeError) as error:
        raise InputError(
            f"{name}: expected an array of numbers [layers, heads], got {type(values).__name__} ({error})"
        ) from None
    if array.ndim != 2 or 0 in array.shape:
        raise InputError(f"{name}: expected an array [layers, heads], got shape {array.shape}")
    return np.where(np.isfinite(array), array, np.float32(np.nan)).astype(np.float32)


def _add(panels: dict[KindName, dict[str, Any]], kind: KindName, layer: ScoreLayer) -> None:
    if kind not in KIND_ORDER:
        raise InputError(f"kind is one of {', '.join(KIND_ORDER)}, got {kind!r}")
    layers, heads = cast(Any, layer["values"]).shape
    panel = panels.setdefault(kind, _bare_panel(kind, (layers, heads)))
    if (panel["layers"], panel["heads"]) != (layers, heads):
        raise InputError(
            f"{layer['name']} has shape ({layers}, {heads}) for kind {kind}, but the scores before it have"
            f" ({panel['layers']}, {panel['heads']})"
        )
    if any(other["name"] == layer["name"] for other in panel["scores"]):
        raise InputError(f"two scores are named {layer['name']!r}: give them different names")
    panel["scores"].append(layer)


def _score_first(panel: dict[str, Any], score: str) -> dict[str, Any]:
    return {**panel, "scores": sorted(panel["scores"], key=lambda layer: layer["name"] != score)}


def _shapes(document: dict[str, Any]) -> Shapes:
    return {panel["kind"]: (panel["layers"], panel["heads"]) for panel in document["panels"]}


def _exists(head: Head, shapes: Shapes) -> bool:
    layers, heads = shapes.get(head.kind, (0, 0))
    return bool(head.layer < layers and head.index < heads)
