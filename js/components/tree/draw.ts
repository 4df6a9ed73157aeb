/** The attribution tree as a picture: tokens below, layers upward, edge width by weight. */

import { formatPercent, formatTick } from "../../marks/format.js";
import { type DrawOptions, frame, type Picture, provenanceNote } from "../../marks/picture.js";
import { niceTicks } from "../../marks/scale.js";
import { el, escapeText, line, num, rect, text } from "../../marks/svg.js";
import { fitText, measure, wrap } from "../../marks/text.js";
import { type Palette, palette } from "../../theme/palette.js";
import type { Buffer } from "../../wire/decode.js";
import type { TreeDocument } from "../../wire/types.js";
import { outputSentence } from "../attribution/model.js";
import { notesMark } from "../maps/labels.js";
import type { Position } from "../maps/positions.js";
import { type Candidates, candidatesOf, type Grown, grow, type TreeEdge } from "./grow.js";
import { LABEL, type Label, layoutTree, type Placed, type TreeLayout } from "./layout.js";
import {
  levelOf,
  nodesOf,
  sizeSentence,
  strongTies,
  type TreeNode,
  type TreeState,
  treeNotes,
  treePositions,
  usableThreshold,
} from "./model.js";

const EDGE = 8;
const LEAST = 420;
const THIN = 1;
const THICK = 6;

/** Everything about one tree in one width. */
export interface TreeView {
  readonly candidates: Candidates;
  readonly positions: readonly Position[];
  readonly threshold: number;
  readonly grown: Grown;
  readonly nodes: readonly TreeNode[];
  readonly layout: TreeLayout;
  readonly ties: readonly TreeEdge[];
}

/** Grow and lay out; `candidates` and `positions` are read once per document. */
export function viewOf(
  document: TreeDocument,
  candidates: Candidates,
  positions: readonly Position[],
  state: TreeState,
  width: number,
): TreeView {
  const threshold = usableThreshold(candidates, state.threshold);
  const grown = grow(candidates, threshold, state.penalty);
  const nodes = nodesOf(grown, candidates.root, candidates.layers);
  const layout = layoutTree({
    positions,
    tokens: document.tokens,
    nodes,
    layers: candidates.layers,
    width,
  });
  return { candidates, positions, threshold, grown, nodes, layout, ties: strongTies(grown, threshold) };
}

/** Width of an edge's line. */
export function thickness(weight: number, heaviest: number): number {
  return THIN + (THICK - THIN) * (heaviest > 0 ? Math.max(0, Math.min(1, weight / heaviest)) : 0);
}

/** The curve from a node down to another: straight down into the lower one. */
export function edgePath(from: Placed, to: Placed): string {
  const bend = (from.y + to.y) / 2;
  return `M${num(from.x)} ${num(from.y)}C${num(from.x)} ${num(bend)} ${num(to.x)} ${num(bend)} ${num(to.x)} ${num(to.y)}`;
}

/** Points along that curve, for what is under a pointer. */
export function edgePoints(from: Placed, to: Placed, count = 24): (readonly [number, number])[] {
  const bend = (from.y + to.y) / 2;
  return Array.from({ length: count + 1 }, (_, at) => {
    const t = at / count;
    const u = 1 - t;
    const [a, b, c, d] = [u * u * u, 3 * u * u * t, 3 * u * t * t, t * t * t];
    return [(a + b) * from.x + (c + d) * to.x, a * from.y + (b + c) * bend + d * to.y] as const;
  });
}

/** Axis, guides, edges, nodes, labels. */
export function treeBody(view: TreeView, colors: Palette): string {
  const { layout, candidates } = view;
  const { left, right, bottom } = layout;
  const parts: string[] = [axis(view, colors)];
  const placed = new Map(layout.nodes.map((one) => [one.node.position, one]));
  for (const { x, y } of layout.nodes)
    parts.push(
      line(x, y, x, bottom, { stroke: colors.line, "stroke-width": 0.75, "stroke-dasharray": "1 3" }),
    );
  for (const tie of view.ties) {
    const [from, to] = [placed.get(tie.query), placed.get(tie.key)];
    if (from !== undefined && to !== undefined)
      parts.push(
        el("path", {
          d: edgePath(from, to),
          fill: "none",
          stroke: colors.line,
          "stroke-width": 1,
          "stroke-dasharray": "4 4",
          "data-part": "tie",
        }),
      );
  }
  for (const to of layout.nodes) {
    const from = layout.nodes[to.node.parent];
    const { edge } = to.node;
    if (from === undefined || edge === null) continue;
    const tie = to.node.role === "top";
    const wide = tie ? 1.5 : thickness(edge.weight, candidates.heaviest);
    parts.push(
      el("path", {
        d: edgePath(from, to),
        fill: "none",
        stroke: colors.surface,
        "stroke-width": wide + 2,
      }),
      el("path", {
        d: edgePath(from, to),
        fill: "none",
        stroke: tie ? colors.muted : colors.series[0],
        "stroke-width": wide,
        "stroke-linecap": "round",
        "data-part": tie ? "trunk" : "edge",
        "data-edge": `${edge.layer} ${edge.query} ${edge.key}`,
      }),
    );
  }
  for (const one of layout.nodes) parts.push(nodeMark(one, view, colors));
  for (const label of layout.labels) parts.push(labelMark(label, colors));
  parts.push(line(left, bottom, right, bottom, { stroke: colors.line }));
  return parts.join("");
}

