"""Where do heads look in random tokens that are repeated once: one back, at the same token, at what followed it?

An induction head (Olsson et al. 2022, In-context Learning and Induction Heads) attends from a token to the one that
followed the same token earlier, whatever the tokens are; so the tokens are random. The same pass says which heads
attend to the token before, and to the earlier occurrence of the same token.
"""

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from headwidgets.errors import Cancelled, InputError, UnsupportedError
from headwidgets.jobs import Cancel, Progress, blocking
from headwidgets.models.model import HeadModel, expect_model
from headwidgets.models.sites import Site
from headwidgets.provenance import checked_seed, made
from headwidgets.scores import HeadScores
from headwidgets.text.examples import Example
from headwidgets.text.targets import side_of_ids

MEASURES = ("previous-token", "duplicate-token", "induction")
"""What one pass over repeated tokens measures."""


@blocking
def induction(
    model: HeadModel,
    *,
    n: int = 16,
    length: int = 25,
    seed: int = 0,
    on_progress: Progress | None = None,
    on_partial: Callable[[HeadScores], None] | None = None,
    cancel: Cancel | None = None,
) -> HeadScores:
    """Mean attention from a token's second occurrence to the token after its first.

    Args:
        model: A causal language model or an encoder, from `headwidgets.load` or `wrap`.
        n: Random sequences.
        length: Tokens of each, before they are repeated; no token occurs twice in it.
        seed: Of the tokens.
        on_progress: Called with sequences done and sequences in all.
        on_partial: Called with the scores of the sequences seen so far.
        cancel: Says whether to stop.

    Returns:
        Scores between 0 and 1, with standard errors over sequences.

    Raises:
        InputError: numbers that do not fit, or more tokens than the model reads or knows.
        UnsupportedError: an encoder-decoder, whose decoder does not repeat its source; a model without maps.
        Cancelled: told to stop.

    Reference:
        Olsson et al.: In-context Learning and Induction Heads, 2022, arXiv 2209.11895.
    """
    tell = None if on_partial is None else lambda found: on_partial(found["induction"])
    found = repetition(model, n=n, length=length, seed=seed, on_progress=on_progress, on_partial=tell, cancel=cancel)
    return found["induction"]


@blocking
def repetition(
    model: HeadModel,
    *,
    n: int = 16,
    length: int = 25,
    seed: int = 0,
    on_progress: Progress | None = None,
    on_partial: Callable[[dict[str, HeadScores]], None] | None = None,
    cancel: Cancel | None = None,
) -> dict[str, HeadScores]:
    """Mean attention from the second copy of repeated random tokens to three places, in one pass.

    Args:
        model: A causal language model or an encoder.
        n: Random sequences.
        length: Tokens of each, before they are repeated; no token occurs twice in it.
        seed: Of the tokens.
        on_progress: Called with sequences done and sequences in all.
        on_partial: Called with the scores of the sequences seen so far.
        cancel: Says whether to stop.

    Returns:
        Scores between 0 and 1 with standard errors over sequences: ``previous-token`` (to the token before),
        ``duplicate-token`` (to the first occurrence of the same token) and ``induction`` (to the token after that).

    Raises:
        InputError: numbers that do not fit, or more tokens than the model reads or knows.
        UnsupportedError: an encoder-decoder, whose decoder does not repeat its source; a model without maps.
        Cancelled: told to stop.

    Reference:
        Olsson et al.: In-context Learning and Induction Heads, 2022, arXiv 2209.11895.
    """
    expect_model(model)
    examples = repeated(model, n=n, length=length, seed=seed)
    begin = _begin(model)
    sums = {site: np.zeros((len(MEASURES), 2, site.n_heads)) for site in model.sites}
    queries = torch.arange(begin + length, begin + 2 * length, device=model.device)
    places = [queries - 1, queries - length, queries - length + 1]

    def look(site: Site, maps: Tensor) -> None:
        for at, keys in enumerate(places):
            per_text = maps[:, :, queries, keys].float().mean(-1).double().cpu().numpy()
            sums[site][at] += np.stack([per_text.sum(0), (per_text**2).sum(0)])

    def scores(done: int) -> dict[str, HeadScores]:
        return {
            name: _scores(model, {site: own[at] for site, own in sums.items()}, name, done, length, seed)
            for at, name in enumerate(MEASURES)
        }

    done = 0
    for batch in model.batches(examples, max_tokens=1024):
        if cancel is not None and cancel():
            raise Cancelled("measuring induction was cancelled")
        with model.visit(attention={site: partial(look, site) for site in model.sites}), torch.no_grad():
            model.forward(batch, **_few_logits(model))
        done += len(batch)
        if on_progress is not None:
            on_progress(done, n)
        if on_partial is not None and done < n:
            on_partial(scores(done))
    return scores(n)


