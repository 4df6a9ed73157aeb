/** Patterns that tell categories apart without colour, as paths: pattern elements need ids, and ids clash on one page. */

import type { Box } from "./hatch.js";
import { num } from "./svg.js";

/** Path data of one pattern within a box; `gap` is the distance between strokes. */
type Pattern = (box: Box, gap: number) => string;

const seg = (x1: number, y1: number, x2: number, y2: number) =>
  `M${num(x1)} ${num(y1)}L${num(x2)} ${num(y2)}`;

/** Where strokes stand in `length`, the same distance from both ends. */
function places(length: number, gap: number): number[] {
  const count = Math.max(1, Math.round(length / gap));
  return Array.from({ length: count }, (_, i) => ((i + 0.5) * length) / count);
}

function rising([x, y, width, height]: Box, gap: number): string {
  const out: string[] = [];
  for (let offset = gap / 2; offset < width + height; offset += gap) {
    const fromX = Math.min(offset, width);
    const untilY = Math.min(offset, height);
    out.push(seg(x + fromX, y + offset - fromX, x + offset - untilY, y + untilY));
  }
  return out.join("");
}

function falling([x, y, width, height]: Box, gap: number): string {
  const out: string[] = [];
  for (let offset = gap / 2; offset < width + height; offset += gap) {
    const fromX = Math.min(offset, width);
    const untilY = Math.min(offset, height);
    out.push(seg(x + width - fromX, y + offset - fromX, x + width - (offset - untilY), y + untilY));
  }
  return out.join("");
}

const across: Pattern = ([x, y, width, height], gap) =>
  places(height, gap)
    .map((at) => `M${num(x)} ${num(y + at)}h${num(width)}`)
    .join("");

const upright: Pattern = ([x, y, width, height], gap) =>
  places(width, gap)
    .map((at) => `M${num(x + at)} ${num(y)}v${num(height)}`)
    .join("");

/** `mark` at the points of a lattice. */
function lattice([x, y, width, height]: Box, gap: number, mark: (x: number, y: number) => string): string {
  const out: string[] = [];
  for (const down of places(height, gap))
    for (const right of places(width, gap)) out.push(mark(x + right, y + down));
  return out.join("");
}

const dots: Pattern = (box, gap) =>
  lattice(box, gap, (x, y) => `M${num(x - 0.7)} ${num(y)}h1.4M${num(x)} ${num(y - 0.7)}v1.4`);

function rings(box: Box, gap: number): string {
  const r = Math.min(gap, box[2], box[3]) * 0.3;
  return lattice(
    box,
    gap,
    (x, y) =>
      `M${num(x - r)} ${num(y)}a${num(r)} ${num(r)} 0 1 0 ${num(2 * r)} 0a${num(r)} ${num(r)} 0 1 0 ${num(-2 * r)} 0`,
  );
}

function pluses(box: Box, gap: number): string {
  const r = Math.min(gap, box[2], box[3]) * 0.3;
  return lattice(
    box,
    gap,
    (x, y) => `M${num(x - r)} ${num(y)}h${num(2 * r)}M${num(x)} ${num(y - r)}v${num(2 * r)}`,
  );
}

function zigzag([x, y, width, height]: Box, gap: number): string {
  const teeth = Math.max(1, Math.round(width / gap));
  const step = width / teeth / 2;
  const tall = Math.min(gap * 0.5, height);
  return places(height, gap)
    .map((at) => {
      const low = Math.min(height, at + tall / 2);
      const high = Math.max(0, at - tall / 2);
      const points = Array.from(
        { length: 2 * teeth + 1 },
        (_, i) => `${num(x + i * step)} ${num(y + (i % 2 === 0 ? low : high))}`,
      );
      return `M${points.join("L")}`;
    })
    .join("");
}

function frames([x, y, width, height]: Box, gap: number): string {
  const out: string[] = [];
  for (let inset = gap / 2; 2 * inset < Math.min(width, height); inset += gap)
    out.push(
      `M${num(x + inset)} ${num(y + inset)}h${num(width - 2 * inset)}v${num(height - 2 * inset)}h${num(2 * inset - width)}z`,
    );
  return out.length > 0 ? out.join("") : across([x, y, width, height], gap);
}

/** The first is plain. */
export const PATTERNS: readonly Pattern[] = [
  () => "",
  rising,
  across,
  dots,
  upright,
  falling,
  (box, gap) => rising(box, gap) + falling(box, gap),
  (box, gap) => across(box, gap) + upright(box, gap),
  zigzag,
  rings,
  pluses,
  frames,
];

/** Path data of the pattern with a number, in every box; strokes are nearer to each other in small boxes. */
export function pattern(number: number, boxes: readonly Box[]): string {
  const draw = PATTERNS[number % PATTERNS.length];
  if (!draw) return "";
  return boxes
    .map((box) => {
      const least = Math.min(box[2], box[3]);
      return draw(box, least >= 20 ? 5 : least >= 9 ? 4 : 3);
    })
    .join("");
}
