"""Who has the model? A re-entrant lock that knows who waits for it, so that waiting in a circle is an error."""

import threading
from typing import Any

_waiting: dict[int, "ModelLock"] = {}
"""By thread, the lock that it waits for."""

CIRCLE = (
    "this would wait forever: {what} needs the model, and the `with` block around this call (gated, intervene or "
    "visit) holds it for its own thread. Call the function itself inside the block, or leave the block first"
)


class ModelLock:
    """A re-entrant lock; `stuck` tells whether a thread waits for one that the caller holds."""

    def __init__(self) -> None:
        self._lock: Any = threading.RLock()

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        """As of `threading.RLock`."""
        if self._lock.acquire(blocking=False):
            return True
        if not blocking:
            return False
        me = threading.get_ident()
        _waiting[me] = self
        try:
            return bool(self._lock.acquire(timeout=timeout))
        finally:
            _waiting.pop(me, None)

    def release(self) -> None:
        """As of `threading.RLock`."""
        self._lock.release()

    def _is_owned(self) -> bool:
        return bool(self._lock._is_owned())

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()


def stuck(thread: int | None) -> bool:
    """Whether `thread` waits for a model that the calling thread holds."""
    lock = _waiting.get(thread) if thread is not None else None
    return lock is not None and lock._is_owned()
