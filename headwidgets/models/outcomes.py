"""What did the model get right? Right answers and losses per example, for every kind of head on top of a model."""

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from headwidgets.errors import InputError
from headwidgets.provenance import checked_seed
from headwidgets.text.encoding import encode_side, segments_of
from headwidgets.text.examples import Batch, Example, as_texts, pad
from headwidgets.text.labels import IGNORED, as_labels, label_kind, labels_from

MASKED_SHARE = 0.15
"""Of a text's tokens, how many a masked language model has to find (Devlin et al. 2019); at least one."""

Metric = str | Callable[[NDArray[Any], NDArray[Any]], float]


@dataclass
class Outcome:
    """What a batch says.

    Attributes:
        numerators: Right answers or summed loss per row, float64 [rows].
        weights: Answers per row, float64 [rows]; 1 when a row is one answer.
        predictions: Per row, the predicted classes or numbers, [answers] (several classes: [1, classes]).
    """

    numerators: NDArray[np.float64]
    weights: NDArray[np.float64]
    predictions: list[NDArray[Any]]


@dataclass
class Verdict:
    """How good answers are, before they leave the device.

    Attributes:
        losses: Summed over a row's answers, [rows], with gradient; None where nobody asked.
        hits: Right answers per row, [rows]; None where nobody asked.
        weights: Answers per row, float64 [rows]; 1 when a row is one answer.
        predictions: As in `Outcome`.
    """

    losses: Tensor | None
    hits: Tensor | None
    weights: NDArray[np.float64]
    predictions: list[NDArray[Any]]


