"""Distances between heads against a slow reference over eager maps, and what is made of them."""

import math

import numpy as np
import pytest
from scipy.spatial.distance import jensenshannon

import headwidgets as hw
from headwidgets import Cancelled, Head, HeadDistances, InputError, MemoryLimitError
from headwidgets.patterns import distance, distances, divergence
from headwidgets.patterns.layers import layer_test
from headwidgets.patterns.layout import clustered, laid_out
from tests.models import tiny

from .reference import eager_maps

TEXTS = [
    "the cat sat on the mat",
    "a dog ran",
    "he hated the old film and she said it was bad",
    "it is good and she said that was in the big red house under the tree",
    "not very quickly",
    "the small bird saw a cat",
]
PAIRS = [(text, "she liked it very" if i % 2 else "the dog was not in the house") for i, text in enumerate(TEXTS)]


def reference(model, texts, kind, keys="all", special_queries=False):
    """Mean over tokens of the Jensen-Shannon divergence by SciPy, text by text, from whole maps without padding."""
    total, tokens = 0.0, 0
    for text in texts:
        (example,) = model.encode([text])
        heads = eager_maps(model, example)[kind]
        query, key = distances.sides(example, kind)
        kept = [j for j in range(len(key)) if keys == "all" or (j > 0 and not key.special[j])]
        heads = heads.reshape(-1, *heads.shape[2:])
        for i in range(len(query)):
            seen = [j for j in kept if kind != "decoder" or j <= i]
            if len(seen) < 2 or (query.special[i] and not special_queries):
                continue
            rows = heads[:, i, seen] / heads[:, i, seen].sum(-1, keepdims=True)
            total = total + np.array([[jensenshannon(p, q) ** 2 for p in rows] for q in rows])
            tokens += 1
    return np.nan_to_num(total) / tokens


@pytest.mark.parametrize(
    ("family", "kind", "options"),
    [
        ("bert", "encoder", {}),
        ("bert", "encoder", {"keys": "content"}),
        ("bert", "encoder", {"special_queries": True}),
        ("gemma2", "decoder", {}),
        ("llama", "decoder", {"keys": "content"}),
        ("marian", "cross", {"keys": "content"}),
        ("marian", "decoder", {}),
        ("marian", "encoder", {}),
    ],
)
def test_they_equal_a_slow_reference(family, kind, options):
    model = tiny.made(family, "seq2seq" if family == "marian" else "base" if family == "bert" else "causal")
    texts = PAIRS if family == "marian" else TEXTS
    found = distance(model, texts, kind=kind, **options)
    expected = reference(model, texts, kind, **options)
    assert found.kinds == (kind,)
    assert np.abs(found.values[kind] - expected).max() < 1e-6
    assert expected[0, -1] > 0.01


def test_standard_errors_are_those_of_a_ratio_over_texts():
    model = tiny.made("bert")
    found = distance(model, TEXTS)
    singles = [distance(model, [text]) for text in TEXTS]
    weights = np.array([len(text.split()) for text in TEXTS], dtype=float)
    x = np.array([one.values["encoder"][1, 6] for one in singles])
    mean = weights @ x / weights.sum()
    n = len(TEXTS)
    error = math.sqrt(n / (n - 1) * ((weights * (x - mean)) ** 2).sum()) / weights.sum()
    assert found.values["encoder"][1, 6] == pytest.approx(mean, abs=1e-6)
    assert found.stderr["encoder"][1, 6] == pytest.approx(error, abs=1e-6)
    assert np.isnan(singles[0].stderr["encoder"][0, 1])
    assert found.n == 6


def test_drawn_rows_estimate_the_same_and_weigh_as_the_text_does():
    model = tiny.made("bert")
    texts = [" ".join(np.random.default_rng(i).choice(tiny.WORDS, 40)) for i in range(12)] + ["the cat"]
    whole = distance(model, texts).values["encoder"]
    drawn = [distance(model, texts, most_queries=10, seed=seed) for seed in range(6)]
    off = [one.values["encoder"] - whole for one in drawn]
    assert np.abs(np.mean(off, 0)).max() < 0.02
    assert 0 < np.abs(off[0]).max() < 0.1
    again = distance(model, texts, most_queries=10, seed=0)
    assert (again.values["encoder"] == drawn[0].values["encoder"]).all()
    assert drawn[0].provenance["settings"]["most_queries"] == 10
    assert drawn[0].provenance["settings"]["seed"] == 0


