"""How far are all heads' rows apart? Jensen-Shannon divergences of every pair, a block at a time."""

import math

import torch
from torch import Tensor

_BLOCK = {"cpu": 1 << 19}
"""Numbers that are worked on at once: a few megabytes, near a core; elsewhere what keeps a device busy."""
_BLOCK_ELSEWHERE = 1 << 26
_TINY = 1e-30
"""Stands for 0, so that 0 log 0 is (almost) 0 without a test for every number."""


def pairwise(rows: Tensor, member: Tensor) -> Tensor:
    """Sums over rows of the Jensen-Shannon divergence between all pairs of heads, in nats.

    JS(p, q) = H(m) - (H(p) + H(q)) / 2 with m = (p + q) / 2; with s = p + q the sum of m log m needs one logarithm
    per pair and key.

    Args:
        rows: Distributions [rows, heads, keys], each summing to 1 over the keys.
        member: Which rows are added up together, [groups, rows].

    Returns:
        [groups, pairs], the pairs (0, 1), (0, 2), ..., (1, 2), ...; float64 where the device has that.
    """
    count, heads, keys = rows.shape
    device = rows.device
    pairs = heads * (heads - 1) // 2
    precision = torch.float32 if device.type == "mps" else torch.float64
    member = member.to(precision).to(device)
    total = torch.zeros(len(member), pairs, dtype=precision, device=device)
    step = max(1, _BLOCK.get(device.type, _BLOCK_ELSEWHERE) // max(1, heads * keys))
    for start in range(0, count, step):
        block = rows[start : start + step].float().permute(1, 2, 0).clamp_min(_TINY).contiguous()  # heads, keys, rows
        own = (block * block.log()).sum(1) + math.log(2) * block.sum(1)  # of p log p, and log 2 of the whole row
        both, logs = torch.empty_like(block), torch.empty_like(block)
        found = torch.empty(pairs, block.shape[2], device=device)
        at = 0
        for head in range(heads - 1):
            width = heads - head - 1
            s, log = both[:width], logs[:width]
            torch.add(block[head], block[head + 1 :], out=s)
            torch.log(s, out=log)
            out = found[at : at + width]
            torch.sum(log.mul_(s), 1, out=out)
            out.neg_().add_(own[head]).add_(own[head + 1 :]).mul_(0.5).clamp_min_(0)
            at += width
        total += (found.to(precision) @ member[:, start : start + step].T).T
    return total