function axis({ layout, candidates }: TreeView, colors: Palette): string {
  const { left, right, bottom, rowOf, endOf, ticks } = layout;
  const top = rowOf(candidates.layers);
  const parts = [line(left, top, left, bottom, { stroke: colors.line })];
  for (let layer = 0; layer < candidates.layers; layer += 1) {
    const [y, end] = [rowOf(layer), endOf(layer)];
    parts.push(line(left, y, right, y, { stroke: colors.faint }));
    if (end > y) parts.push(rect(left - 1.5, y - 1, 3, end - y + 2, { fill: colors.line }));
  }
  for (const layer of ticks) {
    const y = rowOf(layer);
    parts.push(
      line(left - 4, y, left, y, { stroke: colors.line }),
      text(left - 7, y + LABEL * 0.35, String(layer), { size: LABEL, fill: colors.muted, anchor: "end" }),
    );
  }
  const title = fitText("layer in which a token enters", 12, bottom - top);
  parts.push(text(11, (top + bottom) / 2, title, { fill: colors.ink, anchor: "middle", rotate: -90 }));
  return parts.join("");
}

/** A node: a square for the root, a ringed dot for the top node, a dot. */
export function nodeMark({ node, x, y }: Placed, { positions, layout }: TreeView, colors: Palette): string {
  const halo = { stroke: colors.surface, "stroke-width": 1.5 };
  if (node.role === "node") return el("circle", { cx: x, cy: y, r: 4.5, fill: colors.ink, ...halo });
  const label = positions[node.position]?.label ?? "";
  if (node.role === "root") {
    const shown = fitText(label, 12, 160, true);
    const half = measure(shown, 12, true) / 2;
    const at = Math.max(
      layout.left + half - 4,
      Math.min(Math.max(layout.right, layout.left + 2 * half) - half, x),
    );
    return (
      rect(x - 5.5, y - 5.5, 11, 11, { fill: colors.ink, ...halo }) +
      text(at, y - 12, shown, { fill: colors.ink, anchor: "middle", bold: true })
    );
  }
  return (
    el("circle", { cx: x, cy: y, r: 7, fill: colors.surface, stroke: colors.ink, "stroke-width": 1.5 }) +
    el("circle", { cx: x, cy: y, r: 3.5, fill: colors.ink })
  );
}

function labelMark({ position, x, y, rotate, room, placed }: Label, colors: Palette): string {
  const size = LABEL;
  const mark = position.continued ? 8 : 0;
  const bold = placed;
  const shown = fitText(position.label, size, room - mark, bold);
  const style = {
    size,
    fill: placed ? colors.ink : colors.muted,
    anchor: rotate === 0 ? ("middle" as const) : ("end" as const),
    bold,
    italic: position.special,
  };
  const at = rotate === -90 ? x + size * 0.36 : rotate === 0 ? x : x + size * 0.3;
  const down = rotate === -90 ? y : y + size * 0.8;
  const parts = [text(at, down, shown, { ...style, ...(rotate === 0 ? {} : { rotate }) })];
  if (position.continued) {
    // A hook from above: this token goes on with the character of the one before.
    const start = at - measure(shown, size, bold) * (rotate === 0 ? 0.5 : 1) - mark;
    parts.push(
      el("path", {
        d: `M${num(start)} ${num(down - 9)}v5h5`,
        fill: "none",
        stroke: colors.line,
        "stroke-width": 1.2,
        transform: rotate === 0 ? undefined : `rotate(${rotate} ${num(at)} ${num(down)})`,
      }),
    );
  }
  if (shown !== position.label) parts.push(`<title>${escapeText(position.label)}</title>`);
  return el("g", { "data-part": "label" }, ...parts);
}

