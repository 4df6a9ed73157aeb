"""The slider panel of `PruningExplorer`: number of heads, method, ablation, live metric."""

from collections.abc import Callable
from typing import Any, Protocol

import traitlets as t

from headwidgets.errors import InputError
from headwidgets.widgets.base import HeadWidget, Reply
from headwidgets.widgets.heads import Heads
from headwidgets.widgets.lane import Task


class Answers(Protocol):
    """What the panel asks of its explorer; both run inside a job."""

    def estimate_now(self, count: int, task: Task, tell: Callable[[dict[str, Any]], None]) -> None:
        """Estimate with `count` heads pruned; `tell` gets every estimate."""

    def choose(self, method: str, ablation: str, task: Task) -> None:
        """Rank by another method, or prune by another ablation."""


class PruningPanel(HeadWidget):
    """The slider; a part of `PruningExplorer`, which says what every number means."""

    _script = "pruning.js"

    count = t.Int(0, help="Heads pruned; the browser writes it when the handle is released.").tag(
        sync=True, echo_update=False
    )
    pruned: Any = Heads(help="The first `count` heads of the order; the browser follows the handle with it.")
    method = t.Unicode(help="Name of the ranking.").tag(sync=True, echo_update=False)
    ablation = t.Unicode(help="What a pruned head's output becomes.").tag(sync=True, echo_update=False)

    def __init__(self, answers: Answers, current: dict[str, Any], **options: Any) -> None:
        self._answers = answers
        super().__init__(current, **options)

    @t.validate("count")
    def _check_count(self, proposal: Any) -> int:
        count, most = int(proposal["value"]), len(self._current["order"])
        if not 0 <= count <= most and most:
            raise InputError(f"count is from 0 to {most} heads, got {count}")
        return max(count, 0)

    def _shown(self, current: dict[str, Any]) -> dict[str, Any]:
        # the grid beside the panel is a widget of its own
        return {**current, "grid": {**current["grid"], "panels": []}}

    def _work_for(self, request: Any) -> Reply:
        number = request["id"]
        if request.get("ask") == "estimate":
            count, most = int(request["count"]), len(self._current["order"])
            if not 0 <= count <= most:
                raise InputError(f"count is from 0 to {most} heads, got {count}")

            def tell(estimate: dict[str, Any]) -> None:
                point = {"count": count, "estimate": estimate}
                self._answer({"id": number, "answer": "estimate", "point": point, "done": estimate["exact"]})

            return Reply(lambda task: self._answers.estimate_now(count, task, tell), "estimate", count)
        if request.get("ask") == "choose":
            method, ablation = str(request["method"]), str(request["ablation"])

            def choose(task: Task) -> None:
                self._lane.cancel("estimate")
                self._answers.choose(method, ablation, task)
                if not task.stopped:
                    self._answer({"id": number, "answer": "done"})

            return Reply(choose, "choose")
        return super()._work_for(request)

    def picture(self) -> dict[str, Any]:
        """Return the pruning document with the slider where it stands."""
        return {**self._current, "count": self.count, "method": self.method, "ablation": self.ablation}

    def summary(self) -> str:
        """Return one line: how many heads are pruned."""
        return f"PruningPanel({self.count} of {len(self._current['order'])} heads pruned)"
