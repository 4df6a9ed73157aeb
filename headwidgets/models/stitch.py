"""Maps of a `generate` call: the tuples of its steps, stitched to one map per layer and head."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from torch import Tensor

from headwidgets.errors import InputError, MemoryLimitError
from headwidgets.models.attention import MEMORY, AttentionMaps
from headwidgets.models.capture import Map, Place, StoredSource, checked, row_tolerance, sides_of
from headwidgets.models.families import Kind
from headwidgets.models.memory import readable
from headwidgets.text.examples import Example, Side, one_text
from headwidgets.text.targets import extended, side_of_ids

Steps = Sequence[Sequence[Tensor | None]]
"""By step, by layer: [batch, heads, new query positions, key positions]."""


def stitched(model: Any, prompt: Any, output: Any, *, memory: int = MEMORY) -> AttentionMaps:
    """See `AttentionMaps.from_generate`."""
    sequence = _one_sequence(output)
    steps: dict[Kind, Steps] = {}
    encoder = getattr(output, "encoder_attentions", None)
    if model.is_encoder_decoder:
        steps["decoder"] = _present(getattr(output, "decoder_attentions", None), "decoder_attentions")
        steps["cross"] = _present(getattr(output, "cross_attentions", None), "cross_attentions")
        example, written = _translation(model, prompt, sequence)
        steps["encoder"] = _present([encoder] if encoder else None, "encoder_attentions")
    else:
        steps["decoder"] = _present(getattr(output, "attentions", None), "attentions")
        example, written = _continuation(model, prompt, sequence)
    kinds: tuple[Kind, ...] = tuple(kind for kind in model.kinds if kind in steps)
    sides = {kind: sides_of(example, kind) for kind in kinds}
    sites = [site for site in model.sites if site.kind in kinds]
    size = sum(site.n_heads * len(sides[site.kind][0]) * len(sides[site.kind][1]) * 4 for site in sites)
    if size > memory:
        raise MemoryLimitError(
            f"the maps of this call would take {readable(size)}, more than the bound of {readable(memory)}: generate "
            "fewer tokens, or raise memory="
        )
    maps: dict[Place, Map] = {}
    sums = row_tolerance(model.model.dtype) if model.family.rows_sum_to_one else None
    for site in sites:
        layer = _layer_number(model, site.kind, site.layer, len(steps[site.kind][0]))
        name = f"{site.kind} layer {site.layer} of {model.name}"
        shape = (len(sides[site.kind][0]), len(sides[site.kind][1]))
        parts = [step[layer] for step in steps[site.kind]]
        maps[site.kind, site.layer] = checked(
            name, _stitch(parts, name, shape, site.kind == "decoder"), shape, sums=sums
        )
    return AttentionMaps(
        StoredSource(maps),
        text=prompt,
        tokenizer=model.tokenizer,
        sides=sides,
        heads={(site.kind, site.layer): site.n_heads for site in sites},
        memory=memory,
        generated=written,
    )


def _one_sequence(output: Any) -> list[int]:
    sequences = getattr(output, "sequences", None)
    if sequences is None:
        raise InputError(
            "expected what model.generate(..., output_attentions=True, return_dict_in_generate=True) returns, got "
            f"{type(output).__name__}"
        )
    if getattr(output, "beam_indices", None) is not None:
        raise InputError("the call searched with beams, whose steps mix several texts: generate with num_beams=1")
    if len(sequences) != 1:
        raise InputError(
            f"the call generated {len(sequences)} texts, and attention is looked at one text at a time (axis 0 of its "
            "maps is the batch): call generate once for each text"
        )
    return [int(i) for i in sequences[0].tolist()]


def _present(steps: Any, name: str) -> Steps:
    if not steps or any(layer is None for step in steps for layer in step):
        raise InputError(
            f"the output has no {name}: generate with output_attentions=True and return_dict_in_generate=True after "
            "model.set_attn_implementation('eager'), or let attend(prompt, generate=n) do all of it"
        )
    found: Steps = steps
    return found


def _prompt_side(model: Any, prompt: Any) -> tuple[Side, bool]:
    """The prompt, encoded, and whether its words are the user's own."""
    if isinstance(prompt, (Tensor, np.ndarray)) or (
        isinstance(prompt, list) and all(isinstance(i, int) for i in prompt)
    ):
        ids = np.asarray(prompt.cpu() if isinstance(prompt, Tensor) else prompt, dtype=np.int64)
        if ids.ndim == 2 and len(ids) == 1:
            ids = ids[0]
        if ids.ndim != 1:
            raise InputError(f"expected the token ids of one prompt, got shape {list(ids.shape)} (axis 0 is the batch)")
        return side_of_ids(model.tokenizer, ids), False
    text = one_text(prompt, "from_generate()")
    if model.is_encoder_decoder and isinstance(text, tuple):
        raise InputError("expected the source alone as prompt, got a tuple: the target is in the output")
    from headwidgets.text.encoding import encode_side, segments_of

    side, _ = encode_side(model.tokenizer, segments_of(text, "the prompt"))
    return side, isinstance(text[-1] if isinstance(text, tuple) else text, list)


