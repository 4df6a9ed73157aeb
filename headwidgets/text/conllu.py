"""CoNLL-U files, read with line numbers."""

import gzip
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from headwidgets.text.treebank import Sentence, Treebank, Word


def read(paths: Sequence[Any]) -> Treebank:
    """Read files one after the other."""
    sentences = [s for path in paths for s in _sentences(Path(path))]
    return Treebank(tuple(sentences), ", ".join(Path(path).name for path in paths))


def _lines(path: Path) -> Iterator[str]:
    text = (gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()).decode("utf-8")
    yield from text.splitlines()


def _sentences(path: Path) -> Iterator[Sentence]:
    rows: list[list[str]] = []
    begin, document, comments = 1, "", dict[str, str]()
    for number, line in enumerate(_lines(path), start=1):
        if line.startswith("#"):
            key, _, value = line[1:].partition("=")
            comments[key.strip()] = value.strip()
            document = comments.get("newdoc id", document)
        elif line.strip():
            rows.append(line.split("\t"))
        elif rows:
            yield _sentence(rows, comments, document, begin)
            rows, comments, begin = [], {}, number + 1
    if rows:
        yield _sentence(rows, comments, document, begin)


def _sentence(rows: list[list[str]], comments: dict[str, str], document: str, begin: int) -> Sentence:
    text, spans, at = "", dict[int, tuple[int, int]](), 0
    covered: dict[int, tuple[int, int]] = {}
    for row in rows:
        if "." in row[0]:
            continue
        first, _, last = row[0].partition("-")
        if not last and int(first) in covered:
            start, end = covered[int(first)]
            if text.startswith(row[1], start):
                spans[int(first)] = (start, start + len(row[1]))
                for later in range(int(first) + 1, at + 1):
                    covered[later] = (start + len(row[1]), end)
            else:
                spans[int(first)] = (start, end)
            continue
        start = len(text)
        text += row[1]
        if last:
            at = int(last)
            covered |= dict.fromkeys(range(int(first), at + 1), (start, len(text)))
        else:
            spans[int(first)] = (start, len(text))
        if "SpaceAfter=No" not in row[9]:
            text += " "
    words = [
        Word(r[1], r[3], int(r[6]) - 1, r[7], spans[int(r[0])], r[2], r[4], r[5]) for r in rows if r[0].isdecimal()
    ]
    return Sentence(tuple(words), text.rstrip(), comments.get("sent_id", f"line {begin}"), document, (), begin)
