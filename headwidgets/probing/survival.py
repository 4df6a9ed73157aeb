"""Which roles are left when heads are pruned by a ranking, and do other heads take them over?"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from headwidgets.errors import InputError
from headwidgets.jobs import Cancel, Progress, blocking
from headwidgets.models.model import HeadModel, expect_model
from headwidgets.probing.roles import roles as look_for_roles
from headwidgets.provenance import checked_seed, made
from headwidgets.roles import Roles
from headwidgets.scores import Head, HeadScores, import_pandas
from headwidgets.statistics import LEVEL, ranks
from headwidgets.wire.documents import SCHEMA, Provenance

DRAWS = 20000
"""Random orders for the test of a role's place in a ranking, at most."""
_NUMBERS = 4_000_000


@dataclass(frozen=True)
class Standing:
    """Where the heads of a role stand in a ranking.

    Attributes:
        role: Its name.
        heads: How many have it, of those ranked.
        above: Chance that one of them is ranked above a head without the role: 0.5 where the role makes no difference,
            1 where they are pruned last.
        p: Two-sided, from random orders, for all roles together (Holm 1979).
    """

    role: str
    heads: int
    above: float
    p: float


@dataclass(frozen=True)
class RolesAfter:
    """Roles of a model of which heads were pruned, least important first.

    Attributes:
        before: The roles of the whole model.
        order: Heads in the order of pruning.
        counts: How many were pruned.
        left: For each count, the roles that the heads left had before.
        again: For each count, the roles that the heads left have in the pruned model; empty when not measured.
        standings: Where the heads of each role stand in the ranking.
        provenance: How it was made.
    """

    before: Roles
    order: tuple[Head, ...]
    counts: tuple[int, ...]
    left: tuple[Roles, ...]
    again: tuple[Roles, ...]
    standings: tuple[Standing, ...]
    provenance: Provenance | None = None

    def to_frame(self) -> Any:
        """A pandas DataFrame: pruned, role, of, left, low, high, again, moved.

        ``of`` heads had the role, ``left`` of them are not pruned; in the middle 95 % of random orders ``low`` to
        ``high`` are left. ``again`` heads have the role when the pruned model is measured, ``moved`` of them without
        having had it before.

        Raises:
            InputError: pandas is not installed.
        """
        rows = []
        for at, count in enumerate(self.counts):
            for role in self.before:
                ranked = [head for head in role.heads if head in set(self.order)]
                low, high = expected(len(self.order), len(ranked), count)
                had = set(role.heads)
                now = set(self.again[at].heads(role.name)) if self.again and role.name in self.again[at] else None
                rows.append(
                    {
                        "pruned": count,
                        "role": role.name,
                        "of": len(role),
                        "left": len(self.left[at][role.name]),
                        "low": low + len(role) - len(ranked),
                        "high": high + len(role) - len(ranked),
                        "again": math.nan if now is None else len(now),
                        "moved": math.nan if now is None else len(now - had),
                    }
                )
        frame = import_pandas("roles_after(...).to_frame()").DataFrame(rows)
        frame.attrs = {"provenance": self.provenance}
        return frame

    def document(self) -> dict[str, Any]:
        """A chart of the share of each role's heads that is left (wire `CurvesDocument`)."""
        total = len(self.order)
        curves = []
        for role in self.before:
            own = set(role.heads) & set(self.order)
            if own:
                shares = {count: len(own - set(self.order[:count])) / len(own) for count in {0, *self.counts, total}}
                word = "head" if len(own) == 1 else "heads"
                curves.append(_curve(f"{role.name}, {len(own)} {word}", sorted(shares.items()), len(own)))
        random = _curve("random orders, on average", [(0, 1.0), (total, 0.0)], total)
        tests = [f"{s.role} {s.above:.2f} (p {_p(s.p)})" for s in self.standings]
        said = "Chance that a head of the role is ranked above one without: " + ", ".join(tests) + "." if tests else ""
        return {
            "schema": SCHEMA,
            "document": "curves",
            "title": "Roles left when heads are pruned",
            "metric": "share of the role's heads left",
            "x_label": "heads pruned",
            "total": total,
            "baseline": None,
            "curves": [*curves, {**random, "control": True}],
            "note": said,
            "provenance": self.provenance,
        }

    def __repr__(self) -> str:
        listed = ", ".join(f"{s.role} {s.above:.2f} (p {_p(s.p)})" for s in self.standings)
        return f"RolesAfter({len(self.order)} heads ranked; above heads without the role: {listed or 'no role'})"


