"""A pronoun and two names, one of which it refers to: files of GAP and of Winogender."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from headwidgets.errors import InputError
from headwidgets.probing.linking.examples import Link, LinkExample
from headwidgets.text.reading import contents
from headwidgets.text.words import Span, word_spans

_GAP = ("ID", "Text", "Pronoun", "Pronoun-offset", "A", "A-offset", "A-coref", "B", "B-offset", "B-coref")
_FEMININE = {"she", "her", "hers", "herself"}
_PRONOUN = re.compile(r"\b(he|she|they|his|her|their|him|them|himself|herself|themselves)\b", re.IGNORECASE)


def choice(
    text: str,
    source: Span,
    right: Sequence[Span],
    wrong: Sequence[Span],
    relation: str = "choice",
    *,
    cluster: str = "",
    name: str = "",
) -> LinkExample:
    """A text in which some words refer to one of several others.

    Args:
        text: As the model reads it.
        source: Start and end of the characters of what refers.
        right: What it refers to; to reach a word of one of them is enough.
        wrong: What else might be chosen.
        relation: The row of the table that it counts in.
        cluster: What it was drawn with.
        name: How to call it.

    Raises:
        InputError: a span without a word, or spans that share a word.
    """
    if not isinstance(text, str):
        raise InputError(f"expected a text (str) to choose in, got {type(text).__name__}")
    spans = word_spans(text)
    where = f"example {name!r}" if name else repr(text[:40])
    for given in ([source], right, wrong):
        if not isinstance(given, (list, tuple)) or not all(map(_is_span, given)):
            raise InputError(
                f"{where}: expected the source as (start, end) of its characters, and lists of such pairs as what is "
                f"right and what is wrong; got {given!r}"
            )

    def touched(span: Span) -> set[int]:
        found = {i for i, (start, end) in enumerate(spans) if start < span[1] and end > span[0]}
        if not found:
            raise InputError(f"{where}: the span {span} touches no word")
        return found

    own = touched(source)
    target = set().union(*map(touched, right)) - own
    other = set().union(*map(touched, wrong)) - own if wrong else set()
    if not target or not other or target & other:
        raise InputError(f"{where}: expected something right and something wrong to choose from, without shared words")
    link = Link(relation, own, target, target | other)
    words = tuple(text[a:b] for a, b in spans)
    return LinkExample(words, (link,), text, tuple(spans), cluster=cluster or name, name=name)


def _is_span(given: Any) -> bool:
    pair = isinstance(given, (tuple, list)) and len(given) == 2
    return pair and all(isinstance(place, int) and place >= 0 for place in given)


def read_gap(path: Any, *paths: Any) -> list[LinkExample]:
    """Examples of GAP files (Webster et al. 2018): tab-separated, also ``.gz``.

    Rows: ``feminine`` and ``masculine``, by pronoun. Where neither or both names are right there is
    nothing to choose, so the example is not among what is returned.

    Args:
        path: Of a file with the columns ID, Text, Pronoun, Pronoun-offset, A, A-offset, A-coref, B, B-offset, B-coref.
        paths: More of them.

    Raises:
        InputError: a file that is not of this form; the message names the line.
    """
    return [example for one in (path, *paths) for example in _gap(one)]


def _gap(given: Any) -> list[LinkExample]:
    text = contents(given, "a file of GAP")
    path = Path(given)
    rows = _rows(path, text)
    missing = [name for name in _GAP if name not in rows[0]]
    if missing:
        raise InputError(f"{path.name}, line 1: expected the columns of GAP, but there is no {missing[0]!r}")
    found = []
    for number, row in enumerate(rows[1:], start=2):
        if len(row) != len(rows[0]):
            raise InputError(f"{path.name}, line {number}: expected {len(rows[0])} columns, got {len(row)}")
        cells = dict(zip(rows[0], row, strict=True))
        marks = [cells[f"{side}-coref"].strip().upper() for side in "AB"]
        if not set(marks) <= {"TRUE", "FALSE"}:
            raise InputError(f"{path.name}, line {number}: expected A-coref and B-coref as TRUE or FALSE, got {marks}")
        pronoun, *names = (_span(cells, part, path, number) for part in ("Pronoun", "A", "B"))
        right = [span for span, mark in zip(names, marks, strict=True) if mark == "TRUE"]
        overlap = names[0][0] < names[1][1] and names[1][0] < names[0][1]
        if len(right) != 1 or overlap:
            continue
        wrong = [span for span in names if span not in right]
        gender = "feminine" if cells["Pronoun"].casefold() in _FEMININE else "masculine"
        found.append(choice(cells["Text"], pronoun, right, wrong, gender, name=cells["ID"]))
    return found


def _rows(path: Path, text: str) -> list[list[str]]:
    """Cells by line; quotes mean nothing in these files."""
    rows = [line.split("\t") for line in text.replace("\r\n", "\n").removesuffix("\n").split("\n")]
    if len(rows) < 2:
        raise InputError(f"{path.name}: expected a line of column names and lines under it, got {len(rows)} lines")
    return rows


def _span(cells: dict[str, str], part: str, path: Path, number: int) -> Span:
    form, offset = cells[part], cells[f"{part}-offset"]
    if not offset.isdecimal() or not cells["Text"].startswith(form, int(offset)) or not form:
        raise InputError(f"{path.name}, line {number}: {part} {form!r} does not stand at {offset!r} in the text")
    return int(offset), int(offset) + len(form)


def read_winogender(path: Any) -> list[LinkExample]:
    """Examples of Winogender schemas (Rudinger et al. 2018), as ``all_sentences.tsv``: sentid and sentence.

    Rows: ``female``, ``male`` and ``neutral``, by pronoun. A cluster is an occupation.

    Raises:
        InputError: a file that is not of this form; the message names the line.
    """
    text = contents(path, "a file of Winogender")
    file = Path(path)
    found = []
    for number, row in enumerate(_rows(file, text)[1:], start=2):
        parts = row[0].removesuffix(".txt").split(".")
        if len(row) != 2 or len(parts) != 4 or parts[2] not in ("0", "1"):
            raise InputError(
                f"{file.name}, line {number}: expected occupation.participant.answer.gender and a sentence, got {row!r}"
            )
        occupation, participant, answer, gender = parts
        sentence = row[1]
        spans = [re.search(rf"\b{re.escape(name)}\b", sentence, re.IGNORECASE) for name in (occupation, participant)]
        pronoun = _PRONOUN.search(sentence)
        if pronoun is None or None in spans:
            raise InputError(f"{file.name}, line {number}: the sentence lacks its pronoun, occupation or participant")
        names = [span.span() for span in spans if span is not None]
        right, wrong = names[int(answer)], names[1 - int(answer)]
        found.append(choice(sentence, pronoun.span(), [right], [wrong], gender, cluster=occupation, name=row[0]))
    return found
