"""What do a few words do to other texts? Triggers put into them, beside random words in the same places.

For testing one's own model: a class that some words bring down, wherever they stand, is one that the model does not
read but recognises.
"""

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headwidgets.attribution import targets
from headwidgets.attribution.triggers.found import Trigger, Triggers, mark
from headwidgets.attribution.triggers.insertion import Slots, Word, spaced
from headwidgets.attribution.triggers.outcome import Attack, Changed, Effect, accuracies
from headwidgets.attribution.triggers.vocabulary import Vocabulary
from headwidgets.errors import Cancelled, InputError, MemoryLimitError, UnsupportedError
from headwidgets.jobs import blocking
from headwidgets.models.memory import ran_out, reason, release
from headwidgets.models.model import HeadModel, expect_model
from headwidgets.models.sampling import Pace
from headwidgets.provenance import checked_seed, data_fingerprint, made
from headwidgets.text.examples import Example, as_texts
from headwidgets.text.labels import as_labels, class_names, labels_from

LEAST_DRAWS = 20
_MOST_TOKENS = 16384
Predictions = NDArray[np.int64]


@blocking
def attack(
    model: HeadModel,
    triggers: Triggers | Sequence[Trigger],
    texts: Any,
    labels: Any = None,
    *,
    controls: int = 20,
    control_texts: int | None = None,
    reference: Any = None,
    examples: int = 5,
    seed: int = 0,
    on_progress: Callable[[int, int], None] | None = None,
    on_partial: Callable[[Attack], None] | None = None,
    cancel: Callable[[], bool] | None = None,
) -> Attack:
    """Put each trigger into texts and measure accuracy per class before and after.

    Every word goes to the same relative position of the same segment (see `insertion`). The same
    places get, in `controls` draws each, random words and words of like frequency: a drop counts only where it
    lies outside of their bands, since any inserted word disturbs a text. For testing one's own model.

    Take other texts than the triggers were found in. The best of many triggers, chosen by its drop here, looks better
    than it is: choose on one set of texts and attack another, or compare with `Attack.chance`, the drop that the
    best of as many random ones reaches.

    Args:
        model: A classifier of texts or pairs.
        triggers: From `find_triggers`, or some of them.
        texts: A list of texts, or a dataset.
        labels: The right classes.
        controls: Draws of random words, and as many of matched words, per trigger: at least 20, or 0 for none.
        control_texts: Put control words into this many of the texts only, drawn with `seed` and per class as many as
            its share; the accuracy of a draw is then moved by what these texts differ from all of them without words.
            All by default: a trigger then costs ``1 + 2 * controls`` passes of all texts.
        reference: Texts whose words are drawn, with their frequencies; `texts` by default.
        examples: Changed predictions to keep per trigger, drawn with `seed` (those that were right come first).
        seed: Of draws and examples.
        on_progress: Called with passes of texts done and in all.
        on_partial: Called with the effects so far: first of all triggers without controls, then of each with them.
        cancel: Says whether to stop.

    Returns:
        An `Attack`: an `Effect` per trigger. A text that a trigger makes too long for the model is left out of that
        trigger's numbers, before and after, and counted.

    Raises:
        InputError: no triggers, triggers of pairs for single texts, labels that do not fit, too few controls.
        UnsupportedError: not a classifier of texts.
        Cancelled: told to stop.

    Reference:
        Hao, Dong, Wei, Xu: Self-Attention Attribution, AAAI 2021, on adversarial triggers; the controls are ours.
    """
    expect_model(model)
    seed = checked_seed(seed)
    found = list(triggers) if isinstance(triggers, Iterable) else []
    if not found or not all(isinstance(t, Trigger) for t in found):
        raise InputError("expected at least one trigger; hw.attribution.find_triggers finds them")
    if targets.task_of(model) != "classes":
        raise UnsupportedError(f"{type(model.model).__name__} does not put a text into one class: attack a classifier")
    if isinstance(controls, bool) or not isinstance(controls, int) or not (controls == 0 or controls >= LEAST_DRAWS):
        raise InputError(
            f"expected controls as at least {LEAST_DRAWS} draws (fewer give no band), or 0 for none, got {controls!r}"
        )
    if isinstance(examples, bool) or not isinstance(examples, (int, np.integer)) or examples < 0:
        raise InputError(f"expected examples as the number of changed predictions to keep, from 0 on, got {examples!r}")
    given = labels_from(texts, labels, model.model.config)
    listed = as_texts(texts)
    gold = as_labels(given, len(listed), model)
    notes: list[str] = []
    seen = _seen_before(triggers, listed, notes)
    victims = _Victims(model, listed, notes)
    names = class_names(model.model.config)
    classes = sorted(set(gold.tolist()))
    some = _sample(gold, control_texts, seed)
    total = len(listed) * (1 + len(found)) + len(some) * len(found) * 2 * controls
    done = 0

    def ask(texts_now: list[Example]) -> Predictions:
        nonlocal done

        def step(rows: int) -> None:
            nonlocal done
            done += rows
            if on_progress is not None:
                on_progress(min(done, total), total)

        answer = victims.predict(texts_now, step, cancel)
        if on_progress is not None:
            on_progress(min(done, total), total)
        return answer

    settings = {
        "method": "attack",
        "controls": controls,
        "control_texts": None if control_texts is None else len(some),
        "reference": "the attacked texts" if reference is None else data_fingerprint(as_texts(reference)),
        "seed": seed,
        "triggers_found_in_same_texts": seen,
        "triggers": len(found),
    }
    provenance = made(model, listed, **settings)
    before = ask([slots.example for slots in victims.slots])
    effects: list[Effect] = []

    def so_far() -> Attack:
        return Attack(list(effects), [names[c] for c in classes], controls, list(notes), provenance, triggers)

    everyone = list(range(len(listed)))
    words = [list(trigger.words) for trigger in found]
    for number, trigger in enumerate(found):
        kept, changed_texts = victims.with_words(words[number], trigger, everyone)
        after = ask(changed_texts)
        done += len(listed) - len(kept)  # those left out need no pass
        index = np.asarray(kept, dtype=np.int64)
        numbers, outcomes = accuracies(before[index], after, gold[index], classes)
        moves = np.zeros((len(names), len(names)), dtype=np.int64)
        np.add.at(moves, (before[index], after), 1)
        chosen = _chosen(before[index], after, gold[index], examples, seed + number)
        shown = [victims.changed(kept[i], words[number], names, gold, before, after[i]) for i in chosen]
        effects.append(Effect(trigger, numbers, outcomes, moves, names, len(listed) - len(kept), shown, {}))
        if on_partial is not None:
            on_partial(so_far())
    if controls:
        vocabulary = Vocabulary(model, victims.examples if reference is None else model.encode(reference))
        for number, trigger in enumerate(found):
            generator = np.random.default_rng((seed, number))
            draws: dict[str, NDArray[np.float64]] = {}
            for name in ("random", "matched"):
                rows = []
                for _ in range(controls):
                    drawn = vocabulary.draw(words[number], generator, matched=name == "matched")
                    kept, changed_texts = victims.with_words(drawn, trigger, some)
                    after = ask(changed_texts)
                    done += len(some) - len(kept)
                    own = gold[kept]
                    change = _shares(after == own, own, classes) - _shares(before[kept] == own, own, classes)
                    rows.append(np.clip(effects[number].outcomes[:, 0, 0] + change, 0, 1))
                draws[name] = np.array(rows)
            effects[number] = replace(effects[number], draws=draws)
            if on_partial is not None and number + 1 < len(found):
                on_partial(so_far())
    return so_far()


