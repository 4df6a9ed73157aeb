/** A file of links as a probe document: the same rows and examples, without what only Python needs. */

import type { IntervalData, LinksFile, LinksRow, ProbeDocument, ProbeRow } from "../../wire/types.js";

/** Numbers that were not measured are null in a file, and negative in a document. */
function known(value: number | null | undefined): number {
  return value ?? -1;
}

function interval([value, low, high]: readonly (number | null)[]): IntervalData {
  return { value: known(value), low: known(low), high: known(high) };
}

function rowOf(row: LinksRow): ProbeRow {
  return {
    relation: row.relation,
    direction: row.label,
    n: row.n,
    best: row.best,
    accuracy: interval(row.accuracy),
    baseline: known(row.baseline),
    offset: row.offset,
    strongest: row.strongest,
    strongest_accuracy: known(row.strongest_accuracy),
    verdict: row.verdict,
    verdict_good: row.better,
    arcs: row.arcs,
  };
}

export function probeFromLinks(file: LinksFile): ProbeDocument {
  return {
    schema: file.schema,
    document: "probe",
    title: file.name,
    measure: "accuracy",
    heads: file.heads,
    rows: file.rows.map(rowOf),
    table: file.accuracy,
    sentences: file.sentences,
    arcs: file.arcs,
    predicted: file.predicted,
    trees: [],
    scores: [],
    shown: file.rows.length > 0 ? 0 : -1,
    head: null,
    selected: [],
    note: file.notes.join(" "),
    provenance: file.provenance,
  };
}
