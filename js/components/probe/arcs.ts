/** Arcs between positions on a line: how deep each goes so that no two cover each other, and their paths. */

import { el, num } from "../../marks/svg.js";

/** From where to where along the line. */
export interface Arc {
  readonly from: number;
  readonly to: number;
}

/** From along the line and depth to pixels. */
export type Place = (along: number, depth: number) => readonly [x: number, y: number];

/** Depth of every arc, from 1: arcs that overlap have different ones, shorter arcs lie nearer the line. */
export function depths(arcs: readonly Arc[]): number[] {
  const order = arcs
    .map((arc, at) => ({ at, low: Math.min(arc.from, arc.to), high: Math.max(arc.from, arc.to) }))
    .sort((a, b) => a.high - a.low - (b.high - b.low) || a.low - b.low);
  const out = arcs.map(() => 1);
  order.forEach((arc, i) => {
    let depth = 0;
    for (const other of order.slice(0, i))
      if (other.low < arc.high && arc.low < other.high) depth = Math.max(depth, out[other.at] ?? 0);
    out[arc.at] = depth + 1;
  });
  return out;
}

const ROUND = 6;

/** A bracket with round corners from `from` to `to`, `depth` pixels deep. */
export function bracket(from: number, to: number, depth: number, place: Place): string {
  const point = (along: number, deep: number) => place(along, deep).map(num).join(" ");
  const round = Math.min(ROUND, Math.abs(to - from) / 2, depth);
  const step = to >= from ? round : -round;
  return [
    `M${point(from, 0)}`,
    `L${point(from, depth - round)}`,
    `Q${point(from, depth)} ${point(from + step, depth)}`,
    `L${point(to - step, depth)}`,
    `Q${point(to, depth)} ${point(to, depth - round)}`,
    `L${point(to, 0)}`,
  ].join("");
}

/** An arrow's tip that touches the line at `along`. */
export function tip(along: number, place: Place, fill: string): string {
  const points = [place(along, 0), place(along - 3.5, 7), place(along + 3.5, 7)];
  const d = `M${points.map((point) => point.map(num).join(" ")).join("L")}Z`;
  return el("path", { d, fill });
}
