"""Does an attribution say what the model does? Checks that the integration error cannot make.

Three of them: links with much attribution are cut, beside random links that are like them in attention weight and
offset; heads' totals are compared with what the output loses without each head; and the same is done with an
attribution of a model whose weights are random, where agreement should vanish (Adebayo et al. 2018).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headwidgets.attribution import targets
from headwidgets.attribution.faithfulness.matching import WITH_OFFSET, Links, codes, links_of, matched
from headwidgets.attribution.faithfulness.replay import Replay, example_of, goal_of
from headwidgets.attribution.faithfulness.report import Agreement, Deletion, Faithfulness
from headwidgets.attribution.faithfulness.twins import WHICH, Which, randomised
from headwidgets.attribution.integration import quadrature
from headwidgets.attribution.integration.passes import check_model, held
from headwidgets.attribution.paths import Plan, attributions, in_float32
from headwidgets.attribution.result import Attribution
from headwidgets.errors import Cancelled, InputError
from headwidgets.jobs import Cancel, Progress, blocking
from headwidgets.models.model import HeadModel, expect_model
from headwidgets.models.sites import Site
from headwidgets.provenance import checked_seed, made
from headwidgets.scores import Interval
from headwidgets.statistics import bootstrap, mean, percentile_interval, ranks, spearman
from headwidgets.text.examples import Example

Floats = NDArray[np.float64]
POINTS = 8
"""Of the integral on models with random weights; its error is far below the spread of the draws."""


@blocking
def faithfulness(
    model: HeadModel,
    attribution: Attribution | Sequence[Attribution],
    shares: Sequence[float] = (0.01, 0.05, 0.1),
    draws: int = 20,
    twins: int = 5,
    seed: int = 0,
    on_progress: Progress | None = None,
    cancel: Cancel | None = None,
) -> Faithfulness:
    """Check an attribution, or several of one model, against the model.

    Args:
        model: The model that was attributed.
        attribution: What `attribute` returned, with maps; a list makes the numbers means over texts with intervals for
            new texts. One text is an anecdote.
        shares: Of the links that can be cut (between different positions, with a weight, that F depends on), how many
            of the strongest positive ones are cut.
        draws: Of matched random links.
        twins: Draws of random weights, of all and of the top layer alone; 0 leaves these controls out.
        seed: Of everything drawn.
        on_progress: Called with steps done and steps in all.
        cancel: Says whether to stop.

    Returns:
        A `Faithfulness`; ``print`` it.

    Raises:
        InputError: an argument that does not fit, an attribution of another model, without maps, or over words.
        MemoryLimitError: a copy of the model does not fit.
        Cancelled: told to stop.

    Reference:
        Adebayo, Gilmer, Muelly, Goodfellow, Hardt, Kim: Sanity Checks for Saliency Maps, NeurIPS 2018, for the random
        weights; Samek et al. 2017, Evaluating the Visualization of What a Deep Neural Network Has Learned, for cutting
        what an explanation ranks first.
    """
    expect_model(model)
    seed = checked_seed(seed)
    found = [attribution] if isinstance(attribution, Attribution) else _listed(attribution)
    levels = _checked(found, shares, draws, twins)
    check_model(model)
    examples = [example_of(model, one) for one in found]
    steps = _Steps(2 * len(found) + (len(WHICH) * twins), on_progress, cancel)
    notes: list[str] = []
    task = targets.task_of(model)
    with in_float32(model, notes) as used, held(used):
        checked = []
        for number, (one, example) in enumerate(zip(found, examples, strict=True)):
            replay = Replay(used, example, goal_of(one), task, one.output, cancel)
            sites = [used.site(s.kind, s.layer) for s in model.sites if s.kind in one.kinds]
            own = _Text(one, links_of(one), np.random.default_rng([seed, number]))
            own.cut(replay, sites, levels, draws)
            steps.next()
            own.ablate(replay, sites)
            steps.next()
            notes += [note for note in replay.notes if note not in notes]
            checked.append(own)
    controls = _controls(model, checked, examples, task, twins, seed, steps) if twins else []
    short = sum(own.short for own in checked)
    if short:
        notes.append(f"In {short} texts fewer links have a positive attribution than were to be cut; all of them were.")
    return Faithfulness(
        deletions=[_deletion(checked, i, share, draws) for i, share in enumerate(levels)],
        agreement=_agreement("attribution", checked, [own.totals for own in checked], seed),
        controls=controls,
        output=found[0].output,
        unit=found[0].unit,
        n=len(found),
        heads=len(checked[0].totals),
        seed=seed,
        integration_error=max(_error(one) for one in found),
        target=found[0].target,
        notes=notes,
        provenance=made(model, [one.text for one in found], method="faithfulness", output=found[0].output,
                        shares=repr(levels), draws=draws, twins=twins, seed=seed),
    )  # fmt: skip


def _listed(attribution: Any) -> list[Any]:
    """Several attributions."""
    if not isinstance(attribution, Sequence):
        raise InputError(
            f"expected attributions from hw.attribution.attribute, one or a list, got {type(attribution).__name__}"
        )
    return list(attribution)


def _checked(found: list[Attribution], shares: Any, draws: Any, twins: Any) -> list[float]:
    if not found:
        raise InputError("expected at least one attribution, got an empty list")
    for one in found:
        if not isinstance(one, Attribution):
            raise InputError(f"expected attributions from hw.attribution.attribute, got {type(one).__name__}")
        if (one.output, one.kinds) != (found[0].output, found[0].kinds):
            raise InputError(
                f"expected attributions of one output and the same kinds of attention, got {found[0].output} of "
                f"{', '.join(found[0].kinds)} and {one.output} of {', '.join(one.kinds)}"
            )
        _ = one.maps, one.attention
    try:
        levels = [float(share) for share in ([shares] if isinstance(shares, (int, float)) else shares)]
    except (TypeError, ValueError):
        levels = []
    if not levels or not all(0 < share <= 0.5 for share in levels):
        raise InputError(f"expected shares of links above 0 and up to 0.5, got {shares!r}")
    for name, value, least in (("draws", draws, 20), ("twins", twins, 0)):
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise InputError(f"expected {name}= as a whole number from {least}, got {value!r}")
    return levels


class _Steps:
    def __init__(self, total: int, on_progress: Progress | None, cancel: Cancel | None) -> None:
        self.total, self.done = total, 0
        self._on_progress, self.cancel = on_progress, cancel

    def next(self) -> None:
        self.done += 1
        if self._on_progress is not None:
            self._on_progress(self.done, self.total)
        if self.cancel is not None and self.cancel() and self.done < self.total:
            raise Cancelled("the checks were cancelled")


@dataclass
class _Text:
    """One text's numbers.

    Attributes:
        found: Its attribution.
        links: See `links_of`.
        generator: Of its draws.
        cut_change: Change of F per share, [shares].
        random_change: The same without random links, [shares, draws].
        sizes: Links cut per share, [shares].
        weights: Mean attention weight of the links cut and of the random ones, [shares, 2].
        alike: Share of random links that are alike in weight and offset, [shares].
        short: Whether there were fewer positive links than asked for.
        totals: Attribution per head, [heads].
        effects: What F loses without each head, [heads].
        layers: A number per layer and kind, [heads].
    """

    found: Attribution
    links: Links
    generator: np.random.Generator
    cut_change: Floats = field(default_factory=lambda: np.zeros(0))
    random_change: Floats = field(default_factory=lambda: np.zeros((0, 0)))
    sizes: Floats = field(default_factory=lambda: np.zeros(0))
    weights: Floats = field(default_factory=lambda: np.zeros((0, 2)))
    alike: Floats = field(default_factory=lambda: np.zeros(0))
    short: bool = False
    totals: Floats = field(default_factory=lambda: np.zeros(0))
    effects: Floats = field(default_factory=lambda: np.zeros(0))
    layers: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    def cut(self, replay: Replay, sites: Sequence[Site], shares: Sequence[float], draws: int) -> None:
        """F without the strongest links and without random ones; row 0 is the unchanged text."""
        links = self.links
        coded = codes(links)
        order = np.argsort(-links.value, kind="stable")
        positive = int((links.value > 0).sum())
        if not positive:
            raise InputError(f"no link of {str(self.found.text)[:60]!r} has a positive attribution: nothing can be cut")
        rows: list[NDArray[np.int64]] = []
        sizes, weights, alike = [], [], []
        for share in shares:
            wanted = max(1, round(share * len(links)))
            self.short |= wanted > positive
            top = order[: min(wanted, positive)]
            drawn = [matched(coded, top, self.generator) for _ in range(draws)]
            rows += [top, *(chosen for chosen, _ in drawn)]
            sizes.append(float(len(top)))
            weights.append([links.weight[top].mean(), np.mean([links.weight[chosen].mean() for chosen, _ in drawn])])
            alike.append(float(np.mean([counts[:WITH_OFFSET].sum() / len(top) for _, counts in drawn])))
        row = np.repeat(np.arange(1, len(rows) + 1), [len(own) for own in rows])
        chosen = np.concatenate(rows)
        cuts = []
        for site in sites:
            own = (links.kind[chosen] == links.kinds.index(site.kind)) & (links.layer[chosen] == site.layer)
            if own.any():
                at = chosen[own]
                cuts.append((site, row[own], links.head[at], links.query[at], links.key[at]))
        values = replay.without_links(cuts, len(rows) + 1)
        changes = (values[1:] - values[0]).reshape(len(shares), draws + 1)
        self.cut_change, self.random_change = changes[:, 0], changes[:, 1:]
        self.sizes, self.weights, self.alike = np.array(sizes), np.array(weights), np.array(alike)

    def ablate(self, replay: Replay, sites: Sequence[Site]) -> None:
        """What F loses without each head."""
        values = replay.without_heads(sites)
        self.effects = values[-1] - values[:-1]
        self.totals = totals_of(self.found, sites)
        self.layers = np.repeat(np.arange(len(sites)), [site.n_heads for site in sites])


def totals_of(found: Attribution, sites: Sequence[Site]) -> Floats:
    """Attribution per head, in the order of the sites, float64 [heads]."""
    return np.concatenate([found.totals[site.kind][site.layer, : site.n_heads] for site in sites])


def within(totals: Floats, effects: Floats, layers: NDArray[np.int64]) -> float:
    """Spearman's rank correlation of heads with those of their own layer: ranks within layers, about their mean."""
    own, other = np.empty(len(totals)), np.empty(len(totals))
    for layer in np.unique(layers):
        inside = layers == layer
        for ranked, values in ((own, totals), (other, effects)):
            found = ranks(values[inside])
            ranked[inside] = found - found.mean()
    size = float(np.sqrt((own**2).sum() * (other**2).sum()))
    return float((own * other).sum()) / size if size > 0 else float("nan")


