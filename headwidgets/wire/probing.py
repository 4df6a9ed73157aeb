"""Documents of patterns and probing: where heads look, how alike they are, what they find, which roles they have."""

from typing import Literal, NotRequired, TypedDict

from headwidgets.wire.basics import ArrayRef, HeadRef, IntervalData, KindName, Provenance


class PatternStatistic(TypedDict):
    """One number per head about where it looks."""

    name: str
    label: str
    """The y axis in words, without the unit."""
    unit: str
    values: ArrayRef
    """float32 [points]; NaN is not measured."""
    stderr: ArrayRef | None
    """float32 [points]"""
    reference: dict[KindName, float]
    """By kind, what a head that looks at all visible keys alike would have; not there where that has no meaning."""
    n: int
    """Texts."""


class PatternChart(TypedDict):
    """Statistics that share a y axis (Clark et al. 2019, figures 2 to 4)."""

    name: str
    label: str
    """The y axis in words."""
    unit: str
    statistics: list[int]
    """Numbers of the statistics drawn in it, one colour and marker each."""


class PatternsDocument(TypedDict):
    """Layer curves of statistics; a point is a head. A ``.heads`` file of patterns is one too, with more beside it."""

    schema: int
    document: Literal["patterns"]
    title: str
    heads: ArrayRef
    """int32 [points, 3]: kind (0 encoder, 1 decoder, 2 cross), layer, index."""
    statistics: list[PatternStatistic]
    charts: list[PatternChart]
    shown: int
    """The chart on show."""
    selected: list[HeadRef]
    note: str
    provenance: Provenance | None


class HeadGroups(TypedDict):
    """One way to colour points."""

    name: str
    """For example ``layer`` or ``role``."""
    labels: list[str]
    ordered: bool
    """Labels are ordered (layers): a ramp; else categories, told apart by shape as well as colour."""
    group: ArrayRef
    """int32 [points]: the label of each; -1 for none."""
    about: NotRequired[list[str]]
    """Per point what is read out in place of its label, for example all roles of a head with several."""


class HeadMapDocument(TypedDict):
    """Heads laid out so that those that attend alike are near each other."""

    schema: int
    document: Literal["headmap"]
    title: str
    heads: ArrayRef
    """int32 [points, 3]: kind, layer, index."""
    x: ArrayRef
    """float32 [points], in the unit of the distance."""
    y: ArrayRef
    unit: str
    stress: float
    """Kruskal's normalised stress-1 of the layout: 0 is a perfect picture of the distances."""
    fit: float
    """Squared correlation of distances in the picture with those of the heads."""
    groups: list[HeadGroups]
    shown: int
    """Which of `groups` colours the points."""
    selected: list[HeadRef]
    note: str
    provenance: Provenance | None


class DistancesKind(TypedDict):
    """Distances between all heads of one kind; pairs are (0, 1), (0, 2), ..., (1, 2), ..."""

    kind: KindName
    heads: ArrayRef
    """int32 [heads, 2]: layer, index."""
    pairs: ArrayRef
    """float64 [pairs]: nats per token."""
    stderr: ArrayRef
    """float64 [pairs]; NaN for a single text."""
    n: int
    """Texts with a token that counts."""
    tokens: float
    halves: ArrayRef | None
    """float32 [2, pairs]: the same from two halves of the texts."""
    by_layer: ArrayRef
    """float64 [groups, layers, layers]: sums over the tokens of a random group of texts, by pair of layers."""
    group_weights: ArrayRef
    """float64 [groups]: tokens."""


class DistancesFile(TypedDict):
    """A ``.heads`` file that holds distances between heads (`headwidgets.HeadDistances.save`)."""

    schema: int
    document: Literal["distances"]
    version: str
    fingerprint: str | None
    n: int
    keys: Literal["all", "content"]
    kinds: list[DistancesKind]
    provenance: Provenance | None


class ProbeSentence(TypedDict):
    """A sentence that examples are drawn over."""

    words: list[str]
    glued: list[bool]
    """Per word: no space stands before it."""
    name: str
    second: NotRequired[int]
    """Of a pair: the word at which the second text begins; 0 or absent where there is one text."""


class ProbeRow(TypedDict):
    """One relation in one direction: its best head, and what it is measured against."""

    relation: str
    direction: str
    """For example ``dependent to head``."""
    n: int
    """Instances."""
    best: HeadRef | None
    """None where no head is asked (a trained probe)."""
    accuracy: IntervalData
    baseline: float
    """The best fixed offset."""
    offset: int
    strongest: str
    """Name of the strongest other baseline; empty when there is none."""
    strongest_accuracy: float
    """NaN is sent as -1."""
    verdict: str
    """In a few words: what may be said of the best head."""
    verdict_good: bool
    arcs: list[int]
    """Numbers of the examples of this row."""


