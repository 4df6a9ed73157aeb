import { type Buffer, decodeArray } from "../../wire/decode.js";
import type { HeadMap, HeadRef } from "../../wire/types.js";

/** A head's map with its values in their own unit. */
export interface MapValues {
  readonly head: HeadRef;
  readonly view: HeadMap["view"];
  readonly rows: number;
  readonly columns: number;
  /** Row-major `[rows, columns]`. */
  readonly values: Float32Array;
  /** Tokens per row and per column; above 1 the map was down-sampled. */
  readonly queryStep: number;
  readonly keyStep: number;
  /** Of norms: the end of the scale that the heads of a layer share. */
  readonly top?: number | undefined;
  /** Of attribution: what was attributed, and the unit. */
  readonly about?: string | undefined;
  readonly unit?: string | undefined;
}

/** Read a map from the wire; 0..255 of a quantised map becomes low..high again. */
export function decodeMap(map: HeadMap, buffer?: Buffer): MapValues {
  const array = decodeArray(map.values, buffer);
  const [rows, columns] = map.values.shape;
  if (rows === undefined || columns === undefined || rows * columns !== array.length) {
    throw new Error(
      `a head's map is [rows, columns]; got shape [${map.values.shape.join(", ")}] with ${array.length} values`,
    );
  }
  const values = new Float32Array(array.length);
  const scale = map.values.dtype === "uint8" ? (map.high - map.low) / 255 : 1;
  const base = map.values.dtype === "uint8" ? map.low : 0;
  for (let index = 0; index < values.length; index += 1) values[index] = base + (array[index] ?? 0) * scale;
  return {
    head: map.head,
    view: map.view,
    rows,
    columns,
    values,
    queryStep: map.query_step,
    keyStep: map.key_step,
    top: map.top,
    about: map.about,
    unit: map.unit,
  };
}

/** One value; NaN outside the map. */
export function valueAt(map: MapValues, row: number, column: number): number {
  if (row < 0 || column < 0 || row >= map.rows || column >= map.columns) return Number.NaN;
  return map.values[row * map.columns + column] ?? Number.NaN;
}

/** End of the scale of several maps: their largest absolute value, or that of their layers; NaN is left out. */
export function largest(maps: readonly MapValues[]): number {
  return maps.reduce((most, map) => Math.max(most, map.top ?? 0, largestOf(map)), 0);
}

const sizes = new WeakMap<MapValues, number>();

/** Asked for on every move of the pointer, so remembered. */
function largestOf(map: MapValues): number {
  let found = sizes.get(map);
  if (found === undefined) {
    found = 0;
    for (const value of map.values) {
      const size = Math.abs(value);
      if (size > found && size !== Number.POSITIVE_INFINITY) found = size;
    }
    sizes.set(map, found);
  }
  return found;
}

/** Sum of the columns of every row, or of the rows of every column. */
export function sums(map: MapValues, over: "columns" | "rows"): Float32Array {
  const result = new Float32Array(over === "columns" ? map.rows : map.columns);
  for (let row = 0; row < map.rows; row += 1) {
    for (let column = 0; column < map.columns; column += 1) {
      const target = over === "columns" ? row : column;
      const value = map.values[row * map.columns + column] ?? 0;
      if (!Number.isNaN(value)) result[target] = (result[target] ?? 0) + value;
    }
  }
  return result;
}

/** The map with `factor` x `factor` values averaged into one; NaN is left out of the mean. */
export function pooled(map: MapValues, factor: number): MapValues {
  if (factor <= 1) return map;
  const rows = Math.ceil(map.rows / factor);
  const columns = Math.ceil(map.columns / factor);
  const values = new Float32Array(rows * columns);
  const counts = new Uint16Array(rows * columns);
  for (let row = 0; row < map.rows; row += 1) {
    for (let column = 0; column < map.columns; column += 1) {
      const value = map.values[row * map.columns + column] ?? Number.NaN;
      if (Number.isNaN(value)) continue;
      const at = Math.floor(row / factor) * columns + Math.floor(column / factor);
      values[at] = (values[at] ?? 0) + value;
      counts[at] = (counts[at] ?? 0) + 1;
    }
  }
  for (let at = 0; at < values.length; at += 1) values[at] = (values[at] ?? 0) / (counts[at] ?? 0);
  return { ...map, rows, columns, values, queryStep: map.queryStep * factor, keyStep: map.keyStep * factor };
}

/** Longest side of a matrix in a static picture, in cells; longer ones are pooled. */
export const MOST_ROWS = 288;

/** By how much maps are pooled so that a static picture stays small. */
export function poolingOf(maps: readonly MapValues[]): number {
  const longest = maps.reduce((most, map) => Math.max(most, map.rows, map.columns), 0);
  return Math.max(1, Math.ceil(longest / MOST_ROWS));
}
