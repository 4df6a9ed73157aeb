"""How good is each word, or the root, as the head of a word? Formulas with few numbers, over maps and word vectors."""

import math

import torch
from torch import Tensor, nn

from headwidgets.probing.probe.wordmaps import MARKS


class Batch:
    """Sentences for a scorer, padded.

    Attributes:
        rows: Maps float32 [sentences, 2 + words, channels, 2 + words]; rows attend to columns, the first two are marks.
        columns: The same with rows and columns exchanged.
        vectors: Of the words, float32 [sentences, words, width]; width 0 for none.
        allowed: Candidates, bool [sentences, words, 1 + words]: the root first, never the word itself, no padding.
        lengths: Words, int64 [sentences].
    """

    def __init__(self, maps: list[Tensor], vectors: list[Tensor]) -> None:
        """Pad.

        Args:
            maps: Per sentence [2 + words, channels, 2 + words].
            vectors: Per sentence [words, width].
        """
        sizes = [len(own) for own in vectors]
        most, count = max(sizes), len(sizes)
        self.rows = torch.zeros(count, most + MARKS, maps[0].shape[1], most + MARKS)
        self.vectors = torch.zeros(count, most, vectors[0].shape[1])
        for row, (own, vector) in enumerate(zip(maps, vectors, strict=True)):
            self.rows[row, : len(own), :, : len(own)] = own
            self.vectors[row, : len(vector)] = vector
        self.columns = self.rows.transpose(1, 3).contiguous()
        self.lengths = torch.tensor(sizes)
        there = torch.arange(most) < self.lengths[:, None]
        self.allowed = torch.cat([there[..., None], there[:, :, None] & there[:, None] & ~torch.eye(most).bool()], -1)


class MapScorer(nn.Module):
    """The probe of Clark et al. 2019, section 5, with a root of its own.

    With candidate i, dependent j and head k of the model, a_jik the attention from j to i and v the word vectors,

        score(i | j) = sum over k of  W_k . (v_i, v_j, 1) a_jik  +  U_k . (v_i, v_j, 1) a_ijk

    where without word vectors only the 1 is left. The paper gives the root the attention to [CLS] and [SEP]; its code
    pairs every candidate with the vector of the next word, since the root stands first among the maps and last among
    the vectors. Here the root has numbers of its own:

        score(root | j) = c + r . v_j + sum over k of  the attention from j to the special tokens in front of and
        behind the text, and from those to j, each times a number of its own
    """

    def __init__(self, channels: int, width: int) -> None:
        super().__init__()
        self.channels, self.width = channels, width
        self.plain = nn.Parameter(torch.zeros(2, channels))  # w, u
        self.as_head = nn.Parameter(torch.zeros(2, channels, width))  # what v_i adds to w, u
        self.as_dependent = nn.Parameter(torch.zeros(2, channels, width))  # what v_j adds
        self.marks = nn.Parameter(torch.zeros(4, channels))
        self.root = nn.Parameter(torch.zeros(1))
        self.root_word = nn.Parameter(torch.zeros(width))

    def start(self, generator: torch.Generator) -> None:
        """Small random numbers to begin with."""
        with torch.no_grad():
            for parameter in (self.plain, self.marks, self.as_head, self.as_dependent):
                parameter.normal_(0, 0.01 / math.sqrt(max(1, self.width)), generator=generator)

    def forward(self, batch: Batch) -> Tensor:
        """Scores [sentences, words, 1 + words], the root first; not yet masked."""
        words = batch.rows[:, MARKS:, :, MARKS:], batch.columns[:, MARKS:, :, MARKS:]
        inner = batch.vectors.shape[:2]
        # What a row's (a column's) own word says about each channel: as the dependent, and as the head.
        depends, heads = [], []
        for side in (0, 1):
            own = self.plain[side].expand(*inner, -1)
            other = None
            if self.width:
                own = own + batch.vectors @ self.as_dependent[side].T
                other = batch.vectors @ self.as_head[side].T
            depends.append(own)
            heads.append(other)
        if self.width:
            # rows are dependents for W and candidates for U; columns the other way round
            by_row = torch.stack([depends[0], heads[1]], 2) @ words[0]  # type: ignore[list-item]
            by_column = torch.stack([depends[1], heads[0]], 2) @ words[1]  # type: ignore[list-item]
            both = by_row + by_column
            among = both[:, :, 0] + both[:, :, 1].transpose(1, 2)
        else:
            among = (depends[0][:, :, None] @ words[0] + depends[1][:, :, None] @ words[1])[:, :, 0]
        to_marks = torch.einsum("bjkm,mk->bj", batch.rows[:, MARKS:, :, :MARKS], self.marks[:2])
        from_marks = torch.einsum("bjkm,mk->bj", batch.columns[:, MARKS:, :, :MARKS], self.marks[2:])
        root = self.root + to_marks + from_marks + batch.vectors @ self.root_word
        return torch.cat([root[..., None], among], -1)


class PairScorer(nn.Module):
    """A hidden layer over two word vectors and their distance, without any map [Clark et al. 2019, section 5].

    The hidden layer sees v_i, v_j and a number for each distance (those from `FARTHEST` on share one) and direction.
    The root is a candidate with a vector of its own that is learned.
    """

    FARTHEST = 32

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.width, self.hidden = width, hidden
        self.head = nn.Parameter(torch.zeros(hidden, width))
        self.dependent = nn.Parameter(torch.zeros(hidden, width))
        self.distance = nn.Parameter(torch.zeros(2 * self.FARTHEST + 1, hidden))
        self.root = nn.Parameter(torch.zeros(hidden))
        self.out = nn.Parameter(torch.zeros(hidden))

    @classmethod
    def of_size(cls, width: int, parameters: int) -> "PairScorer":
        """One with about as many numbers to learn."""
        fixed, each = parameters_of(cls(width, 0)), parameters_of(cls(width, 1)) - parameters_of(cls(width, 0))
        return cls(width, max(1, round((parameters - fixed) / each)))

    def start(self, generator: torch.Generator) -> None:
        """Small random numbers to begin with."""
        with torch.no_grad():
            for parameter in self.parameters():
                parameter.normal_(0, 1 / math.sqrt(parameter.shape[-1]), generator=generator)

    def forward(self, batch: Batch) -> Tensor:
        """Scores [sentences, words, 1 + words], the root first."""
        n = batch.vectors.shape[1]
        far = self.FARTHEST
        offset = (torch.arange(n) - torch.arange(n)[:, None]).clamp(-far, far) + far
        own = batch.vectors @ self.dependent.T
        pairs = own[:, :, None] + (batch.vectors @ self.head.T)[:, None] + self.distance[offset]
        everything = torch.cat([(own + self.root)[:, :, None], pairs], 2)
        return torch.tanh(everything) @ self.out


def parameters_of(module: nn.Module) -> int:
    """Numbers that are learned."""
    return sum(p.numel() for p in module.parameters())
