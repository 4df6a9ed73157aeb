"""What is true of a head? `Head` names one; `HeadScores` holds one number for each."""

from typing import NamedTuple

from headwidgets.wire.documents import KindName

KIND_ORDER: tuple[KindName, ...] = ("encoder", "decoder", "cross")


class Head(NamedTuple):
    """One query head, counted from 0; prints as ``L5H3``, in encoder-decoders ``encoder.L5H3``."""

    kind: KindName
    layer: int
    index: int  # type: ignore[assignment]

    def label(self, with_kind: bool = False) -> str:
        """``L5H3``, with the kind in front when several kinds are on the table."""
        short = f"L{self.layer}H{self.index}"
        return f"{self.kind}.{short}" if with_kind else short

    def __str__(self) -> str:
        return self.label()
