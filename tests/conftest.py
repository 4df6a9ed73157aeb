"""What every test shares: one torch thread, no network, and the folder of real data when there is one."""

import os
import signal
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # spinning threads starve everybody else on a busy machine

import pytest


@pytest.fixture(scope="session", autouse=True)
def _one_thread():
    torch = pytest.importorskip("torch", reason="the engine needs torch")
    torch.set_num_threads(1)


@pytest.fixture(scope="session", autouse=True)
def _interrupts_are_heard():
    """A shell that starts us in the background has interrupts ignored; tests of interrupts need them."""
    before = signal.getsignal(signal.SIGINT)
    if before is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder with `data/` and `models/`; a test that needs it is skipped, with this reason, where it is absent."""
    folder = os.environ.get("HEADWIDGETS_DATA", "")
    if not folder or not Path(folder, "models").is_dir():
        pytest.skip("HEADWIDGETS_DATA does not name a folder with data/ and models/")
    return Path(folder)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Notebooks first: they are the longest file, and two processes then end together."""
    items.sort(key=lambda item: "notebook" not in item.path.name)
