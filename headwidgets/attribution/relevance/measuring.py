"""Importance by layer-wise relevance propagation to heads' outputs (Voita et al. 2019, section 4 and appendix A)."""

import warnings
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

from headwidgets.attribution import targets
from headwidgets.attribution.integration.passes import check_model, held
from headwidgets.attribution.paths import in_float32
from headwidgets.attribution.relevance.ledger import Floats, Ledger, Mixed
from headwidgets.attribution.relevance.propagate import propagate, stack_of
from headwidgets.attribution.relevance.result import Leaks, Relevance
from headwidgets.attribution.relevance.rules import RULES, Rule, RuleName
from headwidgets.attribution.relevance.seeds import goals_of
from headwidgets.attribution.relevance.tracing import InPlace
from headwidgets.attribution.targets import Goal
from headwidgets.errors import Cancelled, InputError, UnsupportedError
from headwidgets.jobs import Cancel, Progress, blocking
from headwidgets.models.memory import halving
from headwidgets.models.model import HeadModel, expect_model
from headwidgets.models.tally import Tally, chunks, singles
from headwidgets.scores import HeadScores
from headwidgets.text.examples import Batch, Example, as_texts
from headwidgets.text.labels import as_labels, labels_from

Sign = Literal["signed", "absolute"]
Aim = Literal["predicted", "gold"]
_TOKENS = {"cpu": 512, "mps": 2048, "cuda": 8192}
"""Positions per batch of texts."""
_LARGE = 1e3
"""A sum of absolute relevance that a result warns of."""


def measure(
    model: HeadModel,
    texts: Any,
    labels: Any = None,
    *,
    rule: RuleName = "ratio",
    sign: Sign = "signed",
    target: Aim = "predicted",
    positions: Literal["last", "all"] | Sequence[int] = "last",
    attention: Literal["constant", "full"] | None = None,
    bias: Literal["shared", "absorbed"] = "shared",
    eps: float | None = None,
    rescale: bool | None = None,
    seed: int = 0,
    on_progress: Progress | None = None,
    on_partial: Callable[[HeadScores], None] | None = None,
    cancel: Cancel | None = None,
) -> HeadScores:
    """The scores of `propagate_relevance`, with the largest leak of a block in their provenance; arguments as there."""
    asked = _Asked(model, rule, sign, target, positions, attention, bias, eps, rescale)
    return _measured(asked, texts, labels, seed, on_progress, on_partial, cancel).scores


