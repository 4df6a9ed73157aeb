"""The output of one text again and again, each time with other heads or links switched off; many in one pass."""

from collections.abc import Callable, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headwidgets.attribution import targets
from headwidgets.attribution.integration.passes import forward_keywords
from headwidgets.attribution.result import Attribution
from headwidgets.attribution.targets import Goal, Task
from headwidgets.errors import Cancelled, InputError
from headwidgets.jobs import Cancel
from headwidgets.models.maps import MapHandler
from headwidgets.models.memory import halving
from headwidgets.models.model import HeadModel
from headwidgets.models.sites import Site
from headwidgets.models.visit import OutputHandler, visit
from headwidgets.text.examples import Example, collate
from headwidgets.text.tokens import pieces

Floats = NDArray[np.float64]
Keys = NDArray[np.int64]
_TOKENS = {"cpu": 2048, "mps": 8192, "cuda": 65536}
"""Positions per pass at most."""


def goal_of(found: Attribution) -> Goal:
    """What an attribution read, as a goal of its own (predictions are filled in, so goals must not be shared)."""
    n = max(1, len(found.positions))
    ids = [int(i) for i in found.target_ids]
    return Goal(list(found.positions), ids[:n], ids[n:] or None, found.target)


def example_of(model: HeadModel, found: Attribution) -> Example:
    """The text of an attribution, encoded anew.

    Raises:
        InputError: the attribution is of another model, or over words.
    """
    if not isinstance(found, Attribution):
        raise InputError(f"expected an Attribution from hw.attribution.attribute, got {type(found).__name__}")
    if found.word_level:
        raise InputError("this attribution is over words; pass the one over tokens, from which .words() was made")
    if found.fingerprint not in (None, model.fingerprint):
        raise InputError("the attribution was made with another model (or other weights); attribute this one anew")
    [example] = model.encode([found.text])
    for kind in found.kinds:
        side = example.source if example.target is None or kind != "decoder" else example.target
        if pieces(side, model.tokenizer) != found.tokens[kind][1]:
            raise InputError(
                f"the {kind} tokens of the attribution are not those that this model makes of its text; attribute anew"
            )
    return example


class Replay:
    """One text whose output F is read under changes. Within `passes.held`."""

    def __init__(
        self, model: HeadModel, example: Example, goal: Goal, task: Task, output: str, cancel: Cancel | None
    ) -> None:
        self.model = model
        self.example = example
        self.reader = targets.reader(model, task, output, [goal])
        self.keywords = forward_keywords(model, self.reader, len(example.source))
        self._cancel = cancel
        self.notes: list[str] = []

    def values(
        self,
        rows: int,
        *,
        attention: Callable[[Sequence[int]], dict[Site, MapHandler]] | None = None,
        outputs: Callable[[Sequence[int]], dict[Site, OutputHandler]] | None = None,
    ) -> Floats:
        """F of `rows` copies of the text, float64 [rows].

        Args:
            rows: How many.
            attention: Of some rows' numbers, handlers of their maps [those rows, heads, query, key].
            outputs: Of some rows' numbers, handlers of their heads' outputs.

        Raises:
            Cancelled: told to stop.
            MemoryLimitError: not even one row fits.
        """
        device = self.model.device

        def work(some: Sequence[int]) -> Tensor:
            if self._cancel is not None and self._cancel():
                raise Cancelled("the checks were cancelled")
            batch = collate([self.example] * len(some), range(len(some)), self.model.pad_id, device)
            with (
                torch.no_grad(),
                visit(
                    self.model,
                    attention=attention(some) if attention is not None else None,
                    outputs=outputs(some) if outputs is not None else None,
                    evaluation=False,
                    innermost=True,
                ),
            ):
                result = self.model.forward(batch, **self.keywords)
                return self.reader.values(result, torch.zeros(len(some), dtype=torch.long, device=device))

        chunk = max(1, _TOKENS.get(device.type, _TOKENS["cpu"]) // len(self.example))
        found = halving(work, range(rows), chunk=chunk, device=device, notes=self.notes, what="copies of the text")
        return np.asarray(torch.cat(found).double().cpu().numpy())

    def without_links(self, cuts: Sequence[tuple[Site, Keys, Keys, Keys, Keys]], rows: int) -> Floats:
        """F with links cut, float64 [rows].

        Args:
            cuts: By site, four arrays of like length: row, head, query and key of every link that is cut.
            rows: How many; one without a link of its own is the unchanged text.
        """

        def handlers(some: Sequence[int]) -> dict[Site, MapHandler]:
            first, last = some[0], some[-1]
            found: dict[Site, MapHandler] = {}
            for site, row, *links in cuts:
                inside = (row >= first) & (row <= last)
                if inside.any():
                    found[site] = _cutting([row[inside] - first, *(one[inside] for one in links)])
            return found

        return self.values(rows, attention=handlers)

    def without_heads(self, sites: Sequence[Site]) -> Floats:
        """F with every head of the sites closed in turn, and last of all with none, float64 [heads + 1]."""
        heads = [(site, index) for site in sites for index in range(site.n_heads)]

        def handlers(some: Sequence[int]) -> dict[Site, OutputHandler]:
            found: dict[Site, OutputHandler] = {}
            for site in sites:
                own = [(at, heads[n][1]) for at, n in enumerate(some) if n < len(heads) and heads[n][0] is site]
                if own:
                    found[site] = _closing(own)
            return found

        return self.values(len(heads) + 1, outputs=handlers)


def _cutting(places: Sequence[Keys]) -> MapHandler:
    def cut(weights: Tensor) -> Tensor:
        left = weights.clone()
        left[tuple(torch.as_tensor(one, device=weights.device) for one in places)] = 0
        return left

    return cut


def _closing(places: list[tuple[int, int]]) -> OutputHandler:
    rows, heads = zip(*places, strict=True)

    def close(outputs: Tensor) -> Tensor:
        left = outputs.clone()
        left[list(rows), :, list(heads)] = 0
        return left

    return close
