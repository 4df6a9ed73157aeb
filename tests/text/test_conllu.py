"""CoNLL-U is read strictly: what is right is read as it stands, what is wrong is named with its line."""

import gzip
from itertools import pairwise

import pytest

import headwidgets as hw
from headwidgets.text.conllu import parse_text
from headwidgets.text.surface import split_surface
from tests.text.conllu_fixtures import CATS, CONTINUOUS, MULTIWORD, row, sentence


def read(text: str):
    return parse_text(text, "x.conllu")[0]


def shown(found) -> list[str]:
    return [found.text[slice(*word.span)] for word in found.words]


def test_words_trees_and_comments():
    (found,) = read(CATS)
    assert found.text == "The cats sleep."
    assert shown(found) == found.forms == ["The", "cats", "sleep", "."]
    assert [w.head for w in found.words] == [1, 2, -1, 2]
    assert [w.relation for w in found.words] == ["det", "nsubj", "root", "punct"]
    assert (found.name, found.document, found.line, found.root) == ("s1", "d1", 1, 2)
    assert found.words[1].lemma == "cat"
    assert found.comments == (("speaker", "Ann"),)


def test_multiword_tokens_and_empty_nodes():
    found = read(CATS + MULTIWORD)[1]
    assert found.text == "I don't go aulit"
    assert shown(found) == ["I", "do", "n't", "go", "au", "au", "lit"]
    assert [w.head for w in found.words] == [3, 3, 3, -1, 6, 6, 3]
    assert found.tokens == ((1, 3), (4, 6))
    assert (found.document, found.line) == ("d1", 10)
    assert parse_text(MULTIWORD, "x")[1] == ["1 empty nodes were left out: no token stands for them."]


def test_scripts_without_spaces():
    (found,) = read(CONTINUOUS)
    assert found.text == "我爱北京。"
    assert shown(found) == ["我", "爱", "北京", "。"]


def test_the_given_text_wins_where_it_is_the_words():
    (found,) = read(CATS.replace("# text = The cats sleep.", "# text = The  cats\u00a0sleep ."))
    assert found.text == "The  cats\u00a0sleep ."
    assert shown(found) == ["The", "cats", "sleep", "."]
    (other,), notes = parse_text(CATS.replace("# text = The", "# text = A"), "x")
    assert other.text == "The cats sleep."
    assert notes == ["1 of 1 sentences have a text that is not their words: the words were put together."]


def test_a_form_may_have_spaces_and_odd_line_separators():
    text = sentence(row(1, "New York", 0, "root"), row(2, "a\u2028b\x85c\x0c", 1, "flat"), row(3, "\u3000", 1, "punct"))
    (found,) = read(text)
    assert shown(found) == found.forms == ["New York", "a\u2028b\x85c\x0c", "\u3000"]


@pytest.mark.parametrize(
    "change",
    [
        lambda t: "\ufeff" + t,
        lambda t: t.replace("\n", "\r\n"),
        lambda t: t.replace("\n", "\r"),
        lambda t: t.rstrip("\n"),
        lambda t: "\n\n" + t + "\n\n# a comment behind everything\n",
        lambda t: t.replace("\n\n", "\n \n"),
        lambda t: "# newdoc id = d1\n\n" + t,
    ],
    ids=["bom", "windows", "old mac", "no last line end", "blank lines", "blanks in blank lines", "newdoc apart"],
)
def test_what_other_systems_do_to_line_ends(change):
    plain, changed = read(CATS + MULTIWORD), read(change(CATS + MULTIWORD))
    assert [(s.text, s.words, s.document, s.name) for s in changed] == [
        (s.text, s.words, s.document, s.name) for s in plain
    ]


def test_no_tree_is_no_error_and_is_said():
    found, notes = parse_text(sentence(row(1, "a"), row(2, "b")), "x")
    assert [w.head for w in found[0].words] == [None, None]
    assert found[0].root is None
    assert notes == ["1 of 1 sentences have no tree."]


