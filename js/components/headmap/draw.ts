/** Heads that attend alike, near each other: a point is a head, its colour a layer, a role or a cluster. */

import { bottomAxis, leftAxis, leftAxisWidth } from "../../marks/axes.js";
import { LEGEND_HEIGHT, legend } from "../../marks/legend.js";
import { type DrawOptions, frame, type Picture, provenanceNote } from "../../marks/picture.js";
import { type Ramp, ramp } from "../../marks/ramp.js";
import { linearScale } from "../../marks/scale.js";
import { el, text } from "../../marks/svg.js";
import { fitText, measure, wrap } from "../../marks/text.js";
import { categories } from "../../theme/categories.js";
import { type Palette, palette, readableOn } from "../../theme/palette.js";
import type { Buffer } from "../../wire/decode.js";
import type { HeadMapDocument, HeadRef } from "../../wire/types.js";
import { looksOf } from "../grid/roles.js";
import { headKey } from "../grid/selection.js";
import { headName, severalKinds } from "../points/model.js";
import { namer } from "../points/names.js";
import {
  type Grouping,
  type HeadMapView,
  headline,
  headMapOf,
  type Placed,
  place,
  scalesOf,
  shownGrouping,
} from "./model.js";
import { shapePath } from "./shapes.js";

const MOST_WIDTH = 640;
/** Selected heads that get their name beside the point. */
const MOST_NAMES = 14;
/** Points that have room for the number of their layer. */
const MOST_NUMBERS = 160;

export interface HeadMapPicture {
  readonly width: number;
  readonly height: number;
  /** Everything but the selection. */
  readonly base: string;
  readonly placed: readonly Placed[];
  /** Left, top, right, bottom of the plot. */
  readonly plot: readonly [number, number, number, number];
  readonly radius: number;
}

/** How the points of one grouping look. */
interface Look {
  readonly ramp: Ramp | null;
  fill(label: number): string;
  shape(label: number): number;
}

function lookOf(grouping: Grouping | null, colours: Palette): Look {
  if (!grouping) return { ramp: null, fill: () => colours.series[0], shape: () => 0 };
  if (grouping.ordered) {
    const scale = ramp(0, Math.max(1, grouping.labels.length - 1), false, colours);
    return { ramp: scale, fill: (label) => scale.colour(label), shape: () => 0 };
  }
  const table = categories(colours.name);
  const named =
    grouping.name === "role"
      ? looksOf(
          grouping.labels.map((name) => ({ name, rule: "", heads: [] })),
          colours,
        ).map(({ colour }) => colour)
      : grouping.labels.map((_, i) => table[i % table.length] ?? colours.muted);
  return { ramp: null, fill: (label) => named[label] ?? "none", shape: (label) => label };
}

function radiusFor(count: number, width: number): number {
  const full = count > 1000 ? 2.2 : count > MOST_NUMBERS ? 3.6 : count > 90 ? 7 : 8;
  return width < 400 ? Math.max(2, full * 0.8) : full;
}

/** The chart with its words, without the selection. */
export function drawHeadMap(view: HeadMapView, room: number, colours: Palette): HeadMapPicture {
  const width = Math.max(260, Math.min(MOST_WIDTH, room));
  const out: string[] = [];
  let y = 0;
  const say = (content: string, size: number, fill: string, bold = false): void => {
    for (const part of wrap(content, size, width - 8, 4, bold)) {
      y += Math.round(size * 1.4);
      out.push(text(2, y, part, { size, fill, bold }));
    }
  };
  if (view.title !== "") say(view.title, 14, colours.ink, true);
  say(headline(view), 12, colours.ink);
  if (view.note !== "") say(view.note, 11, colours.muted);
  const top = y + 14;
  const yTitle = `second direction (${view.unit})`;
  const left = leftAxisWidth(linearScale([-0.1, 0.1], [300, 0]), { title: yTitle }) + 6;
  const right = width - 20;
  const scales = scalesOf(view.points, [left, right], [top, top + 0.9 * (right - left)]);
  const { bottom } = scales;
  out.push(
    leftAxis(scales.y, left, { title: yTitle, palette: colours, grid: right - left }),
    bottomAxis(scales.x, bottom, {
      title: `first direction (${view.unit})`,
      palette: colours,
      grid: bottom - top,
    }),
  );
  const placed = place(view, scales);
  const grouping = shownGrouping(view);
  const look = lookOf(grouping, colours);
  const radius = radiusFor(placed.length, width);
  out.push(points(placed, grouping, look, radius, colours));
  const under = grouping ? key(grouping, look, left, bottom + 44, right - left, colours) : null;
  if (under) out.push(under.svg);
  return {
    width,
    height: bottom + 42 + (under?.height ?? 0),
    base: out.join(""),
    placed,
    plot: [left, top, right, bottom],
    radius,
  };
}

