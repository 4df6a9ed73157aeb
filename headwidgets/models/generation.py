"""Do gates act while a model generates with its cache? Compared, step by step, with generation without one."""

from typing import Any

import torch
from torch import Tensor

from headwidgets.models.trials import make_trial

STEPS = 3
_REFUSALS = (AttributeError, IndexError, KeyError, NotImplementedError, RuntimeError, TypeError, ValueError)
Line = tuple[str, bool | None, str, float | None, float | None]


def _generated(model: Any, inputs: dict[str, Tensor], cached: bool) -> tuple[Tensor, Tensor]:
    """New tokens [batch, steps] and their logits [batch, steps, vocabulary], greedy."""
    produced = model.model.generate(
        **inputs,
        do_sample=False,
        num_beams=1,
        max_new_tokens=STEPS,
        min_new_tokens=STEPS,
        use_cache=cached,
        return_dict_in_generate=True,
        output_logits=True,
        pad_token_id=model.pad_id,
    )
    return produced.sequences[:, -STEPS:], torch.stack(produced.logits, dim=1).float()


def generation_check(model: Any, seed: int) -> list[Line]:
    """Lines (name, passed, detail, error, tolerance) for `verify`; none for a model that does not generate."""
    root = model.model
    if "decoder" not in model.kinds or not hasattr(root, "can_generate") or not root.can_generate():
        return []
    name = "gates act alike in generate with and without cache"
    trial = make_trial(model, "left", seed)
    inputs = {k: v for k, v in trial.inputs.items() if not k.startswith("decoder_")}
    if not model.is_encoder_decoder and "encoder_hidden_states" in inputs:
        return [(name, None, "a decoder that reads another model's states is not generated from here", None, None)]
    handlers = {}
    for site in model.sites:
        factors = torch.ones(site.n_heads, device=model.device)
        factors[: max(1, site.n_heads // 2)] = 0

        def close(heads: Tensor, factors: Tensor = factors) -> Tensor:
            return heads * factors.to(heads.dtype)[:, None]

        handlers[site] = close
    with torch.no_grad():
        try:
            with model.visit():
                free_tokens, free = _generated(model, inputs, True)
                plain_tokens, plain = _generated(model, inputs, False)
        except _REFUSALS as error:
            return [(name, None, f"the bare model does not generate ({type(error).__name__}: {error})", None, None)]
        with model.visit(outputs=handlers):
            tokens, cached = _generated(model, inputs, True)
        with model.visit(outputs=handlers):
            other_tokens, uncached = _generated(model, inputs, False)
    if torch.equal(free, cached):
        return [(name, False, "gates change nothing", None, None)]
    tolerance = max(1e-4, 32 * torch.finfo(next(root.parameters()).dtype).eps)
    own = _difference(free_tokens, free, plain_tokens, plain)
    if own > tolerance:
        return [(name, None, f"the bare model's own cache changes its logits by {own:.1e}", None, None)]
    worst = _difference(tokens, cached, other_tokens, uncached)
    return [(name, worst <= tolerance, "", worst, tolerance)]


def _difference(tokens: Tensor, logits: Tensor, other_tokens: Tensor, other_logits: Tensor) -> float:
    """The largest difference relative to the largest logit, as long as all tokens before are the same."""
    compared = torch.ones_like(tokens, dtype=torch.bool)
    compared[:, 1:] = torch.cumprod((tokens == other_tokens).long(), dim=1).bool()[:, :-1]
    return float((logits - other_logits)[compared].abs().max()) / max(1.0, float(other_logits.abs().max()))
