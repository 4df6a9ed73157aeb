"""What did the heads say in another run? Heads' outputs of texts, kept, averaged or laid over other texts."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from headwidgets.errors import Cancelled, InputError, UnsupportedError
from headwidgets.models.memory import check_fits
from headwidgets.models.sites import Site
from headwidgets.text.examples import Example


@dataclass(frozen=True, eq=False)
class Run:
    """Heads' outputs of some texts, before the output projection, padding left out.

    Attributes:
        outputs: By site, per text a tensor [positions, heads, head_dim].
        examples: The texts.
    """

    outputs: dict[Site, list[Tensor]]
    examples: list[Example]

    def __len__(self) -> int:
        return len(self.examples)

    def mean(self, site: Site) -> Tensor:
        """Mean over all positions of all texts, [heads, head_dim]; special tokens are positions too."""
        return torch.cat(self.outputs[site]).mean(0)


def kept_positions(site: Site, batch: Any) -> Tensor:
    """Bool [batch, query]: positions of a site's queries that are no padding."""
    mask: Tensor = batch.query_mask[site.kind]
    return mask


def record(
    model: Any,
    texts: Any,
    sites: Iterable[Site] | None = None,
    *,
    gradient: bool = False,
    cancel: Callable[[], bool] | None = None,
) -> Run:
    """Run texts and keep every head's output, to be patched into another run (`Replace`).

    Args:
        model: A HeadModel.
        texts: Texts, or examples that were encoded before.
        sites: Which sites; all by default.
        gradient: Keep the graph, so that gradients reach the recorded run.
        cancel: Says whether to stop.

    Raises:
        MemoryLimitError: the outputs would not fit.
        Cancelled: told to stop.
    """
    examples = _encoded(model, texts)
    wanted = list(model.sites if sites is None else sites)
    positions = sum(len(e) for e in examples)
    width = sum(site.n_heads * site.head_dim for site in wanted)
    check_fits(
        4.0 * positions * width,
        model.device,
        what=f"Recording {len(wanted)} sites on {positions} positions",
        instead="record fewer texts, or only the sites that you replace",
    )
    found: dict[Site, list[Tensor]] = {site: [torch.empty(0)] * len(examples) for site in wanted}

    def keep(site: Site, batch: Any, outputs: Tensor) -> None:
        for row, (place, mask) in enumerate(zip(batch.index, kept_positions(site, batch), strict=True)):
            found[site][place] = outputs[row][mask]

    _visit_all(model, examples, wanted, keep, gradient, cancel)
    return Run(found, examples)


def means(
    model: Any, texts: Any, sites: Iterable[Site] | None = None, *, cancel: Callable[[], bool] | None = None
) -> dict[Site, Tensor]:
    """By site, every head's mean output over all positions of all texts, [heads, head_dim].

    Padding is left out; special tokens count, since they are replaced too. Nothing of the texts is kept, so the
    memory does not grow with them.
    """
    examples = _encoded(model, texts)
    wanted = list(model.sites if sites is None else sites)
    sums: dict[Site, Tensor] = {}
    counts = dict.fromkeys(wanted, 0)

    def add(site: Site, batch: Any, outputs: Tensor) -> None:
        mask = kept_positions(site, batch)
        total = (outputs.double() if outputs.device.type != "mps" else outputs.float())[mask].sum(0)
        sums[site] = sums[site] + total if site in sums else total
        counts[site] += int(mask.sum())

    _visit_all(model, examples, wanted, add, False, cancel)
    return {site: (sums[site] / counts[site]).float() for site in wanted}


def _encoded(model: Any, texts: Any) -> list[Example]:
    if isinstance(texts, Sequence) and texts and all(isinstance(e, Example) for e in texts):
        return list(texts)
    encoded: list[Example] = model.encode(texts)
    return encoded


def _visit_all(
    model: Any,
    examples: list[Example],
    sites: list[Site],
    take: Callable[[Site, Any, Tensor], None],
    gradient: bool,
    cancel: Callable[[], bool] | None,
) -> None:
    current: list[Any] = [None]

    def handler(site: Site) -> Callable[[Tensor], None]:
        def see(outputs: Tensor) -> None:
            take(site, current[0], outputs if gradient else outputs.detach())

        return see

    for batch in model.batches(examples, max_tokens=1024):
        if cancel is not None and cancel():
            raise Cancelled("recording the heads' outputs was cancelled")
        current[0] = batch
        with model.visit(outputs={site: handler(site) for site in sites}), torch.set_grad_enabled(gradient):
            model.forward(batch)


