/** Axes for linear scales: ticks, labels, a title with its unit. */

import type { Palette } from "../theme/palette.js";
import { formatTick } from "./format.js";
import { niceTicks, type Scale } from "./scale.js";
import { line, text } from "./svg.js";
import { fitText, measure } from "./text.js";

export interface AxisOptions {
  readonly title: string;
  readonly palette: Palette;
  /** Lines across the plot, this long. */
  readonly grid?: number;
  readonly count?: number;
  readonly format?: (value: number, step: number) => string;
  readonly size?: number;
}

/** Axis under a plot; `y` is its line. Takes 34 pixels below `y`. */
export function bottomAxis(scale: Scale, y: number, options: AxisOptions): string {
  const { palette, size = 11 } = options;
  const [left, right] = [Math.min(...scale.range), Math.max(...scale.range)];
  const room = Math.max(2, Math.floor((right - left) / 60));
  const ticks = niceTicks(scale.domain[0], scale.domain[1], options.count ?? room);
  const out = [line(left, y, right, y, { stroke: palette.line })];
  for (const value of ticks.values) {
    const x = scale(value);
    if (options.grid) out.push(line(x, y, x, y - options.grid, { stroke: palette.faint }));
    out.push(line(x, y, x, y + 4, { stroke: palette.line }));
    const label = (options.format ?? formatTick)(value, ticks.step);
    out.push(text(x, y + 5 + size, label, { size, fill: palette.muted, anchor: "middle" }));
  }
  out.push(
    text((left + right) / 2, y + 31, fitText(options.title, 12, right - left), {
      fill: palette.ink,
      anchor: "middle",
    }),
  );
  return out.join("");
}

/** Axis left of a plot; `x` is its line. Ask `leftAxisWidth` how much it takes. */
export function leftAxis(scale: Scale, x: number, options: AxisOptions): string {
  const { palette, size = 11 } = options;
  const [top, bottom] = [Math.min(...scale.range), Math.max(...scale.range)];
  const ticks = niceTicks(scale.domain[0], scale.domain[1], options.count ?? leftCount(scale));
  const out: string[] = [];
  for (const value of ticks.values) {
    const y = scale(value);
    if (options.grid) out.push(line(x, y, x + options.grid, y, { stroke: palette.faint }));
    out.push(line(x - 4, y, x, y, { stroke: palette.line }));
    const label = (options.format ?? formatTick)(value, ticks.step);
    out.push(text(x - 7, y + size * 0.35, label, { size, fill: palette.muted, anchor: "end" }));
  }
  out.push(line(x, top, x, bottom, { stroke: palette.line }));
  const at = x - leftAxisWidth(scale, options) + 12;
  out.push(
    text(at, (top + bottom) / 2, fitText(options.title, 12, bottom - top), {
      fill: palette.ink,
      anchor: "middle",
      rotate: -90,
    }),
  );
  return out.join("");
}

function leftCount(scale: Scale): number {
  return Math.max(2, Math.floor(Math.abs(scale.range[1] - scale.range[0]) / 40));
}

/** Pixels that a left axis takes, its title included. */
export function leftAxisWidth(scale: Scale, options: Omit<AxisOptions, "palette">): number {
  const ticks = niceTicks(scale.domain[0], scale.domain[1], options.count ?? leftCount(scale));
  const widths = ticks.values.map((value) =>
    measure((options.format ?? formatTick)(value, ticks.step), options.size ?? 11),
  );
  return Math.ceil(Math.max(...widths) + 7 + 20);
}
