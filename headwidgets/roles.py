"""What is a head for? `Roles` says which named functions each head has, and on what evidence."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, overload

from headwidgets.citations import bibtex
from headwidgets.errors import InputError
from headwidgets.scores import KIND_ORDER, Head, HeadScores, import_pandas
from headwidgets.wire.documents import SCHEMA, KindName, Provenance, RoleEvidence, RoleLayer, RolesFile

Shapes = dict[KindName, tuple[int, int]]


@dataclass(frozen=True)
class Evidence:
    """Why a head has a role.

    Attributes:
        head: The head.
        value: What was measured, in the unit of the role; NaN for a role that a person gave.
        about: In a few words, for example ``offset -1 in 97 % of tokens``.
        low: With `high`, 95 % interval of the value for new texts; NaN when not known.
        high: See `low`.
        n: Size of the sample; 0 when it is none.
        certain: Whether the rule holds beyond chance, all heads judged together: the value may be above a threshold by
            luck. None for a role that a person gave.
    """

    head: Head
    value: float = math.nan
    about: str = ""
    low: float = math.nan
    high: float = math.nan
    n: int = 0
    certain: bool | None = None


@dataclass(frozen=True, repr=False)
class Role:
    """One role and the heads that have it.

    Attributes:
        name: For example ``positional``.
        rule: What a head must do to have it, in words.
        evidence: Of the heads that have it, the strongest first.
        unit: Of the values.
        measured: Heads that were looked at; all when None.
        scores: What was measured of every head; None when not known. Not kept in files.
    """

    name: str
    rule: str
    evidence: tuple[Evidence, ...] = ()
    unit: str = ""
    measured: int | None = None
    scores: HeadScores | None = field(default=None, repr=False, compare=False)

    @property
    def heads(self) -> list[Head]:
        """The heads that have it, the strongest first."""
        return [found.head for found in self.evidence]

    def __len__(self) -> int:
        return len(self.evidence)

    def __repr__(self) -> str:
        shown = [head.label(True) for head in self.heads[:4]]
        listed = ", ".join([*shown, *(["\u2026"] if len(self) > len(shown) else [])]) or "none"
        of = "" if self.measured is None else f" of {self.measured}"
        return f"Role({self.name}: {len(self)}{of} heads, {listed}; {self.rule})"


class Roles:
    """Named functions of a model's heads. A head may have several, and most often many have none.

    Example:
        >>> roles = hw.probing.roles(model, texts, treebank)
        >>> roles.heads("positional")
        [Head(kind='encoder', layer=0, index=2)]
        >>> roles[hw.Head("encoder", 0, 2)]
        ('positional',)
        >>> hw.HeadGrid(roles)

    Attributes:
        roles: In the order in which they are drawn.
        shapes: By kind, layers and heads.
        n: Texts that were looked at; 0 when none were.
        notes: Sentences about what a reader should know.
        fingerprint: Of the model; None when unknown.
        provenance: How they were found; None when unknown.
    """

    def __init__(
        self,
        roles: Iterable[Role],
        shapes: Mapping[KindName, tuple[int, int]],
        *,
        n: int = 0,
        notes: Sequence[str] = (),
        fingerprint: str | None = None,
        provenance: Provenance | None = None,
    ) -> None:
        """Keep roles.

        Raises:
            InputError: a head that does not exist, a head twice in a role, or two roles of one name.
        """
        self.roles = tuple(roles)
        self.shapes: Shapes = {kind: _pair(kind, shapes[kind]) for kind in _kinds(shapes)}
        self.n = int(n)
        self.notes = tuple(notes)
        self.fingerprint = fingerprint
        self.provenance = provenance
        seen: set[str] = set()
        for role in self.roles:
            if role.name in seen:
                raise InputError(f"two roles are called {role.name!r}: give them different names")
            seen.add(role.name)
            if len(set(role.heads)) < len(role.evidence):
                raise InputError(f"a head has the role {role.name!r} twice")
            for head in role.heads:
                self._check(head)
        self._of: dict[Head, tuple[str, ...]] = {}
        for role in self.roles:
            for head in role.heads:
                self._of[head] = (*self._of.get(head, ()), role.name)

    @classmethod
    def of(cls, heads: Mapping[str, Iterable[Any]], model: Any, *, rule: str = "given by hand") -> "Roles":
        """Roles that a person gives.

        Args:
            heads: By name of the role, heads (or ``(kind, layer, index)``).
            model: A HeadModel, or anything with the same heads: `Roles`, or layers and heads by kind.
            rule: Where they come from.

        Raises:
            InputError: a head that does not exist.
        """
        shapes: Any = getattr(model, "shapes", model)
        if hasattr(model, "kinds") and hasattr(model, "shape"):
            shapes = {kind: model.shape(kind) for kind in model.kinds}
        if not isinstance(shapes, Mapping):
            raise InputError(f"expected a model or its layers and heads by kind, got {type(model).__name__}")
        found = [Role(name, rule, tuple(Evidence(_head(one)) for one in own)) for name, own in heads.items()]
        return cls(found, shapes, fingerprint=getattr(model, "fingerprint", None))

    # ---- looking things up

    @property
    def names(self) -> tuple[str, ...]:
        """Of the roles."""
        return tuple(role.name for role in self.roles)

    @property
    def kinds(self) -> tuple[KindName, ...]:
        """The kinds of attention."""
        return tuple(self.shapes)

    @overload
    def __getitem__(self, key: str) -> Role: ...
    @overload
    def __getitem__(self, key: Head) -> tuple[str, ...]: ...
    def __getitem__(self, key: str | Head) -> Role | tuple[str, ...]:
        """A role by its name, or the names of a head's roles."""
        if isinstance(key, str):
            for role in self.roles:
                if role.name == key:
                    return role
            raise InputError(f"there is no role {key!r}; there are {', '.join(self.names) or 'none'}")
        head = _head(key)
        self._check(head)
        return self._of.get(head, ())

    def __iter__(self) -> Iterator[Role]:
        return iter(self.roles)

    def __len__(self) -> int:
        return len(self.roles)

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def heads(self, name: str | None = None) -> list[Head]:
        """Heads with a role, the strongest first; without a name those with any, by kind, layer and index."""
        if name is not None:
            return self[name].heads
        return sorted(self._of, key=lambda head: (KIND_ORDER.index(head.kind), head.layer, head.index))

    def evidence(self, head: Head) -> dict[str, Evidence]:
        """Why a head has its roles, by role."""
        return {name: next(e for e in self[name].evidence if e.head == head) for name in self[head]}

    @property
    def without(self) -> list[Head]:
        """Heads without a role, by kind, layer and index."""
        return [head for head in self._all() if head not in self._of]

    def only(self, *names: str) -> "Roles":
        """The same with these roles alone, in this order."""
        return self._with([self[name] for name in names])

    def certain(self) -> "Roles":
        """The same without evidence that may be luck (`Evidence.certain`)."""
        return self._with(
            [replace(role, evidence=tuple(e for e in role.evidence if e.certain is not False)) for role in self.roles]
        )

    def after(self, pruned: Iterable[Any]) -> "Roles":
        """What is left when some heads are pruned; nothing is measured anew (see `headwidgets.probing.roles_after`)."""
        gone = {_head(one) for one in pruned}
        for head in gone:
            self._check(head)
        return self._with(
            [replace(role, evidence=tuple(e for e in role.evidence if e.head not in gone)) for role in self.roles]
        )

    def with_role(
        self, name: str, heads: Iterable[Any] | HeadScores, *, at_least: float | None = None, rule: str = ""
    ) -> "Roles":
        """The same and one more role.

        Args:
            name: Of the role.
            heads: Heads; or scores, of which those of `at_least` or more have the role.
            at_least: A threshold for scores.
            rule: What a head must do to have it, in words.

        Raises:
            InputError: scores without a threshold, a head that does not exist, or a name that is taken.
        """
        if isinstance(heads, HeadScores):
            if at_least is None:
                raise InputError("expected at_least= with scores: from what value on does a head have the role?")
            floor = at_least
            listed = sorted(((value, head) for head, value in heads if value >= floor), key=lambda item: -item[0])
            found = tuple(Evidence(head, value, f"{heads.name} {value:.3g}", n=heads.n) for value, head in listed)
            unit = f" {heads.unit}" if heads.unit else ""
            words = rule or f"{heads.name} of at least {at_least:g}{unit}"
            return self._with([*self.roles, Role(name, words, found, heads.unit, scores=heads)])
        return self._with([*self.roles, Role(name, rule or "given by hand", tuple(Evidence(_head(x)) for x in heads))])

    # ---- showing and keeping

    def to_frame(self) -> Any:
        """A pandas DataFrame, one row per head and role: role, kind, layer, head, value, low, high, n, certain, about.

        Raises:
            InputError: pandas is not installed.
        """
        pandas = import_pandas("roles.to_frame()")
        columns = ["role", "kind", "layer", "head", "value", "low", "high", "n", "certain", "about"]
        rows = [
            [role.name, *e.head, e.value, e.low, e.high, e.n, e.certain, e.about]
            for role in self.roles
            for e in role.evidence
        ]
        frame = pandas.DataFrame(rows, columns=columns)
        frame.attrs = {
            "rules": {role.name: role.rule for role in self.roles},
            "n": self.n,
            "notes": list(self.notes),
            "fingerprint": self.fingerprint,
            "provenance": self.provenance,
        }
        return frame

    def layers(self) -> list[RoleLayer]:
        """The wire's form, for grids."""
        return [_layer(role) for role in self.roles]

    def document(self) -> dict[str, Any]:
        """The content of a ``.heads`` file (wire `RolesFile`)."""
        from headwidgets import __version__

        return {
            "schema": SCHEMA,
            "document": "roles",
            "version": __version__,
            "fingerprint": self.fingerprint,
            "shapes": {kind: list(shape) for kind, shape in self.shapes.items()},
            "roles": self.layers(),
            "n": self.n,
            "notes": list(self.notes),
            "provenance": self.provenance,
        }

    @classmethod
    def from_document(cls, document: RolesFile) -> "Roles":
        """The inverse of `document`; what was measured of heads without the role is not in it."""
        roles = [
            Role(
                str(layer["name"]),
                str(layer["rule"]),
                tuple(_evidence(one) for one in layer["heads"]),
                str(layer.get("unit", "")),
                layer.get("measured"),
            )
            for layer in document["roles"]
        ]
        shapes = {kind: (int(a), int(b)) for kind, (a, b) in document["shapes"].items()}
        return cls(
            roles,
            shapes,
            n=int(document["n"]),
            notes=[str(note) for note in document["notes"]],
            fingerprint=document.get("fingerprint"),
            provenance=document.get("provenance"),
        )

    def save(self, path: str | Path) -> Path:
        """Write a ``.heads`` file; `headwidgets.read` reads it, and JupyterLab shows it as a grid.

        Returns:
            The path; ``.heads`` is added to a name without an extension.
        """
        from headwidgets.files import write

        return write(path, self.document())

    def cite(self) -> str:
        """BibTeX of the papers behind the roles that were looked for."""
        return bibtex(list(self.names))

    def __repr__(self) -> str:
        counts = ", ".join(f"{role.name} {len(role)}" for role in self.roles)
        return f"Roles({counts or 'none'}; {len(self.without)} of {len(list(self._all()))} heads have none, n={self.n})"

    # ---- inside

    def _with(self, roles: Iterable[Role]) -> "Roles":
        return Roles(
            roles, self.shapes, n=self.n, notes=self.notes, fingerprint=self.fingerprint, provenance=self.provenance
        )

    def _all(self) -> Iterator[Head]:
        for kind, (layers, heads) in self.shapes.items():
            yield from (Head(kind, layer, index) for layer in range(layers) for index in range(heads))

    def _check(self, head: Head) -> None:
        layers, heads = self.shapes.get(head.kind, (0, 0))
        if not (0 <= head.layer < layers and 0 <= head.index < heads):
            there = ", ".join(f"{kind} {a} x {b}" for kind, (a, b) in self.shapes.items())
            raise InputError(f"there is no head {head!r}; there are (layers x heads) {there}")


