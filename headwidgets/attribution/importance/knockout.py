"""What do the heads of a batch say, and what does the model answer when some of it is replaced?

One clean pass keeps what blocks return and what heads say. A head in a layer is then replaced by entering that layer
at its output projection: nothing before it runs, and one pass carries many texts and many heads. Of the last block
only the position that the answer reads is computed, where a trial has shown that it reads one. Each shortcut is taken
only where the clean pass has shown that it is one; an ALBERT, whose layers share one block, runs whole passes.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import torch
from torch import Tensor, nn

from headwidgets.attribution.integration.passes import check_layers
from headwidgets.models.model import HeadModel
from headwidgets.models.outcomes import Questions
from headwidgets.models.prefix import Prefix, Reading, first, with_first
from headwidgets.models.sites import Site
from headwidgets.models.visit import frozen, visit
from headwidgets.text.examples import Batch

_AGREE = 2e-4
"""Largest difference between a shortcut's logits and the full pass's, relative to the largest, at which it is taken."""


class Trunk:
    """A batch after its clean pass. Made and used by whoever holds the model.

    Making one raises `InputError` where a layer's numbers are not finite; the message names the layer.

    Attributes:
        batch: Padded examples.
        logits: What the model says on the unchanged texts.
        outputs: By site, what its heads say, [rows, query, heads, head_dim].
        prefix: What blocks returned.
        reading: The one position that is read of the last block, or None.
    """

    def __init__(self, model: HeadModel, questions: Questions, batch: Batch) -> None:
        self.model, self.questions, self.batch = model, questions, batch
        self.outputs: dict[Site, Tensor] = {}
        self.prefix = Prefix(model.sites, getattr(model.lock, "_is_owned", lambda: True))
        self.reading: Reading | None = None
        ends: list[Tensor] = []
        with frozen(model.model), torch.inference_mode(False), torch.enable_grad():
            with self._keeping(ends):
                logits = questions.logits(batch)
            read = self._read(logits, ends)
        self.logits = logits.detach()
        if not bool(torch.isfinite(self.logits).all()):
            check_layers(model, batch, self.prefix, self.outputs)
        if read is not None:
            self.reading = self._tried(read)

    def start(self, site: Site) -> Tensor:
        """What the heads of a site say where it matters: [rows, query or 1, heads, head_dim]."""
        whole = self.outputs[site]
        if self.reading is None or self.reading.site is not site:
            return whole
        return self.at_reading(whole)

    def at_reading(self, whole: Tensor) -> Tensor:
        """[rows, query, heads, head_dim] at the position that is read."""
        assert self.reading is not None
        index = self.reading.position.view(-1, 1, 1, 1).expand(-1, 1, *whole.shape[2:])
        return whole.gather(1, index)

    def run(self, site: Site, rows: Tensor, outputs: Tensor) -> Tensor:
        """Logits with what the heads of a site say replaced.

        Args:
            site: Which.
            rows: int64 [n], which text of the batch each row is.
            outputs: [n, query (1 where `start` gave 1), heads, head_dim].
        """
        inputs = self.prefix.inputs(site, self.batch.inputs, rows)
        if self.prefix.can_enter(site):
            with self.prefix.resumed(site, rows, outputs.flatten(2), self.reading):
                return self.questions.logits(inputs)
        handler = {site: lambda own: outputs.reshape(own.shape)}
        with visit(self.model, outputs=handler, evaluation=False, innermost=True), self.prefix.resumed(site, rows):
            return self.questions.logits(inputs)

    @contextmanager
    def _keeping(self, ends: list[Tensor]) -> Iterator[None]:
        def keep(site: Site, own: Tensor) -> None:
            self.outputs[site] = own.detach()

        def keep_end(_: nn.Module, __: object, output: object) -> object:
            ends.append(first(output).detach().requires_grad_())
            return with_first(output, ends[-1])

        last = self.prefix.stacks[-1][-1] if self.prefix.stacks else None
        hook = last.register_forward_hook(keep_end) if last is not None else None
        handlers = {site: partial(keep, site) for site in self.model.sites}
        try:
            with (
                visit(self.model, outputs=handlers, evaluation=False, innermost=True),
                self.prefix.recording(self.model.model),
            ):
                yield
        finally:
            if hook is not None:
                hook.remove()

    def _read(self, logits: Tensor, ends: list[Tensor]) -> Reading | None:
        """The one position per row from which a gradient comes back, of an answer per text."""
        if not ends or not logits.requires_grad or self.questions.answers_per_position:
            return None
        (slope,) = torch.autograd.grad(logits.float().square().sum(), ends[0], allow_unused=True)
        if slope is None or slope.dim() != 3:
            return None
        read = slope.abs().sum(-1) > 0
        block = self.prefix.stacks[-1][-1]
        last = [site for site in self.prefix.sites if site.block is block]
        if not bool((read.sum(-1) == 1).all()) or len(last) != 1 or not self.prefix.can_enter(last[0]):
            return None
        return Reading(last[0], read.long().argmax(-1))

    def _tried(self, reading: Reading) -> Reading | None:
        """The reading, when both shortcuts that it allows say what the full pass said."""
        self.reading = reading
        site, rows = reading.site, torch.arange(len(self.batch), device=self.logits.device)
        inputs = self.prefix.inputs(site, self.batch.inputs, rows)
        try:
            with torch.no_grad():
                entered = self.run(site, rows, self.start(site))
                with self.prefix.resumed(site, rows, None, reading):
                    after = self.questions.logits(inputs)
        except (RuntimeError, ValueError, IndexError, TypeError):  # a block that is not position-wise after attention
            return None
        finally:
            self.reading = None
        bound = _AGREE * float(self.logits.abs().max().clamp(min=1))
        agrees = all(float((found - self.logits).abs().max()) <= bound for found in (entered, after))
        return reading if agrees else None
