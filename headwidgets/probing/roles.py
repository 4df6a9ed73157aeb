"""Which head is for what? One call looks for every role of every head, each with its evidence."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from headwidgets.errors import InputError
from headwidgets.jobs import Cancel, Progress, blocking
from headwidgets.models.model import HeadModel, expect_model
from headwidgets.patterns.concentration import entropy
from headwidgets.patterns.measuring import measure
from headwidgets.patterns.statistic import Measured, Statistic
from headwidgets.patterns.tokens import attention_to
from headwidgets.patterns.view import View
from headwidgets.probing.induction import MEASURES, fitting_length, repetition
from headwidgets.probing.positional import positional
from headwidgets.probing.rare_words import rare_words
from headwidgets.probing.rules import (
    BUILT_IN,
    LEAST,
    THRESHOLDS,
    of_links,
    of_positions,
    of_rare_words,
    of_registered,
    of_weights,
    registered_roles,
)
from headwidgets.probing.syntax import syntax
from headwidgets.provenance import checked_seed, made
from headwidgets.roles import Role, Roles
from headwidgets.text.examples import as_texts
from headwidgets.text.treebank import Treebank
from headwidgets.wire.documents import KindName


def _first() -> Statistic:
    """Attention to the first position, from queries that have a choice."""
    own = attention_to("first")

    def measure(view: View) -> Measured:
        numbers, asked = own.measure(view)
        return numbers, asked & (view.seen("real") >= 2)

    return replace(own, measure=measure)


_WEIGHTS = {
    "separator": attention_to("separators"),
    "sink": _first(),
    "broad": entropy("all", relative=True),
}
"""Roles that one pass of patterns measures."""
SEQUENCES = 32
"""Repeated random sequences for the roles of causal models."""


@blocking
def roles(
    model: HeadModel,
    texts: Any = None,
    treebank: Treebank | None = None,
    *,
    train: Treebank | None = None,
    look_for: Iterable[str] | None = None,
    at_least: Mapping[str, float] | None = None,
    frequencies: Any = None,
    least: int = LEAST,
    syntactic: Mapping[str, Any] | None = None,
    seed: int = 0,
    on_progress: Progress | None = None,
    on_partial: Callable[[Roles], None] | None = None,
    cancel: Cancel | None = None,
) -> Roles:
    """Look for the roles of every head.

    ==================  ==========================================================================================
    ``positional``      at least 90 % of its largest weights are at one offset (`positional`)
    ``syntactic``       finds a relation more often than every baseline (`syntax`); needs a treebank
    ``rare-word``       gives most to the rarest word more often than every baseline (`rare_words`)
    ``separator``       at least 60 % of its attention goes to separators ([SEP], </s>)
    ``sink``            at least 60 % of its attention goes to the first position
    ``broad``           its entropy is at least 80 % of the largest possible
    ``previous-token``  of causal models, on repeated random tokens (`repetition`): at least half of the attention
    ``duplicate-token`` goes to the token before, to the same token, to what came next the last time
    ``induction``
    ==================  ==========================================================================================

    and whatever `register_role` added. A head may have several, or none.

    Args:
        model: A HeadModel. Of an encoder-decoder, plain texts are sources and only the encoder is looked at; with
            (source, target) all kinds of attention are.
        texts: What to look at; the sentences of the treebank by default.
        treebank: Sentences with trees, for the syntactic role.
        train: Sentences on which relations' heads and baselines are chosen; by default half of the treebank.
        look_for: Roles to look for; by default all that can be looked for.
        at_least: Thresholds in place of the usual ones, by role (``{"positional": 0.8}``).
        frequencies: For rare words, as `rare_words` takes them; counted in `texts` by default.
        least: Below so many texts no head gets a role.
        syntactic: Options of `syntax`, for example ``{"relations": ["nsubj", "obj"]}``.
        seed: Of everything that is drawn.
        on_progress: Called with texts looked at and texts to look at, over all passes.
        on_partial: Called with the roles found so far, after each pass.
        cancel: Says whether to stop.

    Returns:
        Roles with their evidence: value, interval, sample, and whether it is certain.

    Raises:
        InputError: neither texts nor a treebank, an unknown role, or a threshold that does not fit.
        Cancelled: told to stop.

    References:
        Voita et al. 2019, section 5; Clark et al. 2019, sections 3 and 4; Olsson et al. 2022.
    """
    expect_model(model)
    seed = checked_seed(seed)
    if isinstance(least, bool) or not isinstance(least, int) or least < 1:
        raise InputError(f"expected least as a number of texts, at least 1, got {least!r}")
    if syntactic is not None and not isinstance(syntactic, Mapping):
        raise InputError(
            f'expected syntactic as options of syntax, such as {{"relations": ["obj"]}}, got {syntactic!r}'
        )
    listed = _texts(texts, treebank)
    wanted = _wanted(model, look_for, treebank)
    floors = _floors(at_least)
    kind: KindName | None = None
    if model.is_encoder_decoder and not any(isinstance(text, tuple) for text in listed):
        kind = "encoder"
    work = _Work(model, on_progress, on_partial, cancel)
    passes: list[tuple[int, Callable[[Progress], list[Role]]]] = []

    if "positional" in wanted:

        def offsets(tell: Progress) -> list[Role]:
            found = positional(
                model, listed, threshold=floors["positional"], kind=kind, seed=seed, on_progress=tell, cancel=cancel
            )
            return [of_positions(found, least)]

        passes.append((len(listed), offsets))

    weights = [name for name in _WEIGHTS if name in wanted]
    if weights:

        def patterns(tell: Progress) -> list[Role]:
            statistics = [_WEIGHTS[name] for name in weights]
            found = measure(model, listed, statistics, kind=kind, seed=seed, on_progress=tell, cancel=cancel)
            return [
                of_weights(
                    name, found.scores[own.name], floors[name], least,
                    {} if name == "broad" else found.uniform[own.name],
                )
                for name, own in zip(weights, statistics, strict=True)
            ]  # fmt: skip

        passes.append((len(listed), patterns))

    if "rare-word" in wanted:
        sources = [text[0] if isinstance(text, tuple) else text for text in listed] if kind is None else listed

        def rare(tell: Progress) -> list[Role]:
            own = sources if model.is_encoder_decoder else listed
            try:
                found = rare_words(model, own, frequencies, seed=seed, on_progress=tell, cancel=cancel)
            except InputError as error:
                work.notes.append(f"rare-word was not looked for: {error}")
                return []
            if found.n < least:
                work.notes.append(f"rare-word: only {found.n} texts have a rare word, so there is no verdict.")
            return [of_rare_words(found)]

        passes.append((len(listed), rare))

    if "syntactic" in wanted and treebank is not None:
        bank = treebank

        def relations(tell: Progress) -> list[Role]:
            options = {"arcs": 0, **(syntactic or {})}
            found = syntax(model, bank, train=train, seed=seed, on_progress=tell, cancel=cancel, **options)
            work.notes.extend(found.notes)
            best = [row for row in found.per_relation() if row.voita and row.n >= least]
            heads = len({row.best for row in best})
            work.notes.append(
                f"syntactic: by the published rule, 10 points above the best fixed offset, {heads} heads would be, for "
                f"{len(best)} relations (Voita et al. 2019); that baseline is weak."
            )
            return [of_links("syntactic", found)]

        passes.append((len(bank), relations))

    repeats = [name for name in MEASURES if name in wanted]
    if repeats:
        sequences = max(SEQUENCES, least)

        def repeated(tell: Progress) -> list[Role]:
            length = fitting_length(model)
            found = repetition(model, n=sequences, length=length, seed=seed, on_progress=tell, cancel=cancel)
            return [of_weights(name, found[name], floors[name], least, {}) for name in repeats]

        passes.append((sequences, repeated))

    for own in registered_roles().values():
        if own.name in wanted:

            def registered(tell: Progress, own: Any = own) -> list[Role]:
                offered = {"treebank": treebank, "seed": seed, "on_progress": tell, "cancel": cancel}
                return [of_registered(own, model, listed, least, **offered)]

            passes.append((len(listed), registered))

    record = made(
        model, listed, method="roles", seed=seed, least=least, look_for=", ".join(wanted),
        **{f"at_least_{name.replace('-', '_')}": floors[name] for name in wanted if name in floors},
        treebank=getattr(treebank, "name", None) or None,
    )  # fmt: skip

    def result(found: list[Role]) -> Roles:
        notes = list(dict.fromkeys(work.notes))
        if len(listed) < least:
            notes.append(f"{len(listed)} texts are too few for a verdict: with {least} or more heads get roles.")
        order = {name: i for i, name in enumerate((*BUILT_IN, *registered_roles()))}
        return Roles(
            sorted(found, key=lambda role: order.get(role.name, len(order))),
            {k: model.shape(k) for k in model.kinds if kind is None or k == kind},
            n=len(listed),
            notes=notes,
            fingerprint=model.fingerprint,
            provenance=record,
        )

    return work.run(passes, result)


class _Work:
    """Passes one after the other, with one count of what is done."""

    def __init__(self, model: HeadModel, on_progress: Any, on_partial: Any, cancel: Any) -> None:
        self.model, self.on_progress, self.on_partial, self.cancel = model, on_progress, on_partial, cancel
        self.notes: list[str] = []

    def run(
        self, passes: list[tuple[int, Callable[[Progress], list[Role]]]], result: Callable[[list[Role]], Roles]
    ) -> Roles:
        """Run them; a pass counts for the texts that it looks at."""
        found: list[Role] = []
        total, before = sum(size for size, _ in passes), 0
        for number, (size, run) in enumerate(passes):

            def tell(done: int, of: int, before: int = before, size: int = size) -> None:
                if self.on_progress is not None:
                    self.on_progress(min(total, before + round(size * done / max(1, of))), total)

            found += run(tell)
            before += size
            if self.on_progress is not None:
                self.on_progress(before, total)
            if self.on_partial is not None and number < len(passes) - 1:
                self.on_partial(result(found))
        return result(found)


def _texts(texts: Any, treebank: Any) -> list[Any]:
    if treebank is not None and not hasattr(treebank, "sentences"):
        raise InputError(
            f"expected treebank as a Treebank, got {type(treebank).__name__}: hw.Treebank.read(path) reads one"
        )
    if texts is None:
        if treebank is None:
            raise InputError("expected texts, or a treebank whose sentences are looked at, got neither")
        return [sentence.text for sentence in treebank]
    return [sentence.text for sentence in texts] if isinstance(texts, Treebank) else as_texts(texts)


def _wanted(model: HeadModel, look_for: Iterable[str] | None, treebank: Any) -> list[str]:
    known = [*BUILT_IN, *registered_roles()]
    if look_for is None:
        causal = model.kinds == ("decoder",)
        return [
            name for name in known
            if (name != "syntactic" or treebank is not None) and (name not in MEASURES or causal)
        ]  # fmt: skip
    if not isinstance(look_for, Iterable):
        raise InputError(f"expected look_for as roles out of {', '.join(known)}, got {look_for!r}")
    names = [look_for] if isinstance(look_for, str) else list(look_for)
    for name in names:
        if name not in known:
            raise InputError(f"there is no role {name!r}; there are {', '.join(known)} (register_role adds one)")
    if "syntactic" in names and treebank is None:
        raise InputError("the role 'syntactic' needs treebank=, sentences with trees: hw.Treebank.read(path)")
    if not names:
        raise InputError(f"expected look_for as roles out of {', '.join(known)}, got none")
    return [name for name in known if name in names]


def _floors(at_least: Mapping[str, float] | None) -> dict[str, float]:
    if at_least is not None and not isinstance(at_least, Mapping):
        raise InputError(f'expected at_least as thresholds by role, such as {{"positional": 0.8}}, got {at_least!r}')
    given = dict(at_least or {})
    for name, value in given.items():
        if name not in THRESHOLDS:
            raise InputError(f"there is no threshold for {name!r}; there are for {', '.join(THRESHOLDS)}")
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value <= 1:
            raise InputError(f"expected at_least[{name!r}] as a share above 0 and up to 1, got {value!r}")
    return {**THRESHOLDS, **given}
