/** Accuracy of every head in one row, as a grid to choose heads in. */

import { toBase64 } from "../../wire/base64.js";
import type { GridDocument, GridPanel, HeadRef, KindName } from "../../wire/types.js";
import { headNumber, type ProbeData } from "./model.js";

/** The grid of a row's heads; null where no heads were measured. */
export function gridOf(data: ProbeData, row: number, selected: readonly HeadRef[]): GridDocument | null {
  const found = data.document.rows[row];
  if (!found || !data.measuredIn(row)) return null;
  const kinds = [...new Set(data.heads.map(([kind]) => kind))];
  const panels = kinds.map((kind) => panelOf(data, row, kind, found.n));
  return {
    schema: data.document.schema,
    document: "grid",
    title: "",
    panels,
    selected: selected.filter((head) => headNumber(data, head) >= 0),
    pruned: [],
    provenance: null,
  };
}

function panelOf(data: ProbeData, row: number, kind: KindName, n: number): GridPanel {
  const own = data.heads.map((head, at) => ({ head, at })).filter(({ head }) => head[0] === kind);
  const layers = 1 + Math.max(...own.map(({ head }) => head[1]));
  const heads = 1 + Math.max(...own.map(({ head }) => head[2]));
  const values = new Float32Array(layers * heads).fill(Number.NaN);
  for (const { head, at } of own) values[head[1] * heads + head[2]] = 100 * data.value(row, at);
  const bytes = new Uint8Array(values.buffer);
  return {
    kind,
    label: data.kinds ? kind : "",
    layers,
    heads,
    kv_heads: heads,
    scores: [
      {
        name: data.document.measure,
        unit: "%",
        n,
        signed: false,
        values: { dtype: "float32", shape: [layers, heads], data: toBase64(bytes) },
        stderr: null,
      },
    ],
  };
}

const PITCH = 24;
const TALLEST = 400;
/** Pixels beside the cells, and what a legend needs. */
const SIDE = 46;
const LEAST = 190;

/** How wide the grid of the heads should be, within `most`. */
export function gridWidth(data: ProbeData, most: number): number {
  const layers = 1 + Math.max(0, ...data.heads.map(([, layer]) => layer));
  const heads = 1 + Math.max(0, ...data.heads.map(([, , index]) => index));
  const pitch = Math.min(PITCH, Math.max(6, TALLEST / layers));
  return Math.round(Math.min(most, 400, Math.max(LEAST, SIDE + heads * pitch)));
}
