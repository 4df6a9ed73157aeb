"""Statistics of where heads look, slowly: one query at a time, from the maps that eager attention returns."""

import math
import unicodedata

import numpy as np
import torch

SPECIAL = {"encoder": "encoder_attentions", "decoder": "decoder_attentions", "cross": "cross_attentions"}


def eager_maps(model, example):
    """By kind, float64 [layers, heads, query, key], as transformers' own eager attention returns them."""
    (batch,) = model.batches([example])
    before = model.model.config._attn_implementation
    model.model.set_attn_implementation("eager")
    try:
        with torch.no_grad():
            out = model.model(**batch.inputs, output_attentions=True, return_dict=True)
    finally:
        model.model.set_attn_implementation(before)
    found = {}
    for kind in model.kinds:
        layers = out["attentions"] if "attentions" in out else out[SPECIAL[kind]]
        found[kind] = torch.cat(list(layers)).double().numpy()
    return found


def sides(example, kind):
    target = example.target or example.source
    return (
        example.source if kind == "encoder" else target,
        target if kind == "decoder" else example.source,
    )


def text_of(side, i):
    span = side.offsets[i]
    return "" if side.special[i] or span is None else side.sources[side.segments[i]][span[0] : span[1]]


def punctuation(text):
    return bool(text) and all(unicodedata.category(c)[0] == "P" for c in text)


def classes(side):
    n = len(side)
    special = [bool(s) for s in side.special]
    return {
        "text": [not s for s in special],
        "content": [not special[i] and i > 0 for i in range(n)],
        "first": [i == 0 for i in range(n)],
        "separators": [special[i] and i > 0 for i in range(n)],
        "punctuation": [punctuation(text_of(side, i)) for i in range(n)],
    }


def entropy(row):
    return -sum(a * math.log(a) for a in row if a > 0)


def one_row(row, i, seen, query, key, offsets):
    """Every statistic of one query's row: name, number; what the query is not asked about is not in it."""
    n = len(row)
    found = {}
    keys = [j for j in range(n) if seen(i, j)]
    content = [j for j in keys if key["content"][j]]
    left = sum(row[j] for j in content)
    rest = {j: row[j] / left for j in content} if left >= 1e-6 else {}
    if query["first"][i] and len(keys) > 1:  # a causal first token has no choice
        found["entropy_first"] = entropy(row)
    for name in ("separators", "punctuation", "first"):
        members = [j for j in keys if key[name][j]]
        own = {"first": "first_from_first"}.get(name, f"{name}_from_{name}")
        if members and query["text"][i]:
            found[name] = sum(row[j] for j in members)
        if members and query[name][i]:
            found[own] = sum(row[j] for j in members)
    if not query["text"][i]:
        return found
    text = [j for j in keys if key["text"][j]]
    best = max(text, key=lambda j: row[j])
    found["confidence"] = row[best]
    found["entropy"] = entropy(row)
    if len(keys) > 1:
        found["entropy_relative"] = entropy(row) / math.log(len(keys))
    found["distance"] = sum(row[j] * abs(j - i) for j in range(n))
    for d in offsets:
        if i + d in keys:
            found[f"offset{d:+d}"] = row[i + d]
        if i + d in text:
            found[f"peak{d:+d}"] = float(best == i + d)
    if content:
        top = max(content, key=lambda j: row[j])
        found["confidence_content"] = row[top]
        for d in offsets:
            if i + d in content:
                found[f"peak{d:+d}_content"] = float(top == i + d)
    if rest:
        found["entropy_content"] = entropy(rest.values())
        if len(content) > 1:
            found["entropy_relative_content"] = entropy(rest.values()) / math.log(len(content))
        found["distance_content"] = sum(a * abs(j - i) for j, a in rest.items())
        marks = [j for j in content if key["punctuation"][j]]
        if marks:
            found["punctuation_content"] = sum(rest[j] for j in marks)
        for d in offsets:
            if i + d in rest:
                found[f"offset{d:+d}_content"] = rest[i + d]
    return found


def statistics(model, examples, offsets=(-2, -1, 0, 1, 2), seen=None):
    """By name and kind, [layers, heads]: sums over queries of all texts by their number.

    Args:
        model: A HeadModel.
        examples: Encoded texts.
        offsets: Which.
        seen: By kind and layer, whether query i may see key j; by default all keys, in decoders up to the query.
    """
    sums, counts = {}, {}
    for example in examples:
        for kind, maps in eager_maps(model, example).items():
            query, key = (classes(side) for side in sides(example, kind))
            for (layer, head), _ in np.ndenumerate(maps[:, :, 0, 0]):
                sees = (seen or default)(kind, layer)
                for i in range(maps.shape[2]):
                    row = maps[layer, head, i].tolist()
                    for name, number in one_row(row, i, sees, query, key, offsets).items():
                        at = (name, kind)
                        sums.setdefault(at, np.zeros(maps.shape[:2]))[layer, head] += number
                        counts.setdefault(at, np.zeros(maps.shape[:2]))[layer, head] += 1
    return {at: np.divide(x, counts[at], out=np.full(x.shape, np.nan), where=counts[at] > 0) for at, x in sums.items()}


def default(kind, layer):
    return (lambda i, j: j <= i) if kind == "decoder" else (lambda i, j: True)
