/** What a tree says: positions, nodes, sentences. */

import { counted, formatNumber, formatPercent } from "../../marks/format.js";
import type { Token, TreeDocument, TreeLevel } from "../../wire/types.js";
import { describe, type Position, positionsOf } from "../maps/positions.js";
import type { Candidates, Grown, TreeEdge } from "./grow.js";

/** What a reader can turn. */
export interface TreeState {
  readonly threshold: number;
  readonly penalty: number;
  readonly collapsed: boolean;
}

/** The level on show; null while there is none. */
export function levelOf(document: TreeDocument, collapsed: boolean): TreeLevel | null {
  return document.levels[collapsed ? document.levels.length - 1 : 0] ?? null;
}

/** Whether words differ from tokens and were sent. */
export function hasWords(document: TreeDocument): boolean {
  return document.levels.length > 1;
}

/** tau as it is used: edges below the floor were not sent. */
export function usableThreshold(candidates: Candidates, threshold: number): number {
  return Math.max(candidates.floor, Math.min(0.999, threshold));
}

/** The positions of a level, in reading order: tokens, or words with the texts of their tokens. */
export function treePositions(document: TreeDocument, level: TreeLevel): Position[] {
  if (level.count === document.tokens.length) return positionsOf(document.tokens, 1, false);
  const words: Token[] = [];
  document.tokens.forEach((token, at) => {
    const number = document.words[at] ?? at;
    const before = words[number];
    const text = (before?.text ?? "") + (token.continued && before !== undefined ? "" : token.text);
    words[number] = { text, special: token.special, continued: false, joined: false };
  });
  return positionsOf(
    Array.from(words, (word) => word ?? blank()),
    1,
    false,
  );
}

function blank(): Token {
  return { text: "", special: false, continued: false, joined: false };
}

/** A position in the tree, with the edge that brought it in. */
export interface TreeNode {
  readonly position: number;
  /** The layer in which it enters; the number of layers for what stands on top. */
  readonly layer: number;
  /** Null for the node on top. */
  readonly edge: TreeEdge | null;
  /** Index of the node above, -1 for the one on top. */
  readonly parent: number;
  readonly depth: number;
  /** How many nodes of the same layer lie between it and one that entered above. */
  readonly chain: number;
  readonly role: "root" | "top" | "node";
}

/** The nodes, every one after its parent: the root, the top node, then as they were taken. */
export function nodesOf(grown: Grown, root: number, layers: number): TreeNode[] {
  const nodes: TreeNode[] = [];
  const index = new Map<number, number>();
  const add = (node: TreeNode): void => {
    index.set(node.position, nodes.length);
    nodes.push(node);
  };
  const plain = { depth: 0, chain: 0, parent: -1, edge: null };
  if (root >= 0) add({ ...plain, position: root, layer: layers, role: "root" });
  if (grown.top >= 0) {
    const tie = grown.terminals[0] ?? null;
    const under = root >= 0;
    const layer = under ? layers - 1 : layers;
    add({
      ...plain,
      position: grown.top,
      layer,
      edge: tie,
      parent: under ? 0 : -1,
      depth: under ? 1 : 0,
      role: "top",
    });
  }
  for (const edge of grown.edges) {
    const parent = index.get(edge.query) ?? 0;
    const above = nodes[parent];
    if (above === undefined) continue;
    add({
      position: edge.key,
      layer: edge.layer,
      edge,
      parent,
      depth: above.depth + 1,
      chain: above.layer === edge.layer ? above.chain + 1 : 0,
      role: "node",
    });
  }
  return nodes;
}

/** Ties of the root that are drawn: beyond the top node's, those above tau in the last layer. */
export function strongTies(grown: Grown, threshold: number): TreeEdge[] {
  return grown.terminals.slice(1).filter((edge) => edge.weight > 0 && edge.share > threshold);
}

/** 0.05 as "0.05": as the field beside the slider writes it. */
function plain(value: number): string {
  return String(Number(value.toFixed(3)));
}

