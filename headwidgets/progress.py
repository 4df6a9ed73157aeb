"""How far is it, for a reader: one line in a notebook (which the saved notebook keeps as text), tqdm elsewhere."""

import sys
import time
from typing import Any

_PERIOD = 0.2


def in_notebook() -> bool:
    """Whether a Jupyter kernel runs us."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and hasattr(shell, "kernel")


class Bar:
    """Shows done and total, not more often than five times a second.

    Args:
        name: Of the work.
        always: Show it even where nobody looks (output to a file); else only in notebooks and terminals.
        delay: Seconds to wait first: short work shows nothing.
    """

    def __init__(self, name: str, *, always: bool, delay: float) -> None:
        self._name = name
        self._notebook = in_notebook()
        self._shown = always or self._notebook or sys.stderr.isatty()
        self._begin = time.monotonic()
        self._next = self._begin + delay
        self._state = (0, 0)
        self._line: Any = None
        self._tqdm: Any = None

    def update(self, done: int, total: int) -> None:
        """Say how far it is."""
        self._state = (done, total)
        if self._shown and total and time.monotonic() >= self._next:
            self._next = time.monotonic() + _PERIOD
            self._draw()

    def close(self, why: str = "") -> None:
        """Draw the last state; `why` it stopped early, if it did."""
        if self._line is not None or self._tqdm is not None:
            self._draw(f", stopped ({why})" if why else "")
        if self._tqdm is not None:
            self._tqdm.close()

    def _draw(self, note: str = "") -> None:
        done, total = self._state
        if not self._notebook:
            if self._tqdm is None:
                from tqdm import tqdm

                self._tqdm = tqdm(total=total, desc=self._name, leave=True)
            self._tqdm.total = total
            self._tqdm.n = done
            self._tqdm.refresh()
            return
        seconds = time.monotonic() - self._begin
        from IPython.display import display

        content = {"text/plain": f"{self._name}: {done} of {total}, {seconds:.0f} s{note}"}
        if self._line is None:
            self._line = display(content, raw=True, display_id=True)
        else:
            self._line.update(content, raw=True)