def test_the_bound_of_alike_and_of_apart():
    import torch

    rows = torch.tensor([[[0.5, 0.5, 0, 0], [0, 0, 0.2, 0.8], [0.5, 0.5, 0, 0]]])
    found = divergence.pairwise(rows, torch.ones(1, 1, dtype=torch.float64))
    assert found[0].tolist() == pytest.approx([math.log(2), 0, math.log(2)], abs=1e-6)


def test_order_and_padding_do_not_matter():
    model = tiny.made("bert")
    one, other = distance(model, TEXTS), distance(model, TEXTS[::-1], seed=5)
    assert np.abs(one.values["encoder"] - other.values["encoder"]).max() < 1e-6


def test_partial_results_progress_and_cancelling():
    model = tiny.made("bert")
    texts = [" ".join(np.random.default_rng(i).choice(tiny.WORDS, 5)) for i in range(40)]
    partial, told = [], []
    found = distance(model, texts, on_partial=partial.append, on_progress=lambda *at: told.append(at))
    assert [one.n for one in partial] == [16, 32]
    assert told[-1] == (40, 40)
    assert partial[-1].stderr["encoder"][0, 1] > found.stderr["encoder"][0, 1] * 0.5
    with pytest.raises(Cancelled, match="measuring distances"):
        distance(model, texts, cancel=lambda: True)
    job = hw.jobs.start(distance, model, texts)
    assert job.result().n == 40


def test_memory_does_not_grow_with_the_corpus(monkeypatch):
    model = tiny.made("bert")
    rng = np.random.default_rng(0)
    held = []
    clear = distances.Rows.clear

    def watched(rows):
        held.append(sum(own.numel() for kept in rows._kept.values() for _, own in kept))
        clear(rows)
        assert not rows._kept
        assert not rows._picked

    monkeypatch.setattr(distances.Rows, "clear", watched)
    peaks = []
    for count in (128, 512):
        held.clear()
        distance(model, [" ".join(rng.choice(tiny.WORDS, 12)) for _ in range(count)])
        peaks.append(max(held))
    assert peaks[0] == peaks[1] == 64 * 8 * 12 * 14  # texts of a batch, heads, queries, keys


def test_what_does_not_fit_in_memory_is_refused(monkeypatch):
    model = tiny.made("bert")
    monkeypatch.setattr(distances, "free_bytes", lambda device: 4 * 3 * 8 * 200)
    with pytest.raises(MemoryLimitError, match=r"text 2 has 13 tokens.*most_queries="):
        distance(model, TEXTS)
    monkeypatch.setattr(distances, "free_bytes", lambda device: 4 * 3 * 8 * 450)
    assert distance(model, TEXTS).n == len(TEXTS)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"keys": "some"}, "one of all, content, got 'some'"),
        ({"kind": "cross"}, "that the model has"),
        ({"most_queries": 0}, "at least 1, or None"),
        ({"seed": -1}, "expected seed="),
    ],
)
def test_arguments_that_do_not_fit(options, message):
    with pytest.raises(InputError, match=message):
        distance(tiny.made("bert"), TEXTS, **options)


def test_texts_that_say_nothing_are_refused():
    with pytest.raises(InputError, match="sees two keys in decoder attention"):
        distance(tiny.made("llama", "causal"), ["cat", "dog"])
    with pytest.raises(InputError, match="two content keys"):
        distance(tiny.made("bert"), ["cat"], keys="content")


# ---- the result


def found_of(family="bert"):
    return distance(
        tiny.made(family, "seq2seq" if family == "marian" else "base"), PAIRS if family == "marian" else TEXTS
    )


def test_it_answers_for_pairs_and_names_what_is_near():
    found = found_of()
    heads = found.heads()
    assert heads[5] == Head("encoder", 1, 1)
    square = found.values["encoder"]
    assert (square == square.T).all()
    assert (np.diag(square) == 0).all()
    for i, j in ((0, 1), (7, 2), (3, 6)):
        assert found[heads[i], heads[j]] == square[i, j]
    assert found[heads[0], heads[0]] == 0
    near = found.nearest(heads[2], 3)
    order = [j for j in np.argsort(square[2]) if j != 2][:3]
    assert near == [(heads[j], square[2, j]) for j in order]
    assert 0.5 < found.reliability() <= 1
    frame = found.to_frame()
    assert len(frame) == 28
    row = frame[(frame.layer_a == 0) & (frame.head_a == 3) & (frame.layer_b == 1) & (frame.head_b == 2)].iloc[0]
    assert row.distance == square[3, 6]
    assert "Clark" in found.cite()
    assert "mean" in str(found)
    assert "n=6 texts" in str(found)


