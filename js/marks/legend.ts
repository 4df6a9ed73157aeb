/** What the colours mean: a bar with ticks, the name and unit of the number, and a hatched "not measured". */

import type { Palette } from "../theme/palette.js";
import { formatTick } from "./format.js";
import { hatch } from "./hatch.js";
import type { Ramp } from "./ramp.js";
import { niceTicks } from "./scale.js";
import { line, rect, text } from "./svg.js";
import { fitText, measure } from "./text.js";

export interface LegendOptions {
  readonly title: string;
  readonly unit?: string;
  readonly palette: Palette;
  readonly width: number;
  /** Show the swatch for values that are missing. */
  readonly missing?: boolean;
  readonly format?: (value: number, step: number) => string;
}

export const LEGEND_HEIGHT = 42;

const MISSING = "not measured";

interface TickLabel {
  readonly value: number;
  readonly label: string;
  readonly left: number;
}

/** As many labels as do not touch: fewer for all of the bar, so that a signed scale stays symmetric. */
function tickLabels(
  scale: Ramp,
  x: number,
  bar: number,
  at: (value: number) => number,
  format: (value: number, step: number) => string,
): TickLabel[] {
  for (let count = Math.max(2, Math.floor(bar / 40)); ; count--) {
    const ticks = niceTicks(scale.low, scale.high, count);
    const labels = ticks.values.map((value) => {
      const label = format(value, ticks.step);
      const wide = measure(label, 11);
      const left = Math.max(x, Math.min(x + bar - wide, at(value) - wide / 2));
      return { value, label, left, right: left + wide };
    });
    if (count < 2 || labels.every((one, i) => one.left >= (labels[i - 1]?.right ?? -1e9) + 6)) return labels;
  }
}

/** A legend with its top left at x, y; `LEGEND_HEIGHT` high. */
export function legend(x: number, y: number, scale: Ramp, options: LegendOptions): string {
  const { palette } = options;
  const swatch = options.missing ? 12 + 6 + measure(MISSING, 11) + 14 : 0;
  const bar = Math.max(60, Math.min(220, options.width - swatch));
  const title = options.unit ? `${options.title} (${options.unit})` : options.title;
  const out = [text(x, y + 11, fitText(title, 12, options.width), { fill: palette.ink })];
  const top = y + 17;
  const pieces = 64;
  if (scale.high > scale.low) {
    for (let i = 0; i < pieces; i++) {
      const from = Math.round((i * bar) / pieces);
      const until = Math.round(((i + 1) * bar) / pieces);
      const fill = scale.colours[Math.round((255 * (i + 0.5)) / pieces)] ?? palette.surface;
      out.push(rect(x + from, top, until - from + (i < pieces - 1 ? 0.5 : 0), 8, { fill }));
    }
    out.push(
      rect(x + 0.5, top + 0.5, bar - 1, 7, { fill: "none", stroke: palette.line, "stroke-width": 0.75 }),
    );
    const at = (value: number) => x + (bar * (value - scale.low)) / (scale.high - scale.low);
    for (const { value, label, left } of tickLabels(scale, x, bar, at, options.format ?? formatTick)) {
      out.push(line(at(value), top + 8, at(value), top + 11, { stroke: palette.line }));
      out.push(text(left, top + 22, label, { size: 11, fill: palette.muted }));
    }
  } else {
    const fill = scale.colour(scale.low);
    out.push(rect(x, top, 24, 8, { fill, stroke: palette.line, "stroke-width": 0.75 }));
    const label = (options.format ?? formatTick)(scale.low, Math.abs(scale.low) / 100 || 1);
    out.push(text(x, top + 22, label, { size: 11, fill: palette.muted }));
  }
  if (options.missing) {
    const left = x + bar + 14;
    out.push(rect(left, top - 2, 12, 12, { fill: "none", stroke: palette.line, "stroke-width": 0.75 }));
    out.push(hatch([[left, top - 2, 12, 12]], palette.line));
    out.push(text(left + 18, top + 8, MISSING, { size: 11, fill: palette.muted }));
  }
  return out.join("");
}