function points(
  placed: readonly Placed[],
  grouping: Grouping | null,
  look: Look,
  radius: number,
  colours: Palette,
): string {
  const of = (index: number): number => (grouping ? (grouping.of[index] ?? -1) : 0);
  if (placed.length > 400) {
    // A path for each label: thousands of marks, few elements.
    const paths = new Map<number, string>();
    for (const { index, x, y } of placed) {
      const label = of(index);
      const own = shapePath(look.shape(label), x, y, label < 0 ? radius * 0.8 : radius);
      paths.set(label, (paths.get(label) ?? "") + own);
    }
    return [...paths].map(([label, d]) => mark(d, label, look, colours, 0.5)).join("");
  }
  const numbered = grouping?.ordered === true && placed.length <= MOST_NUMBERS;
  return placed
    .map(({ index, x, y }) => {
      const label = of(index);
      const d = shapePath(look.shape(label), x, y, label < 0 ? radius * 0.6 : radius * 0.95);
      const drawn = mark(d, label, look, colours, 1);
      if (!numbered || label < 0) return drawn;
      const size = radius < 7 ? 8 : 9;
      const style = { size, anchor: "middle", fill: readableOn(look.fill(label)) } as const;
      return drawn + text(x, y + size * 0.36, grouping?.labels[label] ?? "", style);
    })
    .join("");
}

function mark(d: string, label: number, look: Look, colours: Palette, wide: number): string {
  if (label < 0) return el("path", { d, fill: colours.surface, stroke: colours.muted, "stroke-width": wide });
  return el("path", { d, fill: look.fill(label), stroke: colours.line, "stroke-width": 0.75 * wide });
}

/** What colours and shapes mean. */
function key(
  grouping: Grouping,
  look: Look,
  x: number,
  y: number,
  width: number,
  colours: Palette,
): { readonly svg: string; readonly height: number } {
  if (look.ramp) {
    const format = (value: number): string => grouping.labels[Math.round(value)] ?? "";
    const options = { title: grouping.name, palette: colours, width, format };
    return { svg: legend(x, y - 6, look.ramp, options), height: LEGEND_HEIGHT };
  }
  const counts = new Map<number, number>();
  for (let i = 0; i < grouping.of.length; i++) {
    const label = grouping.of[i] ?? -1;
    counts.set(label, (counts.get(label) ?? 0) + 1);
  }
  const out: string[] = [];
  let [at, row] = [x, 0];
  for (const [label, count] of [...counts].sort(([a], [b]) => (a < 0 ? 1 : b < 0 ? -1 : a - b))) {
    const name = label < 0 ? `no ${grouping.name}` : (grouping.labels[label] ?? "");
    const shown = fitText(`${name} (${count})`, 11, Math.min(width - 22, 260));
    const wide = 20 + measure(shown, 11) + 16;
    if (at + wide - 16 > x + width && at > x) {
      at = x;
      row += 1;
    }
    const middle = y + 6 + row * 18;
    out.push(mark(shapePath(look.shape(label), at + 8, middle, label < 0 ? 4 : 6), label, look, colours, 1));
    out.push(text(at + 20, middle + 4, shown, { size: 11, fill: colours.ink }));
    at += wide;
  }
  return { svg: out.join(""), height: 18 * (row + 1) + 4 };
}

/** Rings and names of the selected heads; `hovered` is ringed too. */
export function drawSelection(
  view: HeadMapView,
  picture: HeadMapPicture,
  selected: readonly HeadRef[],
  hovered: string | null,
  colours: Palette,
): string {
  const chosen = new Set(selected.map(headKey));
  const shown = picture.placed.filter(({ key: own }) => chosen.has(own) || own === hovered);
  const r = picture.radius + 2;
  const out: string[] = [];
  for (const { key: own, x, y } of shown) {
    const ring = { d: shapePath(0, x, y, r), fill: "none" };
    const stroke = chosen.has(own) ? colours.selected : colours.ink;
    out.push(
      el("path", { ...ring, stroke: colours.surface, "stroke-width": 4 }),
      el("path", { ...ring, stroke, "stroke-width": 2 }),
    );
  }
  const named = namer(picture.plot, colours);
  const several = severalKinds(view.points);
  if (chosen.size <= MOST_NAMES)
    for (const { head, key: own, x, y } of shown)
      if (chosen.has(own)) out.push(named(headName(head, several), x, y, r));
  return out.join("");
}

/** One sentence for a screen reader. */
export function describe(view: HeadMapView): string {
  const grouping = shownGrouping(view);
  const by = grouping ? `, coloured by ${grouping.name}` : "";
  return `${view.title || "Heads by how they attend"}${by}: ${headline(view)}`;
}

/** The map as a picture of its own. */
export function draw(content: HeadMapDocument, options: DrawOptions, buffer?: Buffer): Picture {
  const view = headMapOf(content, buffer);
  const colours = palette(options.theme);
  const picture = drawHeadMap(view, options.width, colours);
  let { height } = picture;
  let body = picture.base + drawSelection(view, picture, view.selected, null, colours);
  if (options.provenance) {
    const note = provenanceNote(view.provenance, 2, height, picture.width - 4, colours);
    body += note.svg;
    height += note.height;
  }
  return frame({ width: picture.width, height, label: fitText(describe(view), 10, 4000), body }, options);
}