def _controls(
    model: HeadModel,
    checked: list[_Text],
    examples: list[Example],
    task: targets.Task,
    twins: int,
    seed: int,
    steps: _Steps,
) -> list[Agreement]:
    first = checked[0].found
    sites = [site for site in model.sites if site.kind in first.kinds]
    found = []
    for which in WHICH:
        drawn: list[tuple[float, float, float]] = []
        for draw in range(twins):
            drawn.append(_twin(model, which, seed + draw, checked, examples, task, sites, steps.cancel))
            steps.next()
        rho, inside, similarity = (_bounded(_over_texts(np.array(column))) for column in zip(*drawn, strict=True))
        found.append(Agreement(which, rho, inside, similarity, "draws", twins))
    return found


def _twin(
    model: HeadModel,
    which: Which,
    seed: int,
    checked: list[_Text],
    examples: list[Example],
    task: targets.Task,
    sites: list[Site],
    cancel: Cancel | None,
) -> tuple[float, float, float]:
    """Agreement over all heads and within layers, and similarity of links, averaged over texts, of one draw."""
    with randomised(model, which, seed) as twin:
        own_sites = [twin.site(site.kind, site.layer) for site in sites]
        plan = Plan(task, checked[0].found.output, quadrature.RULES[0], POINTS, 1e-3, own_sites)
        others = attributions(twin, examples, [goal_of(own.found) for own in checked], plan, "maps", None, cancel)
    numbers = []
    for own, other in zip(checked, others, strict=True):
        totals = totals_of(other, sites)
        links = own.links
        size = np.zeros(len(links))
        for number, kind in enumerate(links.kinds):
            inside = links.kind == number
            place = (links.layer[inside], links.head[inside], links.query[inside], links.key[inside])
            size[inside] = np.abs(other.maps[kind][place])
        numbers.append(
            (
                spearman(totals, own.effects),
                within(totals, own.effects, own.layers),
                spearman(size, np.abs(links.value)),
            )
        )
    rho, inside_layers, similarity = np.nanmean(np.array(numbers), axis=0)
    return float(rho), float(inside_layers), float(similarity)