@blocking
def propagate_relevance(
    model: HeadModel,
    texts: Any,
    labels: Any = None,
    *,
    rule: RuleName = "ratio",
    sign: Sign = "signed",
    target: Aim = "predicted",
    positions: Literal["last", "all"] | Sequence[int] = "last",
    attention: Literal["constant", "full"] | None = None,
    bias: Literal["shared", "absorbed"] = "shared",
    eps: float | None = None,
    rescale: bool | None = None,
    seed: int = 0,
    on_progress: Progress | None = None,
    on_partial: Callable[[HeadScores], None] | None = None,
    cancel: Cancel | None = None,
) -> Relevance:
    """Layer-wise relevance propagation to every head's output.

    Per target, 1 is seeded at one logit (whatever its sign, as published) and handed down by one backward pass. A
    head's relevance is the sum over positions and numbers of what arrives at its output (the input of the output
    projection), divided by the sum of the absolute values over the heads of its layer; scores are means over all
    targets of all texts. Padding has none.

    Rules:

    ``ratio``: that of the paper (its appendix A, after Ding et al. 2017). A sum gives each term its part of the whole,
    ``z_ij / (sum_j z_ij + eps sign)``; a bias keeps its part; a product gives each factor its part of the factors' sum
    (in models with gated feed-forward layers, which the paper has not, this grows without bound: a warning says so);
    functions of one number pass relevance on. The paper does not say how relevance passes softmax and norms: here
    attention weights and the scales of norms are constants (``attention="full"`` takes AttnLRP's steps).

    ``plus-minus``: that of the code published later (lrp.py, 2021): ``T_ij = 0.5 z+_ij / (sum_j z+_ij + eps) + 0.5
    z-_ij / (sum_j z-_ij - eps)``, a bias shared equally by all inputs, full Jacobians of norms and of attention
    (queries, keys and values at once), and each step's result rescaled. It is never negative, and a head that says
    nothing still gets its share of the bias. Products of two numbers that depend on the text, which that code has not,
    are halved.

    ``attnlrp``: after Achtibat et al. 2024 and their code: sums and norms as ``ratio``, products by halves, softmax by
    its Taylor rule.

    Args:
        model: From `headwidgets.load` or `wrap`; classifiers, language models, encoder-decoders.
        texts: Texts; for encoder-decoders (source, target), or sources whose targets are generated.
        labels: Right answers, for ``target="gold"``; for encoder-decoders reference texts.
        rule: ``ratio``, ``plus-minus`` or ``attnlrp``.
        sign: ``signed``: sums keep their signs. ``absolute``: a head's absolute relevances are summed.
        target: ``predicted``: the logit that is largest (as published); ``gold``: that of the label, or of the token
            that follows.
        positions: Where a language model predicts: ``last``, ``all``, or a list of positions.
        attention: ``constant`` weights, so that only values get relevance, or ``full``; by default constant for
            ``ratio`` and full for the others.
        bias: Under ``plus-minus``: ``shared`` by all inputs (as published), or ``absorbed`` by the bias, so that a head
            that says nothing gets nothing.
        eps: Stabiliser of denominators; 1e-5 by default, as published (1e-6 for ``attnlrp``).
        rescale: After each step, scale its inputs' relevance so that the sum of absolute values is that of the output
            (of each token, or head); by default for ``plus-minus`` only, as published.
        seed: Of the order in which texts are seen.
        on_progress: Called with texts done and in all.
        on_partial: Called with the scores of the texts seen so far.
        cancel: Says whether to stop.

    Returns:
        A `Relevance`: ``.scores``, and ``.leak`` of every block before any rescaling.

    Raises:
        InputError: an unknown option, labels that do not fit, numbers that are not finite.
        UnsupportedError: no prediction, quantised weights, or an operation that cannot be followed.
        MemoryLimitError: not even one text fits.
        Cancelled: told to stop.

    Reference:
        Voita, Talbot, Moiseev, Sennrich, Titov: Analyzing Multi-Head Self-Attention, ACL 2019, arXiv 1905.09418.
        Ding, Liu, Luan, Sun: Visualizing and Understanding Neural Machine Translation, ACL 2017.
        Achtibat et al.: AttnLRP, ICML 2024, arXiv 2402.05602.
    """
    asked = _Asked(model, rule, sign, target, positions, attention, bias, eps, rescale)
    return _measured(asked, texts, labels, seed, on_progress, on_partial, cancel)


