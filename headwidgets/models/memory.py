"""Does it fit? Free memory, a refusal that says how to make a job fit, and half the work when it did not."""

import gc
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import torch

from headwidgets.errors import MemoryLimitError

T = TypeVar("T")
R = TypeVar("R")

SHARE = 0.8
"""Of the free memory, what one job may plan to use."""


def _number(path: str) -> int | None:
    try:
        text = Path(path).read_text("utf-8").strip()
    except OSError:
        return None
    return int(text) if text.isdigit() else None


def _free_on_host() -> int | None:
    found: list[int] = []
    try:
        for line in Path("/proc/meminfo").read_text("utf-8").splitlines():
            if line.startswith("MemAvailable:"):
                found.append(int(line.split()[1]) * 1024)
    except OSError:
        pass
    if not found:
        try:
            import psutil  # type: ignore[import-untyped, unused-ignore]
        except ImportError:
            return None
        found.append(int(psutil.virtual_memory().available))
    limit, used = _number("/sys/fs/cgroup/memory.max"), _number("/sys/fs/cgroup/memory.current")
    if limit is not None and used is not None:  # a container's own limit; absent or "max" outside
        found.append(max(0, limit - used))
    return min(found)


def free_bytes(device: torch.device | str) -> int | None:
    """Bytes that can still be allocated on a device; None where nobody can say."""
    where = torch.device(device)
    if where.type == "cuda":
        free, _ = torch.cuda.mem_get_info(where)
        held = torch.cuda.memory_reserved(where) - torch.cuda.memory_allocated(where)
        return int(free + held)
    if where.type == "mps":
        return int(torch.mps.recommended_max_memory() - torch.mps.current_allocated_memory())
    return _free_on_host()


def readable(size: float) -> str:
    """Bytes for people: ``1.5 GB``."""
    for unit in ("bytes", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "bytes" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"


def check_fits(wanted: float, device: torch.device | str, *, what: str, instead: str) -> None:
    """Refuse a job that would not fit, before it begins.

    Args:
        wanted: Bytes it will hold at once.
        device: Where.
        what: The job, as the subject of the sentence.
        instead: How to make it fit, as an imperative.

    Raises:
        MemoryLimitError: more than `SHARE` of what is free.
    """
    free = free_bytes(device)
    if free is not None and wanted > SHARE * free:
        raise MemoryLimitError(
            f"{what} would take about {readable(wanted)} on {torch.device(device).type}, of which {readable(free)} are "
            f"free: {instead}"
        )


def ran_out(error: BaseException) -> bool:
    """Whether an error says that memory ran out (CUDA, MPS or the host)."""
    if isinstance(error, MemoryLimitError):
        return False
    if isinstance(error, (torch.OutOfMemoryError, MemoryError)):
        return True
    text = str(error)
    return isinstance(error, RuntimeError) and ("out of memory" in text or "can't allocate memory" in text)


def reason(error: BaseException) -> str:
    """An error in one line."""
    return (str(error).splitlines() or [type(error).__name__])[0]


def release(device: torch.device | str) -> None:
    """Give cached memory back."""
    gc.collect()
    if torch.device(device).type == "cuda":
        torch.cuda.empty_cache()
    elif torch.device(device).type == "mps":
        torch.mps.empty_cache()


def halving(
    function: Callable[[Sequence[T]], R],
    items: Sequence[T],
    *,
    chunk: int | None = None,
    device: torch.device | str = "cpu",
    notes: list[str] | None = None,
    what: str = "examples",
) -> list[R]:
    """Run `function` on chunks of `items`; when memory runs out, go on with chunks of half the size.

    Args:
        function: Of a chunk.
        items: All of the work.
        chunk: Size to begin with; all at once by default.
        device: Whose cache is given back before trying again.
        notes: Gets a sentence for every halving.
        what: Name of the items in that sentence.

    Returns:
        The results, in order.

    Raises:
        MemoryLimitError: a single item does not fit.
    """
    size = min(chunk or len(items), len(items))
    results: list[R] = []
    start = 0
    while start < len(items):
        failure: Any = None
        try:
            results.append(function(items[start : start + size]))
        except (RuntimeError, MemoryError) as error:
            if not ran_out(error):
                raise
            failure = reason(error)  # the error itself would keep the frames and their tensors alive
        if failure is None:
            start += size
            continue
        release(device)
        if size == 1:
            raise MemoryLimitError(
                f"memory ran out with one of {len(items)} {what} at a time: use shorter texts, a smaller dtype or a "
                f"larger device ({failure})"
            )
        size = max(1, size // 2)
        if notes is not None:
            notes.append(f"Memory ran out; going on with {size} {what} at a time.")
    return results


def forward_bytes(model: Any, tokens: int, length: int, answers_per_position: int = 0) -> float:
    """About what one forward pass without gradient holds at once.

    Args:
        model: A HeadModel.
        tokens: Positions in the batch, padding included.
        length: Positions of its longest row.
        answers_per_position: Numbers returned per position (a vocabulary).
    """
    config = model.model.config
    hidden = max((site.n_heads * site.head_dim for site in model.sites), default=1)
    inner = max(
        (int(getattr(config, k, 0) or 0) for k in ("intermediate_size", "d_ff", "ffn_dim", "n_inner")), default=0
    )
    size = next(model.model.parameters()).element_size()
    per_token = size * (6 * hidden + 2 * max(inner, 4 * hidden)) + 4.0 * 3 * answers_per_position
    maps = 0.0
    if getattr(config, "_attn_implementation", "") == "eager":
        maps = 3.0 * size * max(site.n_heads for site in model.sites) * max(tokens, length) * length
    return float(tokens * per_token + maps)
