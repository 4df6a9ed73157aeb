/** Names of heads beside their points, none over another. */

import { el, escapeText } from "../../marks/svg.js";
import { measure } from "../../marks/text.js";
import type { Palette } from "../../theme/palette.js";

const SIZE = 11;

export type Bounds = readonly [left: number, top: number, right: number, bottom: number];

/** Places names, one after the other; each takes its room from those that come later. */
export function namer(
  [left, top, right, bottom]: Bounds,
  colours: Palette,
): (name: string, x: number, y: number, r: number) => string {
  const taken: Bounds[] = [];
  return (name, x, y, r) => {
    const label = escapeText(name);
    const wide = measure(label, SIZE, true);
    for (const [dx, dy] of [
      [r + 4, 4],
      [-r - 4 - wide, 4],
      [-wide / 2, -r - 5],
      [-wide / 2, r + 14],
    ] as const) {
      const box: Bounds = [x + dx, y + dy - 10, x + dx + wide, y + dy + 3];
      const fits = box[0] >= left && box[2] <= right + 8 && box[1] >= top - 8 && box[3] <= bottom;
      if (!fits || taken.some((o) => box[0] < o[2] && box[2] > o[0] && box[1] < o[3] && box[3] > o[1]))
        continue;
      taken.push(box);
      const style = { x: x + dx, y: y + dy, "font-size": SIZE, "font-weight": "bold" };
      const halo = {
        fill: "none",
        stroke: colours.surface,
        "stroke-width": 3.5,
        "stroke-linejoin": "round",
      };
      return (
        el("text", { ...style, ...halo }, label) + el("text", { ...style, fill: colours.selected }, label)
      );
    }
    return "";
  };
}
