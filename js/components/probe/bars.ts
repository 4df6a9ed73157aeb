/** A share as a bar from 0 to 100 %, with its interval and a tick for each baseline. */

import { formatPercent } from "../../marks/format.js";
import { linearScale } from "../../marks/scale.js";
import { el, line, num, rect, text } from "../../marks/svg.js";
import { fitText, measure } from "../../marks/text.js";
import type { Palette } from "../../theme/palette.js";
import type { IntervalData, ProbeRow } from "../../wire/types.js";
import type { Drawn } from "./example.js";
import { measured } from "./model.js";

export const BAR_HEIGHT = 18;
const EDGE = 4;

/** A bar as high as `BAR_HEIGHT`; ticks that are NaN are left out. */
export function drawBar(
  accuracy: IntervalData,
  baseline: number,
  strongest: number,
  hollow: boolean,
  width: number,
  colors: Palette,
): string {
  const scale = linearScale([0, 1], [EDGE, width - EDGE]);
  const middle = BAR_HEIGHT / 2;
  const parts = [
    line(scale(0), middle + 6.5, scale(1), middle + 6.5, { stroke: colors.faint }),
    line(scale(0), middle - 6, scale(0), middle + 6.5, { stroke: colors.line }),
  ];
  const value = measured(accuracy.value);
  if (Number.isFinite(value)) {
    const bar = { fill: hollow ? "none" : colors.series[0], stroke: colors.series[0], "stroke-width": 1 };
    parts.push(rect(scale(0), middle - 4, Math.max(0.5, scale(value) - scale(0)), 8, bar));
    parts.push(whisker(accuracy, scale, middle, colors));
  }
  if (Number.isFinite(baseline)) parts.push(offsetTick(scale(baseline), middle, colors));
  if (Number.isFinite(strongest)) parts.push(otherTick(scale(strongest), middle, colors));
  return parts.join("");
}

export function rowBar(
  { accuracy, baseline, strongest, strongest_accuracy }: ProbeRow,
  width: number,
  colors: Palette,
): string {
  const other = strongest === "" ? Number.NaN : measured(strongest_accuracy);
  return drawBar(accuracy, measured(baseline), other, false, width, colors);
}

function whisker(range: IntervalData, scale: (value: number) => number, y: number, colors: Palette): string {
  if (!Number.isFinite(measured(range.low)) || !Number.isFinite(measured(range.high))) return "";
  const [low, high] = [scale(range.low), scale(range.high)];
  const d = `M${num(low)} ${num(y - 3)}v6M${num(low)} ${num(y)}H${num(high)}M${num(high)} ${num(y - 3)}v6`;
  return (
    el("path", { d, fill: "none", stroke: colors.surface, "stroke-width": 3.2 }) +
    el("path", { d, fill: "none", stroke: colors.ink, "stroke-width": 1.3 })
  );
}

function offsetTick(x: number, y: number, colors: Palette): string {
  return (
    line(x, y - 8, x, y + 8, { stroke: colors.surface, "stroke-width": 4 }) +
    line(x, y - 8, x, y + 8, { stroke: colors.series[1], "stroke-width": 2 })
  );
}

function otherTick(x: number, y: number, colors: Palette): string {
  const d = `M${num(x)} ${num(y - 5)}l4 5l-4 5l-4-5z`;
  return el("path", { d, fill: colors.surface, stroke: colors.ink, "stroke-width": 1.4 });
}

/** What the marks mean; wraps to `width`. */
export function drawBarKey(
  measure_: string,
  names: readonly [string, string],
  width: number,
  colors: Palette,
): Drawn {
  const items: [string, (x: number, y: number) => string][] = [
    [
      "with its 95 % interval",
      (x, y) =>
        rect(x, y - 4, 12, 8, { fill: colors.series[0] }) +
        whisker({ value: 0.5, low: 0.3, high: 1 }, linearScale([0, 1], [x, x + 20]), y, colors),
    ],
  ];
  if (names[0] !== "") items.push([names[0], (x, y) => offsetTick(x + 10, y, colors)]);
  if (names[1] !== "") items.push([names[1], (x, y) => otherTick(x + 10, y, colors)]);
  const lead = `${measure_} from 0 to 100 %:`;
  const parts = [text(0, 13, fitText(lead, 11, width), { size: 11, fill: colors.muted })];
  let [x, y, widest] = [measure(lead, 11) + 10, 9, 0];
  for (const [label, draw] of items) {
    const wide = 26 + measure(label, 11);
    if (x > 0 && x + wide > width) {
      x = 0;
      y += 18;
    }
    parts.push(draw(x, y), text(x + 25, y + 4, label, { size: 11, fill: colors.muted }));
    widest = Math.max(widest, x + wide);
    x += wide + 14;
  }
  return { svg: parts.join(""), width: Math.min(width, Math.max(widest, 40) + 4), height: y + 11 };
}

/** "58.1 %" of a bar, for pictures that have no column for it. */
export function valueText(value: number): string {
  return Number.isFinite(measured(value)) ? formatPercent(value) : "not measured";
}