@blocking
def roles_after(
    model: HeadModel,
    ranking: HeadScores | Iterable[Any],
    texts: Any = None,
    treebank: Any = None,
    *,
    counts: Sequence[int] | None = None,
    before: Roles | None = None,
    again: bool = True,
    ablation: str = "zero",
    reference: Any = None,
    seed: int = 0,
    on_progress: Progress | None = None,
    on_partial: Callable[[RolesAfter], None] | None = None,
    cancel: Cancel | None = None,
    **options: Any,
) -> RolesAfter:
    """Prune heads by a ranking, least important first, and say which roles are left.

    Two things are told apart: whether the heads of a role stay (counted, against random orders), and whether the heads
    that stay still do the same (measured in the pruned model; maps of later layers change, and another head may take a
    role over). Weights are not trained, so nothing moves on purpose [Voita et al. 2019, figure 8, retrains].

    Args:
        model: A HeadModel.
        ranking: `HeadScores`, or heads with the most important first.
        texts: As `roles` takes them.
        treebank: As `roles` takes it.
        counts: How many heads are pruned; quarters of the ranking and 90 % of it by default.
        before: The roles of the whole model; measured by default.
        again: Measure the pruned models.
        ablation: What a pruned head's output becomes; see `HeadModel.gated`.
        reference: Texts for ``mean`` and ``resample``.
        seed: Of everything that is drawn.
        on_progress: Called with texts looked at and texts to look at, over all models.
        on_partial: Called with what is known after each count.
        cancel: Says whether to stop.
        options: Of `roles`: ``look_for=``, ``at_least=``, ``frequencies=``, ...

    Raises:
        InputError: a ranking or counts that do not fit.
        Cancelled: told to stop.
    """
    expect_model(model)
    seed = checked_seed(seed)
    order = _order(model, ranking)
    wanted = _counts(counts, len(order))
    if before is not None and not isinstance(before, Roles):
        raise InputError(f"expected before= as Roles, from hw.probing.roles(model, ...), got {type(before).__name__}")
    models = (before is None) + bool(again) * len(wanted)
    done = 0

    def look() -> Roles:
        nonlocal done

        def tell(seen: int, of: int) -> None:
            if on_progress is not None:
                on_progress(round(1000 * (done + seen / max(1, of))), 1000 * models)

        found = look_for_roles(model, texts, treebank, seed=seed, on_progress=tell, cancel=cancel, **options)
        done += 1
        return found

    whole = look() if before is None else before
    record = made(
        model, None, method="roles after pruning", ablation=ablation, seed=seed, again=again,
        ranking=getattr(ranking, "name", "heads"),
    )  # fmt: skip
    standings = standing(whole, order, seed)
    measured: list[Roles] = []
    for at, count in enumerate(wanted):
        if again:
            with model.gated(pruned=order[:count], ablation=ablation, reference=reference, seed=seed):
                measured.append(look().after(order[:count]))
        if on_partial is not None and at < len(wanted) - 1:
            on_partial(_result(whole, order, wanted[: at + 1], measured, standings, record))
    return _result(whole, order, wanted, measured, standings, record)


def _result(
    whole: Roles, order: list[Head], counts: list[int], measured: list[Roles], standings: Any, record: Provenance
) -> RolesAfter:
    left = tuple(whole.after(order[:count]) for count in counts)
    return RolesAfter(whole, tuple(order), tuple(counts), left, tuple(measured), standings, record)


