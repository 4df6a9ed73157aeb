"""What `hw.` offers: all of it resolves, each name once, and none before it is asked for."""

import ast
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import headwidgets as hw

SOURCE = Path(hw.__file__).read_text("utf-8")
RESULTS = (hw.attribution, hw.pruning, hw.probing)
"""Rooms whose classes a user gets to see as results."""


@pytest.mark.parametrize("name", hw.__all__)
def test_every_name_resolves_to_what_it_says(name):
    found = getattr(hw, name)
    assert getattr(found, "__name__", name).removeprefix("headwidgets.") == name
    assert name in dir(hw)


def test_results_have_a_name_at_the_top():
    for room in RESULTS:
        classes = {name for name in room.__all__ if inspect.isclass(getattr(room, name))}
        assert classes <= set(hw.__all__), f"{classes - set(hw.__all__)} of {room.__name__}"


def test_type_checkers_know_the_same_names():
    block = next(n for n in ast.parse(SOURCE).body if isinstance(n, ast.If) and "TYPE_CHECKING" in ast.unparse(n.test))
    told = {alias.asname: line.module for line in block.body for alias in line.names}
    assert told == {**hw._HOMES, **dict.fromkeys(hw._ROOMS, "headwidgets")}


def test_widgets_and_errors_resolve_without_torch():
    names = [name for name, home in hw._HOMES.items() if home.split(".")[1] in ("widgets", "errors", "scores", "jobs")]
    assert len(names) > 15
    code = f"import sys, headwidgets as hw; [getattr(hw, n) for n in {names}]; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_an_unknown_name_says_so():
    with pytest.raises(AttributeError, match="no attribute 'HeadGird'"):
        _ = hw.HeadGird
