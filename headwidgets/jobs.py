"""Who is working, how far is it, and how does it stop? Long work as a job: progress, partial results, cancel.

Engine functions take ``on_progress=`` (a function of done and total), ``cancel=`` (a function that says whether to
stop) and, where there is something to show early, ``on_partial=``; they raise `Cancelled` when told to stop. Under
`start` they run in a thread. Called plainly they are a job that the caller waits for (`blocking`, `run`): it runs in
the caller's own thread, because a ``with model.gated(...)`` around the call already holds the model's lock there, and
because torch's grad and autocast modes belong to a thread; an interrupt is held back until the work has stopped.
"""

import atexit
import inspect
import logging
import signal
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from types import FrameType
from typing import Any, Generic, ParamSpec, TypeVar

from headwidgets.errors import Cancelled, InputError
from headwidgets.locks import CIRCLE, stuck
from headwidgets.progress import Bar

T = TypeVar("T")
P = ParamSpec("P")

Progress = Callable[[int, int], None]
Cancel = Callable[[], bool]

_log = logging.getLogger("headwidgets")
_GRACE = 1.0
"""Seconds a failed job waits to be asked for its result before it logs its error."""
_NAP = 0.2
"""Longest uninterrupted wait, so that an interrupt reaches the main thread on every platform."""
_EXIT = 5.0
"""Seconds that all jobs together get to stop at exit."""

_alive: "weakref.WeakSet[Job[Any]]" = weakref.WeakSet()
_current: ContextVar["Job[Any] | None"] = ContextVar("headwidgets_job", default=None)


