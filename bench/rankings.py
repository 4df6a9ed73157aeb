"""Which ranking of heads prunes best? Six rankings of an SST-2 classifier, on all dev sentences.

    HEADWIDGETS_DATA=folder python -m bench.rankings [--texts 200] [--random 20] [--save docs/images]

Each ranking is measured on the same training sentences and judged on the same dev sentences; the band is 20 random
orders. Intervals of areas and of differences are paired over the dev sentences.
"""

import argparse
import time
from pathlib import Path

import torch

import headwidgets as hw
from bench import data
from headwidgets.attribution import importance
from headwidgets.pruning import compare

RANKINGS = ("attribution", "taylor", "relevance", "ablation", "confidence")
COUNTS = (0, 7, 14, 22, 29, 36, 43, 50, 58, 65, 72)
"""Of 72 heads, in steps of a tenth."""


def measure(n: int, random: int, threads: int = 2) -> tuple[hw.pruning.Comparison, dict[str, float]]:
    """The comparison, and the seconds that each ranking took."""
    torch.set_num_threads(threads)
    model = data.model("sst2")
    texts, labels = data.some(*data.sst2("train"), n)
    scores, seconds = {}, {}
    for method in RANKINGS:
        begun = time.perf_counter()
        scores[method] = importance(model, texts, labels, method=method)
        seconds[method] = time.perf_counter() - begun
    return compare(model, scores, *data.sst2("dev"), counts=COUNTS, random=random), seconds


def _above(found: hw.pruning.Comparison, name: str, other: str) -> str:
    """How much larger the area of one is, paired on the same sentences."""
    ends = found.differences.get((name, other))
    if ends is not None:
        return f"{ends.value:+.3f} ({ends.low:+.3f} to {ends.high:+.3f})"
    ends = found.differences.get((other, name))
    return f"{-ends.value:+.3f} ({-ends.high:+.3f} to {-ends.low:+.3f})" if ends is not None else ""


def report(found: hw.pruning.Comparison, seconds: dict[str, float], n: int) -> str:
    """Markdown tables: areas, accuracy by count, and where a curve falls below the random mean."""
    draws = found.random.draws if found.random else 0
    lines = [
        "## Rankings of heads",
        "",
        f"SST-2 classifier of {found.heads} heads: importance on {n} training sentences, accuracy on {found.n} dev "
        f"sentences, zero ablation, no retraining; the control is the mean of {draws} random orders. Area: mean "
        "accuracy over the share of heads pruned.",
        "",
        "| ranking | seconds | area (95 %) | above random (95 %) | above attribution (95 %) | worse than random at |",
        "| --- | --: | --- | --- | --- | --- |",
    ]
    for name, area in found.areas.items():
        shown = f"{area.value:.3f} ({area.low:.3f} to {area.high:.3f})"
        above, than_first = (_above(found, name, other) for other in ("random orders", RANKINGS[0]))
        worse = ", ".join(map(str, found.worse_than_random(name))) or "nowhere" if name in found.curves else ""
        took = f"{seconds[name]:.0f}" if name in seconds else ""
        lines.append(f"| {name} | {took} | {shown} | {above} | {than_first} | {worse} |")
    head = " | ".join(map(str, found.counts))
    lines += ["", f"| accuracy with this many pruned | {head} |", "| --- |" + " --: |" * len(found.counts)]
    for name, curve in found.curves.items():
        lines.append(f"| {name} | " + " | ".join(f"{e.value:.3f}" for e in curve.estimates) + " |")
    if found.random is not None:
        lines.append("| random orders, mean | " + " | ".join(f"{v:.3f}" for v in found.random.mean) + " |")
        spread = zip(found.random.low, found.random.high, strict=True)
        lines.append("| random orders, 2.5 to 97.5 % | " + " | ".join(f"{a:.2f}-{b:.2f}" for a, b in spread) + " |")
    return "\n".join(lines)


def table() -> str:
    """What `python -m bench` prints."""
    return report(*measure(200, 20), 200)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", type=int, default=200)
    parser.add_argument("--random", type=int, default=20)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--save", type=Path, help="a folder for the chart, light and dark")
    given = parser.parse_args()
    found, seconds = measure(given.texts, given.random, given.threads)
    print(report(found, seconds, given.texts))
    if given.save:
        view = hw.CurveView(found)
        for theme in ("light", "dark"):
            view.save(given.save / f"rankings-{theme}.png", theme=theme, width=760)
        view.close()


if __name__ == "__main__":
    main()
