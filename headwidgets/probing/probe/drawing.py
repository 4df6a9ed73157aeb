"""An evaluation as the browser gets it."""

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from headwidgets.text.treebank import Sentence
from headwidgets.wire.documents import SCHEMA, ProbeRow, ProbeSentence, ProbeTree

if TYPE_CHECKING:
    from headwidgets.probing.probe.evaluation import ProbeEvaluation, ProbeRelation


def document(found: "ProbeEvaluation", title: str) -> dict[str, Any]:
    """A `ProbeDocument`: a row per relation, scores of probe and controls, gold and predicted trees; no heads."""
    return {
        "schema": SCHEMA,
        "document": "probe",
        "title": title,
        "measure": "UAS",
        "heads": np.zeros((0, 3), dtype=np.int32),
        "rows": [_row(row) for row in found.relations],
        "table": np.zeros((len(found.relations), 0), dtype=np.float32),
        "sentences": [_sentence(own.sentence) for own in found.trees],
        "arcs": [],
        "predicted": np.zeros((0, 0), dtype=np.int32),
        "trees": [
            ProbeTree(
                sentence=number,
                gold=[-1 if word.head is None else word.head for word in own.sentence.words],
                predicted=list(own.predicted),
                relations=[word.relation for word in own.sentence.words],
            )
            for number, own in enumerate(found.trees)
        ],
        "scores": [
            {"name": result.name, "accuracy": result.without_punct.data(), "control": result.control}
            for result in found.results
        ],
        "shown": -1,
        "head": None,
        "selected": [],
        "note": " ".join(found.notes),
        "provenance": found.provenance,
    }


def _row(row: "ProbeRelation") -> ProbeRow:
    known = not math.isnan(row.strongest_accuracy)
    return {
        "relation": row.relation,
        "direction": "dependent to head",
        "n": row.n,
        "best": None,
        "accuracy": row.accuracy.data(),
        "baseline": row.baseline,
        "offset": row.offset,
        "strongest": row.strongest,
        "strongest_accuracy": row.strongest_accuracy if known else -1,
        "verdict": row.verdict,
        "verdict_good": row.better,
        "arcs": [],
    }


def _sentence(sentence: Sentence) -> ProbeSentence:
    ends = [-1] + [word.span[1] for word in sentence.words]
    return {
        "words": [word.form for word in sentence.words],
        "glued": [i > 0 and word.span[0] <= ends[i] for i, word in enumerate(sentence.words)],
        "name": sentence.name,
    }
