"""Coreference in ``Entity=`` of CoNLL-U files, as GUM and CorefUD write it.

A mention opens with ``(e1-person-1`` on its first word and closes with ``e1)`` on its last; ``(e1-person-1)`` is one
word. What stands between the hyphens is declared once, by ``# global.Entity``. Pieces of a mention with a gap are
``e1[1/2]`` and ``e1[2/2]``. ``Bridge=a<b`` and ``SplitAnte=a<b`` stand where the mention of ``b`` begins.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from headwidgets.text.treebank import Mention

FIELDS = ("eid", "etype", "head", "other")
"""What stands between the hyphens where a file does not declare it."""

_BRACKET = re.compile(r"\((?P<opens>[^()]+)(?P<alone>\))?|(?P<closes>[^()]+)\)")
_NAME = re.compile(r"(?P<name>[^\[\]]+)(?:\[(?P<part>[1-9][0-9]{0,3})/(?P<parts>[1-9][0-9]{0,3})\])?")
_LINK = re.compile(r"(?P<source>[^<:,]+)<(?P<target>[^<:,]+)(?::(?P<kind>[^,]*))?")


class EntityError(Exception):
    """What is wrong with an annotation, without the file and the line; the reader adds them."""


@dataclass
class _Piece:
    """A stretch of nodes between two brackets."""

    name: str
    part: int
    parts: int
    attributes: tuple[str, ...]
    line: int
    sentence: int
    begin: int
    end: int = -1


@dataclass
class Mentions:
    """Reads the mentions of one file; brackets may stay open from one word to the next.

    Attributes:
        crossing: Mentions that go over the end of a sentence; they are left out.
        empty: Mentions of nothing but empty nodes; they are left out.
        loose: Bridges and split antecedents where no mention of the anaphor begins; they are left out.
    """

    crossing: int = 0
    empty: int = 0
    loose: int = 0
    _fields: tuple[str, ...] = FIELDS
    _declared: bool = False
    _sentence: int = 0
    _open: dict[tuple[str, int, int], list[_Piece]] = field(default_factory=dict)
    _gapped: dict[tuple[str, int], list[list[_Piece]]] = field(default_factory=dict)
    _closed: list[list[_Piece]] = field(default_factory=list)
    _links: list[tuple[int, bool, str, str, str]] = field(default_factory=list)

    def declare(self, fields: str) -> None:
        """Take the value of ``# global.Entity``."""
        self._fields = tuple(name.strip() for name in fields.split("-"))
        self._declared = True
        if not {"eid", "GRP"} & set(self._fields):
            raise EntityError(f"expected global.Entity to declare eid or GRP, got {fields!r}")

    def see(self, node: int, notes: Mapping[str, str], line: int) -> None:
        """Take what the MISC column of a node says.

        Args:
            node: Its number in the sentence, words and empty nodes counted together from 0.
            notes: MISC, by key.
            line: For messages about brackets that never close.
        """
        value = notes.get("Entity", "")
        at = 0
        while at < len(value):
            found = _BRACKET.match(value, at)
            if found is None:
                raise EntityError(
                    f"expected brackets such as (e1-person or e1) in Entity=, got {value[at : at + 40]!r}"
                )
            at = found.end()
            if found["opens"]:
                self._begin(found["opens"], node, line)
                if found["alone"]:
                    self._end(self._name(found["opens"].split("-"), self._place), node)
            else:
                parts = found["closes"].split("-")
                self._end(self._name(parts, self._place if len(parts) > 1 else 0), node)
        for key in ("Bridge", "SplitAnte"):
            for one in notes[key].split(",") if key in notes else ():
                link = _LINK.fullmatch(one)
                if link is None:
                    raise EntityError(f"expected {key}= as antecedent<anaphor, got {one!r}")
                self._links.append((node, key == "Bridge", link["source"], link["target"], link["kind"] or ""))

    @property
    def _place(self) -> int:
        """Which field is the entity's name."""
        return next(i for i, name in enumerate(self._fields) if name in ("eid", "GRP"))

    def _name(self, parts: Sequence[str], place: int) -> tuple[str, int, int]:
        written = parts[place] if place < len(parts) else ""
        found = _NAME.fullmatch(written)
        if found is None:
            raise EntityError(f"expected the name of an entity in Entity=, got {'-'.join(parts)!r}")
        part, of = int(found["part"] or 1), int(found["parts"] or 1)
        if part > of:
            raise EntityError(f"expected piece 1 to {of} of {found['name']!r}, got piece {part}")
        return found["name"], part, of

    def _begin(self, written: str, node: int, line: int) -> None:
        parts = written.split("-", len(self._fields) - 1)
        key = self._name(parts, self._place)
        self._open.setdefault(key, []).append(_Piece(*key, tuple(parts), line, self._sentence, node))

    def _end(self, key: tuple[str, int, int], node: int) -> None:
        waiting = self._open.get(key)
        if not waiting:
            raise EntityError(f"Entity= closes a mention of {key[0]!r} that was not opened")
        piece = waiting.pop()
        if not waiting:
            del self._open[key]
        piece.end = node
        if piece.parts == 1:
            self._keep([piece])
            return
        begun = self._gapped.setdefault((piece.name, piece.parts), [])
        if piece.part == 1:
            begun.append([piece])
            return
        before = next((pieces for pieces in reversed(begun) if len(pieces) == piece.part - 1), None)
        if before is None:
            raise EntityError(f"piece {piece.part} of a mention of {piece.name!r} comes before piece {piece.part - 1}")
        before.append(piece)
        if piece.part == piece.parts:
            begun.remove(before)
            self._keep(before)

    def _keep(self, pieces: list[_Piece]) -> None:
        if any(piece.sentence != self._sentence or piece.end < 0 for piece in pieces):
            self.crossing += 1
        else:
            self._closed.append(pieces)

    # ---- a sentence is over -------------------------------------------------------------------------------

    def finish(self, nodes: Sequence[int | None], heads: Sequence[int | None]) -> tuple[Mention, ...]:
        """The mentions of the sentence that was just read, by first word, longer ones first.

        Args:
            nodes: Per node the position of its word; None for an empty node.
            heads: Per word the position of its head; -1 for the root, None where there is no tree.
        """
        found: list[tuple[int, Mention]] = []
        for pieces in self._closed:
            own = sorted({node for piece in pieces for node in range(piece.begin, piece.end + 1)})
            words = tuple(word for node in own if (word := nodes[node]) is not None)
            if not words:
                self.empty += 1
                continue
            head = self._head(pieces[0], [nodes[node] for node in own], words, heads)
            found.append((own[0], Mention(pieces[0].name, words, head, self._attribute(pieces[0], "etype", "entity"))))
        linked = self._linked(found)
        self._closed.clear()
        self._links.clear()
        self._sentence += 1
        return tuple(sorted(linked, key=lambda m: (m.words[0], -len(m.words), m.words[-1])))

    def close(self) -> None:
        """A document is over.

        Raises:
            EntityError: a mention is still open.
        """
        pieces = [p for waiting in self._open.values() for p in waiting]
        if pieces:
            raise EntityError(f"the mention of {pieces[0].name!r} that opens on line {pieces[0].line} is never closed")
        gapped = [pieces for begun in self._gapped.values() for pieces in begun]
        if gapped:
            first = gapped[0][0]
            raise EntityError(
                f"the mention of {first.name!r} that begins on line {first.line} has {len(gapped[0])} of its "
                f"{first.parts} pieces"
            )

    def _attribute(self, piece: _Piece, *names: str) -> str:
        """What a mention says under one of these names; empty where it says nothing."""
        at = next((i for i, name in enumerate(self._fields) if name in names), len(piece.attributes))
        return piece.attributes[at] if at < len(piece.attributes) else ""

    def _head(
        self, piece: _Piece, own: Sequence[int | None], words: tuple[int, ...], heads: Sequence[int | None]
    ) -> int:
        """The declared head; else the highest word in the tree of the minimal span, or of all words."""
        told = self._attribute(piece, "head") if self._declared else ""
        if told:
            if not re.fullmatch(r"[1-9][0-9]{0,5}", told) or int(told) > len(own):
                raise EntityError(
                    f"expected the head of a mention of {piece.name!r} as a number from 1 to {len(own)}, got {told!r}"
                )
            word = own[int(told) - 1]
            if word is not None:
                return word
        minimal = self._attribute(piece, "minspan").split(",")
        numbers = [int(n) - 1 for n in minimal if re.fullmatch(r"[1-9][0-9]{0,5}", n)]
        few = [word for n in numbers if n < len(own) and (word := own[n]) is not None]
        return _highest(few or list(words), heads)

    def _linked(self, found: list[tuple[int, Mention]]) -> list[Mention]:
        bridges: dict[int, list[tuple[str, str]]] = {}
        antecedents: dict[int, list[str]] = {}
        for node, bridge, source, target, kind in self._links:
            at = next((i for i, (begin, m) in enumerate(found) if begin == node and m.entity == target), None)
            if at is None:
                self.loose += 1
            elif bridge:
                bridges.setdefault(at, []).append((source, kind))
            else:
                antecedents.setdefault(at, []).append(source)
        return [
            Mention(m.entity, m.words, m.head, m.kind, tuple(bridges.get(i, ())), tuple(antecedents.get(i, ())))
            for i, (_, m) in enumerate(found)
        ]


def _highest(words: Sequence[int], heads: Sequence[int | None]) -> int:
    """The word nearest to the root; the first of several. Without a tree the last word."""
    if any(heads[word] is None for word in words):
        return words[-1]

    def depth(word: int) -> int:
        steps, at = 0, heads[word]
        while at is not None and at >= 0:
            steps, at = steps + 1, heads[at]
        return steps

    return min(words, key=lambda word: (depth(word), word))
