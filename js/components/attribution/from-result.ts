/** An attribution file as an attribution document, with the maps of every head. */

import { toBase64 } from "../../wire/base64.js";
import { decodeShaped } from "../../wire/decode.js";
import type {
  ArrayRef,
  AttributionDocument,
  AttributionFile,
  AttributionKind,
  AttributionPanel,
  HeadMap,
  HeadRef,
  KindName,
} from "../../wire/types.js";
import { SCHEMA } from "../../wire/types.js";

const LABELS: Readonly<Record<KindName, string>> = {
  encoder: "Encoder self-attention",
  decoder: "Decoder self-attention",
  cross: "Cross-attention",
};

/** Cells of all maps together up to which they are kept as they are; larger ones in 256 steps. */
const MOST_CELLS = 1 << 21;

function float32(values: Float32Array, shape: readonly number[]): ArrayRef {
  return { dtype: "float32", shape, data: toBase64(new Uint8Array(values.buffer)) };
}

/** The maps of a kind, one after the other: of every head, and as index -1 of every layer. */
interface Maps {
  readonly heads: Float32Array;
  readonly rows: number;
  readonly columns: number;
}

function mapsOf(kind: AttributionKind, name: "maps" | "attention"): Maps | null {
  const ref = kind[name];
  if (ref === null) return null;
  const [rows, columns] = [kind.query.labels.length, kind.key.labels.length];
  const values = decodeShaped(ref, [kind.layers, kind.heads, rows, columns], `${kind.kind}, ${name}`);
  return { heads: new Float32Array(values), rows, columns };
}

/** One head's map, or the sum over a layer's heads; null where the layer has no such head. */
function sliceOf(maps: Maps, kind: AttributionKind, layer: number, index: number): Float32Array | null {
  const size = maps.rows * maps.columns;
  const at = (head: number): number => (layer * kind.heads + head) * size;
  if (index >= 0) {
    const own = maps.heads.slice(at(index), at(index) + size);
    return own.every(Number.isNaN) && size > 0 ? null : own;
  }
  const sum = new Float32Array(size);
  for (let head = 0; head < kind.heads; head += 1)
    for (let cell = 0; cell < size; cell += 1) {
      const value = maps.heads[at(head) + cell] ?? 0;
      if (!Number.isNaN(value)) sum[cell] = (sum[cell] ?? 0) + value;
    }
  return sum;
}

/** Values as 0..255 between low and high. */
function inSteps(values: Float32Array, low: number, high: number): Uint8Array {
  const scale = 255 / (high > low ? high - low : 1);
  const found = new Uint8Array(values.length);
  for (let at = 0; at < found.length; at += 1) found[at] = Math.round(((values[at] ?? low) - low) * scale);
  return found;
}

function headMap(
  head: HeadRef,
  view: HeadMap["view"],
  values: Float32Array,
  maps: Maps,
  exact: boolean,
): HeadMap {
  let low = Number.POSITIVE_INFINITY;
  let high = Number.NEGATIVE_INFINITY;
  for (const value of values) {
    if (value < low) low = value;
    if (value > high) high = value;
  }
  if (low > high) [low, high] = [0, 0];
  const shape = [maps.rows, maps.columns];
  const sent: ArrayRef = exact
    ? float32(values, shape)
    : { dtype: "uint8", shape, data: toBase64(inSteps(values, low, high)) };
  return { head, view, values: sent, low, high, query_step: 1, key_step: 1 };
}

function headMaps(kind: AttributionKind, exact: boolean): HeadMap[] {
  const found: HeadMap[] = [];
  for (const [name, view] of [
    ["maps", "attribution"],
    ["attention", "attention"],
  ] as const) {
    const maps = mapsOf(kind, name);
    if (maps === null) continue;
    for (let layer = 0; layer < kind.layers; layer += 1)
      for (let index = -1; index < kind.heads; index += 1) {
        const values = sliceOf(maps, kind, layer, index);
        if (values !== null) found.push(headMap([kind.kind, layer, index], view, values, maps, exact));
      }
  }
  return found;
}

/** Sums over heads and one side: `[layers, positions]`; NaN where maps were not kept. */
function sums(kind: AttributionKind, maps: Maps | null, side: "received" | "given"): ArrayRef {
  const width = side === "received" ? kind.key.labels.length : kind.query.labels.length;
  const found = new Float32Array(kind.layers * width).fill(maps === null ? Number.NaN : 0);
  if (maps !== null)
    for (let cell = 0; cell < maps.heads.length; cell += 1) {
      const value = maps.heads[cell] ?? Number.NaN;
      if (Number.isNaN(value)) continue;
      const row = Math.floor(cell / maps.columns);
      const layer = Math.floor(row / (maps.rows * kind.heads));
      const at = layer * width + (side === "received" ? cell % maps.columns : row % maps.rows);
      found[at] = (found[at] ?? 0) + value;
    }
  return float32(found, [kind.layers, width]);
}

function panelOf(kind: AttributionKind): AttributionPanel {
  const maps = mapsOf(kind, "maps");
  const totals = decodeShaped(kind.totals, [kind.layers, kind.heads], `${kind.kind}, totals`);
  return {
    kind: kind.kind,
    label: LABELS[kind.kind],
    layers: kind.layers,
    heads: kind.heads,
    query: kind.query.labels,
    key: kind.key.labels,
    totals: float32(new Float32Array(totals), [kind.layers, kind.heads]),
    received: sums(kind, maps, "received"),
    given: sums(kind, maps, "given"),
    change: kind.change,
    gap: kind.gap,
    steps: kind.steps,
  };
}

/** The head whose attributions add up to most, in either direction; as live views choose it. */
function carriesMost(file: AttributionFile): HeadRef[] {
  let best: HeadRef | null = null;
  let most = -1;
  for (const kind of file.kinds) {
    const totals = decodeShaped(kind.totals, [kind.layers, kind.heads], `${kind.kind}, totals`);
    totals.forEach((value, at) => {
      if (Math.abs(value) > most) {
        most = Math.abs(value);
        best = [kind.kind, Math.floor(at / kind.heads), at % kind.heads];
      }
    });
  }
  return best === null ? [] : [best];
}

/** A text as one line. */
function lineOf(file: AttributionFile): string {
  return file.segments.map((one) => (typeof one === "string" ? one : one.join(" "))).join(" → ");
}

export function attributionFromResult(file: AttributionFile, mostCells = MOST_CELLS): AttributionDocument {
  const cells = file.kinds.reduce(
    (sum, kind) =>
      sum + 2 * kind.layers * (kind.heads + 1) * kind.query.labels.length * kind.key.labels.length,
    0,
  );
  const model = file.provenance?.model ?? "";
  return {
    schema: SCHEMA,
    document: "attribution",
    title: model === "" ? "Attribution" : `Attribution of ${model}`,
    text: lineOf(file),
    target: file.target,
    output: file.output,
    unit: file.unit,
    value: file.value,
    rule: file.rule,
    tolerance: file.tolerance,
    panels: file.kinds.map(panelOf),
    maps: file.kinds.flatMap((kind) => headMaps(kind, cells <= mostCells)),
    selected: carriesMost(file),
    provenance: file.provenance,
  };
}
