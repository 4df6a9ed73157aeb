"""The front door of the benches: every name leads to a table, and a table that is written leaves the others alone."""

import ast
from pathlib import Path

import pytest

from bench.__main__ import NAMED, SHORT, merged, sections

BENCH = Path(__file__).parents[1] / "bench"


@pytest.mark.parametrize("name", [*SHORT, *NAMED])
def test_every_name_is_a_module_with_a_table_that_needs_no_arguments(name: str):
    functions = [n for n in ast.parse((BENCH / f"{name}.py").read_text("utf-8")).body if isinstance(n, ast.FunctionDef)]
    (table,) = (f for f in functions if f.name == "table")
    assert len(table.args.args) == len(table.args.defaults)


def test_a_written_table_takes_the_place_of_the_one_with_its_heading():
    page = "# Measured\n\nold words\n\n## One\n\n1\n\n### Part\n\n1b\n\n## Two\n\n2\n"
    found = merged(page, ["## Two\n\nnew\n", "## Three\n\n3"])
    assert sections(found) == {
        "## One": "## One\n\n1\n\n### Part\n\n1b",
        "## Two": "## Two\n\nnew",
        "## Three": "## Three\n\n3",
    }
    assert "old words" not in found
    assert merged(found, []) == found
