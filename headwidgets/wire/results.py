"""Documents of results: what a file keeps of an attribution, trees, correlations, curves, triggers."""

from typing import Literal, TypedDict

from headwidgets.wire.basics import (
    ArrayRef,
    CurvePoint,
    EstimateData,
    HeadRef,
    IntervalData,
    KindName,
    Provenance,
    Token,
)


class SideData(TypedDict):
    """The positions of one side of a map."""

    tokens: list[str]
    """As the tokenizer made them."""
    labels: list[Token]
    group: list[int] | None
    """Per token the number of its word, ascending from 0; None where words are not known, or these are words."""
    words: list[Token] | None


class AttributionKind(TypedDict):
    """Attribution of one kind of attention in a file."""

    kind: KindName
    layers: int
    heads: int
    query: SideData
    key: SideData
    totals: ArrayRef
    """float64 [layers, heads]."""
    largest: ArrayRef
    """float64 [layers, heads]: a head's largest entry."""
    change: ArrayRef
    """float64 [layers]."""
    gap: ArrayRef
    """float64 [layers]."""
    steps: ArrayRef
    """int32 [layers]."""
    maps: ArrayRef | None
    """float32 [layers, heads, query, key]; NaN where a layer has no such head; None where maps were not kept."""
    attention: ArrayRef | None
    """float32 [layers, heads, query, key]."""


class AttributionFile(TypedDict):
    """A ``.heads`` file that holds one attribution (`headwidgets.Attribution.save`)."""

    schema: int
    document: Literal["attribution-result"]
    version: str
    """Of headwidgets, when written."""
    fingerprint: str | None
    segments: list[str | list[str]]
    """The text; two of them for a pair; a list holds words that the user gave."""
    target: str
    target_ids: list[int]
    positions: list[int]
    output: str
    unit: str
    value: float
    rule: str
    tolerance: float
    words: bool
    notes: list[str]
    kinds: list[AttributionKind]
    provenance: Provenance | None


class TreeLevel(TypedDict):
    """What a tree over one row of positions (tokens, or words) is grown from."""

    count: int
    """Positions."""
    root: int
    """Position that the prediction is read at, drawn on top; -1 when it is read nowhere in particular."""
    floor: float
    """Edges that are at most this share of their layer's largest entry were left out; the slider starts here."""
    edges: ArrayRef
    """int32 [edges], ascending: (layer * count + query) * count + key; the query attends to the key."""
    weight: ArrayRef
    """float32 [edges]: attribution summed over the layer's heads, in the unit of the output."""
    heaviest: float
    """Weight of the heaviest edge that a tree may have, before any were left out; 0 when there is none."""
    peak: ArrayRef
    """float32 [layers]: largest entry of a layer, what shares are shares of; NaN for a layer not measured."""
    gathered: ArrayRef
    """float32 [positions]: what a position takes from others, summed over layers; the largest is the top node."""
    terminal: ArrayRef
    """float32 [positions]: what the root takes from each position in the last layer; zeros without a root."""


class TreeDocument(TypedDict):
    """The attribution tree of one text; the browser grows it anew for any threshold from the candidate edges."""

    schema: int
    document: Literal["tree"]
    title: str
    text: str
    target: str
    output: str
    unit: str
    value: float
    kind: KindName
    layers: int
    tokens: list[Token]
    words: list[int]
    """Per token the number of its position at the level of words, ascending from 0."""
    levels: list[TreeLevel]
    """Of tokens, then of words where those differ and fit; empty while the attribution is being computed."""
    order: Literal["strongest", "published"]
    """In which order the edges of a layer are tried: strongest first, or row by row."""
    threshold: float
    """tau: an edge may be taken when its weight is more than this share of the largest entry of its layer."""
    penalty: float
    """lambda: an edge has to weigh more than this share of the heaviest one."""
    collapsed: bool
    """Words instead of tokens."""
    notes: list[str]
    """Sentences about what a reader should know."""
    provenance: Provenance | None


