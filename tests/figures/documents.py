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
        "dashboard": dashboard,
    }
