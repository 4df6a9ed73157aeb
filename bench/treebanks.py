"""Treebanks among a model's tokens: how many words have a place of their own, and how long reading and placing takes.

    HEADWIDGETS_DATA=folder python -m bench.treebanks

Counted are the development parts of five UD treebanks, with the tokenizers of two models. Seconds are CPU time.
"""

import os
import time
from pathlib import Path

import torch

import headwidgets as hw

TITLE = "## Treebanks"
MODELS = ("sst2", "multi30k-en-de")
TREEBANKS = ("en_ewt", "en_gum", "he_htb", "ja_gsd", "zh_gsdsimp")


def table() -> str:
    """Markdown: one row per treebank and model."""
    torch.set_num_threads(1)
    folder = Path(os.environ["HEADWIDGETS_DATA"])
    models = {name: hw.load(folder / "models" / name) for name in MODELS}
    lines = [
        TITLE,
        "",
        "Development parts of UD treebanks. Lost: words without a token. Merged: words at a position that another word "
        "has too. Unknown: words of nothing but unknown tokens. One core.",
        "",
        "| treebank | tokenizer | sentences | words | lost | merged | unknown | reading, s | placing, s |",
        "| --- | --- | --: | --: | --: | --: | --: | --: | --: |",
    ]
    for treebank in TREEBANKS:
        start = time.process_time()
        read = hw.Treebank.read(folder / "data" / "ud" / treebank / f"{treebank}-ud-dev.conllu.gz")
        reading = time.process_time() - start
        for name, model in models.items():
            start = time.process_time()
            placed = hw.probing.place(model, read)
            placing = time.process_time() - start
            cells = [
                treebank,
                name,
                f"{len(placed)} of {len(read)}",
                placed.words,
                placed.lost,
                f"{placed.merged} ({placed.merged / placed.words:.1%})",
                f"{placed.unknown} ({placed.unknown / placed.words:.1%})",
                f"{reading:.2f}",
                f"{placing:.2f}",
            ]
            lines.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())
