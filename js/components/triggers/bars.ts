/** Accuracy before and after on a line from 0 to 100 %, with the bands of control words above and below it. */

import { linearScale } from "../../marks/scale.js";
import { el, line, rect, text } from "../../marks/svg.js";
import { measure } from "../../marks/text.js";
import type { Palette } from "../../theme/palette.js";
import type { Outcome, Range } from "./model.js";

/** Height of the bars without their numbers. */
export const BAR_HEIGHT = 24;

/** The bars of one outcome; the line stands in the middle of `BAR_HEIGHT`. */
export function drawBar(outcome: Outcome, width: number, colors: Palette): string {
  const scale = linearScale([0, 1], [5, width - 5]);
  const middle = BAR_HEIGHT / 2;
  const parts = [line(scale(0), middle, scale(1), middle, { stroke: colors.faint, "stroke-width": 2 })];
  for (const at of [0, 0.5, 1])
    parts.push(line(scale(at), middle - 3, scale(at), middle + 3, { stroke: colors.line }));
  parts.push(band(outcome.random, scale, middle - 11, true, colors));
  parts.push(band(outcome.matched, scale, middle + 5, false, colors));
  if (outcome.before) {
    parts.push(
      whisker(outcome.before, scale, middle, colors.muted, 1.2),
      before(scale(outcome.before.value), middle, colors),
    );
  }
  if (outcome.after) {
    parts.push(
      whisker(outcome.after, scale, middle, colors.selected, 2),
      after(scale(outcome.after.value), middle, colors),
    );
  }
  return parts.join("");
}

function before(x: number, y: number, colors: Palette): string {
  return el("circle", { cx: x, cy: y, r: 4, fill: colors.surface, stroke: colors.ink, "stroke-width": 1.5 });
}

function after(x: number, y: number, colors: Palette): string {
  return el("circle", {
    cx: x,
    cy: y,
    r: 4,
    fill: colors.selected,
    stroke: colors.surface,
    "stroke-width": 1,
  });
}

function whisker(
  range: Range,
  scale: (value: number) => number,
  y: number,
  stroke: string,
  width: number,
): string {
  if (!Number.isFinite(range.low) || !Number.isFinite(range.high)) return "";
  return line(scale(range.low), y, scale(range.high), y, { stroke, "stroke-width": width });
}

function box(x: number, y: number, width: number, filled: boolean, colors: Palette): string {
  const edge = { fill: filled ? colors.line : "none", stroke: colors.line, rx: 1 };
  return rect(x, y, width, 6, { ...edge, "fill-opacity": filled ? 0.45 : undefined });
}

function band(
  range: Range | null,
  scale: (value: number) => number,
  y: number,
  filled: boolean,
  colors: Palette,
): string {
  if (!range) return "";
  const from = scale(range.low);
  return box(from, y, Math.max(2, scale(range.high) - from), filled, colors);
}

/** What the marks mean; wraps to `width`. */
export function drawLegend(
  draws: number,
  width: number,
  colors: Palette,
): { readonly svg: string; readonly height: number; readonly width: number } {
  const items: [string, (x: number, y: number) => string][] = [
    ["before", (x, y) => before(x + 8, y, colors)],
    ["after, with 95 % intervals", (x, y) => after(x + 8, y, colors)],
  ];
  if (draws > 0) {
    items.push(["random words", (x, y) => box(x, y - 3, 16, true, colors)]);
    items.push([
      `words of like frequency (95 % of ${draws} draws)`,
      (x, y) => box(x, y - 3, 16, false, colors),
    ]);
  }
  let [x, y, widest] = [0, 9, 0];
  const parts: string[] = [];
  const lead = "Accuracy from 0 to 100 %:";
  parts.push(text(0, y + 4, lead, { size: 11, fill: colors.muted }));
  x = measure(lead, 11) + 10;
  for (const [label, draw] of items) {
    const wide = 22 + measure(label, 11);
    if (x > 0 && x + wide > width) {
      x = 0;
      y += 17;
    }
    parts.push(draw(x, y), text(x + 21, y + 4, label, { size: 11, fill: colors.muted }));
    widest = Math.max(widest, x + wide);
    x += wide + 14;
  }
  return { svg: parts.join(""), height: y + 10, width: Math.min(width, widest + 4) };
}
