"""What words alone can tell: logistic regression on counts of words, to which the demo's classifier is compared."""

import re
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from headwidgets.demo.grammar import LABELS, Sentence

_WORD = re.compile(r"\w+")


def _counts(data: Sequence[Sentence], vocabulary: dict[str, int]) -> npt.NDArray[np.float64]:
    """Counts of known words `[sentences, words + 1]`; the last column is one."""
    counts = np.zeros((len(data), len(vocabulary) + 1))
    counts[:, -1] = 1
    for row, sentence in enumerate(data):
        for word in _WORD.findall(sentence.text.lower()):
            if word in vocabulary:
                counts[row, vocabulary[word]] += 1
    return counts


def accuracy(train: Sequence[Sentence], test: Sequence[Sentence], penalty: float = 1.0, steps: int = 30) -> float:
    """Train logistic regression on the counts of words of one set and test it on another.

    Args:
        train: Sentences to learn from; their words are the vocabulary.
        test: Sentences to classify.
        penalty: Weight of the squared norm (one half of it), as the inverse of scikit-learn's `C`.
        steps: At most so many steps of Newton's method, which stops when nothing changes.

    Returns:
        The share of `test` that is classified rightly.
    """
    words = sorted({word for sentence in train for word in _WORD.findall(sentence.text.lower())})
    vocabulary = {word: column for column, word in enumerate(words)}
    inputs = _counts(train, vocabulary)
    targets = np.array([sentence.label == LABELS[1] for sentence in train], dtype=np.float64)
    ridge = np.full(inputs.shape[1], penalty)
    ridge[-1] = 1e-9  # the constant is free
    weights = np.zeros(inputs.shape[1])
    for _ in range(steps):
        chances = 1 / (1 + np.exp(-inputs @ weights))
        gradient = inputs.T @ (chances - targets) + ridge * weights
        curvature = (inputs * (chances * (1 - chances))[:, None]).T @ inputs + np.diag(ridge)
        change = np.linalg.solve(curvature, gradient)
        weights -= change
        if np.abs(change).max() < 1e-8:
            break
    found = _counts(test, vocabulary) @ weights > 0
    return float(np.mean(found == np.array([sentence.label == LABELS[1] for sentence in test])))