def _seen_before(triggers: Any, texts: list[Any], notes: list[str]) -> bool:
    """Warn, and say so, when triggers were found in the texts that they attack."""
    marks: frozenset[str] = getattr(triggers, "marks", frozenset())
    shared = sum(mark(text) in marks for text in texts)
    made_of = getattr(triggers, "provenance", None)
    same = made_of is not None and made_of["settings"].get("data") == data_fingerprint(texts)
    if not shared and not same:
        return False
    how_many = f"{shared} of the {len(texts)}" if shared else f"all {len(texts)}"
    note = (
        f"{how_many} attacked texts were searched for these triggers: they look stronger than they are; find them in "
        "one split and attack another"
    )
    notes.append(f"{note[0].upper()}{note[1:]}.")
    warnings.warn(note, stacklevel=4)
    return True


def _shares(right: NDArray[np.bool_], gold: Predictions, classes: list[int]) -> NDArray[np.float64]:
    """Accuracy of all texts and per class, float64 [1 + classes]."""
    groups = [np.ones(len(gold), dtype=bool), *(gold == c for c in classes)]
    return np.array([float(right[g].mean()) if g.any() else np.nan for g in groups])


def _sample(gold: Predictions, count: int | None, seed: int) -> list[int]:
    """Numbers of texts that hold each class's share, at least one of each; all of them for None."""
    if count is None:
        return list(range(len(gold)))
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise InputError(f"expected control_texts as a whole number from 1 on, got {count!r}")
    generator = np.random.default_rng(seed)
    found: list[int] = []
    for c in np.unique(gold):
        own = np.flatnonzero(gold == c)
        wanted = min(len(own), max(1, round(count * len(own) / len(gold))))
        found += generator.choice(own, wanted, replace=False).tolist()
    return sorted(found)


