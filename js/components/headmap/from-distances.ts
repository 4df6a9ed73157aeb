/** A file of distances as a map of its first kind: classical scaling (Torgerson 1952), computed here. */

import { toBase64 } from "../../wire/base64.js";
import { decodeArray, decodeShaped } from "../../wire/decode.js";
import type { ArrayRef, DistancesFile, HeadMapDocument } from "../../wire/types.js";
import { SCHEMA } from "../../wire/types.js";
import { KINDS } from "../grid/from-scores.js";

const ROUNDS = 120;

function packed(values: Float32Array | Int32Array, shape: readonly number[]): ArrayRef {
  const bytes = new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
  return {
    dtype: values instanceof Int32Array ? "int32" : "float32",
    shape: [...shape],
    data: toBase64(bytes),
  };
}

/** Pairs (0, 1), (0, 2), ..., (1, 2), ... as a square, each number put through `of`. */
function squareOf(pairs: ArrayLike<number>, n: number, of: (value: number) => number): Float64Array {
  const out = new Float64Array(n * n);
  let at = 0;
  for (let i = 0; i < n; i++)
    for (let j = i + 1; j < n; j++) {
      const value = of(pairs[at++] ?? 0);
      out[i * n + j] = value;
      out[j * n + i] = value;
    }
  return out;
}

/** Rows and columns of squared distances centred: inner products of points around their middle. */
function centre(squares: Float64Array, n: number): void {
  const means = new Float64Array(n);
  for (let i = 0; i < n; i++)
    for (let j = 0; j < n; j++) means[i] = (means[i] ?? 0) + (squares[i * n + j] ?? 0) / n;
  const all = means.reduce((sum, mean) => sum + mean, 0) / n;
  for (let i = 0; i < n; i++)
    for (let j = 0; j < n; j++)
      squares[i * n + j] = -((squares[i * n + j] ?? 0) - (means[i] ?? 0) - (means[j] ?? 0) + all) / 2;
}

/** The leading direction of a symmetric matrix times the root of its weight, by power iteration; taken out of it. */
function direction(matrix: Float64Array, n: number): Float64Array {
  let vector = Float64Array.from({ length: n }, (_, i) => Math.sin(1 + 3 * i));
  let weight = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const next = new Float64Array(n);
    for (let i = 0; i < n; i++) {
      let sum = 0;
      for (let j = 0; j < n; j++) sum += (matrix[i * n + j] ?? 0) * (vector[j] ?? 0);
      next[i] = sum;
    }
    weight = Math.sqrt(next.reduce((sum, value) => sum + value * value, 0));
    if (!(weight > 0)) return new Float64Array(n);
    vector = next.map((value) => value / weight);
  }
  for (let i = 0; i < n; i++)
    for (let j = 0; j < n; j++)
      matrix[i * n + j] = (matrix[i * n + j] ?? 0) - weight * (vector[i] ?? 0) * (vector[j] ?? 0);
  return vector.map((value) => value * Math.sqrt(weight));
}

/** Misfit of a layout as in `headwidgets.patterns.Layout`: stress-1 and the squared correlation. */
export function misfit(
  pairs: ArrayLike<number>,
  x: ArrayLike<number>,
  y: ArrayLike<number>,
): { readonly stress: number; readonly fit: number } {
  const n = x.length;
  let [at, off, squares, sd, sw, sdd, sww, sdw] = [0, 0, 0, 0, 0, 0, 0, 0];
  for (let i = 0; i < n; i++)
    for (let j = i + 1; j < n; j++) {
      const wanted = pairs[at++] ?? 0;
      const drawn = Math.hypot((x[i] ?? 0) - (x[j] ?? 0), (y[i] ?? 0) - (y[j] ?? 0));
      off += (drawn - wanted) ** 2;
      squares += drawn * drawn;
      sd += drawn;
      sw += wanted;
      sdd += drawn * drawn;
      sww += wanted * wanted;
      sdw += drawn * wanted;
    }
  const crossed = sdw - (sd * sw) / at;
  const spread = (sdd - (sd * sd) / at) * (sww - (sw * sw) / at);
  return {
    stress: squares > 0 ? Math.sqrt(off / squares) : 0,
    fit: spread > 0 ? (crossed * crossed) / spread : 0,
  };
}

export function headMapFromDistances(file: DistancesFile): HeadMapDocument {
  const [first, ...more] = file.kinds;
  if (!first) throw new Error("distances: the file holds no kind of attention");
  const n = first.heads.shape[0] ?? 0;
  const places = decodeShaped(first.heads, [n, 2], "heads");
  const pairs = decodeArray(first.pairs);
  if (pairs.length !== (n * (n - 1)) / 2) throw new Error(`distances: ${pairs.length} pairs of ${n} heads`);
  const matrix = squareOf(pairs, n, (value) => value * value);
  centre(matrix, n);
  const x = direction(matrix, n);
  const y = direction(matrix, n);
  const kind = KINDS.indexOf(first.kind);
  const heads = Int32Array.from({ length: 3 * n }, (_, i) =>
    i % 3 === 0 ? kind : (places[2 * Math.floor(i / 3) + (i % 3) - 1] ?? 0),
  );
  const layers = Int32Array.from({ length: n }, (_, i) => places[2 * i] ?? 0);
  const labels = Array.from({ length: layers.reduce((a, b) => Math.max(a, b), 0) + 1 }, (_, i) => String(i));
  const model = file.provenance?.model ?? "";
  const rest =
    more.length > 0 ? `; the file also holds ${more.map((one) => one.kind).join(" and ")} attention` : "";
  const without = file.keys === "content" ? ", without special tokens and the first key" : "";
  return {
    schema: SCHEMA,
    document: "headmap",
    title: model === "" ? "Heads by how they attend" : `Heads of ${model} by how they attend`,
    heads: packed(heads, [n, 3]),
    x: packed(Float32Array.from(x), [n]),
    y: packed(Float32Array.from(y), [n]),
    unit: "nats per token",
    ...misfit(pairs, x, y),
    groups: [{ name: "layer", labels, ordered: true, group: packed(layers, [n]) }],
    shown: 0,
    selected: [],
    note: `${first.kind} attention, Jensen-Shannon divergence over ${first.n} texts${without}; classical scaling${rest}`,
    provenance: file.provenance,
  };
}
