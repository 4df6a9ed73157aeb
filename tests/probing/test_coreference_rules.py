"""Windows of documents, the paper's rules, and pronoun pairs, on texts whose answer is known."""

import numpy as np
import pytest

from headwidgets.errors import InputError
from headwidgets.probing.coreferring.instances import instances
from headwidgets.probing.coreferring.pairs import choice, read_gap, read_winogender
from headwidgets.probing.coreferring.sieves import agreement, agrees, head_match, mention_type, nearest, sieves
from headwidgets.probing.coreferring.windows import windows
from headwidgets.text.treebank import Mention, Sentence, Treebank, Word
from tests.models.tiny import made

SINGULAR, HER, IT = "Number=Sing", "Gender=Fem|Number=Sing|Person=3|PronType=Prs", "Gender=Neut|Number=Sing|Person=3"


def sentence(words, mentions, document="d", name="s"):
    """Words as ``form~UPOS~head~relation~feats``, heads from 0."""
    made_, at = [], 0
    for word in words.split():
        form, upos, head, relation, feats = word.split("~")
        made_.append(Word(form, upos, int(head), relation, (at, at + len(form)), feats=feats.replace(";", "|")))
        at += len(form) + 1
    text = " ".join(word.form for word in made_)
    return Sentence(tuple(made_), text, name, document, tuple(Mention(*m) for m in mentions))


FIRST = sentence(
    f"the~DET~1~det~_ girl~NOUN~2~nsubj~{SINGULAR} saw~VERB~-1~root~_ the~DET~4~det~_ dogs~NOUN~2~obj~Number=Plur "
    "and~CCONJ~7~cc~_ a~DET~7~det~_ tree~NOUN~4~conj~Number=Sing",
    [("girl", (0, 1), 1), ("both", (3, 4, 5, 6, 7), 4), ("tree", (6, 7), 7)],
    name="first",
)
SECOND = sentence(
    f"she~PRON~1~nsubj~{HER.replace('|', ';')} liked~VERB~-1~root~_ it~PRON~1~obj~{IT.replace('|', ';')} "
    "but~CCONJ~6~cc~_ the~DET~5~det~_ tree~NOUN~6~nsubj~Number=Sing was~VERB~1~conj~_ old~ADJ~6~xcomp~_",
    [("girl", (0,), 0), ("tree", (2,), 2), ("tree", (4, 5), 5)],
    name="second",
)


def test_documents_become_windows_of_whole_sentences():
    model = made("bert", "sequence")
    other = sentence(f"the~DET~1~det~_ cat~NOUN~2~nsubj~{SINGULAR} sat~VERB~-1~root~_", [("cat", (0, 1), 1)], "e")
    found = windows(model, [FIRST, SECOND, FIRST, other], 20)
    assert [(w.document, len(w.words)) for w in found] == [("d", 16), ("d", 8), ("e", 3)]
    assert len({w.name for w in found}) == 3
    first = found[0]
    assert first.text == f"{FIRST.text} {SECOND.text}"
    assert all(first.text[slice(*word.span)] == word.form for word in first.words)
    assert [word.head for word in first.words[8:10]] == [9, -1]
    assert [(m.entity, m.head, m.words) for m in first.mentions][-3:] == [
        ("girl", 8, (8,)),
        ("tree", 10, (10,)),
        ("tree", 13, (12, 13)),
    ]
    assert found[1].before == {"girl", "both", "tree"}
    assert not found[2].before
    alone = windows(model, [FIRST, SECOND], 8)
    assert [len(w.words) for w in alone] == [8, 8], "a sentence is never cut"
    japanese = [Sentence((Word("猫だ。", "NOUN", -1, "root", (0, 3)),), "猫だ。", "a", "j")] * 2
    assert windows(model, japanese, 60)[0].text == "猫だ。猫だ。"


