/** Points that stand for heads: which one is meant, and what an outline holds. */

import type { HeadRef } from "../../wire/types.js";

export interface PlacedHead {
  readonly head: HeadRef;
  readonly key: string;
  readonly x: number;
  readonly y: number;
}

export type Spot = readonly [x: number, y: number];

/** The nearest point within `reach` pixels, or null. */
export function nearest<P extends PlacedHead>(
  placed: readonly P[],
  x: number,
  y: number,
  reach: number,
): P | null {
  let best: P | null = null;
  let least = reach * reach;
  for (const one of placed) {
    const distance = (one.x - x) ** 2 + (one.y - y) ** 2;
    if (distance <= least) {
      least = distance;
      best = one;
    }
  }
  return best;
}

/** Heads whose points lie in a rectangle, largest y first: those that matter most lead. */
export function inside(placed: readonly PlacedHead[], [x0, y0]: Spot, [x1, y1]: Spot): readonly HeadRef[] {
  const [left, right] = [Math.min(x0, x1), Math.max(x0, x1)];
  const [top, bottom] = [Math.min(y0, y1), Math.max(y0, y1)];
  return placed
    .filter(({ x, y }) => x >= left && x <= right && y >= top && y <= bottom)
    .sort((a, b) => a.y - b.y)
    .map(({ head }) => head);
}

/** Heads whose points lie in an outline drawn by hand (even-odd rule), in their own order. */
export function surrounded(placed: readonly PlacedHead[], outline: readonly Spot[]): readonly HeadRef[] {
  const within = ({ x, y }: PlacedHead): boolean => {
    let odd = false;
    outline.forEach(([x1, y1], i) => {
      const [x0, y0] = outline[(i + outline.length - 1) % outline.length] ?? [x1, y1];
      if (y0 > y !== y1 > y && x < x0 + ((y - y0) * (x1 - x0)) / (y1 - y0)) odd = !odd;
    });
    return odd;
  };
  return placed.filter(within).map(({ head }) => head);
}

/** The next point for an arrow key: left and right go by x, up and down by y; null for any other key. */
export function step<P extends PlacedHead>(placed: readonly P[], from: P | null, key: string): P | null {
  const move = { ArrowRight: 1, ArrowLeft: -1, ArrowUp: 1, ArrowDown: -1, Home: -1e9, End: 1e9 }[key];
  if (move === undefined || placed.length === 0) return null;
  const upright = key === "ArrowUp" || key === "ArrowDown";
  const order = [...placed].sort((a, b) => (upright ? b.y - a.y || a.x - b.x : a.x - b.x || b.y - a.y));
  const at = from === null ? -1 : order.findIndex(({ key: own }) => own === from.key);
  if (at < 0) return (key === "End" ? order[order.length - 1] : order[0]) ?? null;
  return order[Math.max(0, Math.min(order.length - 1, at + move))] ?? null;
}

/** "3 selected". */
export function selectionText(selected: readonly HeadRef[]): string {
  return selected.length === 0 ? "" : `${selected.length} selected`;
}

/** Whether labels need the kind of attention. */
export function severalKinds(points: readonly { readonly head: HeadRef }[]): boolean {
  return new Set(points.map(({ head }) => head[0])).size > 1;
}

/** "L5H3", or "encoder.L5H3" where there are several kinds. */
export function headName([kind, layer, index]: HeadRef, several: boolean): string {
  const short = `L${layer}H${index}`;
  return several ? `${kind}.${short}` : short;
}
