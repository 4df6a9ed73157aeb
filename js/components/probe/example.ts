/** One example: the annotated arc above the words, the head's arc below them. */

import { type Attributes, el, line as stroke, text } from "../../marks/svg.js";
import { fitText, measure, rightToLeft } from "../../marks/text.js";
import type { Palette } from "../../theme/palette.js";
import { type Arc, bracket, depths, type Place, tip } from "./arcs.js";
import type { Example } from "./model.js";
import { excerpt, type Run, runs, type Slot, WORD_SIZE } from "./sentence.js";

export interface Drawn {
  readonly svg: string;
  readonly width: number;
  readonly height: number;
}

const STEP = 9;
const FIRST = 14;
const TEXT = 18;

/** Depth in pixels of an arc of level `level`. */
function deep(level: number): number {
  return FIRST + STEP * (level - 1);
}

/** How a line is drawn. */
export type Style = Attributes & { readonly stroke: string };

/** What is annotated. */
export function goldStyle(colors: Palette): Style {
  return { stroke: colors.muted, "stroke-width": 1.3 };
}

/** What a head or a probe says; where it is wrong the line is broken as well. */
export function answerStyle(right: boolean, colors: Palette): Style {
  const [good, bad] = colors.series;
  return right
    ? { stroke: good, "stroke-width": 1.8 }
    : { stroke: bad, "stroke-width": 1.8, "stroke-dasharray": "5 3" };
}

/** The picture of an example in `width` pixels; without a head only what is annotated. */
export function drawExample(example: Example, width: number, colors: Palette, asked: boolean): Drawn {
  const { arc, sentence, predicted, right } = example;
  const line = excerpt(sentence, [...arc.source, ...arc.target, predicted], width - 4);
  const sources = runs(line, arc.source);
  const targets = runs(line, arc.target);
  const gold = arcsBetween(sources, targets);
  const levels = depths(gold);
  const rise = gold.length > 0 ? deep(Math.max(...levels)) + 2 : 4;
  const base = rise + TEXT;
  const found = asked ? arcsBetween(sources, runs(line, [predicted])) : [];
  const fall = found.length > 0 ? FIRST + 4 : 2;
  const up: Place = (along, depth) => [along, rise - depth];
  const down: Place = (along, depth) => [along, base + depth];
  const parts: string[] = [];
  gold.forEach((one, at) => {
    const d = bracket(one.from, one.to, deep(levels[at] ?? 1), up);
    parts.push(el("path", { d, fill: "none", ...goldStyle(colors) }), tip(one.to, up, colors.muted));
  });
  for (const run of targets)
    if (run.words > 1) parts.push(stroke(run.left, rise, run.right, rise, goldStyle(colors)));
  for (const one of found) {
    const style = answerStyle(right, colors);
    // A word that points at itself: a loop beside it.
    const from = one.to === one.from ? one.to + 9 : one.from;
    parts.push(el("path", { d: bracket(from, one.to, FIRST, down), fill: "none", ...style }));
    parts.push(tip(one.to, down, style.stroke));
  }
  for (const slot of line.slots) parts.push(wordOf(slot, rise, example, asked, colors));
  for (const run of sources) {
    const under = { stroke: colors.ink, "stroke-width": 1.4 };
    parts.push(stroke(run.left + 1, rise + 16.5, run.right - 1, rise + 16.5, under));
  }
  const svg = el("g", { transform: "translate(2 0)" }, parts.join(""));
  return { svg, width: Math.min(width, line.width + 4), height: base + fall };
}

/** A word; those that take part are darker. */
function wordOf(slot: Slot, top: number, example: Example, asked: boolean, colors: Palette): string {
  const { arc, predicted } = example;
  const known = [...arc.source, ...arc.target, ...(asked ? [predicted] : [])].includes(slot.word);
  const fill = slot.word >= 0 && known ? colors.ink : colors.muted;
  return text(slot.x + slot.width / 2, top + 13, slot.label, { size: WORD_SIZE, fill, anchor: "middle" });
}

/** From the nearest source to each target. */
function arcsBetween(sources: readonly Run[], targets: readonly Run[]): Arc[] {
  const middle = (run: Run) => (run.left + run.right) / 2;
  const starts = sources.map(middle);
  return starts.length === 0
    ? []
    : targets.map(middle).map((to) => {
        const from = starts.reduce((best, start) =>
          Math.abs(start - to) < Math.abs(best - to) ? start : best,
        );
        return { from, to };
      });
}

/** "✓ right", "✗ points at “dog”": the head's answer, with a mark that needs no colour. */
export function answerText(example: Example): string {
  const { predicted, right, sentence } = example;
  if (predicted < 0) return "\u2717 points at no word";
  if (right) return "\u2713 right";
  const word = fitText(sentence.words[predicted] ?? "", 11, 140);
  // isolated: quotes and what follows stay in their place where the word is read from right to left
  const shown = rightToLeft(word) ? `\u2068${word}\u2069` : word;
  return `\u2717 points at \u201c${shown}\u201d`;
}

/** What the arcs mean; wraps to `width`. Without a `name` nothing is below the words. */
export function drawKey(
  width: number,
  colors: Palette,
  name: string,
  sides: readonly [string, string],
): Drawn {
  const [above, below] = sides;
  const items: [string, Style][] = [[`${above}: annotated`, goldStyle(colors)]];
  if (name !== "") {
    items.push(
      [`${below}: ${name}, right`, answerStyle(true, colors)],
      ["wrong", answerStyle(false, colors)],
    );
  }
  let [x, y, widest] = [0, 8, 0];
  const parts: string[] = [];
  for (const [label, style] of items) {
    const wide = 28 + measure(label, 11);
    if (x > 0 && x + wide > width) {
      x = 0;
      y += 16;
    }
    const shown = fitText(label, 11, width - 28);
    parts.push(
      stroke(x, y, x + 22, y, { ...style }),
      text(x + 28, y + 4, shown, { size: 11, fill: colors.muted }),
    );
    widest = Math.max(widest, x + wide);
    x += wide + 14;
  }
  return { svg: parts.join(""), width: Math.min(width, widest + 4), height: y + 9 };
}
