"""Encoder-decoders: a source and what the decoder reads; and tokens that a model has generated."""

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from headwidgets.errors import InputError
from headwidgets.text.encoding import check_length, encode_side, segments_of, words_of
from headwidgets.text.examples import Example, Side, collate
from headwidgets.text.offsets import align
from headwidgets.text.words import assign_words, breaks_of, word_spans

LONGEST = 256
"""Tokens that a target generated for a bare source has at most."""


def encode_translation(model: Any, text: Any, limit: int | None, where: str, longest: int = LONGEST) -> Example:
    """An example of an encoder-decoder: (source, target), or a source whose target is generated greedily.

    The target side holds what the decoder reads: its start token, then the target without the last token;
    `Example.labels` holds what it is to write at each of these positions.

    Args:
        model: A HeadModel.
        text: A source, or a tuple (source, target).
        limit: Positions the model has; None when unlimited.
        where: How to call the text in an error.
        longest: Tokens to generate at most, where the target is not given.
    """
    if isinstance(text, tuple):
        if len(text) != 2:
            raise InputError(f"{where}: an encoder-decoder takes (source, target), got a tuple of {len(text)}")
        source_text, target_text = text
    else:
        source_text, target_text = text, None
    source, _ = encode_side(model.tokenizer, segments_of(_single(source_text, where), where))
    check_length(source, limit, where)
    if target_text is None:
        if not hasattr(model.model, "generation_config"):
            raise InputError(
                f"{where} has no target, and {type(model.model).__name__} cannot write one: give (source, target), or "
                "load the model with task='seq2seq'"
            )
        if limit is not None:
            longest = min(longest, limit - 1)
        target, labels = _generated(model, Example(text, source), longest)
        return Example(text, source, target, labels=labels)
    segments = segments_of(_single(target_text, f"{where}, target"), f"{where}, target")
    side, _ = encode_side(model.tokenizer, segments, target=True)
    check_length(side, limit, f"{where}, target")
    return Example(text, source, shifted(side, start_id(model)), labels=side.ids)


def _single(text: Any, where: str) -> Any:
    if isinstance(text, tuple):
        raise InputError(f"{where}: a pair of texts is no source or target of an encoder-decoder; give one text")
    return text


def start_id(model: Any) -> int:
    """The token a decoder starts with."""
    for holder in (getattr(model.model, "generation_config", None), model.model.config):
        value = getattr(holder, "decoder_start_token_id", None)
        if isinstance(value, int):
            return value
    return int(model.pad_id)


def shifted(side: Side, start: int) -> Side:
    """A target as the decoder reads it: start token in front, its own last token not read."""
    return Side(
        ids=np.concatenate([[start], side.ids[:-1]]).astype(np.int64),
        segments=(0, *side.segments[:-1]),
        offsets=(None, *side.offsets[:-1]),
        words=(None, *side.words[:-1]),
        special=(True, *side.special[:-1]),
        sources=side.sources,
        spans=side.spans,
    )


# ---- generation ---------------------------------------------------------------------------------------------


def generate(model: Any, side: Side, n_tokens: int) -> NDArray[np.int64]:
    """Greedy continuation of a prompt, or target of a source.

    Args:
        model: A HeadModel.
        side: The prompt (decoder-only) or the source (encoder-decoder).
        n_tokens: Tokens to generate at most; generation ends earlier at the end token.

    Returns:
        int64 [tokens]: what `generate` of transformers returns, with the prompt or the decoder's start token.
    """
    batch = collate([Example(None, side)], [0], model.pad_id, model.device)
    settings = copy.deepcopy(model.model.generation_config)
    settings.update(
        do_sample=False, num_beams=1, max_new_tokens=n_tokens, max_length=None, min_length=0, num_return_sequences=1
    )
    settings.update(temperature=None, top_p=None, top_k=None, pad_token_id=model.pad_id)
    settings.return_dict_in_generate = settings.output_attentions = False
    with model.visit(), torch.inference_mode():
        produced = model.model.generate(**batch.inputs, generation_config=settings)
    return np.asarray(produced[0].cpu().numpy(), dtype=np.int64)


def _generated(model: Any, bare: Example, longest: int) -> tuple[Side, NDArray[np.int64]]:
    ids = generate(model, bare.source, longest)
    return side_of_ids(model.tokenizer, ids[:-1]), ids[1:]


def side_of_ids(tokenizer: Any, ids: Sequence[int] | NDArray[np.int64]) -> Side:
    """A side of token ids alone; its source text is what they decode to."""
    empty = Side(np.zeros(0, np.int64), (), (), (), (), ("",), ((),))
    return extended(tokenizer, empty, ids)


def extended(tokenizer: Any, side: Side, ids: Sequence[int] | NDArray[np.int64], given: bool = False) -> Side:
    """A side with generated tokens behind it; its last source text goes on with what they decode to.

    Args:
        tokenizer: The tokenizer.
        side: The prompt.
        ids: Further token ids.
        given: The prompt's words are the user's own and stay as they are.

    Returns:
        A new side; words of the whole text, so that a word begun in the prompt may end in the new tokens.
    """
    new = [int(i) for i in ids]
    outside = set(tokenizer.all_special_ids) - {tokenizer.unk_token_id}
    special = [i in outside for i in new]
    tail = _tail(tokenizer, side, new)
    at = len(side.sources) - 1
    before = side.sources[at]
    plain = [i for i, mask in zip(new, special, strict=True) if not mask]
    queue = iter(align(tokenizer, plain, tail))
    offsets = [None if mask else next(queue) for mask in special]
    moved = tuple(None if o is None else (o[0] + len(before), o[1] + len(before)) for o in offsets)
    whole = (*side.offsets, *moved)
    own = [i for i, s in enumerate(side.segments) if s == at and not side.special[i]]
    own += [len(side) + i for i, mask in enumerate(special) if not mask]
    source = before + tail
    own_offsets = [whole[i] for i in own]
    if given:
        more = word_spans(tail, breaks_of(tail, offsets, None))
        known = [*side.spans[at], *((a + len(before), b + len(before)) for a, b in more)]
        spans, numbers = assign_words(known, own_offsets, given=True)
    else:
        spans, numbers = words_of(source, source, own_offsets, None)
    words: list[int | None] = [*side.words, *[None] * len(new)]
    for i, word in zip(own, numbers, strict=True):
        words[i] = word
    return Side(
        ids=np.concatenate([side.ids, np.asarray(new, dtype=np.int64)]),
        segments=(*side.segments, *[at] * len(new)),
        offsets=whole,
        words=tuple(words),
        special=(*side.special, *special),
        sources=(*side.sources[:at], source),
        spans=(*side.spans[:at], tuple(spans)) if side.spans else (),
    )


def _tail(tokenizer: Any, side: Side, new: list[int]) -> str:
    """What new tokens decode to behind a prompt, with the space that they begin with."""

    def decoded(ids: list[int]) -> str:
        return str(tokenizer.decode(ids, skip_special_tokens=True, clean_up_tokenization_spaces=False))

    if len(side):
        before = side.ids.tolist()
        whole, start = decoded(before + new), decoded(before)
        if start and whole.startswith(start):
            return whole[len(start) :]
    return decoded(new)
