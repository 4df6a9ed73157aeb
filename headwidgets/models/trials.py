"""Inputs of its own for `verify`: random ids with unequal padding, on the side that is asked for."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor

from headwidgets.errors import UnsupportedError
from headwidgets.models.families import Kind
from headwidgets.models.visit import evaluating

LONG, SHORT = 9, 6
Side = Literal["right", "left"]
PADDED: tuple[Side, ...] = ("right", "left")


@dataclass
class Trial:
    """One small batch and what it says about padding.

    Attributes:
        model: The HeadModel.
        inputs: Keyword arguments of its forward.
        queries: By kind, bool [batch, query]: no padding.
        keys: By kind, bool [batch, key]: no padding.
        padding: Which side is padded.
    """

    model: Any
    inputs: dict[str, Tensor]
    queries: dict[Kind, Tensor]
    keys: dict[Kind, Tensor]
    padding: Side

    def run(self, **keywords: Any) -> Any:
        """One forward pass in eval mode, without gradient and without cache."""
        with evaluating(self.model.model), torch.no_grad():
            return self.model.forward(self.inputs, **keywords)

    def answer(self, **keywords: Any) -> Tensor:
        """The model's first output at the positions that are no padding, flat."""
        return self.real(main_output(self.run(**keywords)))

    @property
    def meaningful(self) -> bool:
        """False for an encoder's classifier that reads position 0, where padding on the left has put padding."""
        if self.padding != "left" or self.model.kinds != ("encoder",):
            return True
        return main_output(self.run()).shape[:2] == self.inputs["input_ids"].shape

    def real(self, output: Tensor) -> Tensor:
        """The rows of `output` that belong to no padding; all where rows are not positions."""
        for mask in (self.inputs.get("decoder_attention_mask"), self.inputs["attention_mask"]):
            if mask is not None and output.shape[:2] == mask.shape:
                return output[mask.bool()]
        return output


def main_output(output: Any) -> Tensor:
    """Logits, or the last hidden state, or whatever floating-point tensor comes first."""
    for name in ("logits", "last_hidden_state"):
        found = getattr(output, name, None)
        if isinstance(found, Tensor):
            return found
    values = output.values() if hasattr(output, "values") else output
    return next(value for value in values if isinstance(value, Tensor) and value.is_floating_point())


def _special(config: Any) -> set[int]:
    found: set[int] = set()
    for name in ("pad", "bos", "eos", "decoder_start", "sep", "cls", "mask"):
        value = getattr(config, f"{name}_token_id", None)
        found.update(value if isinstance(value, list) else [value] if isinstance(value, int) else [])
    return found


def _filled(generator: torch.Generator, lengths: list[int], draw: Callable[[int], Tensor], pad: int, left: bool) -> Any:
    ids = torch.full((len(lengths), max(lengths)), pad)
    mask = torch.zeros_like(ids)
    for row, length in enumerate(lengths):
        place = slice(max(lengths) - length, None) if left else slice(0, length)
        ids[row, place] = draw(length)
        mask[row, place] = 1
    return ids, mask


def make_trial(model: Any, padding: Side, seed: int = 0) -> Trial:
    """Random ids; two rows of unequal length with padding on the side named."""
    config = model.model.config
    device = model.device
    generator = torch.Generator().manual_seed(seed)
    table = model.model.get_input_embeddings()
    size = min(int(getattr(config, "vocab_size", 0) or 0) or 10**9, int(getattr(table, "num_embeddings", 10**9)))
    if size >= 10**9:
        raise UnsupportedError(f"{type(model.model).__name__} does not read token ids; verify() needs a text model")
    usual = torch.tensor(sorted(set(range(min(size, 5000))) - _special(config)) or [0])
    pad = getattr(config, "pad_token_id", None)
    pad = pad if isinstance(pad, int) and 0 <= pad < size else 0
    end = getattr(config, "eos_token_id", None)
    end = end[0] if isinstance(end, list) else end

    def draw(length: int) -> Tensor:
        ids = usual[torch.randint(len(usual), (length,), generator=generator)]
        if isinstance(end, int) and 0 <= end < size:
            ids[-1] = end  # some classifiers read the one </s> of each text
        return ids

    longest = min(LONG, model.max_positions or LONG)
    lengths = [longest, max(1, longest - 3)]
    ids, mask = _filled(generator, lengths, draw, pad, padding == "left")
    inputs = {"input_ids": ids.to(device), "attention_mask": mask.to(device)}
    own = inputs["attention_mask"].bool()
    queries: dict[Kind, Tensor] = {"encoder": own, "decoder": own, "cross": own}
    keys = dict(queries)
    if model.is_encoder_decoder:
        lengths = [max(1, longest - 3), max(1, longest - 5)]
        ids, mask = _filled(generator, lengths, draw, pad, padding == "left")
        inputs |= {"decoder_input_ids": ids.to(device), "decoder_attention_mask": mask.to(device)}
        target = inputs["decoder_attention_mask"].bool()
        queries |= {"decoder": target, "cross": target}
        keys |= {"decoder": target}
    elif "encoder" in model.kinds and "decoder" in model.kinds:  # a classifier shifts its own input for the decoder
        everything = torch.ones_like(own)
        queries |= {"decoder": everything, "cross": everything}
        keys |= {"decoder": everything}
    elif "cross" in model.kinds:  # a decoder that reads an encoder's states
        states = torch.randn(len(lengths), SHORT, config.hidden_size, generator=generator)
        inputs["encoder_hidden_states"] = states.to(device, next(model.model.parameters()).dtype)
        seen = torch.ones(len(lengths), SHORT, dtype=torch.long)
        seen[0, -2:] = 0
        inputs["encoder_attention_mask"] = seen.to(device)
        keys["cross"] = inputs["encoder_attention_mask"].bool()
    taken = inspect.signature(model.model.forward).parameters
    return Trial(model, {k: v for k, v in inputs.items() if k in taken or "kwargs" in taken}, queries, keys, padding)
