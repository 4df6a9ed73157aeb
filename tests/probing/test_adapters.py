"""Coreference, relations and word alignment through the whole of links, against eager maps asked one by one."""

import numpy as np
import pytest
import torch

import headwidgets as hw
from headwidgets.demo.relations import relations as demo_relations
from headwidgets.errors import InputError, UnsupportedError
from headwidgets.probing.alignment import alignment, alignment_examples, read_alignments
from headwidgets.probing.coreference import coreference
from headwidgets.probing.coreferring.pairs import choice
from headwidgets.probing.relations import relation_examples, relations
from headwidgets.text.treebank import Mention, Sentence, Treebank, Word
from tests.models.tiny import WORDS, made


def documents(n, seed):
    """Sentences of single words of the tiny vocabulary, each a mention or not; two sentences a document."""
    rng = np.random.default_rng(seed)
    found = []
    for number in range(n):
        forms = rng.choice(WORDS, 7).tolist()
        words, at = [], 0
        for form in forms:
            words.append(Word(form, str(rng.choice(["NOUN", "PRON", "PROPN"])), None, "_", (at, at + len(form))))
            at += len(form) + 1
        mentions = tuple(Mention(f"e{rng.integers(3)}", (i,), i) for i in range(7) if rng.random() < 0.7)
        found.append(Sentence(tuple(words), " ".join(forms), f"s{number}", f"d{number // 2}", mentions))
    return Treebank(tuple(found), f"made {seed}")


def eager(model, text):
    """Maps over the words of a text whose words are one token each, [layers, heads, words, words]."""
    inputs = model.tokenizer(text, return_tensors="pt")
    inputs.pop("token_type_ids", None)
    model.model.set_attn_implementation("eager")
    with torch.no_grad():
        maps = np.stack([a[0].numpy() for a in model.model(**inputs, output_attentions=True).attentions])
    begin = int(model.tokenizer.cls_token_id is not None)
    n = len(text.split())
    return maps[:, :, begin : begin + n, begin : begin + n]


@pytest.mark.parametrize(("family", "head"), [("bert", "sequence"), ("gpt2", "causal")])
def test_antecedents_are_those_of_eager_maps(family, head):
    model = made(family, head)
    first, second = documents(12, 0), documents(12, 1)
    found = coreference(model, second, choose=first, random=0, window=40)
    hits = {}
    for at in range(0, 12, 2):
        one, two = second.sentences[at : at + 2]
        maps = eager(model, f"{one.text} {two.text}")
        words = one.words + two.words
        mentions = [(m.entity, m.head) for m in one.mentions] + [(m.entity, m.head + 7) for m in two.mentions]
        for entity, place in mentions:
            earlier = [p for _, p in mentions if p < place]
            right = [p for e, p in mentions if p < place and e == entity]
            if not right or len(right) == len(earlier):
                continue
            kind = {"NOUN": "nominal", "PRON": "pronoun", "PROPN": "proper"}[words[place].upos]
            forward = np.isin(np.array(earlier)[maps[:, :, place, earlier].argmax(-1)], right)
            received = np.isin(np.array(earlier)[maps[:, :, earlier, place].argmax(-1)], right)
            for row in ("all", kind):
                hits.setdefault((row, "forward"), []).append(forward)
                hits.setdefault((row, "received"), []).append(received)
    kind = model.kinds[0]
    for relation in ("all", "pronoun", "proper", "nominal"):
        expected = np.array(hits[relation, "forward"])
        scores = found.scores(relation, "forward")
        np.testing.assert_allclose(scores.values[kind], expected.mean(0), atol=1e-6)
        assert scores.n == len(expected)
        if family == "bert":
            expected = np.array(hits[relation, "received"]).mean(0)
            np.testing.assert_allclose(found.scores(relation, "received").values[kind], expected, atol=1e-6)
    row = found.row("all", "forward")
    assert {"nearest mention", "same head word", "rule-based sieves"} <= set(row.baselines)
    assert row.label == "mention to antecedent"
    assert any("no other mention before them" in note for note in found.notes)


def test_nothing_to_refer_to_is_said():
    model = made("bert", "sequence")
    with pytest.raises(InputError, match="has no mention"):
        coreference(model, Treebank((Sentence((Word("cat", "NOUN", -1, "root", (0, 3)),), "cat"),), "bare"))
    with pytest.raises(InputError, match="expected a Treebank, or a list of LinkExample"):
        coreference(model, "a text")
    with pytest.raises(InputError, match="by='type' or by='head word'"):
        coreference(model, documents(4, 0), by="length")
    with pytest.raises(InputError, match="window= as a whole number"):
        coreference(model, documents(4, 0), window=3)


