"""CoNLL-U written: what a treebank holds, so that reading it again gives the same sentences."""

import gzip
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from headwidgets.errors import InputError
from headwidgets.files import put
from headwidgets.text.treebank import Mention, Sentence

_NAME = re.compile(r"[^\s\-()\[\]<>:,|=]+")


def write(sentences: Sequence[Sentence], path: Any) -> Path:
    """Write sentences as a CoNLL-U file, compressed when its name ends in ``.gz``.

    Raises:
        InputError: no path, no such folder, or a mention that the format cannot hold.
    """
    if not isinstance(path, (str, os.PathLike)):
        raise InputError(f"expected a path to write to, got {type(path).__name__}")
    target = Path(path)
    data = conllu(sentences).encode("utf-8")
    return put(target, gzip.compress(data, mtime=0) if target.suffix == ".gz" else data)


def conllu(sentences: Sequence[Sentence]) -> str:
    """Sentences as the text of a CoNLL-U file.

    Raises:
        InputError: a mention that the format cannot hold.
    """
    lines: list[str] = []
    document = ""
    entities = any(sentence.mentions for sentence in sentences)
    for number, sentence in enumerate(sentences):
        if sentence.document != document:
            lines.append(f"# newdoc id = {_plain(sentence.document)}" if sentence.document else "# newdoc")
            document = sentence.document
        if entities and number == 0:
            lines.append("# global.Entity = eid-etype-head")
        lines += _sentence(sentence)
    return "\n".join([*lines, ""])


def _plain(text: str) -> str:
    """Without line ends and tabs, as many characters as before."""
    return re.sub(r"[\r\n\t]", " ", text)


def _column(value: str) -> str:
    return _plain(value) if value.strip(" \r\n\t") else "_"


def _sentence(sentence: Sentence) -> list[str]:
    lines = [f"# sent_id = {_plain(sentence.name)}"] if sentence.name else []
    lines += [f"# {key} = {value}" if value else f"# {key}" for key, value in sentence.comments]
    lines.append(f"# text = {_plain(sentence.text)}")
    entities = _entities(sentence)
    ranges = dict(sentence.tokens)
    inside = 0
    for i, word in enumerate(sentence.words):
        if i in ranges:
            inside = ranges[i]
            start = min(w.span[0] for w in sentence.words[i:inside])
            end = max(w.span[1] for w in sentence.words[i:inside])
            close = _close(sentence, inside, end)
            surface = _column(sentence.text[start:end])
            lines.append("\t".join([f"{i + 1}-{inside}", surface, *"_" * 7, close or "_"]))
        misc = [entities[i], "" if word.misc == "_" else word.misc]
        if i >= inside:
            misc.append(_close(sentence, i + 1, word.span[1]))
        head = "_" if word.head is None else str(word.head + 1)
        columns = [word.form, word.lemma, word.upos, word.xpos, word.feats, head, word.relation, "_"]
        told = "|".join(part for part in misc if part)
        lines.append("\t".join([str(i + 1), *map(_column, columns), told or "_"]))
    return [*lines, ""]


def _close(sentence: Sentence, after: int, end: int) -> str:
    """Whether the word at `after` follows without a space."""
    return "SpaceAfter=No" if after < len(sentence) and sentence.words[after].span[0] == end else ""


# ---- mentions ---------------------------------------------------------------------------------------------


def _pieces(mention: Mention) -> list[tuple[int, int]]:
    """First and last word of every stretch without a gap."""
    pieces: list[tuple[int, int]] = []
    for word in mention.words:
        if pieces and word == pieces[-1][1] + 1:
            pieces[-1] = (pieces[-1][0], word)
        else:
            pieces.append((word, word))
    return pieces


def _entities(sentence: Sentence) -> list[str]:
    """What the last column of every word says about mentions."""
    opens: list[list[tuple[int, str]]] = [[] for _ in sentence.words]
    alone: list[list[str]] = [[] for _ in sentence.words]
    closes: list[list[tuple[int, str]]] = [[] for _ in sentence.words]
    links: dict[str, list[list[str]]] = {key: [[] for _ in sentence.words] for key in ("Bridge", "SplitAnte")}
    spans: dict[str, list[tuple[int, int]]] = {}
    for mention in sentence.mentions:
        _check(mention, sentence)
        pieces = _pieces(mention)
        head = mention.words.index(mention.head) + 1
        for number, (first, last) in enumerate(pieces, start=1):
            name = mention.entity + (f"[{number}/{len(pieces)}]" if len(pieces) > 1 else "")
            crossing = next((s for s in spans.get(name, ()) if s[0] < first <= s[1] < last), None)
            if crossing:
                raise InputError(
                    f"sentence {sentence.name!r}: two mentions of {mention.entity!r} overlap without one being inside "
                    "the other; Entity= cannot hold that"
                )
            spans.setdefault(name, []).append((first, last))
            opening = f"({name}-{mention.kind}-{head}"
            if first == last:
                alone[first].append(opening + ")")
            else:
                opens[first].append((-last, opening))
                closes[last].append((-first, name + ")"))
        begin = mention.words[0]
        links["Bridge"][begin] += [f"{a}<{mention.entity}" + (f":{k}" if k else "") for a, k in mention.bridges]
        links["SplitAnte"][begin] += [f"{a}<{mention.entity}" for a in mention.antecedents]
    told = []
    for i in range(len(sentence)):
        brackets = "".join([*(t for _, t in sorted(closes[i])), *(t for _, t in sorted(opens[i])), *alone[i]])
        parts = [f"{key}={','.join(found[i])}" for key, found in links.items() if found[i]]
        told.append("|".join([*([f"Entity={brackets}"] if brackets else []), *parts]))
    return told


def _check(mention: Mention, sentence: Sentence) -> None:
    names = [mention.entity, *(a for a, _ in mention.bridges), *mention.antecedents]
    wrong = next((name for name in names if not _NAME.fullmatch(name)), None)
    if wrong is not None or (mention.kind and not _NAME.fullmatch(mention.kind)):
        got = mention.kind if wrong is None else wrong
        raise InputError(
            f"sentence {sentence.name!r}: Entity= cannot hold the name {got!r}: expected one without spaces and any of "
            "- ( ) [ ] < > : , | ="
        )
    words = mention.words
    if not words or list(words) != sorted(set(words)) or not 0 <= words[0] <= words[-1] < len(sentence):
        raise InputError(
            f"sentence {sentence.name!r}: expected the words of a mention as ascending positions below "
            f"{len(sentence)}, got {words}"
        )
    if mention.head not in words:
        raise InputError(f"sentence {sentence.name!r}: the head of a mention, {mention.head}, is none of its words")
