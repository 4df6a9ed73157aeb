"""Where a treebank's words are among the model's tokens, counted a second time character by character."""

from collections import Counter
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import transformers

import headwidgets as hw
from headwidgets.models.streaming import membership, stream, word_maps
from headwidgets.text.conllu import parse_text
from headwidgets.text.placing import Placed, place
from headwidgets.text.treebank import Sentence, Treebank, Word
from tests.models.tiny import made, tokenizer
from tests.text.conllu_fixtures import CATS, CONTINUOUS, MULTIWORD, row, sentence
from tests.text.tokenizers_in_memory import ALL, word_piece


def model(own: Any, most: int | None = None) -> Any:
    """What placing asks of a model."""
    return SimpleNamespace(
        tokenizer=own, max_positions=most, model=SimpleNamespace(config=SimpleNamespace(type_vocab_size=2))
    )


def treebank(*texts: str) -> Treebank:
    return Treebank(parse_text("".join(texts), "x")[0])


def flat(*forms: str) -> Sentence:
    """A sentence of forms with a space between them; all hang on the first."""
    words, text = [], ""
    for i, form in enumerate(forms):
        text += " " if text else ""
        words.append(Word(form, "X", 0 if i else -1, "x", (len(text), len(text) + len(form))))
        text += form
    return Sentence(tuple(words), text, "s")


# ---- a second count ----------------------------------------------------------------------------------------


def count(own: Any, sentences: list[Sentence], most: int | None) -> dict[str, int]:
    """Words lost, merged and unknown, and sentences too long, from the tokenizer's bare offsets, by characters."""
    found: Counter[str] = Counter()
    for one in sentences:
        encoding = own(one.text, return_offsets_mapping=True, return_special_tokens_mask=True, verbose=False)
        if most is not None and len(encoding["input_ids"]) > most:
            found["skipped"] += 1
            continue
        found["words"] += len(one)
        ids = [
            (i, start, end)
            for i, (start, end), special in zip(
                encoding["input_ids"], encoding["offset_mapping"], encoding["special_tokens_mask"], strict=True
            )
            if not special and own.convert_ids_to_tokens(i) != "▁"
        ]
        names = sorted({w.span for w in one})
        of_char = {at: k for k, span in enumerate(names) for at in range(*span)}
        touching: dict[int, list[tuple[int, int]]] = {k: [] for k in range(len(names))}
        belonging: dict[int, list[int]] = {k: [] for k in range(len(names))}
        for i, start, end in ids:
            votes = Counter(of_char[at] for at in range(start, end) if at in of_char and not one.text[at].isspace())
            if not votes:
                continue
            owner = min(votes, key=lambda k: (-votes[k], k))
            belonging[owner].append(i)
            for k, share in votes.items():
                touching[k].append((share, owner))
        position = {}
        for k in range(len(names)):
            if belonging[k]:
                position[k] = k
            elif touching[k]:
                most_shared = max(share for share, _ in touching[k])
                position[k] = next(owner for share, owner in touching[k] if share == most_shared)
        places = [position.get(names.index(w.span)) for w in one]
        sharing = Counter(places)
        found["lost"] += places.count(None)
        found["merged"] += sum(p is not None and sharing[p] > 1 for p in places)
        found["unknown"] += sum(p is not None and set(belonging[p]) == {own.unk_token_id} for p in places)
    return {key: found[key] for key in ("words", "skipped", "lost", "merged", "unknown")}


def counted(placed: Placed) -> dict[str, int]:
    return {
        "words": placed.words,
        "skipped": len(placed.skipped),
        "lost": placed.lost,
        "merged": placed.merged,
        "unknown": placed.unknown,
    }


def consistent(placed: Placed) -> None:
    for one in placed.sentences:
        side = one.example.source
        assert len(one.units) == len(side)
        assert set(one.units.tolist()) - {-1} == set(range(one.n_units))
        assert (one.units[np.array(side.special)] == -1).all()
        assert {u for u in one.unit_of if u is not None} == set(range(one.n_units))
        ranks = [u for u in one.units.tolist() if u >= 0]
        assert ranks == sorted(ranks)


