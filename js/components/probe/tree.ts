/**
 * Annotated against predicted heads of every word: arcs above and below the words where the sentence fits in a line,
 * else left and right of a column of words.
 */

import { el, rect, line as stroke, text } from "../../marks/svg.js";
import { fitText, measure } from "../../marks/text.js";
import type { Palette } from "../../theme/palette.js";
import type { ProbeSentence, ProbeTree } from "../../wire/types.js";
import { type Arc, bracket, depths, type Place, tip } from "./arcs.js";
import { answerStyle, type Drawn, goldStyle } from "./example.js";
import { mirrored, WORD_SIZE, wholeLine } from "./sentence.js";

export interface TreeDrawn extends Drawn {
  /** Per word the box that a pointer hits: left, top, width, height. */
  readonly boxes: readonly (readonly [number, number, number, number])[];
  /** Words stand in a column. */
  readonly column: boolean;
}

const SMALL = 10;
const ROW = 19;
const FIRST = 13;
const STEP = 10;
/** Pixels that arcs of one side take at most. */
const DEEPEST = 150;
const ROOT = 9;
const NOBODY: ReadonlySet<number> = new Set();

/** One side's arcs: from the head to its word, which is -1 for a root. */
interface Side {
  readonly heads: readonly number[];
  readonly depth: readonly number[];
  /** Pixels from the words to the outermost arc. */
  readonly size: number;
}

/** Along the line: the middle of word `at`, and how far beside it arcs leave. */
type Along = (at: number) => number;

function sideOf(heads: readonly number[], along: Along): Side {
  const arcs = heads.map((head, at): Arc => (head < 0 ? { from: 0, to: 0 } : ends(head, at, along)));
  const levels = depths(arcs);
  const deepest = Math.max(1, ...levels.filter((_, at) => (heads[at] ?? -1) >= 0));
  const step = Math.min(STEP, (DEEPEST - FIRST) / deepest);
  const depth = levels.map((level) => FIRST + step * (level - 1));
  const rooted = heads.some((head) => head < 0);
  return { heads, depth, size: FIRST + step * (deepest - 1) + (rooted ? ROOT : 2) + 3 };
}

/** An arc arrives at the middle of its word and leaves its head a little beside it. */
function ends(head: number, at: number, along: Along): Arc {
  const [from, to] = [along(head), along(at)];
  if (head === at) return { from: to + 8, to }; // a loop beside it
  return { from: from + Math.sign(to - from) * 4, to };
}

function drawSide(
  side: Side,
  along: Along,
  place: Place,
  styles: readonly ReturnType<typeof goldStyle>[],
  focus: ReadonlySet<number>,
): string {
  const drawn = side.heads.map((head, at) => {
    const style = styles[at] ?? styles[0];
    if (!style) return "";
    const { from, to } = head < 0 ? { from: along(at), to: along(at) } : ends(head, at, along);
    const d =
      head < 0 ? rootPath(to, side.size - 3, place) : bracket(from, to, side.depth[at] ?? FIRST, place);
    const opacity = focus.size > 0 && !focus.has(at) ? 0.18 : undefined;
    return el("g", { opacity }, el("path", { d, fill: "none", ...style }), tip(to, place, style.stroke));
  });
  return drawn.join("");
}

function rootPath(along: number, depth: number, place: Place): string {
  const [top, bottom] = [place(along, depth), place(along, 0)];
  const [left, right] = [place(along - 4, depth), place(along + 4, depth)];
  const path = (a: readonly [number, number], b: readonly [number, number]): string =>
    `M${a[0].toFixed(1)} ${a[1].toFixed(1)}L${b[0].toFixed(1)} ${b[1].toFixed(1)}`;
  return path(top, bottom) + path(left, right);
}

