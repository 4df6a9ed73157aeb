"""One document of every kind, with tokens that would like to be markup."""

from headwidgets.widgets.grid import grid_document
from headwidgets.wire.documents import SCHEMA
from tests.widgets.fakes import HOSTILE, FakeSource
from tests.wire import make_fixtures


def all_documents():
    source = FakeSource((2, 3))
    text = source.text(f"a {HOSTILE} <b>&amp;</b> \" ' ]]> <!-- film")
    attention = text.attention(False)
    attribution = text.attribution(False, lambda done, total: None, lambda: False)
    attribution["target"] = HOSTILE
    scores = source.importance("attribution", ["a"], [0], lambda done, total: None, lambda: False)
    grid = {**grid_document(scores, title=HOSTILE), "selected": [["encoder", 1, 1]], "pruned": [["encoder", 0, 0]]}
    evaluator = source.evaluator(["a"] * 10, [0] * 10, "accuracy")
    order = [["encoder", layer, index] for layer in range(2) for index in range(3)]
    pruning = {
        "schema": SCHEMA,
        "document": "pruning",
        "title": HOSTILE,
        "metric": HOSTILE,
        "method": "attribution",
        "methods": ["attribution", HOSTILE],
        "ablation": "zero",
        "ablations": ["zero"],
        "order": order,
        "count": 2,
        "baseline": evaluator.estimate((), "zero", 10),
        "points": [{"count": n, "estimate": evaluator.estimate(order[:n], "zero", 10)} for n in (0, 2, 6)],
        "status": HOSTILE,
        "grid": grid,
        "provenance": {"model": HOSTILE, "version": "0.1.0", "settings": {HOSTILE: HOSTILE}},
    }
    parts = [pruning, {**attention, "title": HOSTILE, "mode": "matrix"}, attribution]
    dashboard = {"schema": SCHEMA, "document": "dashboard", "title": HOSTILE, "parts": parts}
    return {
        "grid": grid,
        "attention": {**attention, "title": HOSTILE},
        "attribution": attribution,
        "pruning": pruning,
        "tree": {**make_fixtures.tree(), "text": HOSTILE, "target": HOSTILE, "unit": HOSTILE, "notes": [HOSTILE]},
        "dashboard": dashboard,
    }
