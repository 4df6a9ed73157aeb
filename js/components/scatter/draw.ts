/** Two measurements of the same heads: a point is a head. */

import { bottomAxis, leftAxis, leftAxisWidth } from "../../marks/axes.js";
import { type DrawOptions, frame, type Picture, provenanceNote } from "../../marks/picture.js";
import { linearScale } from "../../marks/scale.js";
import { el, line, num, text } from "../../marks/svg.js";
import { fitText, measure, wrap } from "../../marks/text.js";
import { type Palette, palette } from "../../theme/palette.js";
import type { Buffer } from "../../wire/decode.js";
import type { HeadRef, ScatterDocument } from "../../wire/types.js";
import { headKey } from "../grid/selection.js";
import { headName, severalKinds } from "../points/model.js";
import { namer } from "../points/names.js";
import {
  axisTitle,
  details,
  domains,
  footnote,
  headline,
  isComparable,
  type Placed,
  place,
  regression,
  type Scales,
  type Scatter,
  scalesOf,
  scatterOf,
  showsBars,
} from "./model.js";

const MOST_WIDTH = 640;
/** Selected heads that get their name beside the point. */
const MOST_NAMES = 14;

export interface ScatterPicture {
  readonly width: number;
  readonly height: number;
  /** Everything but the selection. */
  readonly base: string;
  readonly placed: readonly Placed[];
  readonly scales: Scales;
  /** Left, top, right, bottom of the plot. */
  readonly plot: readonly [number, number, number, number];
}

/** The chart with its words, without the selection. */
export function drawScatter(document: Scatter, room: number, colours: Palette): ScatterPicture {
  const width = Math.max(260, Math.min(MOST_WIDTH, room));
  const out: string[] = [];
  let y = 0;
  const say = (content: string, size: number, fill: string, bold = false): void => {
    for (const part of wrap(content, size, width - 8, 4, bold)) {
      y += Math.round(size * 1.4);
      out.push(text(2, y, part, { size, fill, bold }));
    }
  };
  if (document.title !== "") say(document.title, 14, colours.ink, true);
  say(headline(document), 13, colours.ink, true);
  say(details(document), 11, colours.muted);
  say(footnote(document), 11, colours.muted);
  const top = y + 16;
  const [, vertical] = domains(document);
  const yTitle = axisTitle(document.y_name, document.y_unit);
  const side = Math.max(200, Math.min(width - 70, 460));
  const bottom = top + Math.round(side * 0.86);
  const left = leftAxisWidth(linearScale(vertical, [bottom, top]), { title: yTitle }) + 4;
  const right = width - 24; // half of the last label
  const scales = scalesOf(document, [left, right], [bottom, top]);
  out.push(
    leftAxis(scales.y, left, { title: yTitle, palette: colours, grid: right - left }),
    bottomAxis(scales.x, bottom, {
      title: axisTitle(document.x_name, document.x_unit),
      palette: colours,
      grid: bottom - top,
    }),
  );
  const plot = [left, top, right, bottom] as const;
  const placed = place(document, scales);
  out.push(lines(document, scales, plot, colours));
  if (showsBars(document)) out.push(bars(placed, scales, colours));
  out.push(points(document, placed, colours));
  const under = key(document, left, bottom + 46, right - left, colours);
  out.push(under.svg);
  return { width, height: bottom + 38 + under.height, base: out.join(""), placed, scales, plot };
}

type Plot = readonly [number, number, number, number];

/** The part of y = start + slope x that lies in the plot. */
function clipped(
  start: number,
  slope: number,
  { x, y }: Scales,
): readonly [number, number, number, number] | null {
  let [from, until] = x.domain;
  const [low, high] = y.domain;
  if (slope !== 0) {
    const ends = [(low - start) / slope, (high - start) / slope];
    from = Math.max(from, Math.min(...ends));
    until = Math.min(until, Math.max(...ends));
  } else if (start < low || start > high) return null;
  return from < until ? [x(from), y(start + slope * from), x(until), y(start + slope * until)] : null;
}

function lines(
  document: Scatter,
  scales: Scales,
  [left, top, right, bottom]: Plot,
  colours: Palette,
): string {
  const out: string[] = [];
  const [x0, y0] = [scales.x(0), scales.y(0)];
  if (x0 > left && x0 < right) out.push(line(x0, top, x0, bottom, { stroke: colours.line }));
  if (y0 > top && y0 < bottom) out.push(line(left, y0, right, y0, { stroke: colours.line }));
  const equal = isComparable(document) ? clipped(0, 1, scales) : null;
  if (equal) out.push(line(...equal, { stroke: colours.muted, "stroke-dasharray": "2 4" }));
  const fit = regression(document);
  const fitted = fit === null ? null : clipped(fit.start, fit.slope, scales);
  if (fitted) out.push(line(...fitted, { stroke: colours.muted, "stroke-width": 1.3 }));
  return out.join("");
}

/** One standard error to either side, all in one path. */
function bars(placed: readonly Placed[], scales: Scales, colours: Palette): string {
  let path = "";
  for (const { point, x, y } of placed) path += barPath(point, x, y, scales);
  return path === ""
    ? ""
    : el("path", { d: path, fill: "none", stroke: colours.series[0], "stroke-opacity": 0.3 });
}

function barPath(
  { x, y, x_error, y_error }: Placed["point"],
  at: number,
  level: number,
  scales: Scales,
): string {
  let path = "";
  if (x_error !== null && x_error > 0)
    path += `M${num(scales.x(x - x_error))} ${num(level)}H${num(scales.x(x + x_error))}`;
  if (y_error !== null && y_error > 0)
    path += `M${num(at)} ${num(scales.y(y - y_error))}V${num(scales.y(y + y_error))}`;
  return path;
}

