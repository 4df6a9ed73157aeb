"""Which few words carry a class so strongly that they might carry it anywhere? (Hao et al. 2021, section 5)

For testing one's own model: triggers show which words it leans on whatever stands around them. `find_triggers` takes
the links with the largest attribution from many texts; `attack` puts their words into others.
"""

import heapq
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from headwidgets.attribution import targets
from headwidgets.attribution.integration.integrate import Layer
from headwidgets.attribution.integration.passes import Clean
from headwidgets.attribution.paths import Plan, walk
from headwidgets.attribution.triggers.found import Trigger, Triggers, mark
from headwidgets.attribution.triggers.insertion import Word, word_at
from headwidgets.errors import InputError, UnsupportedError
from headwidgets.jobs import blocking
from headwidgets.models.model import HeadModel, expect_model
from headwidgets.models.sites import Site
from headwidgets.provenance import checked_seed, made
from headwidgets.text.examples import Example, as_texts
from headwidgets.text.labels import as_labels, class_names, labels_from
from headwidgets.text.tokens import token_labels

Stop = Callable[[str], bool]
LEAST_RATIO = 0.2
"""As published, a second link weaker than this share of the first is left out."""
_SPARE = 4
"""Links kept per text beyond those asked for, for where some have too many pieces."""


@blocking
def find_triggers(
    model: HeadModel,
    texts: Any,
    labels: Any = None,
    *,
    n: int = 10,
    max_tokens: int = 5,
    stop_list: Iterable[str] | Stop | None = None,
    edges: int = 2,
    variant: Literal["links", "published"] = "links",
    target: Literal["gold", "predicted"] | None = None,
    min_support: int = 1,
    min_length: int | None = None,
    limit: int | None = None,
    output: Literal["probability", "log-odds", "log-probability", "logit"] = "probability",
    tolerance: float = 1e-2,
    seed: int = 0,
    on_progress: Callable[[int, int], None] | None = None,
    on_partial: Callable[[Triggers], None] | None = None,
    cancel: Callable[[], bool] | None = None,
) -> Triggers:
    """Find the words whose links carry a class most, in many texts: candidates for adversarial triggers.

    Each text gives one candidate: the words at the ends of its links with the largest attribution, with their
    relative position and segment. A word comes whole, with all its pieces. Candidates of the same words are one
    trigger. Nothing is kept of a text but its largest links. Then see with `attack`, on other texts, what they do.

    Args:
        model: A classifier of texts or pairs, from `headwidgets.load` or `wrap`.
        texts: A list of texts, or a dataset.
        labels: The right classes; needed for ``target="gold"``.
        n: Triggers to keep per class.
        max_tokens: Pieces in a trigger, at most.
        stop_list: Words that no trigger may have, such as a sentiment lexicon (any case); or a function of a word.
        edges: Links per text.
        variant: ``links``: the strongest links between two different words, over all layers and heads. ``published``:
            as in the paper's code, the two largest entries of the one head that has the largest (only the first where
            the second is below a fifth of it), special tokens dropped afterwards; `edges` then has no say.
        target: Attribute the right class (``gold``, the default where there are labels) or the ``predicted`` one.
        min_support: Texts of a class in which all links of a trigger have to be among the strongest.
        min_length: Skip texts of fewer tokens (the paper's code: 15 for SST-2).
        limit: Search at most this many texts, drawn with `seed`.
        output: What is attributed; the probability, as published.
        tolerance: As in `attribute`.
        seed: Of the draw.
        on_progress: Called with layers done and layers in all.
        on_partial: Called with the triggers of the texts done so far.
        cancel: Says whether to stop.

    Returns:
        `Triggers`, strongest first in each class, with the number of texts searched and skipped.

    Raises:
        InputError: an argument that cannot be used, or labels that do not fit.
        UnsupportedError: not a classifier of texts.
        Cancelled: told to stop.

    Reference:
        Hao, Dong, Wei, Xu: Self-Attention Attribution: Interpreting Information Interactions Inside Transformer,
        AAAI 2021, arXiv 2004.11207.
    """
    expect_model(model)
    _check(n=n, max_tokens=max_tokens, edges=edges, min_support=min_support, min_length=min_length, limit=limit)
    if variant not in ("links", "published"):
        raise InputError(f"expected variant 'links' or 'published', got {variant!r}")
    if target not in (None, "gold", "predicted"):
        raise InputError(f"expected target 'gold' or 'predicted', got {target!r}")
    task = targets.task_of(model)
    if task != "classes":
        raise UnsupportedError(
            f"triggers push texts from one class to another, and {type(model.model).__name__} does not put a text into "
            "one class; load a classifier with task='sequence-classification'"
        )
    seed = checked_seed(seed)
    if isinstance(stop_list, Iterable) and not isinstance(stop_list, str):
        stop_list = list(stop_list)  # an iterator would be empty when it is counted
    stopped = _stop(stop_list)
    kind = "encoder" if "encoder" in model.kinds else "decoder"
    plan = Plan.of(model, output, "gauss-legendre", "auto", tolerance, None, kind)  # type: ignore[arg-type]
    given = labels_from(texts, labels, model.model.config)
    listed = as_texts(texts)
    gold = target == "gold" or (target is None and given is not None)
    classes = as_labels(given, len(listed), model) if gold else None
    chosen = _drawn(len(listed), limit, seed)
    examples = model.encode(listed)
    long_enough = [i for i in chosen if len(examples[i]) >= (min_length or 0)]
    if not long_enough:
        raise InputError(f"all {len(chosen)} texts have fewer than min_length={min_length} tokens: take a smaller one")
    short = len(chosen) - len(long_enough)
    picked = [examples[i] for i in long_enough]
    wanted = None if classes is None else [int(classes[i]) for i in long_enough]
    goals = targets.goals(model, task, picked, wanted, None)
    searches = [_Search(example, model.tokenizer, stopped, edges, variant) for example in picked]
    settings = {
        **plan.settings,
        "method": "triggers",
        "variant": variant,
        "edges": edges,
        "max_tokens": max_tokens,
        "target": "gold" if gold else "predicted",
        "min_support": min_support,
        "min_length": min_length,
        "stop_list": _stop_note(stop_list),
        "limit": limit,
        "seed": seed,
    }
    provenance = made(model, [listed[i] for i in long_enough], **settings)
    names = class_names(model.model.config)
    done: list[int] = []

    def so_far() -> Triggers:
        found = [(goals[i].plus[0], searches[i].candidate(max_tokens)) for i in sorted(done)]
        return Triggers(
            _grouped(found, names, n, min_support),
            variant=variant,
            unit=targets.UNITS[plan.output] or output,
            searched=len(done),
            skipped={"too short": short, "no strong link": sum(candidate is None for _, candidate in found)},
            pairs=isinstance(listed[0], tuple),
            marks=frozenset(mark(picked[i].text) for i in done),
            provenance=provenance,
        )

    def take(batch: Clean, layer: Layer, site: Site, _: list[str]) -> None:
        for row, (query, key) in enumerate(batch.lengths(site)):
            index = batch.batch.index[row]
            searches[index].look(layer.maps[row, :, :query, :key].float().cpu().numpy())
            if searches[index].layers == len(plan.sites):
                done.append(index)
        whole = searches[batch.batch.index[0]].layers == len(plan.sites)
        if on_partial is not None and whole and len(done) < len(picked):
            on_partial(so_far())

    walk(model, picked, goals, plan, take, on_progress, cancel)
    return so_far()


