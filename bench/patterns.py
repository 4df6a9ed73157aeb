"""Statistics of where heads look on 2,000 sentences, against the published way and against careful eager code.

    HEADWIDGETS_DATA=folder python -m bench.patterns [--threads 2] [--sentences 2000] [--repeats 3]

The published way (the code of Clark et al. 2019): eager attention that returns every map, batches of 32 padded to 128
tokens, statistics in NumPy text by text, cut to its length. Careful: eager too, but batches sorted by length, and
statistics in torch over whole batches. Ours: `headwidgets.patterns.summary`, under the model's own attention, with
standard errors and everything else that it measures. All three begin with texts, and what all three measure
(confidence, entropy, five kinds of targets) has to agree.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np
import torch
from torch import Tensor

import headwidgets as hw
from bench.data import folder
from bench.memory import GIVES_BACK, peak
from headwidgets import patterns
from headwidgets.text.treebank import Treebank

BATCH, PADDED = 32, 128
NAMES = ("confidence", "entropy", "entropy_first", "offset-1", "offset+0", "offset+1", "separators", "first")
"""What all ways measure."""


def sentences(n: int) -> list[str]:
    """The first `n` sentences of UD EWT's dev and test set that fit into 128 tokens."""
    model = load("sdpa")
    found: list[str] = []
    for part in ("dev", "test"):
        texts = [s.text for s in Treebank.read(folder() / f"data/ud/en_ewt/en_ewt-ud-{part}.conllu.gz")]
        found += [text for text in texts if len(model.tokenizer(text)["input_ids"]) <= PADDED]
    return found[:n]


def load(implementation: str) -> Any:
    return hw.load(str(folder() / "models/sst2"), attn_implementation=implementation)


def published(model: Any, texts: list[str]) -> dict[str, np.ndarray]:
    """Every map of a batch leaves the model, and each text is looked at alone in NumPy."""
    sums = {name: np.zeros(model.shape("encoder")) for name in NAMES}
    counts = dict.fromkeys(NAMES, 0)
    with torch.inference_mode():
        for start in range(0, len(texts), BATCH):
            inputs = model.tokenizer(
                texts[start : start + BATCH], padding="max_length", max_length=PADDED, return_tensors="pt"
            )
            out = model.model(**inputs, output_attentions=True)
            maps = np.stack([layer.numpy() for layer in out.attentions], 1)  # [texts, layers, heads, query, key]
            for whole, n in zip(maps, inputs["attention_mask"].sum(1).tolist(), strict=True):
                one = whole[:, :, :n, :n]
                own = one[:, :, 1:-1]  # [CLS] and [SEP] ask nothing
                entropies = -(one * np.log(np.maximum(one, 1e-38))).sum(-1)
                found = {
                    "confidence": own[..., 1:-1].max(-1).sum(-1),
                    "entropy": entropies[..., 1:-1].sum(-1),
                    "entropy_first": entropies[..., 0],
                    "offset-1": np.trace(own, 0, 2, 3),
                    "offset+0": np.trace(own, 1, 2, 3),
                    "offset+1": np.trace(own, 2, 2, 3),
                    "separators": own[..., -1].sum(-1),
                    "first": own[..., 0].sum(-1),
                }
                for name, numbers in found.items():
                    sums[name] += numbers
                    counts[name] += 1 if name == "entropy_first" else n - 2
    return {name: sums[name] / counts[name] for name in NAMES}


def careful(model: Any, texts: list[str]) -> dict[str, np.ndarray]:
    """Batches sorted by length; maps stay in torch, and all texts of a batch are looked at together."""
    sums = {name: torch.zeros(model.shape("encoder"), dtype=torch.float64) for name in NAMES}
    counts = dict.fromkeys(NAMES, 0.0)
    examples = model.encode(texts)
    with torch.inference_mode():
        for batch in model.batches(examples, max_tokens=1024):
            out = model.model(**batch.inputs, output_attentions=True)
            mask = batch.inputs["attention_mask"].bool()
            length = mask.sum(1)
            at = torch.arange(mask.shape[1])
            last = at[None] == length[:, None] - 1
            text = mask & ~last & (at > 0)
            asked = text[:, None].float()
            for layer, one in enumerate(out.attentions):
                entropies = -(one * one.clamp_min(1e-38).log()).sum(-1)
                found: dict[str, Tensor] = {
                    "confidence": one.masked_fill(~text[:, None, None], 0).amax(-1) * asked,
                    "entropy": entropies * asked,
                    "entropy_first": entropies[..., :1],
                    "offset-1": one.diagonal(-1, -2, -1) * asked[..., 1:],
                    "offset+0": one.diagonal(0, -2, -1) * asked,
                    "offset+1": one.diagonal(1, -2, -1) * asked[..., :-1],
                    "separators": (one * last[:, None, None]).sum(-1) * asked,
                    "first": one[..., 0] * asked,
                }
                for name, numbers in found.items():
                    sums[name][layer] += numbers.sum((0, 2), dtype=torch.float64)
            for name in NAMES:
                counts[name] += len(batch) if name == "entropy_first" else float(text.sum())
    return {name: (sums[name] / counts[name]).numpy() for name in NAMES}


