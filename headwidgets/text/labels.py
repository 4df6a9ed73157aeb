"""What is right? Labels of texts, as the numbers that losses and metrics need."""

import math
from collections.abc import Iterable, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from headwidgets.errors import InputError
from headwidgets.text.examples import Example, Side

LabelKind = Literal["classes", "values", "several", "words", "references", "none"]
"""What a model's loss needs: a class per text, a number per text, several classes per text, a class per word,
reference strings, or nothing (language models)."""

IGNORED = -100
"""Label of positions that no loss looks at; what PyTorch's cross entropy ignores by default."""

_COLUMNS = ("label", "labels", "ner_tags", "pos_tags", "tags", "upos")


def label_kind(model: Any) -> LabelKind:
    """Which labels a HeadModel (or a bare transformers model) is measured against.

    Read from the class of the model (``...ForSequenceClassification``) and its configuration (``problem_type``,
    ``num_labels``).
    """
    bare = getattr(model, "model", model)
    config = bare.config
    name = type(bare).__name__
    if name.endswith("TokenClassification"):
        return "words"
    if name.endswith(("SequenceClassification", "MultipleChoice")):
        problem = getattr(config, "problem_type", None)
        if problem == "multi_label_classification":
            return "several"
        if problem == "regression" or (problem is None and config.num_labels == 1):
            return "values"
        return "classes"
    return "references" if getattr(config, "is_encoder_decoder", False) else "none"


def class_names(config: Any) -> list[str]:
    """Names of the classes by index, as the configuration's ``id2label`` has them.

    Raises:
        InputError: the configuration names no classes.
    """
    names = getattr(config, "id2label", None) or {}
    if not names:
        raise InputError("the model's configuration names no classes (id2label); wrap a model with a classifier")
    return [str(names[key]) for key in sorted(names, key=int)]


def class_index(label: Any, names: Sequence[str], where: str = "the label") -> int:
    """One class index or name as an index.

    Args:
        label: A class index (whole number from 0) or a class name; names match exactly, else without case.
        names: Names of the classes by index.
        where: How to call the label in an error.

    Raises:
        InputError: unknown; the sentence lists the known ones.
    """
    known = f"the model knows {_listed(names)}"
    if isinstance(label, str):
        if label in names:
            return list(names).index(label)
        folded = [i for i, name in enumerate(names) if name.casefold() == label.casefold()]
        if len(folded) != 1:
            raise InputError(f"{where} is {label!r}, which is no class of this model: {known}")
        return folded[0]
    number = label.item() if hasattr(label, "item") and getattr(label, "ndim", 0) == 0 else label
    whole = isinstance(number, int) or (isinstance(number, float) and number.is_integer())
    if not whole:
        raise InputError(f"{where} is {label!r}: expected a class index (whole number) or a class name; {known}")
    if not 0 <= number < len(names):
        raise InputError(f"{where} is {int(number)}, but the classes are numbered 0 to {len(names) - 1}: {known}")
    return int(number)


def class_indices(labels: Any, n_texts: int, config: Any) -> NDArray[np.int64]:
    """Class indices of texts, int64 [texts], from indices or names.

    Args:
        labels: One class index or name per text (list, array, tensor); a single one for a single text.
        n_texts: How many texts there are.
        config: The model's configuration (its ``id2label`` names the classes).

    Raises:
        InputError: None, the wrong number, or a label that the model does not know.
    """
    names = class_names(config)
    listed = _listed_labels(labels, n_texts)
    return np.array([class_index(label, names, f"label {i}") for i, label in enumerate(listed)], dtype=np.int64)


def values(labels: Any, n_texts: int) -> NDArray[np.float64]:
    """Numbers to be predicted, float64 [texts] (regression).

    Raises:
        InputError: None, the wrong number, or a label that is no finite number.
    """
    out = np.empty(n_texts)
    for i, label in enumerate(_listed_labels(labels, n_texts)):
        try:
            out[i] = float(label)
        except (TypeError, ValueError):
            out[i] = math.nan
        if isinstance(label, str) or not math.isfinite(out[i]):
            raise InputError(f"label {i} is {label!r}: this model predicts a number, so expected a finite number")
    return out


