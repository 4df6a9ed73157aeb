/**
 * The attribution tree, grown from a level of its document: `headwidgets/wire/growth.py`, number by number, so that the
 * slider here and the property in Python speak of the same edges (shared fixtures hold the two together).
 */

import { type Buffer, decodeShaped } from "../../wire/decode.js";
import type { TreeDocument, TreeLevel } from "../../wire/types.js";

/** The query attends to the key in a layer: information of the key flows to the query. */
export interface TreeEdge {
  readonly layer: number;
  readonly query: number;
  readonly key: number;
  readonly weight: number;
  /** The weight, divided by the largest entry of the layer. */
  readonly share: number;
}

/** The arrays of a level, with the candidates in the order in which they are tried. */
export interface Candidates {
  readonly count: number;
  readonly root: number;
  readonly layers: number;
  readonly floor: number;
  readonly heaviest: number;
  readonly top: number;
  readonly edges: readonly TreeEdge[];
  readonly peak: Float32Array;
  readonly terminal: Float32Array;
}

export interface Grown {
  /** The top node; -1 when there is no position but the root. */
  readonly top: number;
  /** In the order in which they were taken: a query is always there before its edges. */
  readonly edges: readonly TreeEdge[];
  /** From the root to every node, in the last layer; the first is the top node's. */
  readonly terminals: readonly TreeEdge[];
  /** Sum of the weights of the edges, less the penalty for each. */
  readonly objective: number;
}

/** Read a level once; growing from it is then one pass. */
export function candidatesOf(
  level: TreeLevel,
  layers: number,
  order: TreeDocument["order"],
  buffer?: Buffer,
): Candidates {
  const { count, root } = level;
  const number = level.edges.shape[0] ?? 0;
  const flat = decodeShaped(level.edges, [number], "edges of a tree", buffer);
  const weights = decodeShaped(level.weight, [number], "weights of a tree", buffer);
  const peak = Float32Array.from(decodeShaped(level.peak, [layers], "peaks of a tree", buffer));
  const gathered = decodeShaped(level.gathered, [count], "gathered of a tree", buffer);
  const terminal = Float32Array.from(decodeShaped(level.terminal, [count], "terminals of a tree", buffer));
  const size = Math.max(1, count);
  const entries: { readonly at: number; readonly edge: TreeEdge }[] = [];
  for (let place = 0; place < number; place += 1) {
    const at = flat[place] ?? 0;
    const weight = weights[place] ?? 0;
    const layer = Math.floor(at / (size * size));
    const query = Math.floor(at / size) % size;
    const key = at % size;
    if (!(weight > 0) || query === key || layer >= layers) continue;
    if (root >= 0 && (query === root || key === root || layer >= layers - 1)) continue;
    entries.push({ at, edge: { layer, query, key, weight, share: weight / (peak[layer] ?? Number.NaN) } });
  }
  entries.sort(
    (a, b) =>
      b.edge.layer - a.edge.layer ||
      (order === "published" ? 0 : b.edge.weight - a.edge.weight) ||
      a.at - b.at,
  );
  let top = -1;
  for (let position = 0; position < count; position += 1) {
    if (position === root) continue;
    if (top < 0 || (gathered[position] ?? 0) > (gathered[top] ?? 0)) top = position;
  }
  const { floor, heaviest } = level;
  return {
    count,
    root,
    layers,
    floor,
    heaviest,
    top,
    edges: entries.map(({ edge }) => edge),
    peak,
    terminal,
  };
}

/** Grow the tree with tau and lambda. */
export function grow(from: Candidates, threshold: number, penalty: number): Grown {
  const price = penalty * from.heaviest;
  const placed = new Array<boolean>(from.count).fill(false);
  if (from.top >= 0) placed[from.top] = true;
  const edges: TreeEdge[] = [];
  let objective = 0;
  for (const edge of from.edges) {
    if (!placed[edge.query] || placed[edge.key]) continue;
    if (!(edge.weight > threshold * (from.peak[edge.layer] ?? Number.NaN)) || !(edge.weight > price))
      continue;
    placed[edge.key] = true;
    edges.push(edge);
    objective += edge.weight - price;
  }
  return { top: from.top, edges, terminals: terminalsOf(from, edges), objective };
}

function terminalsOf(from: Candidates, edges: readonly TreeEdge[]): TreeEdge[] {
  if (from.root < 0 || from.top < 0) return [];
  const layer = from.layers - 1;
  const largest = from.peak[layer] ?? 0;
  return [from.top, ...edges.map((edge) => edge.key)].map((key) => {
    const weight = from.terminal[key] ?? 0;
    return { layer, query: from.root, key, weight, share: largest > 0 ? weight / largest : 0 };
  });
}
