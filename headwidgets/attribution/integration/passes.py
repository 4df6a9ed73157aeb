"""The clean pass: everything of a batch that does not depend on the point of integration.

Scaling a layer's maps by alpha scales its heads' outputs by alpha, since the values do not depend on the maps. So the
path is walked in the heads' outputs, which are smaller than the maps, exist under every attention implementation and
need no probabilities at the points; the chain rule through that one product, dF/dA = (dF/d output) V^T, is applied once
to the integrated gradient. V is never named: the product is differentiated, whatever the family does in it.
"""

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from headwidgets.attribution.targets import Reader
from headwidgets.errors import InputError, UnsupportedError
from headwidgets.models.prefix import Prefix, Reading, first, with_first
from headwidgets.models.quantised import quantised
from headwidgets.models.sites import Site
from headwidgets.models.staircase import Entry, can_climb, climbing
from headwidgets.models.visit import frozen, visit
from headwidgets.text.examples import Batch

_KINKED = (nn.ReLU, nn.ReLU6, nn.LeakyReLU, nn.PReLU, nn.Hardtanh, nn.Hardsigmoid, nn.Hardswish)
_AGREE = 2e-4
"""Largest difference between a shortcut and the full pass, relative to max(1, |F|), at which it is taken."""


@dataclass
class Clean:
    """A batch after its clean pass.

    Attributes:
        model: The HeadModel.
        batch: Padded examples.
        reader: Reads F.
        maps: By site, the map [rows, heads, query, key], a leaf that requires grad.
        outputs: By site, the heads' outputs [rows, query, heads, head_dim] as a function of that leaf alone.
        values: F, float32 [rows].
        prefix: What blocks returned.
        reading: The one position that F reads of the last block, or None.
        keywords: Further arguments of the forward passes.
        climbs: Whether several layers may be entered in one pass.
        kinked: The model has units whose slope jumps (ReLU), so that its gradient does too.
    """

    model: Any
    batch: Batch
    reader: Reader
    maps: dict[Site, Tensor]
    outputs: dict[Site, Tensor]
    values: Tensor
    prefix: Prefix
    reading: Reading | None
    keywords: dict[str, Any]
    climbs: bool = False
    kinked: bool = False

    def __len__(self) -> int:
        return len(self.batch)

    def lengths(self, site: Site) -> list[tuple[int, int]]:
        """True (query, key) lengths of each row's map."""
        found = []
        for example in self.batch.examples:
            own = len(example.source) if example.target is None or site.kind == "encoder" else len(example.target)
            found.append((own, len(example.source) if site.kind == "cross" else own))
        return found

    def start(self, site: Site) -> Tensor:
        """The heads' outputs on the unchanged text, as the points scale them: [rows, query or 1, heads * head_dim]."""
        whole = self.outputs[site].detach().flatten(2)
        if self.reading is not None and self.reading.site is site and self.prefix.can_enter(site):
            index = self.reading.position.view(-1, 1, 1).expand(-1, 1, whole.shape[-1])
            return whole.gather(1, index)
        return whole

    def run(self, site: Site, rows: Tensor, outputs: Tensor) -> Tensor:
        """F [batch] with a site's heads' outputs replaced; `rows` says which text each one is. Within `held`."""
        inputs = self.prefix.inputs(site, self.batch.inputs, rows)
        if self.prefix.can_enter(site):
            with self.prefix.resumed(site, rows, outputs, self.reading):
                result = self.model.forward(inputs, **self.keywords)
        else:
            handler = {site: lambda own: outputs.view(own.shape)}
            with visit(self.model, outputs=handler, evaluation=False, innermost=True), self.prefix.resumed(site, rows):
                result = self.model.forward(inputs, **self.keywords)
        return self.reader.values(result, rows)

    def climb(self, entries: list[Entry]) -> Tensor:
        """F [all rows] of several layers' entries, in the order of the entries, in one pass."""
        with climbing(self.prefix, entries, self.reading) as rows:
            result = self.model.forward(
                {name: value.index_select(0, rows) for name, value in self.batch.inputs.items()}, **self.keywords
            )
        return self.reader.values(result, rows)

    def spread(self, site: Site, gradient: Tensor) -> Tensor:
        """A gradient for the heads' outputs, as entries of the map: A * dF/dA, float32 [rows, heads, query, key]."""
        own = self.outputs[site]
        if gradient.shape[1] != own.shape[1]:
            assert self.reading is not None
            index = self.reading.position.view(-1, 1, 1).expand(-1, 1, gradient.shape[-1])
            whole = gradient.new_zeros(gradient.shape[0], own.shape[1], gradient.shape[-1])
            gradient = whole.scatter(1, index, gradient)
        weights = self.maps[site]
        (slope,) = torch.autograd.grad(own, weights, gradient.reshape(own.shape).to(own.dtype), retain_graph=True)
        return weights.detach().float() * slope.float()