@pytest.mark.parametrize(
    ("surface", "forms", "expected"),
    [
        ("don't", ["do", "n't"], ["do", "n't"]),
        ("Don't", ["do", "n't"], ["Do", "n't"]),
        ("vámonos", ["vamos", "nos"], ["vámo", "nos"]),
        ("du", ["de", "le"], ["du", "du"]),
        ("zum", ["zu", "dem"], ["zu", "m"]),
        ("לבית", ["ל", "ה_", "בית"], ["ל", "בית", "בית"]),
        ("ביתו", ["בית_", "_של_", "_הוא"], ["בית", "ו", "ו"]),
        ("x", ["x", "y"], ["x", "x"]),
        ("abc", ["a", "b"], ["a", "bc"]),
        ("ab", ["ab", "ab"], ["ab", "ab"]),
        ("wanna", ["wan", "na"], ["wan", "na"]),
        ("q", ["a", "b", "c"], ["q", "q", "q"]),
    ],
)
def test_words_of_a_multiword_token(surface, forms, expected):
    spans = split_surface(surface, forms, start=5)
    assert [surface[a - 5 : b - 5] for a, b in spans] == expected


# ---- what is wrong ----------------------------------------------------------------------------------------

GOOD = [row(1, "a", 2, "det"), row(2, "b", 0, "root"), row(3, "c", 2, "obj")]


def bad(*rows: str) -> str:
    return sentence(*rows, comments=("# sent_id = x",))


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        (bad(GOOD[0], GOOD[1], row(3, "c", 3, "obj")), 4, "cycle: 3 -> 3"),
        (bad(row(1, "a", 3, "x"), GOOD[1], row(3, "c", 1, "x")), 2, "cycle: 1 -> 3 -> 1"),
        (bad(row(1, "a", 2, "x"), row(2, "b", 1, "x")), 2, "cycle: 1 -> 2 -> 1"),
        (bad(*GOOD[:2], row(3, "c", 0, "root")), 4, "one root, got 2: words 2, 3"),
        (bad(*GOOD[:2], row(3, "c", 9, "obj")), 4, "HEAD of word 3 is 9, but the sentence has 3 words"),
        (bad(*GOOD[:2], row(3, "c", "_", "obj")), 4, "HEAD of word 3 as the ID of a word or 0, got '_'"),
        (bad(*GOOD[:2], row(3, "c", "-1", "obj")), 4, "got '-1'"),
        (bad(*GOOD[:2], row(3, "c", "٢", "obj")), 4, "got '٢'"),
        (bad(*GOOD[:2], row(3, "c", "9" * 5000, "obj")), 4, "HEAD of word 3"),
        (bad(GOOD[0], GOOD[1].rsplit("\t", 1)[0]), 3, r"expected 10 columns separated by tabs \(ID FORM .*got 9"),
        (bad(GOOD[0].replace("\t", "    ")), 2, "got 1; the columns seem to be separated by spaces"),
        (bad(GOOD[0].replace("\t", " ", 1)), 2, "got 9; the columns seem to be separated by spaces"),
        (bad("1\ta\t2\tdet"), 2, "got 4; write _"),
        (bad("hello"), 2, "got 1"),
        (bad(row(1, "", 0, "root")), 2, "the column FORM is empty"),
        (bad(row(1, "a", 0, "")), 2, "the column DEPREL is empty"),
        (bad(row(1, "a", 0, "root"), row(3, "b", 1, "x")), 3, "expected the ID 2, got 3"),
        (bad(row(2, "a", 0, "root")), 2, "expected the ID 1, got 2"),
        (bad(row(0, "a", 0, "root")), 2, "expected an ID such as 1, 1-2 or 0.1, got '0'"),
        (bad(row("01", "a", 0, "root")), 2, "got '01'"),
        (bad(row("x", "a", 0, "root")), 2, "got 'x'"),
        (bad(*GOOD, *GOOD), 5, "expected the ID 4, got 1: is a blank line missing before it"),
        (bad(*GOOD, "# text = next", *GOOD), 5, "a comment inside a sentence"),
        (bad(GOOD[0], row("2-1", "ba"), *GOOD[1:]), 3, "from a lower to a higher ID, got 2-1"),
        (bad(GOOD[0], row("3-4", "ba"), *GOOD[1:]), 3, "3-4 right before word 3"),
        (bad(row("1-2", "ab"), GOOD[0], row("2-3", "bc"), *GOOD[1:]), 4, "2-3 begins inside the one before"),
        (bad(row("1-2", "ab"), row("1-3", "abc"), *GOOD), 3, "begins inside"),
        (bad(*GOOD[:2], row("3-5", "cde"), GOOD[2]), 5, "needs word 5, but the sentence ends after word 3"),
        (bad(row("1.1", "e"), *GOOD), 2, "an empty node 0.1 here, got 1.1"),
        (bad(GOOD[0], row("1.2", "e"), *GOOD[1:]), 3, "an empty node 1.1 here, got 1.2"),
        (bad(row("0.1", "e")), 2, "the sentence has none"),
        ("", 1, "a file without a word"),
        ("# newdoc id = x\n\n", 1, "a file without a word"),
        (CATS + "\n" + bad(row(1, "a", 7, "x")), 12, "HEAD of word 1 is 7"),
    ],
)
def test_every_fault_is_named_with_its_line(text, line, message):
    with pytest.raises(hw.InputError, match=rf"^x\.conllu, line {line}: .*{message}"):
        read(text)