def _chosen(before: Predictions, after: Predictions, gold: Predictions, count: int, seed: int) -> list[int]:
    """Texts to show: changed ones in random order, those that were right first."""
    order = np.random.default_rng(seed).permutation(len(after))
    changed = [int(i) for i in order if after[i] != before[i]]
    return sorted(changed, key=lambda i: before[i] != gold[i])[:count]


class _Victims:
    """The texts under attack, encoded once."""

    def __init__(self, model: HeadModel, texts: list[Any], notes: list[str]) -> None:
        self._model = model
        self._notes = notes
        self.examples = model.encode(texts)
        self.slots = [Slots(example, model.tokenizer) for example in self.examples]
        self._limit = model.max_positions
        self._pace = Pace(model, _MOST_TOKENS)
        self._offsets: dict[tuple[Any, ...], list[list[int]]] = {}

    def _places(self, words: Sequence[Word]) -> list[list[int]]:
        """By text, where the words go; the same for all draws of a trigger that look alike to the tokenizer."""
        apart = spaced(words, self._model.tokenizer)
        key = tuple((w.segment, w.place, len(w.ids), a) for w, a in zip(words, apart, strict=True))
        if key not in self._offsets:
            self._offsets.clear()
            self._offsets[key] = [slots.offsets(words, apart) for slots in self.slots]
        return self._offsets[key]

    def with_words(
        self, words: Sequence[Word], trigger: Trigger, texts: Sequence[int]
    ) -> tuple[list[int], list[Example]]:
        """Some of the texts with the words in them, without those that became too long, and their numbers."""
        places = self._places(words)
        most = float("inf") if self._limit is None else self._limit - trigger.length
        kept = [i for i in texts if self.slots[i].length <= most]
        if not kept:
            raise InputError(
                f"no text has room for the {trigger.length} tokens of trigger {trigger.text!r}: the model has "
                f"{self._limit} positions; attack shorter texts"
            )
        return kept, [self.slots[i].insert(words, places[i]) for i in kept]

    def predict(
        self, examples: list[Example], step: Callable[[int], None], cancel: Callable[[], bool] | None
    ) -> Predictions:
        """Class of each text, int64 [texts]."""
        import torch

        found = np.empty(len(examples), dtype=np.int64)
        rest = sorted(range(len(examples)), key=lambda i: len(examples[i]))
        while rest:
            if cancel is not None and cancel():
                raise Cancelled("the attack was cancelled")
            batch = next(self._model.batches(examples, order=rest, max_tokens=self._pace.tokens))
            failure = ""
            try:
                with self._model.lock, self._model.visit(), torch.inference_mode():
                    logits = self._model.forward(batch).logits.float()
                if bool(torch.isnan(logits).any()):
                    raise InputError("the model's answer to a text is not a number (NaN): check its weights and dtype")
                found[batch.index] = logits.argmax(-1).cpu().numpy()
            except (RuntimeError, MemoryError) as error:
                if not ran_out(error):
                    raise
                failure = reason(error)
            if failure:
                release(self._model.device)
                if len(batch) == 1:
                    raise MemoryLimitError(f"memory ran out on a single text: attack shorter texts ({failure})")
                self._pace.halve()
                self._notes.append(f"Memory ran out; going on with batches of {self._pace.most} tokens.")
                continue
            rest = rest[len(batch) :]
            step(len(batch))
        return found

    def changed(
        self, text: int, words: list[Word], names: list[str], gold: Predictions, before: Predictions, after: int
    ) -> Changed:
        """A changed prediction, for a reader."""
        slots, tokenizer = self.slots[text], self._model.tokenizer
        offsets = slots.offsets(words, spaced(words, tokenizer))
        parts, inserted, second = slots.reading(words, offsets, tokenizer)
        return Changed(
            text, tuple(parts), tuple(inserted), second, names[gold[text]], names[before[text]], names[int(after)]
        )