def several_classes(labels: Any, n_texts: int, config: Any) -> NDArray[np.float32]:
    """0 or 1 per text and class, float32 [texts, classes] (multi-label classification).

    Args:
        labels: Per text, a list of class indices or names; or an array [texts, classes] of zeros and ones.
        n_texts: How many texts there are.
        config: The model's configuration.

    Raises:
        InputError: None, the wrong number or shape, or a label that the model does not know.
    """
    names = class_names(config)
    out = np.zeros((n_texts, len(names)), dtype=np.float32)
    if getattr(labels, "ndim", 1) == 2:
        array = np.asarray(labels)
        if array.shape != out.shape or not np.isin(array, (0, 1)).all():
            raise InputError(
                f"expected labels as zeros and ones of shape [texts, classes] = {list(out.shape)}, got "
                f"{list(array.shape)}"
            )
        return array.astype(np.float32)
    for i, own in enumerate(_listed_labels(labels, n_texts)):
        for label in [own] if isinstance(own, str) or not isinstance(own, Iterable) else own:
            out[i, class_index(label, names, f"label {i}")] = 1
    return out


def word_classes(labels: Any, examples: Sequence[Example], config: Any) -> list[NDArray[np.int64]]:
    """Per text, a class index per token, int64 [tokens]: the first token of each word carries the word's label.

    Other tokens and special ones are `IGNORED`, as in the token-classification examples of transformers. Words
    are those the user gave, else those of the source text (`Side.words`).

    Args:
        labels: Per text, one class index or name per word.
        examples: The encoded texts.
        config: The model's configuration.

    Raises:
        InputError: None, the wrong number of texts or words, or a label that the model does not know.
    """
    names = class_names(config)
    listed = _listed_labels(labels, len(examples))
    out: list[NDArray[np.int64]] = []
    for i, (own, example) in enumerate(zip(listed, examples, strict=True)):
        if isinstance(own, str) or not isinstance(own, Iterable):
            raise InputError(
                f"labels of text {i}: this model labels words, so expected a list with one per word, got {own!r}"
            )
        given = list(own)
        n_words = word_count(example.source)
        if len(given) != n_words:
            raise InputError(f"labels of text {i}: expected one per word, {n_words} in all, got {len(given)}")
        classes = [class_index(label, names, f"label {w} of text {i}") for w, label in enumerate(given)]
        out.append(_on_first_tokens(example.source, classes))
    return out


def word_count(side: Side) -> int:
    """Words of the first segment of a side; the user's own where given, also those that got no token."""
    if side.spans:
        return len(side.spans[0])
    numbers = [w for w, s in zip(side.words, side.segments, strict=True) if w is not None and s == 0]
    return max(numbers) + 1 if numbers else 0


def _on_first_tokens(side: Side, classes: Sequence[int]) -> NDArray[np.int64]:
    out = np.full(len(side), IGNORED, dtype=np.int64)
    seen: set[int] = set()
    for position, word in enumerate(side.words):
        if word is not None and side.segments[position] == 0 and word not in seen:
            seen.add(word)
            out[position] = classes[word]
    return out


def references(labels: Any, n_texts: int) -> list[str]:
    """Reference strings of texts (encoder-decoders).

    Raises:
        InputError: None, the wrong number, or a reference that is no text.
    """
    listed = _listed_labels(labels, n_texts)
    for i, label in enumerate(listed):
        if not isinstance(label, str) or not label.strip():
            raise InputError(f"label {i} is {label!r}: this model writes text, so expected a reference string")
    return listed


