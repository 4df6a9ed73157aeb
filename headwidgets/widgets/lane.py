"""Who works next? One widget's work, one task at a time in a background job."""

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any, TypeAlias

from headwidgets import jobs
from headwidgets.errors import Cancelled, InputError
from headwidgets.locks import CIRCLE, stuck

_JOIN_SECONDS = 5.0


Work: TypeAlias = "Callable[[Task], None]"
"""What a task does; it looks at ``task.cancelled()`` between steps."""


class Task:
    """One piece of work in a lane."""

    def __init__(self, work: Work, name: str, replaces: str, background: bool, about: Any) -> None:
        self.work = work
        self.name = name
        self.replaces = replaces
        self.background = background
        self.about = about
        self.error: BaseException | None = None
        self._stopped = threading.Event()
        self._paused = threading.Event()
        self._job_cancelled: Callable[[], bool] = lambda: False

    def cancelled(self) -> bool:
        """Whether to stop now: it was replaced, the widget closed, or (in the background) others wait."""
        return self._stopped.is_set() or self._paused.is_set() or self._job_cancelled()

    @property
    def stopped(self) -> bool:
        """Whether the task was cancelled for good."""
        return self._stopped.is_set() or self._job_cancelled()


class Lane:
    """Runs tasks in order of arrival; a newer task cancels older ones that it replaces.

    Background tasks run when nothing else waits and step aside (to start again later) when something comes,
    so their work must remember what it has done. `submit` never blocks.
    """

    def __init__(self, name: str, on_idle: Callable[[], None] | None = None) -> None:
        self._name = name
        self.on_idle = on_idle
        self._changed = threading.Condition()
        self._waiting: deque[Task] = deque()
        self._background: deque[Task] = deque()
        self._running: Task | None = None
        self._job: Any = None
        self._thread: int | None = None
        self._closed = False
        self._failure: BaseException | None = None

    def submit(
        self, work: Work, *, name: str = "", replaces: str = "", background: bool = False, about: Any = None
    ) -> Task:
        """Queue `work`; a non-empty `replaces` cancels every unfinished task with the same word."""
        task = Task(work, name, replaces, background, about)
        with self._changed:
            if self._closed:
                task._stopped.set()
                return task
            if replaces:
                self._cancel(lambda other: other.replaces == replaces)
            (self._background if background else self._waiting).append(task)
            running = self._running
            if not background and running is not None and running.background:
                running._paused.set()
            if self._job is None:
                self._job = jobs.start(self._drain, name=self._name)
        return task

    def unfinished(self, replaces: str) -> Task | None:
        """Return the newest unfinished task with this word."""
        with self._changed:
            for task in (*reversed(self._waiting), *reversed(self._background), self._running):
                if task is not None and task.replaces == replaces and not task.stopped:
                    return task
        return None

    def cancel(self, replaces: str) -> None:
        """Cancel every unfinished task with this word."""
        with self._changed:
            self._cancel(lambda other: other.replaces == replaces)

    def close(self) -> None:
        """Cancel everything, for good; returns once the running task has stopped, or after a few seconds."""
        with self._changed:
            self._closed = True
            self._cancel(lambda _: True)
        if threading.current_thread().ident != self._thread:
            self._wait(_JOIN_SECONDS, background=True)

    def wait(self, timeout: float | None = None, *, background: bool = True) -> bool:
        """Block until nothing runs or waits; `background=False` does not wait for background tasks.

        Returns:
            False if `timeout` seconds passed first.

        Raises:
            The error of a task that failed since the last call; `InputError` where the work waits for a model that the
            calling thread holds.
        """
        finished = self._wait(timeout, background)
        if not finished and stuck(self._thread):
            raise InputError(CIRCLE.format(what="the widget"))
        with self._changed:
            failure, self._failure = self._failure, None
        if failure is not None:
            raise failure
        return finished

    @property
    def busy(self) -> bool:
        """Whether anything runs or waits."""
        with self._changed:
            return self._busy(background=True)

    def _busy(self, background: bool) -> bool:
        if background:
            return self._running is not None or bool(self._waiting or self._background)
        return bool(self._waiting) or (self._running is not None and not self._running.background)

    def _wait(self, timeout: float | None, background: bool) -> bool:
        deadline = None if timeout is None else time.monotonic() + timeout
        with self._changed:
            while self._busy(background):
                # a bounded nap, so that an interrupt reaches the main thread on every platform
                left = 0.2 if deadline is None else min(0.2, deadline - time.monotonic())
                if left <= 0 or stuck(self._thread):
                    return False
                self._changed.wait(left)
        return True

    def _cancel(self, chosen: Callable[[Task], bool]) -> None:
        for queue in (self._waiting, self._background):
            for task in [task for task in queue if chosen(task)]:
                task._stopped.set()
                queue.remove(task)
        if self._running is not None and chosen(self._running):
            self._running._stopped.set()
        self._changed.notify_all()

    def _take(self) -> Task | None:
        with self._changed:
            queue = self._waiting or self._background
            self._running = queue.popleft() if queue else None
            if self._running is None:
                self._job = None
                self._changed.notify_all()
            else:
                self._running._paused.clear()
            return self._running

    def _drain(self, cancel: Callable[[], bool]) -> None:
        self._thread = threading.current_thread().ident
        while (task := self._take()) is not None:
            task._job_cancelled = cancel
            try:
                if not task.stopped:
                    task.work(task)
            except Cancelled:
                pass
            except BaseException as error:  # noqa: BLE001 - reaches the user through wait(); the lane goes on
                task.error = error
                with self._changed:
                    self._failure = None if task.stopped else error
            with self._changed:
                if cancel():
                    self._cancel(lambda _: True)
                elif task.background and task._paused.is_set() and not task.stopped:
                    self._background.appendleft(task)
                idle = not (self._waiting or self._background)
                if not idle:
                    self._running = None
            if idle and self.on_idle is not None and not self._closed:
                try:
                    self.on_idle()
                except Exception as error:  # noqa: BLE001 - same way out as a task's own error
                    self._failure = error
            with self._changed:
                self._running = None
                self._changed.notify_all()
