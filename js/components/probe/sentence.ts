/** A sentence in one line of boxes, right to left where it is read so; long ones keep the words that matter. */

import { fitText, measure, rightToLeft } from "../../marks/text.js";
import type { ProbeSentence } from "../../wire/types.js";

export const WORD_SIZE = 13;
const MOST_WIDTH = 170;
const GAP = 9;
const GLUED = 2;
const ELLIPSIS = "\u2026";

/** A word, or an ellipsis for those left out. */
export interface Slot {
  /** Its position in the sentence; -1 for an ellipsis. */
  readonly word: number;
  readonly label: string;
  readonly x: number;
  readonly width: number;
}

export interface Line {
  readonly slots: readonly Slot[];
  readonly width: number;
  readonly mirrored: boolean;
}

export function mirrored(sentence: ProbeSentence): boolean {
  return rightToLeft(sentence.words.join(" "));
}

/** A word that a reader can see and point at, whatever it is. */
function labelOf(word: string, most: number): string {
  return fitText(word.trim() === "" ? "\u2423" : word, WORD_SIZE, most);
}

/** The words at `positions` (in order) in one line; what lies between is an ellipsis. */
function layout(
  sentence: ProbeSentence,
  positions: readonly number[],
  most = MOST_WIDTH,
  least: (position: number) => number = () => 8,
): Line {
  const slots: Slot[] = [];
  let x = 0;
  let before = -1;
  const add = (word: number, label: string, gap: number): void => {
    if (slots.length > 0) x += gap;
    const width = Math.max(word < 0 ? 8 : least(word), measure(label, WORD_SIZE) + 2);
    slots.push({ word, label, x, width });
    x += width;
  };
  const second = sentence.second ?? 0;
  for (const position of positions) {
    const across = second > 0 && before < second && position >= second;
    if (across) {
      if (second > before + 1) add(-1, ELLIPSIS, GAP);
      add(-1, "|", GAP);
      before = second - 1;
    }
    if (position > before + 1) add(-1, ELLIPSIS, GAP);
    const glued = !across && position === before + 1 && (sentence.glued[position] ?? false);
    add(position, labelOf(sentence.words[position] ?? "", most), glued ? GLUED : GAP);
    before = position;
  }
  if (before < sentence.words.length - 1) add(-1, ELLIPSIS, GAP);
  if (!mirrored(sentence)) return { slots, width: x, mirrored: false };
  return { slots: slots.map((slot) => ({ ...slot, x: x - slot.x - slot.width })), width: x, mirrored: true };
}

/** The whole sentence in one line, each word at least `least` pixels wide. */
export function wholeLine(sentence: ProbeSentence, least: (position: number) => number): Line {
  return layout(
    sentence,
    sentence.words.map((_, at) => at),
    MOST_WIDTH,
    least,
  );
}

/** As much of the sentence as fits into `width`, `important` words first, then those near them. */
export function excerpt(sentence: ProbeSentence, important: readonly number[], width: number): Line {
  const count = sentence.words.length;
  const kept = new Set(important.filter((at) => at >= 0 && at < count));
  if (kept.size === 0 && count > 0) kept.add(0);
  const inOrder = () => [...kept].sort((a, b) => a - b);
  const anchors = inOrder();
  const far = (at: number) => Math.min(...anchors.map((anchor) => Math.abs(anchor - at)));
  const others = sentence.words
    .map((_, at) => at)
    .filter((at) => !kept.has(at))
    .sort((a, b) => far(a) - far(b) || a - b);
  let line = layout(sentence, inOrder());
  for (let most = MOST_WIDTH; line.width > width && most > 20; most *= 0.8)
    line = layout(sentence, inOrder(), most);
  for (const at of others) {
    kept.add(at);
    const longer = layout(sentence, inOrder());
    if (longer.width > width) break;
    line = longer;
  }
  return line;
}

/** Neighbouring words as one piece of the line. */
export interface Run {
  readonly left: number;
  readonly right: number;
  readonly words: number;
}

/** The words at `positions`, neighbours together. */
export function runs(line: Line, positions: readonly number[]): Run[] {
  const out: Run[] = [];
  let before = Number.NaN;
  for (const position of [...new Set(positions)].sort((a, b) => a - b)) {
    const slot = position < 0 ? undefined : line.slots.find(({ word }) => word === position);
    if (!slot) continue;
    const own = { left: slot.x, right: slot.x + slot.width, words: 1 };
    const last = position === before + 1 ? out.pop() : undefined;
    out.push(
      last
        ? {
            left: Math.min(last.left, own.left),
            right: Math.max(last.right, own.right),
            words: last.words + 1,
          }
        : own,
    );
    before = position;
  }
  return out;
}