@pytest.mark.data
@pytest.mark.parametrize("name", ["sst2", "multi30k-en-de"])
@pytest.mark.parametrize("language", ["he_htb", "ja_gsd", "zh_gsdsimp", "en_ewt"])
def test_real_treebanks_are_counted_right(data_folder, language, name):
    own = transformers.AutoTokenizer.from_pretrained(data_folder / "models" / name)
    tb = Treebank.read(data_folder / "data" / "ud" / language / f"{language}-ud-dev.conllu.gz")[:120]
    placed = place(model(own, 60), tb)
    consistent(placed)
    assert counted(placed) == count(own, list(tb), 60)
    assert len(placed) + len(placed.skipped) == len(tb)
    assert placed.words == sum(len(tb[i]) for i in placed.index)
    if (language, name) == ("he_htb", "sst2"):
        assert placed.merged > 0
    if (language, name) == ("zh_gsdsimp", "multi30k-en-de"):
        assert placed.unknown > 0.9 * placed.words
        assert placed.notes()[-1].startswith("The tokenizer does not know this script")


@pytest.mark.parametrize("name", ["word_piece", "byte_level", "unigram"])
def test_hand_made_sentences_are_counted_right(name):
    tb = treebank(CATS, MULTIWORD, CONTINUOUS)
    placed = place(model(ALL[name]()), tb)
    consistent(placed)
    assert counted(placed) == count(ALL[name](), list(tb), None)


def test_a_tokenizer_without_offsets():
    placed = place(model(ALL["byte_slow"]()), treebank(CATS, MULTIWORD, CONTINUOUS))
    consistent(placed)
    assert (placed.lost, placed.merged, placed.unknown) == (0, 2, 0)  # French "au" is two words
    sizes = np.bincount(placed.sentences[2].units + 1)[1:]
    assert sizes.tolist() == [3, 3, 6, 3]  # bytes


# ---- what goes wrong ---------------------------------------------------------------------------------------


def test_words_of_another_script_are_counted():
    placed = place(model(tokenizer()), [flat("שלום", "עולם", "the"), flat("我爱", "北京")])
    assert counted(placed) == {"words": 5, "skipped": 0, "lost": 0, "merged": 0, "unknown": 4}
    assert placed.notes() == [
        "4 of 5 words are nothing but unknown tokens.",
        "The tokenizer does not know this script: what heads do here says little about its words.",
    ]
    assert repr(placed) == " ".join(["Placed(2 of 2 sentences, 5 words)", *placed.notes()])
    assert not place(model(tokenizer()), [flat("the", "cat")]).notes()


def test_words_that_vanish_are_lost_and_sentences_of_them_are_listed():
    own = word_piece()  # takes control characters out
    placed = place(model(own), [flat("the", "\u200b\u200b", "cat"), flat("\x7f", "\u200b"), flat("\u3000")])
    assert placed.sentences[0].unit_of == (0, None, 1)
    assert placed.lost == 1
    assert [(s.index, s.reason) for s in placed.skipped] == [
        (1, "none of its words has a token"),
        (2, "no characters but white space"),
    ]
    assert placed.notes() == [
        "1 of 3 sentences were left out: none of its words has a token.",
        "1 of 3 sentences were left out: no characters but white space.",
        "1 of 3 words have no token of the model.",
    ]


def test_a_token_over_two_words_is_of_the_larger_share_and_both_are_one_position():
    placed = place(
        model(tokenizer()), treebank(sentence(row("1-2", "cats"), row(1, "cat", 0, "r"), row(2, "s", 1, "x")))
    )
    assert placed.sentences[0].unit_of == (0, 0)
    assert (placed.lost, placed.merged) == (0, 2)