class Questions:
    """Texts with their labels, encoded once, and a metric.

    Attributes:
        examples: As the model sees them.
        labels: Per example, the right classes or numbers, [answers].
        metric: Name of the metric.
        function: The metric as a function of all predictions and labels; None for ``accuracy`` and ``loss``.
        given: The user's texts.
        texts: The same, as (source, target) where the targets came as labels.
    """

    def __init__(
        self, model: Any, texts: Any, labels: Any, metric: Metric, *, seed: int = 0, column: Any = None
    ) -> None:
        """Encode texts and check labels.

        Raises:
            InputError: what does not fit, and what was expected.
        """
        self.model = model
        seed = checked_seed(seed)
        self.kind = label_kind(model)
        self.function = metric if callable(metric) else None
        self.metric = str(getattr(metric, "__name__", "metric")) if callable(metric) else metric
        if self.function is None and metric not in ("accuracy", "loss"):
            raise InputError(
                f"expected metric 'accuracy', 'loss' or a function of predictions and labels, got {metric!r}"
            )
        if metric == "accuracy" and self.kind == "values":
            raise InputError(
                "accuracy needs classes, and this model predicts a number: use metric='loss' or a function"
            )
        given = labels_from(texts, labels, model.model.config)
        self.given = self.texts = as_texts(texts, column)
        prepare = {
            "classes": self._classified,
            "values": self._classified,
            "several": self._classified,
            "words": self._words,
            "references": self._translated,
            "none": self._modelled,
        }[self.kind]
        self.examples, self.labels = prepare(given, seed)
        if not any(len(self.asked(i)) for i in range(len(self.labels))):
            raise InputError("there is nothing to predict in these texts: expected texts of at least two tokens")

    @property
    def bounded(self) -> bool:
        """Whether the metric is a proportion."""
        return self.metric == "accuracy" and self.function is None

    @property
    def answers_per_position(self) -> int:
        """Numbers the model returns for every position; 0 when it returns one row per text."""
        config = self.model.model.config
        if self.kind == "words":
            return int(config.num_labels)
        return int(getattr(config, "vocab_size", 0)) if self.kind in ("references", "none") else 0

    # ---- labels by kind -------------------------------------------------------------------------------

    def _classified(self, labels: Any, _: int) -> tuple[list[Example], list[NDArray[Any]]]:
        right = as_labels(labels, len(self.texts), self.model)
        return self.model.encode(self.texts), [np.asarray(label)[None] for label in right]

    def _words(self, labels: Any, _: int) -> tuple[list[Example], list[NDArray[Any]]]:
        examples = self.model.encode(self.texts)
        found: list[NDArray[Any]] = as_labels(labels, len(self.texts), self.model, examples)
        return examples, found

    def _translated(self, labels: Any, _: int) -> tuple[list[Example], list[NDArray[Any]]]:
        pairs = [isinstance(text, tuple) for text in self.texts]
        if labels is None and not all(pairs):
            raise InputError(
                f"text {pairs.index(False)} has no target: give reference strings as labels, or (source, target) texts"
            )
        if labels is not None:
            if any(pairs):
                raise InputError(f"text {pairs.index(True)} brings its own target: leave labels out")
            wanted = as_labels(labels, len(self.texts), self.model)
            self.texts = list(zip(self.texts, wanted, strict=True))
        examples = self.model.encode(self.texts)
        targets = []
        for i, (_, target) in enumerate(self.texts):
            side, _ = encode_side(self.model.tokenizer, segments_of(target, f"target {i}"), target=True)
            targets.append(side.ids)
        return examples, targets

    def _modelled(self, labels: Any, seed: int) -> tuple[list[Example], list[NDArray[Any]]]:
        as_labels(labels, len(self.texts), self.model)
        name = type(self.model.model).__name__
        if name.endswith("MaskedLM"):
            return self._masked(seed)
        if not name.endswith(("CausalLM", "LMHeadModel")):
            raise InputError(
                f"{name} has nothing on top to evaluate: load it with task='sequence-classification', 'causal-lm' or "
                "another task"
            )
        examples = self.model.encode(self.texts)
        return examples, [np.append(e.source.ids[1:], IGNORED) for e in examples]

    def _masked(self, seed: int) -> tuple[list[Example], list[NDArray[Any]]]:
        mask = self.model.tokenizer.mask_token_id
        if mask is None:
            raise InputError("the tokenizer has no mask token, which evaluating a masked language model needs")
        examples, labels = [], []
        for i, example in enumerate(self.model.encode(self.texts)):
            side = example.source
            free = np.flatnonzero(~np.asarray(side.special))
            generator = np.random.default_rng((seed, i))
            count = max(1, round(MASKED_SHARE * len(free))) if len(free) else 0
            hidden = generator.choice(free, count, replace=False) if count else free
            ids, right = side.ids.copy(), np.full(len(side), IGNORED, dtype=np.int64)
            right[hidden] = ids[hidden]
            ids[hidden] = mask
            examples.append(dataclasses.replace(example, source=dataclasses.replace(side, ids=ids)))
            labels.append(right)
        return examples, labels

    # ---- answers ----------------------------------------------------------------------------------------

    def asked(self, index: int) -> NDArray[Any]:
        """The right answers of an example, ignored positions left out."""
        own = self.labels[index]
        return own[own != IGNORED] if self.kind in ("words", "references", "none") else own

    def ask(self, batch: Batch) -> Outcome:
        """Run a batch; the caller holds a visit.

        Raises:
            InputError: the model answers NaN.
        """
        by_loss = self.metric == "loss"
        verdict = self.judge(batch.index, self.logits(batch), losses=by_loss, hits=not by_loss)
        picked = verdict.losses if by_loss else verdict.hits
        assert picked is not None
        return Outcome(picked.detach().cpu().numpy().astype(np.float64), verdict.weights, verdict.predictions)

    def logits(self, batch: Batch | Mapping[str, Any]) -> Tensor:
        """What the model says; the caller holds a visit."""
        with padding_known(self.model):
            logits: Tensor = self.model.forward(batch).logits
        return logits

    def judge(self, index: Sequence[int], logits: Tensor, *, losses: bool = True, hits: bool = True) -> "Verdict":
        """Compare what the model says with the right answers.

        Args:
            index: Which example each row of the logits is.
            logits: Of the rows; the losses have their gradient.
            losses: Whether losses are wanted.
            hits: Whether right answers are wanted.

        Raises:
            InputError: the model answers NaN.
        """
        per_text = self.kind in ("classes", "values", "several")
        return (self._per_text if per_text else self._per_position)(index, logits, losses, hits)

    def _per_text(self, index: Sequence[int], logits: Tensor, losses: bool, hits: bool) -> "Verdict":
        scores = logits.float()
        self._check(scores, index)
        right = torch.as_tensor(np.concatenate([self.labels[i] for i in index]), device=scores.device)
        lost: Tensor | None = None
        if self.kind == "values":
            found = scores.reshape(len(index))
            lost = (found.double() - right.double()) ** 2 if found.device.type != "mps" else (found - right) ** 2
            good = lost
        elif self.kind == "several":
            found = (scores > 0).long()
            if losses:
                lost = functional.binary_cross_entropy_with_logits(scores, right.float(), reduction="none").mean(1)
            good = (found == right).all(1)
        else:
            found = scores.argmax(-1)
            if losses:
                lost = functional.cross_entropy(scores, right.long(), reduction="none")
            good = found == right
        predictions = [row[None] for row in found.detach().cpu().numpy()]
        return Verdict(lost if losses else None, good if hits else None, np.ones(len(index)), predictions)

    def _per_position(self, index: Sequence[int], logits: Tensor, losses: bool, hits: bool) -> "Verdict":
        right = pad([self.labels[i] for i in index], IGNORED, logits.device)
        asked = right != IGNORED
        rows = asked.nonzero()[:, 0]
        scores = logits[:, : right.shape[1]][asked].float()
        self._check(scores, index, rows)
        found = scores.argmax(-1)

        def summed(answers: Tensor) -> Tensor:
            return torch.zeros(len(index), device=logits.device).index_add_(0, rows, answers)

        lost = summed(functional.cross_entropy(scores, right[asked], reduction="none")) if losses else None
        counts = asked.sum(1).cpu().numpy()
        return Verdict(
            lost,
            summed((found == right[asked]).float()) if hits else None,
            counts.astype(np.float64),
            np.split(found.cpu().numpy(), np.cumsum(counts)[:-1]),
        )

    def _check(self, scores: Tensor, index: Sequence[int], rows: Tensor | None = None) -> None:
        wrong = torch.isnan(scores.detach()).flatten(1).any(1)
        if wrong.any():
            row = int(wrong.nonzero()[0, 0])
            row = row if rows is None else int(rows[row])
            raise InputError(
                f"the model's answer to text {index[row]} is not a number (NaN): check its weights and dtype"
            )


@contextmanager
def padding_known(model: Any) -> Iterator[None]:
    """Decoders with a classifier read the last token that is no padding; tell them what padding is, for a while."""
    config = model.model.config
    config = config.get_text_config() if hasattr(config, "get_text_config") else config
    if "decoder" not in model.kinds or getattr(config, "pad_token_id", None) is not None:
        yield
        return
    config.pad_token_id = model.pad_id
    try:
        yield
    finally:
        config.pad_token_id = None


def predictions_of(outcomes: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Predictions or labels of several examples as one array, [answers] or [examples, classes]."""
    return np.concatenate(list(outcomes))
