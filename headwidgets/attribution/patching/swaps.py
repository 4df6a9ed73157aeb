"""The runs that patching consists of: two texts' own, and one per head with that head's output of the other text."""

from contextlib import nullcontext
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headwidgets.attribution.integration.passes import held
from headwidgets.attribution.patching.effects import Patching
from headwidgets.attribution.patching.pairs import BOTH, Asked, Pair, Question, Which
from headwidgets.errors import Cancelled, InputError
from headwidgets.jobs import Cancel, Progress
from headwidgets.models.memory import SHARE, forward_bytes, free_bytes, halving
from headwidgets.models.model import HeadModel
from headwidgets.models.prefix import Prefix
from headwidgets.models.sites import Site
from headwidgets.models.visit import visit
from headwidgets.text.examples import Batch, collate

_PASS = 768
"""Tokens of one pass with patched heads on a CPU, so that it stays in the caches."""


class Swaps:
    """The passes of a call of `patch`, and what they found so far."""

    def __init__(
        self,
        model: HeadModel,
        pairs: list[Pair],
        question: Question,
        method: str,
        direction: str,
        cancel: Cancel | None,
    ) -> None:
        self.model, self.pairs, self.question = model, pairs, question
        self.cancel = cancel
        self.on_progress: Progress | None = None
        self.direction = direction
        self.base: Which = "corrupted" if direction == "denoising" else "clean"
        self.donor: Which = "clean" if direction == "denoising" else "corrupted"
        self.exact, self.gradient = method != "gradient", method != "exact"
        self.heads = model.heads()
        self.columns: dict[Site, slice] = {}
        start = 0
        for site in model.sites:
            self.columns[site] = slice(start, start + site.n_heads)
            start += site.n_heads
        self.values: dict[Which, NDArray[np.float64]] = {which: np.full(len(pairs), np.nan) for which in BOTH}
        names = [name for name, wanted in (("exact", self.exact), ("gradient", self.gradient)) if wanted]
        self.effects = {name: np.full((len(pairs), start), np.nan) for name in names}
        self.notes: list[str] = []
        self.done = 0
        self.steps = len(pairs) * (1 + (len(self.heads) if self.exact else 0))

    def step(self, count: int) -> None:
        """Tell that some runs are done; stop where that is wanted."""
        self.done = min(self.steps, self.done + count)  # halved work is done again
        if self.on_progress is not None:
            self.on_progress(self.done, self.steps)
        if self.cancel is not None and self.cancel():
            raise Cancelled("patching was cancelled")

    # ---- one batch of pairs -----------------------------------------------------------------------------

    def batch(self, index: list[int], which: Which) -> Batch:
        """Some pairs' texts; the batch's index are the user's numbers of the pairs."""
        examples = [self.pairs[i].clean if which == "clean" else self.pairs[i].corrupted for i in index]
        return collate(examples, [self.pairs[i].number for i in index], self.model.pad_id, self.model.device)

    def take(self, index: list[int]) -> None:
        """Work on some pairs (by place in `pairs`) together; half as many where memory runs out."""
        halving(self._take, index, device=self.model.device, notes=self.notes, what="pairs")

    def _take(self, index: Any) -> None:
        index = list(index)
        with held(self.model):
            donor, base = self.batch(index, self.donor), self.batch(index, self.base)
            given, _, donor_values = self._run(donor, self.donor, None, False)
            prefix = Prefix(self.model.sites, getattr(self.model.lock, "_is_owned", lambda: True))
            asked = self.question.ask(self.model, base, self.base)
            own, slopes, base_values = self._run(base, self.base, prefix if self.exact else None, self.gradient, asked)
            self.values[self.donor][index] = donor_values
            self.values[self.base][index] = base_values
            laid = {site: self._laid(site, index, own[site], given.pop(site)) for site in self.model.sites}
            if self.gradient:
                for site, slope in slopes.items():
                    change = (laid[site] - own[site]).float() * slope.float()
                    self.effects["gradient"][index, self.columns[site]] = change.sum((1, 3)).double().cpu().numpy()
            self.step(len(index))
            for site in self.model.sites if self.exact else ():
                self._patch(site, index, asked, prefix, own[site], laid[site], base_values)

    def _run(
        self, batch: Batch, which: Which, prefix: Prefix | None, gradient: bool, asked: Asked | None = None
    ) -> tuple[dict[Site, Tensor], dict[Site, Tensor], NDArray[np.float64]]:
        """A text's own run: heads' outputs [rows, query, heads, head_dim], their gradients, and the metric [rows]."""
        asked = asked or self.question.ask(self.model, batch, which)
        found: dict[Site, Tensor] = {}

        def keep(site: Site, outputs: Tensor) -> Tensor:
            found[site] = outputs if outputs.requires_grad or not gradient else outputs.detach().requires_grad_()
            return found[site]

        recording = prefix.recording(self.model.model) if prefix is not None else nullcontext()
        handlers = {site: partial(keep, site) for site in self.model.sites}
        with torch.set_grad_enabled(gradient):
            with visit(self.model, outputs=handlers, evaluation=False, innermost=True), recording:
                outputs = self.model.forward(batch, **asked.keywords)
            values = asked.values(outputs, torch.arange(len(batch), device=self.model.device))
        self._check_finite(batch, which, found, values)
        slopes: dict[Site, Tensor] = {}
        if gradient:
            if not values.requires_grad:
                raise InputError(
                    "the metric has no gradient, so its effects cannot be approximated: compute it with torch from the "
                    "model's outputs, or take method='exact'"
                )
            sites = list(found)
            grads = torch.autograd.grad(values.sum(), [found[s] for s in sites], allow_unused=True)
            slopes = {
                site: torch.zeros_like(found[site]) if slope is None else slope
                for site, slope in zip(sites, grads, strict=True)
            }
        return (
            {site: tensor.detach() for site, tensor in found.items()},
            slopes,
            values.detach().double().cpu().numpy(),
        )

    def _check_finite(self, batch: Batch, which: Which, found: dict[Site, Tensor], values: Tensor) -> None:
        masks = batch.query_mask
        for site, outputs in found.items():
            mask = masks[site.kind]
            own = outputs.detach()[:, : mask.shape[1]]  # Longformer pads further, inside
            if not bool(torch.isfinite(own[mask]).all()):
                raise InputError(
                    f"the heads' outputs of {site.kind} layer {site.layer} are not finite (NaN or infinite) on a "
                    f"{which} text; check the weights of that layer and the model's dtype"
                )
        fine = torch.isfinite(values.detach())
        if not bool(fine.all()):
            number = batch.index[int((~fine).nonzero()[0])]
            raise InputError(f"the metric of the {which} text of pair {number} is not finite (NaN or infinite)")

    def _laid(self, site: Site, index: list[int], own: Tensor, given: Tensor) -> Tensor:
        """A site's own outputs, with the other run's at the positions that correspond."""
        laid = own.clone()
        for row, i in enumerate(index):
            places = dict(zip(BOTH, self.pairs[i].places(site), strict=True))
            to, source = (torch.from_numpy(places[w]).to(own.device) for w in (self.base, self.donor))
            laid[row, to] = given[row, source]
        return laid

    # ---- one head at a time ---------------------------------------------------------------------------

    def _patch(
        self,
        site: Site,
        index: list[int],
        asked: Asked,
        prefix: Prefix,
        own: Tensor,
        laid: Tensor,
        base_values: NDArray[np.float64],
    ) -> None:
        candidates = [(row, head) for row in range(len(index)) for head in range(site.n_heads)]

        def run(some: Any) -> NDArray[np.float64]:
            rows = torch.tensor([row for row, _ in some], device=own.device)
            heads = torch.tensor([head for _, head in some], device=own.device)
            outputs = own.index_select(0, rows)
            outputs[torch.arange(len(some), device=own.device), :, heads] = laid[rows, :, heads]
            with torch.no_grad():
                values = asked.values(self._resumed(site, asked, prefix, rows, outputs), rows)
            self.step(len(some))
            return values.double().cpu().numpy()

        parts = halving(
            run,
            candidates,
            chunk=self._rows_per_pass(asked),
            device=self.model.device,
            notes=self.notes,
            what="patched heads",
        )
        patched = np.concatenate(parts).reshape(len(index), site.n_heads)
        if not np.isfinite(patched).all():
            row, head = np.argwhere(~np.isfinite(patched))[0]
            raise InputError(
                f"the metric of pair {asked.batch.index[row]} is not finite (NaN or infinite) when head {head} of "
                f"{site.kind} layer {site.layer} is patched"
            )
        self.effects["exact"][index, self.columns[site]] = patched - base_values[:, None]

    def _resumed(self, site: Site, asked: Asked, prefix: Prefix, rows: Tensor, outputs: Tensor) -> Any:
        inputs = prefix.inputs(site, asked.batch.inputs, rows)
        if prefix.can_enter(site):
            with prefix.resumed(site, rows, outputs.flatten(2)):
                return self.model.forward(inputs, **asked.keywords)
        handler = {site: lambda own: outputs.view(own.shape)}
        with visit(self.model, outputs=handler, evaluation=False, innermost=True), prefix.resumed(site, rows):
            return self.model.forward(inputs, **asked.keywords)

    def _rows_per_pass(self, asked: Asked) -> int:
        """So many rows that a pass stays in the caches of a CPU or fills a GPU, and fits."""
        inputs = asked.batch.inputs
        length = int(inputs["input_ids"].shape[1]) + int(
            inputs.get("decoder_input_ids", inputs["input_ids"][:, :0]).shape[1]
        )
        vocabulary = (
            0 if asked.keywords else int(getattr(self.model.model.config.get_text_config(), "vocab_size", 0) or 0)
        )
        on_cpu = self.model.device.type == "cpu"
        size = max(1, (_PASS if on_cpu else 32 * _PASS) // length)
        free = free_bytes(self.model.device)
        while free is not None and size > 1:
            if forward_bytes(self.model, size * length, length, vocabulary) <= SHARE / 2 * free:
                break
            size //= 2
        return size

    # ---- the result -----------------------------------------------------------------------------------

    def result(self, skipped: dict[int, str], record: Any, seed: int) -> Patching:
        """What is known of the pairs seen so far."""
        seen = np.flatnonzero(np.isfinite(self.values[self.base]))
        return Patching(
            heads=self.heads,
            shapes={kind: self.model.shape(kind) for kind in self.model.kinds},
            effects={name: array[seen] for name, array in self.effects.items()},
            clean=self.values["clean"][seen],
            corrupted=self.values["corrupted"][seen],
            numbers=[self.pairs[i].number for i in seen],
            skipped=dict(skipped),
            metric=self.question.name,
            metric_unit=self.question.unit,
            direction=self.direction,
            provenance=record,
            fingerprint=self.model.fingerprint,
            seed=seed,
            notes=list(self.notes),
        )
