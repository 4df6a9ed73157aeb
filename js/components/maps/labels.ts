// Token labels beside and above maps, and the sentences under a picture.
import { el, escapeText, num, text } from "../../marks/svg.js";
import { fitText, wrap } from "../../marks/text.js";
import type { Palette, Theme } from "../../theme/palette.js";
import type { Position } from "./positions.js";

const HEADS: Readonly<Record<Theme, readonly string[]>> = {
  light: ["#2f7ab8", "#b4560f", "#14805e", "#b03a87", "#7d7300", "#6a57c2", "#b3261e", "#56616f"],
  dark: ["#6db4e6", "#f0994a", "#4cc7a0", "#f08cc8", "#cfc24a", "#a99cf5", "#ff8a80", "#b4bec9"],
};

/** Most heads that one picture tells apart by colour. */
export const MOST_HEADS = 8;

/** Colour of the n-th head on show (3:1 on the surface). */
export function headColor(at: number, theme: Theme): string {
  const colors = HEADS[theme];
  return colors[at % colors.length] ?? "#808080";
}

export interface LabelStyle {
  readonly anchor: "start" | "end";
  readonly size: number;
  /** Pixels the label may take; longer text ends in an ellipsis and has its full text as a title. */
  readonly room: number;
  readonly palette: Palette;
  readonly rotate?: number;
}

/** A token's text at x, y (the middle of its line). */
export function tokenLabel(position: Position, x: number, y: number, style: LabelStyle): string {
  const { palette, size } = style;
  const mark = position.continued ? 8 : 0;
  const shown = fitText(position.label, size, style.room - mark);
  const transform = style.rotate ? `rotate(${num(style.rotate)} ${num(x)} ${num(y)})` : undefined;
  const shift = style.anchor === "start" ? mark : 0;
  const parts = [
    text(x + shift, y + size * 0.36, shown, {
      size,
      fill: position.special ? palette.muted : palette.ink,
      anchor: style.anchor,
      italic: position.special,
    }),
  ];
  if (position.continued) {
    // A hook from above: this token goes on with the character of the one before.
    const at = style.anchor === "start" ? x : x - Math.min(style.room, 18) - 2;
    parts.push(
      el("path", {
        d: `M${num(at)} ${num(y - 5)}v5h5`,
        fill: "none",
        stroke: palette.line,
        "stroke-width": 1.2,
      }),
    );
  }
  if (shown !== position.label) parts.push(`<title>${escapeText(position.label)}</title>`);
  return el("g", { transform }, ...parts);
}

export interface Notes {
  readonly svg: string;
  readonly height: number;
}

/** Sentences under a picture, muted, wrapped to the width. */
export function notesMark(
  sentences: readonly string[],
  x: number,
  y: number,
  width: number,
  palette: Palette,
): Notes {
  const lines = sentences.flatMap((sentence) => wrap(sentence, 11, width));
  const svg = lines
    .map((line, at) => text(x, y + 13 + at * 15, line, { size: 11, fill: palette.muted }))
    .join("");
  return { svg, height: lines.length > 0 ? lines.length * 15 + 6 : 0 };
}

/** Swatches with the names of the heads on show. */
export function headLegend(
  names: readonly string[],
  x: number,
  y: number,
  width: number,
  palette: Palette,
  measure: (text: string, size: number) => number,
): Notes {
  let at = x;
  let row = 0;
  const parts: string[] = [];
  names.forEach((name, number) => {
    const wide = 22 + measure(name, 12) + 16;
    if (at + wide > x + width && at > x) {
      at = x;
      row += 1;
    }
    const middle = y + 8 + row * 18;
    parts.push(
      el("line", {
        x1: at,
        x2: at + 16,
        y1: middle,
        y2: middle,
        stroke: headColor(number, palette.name),
        "stroke-width": 3,
      }),
      text(at + 22, middle + 4, name, { fill: palette.ink }),
    );
    at += wide;
  });
  return { svg: parts.join(""), height: names.length > 0 ? (row + 1) * 18 : 0 };
}

/** 1234 as "1,234". */
export function thousands(value: number): string {
  return String(Math.round(value)).replace(/\B(?=(\d{3})+$)/g, ",");
}