class _Asked:
    """What is asked for, checked."""

    def __init__(
        self,
        model: HeadModel,
        rule: Any,
        sign: Any,
        target: Any,
        positions: Any,
        attention: Any,
        bias: Any,
        eps: Any,
        rescale: Any,
    ) -> None:
        expect_model(model)
        _one_of("rule", rule, RULES)
        _one_of("sign", sign, ("signed", "absolute"))
        _one_of("target", target, ("predicted", "gold"))
        _one_of("attention", attention, (None, "constant", "full"))
        _one_of("bias", bias, ("shared", "absorbed"))
        eps = (1e-6 if rule == "attnlrp" else 1e-5) if eps is None else eps
        if isinstance(eps, bool) or not isinstance(eps, (int, float)) or not 0 < eps < 1:
            raise InputError(f"expected eps as a number above 0 and below 1, got {eps!r}")
        check_model(model)
        if not all(site.has_map for site in model.sites):
            raise UnsupportedError(
                f"{type(model.model).__name__} attends in a sliding band that it writes piece by piece, through which "
                "relevance cannot be followed; take method='taylor' or 'ablation'"
            )
        self.model, self.sign, self.target = model, sign, target
        self.task = targets.task_of(model)
        self.positions = self._places(positions)
        full = rule != "ratio" if attention is None else attention == "full"
        again = rule == "plus-minus" if rescale is None else bool(rescale)
        self.rule = Rule(rule, float(eps), full, bias == "shared", again)

    def _places(self, positions: Any) -> Any:
        if isinstance(positions, str):
            _one_of("positions", positions, ("last", "all"))
        elif not isinstance(positions, (list, tuple, range, np.ndarray)) or not all(
            isinstance(p, (int, np.integer)) and not isinstance(p, bool) for p in positions
        ):
            raise InputError(f"expected positions to be 'last', 'all' or a list of whole numbers, got {positions!r}")
        if self.task != "next" and not (isinstance(positions, str) and positions == "last"):
            raise InputError(
                "positions= is for language models that predict the next token; other models are seeded at every "
                "target they have"
            )
        return positions if isinstance(positions, str) else [int(p) for p in positions]

    @property
    def settings(self) -> dict[str, Any]:
        """For the provenance."""
        rule = self.rule
        more = {"bias": "shared" if rule.shared else "absorbed"} if rule.name == "plus-minus" else {}
        where = {"positions": str(self.positions)} if self.task == "next" else {}
        return {
            "method": "relevance",
            "rule": rule.name,
            "sign": self.sign,
            "target": self.target,
            "attention": "full" if rule.full else "constant",
            "eps": rule.eps,
            "rescale": rule.rescale,
            **more,
            **where,
        }


def _one_of(name: str, value: Any, known: Sequence[Any]) -> None:
    if value not in known:
        raise InputError(f"expected {name} to be one of {', '.join(str(k) for k in known)}, got {value!r}")


# ---- the work -----------------------------------------------------------------------------------------------


def _measured(
    asked: _Asked,
    texts: Any,
    labels: Any,
    seed: int,
    on_progress: Progress | None,
    on_partial: Callable[[HeadScores], None] | None,
    cancel: Cancel | None,
) -> Relevance:
    model = asked.model
    given = labels_from(texts, labels, model.model.config)
    listed = as_texts(texts)
    if asked.task == "translation" and given is not None:
        listed, given = _with_references(model, listed, given), None
    examples = model.encode(listed)
    work = _Work(
        asked,
        listed,
        examples,
        goals_of(model, asked.task, examples, given, gold=asked.target == "gold", positions=asked.positions),
        seed,
    )
    with in_float32(model, []) as used, held(used):
        work.notes.extend(_precision(model, used))
        for group in chunks(len(examples), seed):
            for batch in used.batches(examples, max_tokens=_TOKENS.get(used.device.type, 512), order=group):
                if cancel is not None and cancel():
                    raise Cancelled("propagating relevance was cancelled")
                work.run(used, batch)
                if on_progress is not None:
                    on_progress(work.seen, len(examples))
            if on_partial is not None and work.seen < len(examples):
                on_partial(work.scores())
    return work.result()


def _precision(model: HeadModel, used: HeadModel) -> list[str]:
    dtype = str(next(model.model.parameters()).dtype).removeprefix("torch.")
    if used is not model:
        return [f"The model is in {dtype}; relevance was traced in a float32 copy of it."]
    if dtype in ("float16", "bfloat16"):
        return [f"Relevance was traced in {dtype}, since a float32 copy of the model does not fit."]
    return []


def _with_references(model: HeadModel, listed: list[Any], given: Any) -> list[Any]:
    wanted = as_labels(given, len(listed), model)
    pairs = [i for i, text in enumerate(listed) if isinstance(text, tuple)]
    if pairs:
        raise InputError(f"text {pairs[0]} already is a pair of source and target; leave labels out")
    return list(zip(listed, wanted, strict=True))