def test_every_mention_that_refers_back_is_a_link():
    found = instances(windows(made("bert", "sequence"), [FIRST, SECOND], 40), singletons=True)
    links = {(link.relation, *link.source): (link.target, link.candidates) for link in found.examples[0].links}
    assert links == {
        ("pronoun", 8): ((1,), (1, 4, 7)),
        ("pronoun", 10): ((7,), (1, 4, 7, 8)),
        ("nominal", 13): ((7, 10), (1, 4, 7, 8, 10)),
    }
    assert found.counted == 3
    guesses = found.baselines()
    example = found.examples[0]
    chosen = {name: [rule(example, link) for link in example.links] for name, rule in guesses.items()}
    # nothing says that a tree is no she; she cannot be it, but the tree can; the tree is the same words as before
    assert chosen == {
        "nearest mention": [7, 8, 10],
        "same head word": [7, 8, 7],
        "rule-based sieves": [7, 7, 7],
    }
    few = instances(windows(made("bert", "sequence"), [FIRST, SECOND], 40), singletons=False)
    assert [link.candidates for link in few.examples[0].links] == [
        (1, 7), (1, 7, 8), (1, 7, 8, 10),
    ]  # fmt: skip


def test_rows_can_be_of_what_equal_words_give_away():
    found = instances(windows(made("bert", "sequence"), [FIRST, SECOND], 40), True, by="head word")
    assert [(link.relation, *link.source) for link in found.examples[0].links] == [
        ("new head word", 8),
        ("new head word", 10),
        ("head word before", 13),
    ]


def test_what_cannot_be_asked_is_counted():
    apart = instances(windows(made("bert", "sequence"), [FIRST, SECOND], 8), singletons=True)
    assert dict(apart.left_out) == {"have it in an earlier window only": 2}
    assert apart.counted == 1
    assert "2 of 3 mentions" in apart.notes("Reported on")[0]
    lonely = sentence(f"she~PRON~1~nsubj~{HER.replace('|', ';')} ran~VERB~-1~root~_", [("girl", (0,), 0)])
    short = sentence("girl~NOUN~1~nsubj~_ ran~VERB~-1~root~_", [("girl", (0,), 0)])
    none = instances(windows(made("bert", "sequence"), [short, lonely], 40), singletons=True)
    assert dict(none.left_out) == {"have no other mention before them to be confused with": 1}
    assert not none.examples


def test_features_agree_unless_they_contradict():
    words = FIRST.words + SECOND.words
    girl, both, tree = FIRST.mentions
    assert agreement(girl, words) == {"Number": "Sing", "Person": "3", "Gender": "Fem"}
    assert agreement(both, words) == {"Number": "Plur", "Person": "3"}, "two things joined are several"
    assert agrees({"Gender": "Fem,Masc"}, {"Gender": "Masc", "Number": "Sing"})
    assert not agrees({"Gender": "Fem"}, {"Gender": "Masc"})
    assert agrees({}, {"Number": "Sing"})
    she = Mention("girl", (8,), 8)
    assert mention_type(she, words) == "pronoun"
    assert mention_type(tree, words) == "nominal"
    assert nearest(she, [], words) is head_match(she, [], words) is sieves(she, [], words) is None


def test_gap_is_read_with_its_offsets(tmp_path):
    head = "ID\tText\tPronoun\tPronoun-offset\tA\tA-offset\tA-coref\tB\tB-offset\tB-coref\tURL\n"
    text = "Ann Lee met Bea before she left."
    rows = (
        f"x-1\t{text}\tshe\t23\tAnn Lee\t0\tTRUE\tBea\t12\tFALSE\tu\n"
        f"x-2\t{text}\tshe\t23\tAnn Lee\t0\tFALSE\tBea\t12\tFALSE\tu\n"
        f"x-3\tBob saw Tom and his dog.\this\t16\tBob\t0\tFALSE\tTom\t8\tTRUE\tu\n"
    )
    file = tmp_path / "gap.tsv"
    file.write_text("\ufeff" + head + rows, encoding="utf-8")
    first, second = read_gap(file)
    assert [link.relation for link in first.links] == ["feminine"]
    assert (first.links[0].source, first.links[0].target, first.links[0].candidates) == ((5,), (0, 1), (0, 1, 3))
    assert [link.relation for link in second.links] == ["masculine"]
    assert second.words[second.links[0].target[0]] == "Tom"
    for bad, message in (
        (rows.replace("\t23\t", "\t24\t", 1), "line 2: Pronoun 'she' does not stand at '24'"),
        (rows.replace("TRUE", "yes", 1), "line 2: expected A-coref and B-coref as TRUE or FALSE"),
        (rows.replace("\tu\n", "\n", 1), "line 2: expected 11 columns, got 10"),
    ):
        file.write_text(head + bad, encoding="utf-8")
        with pytest.raises(InputError, match=message):
            read_gap(file)
    file.write_text("a\tb\nc\td\n", encoding="utf-8")
    with pytest.raises(InputError, match="line 1: expected the columns of GAP"):
        read_gap(file)
    with pytest.raises(InputError, match="there is no file"):
        read_gap(tmp_path / "none.tsv")


