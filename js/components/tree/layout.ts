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
const MOST_LABEL = 96;
const LEAST_ROW = 13;
const MOST_ROW = 40;
const ROWS = 330;
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
  readonly row: number;
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
  const row = Math.max(LEAST_ROW, Math.min(MOST_ROW, ROWS / Math.max(1, layers)));
  const lift = Math.max(row, 24);
  const rowOf = (layer: number): number =>
    layer >= layers ? ABOVE : ABOVE + lift + row * (layers - 1 - layer);
  const bottom = rowOf(0) + Math.max(row, 18);
  const { labels, height } = placeLabels(shown, columns, taken, nodes, pitch, bottom);
  return {
    width: right + RIGHT,
    height: bottom + height,
    left,
    right,
    rowOf,
    row,
    ticks: bandLabels(layers, row, 13),
    bottom,
    labels,
    nodes: nodes.map((node) => ({
      node,
      x: columns.get(node.position) ?? left,
      y: rowOf(node.layer) + shift(node, nodes, row),
    })),
    hidden: positions.length - shown.length,
    mirrored,
  };
}

/** A node that hangs on one of its own layer stands a little lower, so that the edge between them can be seen. */
function shift(node: TreeNode, nodes: readonly TreeNode[], row: number): number {
  if (node.chain === 0) return 0;
  let deepest = 0;
  for (const other of nodes) if (other.layer === node.layer) deepest = Math.max(deepest, other.chain);
  return (row * 0.75 * node.chain) / (deepest + 1);
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
  const flat = widest <= pitch - 6;
  const rotate = flat ? 0 : pitch >= 18 ? -45 : -90;
  const slope = rotate === -45 ? Math.SQRT1_2 : 1;
  const kept = thinned(shown, columns, nodes);
  const labels: Label[] = [];
  let height = 0;
  for (const position of shown) {
    if (!kept.has(position.index)) continue;
    const x = columns.get(position.index) ?? 0;
    // A slanted label runs to the left of its column: not beyond the edge of the picture.
    const free = rotate === -45 ? (x - 4) / Math.SQRT1_2 : Number.POSITIVE_INFINITY;
    const room = flat ? pitch : Math.max(24, Math.min(MOST_LABEL, free));
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