@contextmanager
def held(model: Any) -> Iterator[None]:
    """Hold the model: evaluation mode, parameters without gradient, gradients on, matmuls in full precision."""
    precision = torch.get_float32_matmul_precision()
    plain = torch.autocast(model.device.type, enabled=False)
    with model.visit(), frozen(model.model), torch.inference_mode(False), torch.enable_grad(), plain:
        torch.set_float32_matmul_precision("highest")
        try:
            yield
        finally:
            torch.set_float32_matmul_precision(precision)


def check_model(model: Any) -> None:
    """Refuse what cannot be differentiated.

    Raises:
        UnsupportedError: quantised weights, or maps that are not what the output projection reads.
    """
    root = model.model
    kind = quantised(root)
    if kind is not None:
        raise UnsupportedError(
            f"the weights are quantised ({kind}), and their gradients are not those of the model, or none; load it "
            "without quantisation"
        )
    if not model.family.gates_scale_maps:
        raise UnsupportedError(
            f"in a {root.config.model_type} model the output projection does not read what maps make of the values: "
            f"{model.family.note or 'scaling a map is something else there'}"
        )


def forward_keywords(model: Any, reader: Reader, length: int) -> dict[str, Any]:
    """Arguments that keep a language model from computing logits that nobody reads."""
    if reader.positions is None or reader.task == "translation":
        return {}
    if "logits_to_keep" not in inspect.signature(model.model.forward).parameters:
        return {}
    keep = torch.unique(reader.positions)
    if len(keep) == length:
        return {}
    reader.keep = keep
    return {"logits_to_keep": keep}


def clean(model: Any, batch: Batch, reader: Reader, settle: Any, sites: list[Site]) -> Clean:
    """Run a batch once, unchanged. The caller holds the model (`held`).

    Args:
        model: A HeadModel.
        batch: Padded examples.
        reader: Reads F.
        settle: Called with the model's output before F is read (fills in predicted targets).
        sites: The sites to be attributed.

    Raises:
        InputError: numbers that are not finite; the message names the layer.
    """
    maps: dict[Site, Tensor] = {}
    outputs: dict[Site, Tensor] = {}
    ends: list[Tensor] = []

    def keep_map(site: Site, weights: Tensor) -> Tensor:
        maps[site] = weights.detach().requires_grad_()
        return maps[site]

    def keep_outputs(site: Site, own: Tensor) -> Tensor:
        outputs[site] = own
        return own.detach()

    def keep_end(_: nn.Module, __: Any, output: Any) -> Any:
        ends.append(first(output).detach().requires_grad_())
        return with_first(output, ends[-1])

    prefix = Prefix(model.sites, getattr(model.lock, "_is_owned", lambda: True))
    keywords = forward_keywords(model, reader, batch.inputs["input_ids"].shape[1])
    last = prefix.stacks[-1][-1] if prefix.stacks else None
    hook = last.register_forward_hook(keep_end) if last is not None else None
    try:
        with (
            visit(
                model,
                attention={s: partial(keep_map, s) for s in sites},
                outputs={s: partial(keep_outputs, s) for s in sites},
                evaluation=False,
                innermost=True,
            ),
            prefix.recording(model.model),
        ):
            result = model.forward(batch, **keywords)
    finally:
        if hook is not None:
            hook.remove()
    check_layers(model, batch, prefix, outputs)
    with torch.no_grad():
        settle(result)
    rows = torch.arange(len(batch), device=model.device)
    values = reader.values(result, rows)
    if not bool(torch.isfinite(values).all()):
        raise InputError(
            "the model's output is not finite (NaN or infinite) although its layers are; look at what follows them: "
            f"{_culprit(model.model)}"
        )
    found = Clean(model, batch, reader, maps, outputs, values.detach(), prefix, None, keywords)
    if ends and values.requires_grad and values.dtype == torch.float32 and ends[0].dtype == torch.float32:
        found.reading = _reading(found, values, ends[0], rows)
    found.climbs = can_climb(prefix, sites)
    found.kinked = any(isinstance(module, _KINKED) for module in model.model.modules())
    return found