def _over_texts(values: Floats) -> Interval:
    """Mean with its interval for new texts (or draws)."""
    kept = values[np.isfinite(values)]
    if not len(kept):
        return Interval(float("nan"), float("nan"), float("nan"))
    (low, high), _ = mean(kept, np.ones(len(kept)), len(kept))
    return Interval(float(kept.mean()), low, high)


def _bounded(found: Interval) -> Interval:
    """A correlation's interval ends at -1 and 1."""
    return Interval(found.value, max(-1.0, found.low), min(1.0, found.high))


def _agreement(name: str, checked: list[_Text], totals: list[Floats], seed: int) -> Agreement:
    """Of heads' attributions with ablation; the interval is over texts, for a single one over its heads."""
    rho = np.array([spearman(own, text.effects) for own, text in zip(totals, checked, strict=True)])
    inside = np.array([within(own, text.effects, text.layers) for own, text in zip(totals, checked, strict=True)])
    if len(checked) > 1:
        return Agreement(name, _bounded(_over_texts(rho)), _bounded(_over_texts(inside)), None, "texts", 0)
    x, y, layers = totals[0], checked[0].effects, checked[0].layers
    both = bootstrap(lambda i: spearman(x[i], y[i]), len(x), seed=seed, samples=1000)
    own = bootstrap(lambda i: within(x[i], y[i], layers[i]), len(x), seed=seed, samples=1000, bca=False)
    return Agreement(name, Interval(float(rho[0]), *both), Interval(float(inside[0]), *own), None, "its heads", 0)


