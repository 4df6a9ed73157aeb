"""Encoder-decoders: a source and what the decoder reads."""

from typing import Any

import numpy as np
import torch

from headwidgets.errors import InputError
from headwidgets.text.encoding import check_length, encode_side, segments_of
from headwidgets.text.examples import Example, Side, collate


def encode_translation(model: Any, text: Any, limit: int | None, where: str) -> Example:
    """An example of an encoder-decoder: (source, target), or a source whose target is generated greedily.

    The target side holds what the decoder reads: its start token, then the target without the last token.
    """
    if isinstance(text, tuple):
        if len(text) != 2:
            raise InputError(f"{where}: an encoder-decoder takes (source, target), got a tuple of {len(text)}")
        source_text, target_text = text
    else:
        source_text, target_text = text, None
    source, _ = encode_side(model.tokenizer, segments_of(source_text, where))
    check_length(len(source), limit, where)
    bare = Example(text, source)
    if target_text is None:
        target = _generated(model, bare)
    else:
        side, _ = encode_side(model.tokenizer, segments_of(target_text, f"{where}, target"), target=True)
        target = _shifted(model, side)
    check_length(len(target), limit, f"{where}, target")
    return Example(text, source, target)


def start_id(model: Any) -> int:
    """The token a decoder starts with."""
    for holder in (getattr(model.model, "generation_config", None), model.model.config):
        value = getattr(holder, "decoder_start_token_id", None)
        if isinstance(value, int):
            return value
    return int(model.pad_id)


def _shifted(model: Any, side: Side) -> Side:
    """A target as the decoder reads it: start token in front, its own last token not read."""
    ids = np.concatenate([[start_id(model)], side.ids[:-1]]).astype(np.int64)
    return Side(
        ids,
        (0, *side.segments[:-1]),
        (None, *side.offsets[:-1]),
        (None, *side.words[:-1]),
        (True, *side.special[:-1]),
        side.sources,
    )


def _generated(model: Any, bare: Example) -> Side:
    batch = collate([bare], [0], model.pad_id, model.device)
    with model.visit(), torch.inference_mode():
        produced = model.model.generate(**batch.inputs, do_sample=False, num_beams=1, max_new_tokens=256)
    ids = produced[0].cpu().numpy().astype(np.int64)
    if ids[-1] in _ends(model) and len(ids) > 1:
        ids = ids[:-1]
    words = model.tokenizer.convert_ids_to_tokens(ids.tolist())
    special = tuple(bool(i in set(model.tokenizer.all_special_ids)) for i in ids.tolist())
    return Side(
        ids,
        (0,) * len(ids),
        (None,) * len(ids),
        tuple(None if s else i for i, s in enumerate(special)),
        special,
        (model.tokenizer.decode(ids, skip_special_tokens=True),) if words else ("",),
    )


def _ends(model: Any) -> set[int]:
    end = getattr(model.model.generation_config, "eos_token_id", None)
    return set(end) if isinstance(end, list) else {end} if isinstance(end, int) else set()
