"""Distances between all heads, against the published way: eager maps, and NumPy over pairs with two logarithms each.

    HEADWIDGETS_DATA=folder python -m bench.distances [--texts 200]

The published way (Clark et al. 2019, the released program) pads to 128 and runs the model eager with its maps returned,
takes each text's maps out of the padding, smooths them (0.999 a + 0.001 / n), and for every head compares its rows with
those of all heads. Texts are SST-2 sentences in batches of 16 on the SST-2 classifier (6 layers x 12 heads).
"""

import argparse
import os
import resource
import time
from pathlib import Path

import numpy as np
import torch

import headwidgets as hw
from headwidgets.patterns import distance

SMOOTH = 0.001


def published(model: hw.HeadModel, texts: list[str]) -> np.ndarray:
    """Mean over tokens of the smoothed divergences [heads, heads], natural logarithm."""
    raw = model.model
    before = raw.config._attn_implementation
    raw.set_attn_implementation("eager")
    total, tokens = 0.0, 0
    try:
        for start in range(0, len(texts), 16):
            batch = model.tokenizer(
                texts[start : start + 16], padding="max_length", max_length=128, return_tensors="pt"
            )
            with torch.no_grad():
                maps = torch.stack(raw(**batch, output_attentions=True).attentions, dim=1).numpy()
            for own, mask in zip(maps, batch["attention_mask"].numpy(), strict=True):
                n = int(mask.sum())
                rows = own[..., :n, :n].reshape(-1, n, n)
                rows = (1 - SMOOTH) * rows + SMOOTH / n
                found = np.zeros((len(rows), len(rows)))
                for head, row in enumerate(rows):
                    middle = (row[None] + rows) / 2
                    first = -row[None] * np.log(middle / row[None])
                    second = -rows * np.log(middle / rows)
                    found[head] = (first + second).sum((1, 2)) / 2
                total = total + found
                tokens += n
    finally:
        raw.set_attn_implementation(before)
    return np.asarray(total) / tokens


def measured(count: int) -> str:
    """Both ways on the same texts."""
    folder = Path(os.environ["HEADWIDGETS_DATA"])
    model = hw.load(folder / "models" / "sst2")
    lines = (folder / "data" / "sst2" / "stsa.binary.dev").read_text("utf-8").splitlines()
    texts = [line.split(" ", 1)[1] for line in lines[:count]]
    distance(model, texts[:4])
    begun = time.process_time()
    found = distance(model, texts, special_queries=True)
    ours = time.process_time() - begun
    begun = time.process_time()
    theirs = published(model, texts)
    other = time.process_time() - begun
    values = found.values["encoder"]
    upper = np.triu_indices(len(values), 1)
    r = np.corrcoef(values[upper], theirs[upper])[0, 1]
    off = np.abs(values - theirs)[upper].max()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return (
        f"## Distances between heads\n\n{len(values)} heads, {count} SST-2 sentences, CPU seconds of one process. The "
        f"published way smooths the maps, so its numbers differ a little (r = {r:.5f}, at most {off:.4f} nats).\n\n"
        "| what | headwidgets | published way | ratio |\n| --- | --- | --- | --- |\n"
        f"| all pairs of heads | {ours:.1f} s | {other:.1f} s | {other / ours:.1f} x |\n\n"
        f"Most memory of the process: {peak:.0f} MB.\n"
    )


def table() -> str:
    """For ``python -m bench``."""
    return measured(200)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--texts", type=int, default=200)
    torch.set_num_threads(1)
    print(measured(parser.parse_args().texts))