/** What widths and marks mean. */
export function treeKey(
  document: TreeDocument,
  view: TreeView,
  width: number,
  colors: Palette,
): { readonly svg: string; readonly width: number; readonly height: number } {
  const parts: string[] = [];
  let [x, y, right] = [0, 0, 0];
  const add = (swatch: (x: number, y: number) => string, wide: number, label: string): void => {
    const total = wide + 6 + measure(label, LABEL);
    if (x > 0 && x + total > width) {
      x = 0;
      y += 18;
    }
    parts.push(
      swatch(x, y + 9),
      text(x + wide + 6, y + 13, fitText(label, LABEL, Math.max(40, width - wide - 6)), {
        size: LABEL,
        fill: colors.muted,
      }),
    );
    x += total + 16;
    right = Math.max(right, Math.min(width, x - 16));
  };
  const { heaviest, root } = view.candidates;
  const unit = document.unit === "" ? "" : ` (${document.unit})`;
  const title = `attribution of an edge${unit}`;
  if (heaviest > 0) {
    parts.push(text(0, 12, fitText(title, 12, width), { fill: colors.ink }));
    y = 18;
    const { values, step } = niceTicks(0, heaviest, 3);
    const ticks = values.filter((value) => value > 0);
    for (const value of ticks.length > 0 ? ticks : [heaviest])
      add(
        (left, middle) =>
          line(left, middle, left + 26, middle, {
            stroke: colors.series[0],
            "stroke-width": thickness(value, heaviest),
          }),
        26,
        formatTick(value, step),
      );
    x = 0;
    y += 18;
  }
  if (root >= 0) {
    add(
      (left, middle) => rect(left + 2, middle - 5.5, 11, 11, { fill: colors.ink }),
      16,
      "root: where the prediction is read",
    );
  }
  if (view.grown.top >= 0)
    add(
      (left, middle) =>
        el("circle", {
          cx: left + 8,
          cy: middle,
          r: 6,
          fill: "none",
          stroke: colors.ink,
          "stroke-width": 1.5,
        }) + el("circle", { cx: left + 8, cy: middle, r: 3, fill: colors.ink }),
      16,
      "top node: takes most from others",
    );
  if (view.grown.terminals.length > 0)
    add(
      (left, middle) => line(left, middle, left + 26, middle, { stroke: colors.muted, "stroke-width": 1.5 }),
      26,
      "tie of the root (its width says nothing)",
    );
  if (view.ties.length > 0)
    add(
      (left, middle) =>
        line(left, middle, left + 26, middle, {
          stroke: colors.line,
          "stroke-width": 1,
          "stroke-dasharray": "4 4",
        }),
      26,
      `further ties above ${formatPercent(view.threshold, 0)} of the last layer’s largest`,
    );
  return { svg: parts.join(""), width: Math.max(right, Math.min(width, measure(title, 12))), height: y + 22 };
}

/** The picture of a tree document. */
export function draw(document: TreeDocument, options: DrawOptions, buffer?: Buffer): Picture {
  const colors = palette(options.theme);
  const width = Math.max(240, options.width) - 2 * EDGE;
  const parts: string[] = [
    text(0, 15, fitText(document.title, 15, width, true), { size: 15, fill: colors.ink, bold: true }),
  ];
  let y = 24;
  let right = measure(document.title, 15, true);
  const level = levelOf(document, document.collapsed);
  const room = (): number => Math.min(width, Math.max(right, LEAST));
  if (level === null) {
    parts.push(
      text(0, y + 13, "No result yet: the attribution is still being computed.", { fill: colors.muted }),
    );
    y += 24;
    right = Math.max(right, 320);
  } else {
    for (const part of wrap(outputSentence(document), 12, width, 4)) {
      parts.push(text(0, y + 13, part, { fill: colors.ink }));
      right = Math.max(right, measure(part, 12));
      y += 16;
    }
    const candidates = candidatesOf(level, document.layers, document.order, buffer);
    const positions = treePositions(document, level);
    const view = viewOf(document, candidates, positions, document, width);
    parts.push(`<g transform="translate(0 ${y})">${treeBody(view, colors)}</g>`);
    y += view.layout.height + 6;
    right = Math.max(right, view.layout.width);
    const key = treeKey(document, view, room(), colors);
    parts.push(`<g transform="translate(0 ${num(y)})">${key.svg}</g>`);
    y += key.height;
    right = Math.max(right, key.width);
    const sentences = [
      `${sizeSentence(document, view.grown, positions)}.`,
      ...viewNotes(document, view, document),
    ];
    for (const sentence of sentences) {
      const note = notesMark([sentence], 0, y, room(), colors);
      parts.push(note.svg);
      y += note.height;
    }
  }
  if (options.provenance === true) {
    const note = provenanceNote(document.provenance, 0, y, room(), colors);
    parts.push(note.svg);
    y += note.height;
  }
  return frame(
    {
      width: room() + 2 * EDGE,
      height: y + 2 * EDGE,
      label: level === null ? document.title : `${document.title}: ${outputSentence(document)}`,
      body: `<g transform="translate(${EDGE} ${EDGE})">${parts.join("")}</g>`,
    },
    options,
  );
}

/** The sentences under a tree. */
export function viewNotes(document: TreeDocument, view: TreeView, state: TreeState): string[] {
  const notes = treeNotes(document, view.candidates, view.grown, state, view.positions);
  const { hidden } = view.layout;
  if (hidden > 0)
    notes.push(
      `${hidden} ${hidden === 1 ? "position" : "positions"} outside the tree have no column, for want of room.`,
    );
  const unlabelled = view.layout.nodes.filter(
    ({ node }) => !view.layout.labels.some(({ position }) => position.index === node.position),
  ).length;
  if (unlabelled > 0)
    notes.push(`${unlabelled} nodes have no label, for want of room: a larger τ leaves fewer.`);
  return notes;
}
