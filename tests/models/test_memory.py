"""Free memory, refusals, and half the work when it did not fit."""

import pytest
import torch

from headwidgets import MemoryLimitError
from headwidgets.models import memory
from tests.models.tiny import made


def test_free_memory_is_what_the_system_says():
    free = memory.free_bytes("cpu")
    with open("/proc/meminfo", encoding="utf-8") as file:
        total = next(int(line.split()[1]) * 1024 for line in file if line.startswith("MemTotal"))
    assert 0 < free <= total


def test_a_containers_limit_counts(monkeypatch):
    numbers = {"/sys/fs/cgroup/memory.max": 2_000_000, "/sys/fs/cgroup/memory.current": 1_500_000}
    monkeypatch.setattr(memory, "_number", numbers.get)
    assert memory.free_bytes("cpu") == 500_000


def test_what_does_not_fit_is_refused_with_a_way_out(monkeypatch):
    monkeypatch.setattr(memory, "free_bytes", lambda _: 10_000_000)
    memory.check_fits(7e6, "cpu", what="This", instead="do that")
    with pytest.raises(MemoryLimitError, match=r"^This would take about 9\.0 MB on cpu, of which 10\.0 MB.*: do that$"):
        memory.check_fits(9e6, "cpu", what="This", instead="do that")
    monkeypatch.setattr(memory, "free_bytes", lambda _: None)
    memory.check_fits(9e15, "cpu", what="This", instead="do that")


@pytest.mark.parametrize(
    ("size", "text"), [(12, "12 bytes"), (1500, "1.5 kB"), (3.2e9, "3.2 GB"), (2.5e13, "25000.0 GB")]
)
def test_sizes_for_people(size, text):
    assert memory.readable(size) == text


def limited(most, error):
    def work(chunk):
        if len(chunk) > most:
            raise error
        return sum(chunk)

    return work


ERRORS = [
    torch.OutOfMemoryError("CUDA out of memory"),
    MemoryError(),
    RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried"),
]


@pytest.mark.parametrize("error", ERRORS)
def test_the_chunk_is_halved_until_it_fits(error):
    notes = []
    assert memory.halving(limited(3, error), range(10), notes=notes) == [1, 5, 9, 13, 17]
    assert notes == [f"Memory ran out; going on with {n} examples at a time." for n in (5, 2)]


def test_other_errors_are_not_caught_and_one_item_is_the_end():
    with pytest.raises(RuntimeError, match="shape"):
        memory.halving(limited(3, RuntimeError("shape mismatch")), range(10))
    with pytest.raises(MemoryLimitError, match="one of 10 points at a time"):
        memory.halving(limited(0, MemoryError("no room")), range(10), what="points")
    assert memory.halving(limited(3, MemoryError()), range(6), chunk=3) == [3, 12]


def test_a_forward_pass_costs_more_with_maps_and_vocabulary():
    model = made("bert", "masked")
    plain = memory.forward_bytes(model, 1000, 100)
    assert memory.forward_bytes(model, 2000, 100) == 2 * plain
    assert memory.forward_bytes(model, 1000, 100, 60) == plain + 1000 * 60 * 12
    model.model.config._attn_implementation_internal = "eager"
    assert memory.forward_bytes(model, 1000, 100) > plain