def _continuation(model: Any, prompt: Any, sequence: list[int]) -> tuple[Example, str]:
    side, given = _prompt_side(model, prompt)
    own = side.ids.tolist()
    if sequence[: len(own)] != own:
        raise InputError(
            f"the output does not begin with the {len(own)} tokens of the prompt: give the token ids that "
            "generate() got as prompt"
        )
    whole = extended(model.tokenizer, side, sequence[len(own) : -1], given=given)
    return Example(prompt, whole), whole.sources[-1][len(side.sources[-1]) :]


def _translation(model: Any, prompt: Any, sequence: list[int]) -> tuple[Example, str]:
    side, _ = _prompt_side(model, prompt)
    target = side_of_ids(model.tokenizer, sequence[:-1])
    return Example(prompt, side, target, labels=np.asarray(sequence[1:], dtype=np.int64)), target.sources[0]


def _layer_number(model: Any, kind: Kind, layer: int, given: int) -> int:
    """Where a layer's maps are in the tuple: families leave out layers without attention, or do not."""
    own = [site.layer for site in model.sites_of(kind)]
    if given == len(own):
        return own.index(layer)
    if given == model.shape(kind)[0]:
        return layer
    raise InputError(
        f"the output has {kind} attention of {given} layers, the model has {len(own)}: was it made by another model?"
    )


def _stitch(parts: Sequence[Tensor | None], name: str, shape: tuple[int, int], growing: bool) -> Map:
    """Steps [1, heads, new rows, keys] as one map [heads, rows, keys]; `growing`: the keys are the tokens so far."""
    first = parts[0]
    assert first is not None  # `_present` has looked
    rows, columns = shape
    out = np.zeros((first.shape[1], rows, columns), dtype=np.float32)
    at = 0
    for part in parts:
        assert part is not None
        values = part[0].detach().to("cpu").float().numpy()
        new = values.shape[1]
        if at + new > rows:
            raise InputError(
                f"{name}: the steps have more rows than the {rows} tokens of the text: give the prompt of this call"
            )
        keys = at + new if growing else columns
        if values.shape[2] > keys:  # a cache of fixed length: what is behind the last token has no weight
            if np.abs(values[:, :, keys:]).max() > 1e-6:
                raise InputError(f"{name}: step attends to {values.shape[2]} tokens, but only {keys} were there")
            values = values[:, :, :keys]
        width = values.shape[2]  # a sliding cache holds the last keys only
        out[:, at : at + new, keys - width : keys] = values
        at += new
    if at != rows:
        raise InputError(f"{name}: the steps have {at} rows, the text has {rows} tokens: give the prompt of this call")
    return out