def standing(found: Roles, order: Sequence[Head], seed: int = 0) -> tuple[Standing, ...]:
    """Where the heads of each role stand in an order of pruning; roles that all or none of the heads have are left out.

    Args:
        found: Roles.
        order: Heads in the order of pruning.
        seed: Of the random orders.
    """
    place = ranks(np.arange(len(order), dtype=np.float64))  # the last to be pruned is ranked highest
    generator = np.random.default_rng(seed)
    draws = max(1000, min(DRAWS, _NUMBERS // max(1, len(order))))
    drawn = np.argsort(generator.random((draws, len(order))), axis=1) + 1.0
    rows: list[tuple[str, int, float, float]] = []
    for role in found:
        has = np.array([head in set(role.heads) for head in order])
        m = int(has.sum())
        if not 0 < m < len(order):
            continue
        own = _above(place[has].sum(), m, len(order))
        null = _above(drawn[:, :m].sum(1), m, len(order))
        p = float((1 + np.sum(np.abs(null - 0.5) >= abs(own - 0.5) - 1e-12)) / (1 + draws))
        rows.append((role.name, m, float(own), p))
    order_of = np.argsort([p for *_, p in rows], kind="stable")
    adjusted = [0.0] * len(rows)
    worst = 0.0
    for step, at in enumerate(order_of.tolist()):
        worst = max(worst, min(1.0, (len(rows) - step) * rows[at][3]))
        adjusted[at] = worst
    return tuple(Standing(name, m, own, p) for (name, m, own, _), p in zip(rows, adjusted, strict=True))


def _above(total: Any, m: int, of: int) -> Any:
    """Mann and Whitney's U over the number of pairs, from a sum of ranks."""
    return (total - m * (m + 1) / 2) / (m * (of - m))


def expected(total: int, own: int, pruned: int, level: float = LEVEL) -> tuple[int, int]:
    """How many of `own` heads are left in the middle `level` of random orders (hypergeometric, exact).

    Args:
        total: Heads in the ranking.
        own: Heads with the role.
        pruned: Heads that are pruned.
        level: Of the interval.
    """
    kept = total - pruned
    ways = [
        math.comb(own, left) * math.comb(total - own, kept - left) if left <= kept else 0 for left in range(own + 1)
    ]
    below = np.cumsum(np.array(ways, dtype=object) / math.comb(total, kept)).astype(np.float64)
    tail = (1 - level) / 2
    low = int(np.searchsorted(below, tail - 1e-12, side="right"))
    high = int(np.searchsorted(below, 1 - tail - 1e-12))
    return min(low, own), min(high, own)


def _order(model: HeadModel, ranking: Any) -> list[Head]:
    if isinstance(ranking, HeadScores):
        heads = [head for head in ranking.ranking() if head in set(model.heads())]
    elif isinstance(ranking, str) or not isinstance(ranking, Iterable):
        raise InputError(f"expected HeadScores or heads with the most important first, got {ranking!r}")
    else:
        heads = model.check_heads(ranking)
    if not heads or len(set(heads)) < len(heads):
        raise InputError("expected a ranking of this model's heads, each once")
    return heads[::-1]


def _counts(counts: Sequence[int] | None, total: int) -> list[int]:
    if counts is None:
        return sorted({0, *(round(total * share) for share in (0.25, 0.5, 0.75, 0.9))})
    fits = isinstance(counts, Iterable) and not isinstance(counts, (str, bytes))
    listed = list(counts) if fits else []
    whole = all(isinstance(count, (int, np.integer)) and not isinstance(count, bool) for count in listed)
    if not listed or not whole or min(listed) < 0 or max(listed) > total:
        raise InputError(f"expected counts of heads from 0 to {total}, as a list, got {counts!r}")
    return sorted({int(count) for count in listed})


def _curve(name: str, points: Iterable[tuple[int, float]], n: int) -> dict[str, Any]:
    return {
        "name": name,
        "points": [{"count": count, "estimate": _estimate(value, n)} for count, value in points],
        "control": False,
        "area": None,
        "draws": 1,
    }


def _estimate(value: float, n: int) -> dict[str, Any]:
    ends = dict.fromkeys(("value", "low", "high", "partial_low", "partial_high"), value)
    return {**ends, "n": n, "total": n, "exact": True, "change": None}


def _p(value: float) -> str:
    return f"{value:.3f}" if value >= 0.001 else "< 0.001"
