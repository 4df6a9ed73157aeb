/** Outlines of marks: a category has a shape as well as a colour. */

import { num } from "../../marks/svg.js";

/** Those that bqplot has too, in the same order as `headwidgets/widgets/headmap_figure.py`. */
const SHAPES: readonly ((r: number) => readonly (readonly [number, number])[])[] = [
  (r) => square(0.88 * r, 0.88 * r),
  (r) => [
    [0, -1.15 * r],
    [1.1 * r, 0.8 * r],
    [-1.1 * r, 0.8 * r],
  ],
  (r) => [
    [0, -1.3 * r],
    [r, 0],
    [0, 1.3 * r],
    [-r, 0],
  ],
  (r) => plus(1.15 * r, 0.42 * r),
  (r) => [
    [0, 1.15 * r],
    [-1.1 * r, -0.8 * r],
    [1.1 * r, -0.8 * r],
  ],
  (r) => square(1.25 * r, 0.6 * r),
];

function square(w: number, h: number): readonly (readonly [number, number])[] {
  return [
    [-w, -h],
    [w, -h],
    [w, h],
    [-w, h],
  ];
}

function plus(long: number, half: number): readonly (readonly [number, number])[] {
  return [
    [-half, -long],
    [half, -long],
    [half, -half],
    [long, -half],
    [long, half],
    [half, half],
    [half, long],
    [-half, long],
    [-half, half],
    [-long, half],
    [-long, -half],
    [-half, -half],
  ];
}

/** The outline of the n-th category's mark. */
export function shapePath(category: number, x: number, y: number, r: number): string {
  const turn = category < 0 ? 0 : category % (SHAPES.length + 1);
  const shape = SHAPES[turn - 1];
  if (!shape)
    return `M${num(x - r)} ${num(y)}a${num(r)} ${num(r)} 0 1 0 ${num(2 * r)} 0a${num(r)} ${num(r)} 0 1 0 ${num(-2 * r)} 0z`;
  return `M${shape(r)
    .map(([dx, dy]) => `${num(x + dx)} ${num(y + dy)}`)
    .join("L")}z`;
}