class Rows:
    """Which rows and positions a forward pass has, as far as an intervention needs to know.

    Attributes:
        ids: Identity of each row, [batch]; set by whoever knows it, else rows are counted from 0.
    """

    def __init__(self) -> None:
        self.ids: Sequence[int] | None = None
        self._next = 0
        self._masks: dict[str, Tensor | None] = {}
        self._batch = 0
        self._goes_on = False
        self._now: list[int] = []

    @contextmanager
    def watching(self, model: Any) -> Iterator["Rows"]:
        """Look at the arguments of every forward pass of the lock's holder."""
        owned: Callable[[], bool] = getattr(model.lock, "_is_owned", lambda: True)

        def look(_: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            if not owned():
                return
            main = next((kwargs[k] for k in ("input_ids", "inputs_embeds") if kwargs.get(k) is not None), None)
            main = args[0] if main is None and args else main
            self._batch = 0 if main is None else int(main.shape[0])
            caches = [v for v in kwargs.values() if hasattr(v, "get_seq_length")]  # its name differs by version
            self._goes_on = any(cache.get_seq_length() > 0 for cache in caches)
            own = kwargs.get("attention_mask")
            target = kwargs.get("decoder_attention_mask")
            self._masks = {"encoder": own, "decoder": own, "cross": own}
            if model.is_encoder_decoder:
                self._masks |= {"decoder": target, "cross": target}
            self._now = list(self.ids) if self.ids is not None else list(range(self._next, self._next + self._batch))
            self._next += self._batch

        handle = model.model.register_forward_pre_hook(look, with_kwargs=True)
        try:
            yield self
        finally:
            handle.remove()

    def identities(self, batch: int) -> list[int]:
        """Identity of each row of this pass."""
        if len(self._now) != batch:
            raise UnsupportedError(
                f"the model ran {len(self._now)} rows and a head sees {batch}: outputs of another run can only be laid "
                "over a plain forward pass, not over generate; use ablation='zero' or 'mean' there"
            )
        return self._now

    def mask(self, site: Site, outputs: Tensor) -> Tensor:
        """Bool [batch, query]: positions that are no padding."""
        mask = self._masks.get(site.kind)
        batch, query = outputs.shape[:2]
        if mask is None and not self._goes_on:
            return torch.ones(batch, query, dtype=torch.bool, device=outputs.device)
        if mask is None or self._goes_on or tuple(mask.shape) != (batch, query):
            raise UnsupportedError(
                f"a head of {site.kind} layer {site.layer} sees {query} positions of a longer text: outputs of another "
                "run need whole texts in one pass, not generate with a cache; use ablation='zero' or 'mean' there"
            )
        return mask.bool()


def overlay(run: Run, site: Site, donors: Sequence[int], mask: Tensor, like: Tensor, stretch: bool) -> Tensor:
    """Outputs of other texts in the places of a batch.

    Args:
        run: The other run.
        site: Which site.
        donors: Per row, the text of `run` whose outputs it gets.
        mask: Bool [batch, query], positions that are no padding.
        like: What is replaced, [batch, query, heads, head_dim]; kept where there is padding.
        stretch: Texts may differ in length: the first position gets the donor's first, the last its last, those
            between in proportion. Else lengths must agree.

    Raises:
        InputError: lengths differ and `stretch` is false.
    """
    rows = []
    for row, donor in enumerate(donors):
        given = run.outputs[site][donor].to(like.device, like.dtype)
        length = int(mask[row].sum())
        if len(given) != length:
            if not stretch:
                raise InputError(
                    f"row {row} has {length} positions and the recorded text {len(given)}: patching from another run "
                    "needs texts of equal length"
                )
            places = np.rint(np.arange(length) * ((len(given) - 1) / max(1, length - 1))).astype(np.int64)
            given = given[torch.from_numpy(places).to(given.device)]
        target = like[row].clone()
        target[mask[row]] = given
        rows.append(target)
    return torch.stack(rows)


def donor_of(identity: int, count: int, seed: int, own: int | None = None) -> int:
    """Which of `count` texts a row gets its outputs from; never its `own` where there is another."""
    generator = np.random.default_rng((seed, identity))
    if own is None or count < 2:
        return int(generator.integers(count))
    drawn = int(generator.integers(count - 1))
    return drawn + (drawn >= own)
