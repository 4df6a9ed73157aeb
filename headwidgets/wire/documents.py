"""Every document that crosses to the browser or into a file, said once.

This module is the only source of the protocol. ``python -m headwidgets.wire.generate`` writes
``js/wire/types.ts`` from it; keys are snake_case on both sides. Documents are plain JSON values;
arrays inside them are `ArrayRef` (see `headwidgets.wire.arrays` for packing and unpacking).

A live widget syncs one document as the traits ``document`` (the JSON), ``buffer`` (all arrays, one
after the other) and ``version``; view state such as ``selected`` and ``pruned`` are traits of their own
and override the fields of the same name in the document.
"""

from typing import Literal, NotRequired, TypedDict

SCHEMA = 1
"""Number of this protocol; a reader refuses a document with a larger one."""

MIME_PREFIX = "application/vnd.headwidgets."
"""A saved output carries its document as ``application/vnd.headwidgets.<document>+json``."""

KindName = Literal["encoder", "decoder", "cross"]
DTypeName = Literal["float32", "float64", "int32", "uint8"]
ThemeName = Literal["auto", "light", "dark"]
ViewName = Literal["attention", "attribution", "norm"]
"""What a map shows: weights; what they add to the output; weights times the norm of what they carry."""
HeadRef = tuple[KindName, int, int]
"""``[kind, layer, index]``, counted from 0."""


class ArrayRef(TypedDict):
    """An array, row-major and little-endian; exactly one of `data` and `offset` is present."""

    dtype: DTypeName
    shape: list[int]
    data: NotRequired[str]
    """Base64 of the bytes; in files and saved outputs."""
    offset: NotRequired[int]
    """First byte in the buffer that accompanies the document, a multiple of 8; in live widgets."""


class Provenance(TypedDict):
    """How a result was made; drawn as the foot line of a figure when asked for."""

    model: str
    version: str
    settings: dict[str, str | int | float | bool | None]


class Token(TypedDict):
    """One position of an attention map."""

    text: str
    """What a reader sees: the source text behind the token where offsets are known."""
    special: bool
    """A token the tokenizer added ([CLS], </s>, ...)."""
    continued: bool
    """Shares its (multi-byte) character with the token before it; drawn with a mark."""
    joined: bool
    """Belongs to the same word as the token before it (no space between)."""


class ScoreLayer(TypedDict):
    """One measurement of all heads of a kind."""

    name: str
    unit: str
    """Empty for a pure number."""
    n: int
    """Number of examples; 0 when not a sample."""
    signed: bool
    """Draw with a diverging ramp centred at 0."""
    values: ArrayRef
    """float32 [layers, heads]; NaN is not measured and is drawn as such, never as 0."""
    stderr: ArrayRef | None
    """float32 [layers, heads], same unit."""


class GridPanel(TypedDict):
    """The heads of one kind."""

    kind: KindName
    label: str
    layers: int
    heads: int
    kv_heads: int
    """Key/value heads; smaller than `heads` under grouped-query attention."""
    scores: list[ScoreLayer]


class GridDocument(TypedDict):
    """Layer x head grid: what is true of each head."""

    schema: int
    document: Literal["grid"]
    title: str
    panels: list[GridPanel]
    selected: list[HeadRef]
    pruned: list[HeadRef]
    provenance: Provenance | None


class ScoresFile(TypedDict):
    """A ``.heads`` file that holds one measurement (`headwidgets.HeadScores.save`)."""

    schema: int
    document: Literal["scores"]
    version: str
    """Of headwidgets, when written."""
    fingerprint: str | None
    """Of the model that was measured; None when unknown."""
    name: str
    unit: str
    n: int
    values: dict[KindName, ArrayRef]
    """float64 [layers, heads] per kind."""
    stderr: dict[KindName, ArrayRef] | None
    groups: NotRequired[dict[KindName, ArrayRef] | None]
    """float32 [groups, layers, heads] per kind: the same on random groups of the examples."""
    group_sizes: NotRequired[ArrayRef | None]
    """int32 [groups]: examples in each."""
    provenance: Provenance | None


class HeadMap(TypedDict):
    """One map [query, key] of a head (`index` -1: summed over the heads of the layer)."""

    head: HeadRef
    view: ViewName
    values: ArrayRef
    """float32 [rows, columns], or uint8 where 0..255 stand for low..high."""
    low: float
    high: float
    """Range of the values before any quantising, in the unit of the view."""
    query_step: int
    key_step: int
    """Tokens per row and per column; above 1 the map was down-sampled (mean of the cells)."""
    top: NotRequired[float]
    """Of norms: the largest value in the heads of this layer, the end of the scale that they share."""
    about: NotRequired[str]
    """Of attribution: what was attributed, for example ``log-odds of “positive”``."""
    unit: NotRequired[str]
    """Of attribution: unit of the output; empty or absent for a pure number."""


class AttentionPanel(TypedDict):
    """One kind of attention over one text."""

    kind: KindName
    label: str
    layers: int
    heads: int
    query: list[Token]
    key: list[Token]
    thumbnails: ArrayRef
    """uint8 [layers, heads, t, t], each head scaled to its own largest weight; t at most 16."""


class AttentionDocument(TypedDict):
    """Where heads look in one text."""

    schema: int
    document: Literal["attention"]
    title: str
    text: str
    panels: list[AttentionPanel]
    maps: list[HeadMap]
    """The heads sent so far; further ones are asked for with a `HeadMapRequest`."""
    selected: list[HeadRef]
    words: bool
    """Positions are words (attention to a split word summed, from it averaged), else tokens."""
    hide_special: bool
    mode: Literal["lines", "matrix"]
    view: NotRequired[ViewName]
    """Which maps of the selected heads are shown; attention when absent. Thumbnails are always of attention."""
    lacking: NotRequired[dict[ViewName, str]]
    """By view that cannot be shown, a sentence that says why."""
    provenance: Provenance | None