function withUnit(value: number, unit: string): string {
  const text = formatNumber(value, 3);
  return `${value > 0 ? "+" : ""}${text}${unit === "" ? "" : ` ${unit}`}`;
}

/** An edge in words: layer, from, to, weight. */
export function edgeSentence(document: TreeDocument, positions: readonly Position[], edge: TreeEdge): string {
  const [upper, lower] = [positions[edge.query], positions[edge.key]];
  if (upper === undefined || lower === undefined) return "";
  return (
    `Layer ${edge.layer}: ${describe(upper)} attends to ${describe(lower)}, weight ${withUnit(edge.weight, document.unit)}` +
    ` (${formatPercent(edge.share, 1)} of the layer’s largest)`
  );
}

/** A node in words. */
export function nodeSentence(
  document: TreeDocument,
  positions: readonly Position[],
  node: TreeNode,
  children: number,
): string {
  const position = positions[node.position];
  if (position === undefined) return "";
  const below = children === 0 ? "" : `, ${counted(children, "edge")} below`;
  if (node.edge === null) {
    const what = node.role === "root" ? "root, where the prediction is read" : "top node";
    return `${describe(position)}: ${what}${below}`;
  }
  const role = node.role === "top" ? "Top node. " : "";
  return `${role}${edgeSentence(document, positions, node.edge)}${below}`;
}

/** How large the tree is. */
export function sizeSentence(document: TreeDocument, grown: Grown, positions: readonly Position[]): string {
  const unit = document.unit === "" ? "" : ` ${document.unit}`;
  const what = positions.length === document.tokens.length ? "tokens" : "words";
  const nodes = (grown.top >= 0 ? 1 : 0) + grown.edges.length;
  return (
    `${counted(grown.edges.length, "edge")}, ${nodes} of ${positions.length} ${what} in the tree, ` +
    `objective ${formatNumber(grown.objective, 3)}${unit}`
  );
}

/** What a reader must know about this tree. */
export function treeNotes(
  document: TreeDocument,
  candidates: Candidates,
  grown: Grown,
  state: TreeState,
  positions: readonly Position[],
): string[] {
  const unit = document.unit === "" ? "" : ` ${document.unit}`;
  const tau = usableThreshold(candidates, state.threshold);
  const price = state.penalty * candidates.heaviest;
  const notes = [
    `τ = ${plain(tau)}, λ = ${plain(state.penalty)}: an edge weighs more than ${formatPercent(tau, 0)} of ` +
      `the largest entry of its layer${price > 0 ? ` and more than ${formatNumber(price, 3)}${unit}` : ""}.`,
    "Heuristic: layers are different quantities (each adds up to the change of the output by its own attention), and the " +
      "tree compares across them; links that oppose the target have no part in it.",
    "A line: the upper token attends to the lower one in the layer where the lower one stands; information flows upward." +
      (grown.edges.some((edge) =>
        grown.edges.some((above) => above.key === edge.query && above.layer === edge.layer),
      )
        ? " Tokens that hang on one of their own layer stand a step lower."
        : ""),
  ];
  if (candidates.root >= 0 && grown.terminals.length > 1) {
    const left = grown.terminals.length - 1 - strongTies(grown, tau).length;
    const root = positions[candidates.root]?.label ?? "";
    if (left > 0)
      notes.push(
        `${root} is tied to every node in the last layer; ${counted(left, "tie")} of at most ${formatPercent(tau, 0)} of that ` +
          `layer’s largest entry ${left === 1 ? "is" : "are"} not drawn.`,
      );
  }
  if (candidates.root < 0)
    notes.push("The prediction is read at no single position, so the tree has no root but its top node.");
  if (positions.length < 2) notes.push("The text has one position: there is nothing to draw an edge to.");
  if (candidates.floor > 0)
    notes.push(
      `Edges of at most ${formatPercent(candidates.floor, 1)} of their layer’s largest entry were left out; τ starts there.`,
    );
  return [...notes, ...document.notes];
}