def test_winogender_is_read(tmp_path):
    file = tmp_path / "w.tsv"
    row = "baker.guest.1.female.txt\tThe baker told the guest that she could pay."
    file.write_text(f"sentid\tsentence\n{row}\n{row.replace('guest.1', 'guest.0')}\n", encoding="utf-8")
    one, two = read_winogender(file)
    assert (one.words[one.links[0].source[0]], one.words[one.links[0].target[0]]) == ("she", "guest")
    assert two.words[two.links[0].target[0]] == "baker"
    assert one.cluster == two.cluster == "baker"
    assert [link.relation for link in one.links] == ["female"]
    file.write_text("sentid\tsentence\nbaker.guest.2.female.txt\tx\n", encoding="utf-8")
    with pytest.raises(InputError, match="line 2: expected occupation"):
        read_winogender(file)


def test_a_choice_needs_something_to_choose():
    with pytest.raises(InputError, match="something right and something wrong"):
        choice("a dog saw it", (10, 12), [(2, 5)], [])
    with pytest.raises(InputError, match="touches no word"):
        choice("a dog saw it", (10, 12), [(2, 5)], [(5, 6)])


@pytest.mark.data
def test_rules_on_gum_are_those_of_a_second_count(data_folder):
    """The nearest mention and the same head word, counted anew from the sentences of GUM dev."""
    model = made("bert", "sequence")
    trees = Treebank.read(data_folder / "data/ud/en_gum/en_gum-ud-dev.conllu.gz")
    small = trees[:200]
    found = instances([w for w in windows(model, small, 60) if w.mentions], singletons=True)
    guesses = found.baselines()
    tried = [(e, link) for e in found.examples for link in e.links]
    got = {name: np.mean([rule(e, link) in link.target for e, link in tried]) for name, rule in guesses.items()}
    hits, total = {"nearest mention": 0, "same head word": 0}, 0
    for window in windows(model, small, 60):
        heads = {}
        for mention in window.mentions:
            heads.setdefault(mention.head, set()).add(mention.entity)
        for head, entities in heads.items():
            for entity in entities:
                before = [h for h in heads if h < head]
                right = {h for h in before if entity in heads[h]}
                if not right or right == set(before):
                    continue
                total += 1
                hits["nearest mention"] += max(before) in right
                form = window.words[head].form.lower()
                alike = [h for h in before if window.words[h].form.lower() == form] or before
                hits["same head word"] += max(alike) in right
    assert total == len(tried) == found.counted > 300
    for name, count in hits.items():
        assert got[name] == pytest.approx(count / total)
    assert got["rule-based sieves"] > got["same head word"] > got["nearest mention"]


@pytest.mark.data
def test_pronoun_pairs_are_as_many_as_their_files_say(data_folder):
    gap = read_gap(data_folder / "data/gap/gap-development.tsv.gz")
    assert len(gap) == 1799  # 874 first names and 925 second ones; in 201 neither is right
    assert sum(link.relation == "feminine" for one in gap for link in one.links) > 850
    schemas = read_winogender(data_folder / "data/winogender/all_sentences.tsv")
    assert len(schemas) == 720
    assert len({one.cluster for one in schemas}) == 60