class AttributionPanel(TypedDict):
    """Attribution of one kind of attention over one text."""

    kind: KindName
    label: str
    layers: int
    heads: int
    query: list[Token]
    key: list[Token]
    totals: ArrayRef
    """float32 [layers, heads]: attribution summed over a head's map."""
    received: ArrayRef
    """float32 [layers, key]: attribution summed over heads and queries."""
    given: ArrayRef
    """float32 [layers, query]: attribution summed over heads and keys."""
    change: ArrayRef
    """float64 [layers]: F(A) - F(0), what the layer's attributions add up to when integrated exactly."""
    gap: ArrayRef
    """float64 [layers]: absolute difference between that and the sum found (integration error)."""
    steps: ArrayRef
    """int32 [layers]: number of points of the integration rule."""


class AttributionDocument(TypedDict):
    """Which links between tokens carry a prediction."""

    schema: int
    document: Literal["attribution"]
    title: str
    text: str
    target: str
    output: str
    """Name of the quantity that was attributed, for example ``log-odds``."""
    unit: str
    value: float
    """The output F on the unchanged text."""
    rule: str
    tolerance: float
    panels: list[AttributionPanel]
    maps: list[HeadMap]
    selected: list[HeadRef]
    """The first one is shown; index -1 is the sum over the heads of its layer."""
    view: NotRequired[Literal["attention", "norm", "attribution", "both"]]
    """Which maps are shown: one view, or attribution and attention side by side; those sent when absent."""
    lacking: NotRequired[dict[ViewName, str]]
    """By view that cannot be shown, a sentence that says why."""
    provenance: Provenance | None


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


class IntervalData(TypedDict):
    """A value with its 95 % interval."""

    value: float
    low: float
    high: float


class EstimateData(TypedDict):
    """A metric on a set of examples, possibly unfinished."""

    value: float
    low: float
    high: float
    """95 % interval for new data."""
    n: int
    """Examples seen."""
    total: int
    """Examples in the set."""
    exact: bool
    """All examples were seen; the value is the set's own."""
    partial_low: float
    partial_high: float
    """95 % interval for the value on the whole set while unfinished; equal to `value` when exact."""
    change: IntervalData | None
    """Paired difference to the full model on the same examples; None for the full model itself."""


class CurvePoint(TypedDict):
    """The metric with `count` heads pruned."""

    count: int
    estimate: EstimateData


class PruningDocument(TypedDict):
    """What is left when heads are pruned, least important first."""

    schema: int
    document: Literal["pruning"]
    title: str
    metric: str
    method: str
    methods: list[str]
    """Names of the rankings that can be chosen."""
    ablation: str
    ablations: list[str]
    order: list[HeadRef]
    """Every head in the order of pruning: the first `count` are pruned."""
    count: int
    baseline: EstimateData | None
    """The full model."""
    points: list[CurvePoint]
    """Known points of the curve, by count ascending."""
    status: str
    """What is running, in words; empty when idle."""
    grid: GridDocument
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


class DashboardDocument(TypedDict):
    """Several documents drawn one under the other."""

    schema: int
    document: Literal["dashboard"]
    title: str
    parts: list["GridDocument | AttentionDocument | AttributionDocument | PruningDocument"]


Document = (
    GridDocument
    | AttentionDocument
    | AttributionDocument
    | PruningDocument
    | TreeDocument
    | ScatterDocument
    | CurvesDocument
    | TriggersDocument
    | DashboardDocument
)


HeadsFile = ScoresFile | AttributionFile
"""What results are saved as; the browser shows them as a document."""


class HeadMapRequest(TypedDict):
    """Browser to Python: one head's map, please."""

    id: int
    ask: Literal["head_map"]
    view: ViewName
    head: HeadRef
    words: bool


class TextRequest(TypedDict):
    """Browser to Python: the same view with words or tokens as positions."""

    id: int
    ask: Literal["words"]
    words: bool


class EstimateRequest(TypedDict):
    """Browser to Python: the metric with `count` heads pruned; a newer request cancels this one."""

    id: int
    ask: Literal["estimate"]
    count: int


class ChoiceRequest(TypedDict):
    """Browser to Python: rank by another method, or prune by another ablation."""

    id: int
    ask: Literal["choose"]
    method: str
    ablation: str


class StopRequest(TypedDict):
    """Browser to Python: the work on show shall end; what it has found stays."""

    id: int
    ask: Literal["stop"]


Request = HeadMapRequest | TextRequest | EstimateRequest | ChoiceRequest | StopRequest


class HeadMapAnswer(TypedDict):
    """The map asked for; its array refers to the message's one buffer."""

    id: int
    answer: Literal["head_map"]
    map: HeadMap


class EstimateAnswer(TypedDict):
    """A narrowing estimate; several may carry the same id until `done`."""

    id: int
    answer: Literal["estimate"]
    point: CurvePoint
    done: bool


class DoneAnswer(TypedDict):
    """The request was carried out; what changed travels as traits."""

    id: int
    answer: Literal["done"]


class ErrorAnswer(TypedDict):
    """The request failed; `message` is a sentence for the reader."""

    id: int
    answer: Literal["error"]
    message: str


Answer = HeadMapAnswer | EstimateAnswer | DoneAnswer | ErrorAnswer