def ours(model: Any, texts: list[str], statistics: tuple[str, ...] | None = NAMES) -> dict[str, np.ndarray]:
    found = patterns.summary(model, texts, statistics=statistics)
    return {name: found[name].values["encoder"] for name in NAMES}


def measure(n: int, repeats: int) -> dict[str, Any]:
    """Seconds on the clock and of processor time by way, median over repeats."""
    texts = sentences(n)
    eager, fast = load("eager"), load("sdpa")
    ways: dict[str, Callable[[], dict[str, np.ndarray]]] = {
        "published": lambda: published(eager, texts),
        "careful": lambda: careful(eager, texts),
        "ours": lambda: ours(fast, texts),
        "all": lambda: ours(fast, texts, None),
    }
    for way in (careful, ours):  # what is loaded late is loaded
        way(eager if way is careful else fast, texts[:20])
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
    for _ in range(repeats):
        values = {}
        for name, way in ways.items():
            clock, cpu = time.perf_counter(), time.process_time()
            values[name] = way()
            found[name].append((time.perf_counter() - clock, time.process_time() - cpu))
        for name in NAMES:
            for other in ("published", "careful"):
                np.testing.assert_allclose(values["ours"][name], values[other][name], atol=2e-5, err_msg=name)
    lengths = [len(example) for example in fast.encode(texts)]
    return {
        **{name: tuple(median(column) for column in zip(*rows, strict=True)) for name, rows in found.items()},
        "length": float(np.mean(lengths)),
        "n": len(texts),
    }


def memory(n: int) -> float:
    """Peak MiB of a summary above the loaded model and one long text, in this process."""
    torch.set_num_threads(1)
    model = load("sdpa")
    texts = sentences(2000)
    longest = max(texts, key=len)
    patterns.summary(model, [longest] * 16)
    before = peak()
    patterns.summary(model, [longest, *texts[: n - 1]])
    return peak() - before


def _memory_apart(n: int) -> float:
    command = [sys.executable, "-m", "bench.patterns", "--memory", str(n)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env={**os.environ, **GIVES_BACK})
    return float(json.loads(done.stdout.splitlines()[-1]))


def table(n: int = 2000, repeats: int = 3, threads: int = 2) -> str:
    """The table of this benchmark, in Markdown."""
    torch.set_num_threads(threads)
    title = "## Statistics of where heads look"
    if not os.environ.get("HEADWIDGETS_DATA"):
        return f"{title}\n\nNot measured: HEADWIDGETS_DATA names no folder.\n"
    found = measure(n, repeats)
    rows = [
        ("published: eager, batches of 32 padded to 128, NumPy (8 statistics)", "published"),
        ("careful: eager, batches sorted by length, torch (8 statistics)", "careful"),
        ("ours: `patterns.summary(statistics=...)` (the same 8, with standard errors)", "ours"),
        ("ours: `patterns.summary` (36 statistics, with standard errors)", "all"),
    ]
    own = found["ours"]
    lines = [
        f"| {label} | {found[key][0]:.2f} s | {found[key][0] / own[0]:.2f} | {found[key][1] / own[1]:.2f} |"
        for label, key in rows
    ]
    sizes = sorted({n // 4, n})
    peaks = ", ".join(f"{_memory_apart(size):.0f} MiB for {size:,}" for size in sizes)
    return "\n".join(
        [
            title,
            "",
            f"All heads of the SST-2 classifier (6 layers x 12 heads), {found['n']:,} sentences of UD EWT of "
            f"{found['length']:.0f} tokens on average, tokenisation included, {threads} threads, median of {repeats} "
            "rounds, all ways in turn in one process; the eight statistics agree to 2e-5. Targets: at least 3 times "
            "the published way, not slower than the careful one.",
            "",
            "| way | time | times ours | times ours, processor time |",
            "| --- | --- | --- | --- |",
            *lines,
            "",
            f"Peak memory above the model and a batch of the longest text: {peaks} sentences.",
            "",
        ]
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--sentences", type=int, default=2000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--memory", type=int, default=0, help="only the peak memory of so many sentences, as JSON")
    options = parser.parse_args()
    if options.memory:
        print(json.dumps(memory(options.memory)))
    else:
        print(table(options.sentences, options.repeats, options.threads))