class CorrelationData(TypedDict):
    """How far two measurements agree, each number with its 95 % interval."""

    pearson: "IntervalData"
    spearman: "IntervalData"
    within_layers: "IntervalData | None"
    """Pearson r after each layer's mean was taken off; None where the heads of a layer do not differ."""
    ceiling: "IntervalData | None"
    """What r could be at most, given how far each measurement agrees with itself; None when not known."""
    heads: int
    resampled: str
    """What the intervals were bootstrapped over, in words."""


class ScatterDocument(TypedDict):
    """Two measurements of the same heads; a point is a head."""

    schema: int
    document: Literal["scatter"]
    title: str
    x_name: str
    y_name: str
    x_unit: str
    y_unit: str
    heads: ArrayRef
    """int32 [points, 3]: kind (0 encoder, 1 decoder, 2 cross), layer, index."""
    x: ArrayRef
    """float32 [points]"""
    y: ArrayRef
    x_error: ArrayRef | None
    """float32 [points], standard errors; NaN where not known."""
    y_error: ArrayRef | None
    missing: int
    """Heads that one of the two did not measure; they are not drawn."""
    correlation: CorrelationData
    selected: list[HeadRef]
    provenance: Provenance | None


class NamedCurve(TypedDict):
    """One line of a chart."""

    name: str
    points: list["CurvePoint"]
    """By count ascending."""
    control: bool
    """Drawn as a band in grey behind the others (random orders)."""
    area: "IntervalData | None"
    """Mean height of the curve over the share of heads pruned, in the unit of the metric."""
    draws: int
    """How many curves this one is the mean of; 1 for a plain curve."""


class CurvesDocument(TypedDict):
    """Several curves of one metric on one chart."""

    schema: int
    document: Literal["curves"]
    title: str
    metric: str
    x_label: str
    """What `count` counts, for example ``heads pruned``."""
    total: int
    """Largest count."""
    baseline: "EstimateData | None"
    curves: list[NamedCurve]
    note: str
    provenance: Provenance | None


class TriggerToken(TypedDict):
    """One word of a trigger and where it goes; its pieces stay together."""

    text: str
    ids: list[int]
    """The tokenizer's ids of its pieces."""
    segment: int
    place: float
    """Relative position in its segment, 0 to 1."""


class TriggerExample(TypedDict):
    """A text whose prediction changed; `parts` are what was there and what was put in, in order."""

    parts: list[str]
    inserted: list[int]
    """Which of the parts were put in."""
    second: int
    """The part that begins the second text of a pair; -1 for one text."""
    label: str
    before: str
    after: str


class TriggerMove(TypedDict):
    """How many of the changed predictions became a class."""

    label: str
    n: int


class TriggerRow(TypedDict):
    """One trigger."""

    tokens: list[TriggerToken]
    score: float
    """Largest attribution of its links."""
    support: int
    """Texts in which its links were found."""
    found_in: str
    """The class whose attribution its links carried."""
    changed: int
    """Texts whose prediction it changed."""
    skipped: int
    """Texts too long to take it in."""
    moved: list[TriggerMove]
    """Where the changed predictions went, most frequent first."""
    examples: list[TriggerExample]


class TriggersDocument(TypedDict):
    """Adversarial triggers and, after an attack, what they do."""

    schema: int
    document: Literal["triggers"]
    title: str
    unit: str
    classes: list[str]
    """The classes of the labels of the attacked texts; empty before an attack."""
    pairs: bool
    """Whether texts are pairs."""
    rows: list[TriggerRow]
    counts: ArrayRef | None
    """int32 [rows, 1 + classes]: texts; the first column is all of them."""
    outcomes: ArrayRef | None
    """float32 [rows, 1 + classes, 5, 3]: accuracy before, after, its paired change, with random tokens in the same
    places, with tokens of like frequency; each as value, low, high. Of the last two the ends are the 2.5 and 97.5 % of
    the draws. NaN where it is not known."""
    draws: int
    """Of random and of matched tokens."""
    selected: int
    """The row whose examples are shown; -1 for none."""
    sort: str
    """The column that rows are sorted by, with a minus sign for largest first; empty for the order of `rows`."""
    searched: int
    """Texts that were searched."""
    skipped: int
    """Texts that gave nothing."""
    note: str
    provenance: Provenance | None