/** The picture of a tree in `width` pixels; `focus` are words whose arcs stand out. */
export function drawTree(
  sentence: ProbeSentence,
  tree: ProbeTree,
  width: number,
  colors: Palette,
  focus: ReadonlySet<number> = NOBODY,
): TreeDrawn {
  const label = (at: number): string => tree.relations[at] ?? "";
  const line = wholeLine(sentence, (at) => Math.max(18, Math.min(90, measure(label(at), SMALL) + 2)));
  const gold = tree.gold.map(() => goldStyle(colors));
  const answers = tree.predicted.map((head, at) => answerStyle(head === tree.gold[at], colors));
  if (line.width + 8 > width) return inColumn(sentence, tree, width, colors, gold, answers, focus);
  const by = new Map(line.slots.map((slot) => [slot.word, slot]));
  const along: Along = (at) => {
    const slot = by.get(at);
    return slot ? slot.x + slot.width / 2 : 0;
  };
  const above = sideOf(tree.gold, along);
  const below = sideOf(tree.predicted, along);
  const top = above.size;
  const bottom = top + 31;
  const parts = [
    drawSide(above, along, (x, depth) => [x, top - depth], gold, focus),
    drawSide(below, along, (x, depth) => [x, bottom + depth], answers, focus),
  ];
  for (const slot of line.slots) {
    const middle = slot.x + slot.width / 2;
    const relation = fitText(label(slot.word), SMALL, slot.width + 4);
    const strong = focus.has(slot.word);
    parts.push(
      text(middle, top + 14, slot.label, { size: WORD_SIZE, fill: colors.ink, anchor: "middle" }),
      text(middle, top + 26, relation, { size: SMALL, fill: colors.muted, anchor: "middle" }),
    );
    if (strong) parts.push(ring(slot.x - 2, top + 1, slot.width + 4, 28, colors));
  }
  const boxes = sentence.words.map((_, at) => {
    const slot = by.get(at);
    return [(slot?.x ?? 0) + 1, top, (slot?.width ?? 0) + 6, 30] as const;
  });
  const svg = el("g", { transform: "translate(4 0)" }, parts.join(""));
  return {
    svg,
    width: line.width + 8,
    height: bottom + below.size,
    boxes,
    column: false,
  };
}

function ring(x: number, y: number, width: number, height: number, colors: Palette): string {
  return rect(x, y, width, height, { fill: "none", stroke: colors.selected, "stroke-width": 1.5, rx: 3 });
}

function inColumn(
  sentence: ProbeSentence,
  tree: ProbeTree,
  width: number,
  colors: Palette,
  gold: readonly ReturnType<typeof goldStyle>[],
  answers: readonly ReturnType<typeof goldStyle>[],
  focus: ReadonlySet<number>,
): TreeDrawn {
  const along: Along = (at) => ROW * at + ROW / 2;
  const left = sideOf(tree.gold, along);
  const right = sideOf(tree.predicted, along);
  const relations = tree.relations.map((one) => measure(one, SMALL));
  const relationRoom = Math.min(84, Math.max(0, ...relations)) + 10;
  const most = Math.max(60, width - left.size - right.size - relationRoom - 12);
  const words = sentence.words.map((word) => fitText(word.trim() === "" ? "\u2423" : word, WORD_SIZE, most));
  const room = Math.min(most, Math.max(...words.map((word) => measure(word, WORD_SIZE)))) + 4;
  const start = left.size + 5;
  const end = start + room + relationRoom + 2;
  const rtl = mirrored(sentence);
  const parts = [
    drawSide(left, along, (y, depth) => [left.size - depth, y], gold, focus),
    drawSide(right, along, (y, depth) => [end + depth, y], answers, focus),
  ];
  words.forEach((word, at) => {
    const y = along(at) + 4.5;
    const strong = focus.has(at);
    const relation = fitText(tree.relations[at] ?? "", SMALL, relationRoom - 8);
    parts.push(
      text(rtl ? start + room : start, y, word, {
        size: WORD_SIZE,
        fill: colors.ink,
        anchor: rtl ? "end" : "start",
      }),
      text(end - 4, y, relation, { size: SMALL, fill: colors.muted, anchor: "end" }),
    );
    if (strong) parts.push(ring(start - 3, along(at) - ROW / 2 + 1, end - start + 2, ROW - 2, colors));
    else if (at > 0) parts.push(stroke(start, ROW * at, end - 4, ROW * at, { stroke: colors.faint }));
  });
  const boxes = words.map((_, at) => [start - 3, ROW * at, end - start + 2, ROW] as const);
  return {
    svg: parts.join(""),
    width: end + right.size + 2,
    height: ROW * words.length + 2,
    boxes,
    column: true,
  };
}
