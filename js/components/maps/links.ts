// Token-to-token lines: queries on the left, keys on the right. Lines of like weight share one path, so that a long
// text costs kilobytes and a few dozen nodes, not a node per link.
import type { MapValues } from "./head-map.js";
import { valueAt } from "./head-map.js";
import type { Position } from "./positions.js";

/** One head among the lines. */
export interface LinkSeries {
  readonly map: MapValues;
  readonly name: string;
  readonly color: string;
  /** Colour of negative values (attribution that opposes the target); they are dashed as well. */
  readonly opposing: string;
}

/** Where the two columns of tokens stand. */
export interface LinksLayout {
  readonly width: number;
  readonly height: number;
  /** x at which lines start and end. */
  readonly left: number;
  readonly right: number;
  /** y of the first row's middle. */
  readonly top: number;
  readonly rowHeight: number;
  readonly fontSize: number;
  readonly query: readonly Position[];
  readonly key: readonly Position[];
}

/** One token of one side. */
export interface Focus {
  readonly side: "query" | "key";
  readonly at: number;
}

/** What was drawn and what was left out. */
export interface LinksMarkup {
  readonly markup: string;
  readonly drawn: number;
  readonly total: number;
}

/** Heads of the two columns. */
export const QUERY_TITLE = "from (query)";
export const KEY_TITLE = "to (key)";

/** The legend above the columns, and their titles. */
export const LEGEND = 38;
const HEADER = LEGEND + 24;
const GUTTER = 10;
const LEVELS = 12;

/** Place the tokens; `measure` gives the width of a label in pixels at a font size. */
export function layoutLinks(
  query: readonly Position[],
  key: readonly Position[],
  width: number,
  measure: (text: string, size: number) => number,
): LinksLayout {
  const rows = Math.max(query.length, key.length, 1);
  const rowHeight = rows <= 40 ? 21 : rows <= 100 ? 17 : 15;
  const fontSize = rows <= 40 ? 13 : rows <= 100 ? 12 : 11;
  const limit = Math.min(190, width * 0.3);
  const side = (positions: readonly Position[], title: string): number => {
    let widest = measure(title, 11);
    for (const position of positions) widest = Math.max(widest, measure(position.label, fontSize));
    return Math.ceil(Math.min(limit, widest)) + GUTTER + 12;
  };
  const left = side(query, QUERY_TITLE);
  const right = side(key, KEY_TITLE);
  const available = Math.min(width, left + right + 420);
  return {
    width: available,
    height: HEADER + rows * rowHeight + 6,
    left,
    right: available - right,
    top: HEADER + rowHeight / 2,
    rowHeight,
    fontSize,
    query,
    key,
  };
}

/** y of a token's middle. */
export function rowY(layout: LinksLayout, at: number): number {
  return layout.top + at * layout.rowHeight;
}

/** Widest label that fits beside the lines. */
export function labelRoom(layout: LinksLayout, side: "query" | "key"): number {
  return side === "query" ? layout.left - GUTTER - 10 : layout.width - layout.right - GUTTER - 10;
}

/** The token under a point, null between the columns. */
export function hitLinks(layout: LinksLayout, x: number, y: number): Focus | null {
  const at = Math.floor((y - layout.top + layout.rowHeight / 2) / layout.rowHeight);
  if (at < 0) return null;
  if (x <= layout.left && at < layout.query.length) return { side: "query", at };
  if (x >= layout.right && at < layout.key.length) return { side: "key", at };
  return null;
}

interface Link {
  readonly from: number;
  readonly to: number;
  readonly weight: number;
}

/** Links of one head: all of them, or those of one token. */
export function linksOf(layout: LinksLayout, map: MapValues, focus: Focus | null): Link[] {
  const links: Link[] = [];
  layout.query.forEach((query, from) => {
    if (focus !== null && focus.side === "query" && focus.at !== from) return;
    layout.key.forEach((key, to) => {
      if (focus !== null && focus.side === "key" && focus.at !== to) return;
      const weight = valueAt(map, query.index, key.index);
      if (weight !== 0 && !Number.isNaN(weight)) links.push({ from, to, weight });
    });
  });
  return links;
}

/**
 * The lines of all series. With more than `budget` links the strongest are drawn; links below `floor` of the largest
 * are too faint to see: they are left out and not counted.
 */
export function drawLinks(
  layout: LinksLayout,
  series: readonly LinkSeries[],
  scale: number,
  focus: Focus | null,
  budget: number,
): LinksMarkup {
  const floor = scale * 0.02;
  const found = series.map((item) =>
    linksOf(layout, item.map, focus).filter((link) => Math.abs(link.weight) >= floor),
  );
  const total = found.reduce((sum, links) => sum + links.length, 0);
  let threshold = 0;
  if (total > budget) {
    const sizes = found.flatMap((links) => links.map((link) => Math.abs(link.weight))).sort((a, b) => b - a);
    threshold = sizes[budget - 1] ?? 0;
  }
  const parts: string[] = [];
  let drawn = 0;
  series.forEach((item, number) => {
    const spread = Math.min(3, (layout.rowHeight - 4) / series.length);
    const shift = (number - (series.length - 1) / 2) * spread;
    const paths = new Map<number, string[]>();
    for (const link of found[number] ?? []) {
      const size = Math.abs(link.weight);
      if (size < threshold || (total > budget && drawn >= budget)) continue;
      drawn += 1;
      const level = Math.min(LEVELS, Math.max(1, Math.ceil((size / scale) * LEVELS)));
      const bucket = link.weight < 0 ? -level : level;
      const path = paths.get(bucket) ?? [];
      path.push(curve(layout, link, shift));
      paths.set(bucket, path);
    }
    for (const bucket of [...paths.keys()].sort((a, b) => Math.abs(a) - Math.abs(b))) {
      const share = Math.abs(bucket) / LEVELS;
      const color = bucket < 0 ? item.opposing : item.color;
      const dash = bucket < 0 ? ' stroke-dasharray="5 3"' : "";
      parts.push(
        `<path d="${(paths.get(bucket) ?? []).join("")}" stroke="${color}" stroke-opacity="${opacityOf(share)}"` +
          ` stroke-width="${widthOf(share)}"${dash}/>`,
      );
    }
  });
  return { markup: `<g fill="none" stroke-linecap="round">${parts.join("")}</g>`, drawn, total };
}

/** Opacity and width of a line by its share of the largest value. */
export function opacityOf(share: number): number {
  return round(0.04 + 0.88 * share);
}
export function widthOf(share: number): number {
  return round(0.6 + 2.6 * share);
}

function curve(layout: LinksLayout, link: Link, shift: number): string {
  const y0 = round(rowY(layout, link.from) + shift);
  const y1 = round(rowY(layout, link.to) + shift);
  const bend = round((layout.right - layout.left) * 0.4);
  return `M${round(layout.left)} ${y0}C${round(layout.left + bend)} ${y0} ${round(layout.right - bend)} ${y1} ${round(layout.right)} ${y1}`;
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}