class Job(Generic[T]):
    """Work that goes on while the notebook does other things.

    Attributes:
        name: For messages and progress bars.
        progress: (done, total), in the function's own steps; (0, 0) before the first one.
        partial: The latest partial result, or None.
    """

    def __init__(self, name: str, *, held: bool = True) -> None:
        self._held = held  # by somebody who can look at what is known so far: else it is not put together
        self.name = name
        self.progress: tuple[int, int] = (0, 0)
        self.partial: Any = None
        self._stop = False  # a plain bool: it is also set from a signal handler, where no lock may be taken
        self._finished = threading.Event()
        self._asked = threading.Event()
        self._value: T | None = None
        self._error: BaseException | None = None
        self._callbacks: list[Callable[[Job[T]], None]] = []
        self._reporting = False
        self._thread: threading.Thread | None = None

    def __repr__(self) -> str:
        done, total = self.progress
        state = "running" if not self.done else "failed" if self._error else "done"
        if self.cancelled:
            state = "cancelled" if self.done else "stopping"
        return f"Job({self.name}: {state}, {done} of {total})"

    @property
    def cancelled(self) -> bool:
        """Whether the job was told to stop."""
        return self._stop

    @property
    def done(self) -> bool:
        """Whether the job has ended, in whatever way."""
        return self._finished.is_set()

    @property
    def error(self) -> BaseException | None:
        """What went wrong, or None; reading it counts as having been told."""
        if self.done:
            self._asked.set()
        return self._error

    def cancel(self) -> None:
        """Tell the job to stop; it does so within one batch. Does nothing to a job that has ended."""
        if not self.done:
            self._stop = True
            self._changed()

    def on_change(self, callback: "Callable[[Job[T]], None]") -> Callable[[], None]:
        """Call `callback(job)` on progress, a partial result, cancelling and the end, from the job's thread.

        Returns:
            A function that takes the callback off again.
        """
        self._callbacks.append(callback)
        if self.done:
            self._call(callback)
        return lambda: self._callbacks.remove(callback) if callback in self._callbacks else None

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for the end, at most `timeout` seconds; whether it has ended.

        Raises:
            InputError: the job waits for a model that the calling thread holds.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        while not self._finished.wait(_NAP if deadline is None else min(_NAP, max(0.0, deadline - time.monotonic()))):
            if deadline is not None and time.monotonic() >= deadline:
                return False
            if self._thread is not None and stuck(self._thread.ident):
                raise InputError(CIRCLE.format(what=f"job {self.name!r}"))
        return True

    def result(self, timeout: float | None = None) -> T:
        """What the function returned; its exception is raised here. An interrupt while waiting cancels the job.

        Args:
            timeout: Seconds to wait, at most.

        Raises:
            TimeoutError: not done in time (the job goes on).
            Cancelled: the job was cancelled.
        """
        if self._thread is threading.current_thread() and not self.done:
            raise InputError(f"job {self.name!r} cannot wait for its own result")
        self._asked.set()
        try:
            ended = self.wait(timeout)
        except KeyboardInterrupt:
            self.cancel()
            self.wait()
            raise
        if not ended:
            self._asked.clear()
            raise TimeoutError(f"job {self.name!r} is not done after {timeout} s; it goes on")
        if self._error is not None:
            raise self._error
        return self._value  # type: ignore[return-value]

    # ---- the worker's side --------------------------------------------------------------------------

    def _report(self, done: int, total: int) -> None:
        self.progress = (int(done), int(total))
        self._changed()

    def _show(self, partial: Any) -> None:
        self.partial = partial
        self._changed()

    def _changed(self) -> None:
        for callback in list(self._callbacks):
            self._call(callback)

    def _call(self, callback: "Callable[[Job[T]], None]") -> None:
        try:
            callback(self)
        except Exception:  # noqa: BLE001 - a listener's mistake must not end the work
            _log.exception("a listener of job %r failed", self.name)

    def _offered(self, function: Callable[..., Any], given: dict[str, Any]) -> dict[str, Any]:
        """The keywords that `function` takes of what a job has to offer."""
        names = _parameters(function)
        offered = dict(given)
        if "cancel" in names:
            own = given.get("cancel")
            offered["cancel"] = lambda: self._stop or (own is not None and own())
        if "on_progress" in names and not self._reporting:
            offered["on_progress"] = _both(self._report, given.get("on_progress"))
            if "on_partial" in names and self._held:
                offered["on_partial"] = _both(self._show, given.get("on_partial"))
            self._reporting = True
        return offered

    def _work(self, function: Callable[..., T], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        token = _current.set(self)
        try:
            self._value = function(*args, **self._offered(function, kwargs))
        except BaseException as error:  # noqa: BLE001 - raised again in result()
            self._error = error
        finally:
            _current.reset(token)
            self._finished.set()
            self._changed()


def _parameters(function: Callable[..., Any]) -> set[str]:
    try:
        return set(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return set()


_CALLBACKS = {
    "on_progress": "a function of texts done and texts in all",
    "on_partial": "a function of a result",
    "cancel": "a function that says whether to stop",
}


def _expect_callbacks(function: Callable[..., Any], given: dict[str, Any]) -> None:
    """Callbacks that cannot be called are said before the work, not in the middle of it."""
    for name in _CALLBACKS.keys() & given.keys() & _parameters(function):
        if given[name] is not None and not callable(given[name]):
            raise InputError(f"expected {name}= as {_CALLBACKS[name]}, or None; got {given[name]!r}")


def _both(first: Callable[..., None], second: Callable[..., None] | None) -> Callable[..., None]:
    if second is None:
        return first

    def call(*args: Any) -> None:
        first(*args)
        second(*args)

    return call


def _name_of(function: Callable[..., Any]) -> str:
    return str(getattr(function, "__name__", type(function).__name__))


def start(function: Callable[..., T], *args: Any, name: str = "", progress: bool = False, **kwargs: Any) -> Job[T]:
    """Run `function` in a thread.

    Args:
        function: What to do; gets ``on_progress=``, ``cancel=``, ``on_partial=`` if it has parameters of these names.
        args: Passed on.
        name: For messages; the function's name by default.
        progress: Show a bar: a line in a notebook, tqdm elsewhere.
        kwargs: Passed on.

    Returns:
        The running job. If it fails and nobody asks for its result, it logs the error.

    Raises:
        InputError: `function` cannot be called.
    """
    if not callable(function):
        raise InputError(
            f"expected a function and its arguments, such as start(model.evaluate, texts, labels), got {function!r}"
        )
    _expect_callbacks(function, kwargs)
    job: Job[T] = Job(name or _name_of(function))

    def work() -> None:
        with _bar(job, progress, delay=0.0):
            job._work(function, args, kwargs)
        error = job._error
        if error is not None and not isinstance(error, Cancelled) and not job._asked.wait(_GRACE):
            _log.error("job %r failed: %s: %s", job.name, type(error).__name__, error)

    job._thread = threading.Thread(target=work, name=f"headwidgets {job.name}", daemon=True)
    _alive.add(job)
    job._thread.start()
    return job


def run(function: Callable[..., T], *args: Any, name: str = "", progress: bool | None = None, **kwargs: Any) -> T:
    """Run `function` as a job and wait for it; an interrupt cancels it within one batch, a second one at once.

    Inside another job the work is part of that job and ends with it.

    Args:
        function: What to do, as in `start`.
        args: Passed on.
        name: For messages.
        progress: Show a bar; by default where somebody can see it and the work takes more than two seconds.
        kwargs: Passed on.

    Raises:
        KeyboardInterrupt: the work was interrupted, and has stopped in good order.
    """
    return _run(function, args, kwargs, name or _name_of(function), progress)


def _run(
    function: Callable[..., T], args: tuple[Any, ...], kwargs: dict[str, Any], name: str, progress: bool | None
) -> T:
    _expect_callbacks(function, kwargs)
    outer = _current.get()
    if outer is not None:
        was = outer._reporting
        try:
            return function(*args, **outer._offered(function, kwargs))
        finally:
            outer._reporting = was
    job: Job[T] = Job(name, held=False)
    _alive.add(job)
    with (
        _bar(job, progress, delay=0.0 if progress else 2.0),
        _held_back(job, "cancel" in _parameters(function)) as interrupted,
    ):
        job._work(function, args, kwargs)
    if interrupted.is_set():
        raise KeyboardInterrupt from job._error
    if job._error is not None:
        raise job._error
    return job._value  # type: ignore[return-value]


def blocking(function: Callable[P, T]) -> Callable[P, T]:
    """Decorate an engine function (with ``cancel=`` and ``on_progress=``) so that a plain call of it is a `run`."""

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        return _run(function, args, kwargs, _name_of(function), None)

    return call


@contextmanager
def _held_back(job: Job[Any], can_cancel: bool) -> Iterator[threading.Event]:
    """Turn the first interrupt into a cancel, so that it never falls between taking hooks off and saying so."""
    interrupted = threading.Event()
    if not can_cancel or threading.current_thread() is not threading.main_thread():
        yield interrupted
        return
    before = signal.getsignal(signal.SIGINT)
    if not callable(before):  # ignored, or handled outside Python: then it stays so
        yield interrupted
        return

    def handle(number: int, frame: FrameType | None) -> None:
        if interrupted.is_set():
            before(number, frame)
        interrupted.set()
        job._stop = True

    signal.signal(signal.SIGINT, handle)
    try:
        yield interrupted
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def _bar(job: Job[Any], wanted: bool | None, delay: float) -> Iterator[None]:
    if wanted is False:
        yield
        return
    bar = Bar(job.name, always=wanted is True, delay=delay)
    off = job.on_change(lambda changed: bar.update(*changed.progress))
    try:
        yield
    finally:
        off()
        bar.close("" if job._error is None else type(job._error).__name__)


def _end_all() -> None:
    """At exit: every job stops, so that no thread is inside torch while Python goes away."""
    jobs = [job for job in list(_alive) if not job.done]
    for job in jobs:
        job.cancel()
    deadline = time.monotonic() + _EXIT
    for job in jobs:
        job._finished.wait(max(0.0, min(_EXIT, deadline - time.monotonic())))


atexit.register(_end_all)
