"""From scores of candidates to heads: each word's best on its own, or the best tree."""

import numpy as np
import torch
from numpy.typing import NDArray

from headwidgets.probing.probe.scorers import Batch

Wholes = NDArray[np.int64]


def heads_of(scores: torch.Tensor, batch: Batch, *, tree: bool) -> list[Wholes]:
    """Predicted heads of a batch.

    Args:
        scores: [sentences, words, 1 + words], not masked.
        batch: The sentences.
        tree: The best tree with one root, else each word's best candidate.

    Returns:
        Per sentence int64 [words]: 0 the root, 1 + position a word.
    """
    likely = torch.log_softmax(scores.masked_fill(~batch.allowed, -1e9).double(), -1).cpu().numpy()
    found = []
    for row, words in enumerate(batch.lengths.tolist()):
        own = likely[row, :words, : words + 1]
        found.append(best_tree(own) if tree else own.argmax(-1))
    return found


def best_tree(scores: NDArray[np.float64]) -> Wholes:
    """The tree of largest sum in which exactly one word hangs on the root.

    Chu and Liu 1965, Edmonds 1967. One root: every edge from the root costs more than all other edges together could
    gain, so the best tree has as few of them as there can be, which is one.

    Args:
        scores: [words, 1 + words] of dependent and head, the root first; a word is never its own head.

    Returns:
        int64 [words]: 0 the root, 1 + position a word.
    """
    words = len(scores)
    square = np.full((words + 1, words + 1), -np.inf)
    square[1:] = np.maximum(scores, -1e6)
    np.fill_diagonal(square, -np.inf)
    finite = square[1:][np.isfinite(square[1:])]
    square[1:, 0] -= (np.ptp(finite) + 1) * words
    found = _arborescence(square)
    return found[1:]


def _arborescence(scores: NDArray[np.float64]) -> Wholes:
    """Best head of every node but 0, which is the root; scores [dependent, head]."""
    heads: Wholes = scores.argmax(1)
    heads[0] = -1
    circle = _circle(heads)
    if circle is None:
        return heads
    inside = np.zeros(len(scores), dtype=bool)
    inside[circle] = True
    outside = np.flatnonzero(~inside)
    members = np.flatnonzero(inside)
    new = len(outside)  # the circle as one node
    small = np.full((new + 1, new + 1), -np.inf)
    small[:new, :new] = scores[np.ix_(outside, outside)]
    out = scores[np.ix_(outside, members)]
    small[:new, new] = out.max(1)
    into = scores[np.ix_(members, outside)] - scores[members, heads[members]][:, None]
    small[new, :new] = into.max(0)
    solved = _arborescence(small)
    found = heads.copy()
    for place, node in enumerate(outside):
        head = solved[place]
        if head >= 0:
            found[node] = members[out[place].argmax()] if head == new else outside[head]
    enters = into[:, solved[new]].argmax()
    found[members[enters]] = outside[solved[new]]
    return found


def _circle(heads: Wholes) -> list[int] | None:
    """Nodes of a circle, or None."""
    state = np.zeros(len(heads), dtype=np.int8)  # 1 on this walk, 2 done
    for start in range(1, len(heads)):
        walk = []
        node = start
        while node > 0 and state[node] == 0:
            state[node] = 1
            walk.append(node)
            node = int(heads[node])
        if node > 0 and state[node] == 1:
            return walk[walk.index(node) :]
        state[walk] = 2
    return None
