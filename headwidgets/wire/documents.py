"""Every document that crosses to the browser or into a file, said once.

The modules `basics`, `results`, `messages` and this one are the only source of the protocol.
``python -m headwidgets.wire.generate`` writes ``js/wire/types.ts`` from them; keys are
snake_case on both sides. Documents are plain JSON values; arrays inside them are
`ArrayRef` (see `headwidgets.wire.arrays`).

A live widget syncs one document as the traits ``document`` (the JSON), ``buffer`` (all arrays, one
after the other) and ``version``; view state such as ``selected`` and ``pruned`` are traits of their own
and override the fields of the same name in the document.
"""

from typing import Literal, NotRequired, TypedDict

from headwidgets.wire.basics import (
    MIME_PREFIX,
    SCHEMA,
    ArrayRef,
    CurvePoint,
    DTypeName,
    EstimateData,
    HeadRef,
    IntervalData,
    KindName,
    Provenance,
    ThemeName,
    Token,
    ViewName,
)
from headwidgets.wire.probing import (
    DistancesFile,
    DistancesKind,
    HeadGroups,
    HeadMapDocument,
    LinksFile,
    LinksRow,
    PatternChart,
    PatternsDocument,
    PatternStatistic,
    ProbeArc,
    ProbeDocument,
    ProbeRow,
    ProbeScore,
    ProbeSentence,
    ProbeTree,
    RoleEvidence,
    RoleLayer,
    RolesFile,
)
from headwidgets.wire.results import (
    AttributionFile,
    AttributionKind,
    CorrelationData,
    CurvesDocument,
    NamedCurve,
    ScatterDocument,
    SideData,
    TreeDocument,
    TreeLevel,
    TriggerExample,
    TriggerMove,
    TriggerRow,
    TriggersDocument,
    TriggerToken,
)

__all__ = [
    "MIME_PREFIX",
    "SCHEMA",
    "ArrayRef",
    "AttentionDocument",
    "AttentionPanel",
    "AttributionDocument",
    "AttributionFile",
    "AttributionKind",
    "AttributionPanel",
    "CorrelationData",
    "CurvePoint",
    "CurvesDocument",
    "DTypeName",
    "DashboardDocument",
    "DistancesFile",
    "DistancesKind",
    "Document",
    "EstimateData",
    "GridDocument",
    "GridPanel",
    "HeadGroups",
    "HeadMap",
    "HeadMapDocument",
    "HeadRef",
    "HeadsFile",
    "IntervalData",
    "KindName",
    "LinksFile",
    "LinksRow",
    "NamedCurve",
    "PatternChart",
    "PatternStatistic",
    "PatternsDocument",
    "ProbeArc",
    "ProbeDocument",
    "ProbeRow",
    "ProbeScore",
    "ProbeSentence",
    "ProbeTree",
    "Provenance",
    "PruningDocument",
    "RoleEvidence",
    "RoleLayer",
    "RolesFile",
    "ScatterDocument",
    "ScoreLayer",
    "ScoresFile",
    "SideData",
    "ThemeName",
    "Token",
    "TreeDocument",
    "TreeLevel",
    "TriggerExample",
    "TriggerMove",
    "TriggerRow",
    "TriggerToken",
    "TriggersDocument",
    "ViewName",
]


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
    roles: NotRequired[list[RoleLayer]]
    """Drawn as categories in the cells, several to a cell, each with a colour and a pattern of its own."""
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
    | PatternsDocument
    | HeadMapDocument
    | ProbeDocument
    | DashboardDocument
)


HeadsFile = ScoresFile | AttributionFile | RolesFile | DistancesFile | LinksFile
"""What results are saved as; the browser shows them as a document."""