def as_labels(labels: Any, n_texts: int, model: Any, examples: Sequence[Example] | None = None) -> Any:
    """Labels in the form that the model's loss needs (see `label_kind`).

    Args:
        labels: What the user gave; None where the loss needs none.
        n_texts: How many texts there are.
        model: A HeadModel.
        examples: The encoded texts, needed for labels per word.

    Returns:
        ``classes`` int64 [texts]; ``values`` float64 [texts]; ``several`` float32 [texts, classes]; ``words`` a
        list of int64 [tokens]; ``references`` a list of str, or None where the targets came with the texts; None
        for language models and base models.

    Raises:
        InputError: what does not fit, and what was expected.
    """
    kind = label_kind(model)
    config = model.model.config
    if kind == "classes":
        return class_indices(labels, n_texts, config)
    if kind == "values":
        return values(labels, n_texts)
    if kind == "several":
        return several_classes(labels, n_texts, config)
    if kind == "words":
        if examples is None:
            raise InputError("labels per word need the encoded texts: give examples=")
        return word_classes(labels, examples, config)
    if labels is None:
        return None
    if kind == "references":
        return references(labels, n_texts)
    name = type(getattr(model, "model", model)).__name__
    if not _predicts_tokens(getattr(model, "model", model)):
        raise InputError(
            f"{name} has no head that predicts anything, so nothing can be right or wrong; load the model with "
            "task='sequence-classification' or another task"
        )
    raise InputError(f"{name} needs no labels (its loss is over the texts themselves); leave labels out")


def _predicts_tokens(bare: Any) -> bool:
    try:
        return bare.get_output_embeddings() is not None
    except (AttributeError, NotImplementedError):
        return False


def labels_from(texts: Any, labels: Any = None, config: Any = None) -> Any:
    """Labels of a `datasets.Dataset`: a named column, or the usual one; anything else is returned as it came.

    Class labels of a dataset whose names the model knows become names, since the two may number them differently
    (MNLI's entailment is 0 in the dataset and 2 in some models).

    Args:
        texts: What the user gave as texts.
        labels: None, the name of a column of `texts`, labels, or a dataset with a column of labels.
        config: The model's configuration, for class names.

    Raises:
        InputError: a column that is not there.
    """
    columns = getattr(texts, "column_names", None)
    if getattr(labels, "column_names", None) is not None:
        return labels_from(labels, None, config)
    if columns is None or not (labels is None or (isinstance(labels, str) and labels in columns)):
        return labels
    column = labels or next((name for name in _COLUMNS if name in columns), None)
    if column is None:
        return None
    found = list(texts[column])
    feature = (getattr(texts, "features", None) or {}).get(column)
    feature = getattr(feature, "feature", feature)
    names = getattr(feature, "names", None)
    known = {str(name).casefold() for name in (getattr(config, "id2label", None) or {}).values()}
    if names and {name.casefold() for name in names} <= known:
        return [_named(label, names) for label in found]
    return found


def _named(label: Any, names: Sequence[str]) -> Any:
    if isinstance(label, (list, tuple, np.ndarray)):
        return [_named(item, names) for item in label]
    return names[int(label)] if isinstance(label, (int, np.integer)) and 0 <= label < len(names) else label


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(f"{i} = {name!r}" for i, name in enumerate(names[:20]))
    return shown + (f" and {len(names) - 20} more" if len(names) > 20 else "")


def _listed_labels(labels: Any, n_texts: int) -> list[Any]:
    if labels is None:
        raise InputError(f"expected one label per text, {n_texts} in all, got None; give labels=")
    if isinstance(labels, (str, bytes)) or not isinstance(labels, Iterable) or getattr(labels, "ndim", 1) == 0:
        labels = [labels]
    listed = list(labels)
    if len(listed) != n_texts:
        raise InputError(f"expected one label per text, {n_texts} in all, got {len(listed)}")
    for i, label in enumerate(listed):
        if label is None:
            raise InputError(f"label {i} is None: expected a label for every text")
    return listed