def _deletion(checked: list[_Text], at: int, share: float, draws: int) -> Deletion:
    change = np.array([own.cut_change[at] for own in checked])
    random = np.stack([own.random_change[at] for own in checked])
    per_draw = random.mean(0)
    low, high = percentile_interval(per_draw)
    centre = float(per_draw.mean())
    if len(checked) > 1:
        difference = _over_texts(change - random.mean(1))
    else:
        value = float(change[0])
        difference = Interval(value - centre, value - high, value - low)
    return Deletion(
        share=share,
        links=float(np.mean([own.sizes[at] for own in checked])),
        change=_over_texts(change),
        random=Interval(centre, low, high),
        difference=difference,
        below=int((per_draw <= change.mean()).sum()),
        draws=draws,
        weight=float(np.mean([own.weights[at, 0] for own in checked])),
        random_weight=float(np.mean([own.weights[at, 1] for own in checked])),
        alike=float(np.mean([own.alike[at] for own in checked])),
    )


def _error(found: Attribution) -> float:
    """The largest gap of a layer, relative to its change as the tolerance is."""
    worst = 0.0
    for kind, gap in found.gap.items():
        relative = gap / np.maximum(np.abs(found.change[kind]), 0.1)
        if np.isfinite(relative).any():
            worst = max(worst, float(np.nanmax(relative)))
    return worst
