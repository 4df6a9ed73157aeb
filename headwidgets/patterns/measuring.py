"""The streaming pass under all statistics: every map is looked at once, and none is kept."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from headwidgets.errors import InputError
from headwidgets.jobs import Cancel, Progress
from headwidgets.models.model import HeadModel
from headwidgets.models.sites import Site
from headwidgets.models.streaming import stream, word_maps
from headwidgets.patterns.places import BUILT_IN, Chosen, Features, Places, Reader, chosen, is_punctuation
from headwidgets.patterns.statistic import Statistic
from headwidgets.patterns.sums import Sums
from headwidgets.patterns.view import View, reach, visible_keys
from headwidgets.provenance import checked_seed, made
from headwidgets.scores import HeadScores
from headwidgets.text.encoding import check_length, encode_side, segments_of
from headwidgets.text.examples import Batch, Example, Side, as_texts
from headwidgets.wire.documents import KindName, Provenance

_LEAST, _FIRST, _LARGEST = 16, 128, 1024
"""Texts in the first chunk, an eighth of all but at least and at most so many, and in the largest: few are enough to
see something, many to sort by length."""
_TOKENS = 1024
"""Padded positions per batch; half of it in chunks, where small batches hold less padding."""
_WINDOWS = ("sliding_window", "local_attention", "window_size", "attention_window")


@dataclass(frozen=True)
class Measurement:
    """What a pass found so far.

    Attributes:
        scores: By name of the statistic.
        uniform: By name and kind, what a head that looks at all visible keys alike would have; NaN where that has no
            meaning.
        n: Texts seen.
        total: Texts in all.
    """

    scores: dict[str, HeadScores]
    uniform: dict[str, dict[KindName, float]]
    n: int
    total: int


def encoded(model: HeadModel, texts: Any, kind: KindName | None) -> tuple[list[Any], list[Example], list[Site]]:
    """Texts, how the model sees them, and the sites to look at.

    An encoder-decoder's encoder alone needs no targets; else a bare source has its target generated.

    Raises:
        InputError: a text that cannot be used, or a kind that the model does not have.
    """
    listed = as_texts(texts)
    sites = list(model.sites) if kind is None else model.sites_of(kind)
    if kind != "encoder" or not model.is_encoder_decoder:
        return listed, model.encode(listed), sites
    examples = []
    for i, text in enumerate(listed):
        source = text[0] if isinstance(text, tuple) else text
        side, _ = encode_side(model.tokenizer, segments_of(source, f"text {i}"))
        check_length(side, model.max_positions, f"text {i}")
        examples.append(Example(text, side))
    return listed, examples, sites


def classes_of(punctuation: Chosen | None, tokens: Mapping[str, Chosen] | None) -> dict[str, Callable[[str], bool]]:
    """Classes of tokens by their text: punctuation, and the user's own.

    Raises:
        InputError: a class whose name is taken, or that is none.
    """
    found = {"punctuation": is_punctuation if punctuation is None else chosen(punctuation, "punctuation")}
    if tokens is not None and not isinstance(tokens, Mapping):
        raise InputError(f"expected tokens as {{name: token texts}}, got {type(tokens).__name__}")
    for name, what in (tokens or {}).items():
        if not isinstance(name, str) or not name.strip() or name in BUILT_IN or name == "real":
            raise InputError(f"expected a name of your own for a class of tokens, got {name!r}")
        found[name] = chosen(what, f"tokens[{name!r}]")
    return found


TextFeatures = tuple[Features, Features | None]
"""Of a text's source and target."""


def features_of(examples: Sequence[Example], read: Reader) -> list[TextFeatures]:
    """The classes of every text's tokens, read once."""
    return [(read(e.source), None if e.target is None else read(e.target)) for e in examples]


def places_of(
    site: Site, batch: Batch, maps: Tensor, features: Sequence[TextFeatures], known: dict[str, tuple[Places, Places]]
) -> tuple[Places, Places]:
    """What stands at the queries and the keys of a batch's maps.

    Args:
        site: Whose maps.
        batch: The batch.
        maps: [rows, heads, query, key].
        features: Of all texts.
        known: By kind, what was found for this batch before; it is filled.
    """
    if site.kind not in known:
        own = [features[i] for i in batch.index]
        sources = [source for source, _ in own]
        targets = [source if target is None else target for source, target in own]
        query = sources if site.kind == "encoder" else targets
        key = targets if site.kind == "decoder" else sources
        at = Places(query, maps.shape[-2], maps.device)
        known[site.kind] = (at, at if query is key else Places(key, maps.shape[-1], maps.device))
    return known[site.kind]


