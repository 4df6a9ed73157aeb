/** Hatching without a pattern element: patterns need ids, and ids clash between pictures on one page. */

import { el, num } from "./svg.js";

export type Box = readonly [x: number, y: number, width: number, height: number];

/** Diagonal lines, `gap` pixels apart, across each box. */
export function hatch(boxes: readonly Box[], stroke: string, gap = 4): string {
  const path: string[] = [];
  for (const [x, y, width, height] of boxes)
    for (let offset = gap / 2; offset < width + height; offset += gap) {
      const fromX = Math.min(offset, width);
      const fromY = offset - fromX;
      const untilY = Math.min(offset, height);
      const untilX = offset - untilY;
      path.push(`M${num(x + fromX)} ${num(y + fromY)}L${num(x + untilX)} ${num(y + untilY)}`);
    }
  if (path.length === 0) return "";
  return el("path", { d: path.join(""), fill: "none", stroke, "stroke-width": 0.9 });
}