def _check(**counts: int | None) -> None:
    for name, count in counts.items():
        if count is None and name in ("min_length", "limit"):
            continue
        if isinstance(count, bool) or not isinstance(count, (int, np.integer)) or count < 1:
            raise InputError(f"expected {name} as a whole number from 1 on, got {count!r}")


def _stop(stop_list: Any) -> Stop:
    if stop_list is None:
        return lambda _: False
    if callable(stop_list):
        return lambda word: bool(stop_list(word))
    if isinstance(stop_list, str) or not isinstance(stop_list, Iterable):
        raise InputError(f"expected stop_list as a list of words or a function of a word, got {stop_list!r}")
    words = {str(word).casefold() for word in stop_list}
    return lambda word: word.casefold() in words


def _stop_note(stop_list: Any) -> str | int:
    if stop_list is None:
        return 0
    return "a function" if callable(stop_list) else f"{len(set(stop_list))} words"


def _drawn(n: int, limit: int | None, seed: int) -> list[int]:
    if limit is None or limit >= n:
        return list(range(n))
    return sorted(np.random.default_rng(seed).choice(n, limit, replace=False).tolist())


@dataclass(frozen=True)
class _Link:
    """A link between two positions."""

    value: float
    ends: frozenset[int]


@dataclass(frozen=True)
class Candidate:
    """What one text offers.

    Attributes:
        words: In order of segment and place.
        links: All strong links of the text, as the words at their ends.
        own: Those that the candidate is made of.
        score: The largest of them.
    """

    words: tuple[Word, ...]
    links: frozenset[frozenset[tuple[Any, ...]]]
    own: frozenset[frozenset[tuple[Any, ...]]]
    score: float


