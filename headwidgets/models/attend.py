"""`attend`: where every head looks in one text."""

from typing import Any

from headwidgets.errors import InputError
from headwidgets.models.attention import MEMORY, AttentionMaps
from headwidgets.models.capture import ForwardSource, sides_of
from headwidgets.models.families import Kind
from headwidgets.models.quiet import quiet
from headwidgets.text.examples import Example, one_text
from headwidgets.text.targets import encode_translation, extended, shifted, start_id
from headwidgets.text.targets import generate as written_by

__all__ = ["AttentionMaps", "attend"]


def attend(
    model: Any,
    text: Any,
    kind: Kind | None = None,
    words: bool = False,
    generate: int = 0,
    *,
    memory: int = MEMORY,
) -> AttentionMaps:
    """Attention maps of one text.

    One forward pass at once, in which as many layers as fit into `memory` are kept; others are fetched when asked
    for, one pass per request, and refused once the model's output for the text has changed.

    Args:
        model: A HeadModel.
        text: A text, words, or a pair; for encoder-decoders a source (its target is generated) or (source, target).
        kind: ``encoder``, ``decoder`` or ``cross``; all kinds of the model by default.
        words: Positions are words instead of tokens.
        generate: Tokens to generate greedily first, at most. Decoder-only models: behind the prompt, and the maps are
            those of the prompt and all generated tokens. Encoder-decoders: the length of the target, which is generated
            anyway.
        memory: Bytes of maps that are kept, at most.

    Raises:
        InputError: several texts, an empty one, one too long, a kind that the model does not have.
        UnsupportedError: the family has no maps.
        VerificationError: what the model computed is no attention map (NaN weights); the message names the layer.
        MemoryLimitError: one layer would not fit.
    """
    one = one_text(text, "attend()")
    if kind is not None:
        model.sites_of(kind)
    example, written = _example(model, one, generate)
    kinds = (kind,) if kind is not None else model.kinds
    read = _as_read(model, example)
    maps = AttentionMaps(
        ForwardSource(model, example),
        text=one,
        tokenizer=model.tokenizer,
        sides={k: sides_of(read, k) for k in kinds},
        heads={(site.kind, site.layer): site.n_heads for site in model.sites if site.kind in kinds},
        memory=memory,
        generated=written,
    )
    maps.fetch()
    return maps.words() if words else maps


def _as_read(model: Any, example: Example) -> Example:
    """The example with what the decoder of a one-text encoder-decoder (a BART classifier) reads: the text, shifted."""
    if example.target is not None or not {"encoder", "decoder"} <= set(model.kinds):
        return example
    wraps = getattr(model.model.config, "model_type", "") == "mbart"  # its last token comes first
    start = int(example.source.ids[-1]) if wraps else start_id(model)
    return Example(example.text, example.source, shifted(example.source, start))


def _example(model: Any, text: Any, n_tokens: int) -> tuple[Example, str]:
    """The encoded text, with what the model wrote for it."""
    if isinstance(n_tokens, bool) or not isinstance(n_tokens, int) or n_tokens < 0:
        raise InputError(f"expected generate to be a number of tokens, 0 or more, got {n_tokens!r}")
    if model.is_encoder_decoder:
        if n_tokens and isinstance(text, tuple):
            raise InputError("generate= and a target exclude each other: give the source alone, or leave generate out")
        with quiet():
            options = {"longest": n_tokens} if n_tokens else {}
            example = encode_translation(model, text, model.max_positions, "the text", **options)
        written = example.target.sources[0] if example.target is not None and not isinstance(text, tuple) else ""
        return example, written
    example = model.encode([text])[0]
    if not n_tokens:
        return example, ""
    if not hasattr(model.model, "generate") or "decoder" not in model.kinds:
        raise InputError(
            f"{type(model.model).__name__} does not generate text (it is no language model with a decoder): leave out "
            "generate="
        )
    prompt, limit = example.source, model.max_positions
    if limit is not None and len(prompt) + n_tokens > limit:
        raise InputError(
            f"the prompt has {len(prompt)} tokens and generate={n_tokens}, but the model has {limit} positions: at "
            f"most {limit - len(prompt)} can be generated"
        )
    with quiet():
        ids = written_by(model, prompt, n_tokens)
    given = isinstance(text[-1] if isinstance(text, tuple) else text, list)
    side = extended(model.tokenizer, prompt, ids[len(prompt) :], given=given)
    return Example(text, side), side.sources[-1][len(prompt.sources[-1]) :]
