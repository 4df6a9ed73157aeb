"""`Probe`: a small parser that was trained on the maps of a frozen model, with its controls."""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from torch import nn

from headwidgets.citations import bibtex
from headwidgets.errors import InputError
from headwidgets.jobs import Cancel, Progress, blocking
from headwidgets.models.model import HeadModel, expect_model
from headwidgets.probing.probe.evaluation import ProbeEvaluation
from headwidgets.probing.probe.features import Embeddings, Lens
from headwidgets.probing.probe.learning import Reads
from headwidgets.probing.probe.scorers import parameters_of
from headwidgets.scores import Head, HeadScores
from headwidgets.text.treebank import Sentence, Treebank
from headwidgets.wire.documents import Provenance

Features = Literal["attention", "attention+embeddings"]
FEATURES: tuple[Features, ...] = ("attention", "attention+embeddings")
RANDOM = "random weights"
CONTROL_TASK = "control task"


@dataclass(frozen=True, eq=False)
class Member:
    """One trained scorer.

    Attributes:
        seed: Of its first numbers and its order of sentences; for random weights also of the weights.
        reads: What its maps are.
        module: The scorer.
    """

    seed: int
    reads: Reads
    module: nn.Module = field(repr=False)


@dataclass(frozen=True, eq=False)
class Probe:
    """A parser over frozen heads: which word each word hangs on, from attention alone or from attention and words.

    Attributes:
        features: ``attention`` or ``attention+embeddings``.
        heads: The heads that it reads.
        members: By name of the probe and of each control that is learned, one scorer per seed; the probe first.
        lens: From raw word vectors to what scorers see; None without word vectors.
        vectors: Name of the word vectors.
        offsets: By relation the best fixed offset on the training set; under the empty name that of all words.
        subtypes: Whether relations keep their subtypes (``nsubj:pass``).
        limit: Sentences of more words are left out; None for no limit.
        trained_on: Sentences and words.
        marks: A digest of every sentence trained on, to see whether evaluation meets one again.
        notes: What was left out of the training set.
        fingerprint: Of the model.
        provenance: How it was trained.
    """

    features: Features
    heads: tuple[Head, ...]
    members: dict[str, tuple[Member, ...]]
    lens: Lens | None
    vectors: str
    offsets: dict[str, int]
    subtypes: bool
    limit: int | None
    trained_on: tuple[int, int]
    marks: frozenset[str] = field(repr=False)
    notes: tuple[str, ...]
    fingerprint: str | None
    provenance: Provenance | None = field(repr=False)
    _model: list[Any] = field(default_factory=list, repr=False)
    """The model and the embeddings it was trained with; empty for a probe that was read from a file."""

    @property
    def name(self) -> str:
        """Of the probe among its controls."""
        return next(iter(self.members))

    @property
    def parameters(self) -> dict[str, int]:
        """Numbers that were learned, by name of the probe and its controls."""
        return {name: parameters_of(members[0].module) for name, members in self.members.items()}

    def __str__(self) -> str:
        controls = ", ".join(list(self.members)[1:]) or "none"
        seeds = len(self.members[self.name])
        return (
            f"Probe({self.name} of {len(self.heads)} heads, {self.parameters[self.name]} numbers learned from "
            f"{self.trained_on[0]} sentences, {seeds} {'seed' if seeds == 1 else 'seeds'}; controls: {controls})"
        )

    __repr__ = __str__

    def weights(self) -> HeadScores:
        """How much the probe leans on each head: the length of all numbers that it learned for the head's attention
        between words, mean over seeds, with its standard error over them.

        A head that hardly attends to words at all may have large numbers and move nothing, and heads that say the same
        share theirs: this says where the probe looks, not what each head knows.
        """
        members = self.members[self.name]
        lengths = np.stack([_lengths(member.module) for member in members])
        shape = (1 + max(h.layer for h in self.heads), 1 + max(h.index for h in self.heads))
        values, errors = np.full(shape, np.nan), np.full(shape, np.nan)
        for channel, head in enumerate(self.heads):
            values[head.layer, head.index] = lengths[:, channel].mean()
            if len(members) > 1:
                errors[head.layer, head.index] = lengths[:, channel].std(ddof=1) / np.sqrt(len(members))
        kind = self.heads[0].kind
        return HeadScores(
            {kind: values},
            stderr={kind: errors} if len(members) > 1 else None,
            n=self.trained_on[0],
            name="weight in the probe",
            provenance=self.provenance,
            fingerprint=self.fingerprint,
        )

    def evaluate(
        self,
        treebank: Treebank,
        *,
        model: HeadModel | None = None,
        embeddings: Embeddings = None,
        tree: bool = False,
        controls: bool = True,
        trees: int = 20,
        seed: int = 0,
        on_progress: Progress | None = None,
        cancel: Cancel | None = None,
    ) -> ProbeEvaluation:
        """Unlabelled attachment scores of the probe and its controls.

        Args:
            treebank: Other sentences than those it was trained on.
            model: The model whose heads are read; by default the one it was trained with. A probe that was read from a
                file needs it.
            embeddings: The word vectors given in training, for a probe that was read from a file.
            tree: Predict the best tree with one root, instead of each word's best head.
            controls: Evaluate the controls too.
            trees: Sentences kept for a picture.
            seed: Of their draw.
            on_progress: Called with sentences done and sentences in all.
            cancel: Says whether to stop.

        Raises:
            InputError: no tree in the treebank, or a model or word vectors that do not fit.
            Cancelled: told to stop.
        """
        from headwidgets.probing.probe.evaluating import evaluate

        return blocking(evaluate)(
            self, treebank, *self.ready(model, embeddings), tree=tree, controls=controls, trees=trees, seed=seed,
            on_progress=on_progress, cancel=cancel,
        )  # fmt: skip

    def predict(
        self,
        sentences: Treebank | Iterable[Sentence],
        *,
        model: HeadModel | None = None,
        embeddings: Embeddings = None,
        tree: bool = True,
    ) -> list[NDArray[np.int64] | None]:
        """Heads of the words of sentences, which need no trees, by the first seed.

        Args:
            sentences: A treebank, or sentences of one.
            model: As in `evaluate`.
            embeddings: As in `evaluate`.
            tree: The best tree with one root, else each word's best head.

        Returns:
            Per sentence int64 [words], positions from 0, -1 for the root; None where the model cannot read it.
        """
        from headwidgets.probing.probe.evaluating import predict

        if isinstance(sentences, (str, bytes)) or not isinstance(sentences, Iterable):
            raise InputError(f"expected a Treebank or its sentences, got {type(sentences).__name__}")
        return predict(self, list(sentences), *self.ready(model, embeddings), tree=tree)

    def ready(self, model: HeadModel | None, embeddings: Embeddings) -> tuple[HeadModel, Embeddings]:
        """The model and the word vectors to use.

        Raises:
            InputError: a model is missing, has other heads or other weights; word vectors are missing.
        """
        own, given = self._model if self._model else (None, None)
        model = own if model is None else model
        if model is None:
            raise InputError("a probe that was read from a file needs the model: probe.evaluate(treebank, model=model)")
        expect_model(model)
        if self.fingerprint is not None and model.fingerprint != self.fingerprint:
            raise InputError(
                f"the probe was trained on another model than {model.name}: its weights differ, so its heads mean "
                "something else; train a probe on this one"
            )
        embeddings = given if embeddings is None else embeddings
        if self.lens is not None and embeddings is None and self.vectors != "input embeddings":
            raise InputError(
                f"the probe reads word vectors of its own ({self.vectors}), which its file does not hold: "
                "probe.evaluate(treebank, model=model, embeddings=...)"
            )
        return model, embeddings

    def save(self, path: str | Path) -> Path:
        """Write a ``.heads`` file, which `headwidgets.read` reads; the model and given word vectors are not in it.

        Returns:
            The path written.
        """
        from headwidgets.files import write
        from headwidgets.probing.probe.stored import document

        return write(path, document(self))

    def cite(self) -> str:
        """BibTeX of the papers behind it."""
        return bibtex(["probe"])