def test_kinds_have_no_distance_to_each_other():
    found = found_of("marian")
    assert found.kinds == ("encoder", "decoder", "cross")
    assert len(found.heads("cross")) == 4
    with pytest.raises(InputError, match="different kinds"):
        found[Head("encoder", 0, 0), Head("cross", 0, 0)]
    with pytest.raises(InputError, match="expected kind= as one of encoder, decoder, cross, got none"):
        found.layers()
    with pytest.raises(InputError, match="there is no distance"):
        found[Head("encoder", 0, 0), Head("encoder", 7, 0)]


def test_it_comes_back_from_its_file(tmp_path):
    found = found_of("marian")
    again = hw.read(found.save(tmp_path / "distances"))
    assert isinstance(again, HeadDistances)
    assert again.kinds == found.kinds
    for kind in found.kinds:
        assert (again.values[kind] == found.values[kind]).all()
        assert np.array_equal(again.stderr[kind], found.stderr[kind], equal_nan=True)
        assert again.heads(kind) == found.heads(kind)
        assert again.reliability(kind) == found.reliability(kind)
    assert str(again.layers("encoder", samples=50)) == str(found.layers("encoder", samples=50))
    assert (again.n, again.keys, again.provenance) == (found.n, found.keys, found.provenance)
    broken = found.document()
    broken["kinds"][0]["pairs"] = broken["kinds"][0]["pairs"][:-1]
    with pytest.raises(InputError, match="distances of 28 pairs of 8 heads"):
        HeadDistances.from_document(broken)


# ---- do heads of one layer behave alike?


def planted(layers, heads, apart, seed=0, depth=0.0):
    """Distances between points, those of a layer around a centre of its own; layers move on by `depth`."""
    rng = np.random.default_rng(seed)
    centres = apart * rng.normal(size=(layers, 5)) + depth * np.arange(layers)[:, None]
    points = np.repeat(centres, heads, axis=0) + rng.normal(size=(layers * heads, 5))
    return ((points[:, None] - points[None]) ** 2).sum(-1) / 100, np.repeat(np.arange(layers), heads)


def compared(square, labels, samples=400, groups=12, noise=0.02):
    rng = np.random.default_rng(1)
    hot = np.eye(labels.max() + 1)[labels]
    off = noise * rng.normal(size=(groups, *square.shape))
    noisy = np.triu(square * (1 + off - off.mean(0)), 1)
    by_layer = np.triu(hot.T @ noisy @ hot) * 50
    return layer_test("encoder", square, labels, by_layer, np.full(groups, 50.0), n=groups, samples=samples)


def test_layers_that_are_alike_are_found_and_numbers_are_right():
    square, labels = planted(6, 8, 2.0)
    found = compared(square, labels)
    same = labels[:, None] == labels[None]
    off = ~np.eye(len(labels), dtype=bool)
    assert found.within == pytest.approx(square[same & off].mean())
    assert found.between == pytest.approx(square[~same].mean())
    assert found.difference.value == pytest.approx(found.between - found.within)
    assert found.difference.low < found.difference.value < found.difference.high
    assert found.p == pytest.approx(1 / 401)
    assert found.chance[0] < 0 < found.chance[1] < found.difference.low
    gap = np.abs(labels[:, None] - labels[None])
    assert found.by_gap.tolist() == pytest.approx([square[(gap == g) & off].mean() for g in range(6)])
    expected = np.mean(
        [
            square[np.ix_(labels == a, labels == a + 1)].mean()
            - (square[np.ix_(labels == a, labels == a)].sum() + square[np.ix_(labels == a + 1, labels == a + 1)].sum())
            / (2 * 8 * 7)
            for a in range(5)
        ]
    )
    assert found.neighbours.value == pytest.approx(expected)
    assert found.neighbours_p < 0.05


def test_where_layers_mean_nothing_the_test_says_so_as_often_as_it_should():
    found = [compared(*planted(4, 6, 0.0, seed=seed), samples=39) for seed in range(100)]
    for p in ([one.p for one in found], [one.neighbours_p for one in found]):
        assert 0.01 <= np.mean(np.array(p) <= 0.05) <= 0.12
        assert 0.35 <= np.mean(np.array(p) <= 0.5) <= 0.65


def test_pairs_of_layers_that_share_one_do_not_make_the_test_too_sure():
    """Heads that are dealt to layers at random: what is found spreads no wider than the band of chance says."""
    generator = np.random.default_rng(5)
    labels = np.repeat(np.arange(6), 12)
    found = []
    for seed in range(150):
        points = generator.normal(size=(72, 5)) * generator.lognormal(0, 0.6, (72, 1))
        square = ((points[:, None] - points[None]) ** 2).sum(-1)
        test = layer_test("encoder", square, labels, np.zeros((1, 6, 6)), np.ones(1), n=1, samples=200, seed=seed)
        found.append(test.neighbours.value / (test.neighbours_chance[1] - test.neighbours_chance[0]) * 2 * 1.96)
    assert 0.7 < np.std(found) < 1.05  # as if pairs shared nothing it would be 1.3