def _kinds(shapes: Mapping[KindName, Any]) -> list[KindName]:
    unknown = [kind for kind in shapes if kind not in KIND_ORDER]
    if unknown or not shapes:
        raise InputError(
            f"expected layers and heads by kind ({', '.join(KIND_ORDER)}), got {unknown[0] if unknown else 'none'!r}"
        )
    return [kind for kind in KIND_ORDER if kind in shapes]


def _pair(kind: str, shape: Any) -> tuple[int, int]:
    try:
        layers, heads = map(int, shape)
    except (TypeError, ValueError):
        raise InputError(f"expected layers and heads of {kind} as two numbers, got {shape!r}") from None
    return layers, heads


def _head(value: Any) -> Head:
    if isinstance(value, (tuple, list)) and len(value) == 3 and value[0] in KIND_ORDER:
        return Head(value[0], int(value[1]), int(value[2]))
    raise InputError(f"expected a head such as Head('encoder', 0, 3), got {value!r}")


def _layer(role: Role) -> RoleLayer:
    layer: RoleLayer = {"name": role.name, "rule": role.rule, "heads": [_wired(e) for e in role.evidence]}
    if role.unit:
        layer["unit"] = role.unit
    if role.measured is not None:
        layer["measured"] = role.measured
    return layer


def _wired(found: Evidence) -> RoleEvidence:
    """JSON has no NaN: a value that is not known is -1, an end of an interval is left out."""
    kind, layer, index = found.head
    known = math.isfinite(found.value)
    wired: RoleEvidence = {
        "head": (kind, layer, index),
        "value": found.value if known else -1.0,
        "about": found.about,
    }
    if known and math.isfinite(found.low) and math.isfinite(found.high):
        wired["low"], wired["high"] = found.low, found.high
    if found.n:
        wired["n"] = found.n
    if found.certain is not None:
        wired["certain"] = found.certain
    return wired


def _evidence(wired: RoleEvidence) -> Evidence:
    given = "low" in wired or wired.get("n", 0) > 0 or wired.get("certain") is not None
    value = float(wired["value"])
    return Evidence(
        _head(wired["head"]),
        value if given or value != -1.0 else math.nan,
        str(wired["about"]),
        float(wired.get("low", math.nan)),
        float(wired.get("high", math.nan)),
        int(wired.get("n", 0)),
        wired.get("certain"),
    )