def repeated(model: HeadModel, *, n: int = 16, length: int = 25, seed: int = 0, broken: bool = False) -> list[Example]:
    """Random tokens, twice; with the special tokens that the tokenizer puts around a text.

    Args:
        model: A HeadModel.
        n: Sequences.
        length: Tokens of each, before they are repeated.
        seed: Of the tokens.
        broken: The first copy is other tokens, none of them in the second: nothing is repeated. The second copies are
            those of the same call with False, so the two lists are clean and corrupted texts for
            `headwidgets.attribution.patch`.

    Returns:
        `n` encoded texts, each begin marks, two copies of `length` tokens, end marks; `HeadModel.attend` and others
        take them as texts.

    Raises:
        InputError: numbers that do not fit, or more tokens than the model reads or knows.
        UnsupportedError: an encoder-decoder.
    """
    expect_model(model)
    if model.is_encoder_decoder:
        raise UnsupportedError(
            f"{type(model.model).__name__} is an encoder-decoder, which does not repeat its own text; induction is "
            "measured on causal language models and encoders"
        )
    for name, value, least in (("n", n, 1), ("length", length, 2)):
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
            raise InputError(f"expected {name} as a whole number of at least {least}, got {value!r}")
    seed = checked_seed(seed)
    usual = _usual(model)
    if len(usual) < 2 * length:
        raise InputError(f"expected a length of at most {len(usual) // 2} (half of the model's tokens), got {length}")
    side = model.encode(["a"])[0].source
    marks = side.ids[np.array(side.special, dtype=bool)]
    begin = _begin(model)
    limit = model.max_positions
    if limit is not None and 2 * length + len(marks) > limit:
        raise InputError(
            f"the model reads {limit} tokens: expected a length of at most {(limit - len(marks)) // 2}, got {length}"
        )
    found = []
    for number in range(n):
        drawn = np.random.default_rng((seed, number)).choice(usual, 2 * length, replace=False)
        own, other = drawn[:length], drawn[length:]
        ids = np.concatenate([marks[:begin], other if broken else own, own, marks[begin:]])
        found.append(Example(None, side_of_ids(model.tokenizer, ids), type_ids=_type_ids(model, len(ids))))
    return found


def fitting_length(model: HeadModel, wanted: int = 25) -> int:
    """The length of `wanted` or less that a model has the tokens and the positions for."""
    marks = sum(model.encode(["a"])[0].source.special)
    limit = model.max_positions
    return min([wanted, len(_usual(model)) // 2, *([] if limit is None else [(limit - marks) // 2])])


def _begin(model: HeadModel) -> int:
    """Special tokens that the tokenizer puts in front of a text."""
    special = model.encode(["a"])[0].source.special
    return special.index(False) if False in special else len(special)


def _type_ids(model: HeadModel, length: int) -> tuple[int, ...] | None:
    return None if model.encode(["a"])[0].type_ids is None else (0,) * length


def _usual(model: HeadModel) -> Any:
    """Ids of tokens that are nothing special, of those that the model has an embedding for."""
    table = model.model.get_input_embeddings()
    size = min(len(model.tokenizer), int(getattr(table, "num_embeddings", 10**9)))
    added = set(getattr(model.tokenizer, "added_tokens_decoder", {})) | set(model.tokenizer.all_special_ids)
    return np.array(sorted(set(range(size)) - {int(i) for i in added}), dtype=np.int64)


def _few_logits(model: HeadModel) -> dict[str, int]:
    """Nobody reads the logits."""
    return {"logits_to_keep": 1} if "logits_to_keep" in inspect.signature(model.model.forward).parameters else {}


def _scores(model: HeadModel, sums: dict[Site, Any], name: str, n: int, length: int, seed: int) -> HeadScores:
    values = {kind: np.full(model.shape(kind), np.nan) for kind in model.kinds}
    errors = {kind: np.full(model.shape(kind), np.nan) for kind in model.kinds}
    for site, (plain, squares) in sums.items():
        mean = plain / n
        values[site.kind][site.layer, : site.n_heads] = mean
        if n > 1:
            variance = np.maximum(squares / n - mean**2, 0) / (n - 1)
            errors[site.kind][site.layer, : site.n_heads] = np.sqrt(variance)
    return HeadScores(
        values,
        stderr=errors if n > 1 else None,
        n=n,
        name=name,
        provenance=made(model, method=name, length=length, seed=seed, data="random tokens, repeated"),
        fingerprint=model.fingerprint,
    )
