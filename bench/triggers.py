"""Triggers found in training sentences, put into the dev sentences: accuracy per class, beside control words.

    python -m bench.triggers [--texts 500] [--top 3] [--control-texts 100] [--variant links] [--data sst2]

Needs `$HEADWIDGETS_DATA`. Prints figures and counts; the words of the triggers only with `--words`.
"""

import argparse
import gzip
import os
import time
from pathlib import Path

import torch

from headwidgets import load
from headwidgets.attribution import Attack, attack, find_triggers

Labelled = tuple[list[str | tuple[str, str]], list[int | str]]


def sst2(folder: Path) -> tuple[Labelled, Labelled]:
    """Training and dev sentences with their labels."""

    def read(name: str) -> Labelled:
        lines = (folder / "data" / "sst2" / f"stsa.binary.{name}").read_text("utf-8").splitlines()
        return [line.split(" ", 1)[1] for line in lines], [int(line[0]) for line in lines]

    return read("train"), read("dev")


def sick(folder: Path) -> tuple[Labelled, Labelled]:
    """Training and trial pairs with their labels."""

    def read(name: str) -> Labelled:
        with gzip.open(next((folder / "data" / "sick").glob(f"*{name}*.gz")), "rt", encoding="utf-8") as file:
            head = file.readline().rstrip("\n").split("\t")
            rows = [dict(zip(head, line.rstrip("\n").split("\t"), strict=True)) for line in file if line.strip()]
        return (
            [(row["sentence_A"], row["sentence_B"]) for row in rows],
            [row["entailment_judgment"].lower() for row in rows],
        )

    return read("train"), read("trial")


def report(result: Attack, words: bool) -> None:
    """Print one line per trigger and class."""
    for number, effect in enumerate(result, 1):
        name = effect.trigger.text if words else f"trigger {number}, {effect.trigger.length} tokens"
        print(f"{name} (found in {effect.trigger.found_in}, score {effect.trigger.score:.3f}); changed: {effect.moved}")
        for column, label in enumerate(["all", *result.classes]):
            before, after, change, random, matched = effect.table()[column]
            print(
                f"  {label:14} n {effect.n[column]:4}  {100 * before[0]:5.1f} -> {100 * after[0]:5.1f} "
                f"({100 * after[1]:.1f} to {100 * after[2]:.1f})  change {100 * change[0]:+.1f} "
                f"({100 * change[1]:+.1f} to {100 * change[2]:+.1f})  random {100 * random[0]:.1f} "
                f"({100 * random[1]:.1f} to {100 * random[2]:.1f})  matched {100 * matched[0]:.1f} "
                f"({100 * matched[1]:.1f} to {100 * matched[2]:.1f})"
            )
    print(f"largest fall of the best of {len(result)} random ones: {100 * result.chance():.1f} points (97.5 %)")


def main() -> None:
    """Find, attack, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--texts", type=int, default=500)
    parser.add_argument("--top", type=int, default=3, help="triggers per class, by score")
    parser.add_argument("--controls", type=int, default=20)
    parser.add_argument("--control-texts", type=int, default=None)
    parser.add_argument("--variant", default="links")
    parser.add_argument("--data", default="sst2")
    parser.add_argument("--words", action="store_true")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    folder = Path(os.environ["HEADWIDGETS_DATA"])
    (train, train_labels), (dev, dev_labels) = {"sst2": sst2, "sick": sick}[chosen.data](folder)
    model = load(str(folder / "models" / chosen.data))
    start, used = time.perf_counter(), time.process_time()
    found = find_triggers(model, train, train_labels, n=chosen.top, limit=chosen.texts, variant=chosen.variant, seed=0)
    print(
        f"{len(found)} triggers of {found.searched} texts ({found.variant}): {time.perf_counter() - start:.0f} s, "
        f"{time.process_time() - used:.0f} s of processor",
        flush=True,
    )
    start, used = time.perf_counter(), time.process_time()
    result = attack(model, found, dev, dev_labels, controls=chosen.controls, control_texts=chosen.control_texts, seed=0)
    print(f"attack on {len(dev)}: {time.perf_counter() - start:.0f} s, {time.process_time() - used:.0f} s of processor")
    report(result, chosen.words)
    print(model.evaluate(dev, dev_labels))


if __name__ == "__main__":
    main()
