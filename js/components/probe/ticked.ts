/** Texts that begin with a mark (\u2713, \u2717, \u2013) in pictures: the mark is drawn, since few fonts have it. */

import { el, num, type TextStyle, text } from "../../marks/svg.js";

const MARKS: Readonly<Record<string, (x: number, y: number) => string>> = {
  "\u2713": (x, y) => `M${num(x)} ${num(y - 4)}l2.8 3.2l4.6-7`,
  "\u2717": (x, y) => `M${num(x + 0.6)} ${num(y - 7)}l6 6.4m0-6.4l-6 6.4`,
  "\u2013": (x, y) => `M${num(x)} ${num(y - 3.7)}h6.5`,
};
const WIDTH = 11;

/** `text` at x, y; a mark in front becomes a shape as wide as its letter would be. */
export function ticked(x: number, y: number, content: string, style: TextStyle): string {
  const mark = MARKS[content[0] ?? ""];
  if (!mark) return text(x, y, content, style);
  const path = el("path", { d: mark(x, y), fill: "none", stroke: style.fill, "stroke-width": 1.4 });
  return path + text(x + WIDTH, y, content.slice(1).trimStart(), style);
}
