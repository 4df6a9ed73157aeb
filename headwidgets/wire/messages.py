"""What travels while a widget lives: the browser's requests and Python's answers, by number."""

from typing import Literal, TypedDict

from headwidgets.wire.basics import (
    CurvePoint,
    HeadRef,
    ViewName,
)
from headwidgets.wire.documents import (
    HeadMap,
)


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
