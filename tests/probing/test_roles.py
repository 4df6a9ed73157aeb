"""Roles of heads whose maps are put there: each is found, and no more."""

import math

import numpy as np
import pytest
import torch
from scipy import stats

import headwidgets as hw
from headwidgets.errors import Cancelled, InputError
from headwidgets.models.interventions import ReplaceMap
from headwidgets.probing import forget_role, register_role, registered_roles, roles
from headwidgets.probing.induction import fitting_length
from headwidgets.probing.rules import interval, of_links, of_registered, reaching
from headwidgets.text.treebank import Sentence, Treebank, Word
from tests.models.tiny import WORDS, made


def texts(n=24, seed=0):
    generator = np.random.default_rng(seed)
    return [" ".join(generator.choice(WORDS, generator.integers(4, 12))) for _ in range(n)]


def put(head, weights):
    """A head whose map has ones where `weights(query, key, length)` says, before rows are divided by their sums."""

    def by(maps):
        length = maps.shape[-1]
        grid = torch.tensor([[float(weights(q, k, length)) for k in range(length)] for q in range(maps.shape[-2])])
        return grid / grid.sum(-1, keepdim=True)

    return ReplaceMap([head], by=by)


E = [hw.Head("encoder", 0, i) for i in range(4)]


def test_every_head_gets_the_role_that_its_map_plays():
    """Texts of one length, so that nothing is padded and a map says the same of each."""
    model = made("bert", "masked")
    generator = np.random.default_rng(1)
    same = [" ".join(generator.choice(WORDS, 8)) for _ in range(24)]  # ten positions with [CLS] and [SEP]
    acting = [
        put(E[0], lambda q, k, n: k == min(n - 1, q + 1)),
        put(E[1], lambda q, k, n: 9 if k == n - 1 else 1),  # 9 of 18 to [SEP]: half, below the threshold
        put(E[2], lambda q, k, n: 20 if k == 0 else 1),
        put(E[3], lambda q, k, n: 1),
    ]
    quiet = [put(hw.Head("encoder", 1, i), lambda q, k, n: 4 if k == (q * 3 + 1) % n else 1) for i in range(4)]
    with model.intervene(*acting, *quiet):
        found = roles(model, same, look_for=["positional", "separator", "sink", "broad"])
        lower = roles(model, same, look_for=["separator"], at_least={"separator": 0.45})
    assert found.heads("positional") == [E[0]]
    assert found[E[0]] == ("positional",)
    assert found["positional"].evidence[0].about == "offset +1 in 100 % of tokens, mean weight 1.00"
    assert found.heads("separator") == []
    assert found.heads("sink") == [E[2]]
    assert found["sink"].evidence[0].value == pytest.approx(20 / 29)
    assert "69 % of attention to the first position (looking at all alike: 10 %)" in found["sink"].evidence[0].about
    assert E[3] in found.heads("broad")
    assert found.evidence(E[3])["broad"].value == pytest.approx(1)
    assert lower.heads("separator") == [E[1]]
    assert lower["separator"].evidence[0].value == pytest.approx(0.5)
    assert lower["separator"].rule == "at least 45 % of the attention goes to separators"
    assert found.n == 24
    assert found.fingerprint == model.fingerprint
    assert found.provenance["settings"]["at_least_positional"] == 0.9


def test_causal_models_are_asked_about_repeated_tokens():
    model = made("llama", "causal")
    heads = [hw.Head("decoder", 1, i) for i in range(3)]
    length = fitting_length(model)  # the tiny vocabulary has tokens for two short copies
    assert 10 < length < 25
    lags = [1, length, length - 1]
    acting = [put(head, lambda q, k, n, lag=lag: k == max(0, q - lag)) for head, lag in zip(heads, lags, strict=True)]
    with model.intervene(*acting):
        found = roles(model, texts(), look_for=["previous-token", "duplicate-token", "induction"])
        default = roles(model, texts())
    assert {name: found.heads(name)[:1] for name in found.names} == {
        "previous-token": heads[:1],
        "duplicate-token": heads[1:2],
        "induction": heads[2:3],
    }
    assert found["induction"].evidence[0].value == pytest.approx(1)
    assert heads[0] in default.heads("positional")
    assert "syntactic" not in default
    encoder = roles(made("bert", "masked"), texts(), look_for=["induction"])
    assert encoder.names == ("induction",)


def test_the_first_query_of_a_causal_model_has_no_choice_and_does_not_count():
    model = made("llama", "causal")
    head = hw.Head("decoder", 0, 0)
    with model.intervene(put(head, lambda q, k, n: k <= q and (q + 1 if k == 0 else 1))):
        found = roles(model, texts(), look_for=["sink"])
    lengths = [len(text.split()) for text in texts()]
    shares = [(q + 1) / (2 * q + 1) for length in lengths for q in range(1, length)]
    assert found["sink"].scores[head] == pytest.approx(np.mean(shares))


