"""One protocol on both sides: generated types are current, fixtures are what Python writes today."""

import json
from pathlib import Path

import numpy as np
import pytest

from headwidgets.wire import generate
from headwidgets.wire.arrays import inline, pack, unpack
from tests.wire import make_fixtures


def test_the_generated_typescript_is_current(capsys: pytest.CaptureFixture[str]):
    assert generate.main(["--check"]) == 0, capsys.readouterr().err


def test_a_change_of_the_protocol_is_noticed_and_names_what_to_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(generate, "TARGET", tmp_path)
    assert generate.main([]) == 0
    assert generate.main(["--check"]) == 0
    source = tmp_path / "documents.py"
    text = "\n".join(path.read_text(encoding="utf-8") for path in generate.SOURCES)
    source.write_text(text.replace("kv_heads: int", "kv_heads: str"))
    monkeypatch.setattr(generate, "SOURCES", (source,))
    assert generate.main(["--check"]) == 1
    assert "python -m headwidgets.wire.generate" in capsys.readouterr().err


def test_types_become_their_counterparts():
    source = '''
class Box(TypedDict):
    """A box."""

    name: NotRequired[str]
    """What it is called."""
    sizes: list[int | float]
    at: tuple[Literal["a", "b"], int]
    notes: dict[str, "Box | None"]
'''
    assert generate.types(source).split("\n", 2)[2].strip() == (
        "/** A box. */\n"
        "export interface Box {\n"
        "  /** What it is called. */\n"
        "  readonly name?: string;\n"
        "  readonly sizes: readonly number[];\n"
        '  readonly at: readonly ["a" | "b", number];\n'
        "  readonly notes: Readonly<Record<string, Box | null>>;\n"
        "}"
    )


def test_a_construct_without_counterpart_is_refused_by_name():
    with pytest.raises(generate.UnknownTypeError, match="`set\\[int\\]`"):
        generate.types("class Box(TypedDict):\n    sizes: set[int]\n")


@pytest.mark.parametrize("name", sorted(make_fixtures.files()))
def test_a_fixture_is_what_python_writes_today(name: str):
    written = (make_fixtures.FOLDER / name).read_bytes()
    assert written == make_fixtures.files()[name], "if this is meant: python -m tests.wire.make_fixtures"


@pytest.mark.parametrize("name", sorted(make_fixtures.CASES))
def test_documents_come_back_from_both_forms(name: str):
    document = make_fixtures.CASES[name]()
    header, buffer = pack(document)
    live = unpack(json.loads(json.dumps(header)), buffer)
    saved = unpack(json.loads(json.dumps(inline(document))))
    for form in (live, saved):
        np.testing.assert_equal(form, document)