def _lengths(module: nn.Module) -> NDArray[np.float64]:
    """Per channel the length of what a `MapScorer` learned for attention between words, [channels]."""
    numbers = module.state_dict()
    total = numbers["plain"].double().square().sum(0)
    for key in ("as_head", "as_dependent"):
        total += numbers[key].double().square().sum((0, 2))
    found: NDArray[np.float64] = total.sqrt().numpy()
    return found


def mark(sentence: Sentence) -> str:
    """A short digest of a sentence's words, to see whether it was trained on without keeping it."""
    words = "\x00".join(word.form for word in sentence.words)
    return hashlib.sha256(words.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def with_trees(treebank: Any, what: str) -> list[Sentence]:
    """The sentences that have a tree.

    Raises:
        InputError: no treebank, or none of its sentences has a tree.
    """
    if not isinstance(treebank, Treebank):
        raise InputError(
            f"expected {what} as a Treebank, got {type(treebank).__name__}: read one with "
            "Treebank.read('x.conllu'), or parse texts with Treebank.parse(texts, pipeline)"
        )
    found = [s for s in treebank.sentences if s.words and any(word.head is not None for word in s.words)]
    if not found:
        raise InputError(f"expected {what} with trees, got {len(treebank)} sentences without any")
    return found


def placed_apart(sentences: Sequence[Sentence], total: int) -> list[str]:
    """What was left out because it has no tree, in sentences."""
    out = total - len(sentences)
    return [f"{out} of {total} sentences were left out: no tree."] if out else []