def check_layers(model: Any, batch: Batch, prefix: Prefix, outputs: dict[Site, Tensor]) -> None:
    """Name the first layer whose numbers are not finite.

    Args:
        model: A HeadModel.
        batch: What was run.
        prefix: What its blocks returned.
        outputs: By site, its heads' outputs [rows, query, heads, head_dim].

    Raises:
        InputError: there is one.
    """
    masks = batch.query_mask
    for site in prefix.sites:
        stages = [("heads' outputs", outputs[site])] if site in outputs else []
        if site.block in prefix.returned:
            stages.append(("output", first(prefix.returned[site.block])))
        for name, tensor in stages:
            if not bool(torch.isfinite(tensor.detach()[masks[site.kind]]).all()):
                raise InputError(
                    f"the {name} of {site.kind} layer {site.layer} are not finite (NaN or infinite), so nothing after "
                    f"it can be attributed; {_culprit(model.model)}"
                )


def _culprit(root: nn.Module) -> str:
    """Where to look: the first weight that is not finite, if there is one."""
    for name, parameter in root.named_parameters():
        if not bool(torch.isfinite(parameter.detach()).all()):
            return f"its weight {name} is not finite"
    return "its weights are finite, so look at the model's dtype (float16 overflows above 65,504)"


def _reading(found: Clean, values: Tensor, end: Tensor, rows: Tensor) -> Reading | None:
    """The one position that F reads of the last block, when the gradient says so and the shortcut agrees."""
    (slope,) = torch.autograd.grad(values.sum(), end, retain_graph=False, allow_unused=True)
    if slope is None or slope.dim() != 3:
        return None
    read = slope.abs().sum(-1) > 0
    last = [s for s in found.prefix.sites if s.block is found.prefix.stacks[-1][-1]]
    if not bool((read.sum(-1) == 1).all()) or len(last) != 1 or not found.prefix.can_enter(last[0]):
        return None
    reading = Reading(last[0], read.long().argmax(-1))
    if last[0] not in found.outputs:
        return None
    found.reading = reading
    inputs = found.prefix.inputs(last[0], found.batch.inputs, rows)
    try:
        with torch.no_grad():
            entered = found.run(last[0], rows, found.start(last[0]))
            with found.prefix.resumed(last[0], rows, None, reading):
                after = found.reader.values(found.model.forward(inputs, **found.keywords), rows)
    except (RuntimeError, ValueError, IndexError, TypeError):  # a block that is not position-wise after its attention
        return None
    finally:
        found.reading = None
    bound = _AGREE * values.detach().abs().clamp(min=1)
    agrees = ((entered - values).abs() <= bound) & ((after - values).abs() <= bound)
    return reading if bool(agrees.all()) else None