class _Work:
    """Sums over what has been seen."""

    def __init__(self, asked: _Asked, listed: Any, examples: list[Example], goals: list[Goal], seed: int) -> None:
        self.asked, self.listed, self.examples, self.goals, self.seed = asked, listed, examples, goals, seed
        self.tally = Tally(asked.model, singles(chunks(len(examples), seed)))
        stacks: dict[str, int] = {}
        for site in asked.model.sites:
            stacks[stack_of(site)] = max(stacks.get(stack_of(site), 0), site.layer + 1)
        self.leaks = Leaks(stacks)
        self.plain: dict[str, int] = {}
        self.notes: list[str] = []
        self.seen = 0
        self.apart = self.copies = False

    def run(self, used: HeadModel, batch: Batch) -> None:
        """One batch; in halves where memory runs out, text by text where the family mixes them."""
        try:
            self._in_pieces(used, batch.index)
        except InPlace:
            self.copies = True
            self.run(used, batch)
        except Mixed:
            self.apart = True
            self.run(used, batch)

    def _in_pieces(self, used: HeadModel, index: list[int]) -> None:
        def piece(rows: Sequence[int]) -> None:
            self._run(used, next(used.batches(self.examples, order=list(rows), max_tokens=10**9)))

        chunk = 1 if self.apart else None
        halving(piece, index, chunk=chunk, device=used.device, notes=self.notes, what="texts")

    def _run(self, used: HeadModel, batch: Batch) -> None:
        goals = [self.goals[i] for i in batch.index]
        read = targets.reader(used, self.asked.task, "logit", goals)
        ledger = Ledger(len(batch))
        sums = {site: np.zeros((len(batch), site.n_heads)) for site in used.sites}
        counts = {site: np.zeros(len(batch)) for site in used.sites}
        books = Leaks(self.leaks.shapes)
        for _, valid in propagate(used, batch, read, goals, self.asked.rule, ledger, self.copies):
            books.add(ledger, valid)
            for site, (signed, absolute) in ledger.heads.items():
                numbers = signed if self.asked.sign == "signed" else absolute
                total = np.abs(numbers).sum(1)
                self._check(site, numbers[valid])
                rows = valid & (total > 0)
                sums[site][rows] += numbers[rows] / total[rows, None]
                counts[site][rows] += 1
        for site in used.sites:
            own = self.asked.model.site(site.kind, site.layer)
            self.tally.add(own, batch.index, sums[site], counts[site])
        self.leaks.merge(books)
        for name, n in ledger.plain.items():
            self.plain[name] = self.plain.get(name, 0) + n
        self.seen += len(batch)

    def _check(self, site: Any, numbers: Floats) -> None:
        if not np.isfinite(numbers).all():
            raise InputError(
                f"the relevance of {site.kind} layer {site.layer} is not finite: denominators near zero made it "
                f"overflow. Take a larger eps= (it was {self.asked.rule.eps}), or rule='plus-minus' or 'attnlrp'"
            )

    def scores(self) -> HeadScores:
        """What is known so far."""
        self.tally.n = self.seen
        leaks, _ = self.leaks.found()
        largest: dict[str, float] = {}
        for stack, leak in leaks.items():
            largest[f"largest_leak_{stack}"] = float(f"{leak.largest:.6g}")
            largest[f"largest_size_{stack}"] = float(f"{np.nanmax(leak.size):.6g}")
        plain = {"without_rule": ", ".join(sorted(self.plain))} if self.plain else {}
        sign = "" if self.asked.sign == "signed" else ", absolute"
        return self.tally.scores(
            self.listed,
            name=f"relevance, {self.asked.rule.name}{sign}",
            unit="share of its layer",
            seed=self.seed,
            targets=self.leaks.targets,
            **self.asked.settings,
            **largest,
            **plain,
        )

    def result(self) -> Relevance:
        """The whole."""
        leaks, outside = self.leaks.found()
        for stack, leak in leaks.items():
            layer = int(np.nanargmax(leak.size))
            if leak.size[layer] > _LARGE:
                eps = self.asked.rule.eps
                self.notes.append(
                    f"The sum of absolute relevance grew to {leak.size[layer]:.1e} in {stack} layer {layer} (1 was "
                    f"seeded): denominators are small against eps={eps:g}, and scores there are differences of large "
                    "numbers. Take a larger eps=, or rule='attnlrp' or 'plus-minus'."
                )
                warnings.warn(self.notes[-1], stacklevel=2)
        return Relevance(self.scores(), leaks, outside, self.leaks.targets, dict(self.plain), tuple(self.notes))
