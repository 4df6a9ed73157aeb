"""Attribution: time and error against the published rule, side by side in one run.

    HEADWIDGETS_DATA=folder python -m bench.attribution [--threads 1] [--sentences 10] [--repeats 3]
    HEADWIDGETS_DATA=folder python -m bench.attribution --check [--sentences 50] [--points 500]

The published way (Hao et al. 2021, and their code): eager attention, a clean pass per layer, the left rule with 20
points, the probability of the predicted class, one text at a time. Two versions of it are timed: with one full pass per
point and layer (20 points in a batch), and with the layers below the attributed one at batch 1, as the authors' code
runs them. Neither is padded to 128 tokens, as the authors' code does; that would make it several times slower on these
sentences. Beside them stand the published rule with our prefix reuse, and Captum's integrated gradients over the same
maps.

The error of a layer is the largest error of an entry relative to the layer's largest entry, against 64 Gauss points.
``--check`` compares with an independent midpoint reference, a full pass per point, and prints completeness gaps.
"""

import argparse
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

import headwidgets as hw
from bench.rivals import captum, has_captum, published
from headwidgets.attribution import attribute

SEED = 0


def sentences(n: int) -> list[str]:
    lines = Path(os.environ["HEADWIDGETS_DATA"], "data/sst2/stsa.binary.dev").read_text("utf-8").splitlines()
    order = np.random.default_rng(SEED).permutation(len(lines))[:n]
    return [lines[i].split(" ", 1)[1] for i in order]


def load(implementation: str) -> Any:
    return hw.load(str(Path(os.environ["HEADWIDGETS_DATA"], "models/sst2")), attn_implementation=implementation)


def errors(found: list[Any], reference: list[Any]) -> np.ndarray:
    """Per text and layer, largest error relative to the layer's largest entry."""
    return np.array(
        [
            [float(np.abs(a - b).max() / np.abs(b).max()) for a, b in zip(one, two, strict=True)]
            for one, two in zip(found, reference, strict=True)
        ]
    )


def ways(texts: list[str], eager: Any, sdpa: Any) -> dict[str, Callable[[], list[Any]]]:
    """Everything that is timed; each gives maps by text and layer."""
    left = np.arange(20) / 20

    def ours(batched: bool, **options: Any) -> Callable[[], list[Any]]:
        def run() -> list[Any]:
            given = {"output": "probability", **options}
            if batched:
                return [a.maps["encoder"] for a in attribute(sdpa, texts, **given)]
            return [attribute(sdpa, text, **given).maps["encoder"] for text in texts]

        return run

    found: dict[str, Callable[[], list[Any]]] = {
        "published, a full pass per point and layer": lambda: [published(eager, t, left, 20, False) for t in texts],
        "published, lower layers at batch 1": lambda: [published(eager, t, left, 20, True) for t in texts],
    }
    found["the published rule with prefix reuse (ours, rule='left', 20 points)"] = ours(False, rule="left", steps=20)
    if has_captum():
        for steps in (3, 4, 8):
            found[f"Captum, Gauss-Legendre with {steps} points"] = lambda n=steps: [captum(eager, t, n) for t in texts]
    for batched in (False, True):
        how = "all texts at once" if batched else "one text at a time"
        found[f"ours, {how}, automatic (tolerance 1e-3)"] = ours(batched)
        found[f"ours, {how}, automatic (tolerance 2e-2)"] = ours(batched, tolerance=2e-2)
        for steps in (2, 3, 4, 8):
            found[f"ours, {how}, {steps} points"] = ours(batched, steps=steps)
    return found


def compare(n: int, threads: int, repeats: int) -> str:
    """The table of times and errors."""
    torch.set_num_threads(threads)
    texts = sentences(n)
    eager, sdpa = load("eager"), load("sdpa")
    reference = [a.maps["encoder"].astype(np.float64) for a in attribute(sdpa, texts, output="probability", steps=64)]
    timed = ways(texts, eager, sdpa)
    wall: dict[str, list[float]] = {name: [] for name in timed}
    used: dict[str, list[float]] = {name: [] for name in timed}
    results: dict[str, list[Any]] = {}
    for _ in range(repeats):
        for name, run in timed.items():
            start, busy = time.perf_counter(), time.process_time()
            results[name] = run()
            wall[name].append(time.perf_counter() - start)
            used[name].append(time.process_time() - busy)
    base = next(iter(timed))
    length = np.mean([len(e) for e in sdpa.encode(texts)])
    lines = [
        f"{n} SST-2 dev sentences (mean {length:.1f} tokens), BERT of 6 layers x 12 heads, {threads} thread(s), best "
        f"of {repeats} rounds, each way once per round. Error: largest error of an entry of a layer, relative to the "
        "layer's largest entry, against 64 Gauss points.",
        "",
        "| way | ms per text | times faster | in CPU time | mean error | 90 % | worst |",
        "| --- | --: | --: | --: | --: | --: | --: |",
    ]
    for name in timed:
        error = errors(results[name], reference)
        lines.append(
            f"| {name} | {1000 * min(wall[name]) / n:.0f} | {min(wall[base]) / min(wall[name]):.1f} "
            f"| {min(used[base]) / min(used[name]):.1f} | {error.mean():.2%} | {np.quantile(error, 0.9):.2%} "
            f"| {error.max():.2%} |"
        )
    return "\n".join(lines)


def check(n: int, points: int, threads: int, *, loud: bool = False) -> str:
    """The table of gaps and errors against an independent reference."""
    torch.set_num_threads(threads)
    texts = sentences(n)
    eager, sdpa = load("eager"), load("sdpa")
    found = attribute(sdpa, texts, output="probability")
    gaps = np.array([a.gap["encoder"] for a in found])
    middle = (np.arange(points) + 0.5) / points
    rows = []
    for i, text in enumerate(texts):
        rows.append(errors([found[i].maps["encoder"]], [published(eager, text, middle, 25, True)])[0])
        if loud:
            print(f"{i + 1}/{n}: gap {gaps[i].max():.1e}, entries {max(rows[-1]):.2%}", flush=True)
    error, steps = np.array(rows), np.array([a.steps["encoder"] for a in found])
    lines = [
        f"{n} SST-2 dev sentences, probability of the predicted class, tolerance 1e-3, against an independent midpoint "
        f"rule with {points} points and a pass per point.",
        "",
        "| layer | mean points | largest completeness gap | mean error of entries | largest error of entries |",
        "| --- | --: | --: | --: | --: |",
    ]
    for layer in range(gaps.shape[1]):
        own = error[:, layer]
        lines.append(
            f"| {layer} | {steps[:, layer].mean():.1f} | {gaps[:, layer].max():.1e} | {own.mean():.3%} "
            f"| {own.max():.3%} |"
        )
    return "\n".join(lines)


def table(n: int = 10, repeats: int = 3, checked: int = 6) -> str:
    """What `python -m bench` prints."""
    parts = ["## Attribution", compare(n, 2, repeats), compare(n, 1, repeats), check(checked, 500, 2)]
    return "\n\n".join(parts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--sentences", type=int)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--points", type=int, default=500)
    parser.add_argument("--check", action="store_true", help="compare with an independent midpoint reference")
    given = parser.parse_args()
    if given.check:
        print(check(given.sentences or 50, given.points, given.threads, loud=True))
    else:
        print(compare(given.sentences or 10, given.threads, given.repeats))


if __name__ == "__main__":
    main()
