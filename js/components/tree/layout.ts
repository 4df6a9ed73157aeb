/** Where everything of a tree stands: a column per token in reading order, a row per layer, the first layer lowest. */

import { bandLabels } from "../../marks/scale.js";
import { measure } from "../../marks/text.js";
import type { Token } from "../../wire/types.js";
import { isRightToLeft, type Position } from "../maps/positions.js";
import type { TreeNode } from "./model.js";

export const LABEL = 11;
/** Least distance of columns whose labels stand side by side without touching. */
export const LEAST_PITCH = 13;
const MOST_PITCH = 92;
/** With so much room a long label is cut rather than all of them turned. */
const WIDE_PITCH = 64;
const MOST_LABEL = 96;
const LEAST_ROW = 13;
const MOST_ROW = 36;
const ROWS = 300;
/** Steps down from a node to one that hangs on it in the same layer. */
const LEAST_STEP = 14;
const MOST_STEP = 26;
const STEPS = 280;
/** Room above the topmost node: the root's own label. */
const ABOVE = 26;
const AXIS_TITLE = 18;
const RIGHT = 10;

export interface Label {
  readonly position: Position;
  readonly x: number;
  readonly y: number;
  /** Degrees; 0 is centred under its column. */
  readonly rotate: 0 | -45 | -90;
  /** Pixels that the text may take. */
  readonly room: number;
  readonly placed: boolean;
}

export interface Placed {
  readonly node: TreeNode;
  readonly x: number;
  readonly y: number;
}

export interface TreeLayout {
  readonly width: number;
  readonly height: number;
  /** Line of the layer axis. */
  readonly left: number;
  readonly right: number;
  /** Height of a layer; `layers` is the row on top. */
  readonly rowOf: (layer: number) => number;
  /** Where the last tokens of a layer stand: lower than its first ones where they hang on each other. */
  readonly endOf: (layer: number) => number;
  /** Layers that have a number beside them. */
  readonly ticks: readonly number[];
  /** Where the plot ends and labels begin. */
  readonly bottom: number;
  readonly labels: readonly Label[];
  readonly nodes: readonly Placed[];
  /** Positions that have no column, since the text is too long. */
  readonly hidden: number;
  readonly mirrored: boolean;
}

export interface LayoutInput {
  readonly positions: readonly Position[];
  readonly tokens: readonly Token[];
  readonly nodes: readonly TreeNode[];
  readonly layers: number;
  readonly width: number;
}

export function layoutTree({ positions, tokens, nodes, layers, width }: LayoutInput): TreeLayout {
  const left = AXIS_TITLE + measure(String(Math.max(0, layers - 1)), LABEL) + 12;
  const room = Math.max(80, width - left - RIGHT);
  const taken = new Set(nodes.map((node) => node.position));
  const all = room / Math.max(1, positions.length) >= LEAST_PITCH;
  const shown = all ? positions : positions.filter((one) => taken.has(one.index));
  const pitch = Math.min(MOST_PITCH, room / Math.max(1, shown.length));
  const mirrored = isRightToLeft(tokens);
  const right = left + pitch * Math.max(1, shown.length);
  const columns = new Map<number, number>();
  shown.forEach((one, at) => {
    columns.set(one.index, left + pitch * ((mirrored ? shown.length - 1 - at : at) + 0.5));
  });
  const { rows, chains, step, bottom } = placeRows(nodes, layers);
  const rowOf = (layer: number): number => (layer >= layers ? ABOVE : (rows[layer] ?? ABOVE));
  const { labels, height } = placeLabels(shown, columns, taken, nodes, pitch, bottom);
  return {
    width: right + RIGHT,
    height: bottom + height,
    left,
    right,
    rowOf,
    endOf: (layer) => rowOf(layer) + step * (chains[layer] ?? 0),
    ticks: bandLabels(layers, Math.max(LEAST_ROW, ROWS / Math.max(1, layers)), 13),
    bottom,
    labels,
    nodes: nodes.map((node) => ({
      node,
      x: columns.get(node.position) ?? left,
      y: rowOf(node.layer) + step * node.chain,
    })),
    hidden: positions.length - shown.length,
    mirrored,
  };
}

/** A row for every layer, with steps for nodes that hang on one of their own layer. */
function placeRows(
  nodes: readonly TreeNode[],
  layers: number,
): { rows: number[]; chains: number[]; step: number; bottom: number } {
  const chains = new Array<number>(layers).fill(0);
  for (const { layer, chain } of nodes) {
    if (layer < layers) chains[layer] = Math.max(chains[layer] ?? 0, chain);
  }
  const steps = chains.reduce((sum, chain) => sum + chain, 0);
  const step = Math.max(LEAST_STEP, Math.min(MOST_STEP, STEPS / Math.max(1, steps)));
  const row = Math.max(LEAST_ROW, Math.min(MOST_ROW, ROWS / Math.max(1, layers)));
  const rows = new Array<number>(layers).fill(0);
  let y = ABOVE + Math.max(row, 24);
  for (let layer = layers - 1; layer >= 0; layer -= 1) {
    rows[layer] = y;
    y += row + step * (chains[layer] ?? 0);
  }
  return { rows, chains, step, bottom: y - row + Math.max(row, 18) };
}

function placeLabels(
  shown: readonly Position[],
  columns: ReadonlyMap<number, number>,
  taken: ReadonlySet<number>,
  nodes: readonly TreeNode[],
  pitch: number,
  bottom: number,
): { labels: Label[]; height: number } {
  const widest = Math.max(0, ...shown.map((one) => measure(one.label, LABEL) + (one.continued ? 8 : 0)));
  const flat = widest <= pitch - 6 || pitch >= WIDE_PITCH;
  const rotate = flat ? 0 : pitch >= 16 ? -45 : -90;
  const slope = rotate === -45 ? Math.SQRT1_2 : 1;
  const kept = thinned(shown, columns, nodes);
  const labels: Label[] = [];
  let height = 0;
  for (const position of shown) {
    if (!kept.has(position.index)) continue;
    const x = columns.get(position.index) ?? 0;
    // A slanted label runs to the left of its column: not beyond the edge of the picture.
    const free = rotate === -45 ? (x - 4) / Math.SQRT1_2 : Number.POSITIVE_INFINITY;
    const room = flat ? pitch - 6 : Math.max(24, Math.min(MOST_LABEL, free));
    const long = Math.min(room, measure(position.label, LABEL) + (position.continued ? 8 : 0));
    height = Math.max(height, flat ? 18 : long * slope + 16);
    labels.push({ position, x, y: bottom + 6, rotate, room, placed: taken.has(position.index) });
  }
  return { labels, height: height + 4 };
}

/** The labels that fit side by side; where not all do, those that came into the tree first. */
function thinned(
  shown: readonly Position[],
  columns: ReadonlyMap<number, number>,
  nodes: readonly TreeNode[],
): Set<number> {
  const kept = new Set<number>();
  const places: number[] = [];
  const rank = new Map(nodes.map((node, at) => [node.position, at]));
  const inOrder = [...shown].sort(
    (a, b) => (rank.get(a.index) ?? 1e9) - (rank.get(b.index) ?? 1e9) || a.index - b.index,
  );
  for (const position of inOrder) {
    const x = columns.get(position.index) ?? 0;
    if (places.some((other) => Math.abs(other - x) < LEAST_PITCH - 1e-6)) continue;
    places.push(x);
    kept.add(position.index);
  }
  return kept;
}
