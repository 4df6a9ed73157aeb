"""What `find_triggers` returns; can be saved and read."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headwidgets.attribution.triggers.insertion import Word
from headwidgets.errors import InputError
from headwidgets.scores import import_pandas
from headwidgets.wire.documents import SCHEMA, Provenance, TriggerRow, TriggersDocument


def mark(text: Any) -> str:
    """A short digest of one text, to see whether it was searched without keeping it."""
    return hashlib.sha256(repr(text).encode("utf-8", "surrogatepass")).hexdigest()[:16]


@dataclass(frozen=True)
class Trigger:
    """A few words that carry a class.

    Attributes:
        words: In order of segment and place.
        score: Largest attribution of its links.
        support: Texts of the class in which all its links are among the strongest.
        found_in: Name of the class.
    """

    words: tuple[Word, ...]
    score: float
    support: int
    found_in: str

    @property
    def text(self) -> str:
        """The words, for a reader; a bar stands between the two texts of a pair."""
        first = " ".join(w.text for w in self.words if w.segment == 0)
        second = " ".join(w.text for w in self.words if w.segment == 1)
        return f"{first} | {second}".strip() if second else first

    @property
    def length(self) -> int:
        """Tokens."""
        return sum(len(w.ids) for w in self.words)

    def row(self) -> TriggerRow:
        """The wire's form, before an attack."""
        return {
            "tokens": [
                {"text": w.text, "ids": list(w.ids), "segment": w.segment, "place": w.place} for w in self.words
            ],
            "score": self.score,
            "support": self.support,
            "found_in": self.found_in,
            "changed": 0,
            "skipped": 0,
            "moved": [],
            "examples": [],
        }


@dataclass
class Triggers(Sequence[Trigger]):
    """Candidates for adversarial triggers, class by class, strongest first. A slice is `Triggers` too.

    Attributes:
        found: The triggers.
        variant: How links were chosen: ``links`` or ``published``.
        unit: Of the scores.
        searched: Texts that were attributed.
        skipped: Texts that gave nothing, by reason: ``too short`` (not attributed), ``no strong link``.
        pairs: Whether texts are pairs.
        marks: A digest of every text searched.
        provenance: How they were found.
    """

    found: list[Trigger]
    variant: str = "links"
    unit: str = ""
    searched: int = 0
    skipped: Mapping[str, int] = field(default_factory=dict)
    pairs: bool = False
    marks: frozenset[str] = field(default=frozenset(), repr=False)
    provenance: Provenance | None = field(default=None, repr=False)

    def __len__(self) -> int:
        return len(self.found)

    def __iter__(self) -> Iterator[Trigger]:
        return iter(self.found)

    def __getitem__(self, index: Any) -> Any:
        return self.only(self.found[index]) if isinstance(index, slice) else self.found[index]

    def only(self, triggers: Sequence[Trigger]) -> "Triggers":
        """The same search with these triggers of it."""
        return Triggers(
            list(triggers), self.variant, self.unit, self.searched, self.skipped, self.pairs, self.marks,
            self.provenance,
        )  # fmt: skip

    def of(self, name: str) -> "Triggers":
        """Those found in texts of one class."""
        classes = list(dict.fromkeys(t.found_in for t in self.found))
        if name not in classes:
            raise InputError(f"there are no triggers of class {name!r}: they are of {', '.join(classes) or 'none'}")
        return self.only([t for t in self.found if t.found_in == name])

    def __repr__(self) -> str:
        shown = ", ".join(f"{t.text!r} ({t.found_in})" for t in self.found[:4])
        more = ", ..." if len(self.found) > 4 else ""
        return f"Triggers({len(self.found)} found in {self.searched} texts: {shown}{more})"

    def to_frame(self) -> Any:
        """A pandas DataFrame, one row per trigger; how they were found is in ``.attrs``."""
        frame = import_pandas("triggers.to_frame()").DataFrame(
            [
                {
                    "trigger": t.text,
                    "found_in": t.found_in,
                    "score": t.score,
                    "support": t.support,
                    "tokens": t.length,
                    "places": tuple(w.place for w in t.words),
                    "segments": tuple(w.segment for w in t.words),
                }
                for t in self.found
            ],
            columns=["trigger", "found_in", "score", "support", "tokens", "places", "segments"],
        )
        frame.attrs = {"searched": self.searched, "skipped": dict(self.skipped), "provenance": self.provenance}
        return frame

    def document(self, title: str = "Triggers") -> TriggersDocument:
        """The wire's form, for the table and for files."""
        reasons = ", ".join(f"{count} {reason}" for reason, count in self.skipped.items() if count)
        return {
            "schema": SCHEMA,
            "document": "triggers",
            "title": title,
            "unit": self.unit,
            "classes": [],
            "pairs": self.pairs,
            "rows": [t.row() for t in self.found],
            "counts": None,
            "outcomes": None,
            "draws": 0,
            "selected": -1,
            "sort": "",
            "searched": self.searched,
            "skipped": sum(self.skipped.values()),
            "note": f"Skipped: {reasons}." if reasons else "",
            "provenance": self.provenance,
        }

    def save(self, path: str | Path) -> Path:
        """Write a ``.heads`` file; JupyterLab shows it as a table, `headwidgets.read` gives the triggers back."""
        from headwidgets.files import write

        return write(path, dict(self.document()))

    @classmethod
    def from_document(cls, document: TriggersDocument) -> "Triggers":
        """Triggers from a document of them, also of an attack's."""
        found = [
            Trigger(
                tuple(
                    Word(tuple(int(i) for i in t["ids"]), str(t["text"]), int(t["segment"]), float(t["place"]))
                    for t in row["tokens"]
                ),
                float(row["score"]),
                int(row["support"]),
                str(row["found_in"]),
            )
            for row in document["rows"]
        ]
        made = document["provenance"]
        variant = str(made["settings"].get("variant", "links")) if made else "links"
        return cls(
            found,
            variant,
            document["unit"],
            int(document["searched"]),
            {"skipped": int(document["skipped"])},
            bool(document["pairs"]),
            provenance=made,
        )