def test_few_texts_have_no_interval():
    assert math.isnan(compared(*planted(3, 4, 1.0), groups=4).difference.low)
    assert "nan" not in str(compared(*planted(3, 4, 1.0), groups=4))


def test_nothing_to_compare_is_refused():
    with pytest.raises(InputError, match="at least two layers"):
        layer_test("encoder", np.ones((4, 4)), np.zeros(4, dtype=int), np.ones((9, 1, 1)), np.ones(9), n=9)
    with pytest.raises(InputError, match="at least 20 samples"):
        found_of().layers(samples=3)


# ---- layout and clusters


def points_in_a_plane(n=20, seed=0):
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(n, 2)) * [3, 1]
    return points, np.sqrt(((points[:, None] - points[None]) ** 2).sum(-1))


def heads_of(n, layers=4):
    return [Head("encoder", i * layers // n, i) for i in range(n)]


def test_points_of_a_plane_come_back_as_they_were():
    _, square = points_in_a_plane()
    found = laid_out("encoder", heads_of(20), square)
    drawn = np.sqrt((found.x[:, None] - found.x) ** 2 + (found.y[:, None] - found.y) ** 2)
    assert np.abs(drawn - square).max() < 1e-3
    assert found.stress < 1e-4
    assert found.fit > 0.9999
    assert np.std(found.x) > np.std(found.y)
    assert found.place(Head("encoder", 0, 3)) == (found.x[3], found.y[3])


def test_no_start_of_scikit_learns_own_finds_a_better_layout():
    from sklearn.manifold import smacof

    square, _ = planted(4, 5, 1.0)
    found = laid_out("encoder", heads_of(20), square)
    drawn = np.sqrt((found.x[:, None] - found.x) ** 2 + (found.y[:, None] - found.y) ** 2)
    upper = np.triu_indices(20, 1)
    own = ((drawn - square)[upper] ** 2).sum()
    rng = np.random.default_rng(9)
    others = [
        smacof(square, n_components=2, init=rng.normal(size=(20, 2)), n_init=1, max_iter=300, eps=1e-6)[1]
        for _ in range(10)
    ]
    assert own <= min(others) * 1.001
    assert found.stress == pytest.approx(math.sqrt(own / (drawn[upper] ** 2).sum()))
    again = laid_out("encoder", heads_of(20), square)
    assert (again.x == found.x).all()


def test_roots_are_laid_out_where_asked():
    found = found_of()
    plain, root = found.layout(), found.layout(root=True)
    assert root.root
    assert np.abs(root.x).max() > np.abs(plain.x).max()


def test_groups_that_are_there_are_found():
    square, labels = planted(3, 6, 6.0)
    found = clustered("encoder", heads_of(18), square, [square, square])
    assert len(found) == 3
    assert all(len({own}) == 1 for own in found.labels)
    assert [set(found.labels[labels == i]) for i in range(3)] == [{found.labels[6 * i]} for i in range(3)]
    assert found.silhouette > 0.8
    assert found.stability == 1
    assert sorted(map(len, found.groups())) == [6, 6, 6]
    assert len(clustered("encoder", heads_of(18), square, None, count=5)) == 5
    assert math.isnan(clustered("encoder", heads_of(18), square, None).stability)


def test_layouts_and_groups_of_too_little():
    with pytest.raises(InputError, match="at least three heads"):
        laid_out("encoder", heads_of(2), np.array([[0, 1.0], [1, 0]]))
    with pytest.raises(InputError, match="some distance between them"):
        laid_out("encoder", heads_of(4), np.zeros((4, 4)))
    with pytest.raises(InputError, match="below the number of heads"):
        found_of().clusters(8)
    with pytest.raises(InputError, match="whole number of at least 2"):
        found_of().clusters(1)


@pytest.mark.data
def test_heads_of_one_layer_of_a_real_model_are_alike(data_folder):
    model = hw.load(data_folder / "models" / "sst2")
    lines = (data_folder / "data" / "sst2" / "stsa.binary.dev").read_text("utf-8").splitlines()
    found = distance(model, [line.split(" ", 1)[1] for line in lines[:64]])
    test = found.layers(samples=200)
    assert test.difference.low > test.chance[1]
    assert test.neighbours.low > test.neighbours_chance[1]
    assert found.reliability() > 0.99
