"""One document of every kind, with tokens that would like to be markup."""

import numpy as np

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
    provenance = pruning["provenance"]
    ends = {"value": 0.5, "low": 0.25, "high": 0.75}
    correlation = {"pearson": ends, "spearman": ends, "within_layers": None, "ceiling": ends, "heads": 6}
    scatter = {
        "schema": SCHEMA,
        "document": "scatter",
        "title": HOSTILE,
        **dict.fromkeys(("x_name", "y_name", "x_unit", "y_unit"), HOSTILE),
        "heads": np.array([[0, layer, index] for layer in range(2) for index in range(3)], dtype=np.int32),
        "x": np.arange(6, dtype=np.float32),
        "y": np.array([0, 2, 1, 4, 3, 5], dtype=np.float32),
        "x_error": np.array([0.1, np.nan, 0.2, 0.1, 0, 0.1], dtype=np.float32),
        "y_error": None,
        "missing": 1,
        "correlation": {**correlation, "resampled": HOSTILE},
        "selected": [["encoder", 1, 1]],
        "provenance": provenance,
    }
    curves = {
        "schema": SCHEMA,
        "document": "curves",
        "title": HOSTILE,
        "metric": HOSTILE,
        "x_label": HOSTILE,
        "total": 6,
        "baseline": pruning["baseline"],
        "curves": [
            {"name": HOSTILE * n, "points": pruning["points"], "control": n == 1, "area": ends, "draws": n}
            for n in (1, 2, 3)
        ],
        "note": HOSTILE,
        "provenance": provenance,
    }
    headmap = {
        "schema": SCHEMA,
        "document": "headmap",
        "title": HOSTILE,
        "heads": scatter["heads"],
        "x": scatter["x"],
        "y": scatter["y"],
        "unit": HOSTILE,
        "stress": 0.2,
        "fit": 0.8,
        "groups": [
            {
                "name": HOSTILE,
                "labels": [HOSTILE],
                "ordered": False,
                "group": np.array([0, 0, 0, -1, 0, 0], dtype=np.int32),
            }
        ],
        "shown": 0,
        "selected": [["encoder", 1, 1]],
        "note": HOSTILE,
        "provenance": provenance,
    }
    probe = {
        "schema": SCHEMA,
        "document": "probe",
        "title": HOSTILE,
        "measure": HOSTILE,
        "heads": np.array([[0, 0, 0], [0, 1, 1]], dtype=np.int32),
        "rows": [
            {
                "relation": HOSTILE,
                "direction": HOSTILE,
                "n": 30,
                "best": ["encoder", 1, 1],
                "accuracy": {"value": 0.6, "low": 0.5, "high": 0.7},
                "baseline": 0.4,
                "offset": -1,
                "strongest": HOSTILE,
                "strongest_accuracy": 0.5,
                "verdict": HOSTILE,
                "verdict_good": True,
                "arcs": [0],
            }
        ],
        "table": np.array([[0.2, 0.6]], dtype=np.float32),
        "sentences": [{"words": [HOSTILE, "is", HOSTILE], "glued": [False] * 3, "name": HOSTILE}],
        "arcs": [{"sentence": 0, "source": [0], "target": [2]}],
        "predicted": np.array([[1, 2]], dtype=np.int32),
        "trees": [{"sentence": 0, "gold": [1, -1, 1], "predicted": [1, -1, 0], "relations": [HOSTILE] * 3}],
        "scores": [{"name": HOSTILE, "accuracy": {"value": 0.6, "low": 0.5, "high": 0.7}, "control": False}],
        "shown": 0,
        "head": None,
        "selected": [],
        "note": HOSTILE,
        "provenance": provenance,
    }
    parts = [pruning, {**attention, "title": HOSTILE, "mode": "matrix"}, attribution]
    dashboard = {"schema": SCHEMA, "document": "dashboard", "title": HOSTILE, "parts": parts}
    return {
        "grid": grid,
        "attention": {**attention, "title": HOSTILE},
        "attribution": attribution,
        "pruning": pruning,
        "tree": {**make_fixtures.tree(), "text": HOSTILE, "target": HOSTILE, "unit": HOSTILE, "notes": [HOSTILE]},
        "scatter": scatter,
        "curves": curves,
        "headmap": headmap,
        "probe": probe,
        "dashboard": dashboard,
    }