def test_sentences_that_are_too_long_are_listed():
    long = flat(*["cat"] * 20)
    placed = place(model(tokenizer(), 12), [flat("the", "cat"), long, flat("a", "dog")], limit=None)
    assert placed.index == [0, 2]
    assert [(s.index, s.name, s.reason) for s in placed.skipped] == [
        (1, "s", "longer than the model's 12 positions: 22")
    ]
    assert placed.notes() == ["1 of 3 sentences were left out: longer than the model's 12 positions."]
    assert place(model(tokenizer()), [long, flat("a")], limit=5).skipped[0].reason == "more than 5 words: 20"
    with pytest.raises(
        hw.InputError, match=r"at least one sentence .* got none \(longer than the model's 12 positions"
    ):
        place(model(tokenizer(), 12), [long])


def test_words_made_by_hand_are_checked():
    def one(*spans):
        return Sentence(tuple(Word("x", "X", None, "_", span) for span in spans), "the cat", "mine")

    with pytest.raises(hw.InputError, match=r"sentence 'mine': two words have the spans \(0, 5\) and \(4, 7\)"):
        place(model(tokenizer()), [one((0, 5), (4, 7))])
    with pytest.raises(hw.InputError, match=r"the span \(4, 8\), but the text has 7 characters"):
        place(model(tokenizer()), [one((0, 3), (4, 8))])
    with pytest.raises(hw.InputError, match=r"word 0 has the head 3: expected -1 to 0, or None"):
        place(model(tokenizer()), [Sentence((Word("the", "X", 3, "x", (0, 3)),), "the")])
    assert place(model(tokenizer()), [one((4, 7), (0, 3), (4, 7), (2, 2))]).sentences[0].unit_of == (1, 0, 1, None)


def test_what_is_no_treebank():
    with pytest.raises(hw.InputError, match="expected a Treebank or its sentences, got a str"):
        place(model(tokenizer()), ["a text"])
    with pytest.raises(hw.InputError, match="the treebank is empty"):
        place(model(tokenizer()), Treebank(()))


# ---- end to end --------------------------------------------------------------------------------------------


def word_level(own: hw.HeadModel, placed: Placed) -> dict[int, np.ndarray]:
    """By sentence the word-level maps of the first layer, [heads, words, words]."""
    found: dict[int, np.ndarray] = {}

    def look(site, batch, maps):
        if site.layer == 0:
            rows = membership([placed.sentences[i].units for i in batch.index], maps.shape[-1], maps.device)
            for k, (i, one) in enumerate(zip(batch.index, word_maps(maps, rows), strict=True)):
                n = placed.sentences[i].n_units
                found[i] = one[:, :n, :n].numpy()
                assert not one[:, n:].any(), k

    stream(own, [p.example for p in placed.sentences], look)
    return found


def test_words_of_a_tiny_model_end_to_end():
    own = made("bert")
    placed = place(own, [flat("the", "cat", "sat"), flat("very", "small", "\u200b", "dog")])
    found = word_level(own, placed)
    for i, one in enumerate(placed.sentences):
        maps = own.attend(one.sentence.text).maps["encoder"][0]
        np.testing.assert_allclose(found[i], maps[:, 1 : 1 + one.n_units, 1 : 1 + one.n_units], atol=1e-6)


@pytest.mark.data
@pytest.mark.parametrize("language", ["he_htb", "ja_gsd", "zh_gsdsimp"])
def test_other_scripts_end_to_end(data_folder, language):
    """Maps over the treebank's words, against sums over characters' tokens written out."""
    own = hw.load(data_folder / "models" / "sst2")
    tb = Treebank.read(data_folder / "data" / "ud" / language / f"{language}-ud-dev.conllu.gz")[:4]
    placed = place(own, tb)
    assert len(placed) == len(tb)
    found = word_level(own, placed)
    for i in (0, 3):
        one = placed.sentences[i]
        maps = own.attend(one.sentence.text).maps["encoder"][0]
        slow = np.zeros((maps.shape[0], one.n_units, one.n_units))
        for q in range(one.n_units):
            queries = [t for t, u in enumerate(one.units) if u == q]
            for k in range(one.n_units):
                keys = [t for t, u in enumerate(one.units) if u == k]
                slow[:, q, k] = maps[:, queries][:, :, keys].sum(-1).mean(-1)
        np.testing.assert_allclose(found[i], slow, atol=1e-5)
