"""Whatever a file holds: it is read, or our own error names the line. What is read is a treebank, and reads back."""

import re
from dataclasses import replace
from itertools import pairwise
from typing import Any

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from headwidgets.errors import InputError
from headwidgets.text.conllu import parse_text, read
from headwidgets.text.surface import split_surface
from headwidgets.text.treebank import Mention, Sentence, Word
from headwidgets.text.writing import conllu
from tests.text.conllu_fixtures import CATS, CONTINUOUS, MULTIWORD, mentions

SEED = CATS + MULTIWORD + CONTINUOUS + mentions("Entity=(e1[1/2]-x-1-(e2)", "Entity=e1[1/2])", "", "Entity=(e1[2/2])")
often = settings(max_examples=150, deadline=None, derandomize=True, database=None)


def outcome(act) -> tuple[Any, str]:
    """What came, or what our own error says; any other error passes."""
    try:
        return act(), ""
    except InputError as error:
        return None, str(error)


def check(text: str) -> None:
    """Read a text; the only thing that may go wrong is an `InputError` with a line of this text."""
    sentences, fault = outcome(lambda: parse_text(text, "x.conllu")[0])
    if fault:
        found = re.match(r"x\.conllu, line ([0-9]+): .", fault, re.DOTALL)
        assert found, fault
        assert 1 <= int(found[1]) <= max(1, len(re.split(r"\r\n|\n|\r", text)))
        assert len(fault) < 500
        return
    assert sentences
    for sentence in sentences:
        whole(sentence)
    again, _ = parse_text(conllu(sentences), "x.conllu")
    named = [replace(s, line=0, name="") for s in sentences]
    assert [replace(s, line=0, name="") for s in again] == named


def whole(sentence: Sentence) -> None:
    words = sentence.words
    heads = [word.head for word in words]
    if None in heads:
        assert set(heads) == {None}
    else:
        assert heads.count(-1) == 1
        for i in range(len(words)):
            at = i
            for _ in words:
                at = heads[at] if at >= 0 else at
            assert at == -1  # every way up ends at the root
    spans = sorted({word.span for word in words})
    assert all(0 <= a < b <= len(sentence.text) for a, b in spans)
    assert all(one[1] <= two[0] for one, two in pairwise(spans))
    assert [w.span for w in words] == sorted(w.span for w in words)
    for mention in sentence.mentions:
        assert mention.head in mention.words
        assert list(mention.words) == sorted(set(mention.words))
        assert 0 <= mention.words[0] <= mention.words[-1] < len(words)


@often
@given(st.text())
def test_any_text(text):
    check(text)


@often
@given(st.text(alphabet="\t\n\r_0123456789.-#= ()[]/<ab|\ufeff\u2028\u00a0"))
@example("1\t" * 9 + "1")
@example("1\ta\t_\t_\t_\t_\t0\t_\t_\t_")
def test_texts_that_are_nearly_lines(text):
    check(text)


@settings(parent=often, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.binary(max_size=200))
@example(b"\x1f\x8b\x08\x00")
@example(b"\xff\xfe1\x00")
@example(b"\xef\xbb\xbf")
def test_any_bytes(tmp_path, data):
    path = tmp_path / "x.conllu"
    path.write_bytes(data)
    found, fault = outcome(lambda: read([path]))
    assert found.sentences if found else fault.startswith("x.conllu, line ") or "cannot be read" in fault


VALUES = st.one_of(
    st.sampled_from(["_", "0", "1", "2", "3", "1-2", "2-3", "1.1", "0.1", "-1", "9" * 30, "", " ", "#", "é", "\u3000"]),
    st.sampled_from(["Entity=(e1)", "Entity=(e1-x-1-", "Entity=e1)", "Entity=(e1[1/2]-x-1-)", "Entity=(e1[2/2]-x-1-)"]),
    st.sampled_from(["SpaceAfter=No", "Bridge=e1<e2", "SplitAnte=e1<e2,", "Entity=", "a=b=c", "|", "=", "Entity=)("]),
    st.text(alphabet="ab1()[]-/.=|_ ", max_size=6),
)


@settings(parent=often, max_examples=400)
@given(st.lists(st.tuples(st.sampled_from("dcsri"), st.integers(0, 60), st.integers(0, 9), VALUES), max_size=4))
def test_files_with_faults(changes):
    """A good file, of which lines are dropped, doubled, swapped, or a column of them is something else."""
    lines = SEED.split("\n")
    for what, where, column, value in changes:
        at = where % len(lines)
        if what == "d":
            del lines[at]
        elif what == "c":
            lines.insert(at, lines[at])
        elif what == "s":
            lines[at], lines[-at] = lines[-at], lines[at]
        elif what == "i":
            lines.insert(at, value)
        else:
            columns = lines[at].split("\t")
            columns[column % len(columns)] = value
            lines[at] = "\t".join(columns)
    check("\n".join(lines))


FORMS = st.text(alphabet="abé我שA_'", min_size=1, max_size=4)


@st.composite
def sentences(draw) -> Sentence:
    """A sentence with a tree, multiword tokens and mentions, each of its own entity or beside the others."""
    forms = draw(st.lists(FORMS, min_size=1, max_size=8))
    text, spans = "", []
    for form in forms:
        text += " " if text and draw(st.booleans()) else ""
        spans.append((len(text), len(text) + len(form)))
        text += form
    order = draw(st.permutations(range(len(forms))))
    heads = [-1] * len(forms)
    for k in range(1, len(order)):
        heads[order[k]] = order[draw(st.integers(0, k - 1))]
    words = tuple(
        Word(form, "X", head, "root" if head < 0 else "x", span)
        for form, head, span in zip(forms, heads, spans, strict=True)
    )
    named = []
    for i in range(draw(st.integers(0, 4))):
        own = tuple(sorted(draw(st.sets(st.integers(0, len(forms) - 1), min_size=1))))
        bridges = draw(st.lists(st.tuples(st.sampled_from(["b1", "b2"]), st.sampled_from(["", "part"])), max_size=2))
        named.append(
            Mention(f"e{i}", own, draw(st.sampled_from(own)), draw(st.sampled_from(["", "x"])), tuple(bridges))
        )
    named.sort(key=lambda m: (m.words[0], -len(m.words), m.words[-1]))
    return Sentence(words, text, "s", "d", tuple(named), comments=(("k", "v"),))


@settings(parent=often, max_examples=200)
@given(st.lists(sentences(), min_size=1, max_size=3))
def test_any_sentence_is_written_and_read(before):
    after, notes = parse_text(conllu(before), "x")
    tidy = [replace(s, line=0, mentions=tuple(sorted(s.mentions, key=lambda m: m.entity))) for s in after]
    assert tidy == [replace(s, mentions=tuple(sorted(s.mentions, key=lambda m: m.entity))) for s in before]
    assert not notes


@often
@given(st.text(alphabet="abAé我_", min_size=1, max_size=8), st.lists(FORMS, min_size=1, max_size=4), st.integers(0, 5))
def test_spans_of_multiword_tokens(surface, forms, start):
    spans = split_surface(surface, forms, start)
    assert len(spans) == len(forms)
    assert spans == sorted(spans)
    assert all(start <= a < b <= start + len(surface) for a, b in spans)
    apart = sorted(set(spans))
    assert all(one[1] <= two[0] for one, two in pairwise(apart))
    assert sum(b - a for a, b in apart) == len(surface)  # every character belongs to somebody
