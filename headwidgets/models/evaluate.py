"""What is the metric with these heads pruned? An evaluator that answers early, narrows until exact, and remembers."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headwidgets import statistics
from headwidgets.errors import Cancelled, InputError, MemoryLimitError
from headwidgets.jobs import Cancel, Progress, blocking
from headwidgets.models.handlers import Other, averaged, blend, resampled
from headwidgets.models.interventions import ABLATIONS
from headwidgets.models.memory import check_fits, forward_bytes, ran_out, reason, release
from headwidgets.models.outcomes import Metric, Outcome, Questions, predictions_of
from headwidgets.models.recording import Rows, Run, means, record
from headwidgets.models.sampling import Pace, Seen, chunk_ends
from headwidgets.models.sites import Site
from headwidgets.provenance import data_fingerprint, made
from headwidgets.scores import Estimate, Head, Interval
from headwidgets.text.examples import Example

Candidate = tuple[frozenset[Head], str]

_REFERENCE = 64
"""Texts that mean and resample ablation look at, when none are given."""
_LOGIT_BYTES = 2**28
_YIELD = 2e-4
"""Seconds between two batches in which others may take the model's lock (a lock goes to whoever asks first)."""


class Evaluator:
    """A metric on a fixed set of texts, for any set of pruned heads.

    Texts are seen in a seeded random order cut into chunks, sorted by length only inside a chunk, so that what was
    seen at the end of a chunk is a random sample. Results are kept per example and candidate: what was computed
    once, also by a question that was cancelled, is never computed again.

    Attributes:
        metric: Its name.
        total: Texts.
        notes: What a reader should know, as sentences.
        provenance: How its estimates are made.
    """

    def __init__(
        self,
        model: Any,
        texts: Any,
        labels: Any = None,
        metric: Metric = "accuracy",
        *,
        seed: int = 0,
        reference: Any = None,
        column: Any = None,
    ) -> None:
        """Encode texts and check labels, once.

        Args:
            model: A HeadModel with something on top: a classifier or a language model.
            texts: Texts or a `datasets.Dataset`.
            labels: As `HeadModel.evaluate` takes them.
            metric: ``accuracy``: the share of right classes (of words, tokens; several classes per text: all of
                them right). ``loss``: cross entropy in nats per text, word or token; squared error for regression.
                Or a function of predictions and labels (arrays [answers]) that returns a number.
            seed: Of the order, of masked tokens and of ``resample``.
            reference: Texts that ``mean`` and ``resample`` take outputs from; 64 of `texts` by default.
            column: Of a dataset.

        Raises:
            InputError: what does not fit, and what was expected.
        """
        self.model = model
        self.seed = seed
        self.questions = Questions(model, texts, labels, metric, seed=seed, column=column)
        self.metric = self.questions.metric
        self.total = len(self.questions.examples)
        self.notes: list[str] = []
        generator = np.random.default_rng(seed)
        self._order: list[int] = generator.permutation(self.total).tolist()
        self._ends = chunk_ends(self.total)
        self._reference = reference
        self._seen: dict[Candidate, Seen] = {}
        self._means: dict[Site, Tensor] | None = None
        self._run: Run | None = None
        per_position = self.questions.answers_per_position
        most = 16384 if not per_position else max(64, _LOGIT_BYTES // (12 * per_position))
        self._pace = Pace(model, most)
        longest = max(len(e) for e in self.questions.examples)
        check_fits(
            forward_bytes(model, max(longest, self._pace.tokens), longest, per_position),
            model.device,
            what=f"Evaluating a text of {longest} tokens",
            instead="evaluate shorter texts, or load the model with a smaller dtype",
        )
        self.provenance = made(model, self.questions.given, metric=self.metric, seed=seed)

    def candidate(self, pruned: Iterable[Any] = (), ablation: str = "zero") -> Candidate:
        """A set of pruned heads and an ablation, checked.

        Raises:
            InputError: a head that does not exist, an unknown ablation.
        """
        if ablation not in ABLATIONS:
            raise InputError(f"expected an ablation out of {', '.join(ABLATIONS)}, got {ablation!r}")
        heads = frozenset(self.model.check_heads(pruned))
        return heads, (ablation if heads else "zero")

    def estimates(
        self,
        pruned: Iterable[Any] = (),
        ablation: str = "zero",
        cancel: Cancel | None = None,
        on_progress: Progress | None = None,
    ) -> Iterator[Estimate]:
        """Yield narrowing estimates, the last one exact; what is known already comes first, at once.

        Args:
            pruned: Heads.
            ablation: ``zero``, ``mean`` or ``resample``.
            cancel: Says whether to stop; then the iterator ends within one batch, and what was computed is kept.
            on_progress: Gets texts done and texts to do (of the full model too, where they are not known).
        """
        candidate = self.candidate(pruned, ablation)
        full = self.candidate()
        chain = [full] if candidate == full else [full, candidate]
        known = self._known_chunks(candidate)
        if known:
            yield self._estimate(candidate, self._ends[known - 1])
        start = self._ends[known - 1] if known else 0
        try:
            self._prepare(candidate[1], cancel)
        except Cancelled:
            return
        for end in self._ends[known:]:
            index = self._order[start:end]
            for which in chain:
                for _ in self._compute(which, index):
                    if on_progress is not None:
                        on_progress(sum(self._of(c).count for c in chain), self.total * len(chain))
                    if cancel is not None and cancel():
                        return
            yield self._estimate(candidate, end)
            start = end

    def exact(
        self,
        pruned: Iterable[Any] = (),
        ablation: str = "zero",
        cancel: Cancel | None = None,
        on_progress: Progress | None = None,
        on_partial: Callable[[Estimate], None] | None = None,
    ) -> Estimate:
        """The last of `estimates`.

        Raises:
            Cancelled: told to stop first.
        """
        for estimate in self.estimates(pruned, ablation, cancel, on_progress):
            if on_partial is not None:
                on_partial(estimate)
            if estimate.exact:
                return estimate
        raise Cancelled("the evaluation was cancelled")

    def known(self, pruned: Iterable[Any] = (), ablation: str = "zero") -> Estimate | None:
        """The best estimate so far, without computing anything."""
        candidate = self.candidate(pruned, ablation)
        known = self._known_chunks(candidate)
        return self._estimate(candidate, self._ends[known - 1]) if known else None

    def outcomes(self, pruned: Iterable[Any] = (), ablation: str = "zero") -> NDArray[np.float64]:
        """What every example adds to the metric, computed before: right answers or summed loss, and answers.

        Returns:
            [2, examples], in the order of the texts; the metric is the sum of the first row over that of the second.

        Raises:
            InputError: not all examples are known, or the metric is a function (see `on`).
        """
        seen = self._whole(pruned, ablation)
        if self.questions.function is not None:
            raise InputError(f"the metric {self.metric} is no sum over examples: ask for its value on some of them")
        return np.stack([seen.numerators, seen.weights])

    def on(self, places: Sequence[int], pruned: Iterable[Any] = (), ablation: str = "zero") -> float:
        """The metric on some of the examples, computed before.

        Raises:
            InputError: not all examples are known, or the metric gives no number.
        """
        seen, index = self._whole(pruned, ablation), list(places)
        if self.questions.function is None:
            return statistics.ratio(seen.numerators[index], seen.weights[index])
        return self._called(self.questions.function, seen, index)

    def _whole(self, pruned: Iterable[Any], ablation: str) -> Seen:
        seen = self._of(self.candidate(pruned, ablation))
        if seen.count < self.total:
            raise InputError("these heads were not evaluated on all texts yet: call exact(...) first")
        return seen

    # ---- what is computed -------------------------------------------------------------------------------

    def _of(self, candidate: Candidate) -> Seen:
        return self._seen.setdefault(candidate, Seen(self.total))

    def _known_chunks(self, candidate: Candidate) -> int:
        start = 0
        for known, end in enumerate(self._ends):
            index = self._order[start:end]
            if any(self._of(c).missing(index) for c in (candidate, self.candidate())):
                return known
            start = end
        return len(self._ends)

    def _compute(self, candidate: Candidate, index: Sequence[int]) -> Iterator[None]:
        """Run what is missing of a chunk, batch by batch; yields before each, so that a cancel is heard."""
        seen = self._of(candidate)
        while missing := seen.missing(index):
            yield
            batch = next(self.model.batches(self.questions.examples, order=missing, max_tokens=self._pace.tokens))
            begin = time.perf_counter()
            failure = ""
            try:
                outcome = self._ask(candidate, batch)
            except (RuntimeError, MemoryError) as error:
                if not ran_out(error):
                    raise
                failure = reason(error)
            if failure:
                self._shrink(len(batch), failure)
                continue
            seen.learn(batch.index, outcome, keep=self.questions.function is not None)
            self._pace.learn(
                sum(t.numel() for k, t in batch.inputs.items() if k.endswith("input_ids")), time.perf_counter() - begin
            )
            time.sleep(_YIELD)
        yield

    def _shrink(self, rows: int, failure: str) -> None:
        release(self.model.device)
        if rows == 1:
            raise MemoryLimitError(
                f"memory ran out on a single text: use shorter texts, a smaller dtype or a larger device ({failure})"
            )
        self._pace.halve()
        self.notes.append(f"Memory ran out; going on with batches of {self._pace.most} tokens.")

    def _ask(self, candidate: Candidate, batch: Any) -> Outcome:
        pruned, ablation = candidate
        rows = Rows()
        rows.ids = batch.index
        with self.model.lock:
            factors = self.model.gate_tensors(pruned)
            others = self._others(ablation, list(factors), rows)
            handlers = {site: blend(gate, others.get(site)) for site, gate in factors.items()}
            with rows.watching(self.model), self.model.visit(outputs=handlers), torch.inference_mode():
                return self.questions.ask(batch)

    def _prepare(self, ablation: str, cancel: Cancel | None) -> None:
        """Take from the reference texts what an ablation needs, once."""
        if ablation == "mean" and self._means is None:
            self._means = means(self.model, self._references(), cancel=cancel)
        if ablation == "resample" and self._run is None:
            self._run = record(self.model, self._references(), cancel=cancel)

    def _references(self) -> list[Example]:
        if self._reference is not None:
            encoded: list[Example] = self.model.encode(self._reference)
            return encoded
        return [self.questions.examples[place] for place in self._order[:_REFERENCE]]

    def _others(self, ablation: str, sites: list[Site], rows: Rows) -> dict[Site, Other]:
        if ablation == "mean" and self._means is not None:
            return {site: averaged(self._means[site]) for site in sites}
        if ablation == "resample" and self._run is not None:
            own = {place: i for i, place in enumerate(self._order[:_REFERENCE])} if self._reference is None else {}
            return {site: resampled(self._run, site, rows, self.seed, own) for site in sites}
        return {}

    # ---- what it says -----------------------------------------------------------------------------------

    def _estimate(self, candidate: Candidate, n: int) -> Estimate:
        index = self._order[:n]
        seen, full = self._of(candidate), self._of(self.candidate())
        change: Interval | None = None
        compare = None if candidate == self.candidate() else full
        if self.questions.function is None:
            weights = seen.weights[index]
            value = statistics.ratio(seen.numerators[index], weights)
            intervals = statistics.proportion if self.questions.bounded else statistics.mean
            new, part = intervals(seen.numerators[index], weights, self.total)
            if compare is not None:
                before = compare.numerators[index]
                low, high = statistics.paired_change(
                    seen.numerators[index], before, weights, bounded=self.questions.bounded
                )
                change = Interval(value - statistics.ratio(before, weights), low, high)
        else:
            value, new, part, change = self._measured(self.questions.function, seen, compare, index)
        pruned, ablation = candidate
        settings = {**self.provenance["settings"], "ablation": ablation, "pruned": len(pruned)}
        if ablation != "zero":
            settings["reference"] = (
                f"{min(_REFERENCE, self.total)} of the texts"
                if self._reference is None
                else data_fingerprint(self._reference)
            )
        exact = n == self.total
        return Estimate(
            value,
            *new,
            n=n,
            total=self.total,
            exact=exact,
            partial_low=value if exact else part[0],
            partial_high=value if exact else part[1],
            change=change,
            metric=self.metric,
            ablation=ablation,
            pruned=tuple(sorted(pruned)),
            provenance={**self.provenance, "settings": settings},
        )

    def _measured(
        self, function: Callable[..., float], seen: Seen, compare: Seen | None, index: Sequence[int]
    ) -> tuple[float, statistics.Range, statistics.Range, Interval | None]:
        """A user's metric, with intervals by the jackknife."""

        def of(which: Seen) -> Callable[[NDArray[np.intp]], float]:
            return lambda places: self._called(function, which, [index[place] for place in places])

        n, everyone = len(index), np.arange(len(index))
        value = of(seen)(everyone)
        if np.isnan(value):
            raise InputError(f"the metric {self.metric} is not a number (NaN) on {n} texts")
        half = statistics.jackknife(of(seen), n)
        part = half * np.sqrt(1 - n / self.total)
        change = None
        if compare is not None:
            now, before = of(seen), of(compare)
            difference = value - before(everyone)
            spread = statistics.jackknife(lambda places: now(places) - before(places), n)
            change = Interval(difference, difference - spread, difference + spread)
        return value, (value - half, value + half), (value - part, value + part), change

    def _called(self, function: Callable[..., float], seen: Seen, index: Sequence[int]) -> float:
        """A user's metric on some of the examples."""
        found = predictions_of([p for i in index if (p := seen.predictions[i]) is not None])
        answer = function(found, predictions_of([self.questions.asked(i) for i in index]))
        try:
            return float(answer)
        except (TypeError, ValueError):
            raise InputError(f"expected a number from the metric {self.metric}, got {type(answer).__name__}") from None


@blocking
def evaluate(
    model: Any,
    texts: Any,
    labels: Any = None,
    metric: Metric = "accuracy",
    *,
    pruned: Iterable[Any] = (),
    ablation: str = "zero",
    reference: Any = None,
    seed: int = 0,
    column: Any = None,
    on_progress: Progress | None = None,
    on_partial: Callable[[Estimate], None] | None = None,
    cancel: Cancel | None = None,
) -> Estimate:
    """A metric of a model on labelled texts, with its interval and its paired change to the full model.

    Args:
        model: A HeadModel.
        texts: Texts, or a `datasets.Dataset` with named columns.
        labels: Class indices or names; None for language models; reference strings for encoder-decoders; one list
            per text of one label per word for token classification; numbers for regression.
        metric: ``accuracy`` (a fraction), ``loss`` (nats; squared error for regression), or a function of
            predictions and labels.
        pruned: Heads whose output becomes the ablation's value.
        ablation: ``zero``, ``mean`` or ``resample``.
        reference: Texts for ``mean`` and ``resample``; 64 of `texts` by default.
        seed: Of everything that is drawn.
        column: The column of texts of a dataset.
        on_progress: Gets texts done and to do.
        on_partial: Gets every narrowing estimate.
        cancel: Says whether to stop.

    Returns:
        The exact estimate; its `change` is None when nothing is pruned.

    Raises:
        InputError: texts, labels, heads or a metric that do not fit.
        Cancelled: told to stop.
    """
    evaluator = Evaluator(model, texts, labels, metric, seed=seed, reference=reference, column=column)
    return evaluator.exact(pruned, ablation, cancel, on_progress, on_partial)
