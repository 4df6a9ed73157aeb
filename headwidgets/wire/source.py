"""What a widget asks of an engine: the `Source` protocol. `headwidgets.studio` makes one from a HeadModel.

Every method may take long and is called inside a job; `on_progress(done, total)` and `cancelled()` travel
along. Documents are returned with NumPy arrays where the wire has `ArrayRef`.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, runtime_checkable

from headwidgets.wire.documents import (
    AttentionDocument,
    AttributionDocument,
    CurvePoint,
    EstimateData,
    GridPanel,
    HeadMap,
    HeadRef,
    KindName,
    Provenance,
    TreeDocument,
)

Progress = Callable[[int, int], None]
Cancelled = Callable[[], bool]


class TextSource(Protocol):
    """One text, looked at from close by. Holds what it computed until `close`."""

    @property
    def attributed(self) -> bool:
        """Whether the attribution is there, so that its maps come at once."""

    def attention(self, words: bool) -> AttentionDocument:
        """The overview and the map of the first selected head."""

    def attribution(self, words: bool, on_progress: Progress, cancelled: Cancelled) -> AttributionDocument:
        """Attribution of all layers; the map of the head that carries most is included."""

    def tree(self, options: dict[str, Any], on_progress: Progress, cancelled: Cancelled) -> TreeDocument:
        """The attribution tree; `options` are threshold, penalty, kind, words, root and order, those that are given."""

    def head_map(self, view: str, head: HeadRef, words: bool) -> HeadMap:
        """One head's map in a view (index -1: of the whole layer), at most 0.5 MB."""

    def close(self) -> None:
        """Free what is held."""


class Evaluator(Protocol):
    """A metric on a fixed set of texts, for any set of pruned heads; remembers what it has computed."""

    metric: str
    total: int

    def estimates(self, pruned: Sequence[HeadRef], ablation: str, cancelled: Cancelled) -> Iterator[EstimateData]:
        """Yield narrowing estimates, the last one exact; stops within one batch once `cancelled()`."""

    def known(self, pruned: Sequence[HeadRef], ablation: str) -> EstimateData | None:
        """The best estimate so far without computing anything."""


@runtime_checkable
class Source(Protocol):
    """A model, as widgets see it."""

    name: str
    provenance: Provenance
    kinds: tuple[KindName, ...]
    methods: tuple[str, ...]
    """Rankings on offer, the default first."""
    ablations: tuple[str, ...]
    lock: Any
    """The model's lock (a context manager)."""

    def shape(self, kind: KindName) -> tuple[int, int]:
        """Layers and heads of a kind."""

    def panel(self, kind: KindName) -> GridPanel:
        """An empty grid panel for a kind (no scores)."""

    def texts(self, texts: Any) -> list[Any]:
        """The single texts of whatever a user has: one text, a list, a dataset."""

    def text(self, text: Any, **options: Any) -> TextSource:
        """Look at one text."""

    def evaluator(self, texts: Any, labels: Any, metric: str | Callable[..., float]) -> Evaluator:
        """Evaluate on a set of texts."""

    def importance(
        self,
        method: str,
        texts: Any,
        labels: Any,
        on_progress: Progress,
        cancelled: Cancelled,
        on_partial: Callable[[Any], None] | None = None,
    ) -> Any:
        """Head scores (`headwidgets.HeadScores`) by a method of `methods`; `on_partial` gets those so far."""


__all__ = ["Cancelled", "CurvePoint", "Evaluator", "Progress", "Source", "TextSource"]
