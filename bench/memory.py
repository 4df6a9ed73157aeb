"""Memory: the peak of attribution over points and over examples, each in a process of its own.

    HEADWIDGETS_DATA=folder python -m bench memory

Peak resident memory of a process (on CUDA: of the allocator) above what it used after loading the model and one short
text. Flat means: it does not grow with the number of points, nor with the number of texts.
"""

import argparse
import json
import os
import resource
import subprocess
import sys

import numpy as np
import torch

from bench.attribution import load, sentences
from bench.rivals import captum, has_captum, published
from headwidgets.attribution import attribute, importance

GIVES_BACK = {"MALLOC_ARENA_MAX": "1", "MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "65536"}
"""glibc then returns what is freed; by itself it keeps some of it, and the resident size creeps up with every batch."""
WAYS = ("ours", "published", "captum", "importance")


def peak() -> float:
    """MiB."""
    if torch.cuda.is_available():
        return torch.cuda.max_memory_allocated() / 2**20
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return used / (2**20 if sys.platform == "darwin" else 2**10)


def measure(way: str, points: int, texts: int) -> float:
    """Peak MiB above the start, in this process."""
    torch.set_num_threads(1)
    model = load("eager" if way in ("published", "captum") else "sdpa")
    listed = sentences(texts) if way == "importance" else [" ".join(sentences(8)[:4])] * texts
    attribute(model, "a film", output="probability")
    before = peak()
    if way == "ours":
        attribute(model, listed[0], output="probability", steps=points)
    elif way == "published":
        published(model, listed[0], np.arange(points) / points, points, False)
    elif way == "captum":
        captum(model, listed[0], points)
    else:
        importance(model, listed, [0] * len(listed), tolerance=2e-2)
    return peak() - before


def run(way: str, points: int, texts: int) -> float:
    """`measure` in a fresh process."""
    command = [sys.executable, "-m", "bench.memory", way, str(points), str(texts)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env={**os.environ, **GIVES_BACK})
    return float(json.loads(done.stdout.splitlines()[-1]))


def table() -> str:
    """What `python -m bench` prints."""
    counts, sizes = (8, 32, 128), (100, 200, 400)
    length = len(load("sdpa").encode([" ".join(sentences(8)[:4])])[0])
    lines = [
        "## Memory of attribution",
        "",
        "Peak MiB above the loaded model, a process each, one thread, freed memory returned at once. One text of "
        f"{length} tokens:",
        "",
        "| points | " + " | ".join(map(str, counts)) + " |",
        "| --- |" + " --: |" * len(counts),
    ]
    names = {
        "ours": "ours",
        "published": "published rule, all points in one batch",
        "captum": "Captum, all points in one batch",
    }
    for way, name in names.items():
        if way != "captum" or has_captum():
            lines.append(f"| {name} | " + " | ".join(f"{run(way, n, 1):.0f}" for n in counts) + " |")
    lines += [
        "",
        "Head importance by attribution over SST-2 sentences (nothing is kept per text):",
        "",
        "| texts | " + " | ".join(map(str, sizes)) + " |",
        "| --- |" + " --: |" * len(sizes),
        "| importance | " + " | ".join(f"{run('importance', 8, n):.0f}" for n in sizes) + " |",
    ]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("way", choices=WAYS)
    parser.add_argument("points", type=int)
    parser.add_argument("texts", type=int)
    given = parser.parse_args()
    print(json.dumps(measure(given.way, given.points, given.texts)))


if __name__ == "__main__":
    main()