class _Search:
    """The strongest links of one text, while its layers come in."""

    def __init__(self, example: Example, tokenizer: Any, stopped: Stop, edges: int, variant: str) -> None:
        side = example.source
        self.layers = 0
        self._edges, self._published = edges, variant == "published"
        self._links: list[_Link] = []
        labels = token_labels(side, tokenizer)
        self._words: dict[int, Word] = {}
        first: dict[int, int] = {}
        for position in range(len(side)):
            if side.special[position]:
                continue
            word, start = word_at(side, position, labels, tokenizer)
            if word.text.strip() and not stopped(word.text):
                self._words[start] = word
                first[position] = start
        self._first = first
        self._unit = np.array([first.get(i, -1) for i in range(len(side))])

    def look(self, entries: np.ndarray[Any, np.dtype[np.float32]]) -> None:
        """Take one layer, [heads, query, key]."""
        self.layers += 1
        if self._published:
            self._look_at_one_head(entries)
            return
        best = entries.max(0)
        best = np.maximum(best, best.T)
        unit = self._unit[: len(best)]
        fits = (unit[:, None] >= 0) & (unit[None, :] >= 0) & (unit[:, None] != unit[None, :])
        best = np.where(np.triu(fits) & (best > 0), best, 0)
        kept = {link.ends: link for link in self._links}
        flat = best.ravel()
        order = np.argsort(-flat, kind="stable")
        room = self._edges + _SPARE
        for at in order[: 4 * room]:
            if flat[at] <= 0:
                break
            i, j = divmod(int(at), len(best))
            ends = frozenset((int(unit[i]), int(unit[j])))
            if ends not in kept or kept[ends].value < flat[at]:
                kept[ends] = _Link(float(flat[at]), ends)
        self._links = heapq.nlargest(room, kept.values(), key=lambda link: link.value)

    def _look_at_one_head(self, entries: np.ndarray[Any, np.dtype[np.float32]]) -> None:
        head = entries[entries.max((1, 2)).argmax()]
        flat = head.ravel()
        order = np.argsort(-flat, kind="stable")[:2]
        if flat[order[0]] <= 0 or (self._links and flat[order[0]] <= self._links[0].value):
            return
        strong = [at for at in order if flat[at] >= LEAST_RATIO * flat[order[0]] and flat[at] > 0]
        self._links = [_Link(float(flat[at]), frozenset(divmod(int(at), len(head)))) for at in strong]

    def candidate(self, max_tokens: int) -> Candidate | None:
        """What the text offers; None where no link fits."""
        links = self._links
        if self._published:  # positions so far: special tokens and stopped words go now
            links = [_Link(k.value, frozenset(self._first[i] for i in k.ends if i in self._first)) for k in links]
            links = [link for link in links if link.ends]
        room = 2 if self._published else self._edges
        chosen: set[int] = set()
        used: list[_Link] = []
        for link in links:
            together = chosen | link.ends
            if len(used) < room and sum(len(self._words[i].ids) for i in together) <= max_tokens:
                chosen = together
                used.append(link)
        if not used:
            return None
        words = sorted((self._words[i] for i in chosen), key=lambda w: (w.segment, w.place))

        def named(some: Iterable[_Link]) -> frozenset[frozenset[tuple[Any, ...]]]:
            return frozenset(frozenset((self._words[i].ids, self._words[i].segment) for i in k.ends) for k in some)

        return Candidate(tuple(words), named(links), named(used), used[0].value)


def _grouped(found: list[tuple[int, Candidate | None]], names: list[str], n: int, min_support: int) -> list[Trigger]:
    """Candidates of the same words as one trigger, the strongest of each class, class by class."""
    groups: dict[tuple[int, frozenset[Any]], Candidate] = {}
    offered: Counter[Any] = Counter()
    by_class: dict[int, list[Candidate]] = {}
    for label, candidate in found:
        if candidate is None:
            continue
        by_class.setdefault(label, []).append(candidate)
        key = (label, frozenset((w.ids, w.segment) for w in candidate.words))
        offered[key] += 1
        if key not in groups or groups[key].score < candidate.score:
            groups[key] = candidate
    triggers: list[Trigger] = []
    for label in sorted(by_class):
        own = sorted(((k, c) for k, c in groups.items() if k[0] == label), key=lambda pair: -pair[1].score)
        kept: list[Trigger] = []
        for key, candidate in own:
            if len(kept) == n:
                break
            support = max(offered[key], sum(candidate.own <= other.links for other in by_class[label]))
            if support >= min_support:
                kept.append(Trigger(candidate.words, candidate.score, support, names[label]))
        triggers += kept
    return triggers