def has_windows(model: HeadModel) -> bool:
    """Whether queries may see nearby keys only, as the configuration says."""
    config = model.model.config
    config = config.get_text_config() if hasattr(config, "get_text_config") else config
    return any(getattr(config, name, None) for name in _WINDOWS)


def seen_by(site: Site, maps: Tensor, query: Places, key: Places, windowed: bool) -> Tensor | None:
    """Which keys the queries of a site may see, bool [query, key]; None for all."""
    window = None
    if windowed and site.kind != "cross":
        window = reach(maps, query.real.all(1) & key.real.all(1))
    n_query, n_key = maps.shape[-2:]
    return visible_keys(n_query, n_key, maps.device, causal=site.kind == "decoder", window=window)


class _Pass:
    """The state of one pass: what the batch at hand looks like, and the sums."""

    def __init__(
        self,
        model: HeadModel,
        examples: Sequence[Example],
        sites: Sequence[Site],
        statistics: Sequence[Statistic],
        read: Reader,
        seed: int,
    ) -> None:
        self.model, self.statistics = model, statistics
        self.sums = Sums(model, sites, len(statistics), len(examples), seed)
        self.uniform = {kind: np.zeros((2, len(statistics))) for kind in dict.fromkeys(s.kind for s in sites)}
        self.features = features_of(examples, read)
        self.windowed = has_windows(model)
        self.places: dict[str, tuple[Places, Places]] = {}
        self.pending: list[tuple[Site | str, Tensor]] = []

    def look(self, site: Site, batch: Batch, maps: Tensor) -> None:
        """Take in the maps of one site."""
        query, key = places_of(site, batch, maps, self.features, self.places)
        if query.units is not None:
            maps = word_maps(maps.float(), query.units, key.units)
        view = self._view(site, maps.float(), query, key)
        self.pending.append((site, self._per_text(view, self.statistics)))
        if not any(mark == site.kind for mark, _ in self.pending):
            self.pending.append((site.kind, self._per_text(_alike(view, site.kind == "decoder"), self.statistics)))

    def settle(self, batch: Batch) -> None:
        """Add up a batch, once all of its maps were seen."""
        for mark, numbers in self.pending:
            x, w = numbers.cpu().numpy().astype(np.float64)
            if isinstance(mark, str):
                self.uniform[mark] += np.stack([x.sum((1, 2)), w.sum((1, 2))])  # type: ignore[index]
            else:
                self.sums.add(mark, batch.index, x, w)
        self.sums.n += len(batch)
        self.pending.clear()
        self.places.clear()

    def _view(self, site: Site, maps: Tensor, query: Places, key: Places) -> View:
        return View(maps, query, key, seen_by(site, maps, query, key, self.windowed))

    @staticmethod
    def _per_text(view: View, statistics: Sequence[Statistic]) -> Tensor:
        """Sums and weights, [2, statistics, rows, heads]."""
        wide = torch.float32 if view.maps.device.type == "mps" else torch.float64
        heads = view.maps.shape[1]
        found = [statistic.measure(view) for statistic in statistics]
        asked = torch.stack([mask.expand(-1, heads, -1) for _, mask in found])
        numbers = torch.stack([numbers for numbers, _ in found]).masked_fill_(~asked, 0)
        return torch.stack([numbers.sum(-1, dtype=wide), asked.sum(-1).to(wide)])


def _alike(view: View, causal: bool) -> View:
    """One head that looks at all visible keys alike."""
    n_query, n_key = view.maps.shape[-2:]
    seen = view.key.real[:, None, None].float().expand(-1, 1, n_query, n_key)
    visible = visible_keys(n_query, n_key, view.maps.device, causal=causal, window=None)
    if visible is not None:
        seen = seen * visible
    return View((seen / seen.sum(-1, keepdim=True).clamp_min(1)).contiguous(), view.query, view.key, visible)


