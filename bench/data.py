"""Sets of labelled texts in the folder that ``$HEADWIDGETS_DATA`` names."""

import gzip
import os
from pathlib import Path
from typing import Any

import numpy as np

Pair = tuple[str, str]


def folder() -> Path:
    """The folder with data/ and models/."""
    named = os.environ.get("HEADWIDGETS_DATA", "")
    if not Path(named, "data").is_dir():
        raise SystemExit("HEADWIDGETS_DATA does not name a folder with data/ and models/")
    return Path(named)


def _lines(*parts: str) -> list[str]:
    raw = gzip.decompress(Path(folder(), "data", *parts).read_bytes()).decode("utf-8-sig")
    return [line for line in raw.replace("\r\n", "\n").split("\n") if line]


def sst2(split: str) -> tuple[list[str], list[int]]:
    """Sentences and classes; `split` is train or dev."""
    lines = Path(folder(), "data", "sst2", f"stsa.binary.{split}").read_text("utf-8").splitlines()
    return [line[2:] for line in lines], [int(line[0]) for line in lines]


def mrpc(split: str) -> tuple[list[Pair], list[int]]:
    """Pairs of sentences and classes; `split` is train, val or test. Quotes are literal."""
    rows = [line.split("\t") for line in _lines("mrpc", f"msr-para-{split}.tsv.gz")[1:]]
    return [(row[3], row[4]) for row in rows], [int(row[0]) for row in rows]


def sick(split: str) -> tuple[list[Pair], list[str]]:
    """Pairs of sentences and names of classes; `split` is train, trial or test_annotated."""
    rows = [line.split("\t") for line in _lines("sick", f"SICK_{split}.txt.gz")[1:]]
    return [(row[1], row[2]) for row in rows], [row[4].lower() for row in rows]


def some(texts: list[Any], labels: list[Any], n: int, seed: int = 0) -> tuple[list[Any], list[Any]]:
    """`n` of them, drawn with a seed."""
    index = np.random.default_rng(seed).permutation(len(texts))[:n]
    return [texts[i] for i in index], [labels[i] for i in index]


def model(name: str, **options: Any) -> Any:
    """A model of the folder."""
    import headwidgets as hw

    return hw.load(str(folder() / "models" / name), **options)