def test_files(tmp_path):
    plain, packed = tmp_path / "a.conllu", tmp_path / "b.conllu.gz"
    plain.write_text(CATS, encoding="utf-8-sig")
    packed.write_bytes(gzip.compress(MULTIWORD.encode()))
    both = hw.Treebank.read(plain, str(packed))
    assert [s.name for s in both] == ["s1", "s2"]
    assert both.name == "a.conllu, b.conllu.gz"
    assert both.notes == ("b.conllu.gz: 1 empty nodes were left out: no token stands for them.",)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (CATS.encode("utf-16"), r"line 1: expected UTF-8, got UTF-16"),
        (CATS.encode() + b"# caf\xe9\n", r"line 10: expected UTF-8, got the byte 0xe9"),
        (gzip.compress(CATS.encode())[:40], r"cannot be read .* is it complete"),
        (b"\x1f\x8b", "cannot be read"),
        (b"PK\x03\x04 not text", "line 1: expected 10 columns"),
    ],
)
def test_files_that_are_something_else(tmp_path, data, message):
    path = tmp_path / "x.conllu"
    path.write_bytes(data)
    with pytest.raises(hw.InputError, match=message):
        hw.Treebank.read(path)


def test_paths_that_are_none(tmp_path):
    with pytest.raises(hw.InputError, match="there is no file"):
        hw.Treebank.read(tmp_path / "nothing.conllu")
    with pytest.raises(hw.InputError, match="got the folder"):
        hw.Treebank.read(tmp_path)
    with pytest.raises(hw.InputError, match="got list: name several files one by one, not in a list"):
        hw.Treebank.read([CATS])


# ---- real files, counted in another way ---------------------------------------------------------------------


def lines_of(path) -> list[str]:
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as file:
        return [line.rstrip("\n") for line in file]


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "sentences"),
    [("en_ewt", 2001), ("he_htb", 484), ("ja_gsd", 507), ("zh_gsdsimp", 500)],
)
def test_real_treebanks(data_folder, name, sentences):
    path = data_folder / "data" / "ud" / name / f"{name}-ud-dev.conllu.gz"
    found, lines = hw.Treebank.read(path), lines_of(path)
    rows = [line.split("\t") for line in lines if line[:1].isdigit()]
    assert len(found) == sentences
    words = [columns for columns in rows if columns[0].isdigit()]
    assert [w.form for s in found for w in s] == [columns[1] for columns in words]
    assert [str(w.head + 1) for s in found for w in s] == [columns[6] for columns in words]
    assert sum(len(s.tokens) for s in found) == sum("-" in columns[0] for columns in rows)
    assert found.texts == [line[9:] for line in lines if line.startswith("# text = ")]
    for own in found:
        spans = sorted({word.span for word in own})
        assert all(a[1] <= b[0] for a, b in pairwise(spans))
        inside = {i for a, b in own.tokens for i in range(a, b)}
        assert all(own.text[slice(*w.span)] == w.form for i, w in enumerate(own) if i not in inside)