class ProbeArc(TypedDict):
    """One instance: from the source words the head should look at the target words."""

    sentence: int
    source: list[int]
    target: list[int]


class ProbeTree(TypedDict):
    """Gold against predicted tree of a sentence."""

    sentence: int
    gold: list[int]
    """Per word its head's position; -1 for the root."""
    predicted: list[int]
    relations: list[str]
    """Per word its gold label."""


class ProbeScore(TypedDict):
    """A trained probe or one of its controls."""

    name: str
    accuracy: IntervalData
    control: bool


class ProbeDocument(TypedDict):
    """What heads, or probes over them, find."""

    schema: int
    document: Literal["probe"]
    title: str
    measure: str
    """What `accuracy` is, for example ``accuracy`` or ``UAS``."""
    heads: ArrayRef
    """int32 [heads, 3]: kind, layer, index; 0 rows for a trained probe."""
    rows: list[ProbeRow]
    table: ArrayRef
    """float32 [rows, heads]: accuracy of every head, NaN is not measured; where that is too large to send, uint8: 0 to
    254 stand for 0 to 1, and 255 is not measured; where even that is too large, [1, heads]: of the row shown."""
    sentences: list[ProbeSentence]
    arcs: list[ProbeArc]
    predicted: ArrayRef
    """int32 [arcs, heads]: the word that each head points at; -1 for none. Where that is too large to send, uint8, and
    255 is none."""
    trees: list[ProbeTree]
    scores: list[ProbeScore]
    """Of a trained probe and its controls; empty for heads."""
    shown: int
    """The row whose examples are drawn; -1 for the trees."""
    head: HeadRef | None
    """The head whose arcs are drawn; the best of the row when None."""
    selected: list[HeadRef]
    sort: NotRequired[str]
    """Column that rows are sorted by, ``-`` in front for largest first; the document's order when absent."""
    tree: NotRequired[int]
    """The tree on show; the first when absent."""
    note: str
    provenance: Provenance | None


class LinksRow(TypedDict):
    """One relation in one direction in a file; intervals are value, low and high."""

    relation: str
    label: str
    """The direction in words."""
    n: int
    best: HeadRef | None
    accuracy: list[float | None]
    baseline: float | None
    offset: int
    strongest: str
    strongest_accuracy: float | None
    verdict: str
    better: bool
    arcs: list[int]


class LinksFile(TypedDict):
    """A ``.heads`` file that holds links (`headwidgets.Links.save`), as far as it is drawn."""

    schema: int
    document: Literal["links"]
    version: str
    fingerprint: str | None
    name: str
    heads: ArrayRef
    """int32 [heads, 3]: kind, layer, index."""
    rows: list[LinksRow]
    accuracy: ArrayRef
    """float64 [rows, heads]"""
    sentences: list[ProbeSentence]
    arcs: list[ProbeArc]
    predicted: ArrayRef
    """int32 [arcs, heads]; -1 for none."""
    notes: list[str]
    provenance: Provenance | None


class RoleEvidence(TypedDict):
    """One head in one role."""

    head: HeadRef
    value: float
    """What was measured, in the unit of the rule."""
    about: str
    """In a few words: what it rests on, for example ``offset -1 in 97 % of tokens``."""
    low: NotRequired[float]
    """With `high`, the 95 % interval of the value for new texts; absent when not known."""
    high: NotRequired[float]
    n: NotRequired[int]
    """Size of the sample, in what the rule counts (texts, instances)."""
    certain: NotRequired[bool]
    """Whether the rule holds beyond chance, all heads judged together; a role that a person gave has no such word."""


class RoleLayer(TypedDict):
    """One role and the heads that have it."""

    name: str
    rule: str
    """What a head must do to have it, in words."""
    heads: list[RoleEvidence]
    unit: NotRequired[str]
    """Of the evidence's values."""
    measured: NotRequired[int]
    """Heads that were looked at; all when absent."""


class RolesFile(TypedDict):
    """A ``.heads`` file that holds roles (`headwidgets.Roles.save`)."""

    schema: int
    document: Literal["roles"]
    version: str
    fingerprint: str | None
    shapes: dict[KindName, list[int]]
    """By kind, [layers, heads]."""
    roles: list[RoleLayer]
    n: int
    notes: list[str]
    provenance: Provenance | None
