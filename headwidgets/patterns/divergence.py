"""How far are all heads' rows apart? Jensen-Shannon divergences of every pair, a block at a time."""

import math

import torch
from torch import Tensor

_BLOCK = {"cpu": 1 << 17}
"""Numbers that are worked on at once: what fits a core's cache; elsewhere what keeps a device busy."""
_BLOCK_ELSEWHERE = 1 << 26
_TINY = 1e-30
"""Stands for 0, so that 0 log 0 is (almost) 0 without a test for every number."""


def pairwise(rows: Tensor, member: Tensor) -> Tensor:
    """Sums over rows of the Jensen-Shannon divergence between all pairs of heads, in nats.

    JS(p, q) = H(m) - (H(p) + H(q)) / 2 with m = (p + q) / 2; with s = p + q the sum of m log m needs one logarithm
    per pair and key.

    Args:
        rows: Distributions [rows, heads, keys], each summing to 1 over the keys.
        member: Which rows are added up together, float64 [groups, rows].

    Returns:
        float64 [groups, pairs], the pairs (0, 1), (0, 2), ..., (1, 2), ...
    """
    count, heads, keys = rows.shape
    device = rows.device
    total = torch.zeros(len(member), heads * (heads - 1) // 2, dtype=torch.float64, device=device)
    step = max(1, _BLOCK.get(device.type, _BLOCK_ELSEWHERE) // max(1, heads * keys))
    for start in range(0, count, step):
        block = rows[start : start + step].float().clamp_min(_TINY)
        own = (block * block.log()).sum(-1).double()  # sum of p log p
        mass = block.sum(-1).double()
        weight = member[:, start : start + step]
        at = 0
        for head in range(heads - 1):
            both = block[:, head : head + 1] + block[:, head + 1 :]
            mixed = both.log().mul_(both).sum(-1).double()  # sum of s log s
            half = (own[:, head : head + 1] + own[:, head + 1 :]) / 2
            half += math.log(2) / 2 * (mass[:, head : head + 1] + mass[:, head + 1 :])
            found = (half - mixed / 2).clamp_min_(0)
            width = heads - head - 1
            total[:, at : at + width] += weight @ found
            at += width
    return total
