"""How far is the work? A widget that shows what a job has found so far."""

import threading
import time
from collections.abc import Callable
from typing import Any

from headwidgets.errors import Cancelled, InputError
from headwidgets.jobs import Job
from headwidgets.widgets.base import sentence

_CALM = 0.2
"""Least seconds between two lines about progress."""


class Following:
    """Passes a job's partial results, its progress and its end on to a widget, from the job's own thread.

    Args:
        job: What to follow; it is not the widget's own, so it goes on when the widget is closed.
        show: Takes a result; may refuse it with `InputError`.
        tell: Takes a line about the state, and whether the job runs.
    """

    def __init__(self, job: "Job[Any]", show: Callable[[Any], None], tell: Callable[[str, bool], None]) -> None:
        self.job = job
        self._show, self._tell = show, tell
        self._turn = threading.RLock()
        self._shown: Any = None
        self._said = 0.0
        self._ended = False
        self._first = threading.Event()
        self._off = job.on_change(self._changed)
        if not job.done:
            self._changed(job)

    def leave(self) -> None:
        """Stop following; the job goes on."""
        with self._turn:
            self._ended = True
        self._off()

    def wait(self, timeout: float | None) -> bool:
        """Wait for the job's end; whether it has ended.

        Raises:
            What the job raised, unless it was stopped.
        """
        ended = self.job.wait(timeout)
        error = self.job.error if ended else None
        if error is not None and not isinstance(error, Cancelled):
            raise error
        return ended

    def wait_for_first(self, seconds: float) -> None:
        """Wait for something to show, or for the end; at most some seconds."""
        deadline = time.monotonic() + seconds
        while not self._first.wait(min(0.1, max(0.0, deadline - time.monotonic()))):
            if self.job.done or time.monotonic() >= deadline:
                return

    def _changed(self, job: "Job[Any]") -> None:
        with self._turn:
            if self._ended:
                return
            if job.done:
                self._ended = True
                self._end(job)
                return
            partial = job.partial
            if partial is not None and partial is not self._shown:
                self._take(partial)
                self._said = 0.0
            now = time.monotonic()
            if now - self._said >= _CALM or job.cancelled:
                self._said = now
                self._tell(_line(job), True)

    def _end(self, job: "Job[Any]") -> None:
        error = job.error
        if error is not None and job.partial is not None and job.partial is not self._shown:
            self._take(job.partial)
        if error is None:
            refused = self._take(job.result())
            self._tell(refused, False)
        elif isinstance(error, Cancelled):
            self._tell(f"{job.name} was stopped{_after(job)}.", False)
        else:
            self._tell(sentence(error), False)
        self._first.set()

    def _take(self, result: Any) -> str:
        """Show a result; a sentence when it cannot be shown."""
        self._shown = result
        try:
            self._show(result)
        except InputError as error:
            return str(error)
        self._first.set()
        return ""


def _seen(partial: Any) -> tuple[int, int]:
    """Texts seen of how many, as far as a partial result says so; (0, 0) otherwise."""
    one = next(iter(partial.values()), None) if isinstance(partial, dict) else partial
    settings = (getattr(one, "provenance", None) or {}).get("settings") or {}
    n, total = getattr(one, "n", 0), settings.get("of", 0)
    return (int(n), int(total)) if n and total else (0, 0)


def _line(job: "Job[Any]") -> str:
    if job.cancelled:
        return f"Stopping {job.name}."
    n, of = _seen(job.partial)
    done, total = job.progress
    if of:
        more = f" ({100 * done // total} % done)" if total else ""
        return f"{job.name}: {n} of {of} texts{more}"
    return f"{job.name}: {done} of {total}" if total else f"{job.name} is running."


def _after(job: "Job[Any]") -> str:
    n, of = _seen(job.partial)
    return f" after {n} of {of} texts" if of else ""
