/** Where heads lie on the map, what colours them, and what is said of one. */

import { counted } from "../../marks/format.js";
import { linearScale, type Scale } from "../../marks/scale.js";
import { type Buffer, decodeShaped } from "../../wire/decode.js";
import type { HeadGroups, HeadMapDocument, HeadRef, KindName } from "../../wire/types.js";
import { headKey } from "../grid/selection.js";
import type { PlacedHead } from "../points/model.js";

const KINDS: readonly KindName[] = ["encoder", "decoder", "cross"];

export interface MapPoint {
  readonly head: HeadRef;
  readonly x: number;
  readonly y: number;
}

/** One way to colour points, with its array decoded. */
export interface Grouping extends Omit<HeadGroups, "group"> {
  /** By point the number of its label; -1 for none. */
  readonly of: ArrayLike<number>;
}

/** A document with its arrays decoded. */
export interface HeadMapView extends Omit<HeadMapDocument, "heads" | "x" | "y" | "groups"> {
  readonly points: readonly MapPoint[];
  readonly groups: readonly Grouping[];
}

export interface Placed extends PlacedHead {
  readonly index: number;
}

export function headMapOf(document: HeadMapDocument, buffer?: Buffer): HeadMapView {
  const { heads, x, y, groups, ...rest } = document;
  const count = heads.shape[0] ?? 0;
  const places = decodeShaped(heads, [count, 3], "heads", buffer);
  const xs = decodeShaped(x, [count], "x", buffer);
  const ys = decodeShaped(y, [count], "y", buffer);
  const points: MapPoint[] = [];
  for (let i = 0; i < count; i++) {
    const [kind, across, up] = [KINDS[places[3 * i] ?? 0], xs[i] ?? Number.NaN, ys[i] ?? Number.NaN];
    if (kind === undefined || !Number.isFinite(across) || !Number.isFinite(up))
      throw new Error(`headmap: point ${i} is no head with a place`);
    points.push({ head: [kind, places[3 * i + 1] ?? 0, places[3 * i + 2] ?? 0], x: across, y: up });
  }
  const decoded = groups.map(({ group, ...own }) => ({
    ...own,
    of: decodeShaped(group, [count], `groups of ${own.name}`, buffer),
  }));
  return { ...rest, points, groups: decoded };
}

/** What colours the points now; null where nothing does. */
export function shownGrouping(view: HeadMapView): Grouping | null {
  return view.groups[view.shown] ?? view.groups[0] ?? null;
}

/** The label of a point in one grouping; "" for none. */
export function labelOf(grouping: Grouping, index: number): string {
  return grouping.about?.[index] ?? grouping.labels[grouping.of[index] ?? -1] ?? "";
}

/** How good the picture is. */
export function headline(view: HeadMapView): string {
  const share = Math.round(100 * view.fit);
  return `${counted(view.points.length, "head")}, stress ${view.stress.toFixed(2)}; distances in the picture account for ${share} % of the variance of theirs`;
}

/** Everything that is said of one head. */
export function sentence(view: HeadMapView, { head, index }: Placed): string {
  const kind = new Set(view.points.map((point) => point.head[0])).size > 1 ? `${head[0]} ` : "";
  const said = view.groups
    .filter(({ name }) => name !== "layer")
    .map((grouping) => {
      const label = labelOf(grouping, index);
      return label === "" ? `no ${grouping.name}` : `${grouping.name} ${label}`;
    });
  return [`${kind}layer ${head[1]} head ${head[2]}`, ...said].join("; ");
}

export interface Scales {
  readonly x: Scale;
  readonly y: Scale;
}

/** Scales with one unit for both directions, so that distances are what they look like. */
export function scalesOf(
  points: readonly MapPoint[],
  [left, right]: readonly [number, number],
  [top, most]: readonly [number, number],
): Scales & { readonly bottom: number } {
  const ends = (values: readonly number[]): readonly [number, number] => {
    const [low, high] = [Math.min(...values), Math.max(...values)];
    return values.length > 0 ? [low, high] : [0, 1];
  };
  const [x0, x1] = ends(points.map(({ x }) => x));
  const [y0, y1] = ends(points.map(({ y }) => y));
  const room = 0.08 * Math.max(x1 - x0, y1 - y0) || 1;
  const [wide, high] = [x1 - x0 + 2 * room, y1 - y0 + 2 * room];
  const unit = Math.min((right - left) / wide, (most - top) / high);
  const bottom = top + Math.max(120, Math.min(most - top, high * unit));
  // What is left over in one direction goes to both sides.
  const [spareX, spareY] = [((right - left) / unit - wide) / 2, ((bottom - top) / unit - high) / 2];
  return {
    x: linearScale([x0 - room - spareX, x1 + room + spareX], [left, right]),
    y: linearScale([y0 - room - spareY, y1 + room + spareY], [bottom, top]),
    bottom,
  };
}

export function place(view: HeadMapView, { x, y }: Scales): readonly Placed[] {
  return view.points.map((point, index) => ({
    head: point.head,
    key: headKey(point.head),
    index,
    x: x(point.x),
    y: y(point.y),
  }));
}