/** The outline of a mark: a circle for encoders, a square for decoders, a triangle for cross-attention. */
function markPath(kind: HeadRef[0], x: number, y: number, r: number): string {
  if (kind === "decoder")
    return `M${num(x - r * 0.9)} ${num(y - r * 0.9)}h${num(r * 1.8)}v${num(r * 1.8)}h${num(-r * 1.8)}z`;
  if (kind === "cross")
    return `M${num(x)} ${num(y - r * 1.15)}l${num(r * 1.1)} ${num(r * 1.95)}h${num(-r * 2.2)}z`;
  return `M${num(x - r)} ${num(y)}a${num(r)} ${num(r)} 0 1 0 ${num(2 * r)} 0a${num(r)} ${num(r)} 0 1 0 ${num(-2 * r)} 0z`;
}

function radius(count: number): number {
  return count > 1000 ? 2 : count > 200 ? 3 : 4;
}

function points(document: Scatter, placed: readonly Placed[], colours: Palette): string {
  const r = radius(document.points.length);
  const style = { "fill-opacity": 0.6, stroke: colours.surface, "stroke-width": 0.75 };
  if (placed.length > 400) {
    const d = placed.map(({ point, x, y }) => markPath(point.head[0], x, y, r)).join("");
    return el("path", { d, fill: colours.series[0], ...style });
  }
  return placed
    .map(({ point, x, y }) =>
      el("path", { d: markPath(point.head[0], x, y, r), fill: colours.series[0], ...style }),
    )
    .join("");
}

/** What marks and lines mean; nothing where the axes say it all. */
function key(
  document: Scatter,
  x: number,
  y: number,
  width: number,
  colours: Palette,
): { readonly svg: string; readonly height: number } {
  const items: [string, (left: number, middle: number) => string][] = [];
  if (severalKinds(document.points))
    for (const kind of ["encoder", "decoder", "cross"] as const)
      if (document.points.some(({ head }) => head[0] === kind))
        items.push([
          kind,
          (left, middle) =>
            el("path", {
              d: markPath(kind, left + 8, middle, 4),
              fill: colours.series[0],
              "fill-opacity": 0.7,
            }),
        ]);
  const errors = document.points.some((point) => point.x_error !== null || point.y_error !== null);
  if (showsBars(document) && errors)
    items.push([
      "one standard error",
      (left, middle) =>
        line(left, middle, left + 16, middle, { stroke: colours.series[0], "stroke-opacity": 0.6 }),
    ]);
  if (isComparable(document))
    items.push([
      "both equal",
      (left, middle) =>
        line(left, middle, left + 16, middle, { stroke: colours.muted, "stroke-dasharray": "2 4" }),
    ]);
  if (regression(document) !== null)
    items.push([
      "least squares",
      (left, middle) => line(left, middle, left + 16, middle, { stroke: colours.muted, "stroke-width": 1.3 }),
    ]);
  const out: string[] = [];
  let [at, row] = [x, 0];
  for (const [label, swatch] of items) {
    const wide = 22 + measure(label, 11) + 16;
    if (at + wide > x + width && at > x) {
      at = x;
      row += 1;
    }
    const middle = y + row * 16;
    out.push(swatch(at, middle), text(at + 22, middle + 4, label, { size: 11, fill: colours.muted }));
    at += wide;
  }
  return { svg: out.join(""), height: items.length > 0 ? 16 * (row + 1) + 4 : 0 };
}

/** Rings, error bars and names of the selected heads; `hovered` is ringed too. */
export function drawSelection(
  document: Scatter,
  picture: ScatterPicture,
  selected: readonly HeadRef[],
  hovered: string | null,
  colours: Palette,
): string {
  const chosen = new Set(selected.map(headKey));
  const shown = picture.placed.filter(({ key: own }) => chosen.has(own) || own === hovered);
  const r = radius(document.points.length) + 2;
  const out: string[] = [];
  for (const { point, key: own, x, y } of shown) {
    const stroke = chosen.has(own) ? colours.selected : colours.ink;
    const d = barPath(point, x, y, picture.scales);
    if (d !== "") out.push(el("path", { d, fill: "none", stroke, "stroke-width": 1.2 }));
    const ring = markPath(point.head[0], x, y, r);
    out.push(
      el("path", { d: ring, fill: "none", stroke: colours.surface, "stroke-width": 4 }),
      el("path", { d: ring, fill: "none", stroke, "stroke-width": 2 }),
    );
  }
  const named = namer(picture.plot, colours);
  const several = severalKinds(document.points);
  if (chosen.size <= MOST_NAMES)
    for (const { head, key: own, x, y } of shown)
      if (chosen.has(own)) out.push(named(headName(head, several), x, y, r));
  return out.join("");
}

/** One sentence for a screen reader. */
export function describe(document: Scatter): string {
  return `${document.title || "Importance"}: ${document.y_name} against ${document.x_name}; ${headline(document)}`;
}

/** The scatter as a picture of its own. */
export function draw(content: ScatterDocument, options: DrawOptions, buffer?: Buffer): Picture {
  const document = scatterOf(content, buffer);
  const colours = palette(options.theme);
  const picture = drawScatter(document, options.width, colours);
  let { height } = picture;
  let body = picture.base + drawSelection(document, picture, document.selected, null, colours);
  if (options.provenance) {
    const note = provenanceNote(document.provenance, 2, height, picture.width - 4, colours);
    body += note.svg;
    height += note.height;
  }
  return frame({ width: picture.width, height, label: fitText(describe(document), 10, 4000), body }, options);
}