def test_few_texts_give_numbers_and_no_verdict():
    model = made("bert", "masked")
    with model.intervene(put(E[0], lambda q, k, n: k == min(n - 1, q + 1))):
        few = roles(model, texts(19), look_for=["positional"])
        enough = roles(model, texts(20), look_for=["positional"])
        told = roles(model, texts(5), look_for=["positional"], least=5)
    assert few.heads() == []
    assert few["positional"].scores[E[0]] == 1
    assert any("19 texts are too few" in note for note in few.notes)
    assert E[0] in enough.heads("positional")
    assert E[0] in told.heads("positional")


def test_a_threshold_reached_by_luck_is_not_certain():
    values = np.array([[0.95, 0.91, 0.89, np.nan]])
    errors = np.array([[0.01, 0.01, 0.01, np.nan]])
    scores = hw.HeadScores({"encoder": values}, stderr={"encoder": errors}, name="share", n=100)
    role = reaching("x", scores, 0.9)
    assert role.heads == E[:2]
    assert role.measured == 3
    assert [e.certain for e in role.evidence] == [True, False]
    z = stats.t.ppf(0.975, 99)
    p, n = 0.91, 0.91 * 0.09 / 0.01**2
    centre = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    assert (role.evidence[1].low, role.evidence[1].high) == pytest.approx((centre - half, centre + half), rel=1e-5)
    plain = hw.HeadScores({"encoder": 10 * values}, stderr={"encoder": errors}, name="size", n=100)
    assert interval(plain, E[0], share=False) == pytest.approx((9.5 - z * 0.01, 9.5 + z * 0.01), rel=1e-6)
    unknown = reaching("x", hw.HeadScores({"encoder": values}, name="share"), 0.9)
    assert unknown.evidence[0].certain is None


def test_heads_at_the_threshold_are_rarely_certain():
    """72 heads whose true value is the threshold, 25 texts each: in at most 1 of 20 cases may one be called certain."""
    generator = np.random.default_rng(0)
    wrong = 0
    for _ in range(60):
        x = generator.beta(12, 8, (25, 72))
        values, errors = x.mean(0)[None], x.std(0, ddof=1)[None] / 5
        scores = hw.HeadScores({"encoder": values}, stderr={"encoder": errors}, name="share", n=25)
        wrong += any(e.certain for e in reaching("x", scores, 0.6).evidence)
    assert wrong <= 7  # three are expected at 5 %; more than seven happen once in 50 such tests, 15 % would give nine


def test_a_registered_role_is_looked_for_until_it_is_forgotten():
    model = made("bert", "masked")
    seen = {}

    def measure(model, texts, *, treebank=None, seed):
        seen.update(n=len(texts), treebank=treebank, seed=seed)
        return hw.patterns.confidence(model, texts, seed=seed)

    register_role("sharp", measure, at_least=0.6, rule="looks at one word")
    try:
        assert list(registered_roles()) == ["sharp"]
        found = roles(model, texts(), look_for=["sharp", "broad"], seed=4)
        assert found.names == ("broad", "sharp")
        assert seen == {"n": 24, "treebank": None, "seed": 4}
        values = hw.patterns.confidence(model, texts()).values["encoder"]
        assert {(h.layer, h.index) for h in found.heads("sharp")} == set(zip(*np.nonzero(values >= 0.6), strict=True))
        assert found["sharp"].rule == "looks at one word"
        with pytest.raises(InputError, match="again=True replaces it"):
            register_role("sharp", measure)
        register_role("sharp", lambda model, texts: [("encoder", 0, 1)], again=True)
        assert roles(model, texts(), look_for=["sharp"]).heads("sharp") == [E[1]]
        register_role("sharp", lambda model, texts: 3, again=True)
        with pytest.raises(
            InputError, match="head scores, links or heads from the measure of the role 'sharp', got int"
        ):
            roles(model, texts(), look_for=["sharp"])
    finally:
        forget_role("sharp")
    with pytest.raises(InputError, match="no role 'sharp' was registered"):
        forget_role("sharp")
    with pytest.raises(InputError, match="there is a role 'positional' already"):
        register_role("positional", measure)
    with pytest.raises(InputError, match="expected measure as a function"):
        register_role("x", 3)