def test_pronouns_choose_between_two_names():
    """One head gets a map that looks two back, where the right name stands half the time."""
    model = made("bert", "sequence")
    examples = []
    for number in range(40):
        right, wrong = ((0, 3), (8, 11)) if number % 2 else ((8, 11), (0, 3))
        examples.append(choice("cat and dog saw it", (16, 18), [right], [wrong], name=f"x{number}"))
    head = hw.Head("encoder", 1, 3)
    back = torch.zeros(7, 7)
    for query in range(7):
        back[query, max(0, query - 2)] = 1
    with model.intervene(hw.models.interventions.ReplaceMap([head], by=back)):
        found = coreference(model, examples[:20], choose=examples[20:], random=0)
    assert found.scores("choice", "forward")[head] == 0.5
    row = found.row("choice", "forward")
    assert row.baselines["nearest candidate"] == row.baselines["first candidate"] == 0.5
    assert not row.better


def test_relations_are_rows_and_entities_are_their_ends():
    model = made("bert", "sequence")
    data = demo_relations(120, seed=1)
    found = relations(model, data[:60], choose=data[60:], random=0, directed=False)
    assert {row.relation for row in found} == {"all", *(label.split("(")[0] for _, label in data[:60])}
    assert {row.label for row in found} >= {"first to second", "second to first"}
    examples = relation_examples(data[:60], directed=False)
    hits = []
    for one in examples:
        link = one.links[0]
        maps = eager(model, " ".join(one.words))
        row = maps[:, :, list(link.source)].mean(2)
        row[:, :, list(link.source)] = -1
        hits.append(np.isin(row.argmax(-1), link.target))
    np.testing.assert_allclose(found.scores("all", "forward").values["encoder"], np.mean(hits, 0), atol=1e-6)
    signed = relations(model, data[:60], choose=data[60:], random=0, marks=("$", "#"))
    assert any(row.relation.endswith(", reversed") for row in signed)
    with pytest.raises(InputError, match="read_relations"):
        relations(model, "file.txt")


def test_alignments_are_read_or_refused(tmp_path):
    file = tmp_path / "a.txt"
    file.write_text("0-0 1?2 2-1\n\n0p1\n", encoding="utf-8")
    assert read_alignments(file) == [[(0, 0), (2, 1)], [], []]
    assert read_alignments(file, possible=True) == [[(0, 0), (1, 2), (2, 1)], [], [(0, 1)]]
    file.write_text("0-0\n0:1\n", encoding="utf-8")
    with pytest.raises(InputError, match="line 2: expected pairs such as 0-0"):
        read_alignments(file)
    with pytest.raises(InputError, match="3-0 is no pair of words: the source has 2"):
        alignment_examples([("the cat", "die Katze")], [[(3, 0)]])
    with pytest.raises(InputError, match="there are 1 pairs and 2"):
        alignment_examples([("a", "b")], [[], []])
    with pytest.raises(InputError, match="pairs of whole numbers"):
        alignment_examples([("a", "b")], [[(-1, 0)]])
    (one,) = alignment_examples([("the cat .", "it saw .")], ["0-0 1-0 2-2"], relations=[["PRON", "VERB", "PUNCT"]])
    assert [(link.relation, link.source, link.target) for link in one.links] == [
        ("PRON", (0,), (0, 1)),
        ("PUNCT", (2,), (2,)),
    ]
    with pytest.raises(UnsupportedError, match="no cross-attention"):
        alignment(made("bert", "sequence"), [("a", "b")], [[(0, 0)]])


@pytest.mark.parametrize("written", [False, True])
def test_alignment_is_that_of_eager_cross_attention(written):
    model = made("bart", "seq2seq")
    rng = np.random.default_rng(3)
    pairs = [(" ".join(rng.choice(WORDS, 6)), " ".join(rng.choice(WORDS, 5))) for _ in range(16)]
    given = [[(int(rng.integers(6)), t) for t in range(5) if rng.random() < 0.7] for _ in pairs]
    given = [own or [(0, 0)] for own in given]
    found = alignment(model, pairs[8:], given[8:], choose=(pairs[:8], given[:8]), random=0, written=written)
    model.model.set_attn_implementation("eager")
    hits = []
    for (source, target), aligned in zip(pairs[8:], given[8:], strict=True):
        example = model.encode([(source, target)])[0]
        ids = torch.from_numpy(example.target.ids)[None]
        with torch.no_grad():
            out = model.model(
                input_ids=torch.from_numpy(example.source.ids)[None], decoder_input_ids=ids, output_attentions=True
            )
        maps = np.stack([a[0].numpy() for a in out.cross_attentions])
        begin = ids[0].tolist().index(model.tokenizer.convert_tokens_to_ids(target.split()[0]))
        for s, t in aligned:
            row = maps[:, :, begin + t - int(written), :6]
            hits.append(row.argmax(-1) == s)
    np.testing.assert_allclose(found.scores("aligned").values["cross"], np.mean(hits, 0), atol=1e-6)
    assert {"same place", "same string"} <= set(found.row("aligned").baselines)
    assert found.row("aligned").label == "target to source"
