"""How relevance goes through one head's attention: softmax(q k^T) v as a step of its own."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from headwidgets.attribution.relevance.rules import ONE_SIGN, SOFTMAX, Rule, Spread, multilinear, stabilised
from headwidgets.models.maps import probabilities

_CHUNK = 8_000_000


class Attention:
    """The arguments of one call of torch's `scaled_dot_product_attention`, without its tensors."""

    def __init__(self, width: int, mask: Tensor | None, causal: bool, scale: float | None) -> None:
        self.mask, self.causal = mask, causal
        self.scale = width**-0.5 if scale is None else scale

    def weights(self, query: Tensor, key: Tensor) -> Tensor:
        """The map [batch, heads, query, key]."""
        return probabilities(query, key, self.mask, scaling=self.scale, causal=self.causal)

    def run(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        """The heads' outputs [batch, heads, query, head_dim]."""
        return self.weights(query, key) @ value

    def spread(self, rule: Rule, tensors: Sequence[Tensor], out: Tensor, relevance: Tensor) -> Spread:
        """Relevance of queries, keys and values.

        With attention weights as constants values get all of it. Else ``plus-minus`` takes the joint Jacobian of the
        three, as the published code does, and the other rules those of AttnLRP: one half to values, one half to the
        weights, through the softmax by its Taylor rule, and on to queries and keys by halves.
        """
        query, key, value = (t.detach() for t in tensors)
        weights = self.weights(query, key)
        if not rule.full:
            (_, part), lost = multilinear(rule, torch.matmul, (weights, value), (False, True), out, relevance)
            return [None, None, part], lost
        if rule.name == "plus-minus":
            return self._joint(rule.eps, weights, query, key, value, out, relevance)
        share = relevance / stabilised(out, rule.eps)
        to_values = 0.5 * value * (weights.transpose(-1, -2) @ share)
        to_weights = 0.5 * weights * (share @ value.transpose(-1, -2))
        slope = to_weights - weights * to_weights.sum(-1, keepdim=True)
        to_query = 0.5 * query * (slope @ key) * self.scale
        to_key = 0.5 * key * (slope.transpose(-1, -2) @ query) * self.scale
        lost = {SOFTMAX: to_weights.sum(-1) - 2 * to_query.sum(-1)}  # queries and keys get the same sum
        return [to_query, to_key, to_values], lost

    def _joint(
        self, eps: float, weights: Tensor, query: Tensor, key: Tensor, value: Tensor, out: Tensor, relevance: Tensor
    ) -> Spread:
        """T of z = J x for J of all three at once. With o the output, and s the scale,

        - for v_jd: z_id = A_ij v_jd;
        - for k_jc: z_id = a_ijd b_ijc with a_ijd = A_ij (v_jd - o_id) and b_ijc = s q_ic k_jc, whose positive part is
          that of a times that of b and negative times negative, so that sums over c are taken of b alone;
        - for q_ic: z_id = s q_ic sum_j a_ijd k_jc.
        """
        shape, rows = query.shape, int(query.shape[:-2].numel())
        flat: list[Any] = [t.reshape(rows, *t.shape[-2:]) for t in (weights, query, key, value, out, relevance)]
        parts = [torch.zeros_like(t) for t in flat[1:4]]
        missing = torch.zeros_like(flat[5])
        seen = flat[5].abs().sum((0, 2)).nonzero().flatten()  # queries that anything arrives at
        size = max(1, _CHUNK // max(1, rows * key.shape[-2] * max(key.shape[-1], value.shape[-1])))
        for at in seen.split(size):
            gone = self._joint_of(eps, at, flat, parts)
            missing[:, at] = gone
        found: list[Tensor | None] = [part.view(t.shape) for part, t in zip(parts, (query, key, value), strict=True)]
        return found, {ONE_SIGN: missing.view(*shape[:-1], -1)}

    def _joint_of(self, eps: float, at: Tensor, flat: list[Tensor], parts: list[Tensor]) -> Tensor:
        weights, query, out, relevance = (flat[i][:, at] for i in (0, 1, 4, 5))
        key, value = flat[2], flat[3]
        a = weights[..., None] * (value[:, None] - out[:, :, None])  # [rows, i, j, d]
        b = self.scale * query[:, :, None] * key[:, None]  # [rows, i, j, c]
        a_up, a_down, b_up, b_down = a.clamp(min=0), a.clamp(max=0), b.clamp(min=0), b.clamp(max=0)
        b_above, b_below = b_up.sum(-1), b_down.sum(-1)
        z_query = self.scale * query[:, :, None] * torch.einsum("rijd,rjc->ridc", a, key)
        q_up, q_down = z_query.clamp(min=0), z_query.clamp(max=0)
        v_up, v_down = value.clamp(min=0), value.clamp(max=0)
        above = weights @ v_up + q_up.sum(-1) + _over(a_up, b_above) + _over(a_down, b_below)
        below = weights @ v_down + q_down.sum(-1) + _over(a_up, b_below) + _over(a_down, b_above)
        plus, minus = 0.5 * relevance / (above + eps), 0.5 * relevance / (below - eps)
        parts[0][:, at] = torch.einsum("ridc,rid->ric", q_up, plus) + torch.einsum("ridc,rid->ric", q_down, minus)
        with_up = torch.einsum("rijd,rid->rij", a_up, plus) + torch.einsum("rijd,rid->rij", a_down, minus)
        with_down = torch.einsum("rijd,rid->rij", a_down, plus) + torch.einsum("rijd,rid->rij", a_up, minus)
        parts[1] += torch.einsum("rijc,rij->rjc", b_up, with_up) + torch.einsum("rijc,rij->rjc", b_down, with_down)
        turned = weights.transpose(-1, -2)
        parts[2] += v_up * (turned @ plus) + v_down * (turned @ minus)
        none_above, none_below = (above <= 0).to(above.dtype), (below >= 0).to(above.dtype)
        return 0.5 * relevance * (none_above + none_below)


def _over(a: Tensor, b: Tensor) -> Tensor:
    return torch.einsum("rijd,rij->rid", a, b)
