"""Do tasks of one kind need the same heads? Head importance of three fine-tunings of one encoder, correlated.

    HEADWIDGETS_DATA=folder python -m bench.tasks [--texts 200]

Hao et al. 2021 (section 4.3, Fig. 4) find that tasks on pairs of sentences agree with each other more than with SST-2.
Here: SST-2 (sentences), MRPC and SICK (pairs), each from its own training split. The claim is a difference of
correlations on the same heads, so it is tested as one.
"""

import argparse
import time
from typing import Any

import torch

from bench import data
from headwidgets.attribution import correlate, importance
from headwidgets.attribution.correlation import compare_correlations
from headwidgets.scores import Interval

TASKS = {"sst2": data.sst2, "mrpc": data.mrpc, "sick": data.sick}


def measure(n: int, threads: int = 2) -> tuple[dict[str, Any], dict[str, float]]:
    """Importance by task, and seconds."""
    torch.set_num_threads(threads)
    scores, seconds = {}, {}
    for name, read in TASKS.items():
        texts, labels = data.some(*read("train"), n)
        begun = time.perf_counter()
        scores[name] = importance(data.model(name), texts, labels, method="attribution")
        seconds[name] = time.perf_counter() - begun
    return scores, seconds


def _shown(found: Interval | None) -> str:
    return "" if found is None else f"{found.value:+.2f} ({found.low:+.2f} to {found.high:+.2f})"


def table(n: int = 200, threads: int = 2) -> str:
    """What `python -m bench` prints."""
    scores, seconds = measure(n, threads)
    pairs = {(a, b): correlate(scores[a], scores[b]) for a, b in (("mrpc", "sick"), ("sst2", "mrpc"), ("sst2", "sick"))}
    took = ", ".join(f"{name} {s:.0f} s" for name, s in seconds.items())
    lines = [
        "## Importance across tasks",
        "",
        f"Attribution of {n} training examples a task ({took}); 72 heads of the same encoder, fine-tuned three times. "
        f"Intervals: {pairs['mrpc', 'sick'].resampled}.",
        "",
        "| tasks | Pearson r | Spearman | within layers | ceiling |",
        "| --- | --- | --- | --- | --- |",
    ]
    for (a, b), found in pairs.items():
        cells = [_shown(i) for i in (found.pearson, found.spearman, found.within_layers, found.ceiling)]
        lines.append(f"| {a}, {b} | " + " | ".join(cells) + " |")
    lines += [
        "",
        "| how much more do the pair tasks agree? | Pearson r | Spearman | within layers |",
        "| --- |" + " --- |" * 3,
    ]
    for other in (("sst2", "mrpc"), ("sst2", "sick")):
        gap = compare_correlations(pairs["mrpc", "sick"], pairs[other])
        cells = [_shown(i) for i in (gap.pearson, gap.spearman, gap.within_layers)]
        lines.append(f"| (mrpc, sick) less ({', '.join(other)}) | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", type=int, default=200)
    parser.add_argument("--threads", type=int, default=2)
    given = parser.parse_args()
    print(table(given.texts, given.threads))


if __name__ == "__main__":
    main()