def measure(
    model: HeadModel,
    texts: Any,
    statistics: Sequence[Statistic],
    *,
    kind: KindName | None = None,
    words: bool = False,
    punctuation: Chosen | None = None,
    tokens: Mapping[str, Chosen] | None = None,
    seed: int = 0,
    on_progress: Progress | None = None,
    on_partial: Callable[[Measurement], None] | None = None,
    cancel: Cancel | None = None,
) -> Measurement:
    """Measure statistics of every head in one pass; memory does not grow with the number of texts.

    Args:
        model: A HeadModel.
        texts: A text, a list, or a dataset.
        statistics: What is measured.
        kind: Only this kind of attention; an encoder-decoder's encoder needs no targets.
        words: Maps over words: to a split word summed, from it averaged.
        punctuation: What counts as punctuation; Unicode's by default.
        tokens: Further classes of tokens.
        seed: Of the random groups of texts, and of the order where somebody looks at partial results.
        on_progress: Called with texts done and texts in all.
        on_partial: Called with what the texts seen so far say; they are a random sample then.
        cancel: Says whether to stop.

    Raises:
        InputError: nothing to measure on.
        Cancelled: told to stop.
    """
    listed, examples, sites = encoded(model, texts, kind)
    seed = checked_seed(seed)
    read = Reader(classes_of(punctuation, tokens), words)
    state = _Pass(model, examples, sites, statistics, read, seed)
    common: dict[str, Any] = {"words": words, "kind": kind, "seed": seed}
    if any("punctuation" in s.name for s in statistics):
        common["punctuation"] = said(punctuation)
    record = made(model, listed, **common, of=len(examples))

    def found() -> Measurement:
        scores = {
            s.name: state.sums.scores(
                i, name=s.name, unit=s.unit, record=with_settings(record, s.settings, keys=s.keys)
            )
            for i, s in enumerate(statistics)
        }
        with np.errstate(invalid="ignore"):
            alike = {k: np.where(w > 0, x / np.where(w > 0, w, 1), np.nan) for k, (x, w) in state.uniform.items()}
        uniform: dict[str, dict[KindName, float]] = {
            s.name: {k: float(v[i]) if s.uniform else float("nan") for k, v in alike.items()}
            for i, s in enumerate(statistics)
        }
        return Measurement(scores, uniform, state.sums.n, len(examples))

    def after(batch: Batch) -> None:
        state.settle(batch)
        if on_progress is not None:
            on_progress(state.sums.n, len(examples))

    most = _TOKENS // 2 if on_partial is not None else _TOKENS
    for chunk in _chunks(len(examples), seed, on_partial is not None):
        stream(
            model,
            examples,
            state.look,
            sites=sites,
            order=chunk,
            max_tokens=most if model.device.type == "cpu" else 8 * most,
            what="measuring patterns",
            after=after,
            cancel=cancel,
        )
        if on_partial is not None and state.sums.n < len(examples):
            on_partial(found())
    for name in dict.fromkeys(site.kind for site in sites):
        if not any(state.sums.weight(name, i) for i in range(len(statistics))):
            raise InputError(
                f"no text has a token for {name} attention that is not special, so none can be measured"
                if not any(_has_text(e, name) for e in examples)
                else f"no text has what {', '.join(s.name for s in statistics)} is measured on in {name} attention"
            )
    return found()


def with_settings(record: Provenance, settings: Mapping[str, Any], **more: Any) -> Provenance:
    """A record with further settings; these come first."""
    return {**record, "settings": {**settings, **more, **record["settings"]}}


def _has_text(example: Example, kind: str) -> bool:
    sides: list[Side] = [example.source, example.target or example.source]
    return not all(sides[kind != "encoder"].special)


def said(punctuation: Chosen | None) -> str:
    """What counts as punctuation, for the record."""
    if punctuation is None:
        return "Unicode"
    return getattr(punctuation, "__name__", "a function") if callable(punctuation) else " ".join(sorted(punctuation))


def _chunks(total: int, seed: int, partial_wanted: bool) -> list[list[int]]:
    """All texts at once; or a random order in growing chunks, where somebody looks at what was found so far."""
    if not partial_wanted:
        return [list(range(total))]
    order: list[int] = np.random.default_rng(seed).permutation(total).tolist()
    found: list[list[int]] = []
    start, size = 0, min(_FIRST, max(_LEAST, total // 8))
    while start < total:
        found.append(order[start : start + size])
        start += size
        size = min(_LARGEST, start)
    return found