def chain(seed, n=60):
    """Sentences in which every word hangs on the word before it, or two before."""
    generator = np.random.default_rng(seed)
    found = []
    for number in range(n):
        words = generator.choice(WORDS, 7, replace=False).tolist()
        heads = [-1, 0, *[int(at - generator.integers(1, 3)) for at in range(2, 7)]]
        starts = np.cumsum([0, *[len(word) + 1 for word in words]])
        made_ = tuple(
            Word(word, "NOUN", head, "root" if head < 0 else "dep", (int(start), int(start) + len(word)))
            for word, head, start in zip(words, heads, starts[:-1], strict=True)
        )
        found.append(Sentence(made_, " ".join(words), f"s{number}"))
    return Treebank(tuple(found), "chains")


def test_heads_that_find_relations_are_syntactic():
    model = made("bert", "masked")
    bank, train = chain(0), chain(1)
    by_text = {s.text: s for s in (*bank, *train)}
    position = {}
    for sentence in by_text.values():
        ids = tuple(model.encode([sentence.text])[0].source.ids.tolist())
        position[ids] = sentence
    current = {}
    embed = model.model.get_input_embeddings()
    hook = embed.register_forward_pre_hook(lambda module, args: current.__setitem__("ids", args[0]))

    def gold(maps):
        out = torch.full(maps.shape, 0.01)
        for row, ids in enumerate(current["ids"].tolist()):
            sentence = position.get(tuple(i for i in ids if i != 0))
            for at, word in enumerate(sentence.words if sentence else ()):
                if word.head is not None and word.head >= 0:
                    out[row, 0, at + 1, word.head + 1] = 1
        return out / out.sum(-1, keepdim=True)

    try:
        with model.intervene(ReplaceMap([E[2]], by=gold)):
            found = roles(
                model, treebank=bank, train=train, look_for=["syntactic"], syntactic={"random": 0, "offsets": 3}
            )
    finally:
        hook.remove()
    assert found.heads("syntactic")[:1] == [E[2]]
    assert len(found.heads("syntactic")) == 1
    evidence = found["syntactic"].evidence[0]
    assert evidence.value == pytest.approx(1)
    assert "dep (dependent to head) 100 %" in evidence.about
    assert evidence.certain
    assert found.n == 60


def test_links_of_ones_own_give_a_role():
    bank = chain(0, 40)
    examples = hw.probing.dependencies(bank)
    found = hw.probing.links(made("bert", "masked"), examples, random=0, arcs=0)
    role = of_links("mine", found, "a rule")
    assert role.heads == list(dict.fromkeys(one.head for one in found.specialists()))
    own = hw.probing.rules.Registered("mine", lambda model, texts: found, None, "a rule")
    assert of_registered(own, None, None, 20) == role


def test_progress_partial_results_and_cancelling():
    model = made("bert", "masked")
    steps, seen = [], []
    roles(
        model,
        texts(),
        look_for=["positional", "sink", "induction"],
        on_progress=lambda done, total: steps.append((done, total)),
        on_partial=seen.append,
    )
    assert steps == sorted(steps)
    assert steps[-1] == (24 + 24 + 32, 24 + 24 + 32)
    assert [found.names for found in seen] == [("positional",), ("positional", "sink")]
    with pytest.raises(Cancelled):
        roles(model, texts(), look_for=["positional"], cancel=lambda: True)


def test_a_grid_follows_a_job_that_looks_for_roles():
    grid = hw.HeadGrid(hw.jobs.start(roles, made("bert", "masked"), texts(), look_for=["positional", "sink"]), wait=0)
    assert grid.wait(60)
    assert [role["name"] for role in grid.document["roles"]] == ["positional", "sink"]
    assert grid.shapes == {"encoder": (2, 4)}
    assert not grid.running
    grid.close()


def test_encoder_decoders_are_asked_about_their_encoder_or_about_all_kinds():
    model = made("marian", "seq2seq")
    found = roles(model, texts(), look_for=["positional", "sink"])
    assert found.kinds == ("encoder",)
    pairs = list(zip(texts(), texts(seed=1), strict=True))
    assert set(roles(model, pairs, look_for=["positional", "sink"]).kinds) == {"encoder", "decoder", "cross"}


def test_bad_arguments_are_refused_in_a_sentence():
    model = made("bert", "masked")
    with pytest.raises(InputError, match="texts, or a treebank"):
        roles(model)
    with pytest.raises(InputError, match="no role 'posional'; there are positional"):
        roles(model, texts(), look_for=["posional"])
    with pytest.raises(InputError, match="needs treebank="):
        roles(model, texts(), look_for=["syntactic"])
    with pytest.raises(InputError, match="no threshold for 'syntactic'"):
        roles(model, texts(), at_least={"syntactic": 0.5})
    with pytest.raises(InputError, match="share above 0"):
        roles(model, texts(), at_least={"sink": 60})
    with pytest.raises(InputError, match="treebank as a Treebank, got str"):
        roles(model, texts(), "x.conllu")
