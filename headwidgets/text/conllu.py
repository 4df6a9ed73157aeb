"""CoNLL-U files, read strictly: whatever is wrong is an error with the file and the line.

Read are words, trees, multiword tokens, comments and coreference (``Entity=``). Empty nodes and enhanced dependencies
are checked and left out, since no token of a model stands for them. Format: universaldependencies.org/format.html.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from headwidgets.errors import InputError
from headwidgets.text.mentions import EntityError, Mentions
from headwidgets.text.reading import contents
from headwidgets.text.surface import lay_out, split_surface
from headwidgets.text.treebank import Sentence, Treebank, Word

COLUMNS = ("ID", "FORM", "LEMMA", "UPOS", "XPOS", "FEATS", "HEAD", "DEPREL", "DEPS", "MISC")

_NUMBER = re.compile(r"[1-9][0-9]{0,8}")
_RANGE = re.compile(r"([1-9][0-9]{0,8})-([1-9][0-9]{0,8})")
_EMPTY = re.compile(r"(0|[1-9][0-9]{0,8})\.([1-9][0-9]{0,8})")
_OURS = ("SpaceAfter", "Entity", "Bridge", "SplitAnte")
"""Keys of MISC that other attributes of a sentence hold."""


def read(paths: Sequence[Any]) -> Treebank:
    """Read files one after the other.

    Args:
        paths: CoNLL-U files, also ``.gz``.

    Raises:
        InputError: no such file, not UTF-8, or not CoNLL-U; with the line.
    """
    sentences: list[Sentence] = []
    notes: list[str] = []
    for path in paths:
        own, said = parse_text(contents(path, "a CoNLL-U file"), Path(path).name)
        sentences += own
        notes += [f"{Path(path).name}: {note}" for note in said] if len(paths) > 1 else said
    return Treebank(tuple(sentences), ", ".join(Path(path).name for path in paths), tuple(notes))


def parse_text(text: str, name: str) -> tuple[list[Sentence], list[str]]:
    """The sentences of one file, and what a reader should know about them.

    Args:
        text: Its contents.
        name: How errors call it.

    Raises:
        InputError: it is not CoNLL-U; with the line.
    """
    reader = _Reader(name)
    sentences = list(reader.sentences(re.split(r"\r\n|\n|\r", text.removeprefix("\ufeff"))))
    if not sentences:
        raise InputError(f"{name}, line 1: expected sentences in CoNLL-U, got a file without a word")
    if any(s.mentions and not s.document for s in sentences):  # its entities are those of no other file
        sentences = [replace(s, document=s.document or name) for s in sentences]
    return sentences, reader.notes(len(sentences))


@dataclass
class _Rows:
    """The lines of one sentence, checked one by one.

    Attributes:
        words: Columns of every word.
        lines: The line of every word.
        ranges: First and last word (from 0, last included), form and MISC of every multiword token.
        nodes: Per word or empty node the position of the word; None for an empty node.
        seen: MISC of every node and its line.
    """

    words: list[list[str]] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    ranges: list[tuple[int, int, str, str]] = field(default_factory=list)
    nodes: list[int | None] = field(default_factory=list)
    seen: list[tuple[str, int]] = field(default_factory=list)
    empty: int = 0


class _Reader:
    def __init__(self, name: str) -> None:
        self.name = name
        self.mentions = Mentions()
        self.document = ""
        self.documents = 0
        self.unlike = self.empty = self.treeless = 0

    def wrong(self, line: int, message: str) -> InputError:
        return InputError(f"{self.name}, line {line}: {message}")

    def notes(self, total: int) -> list[str]:
        told = []
        for count, what in (
            (self.unlike, f"of {total} sentences have a text that is not their words: the words were put together"),
            (self.treeless, f"of {total} sentences have no tree"),
            (self.empty, "empty nodes were left out: no token stands for them"),
            (self.mentions.crossing, "mentions go over the end of a sentence and were left out"),
            (self.mentions.empty, "mentions name nothing but empty nodes and were left out"),
            (self.mentions.loose, "bridges or split antecedents belong to no mention and were left out"),
        ):
            if count:
                told.append(f"{count} {what}.")
        return told

    # ---- lines --------------------------------------------------------------------------------------------

    def sentences(self, lines: Sequence[str]) -> Iterator[Sentence]:
        rows, comments, begin = _Rows(), list[tuple[str, str]](), 0
        number = 0
        for number, line in enumerate(lines, start=1):
            if not line.strip(" "):
                if rows.words or rows.nodes or rows.ranges:
                    yield self._sentence(rows, comments, begin, number)
                    rows, comments = _Rows(), []
                begin = 0
                continue
            begin = begin or number
            if line.startswith("#"):
                if rows.nodes or rows.ranges:
                    raise self.wrong(
                        number, "expected a word, got a comment inside a sentence: is a blank line missing before it?"
                    )
                self._comment(line, number, comments)
            else:
                self._row(self._columns(line, number), number, rows)
        if rows.words or rows.nodes or rows.ranges:
            yield self._sentence(rows, comments, begin, number + 1)
        self._close(number)

    def _comment(self, line: str, number: int, comments: list[tuple[str, str]]) -> None:
        key, sign, value = line[1:].partition("=")
        key, value = key.strip(" \t"), value.strip(" \t")
        if key in ("newdoc", "newdoc id"):
            self._close(number)
            self.documents += 1
            self.document = value or f"{self.name} {self.documents}"
        elif key == "global.Entity":
            self._entities(number, self.mentions.declare, value)
        elif key:
            comments.append((key, value if sign else ""))

    def _close(self, number: int) -> None:
        self._entities(number, self.mentions.close)

    def _entities(self, number: int, act: Any, *arguments: Any) -> Any:
        try:
            return act(*arguments)
        except EntityError as error:
            raise self.wrong(number, str(error)) from None

    def _columns(self, line: str, number: int) -> list[str]:
        columns = line.split("\t")
        if len(columns) != len(COLUMNS):
            hint = ""
            if len(line.split()) >= len(COLUMNS):
                hint = "; the columns seem to be separated by spaces: CoNLL-U wants tabs"
            elif len(columns) > 1:
                hint = "; write _ for what is not known"
            raise self.wrong(
                number,
                f"expected {len(COLUMNS)} columns separated by tabs ({' '.join(COLUMNS)}), got {len(columns)}{hint}",
            )
        for name, value in zip(COLUMNS, columns, strict=True):
            if not value.strip(" "):
                raise self.wrong(number, f"the column {name} is empty: write _ for what is not known")
        return columns

    def _row(self, columns: list[str], number: int, rows: _Rows) -> None:
        written = columns[0]
        due = len(rows.words) + 1
        if _NUMBER.fullmatch(written):
            if int(written) != due:
                hint = ": is a blank line missing before it?" if written == "1" else ""
                raise self.wrong(number, f"expected the ID {due}, got {written}{hint}")
            rows.nodes.append(len(rows.words))
            rows.words.append(columns)
            rows.lines.append(number)
            rows.seen.append((columns[9], number))
        elif found := _RANGE.fullmatch(written):
            first, last = int(found[1]), int(found[2])
            if first >= last:
                raise self.wrong(number, f"expected a multiword token from a lower to a higher ID, got {written}")
            if rows.ranges and first <= rows.ranges[-1][1] + 1:
                raise self.wrong(number, f"the multiword token {written} begins inside the one before it")
            if first != due:
                raise self.wrong(number, f"expected the multiword token {written} right before word {first}")
            if "Entity=" in columns[9]:
                raise self.wrong(number, "Entity= stands on a multiword token: expected it on its words")
            rows.ranges.append((first - 1, last - 1, columns[1], columns[9]))
        elif found := _EMPTY.fullmatch(written):
            before = 0
            for node in reversed(rows.nodes):
                if node is not None:
                    break
                before += 1
            if int(found[1]) != due - 1 or int(found[2]) != before + 1:
                raise self.wrong(number, f"expected an empty node {due - 1}.{before + 1} here, got {written}")
            rows.nodes.append(None)
            rows.seen.append((columns[9], number))
            rows.empty += 1
        else:
            raise self.wrong(
                number, f"expected an ID such as {due}, {due}-{due + 1} or {due - 1}.1, got {written[:40]!r}"
            )

    # ---- a sentence ---------------------------------------------------------------------------------------

    def _sentence(self, rows: _Rows, comments: list[tuple[str, str]], begin: int, end: int) -> Sentence:
        if not rows.words:
            raise self.wrong(end - 1, "expected a word: the sentence has none")
        if rows.ranges and rows.ranges[-1][1] >= len(rows.words):
            first, last = rows.ranges[-1][:2]
            raise self.wrong(
                end - 1,
                f"the multiword token {first + 1}-{last + 1} needs word {last + 1}, but the sentence ends after "
                f"word {len(rows.words)}",
            )
        heads = self._heads(rows)
        told = dict(comments)
        text, spans = self._text(rows, told.get("text"))
        for node, (misc, line) in enumerate(rows.seen):
            if "=" in misc:
                self._entities(line, self.mentions.see, node, _misc(misc), line)
        mentions = self._entities(rows.lines[-1], self.mentions.finish, rows.nodes, heads)
        self.empty += rows.empty
        words = tuple(
            Word(row[1], row[3], head, row[7], span, row[2], row[4], row[5], _others(row[9]))
            for row, head, span in zip(rows.words, heads, spans, strict=True)
        )
        kept = tuple((key, value) for key, value in comments if key not in ("sent_id", "text"))
        tokens = tuple((first, last + 1) for first, last, _, _ in rows.ranges)
        return Sentence(
            words, text, told.get("sent_id") or f"line {begin}", self.document, mentions, begin, tokens, kept
        )

    def _text(self, rows: _Rows, told: str | None) -> tuple[str, list[tuple[int, int]]]:
        tokens: list[tuple[str, bool]] = []
        counts: list[int] = []
        ranges = {first: (last, form, misc) for first, last, form, misc in rows.ranges}
        at = 0
        while at < len(rows.words):
            last, form, misc = ranges.get(at, (at, rows.words[at][1], rows.words[at][9]))
            tokens.append((form, "SpaceAfter=No" not in misc.split("|")))
            counts.append(last + 1 - at)
            at = last + 1
        text, places, alike = lay_out(tokens, told)
        self.unlike += not alike
        spans: list[tuple[int, int]] = []
        for (form, _), (start, stop), count in zip(tokens, places, counts, strict=True):
            if count == 1:
                spans.append((start, stop))
            else:
                forms = [row[1] for row in rows.words[len(spans) : len(spans) + count]]
                spans += split_surface(form, forms, start)
        return text, spans

    def _heads(self, rows: _Rows) -> list[int | None]:
        """The head of every word, with the tree checked: one root, no cycle."""
        written = [row[6] for row in rows.words]
        if all(head == "_" for head in written):
            self.treeless += 1
            return [None] * len(written)
        heads: list[int] = []
        for i, (head, line) in enumerate(zip(written, rows.lines, strict=True)):
            if head != "0" and not _NUMBER.fullmatch(head):
                raise self.wrong(line, f"expected the HEAD of word {i + 1} as the ID of a word or 0, got {head[:40]!r}")
            if int(head) > len(written):
                raise self.wrong(line, f"the HEAD of word {i + 1} is {head}, but the sentence has {len(written)} words")
            heads.append(int(head) - 1)
        roots = [i for i, head in enumerate(heads) if head < 0]
        if len(roots) > 1:
            raise self.wrong(
                rows.lines[roots[1]],
                f"expected one root, got {len(roots)}: words {', '.join(str(i + 1) for i in roots[:5])}",
            )
        done = set(roots)
        for i in range(len(heads)):
            path: list[int] = []
            at = i
            while at not in done:
                if at in path:
                    cycle = path[path.index(at) :]
                    told = " -> ".join(str(k + 1) for k in [*cycle[:8], at])
                    raise self.wrong(rows.lines[cycle[0]], f"expected a tree, got a cycle: {told}")
                path.append(at)
                at = heads[at]
            done.update(path)
        return list(heads)


def _misc(value: str) -> dict[str, str]:
    return dict(pair.partition("=")[::2] for pair in value.split("|"))


def _others(value: str) -> str:
    if value == "_":
        return value
    return "|".join(pair for pair in value.split("|") if pair.partition("=")[0] not in _OURS) or "_"
