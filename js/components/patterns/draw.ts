/** Where heads look, layer by layer: a point is a head, a line the mean of its layer (Clark et al. 2019, figures 2 to 4). */

import { leftAxis, leftAxisWidth } from "../../marks/axes.js";
import { type DrawOptions, frame, type Picture, provenanceNote } from "../../marks/picture.js";
import { bandLabels, linearScale } from "../../marks/scale.js";
import { el, line, num, text } from "../../marks/svg.js";
import { fitText, measure, wrap } from "../../marks/text.js";
import { type Palette, palette } from "../../theme/palette.js";
import type { Buffer } from "../../wire/decode.js";
import type { HeadRef, PatternsDocument } from "../../wire/types.js";
import { headKey } from "../grid/selection.js";
import { shapePath } from "../headmap/shapes.js";
import { headColor } from "../maps/labels.js";
import { headName } from "../points/model.js";
import { namer } from "../points/names.js";
import {
  chartOf,
  headline,
  kindsOf,
  meansOf,
  type Patterns,
  type Placed,
  patternsOf,
  place,
  rangeOf,
  type Scales,
  scalesOf,
  seriesOf,
  shiftOf,
  yTitle,
} from "./model.js";

const MOST_WIDTH = 860;
/** Selected heads that get their name beside the point. */
const MOST_NAMES = 12;
/** Points that have an outline of their own; more of them are small squares on whole pixels. */
const MOST_OUTLINES = 2500;
/** More points than this are a cloud: a layer's heads become a box with whiskers, and those far outside it points. */
const MOST_POINTS = 6000;
/** Heads far above a layer's box that are drawn as points, and as many below. */
const MOST_FAR = 3;

export interface PatternsPicture {
  readonly width: number;
  readonly height: number;
  /** Everything but the selection. */
  readonly base: string;
  readonly placed: readonly Placed[];
  /** Left, top, right, bottom of the plot. */
  readonly plot: readonly [number, number, number, number];
  readonly radius: number;
}

function colourOf(series: number, colours: Palette): string {
  return headColor(series, colours.name);
}

function radiusFor(count: number): number {
  return count > MOST_OUTLINES ? 1.5 : count > 700 ? 2.2 : count > 200 ? 3 : 3.8;
}

/** The chart with its words, without the selection. */
export function drawPatterns(view: Patterns, room: number, colours: Palette): PatternsPicture {
  const width = Math.max(280, Math.min(MOST_WIDTH, room));
  const out: string[] = [];
  let y = 0;
  const say = (content: string, size: number, fill: string, bold = false): void => {
    for (const part of wrap(content, size, width - 8, 4, bold)) {
      y += Math.round(size * 1.4);
      out.push(text(2, y, part, { size, fill, bold }));
    }
  };
  if (view.title !== "") say(view.title, 14, colours.ink, true);
  const chart = chartOf(view);
  say(
    chart ? `${chart.label}: ${headline(view)}; lines: means of layers` : "nothing was measured",
    12,
    colours.ink,
  );
  if (view.note !== "") say(view.note, 11, colours.muted);
  if (!chart)
    return { width, height: y + 8, base: out.join(""), placed: [], plot: [0, 0, width, y], radius: 3 };
  const series = seriesOf(view);
  const top = y + 14;
  const bottom = top + Math.round(Math.max(190, Math.min(360, width * 0.46)));
  const title = yTitle(chart);
  const left = leftAxisWidth(linearScale(rangeOf(series), [bottom, top]), { title }) + 4;
  const right = width - 8;
  const scales = scalesOf(view, [left, right], [bottom, top]);
  const placed = place(view, scales);
  const radius = radiusFor(placed.length);
  out.push(
    leftAxis(scales.y, left, { title, palette: colours, grid: right - left }),
    layerAxis(view, scales, bottom, top, colours),
    references(view, scales, colours),
    means(view, scales, colours),
    placed.length > MOST_POINTS
      ? boxes(placed, scales, series.length, radius, colours)
      : points(placed, series.length, radius, colours),
  );
  const several = kindsOf(view).length > 1;
  const under = key(
    view,
    placed.length > MOST_POINTS,
    left,
    bottom + (several ? 54 : 44),
    right - left,
    colours,
  );
  out.push(under.svg);
  const height = bottom + (several ? 54 : 44) + under.height;
  return { width, height, base: out.join(""), placed, plot: [left, top, right, bottom], radius };
}

/** Layers under the plot; kinds of attention under their layers. */
function layerAxis(view: Patterns, { x }: Scales, y: number, top: number, colours: Palette): string {
  const [left, right] = x.range;
  const out = [line(left, y, right, y, { stroke: colours.line })];
  const pitch = x(1) - x(0);
  const kinds = kindsOf(view);
  for (const kind of kinds) {
    const own = view.columns.filter((column) => column.kind === kind);
    const [first, last] = [own[0], own.at(-1)];
    if (!first || !last) continue;
    if (first.at > 0) {
      const at = x(first.at - 1);
      out.push(line(at, y, at, top, { stroke: colours.line, "stroke-dasharray": "1 3" }));
    }
    for (const i of bandLabels(own.length, pitch, 20)) {
      const column = own[i];
      if (!column) continue;
      const at = x(column.at);
      out.push(line(at, y, at, y + 4, { stroke: colours.line }));
      out.push(text(at, y + 16, String(column.layer), { size: 11, fill: colours.muted, anchor: "middle" }));
    }
    if (kinds.length > 1) {
      const wide = (own.length + 0.8) * pitch;
      const middle = (x(first.at) + x(last.at)) / 2;
      out.push(
        text(middle, y + 30, fitText(kind, 11, wide), { size: 11, fill: colours.ink, anchor: "middle" }),
      );
    }
  }
  const below = kinds.length > 1 ? 44 : 31;
  out.push(text((left + right) / 2, y + below, "layer", { fill: colours.ink, anchor: "middle" }));
  return out.join("");
}

/** What a head that looks at all keys alike would have: one dashed line per series and kind. */
function references(view: Patterns, { x, y }: Scales, colours: Palette): string {
  const out: string[] = [];
  seriesOf(view).forEach(({ reference }, number) => {
    for (const kind of kindsOf(view)) {
      const value = reference[kind];
      const own = view.columns.filter((column) => column.kind === kind);
      const [first, last] = [own[0], own.at(-1)];
      if (value === undefined || !Number.isFinite(value) || !first || !last) continue;
      out.push(
        line(x(first.at - 0.5), y(value), x(last.at + 0.5), y(value), {
          stroke: colourOf(number, colours),
          "stroke-width": 1.2,
          "stroke-dasharray": "5 4",
        }),
      );
    }
  });
  return out.join("");
}

/** The means of layers, joined inside a kind. */
function means(view: Patterns, { x, y }: Scales, colours: Palette): string {
  const series = seriesOf(view);
  return series
    .map((one, number) => {
      const shift = shiftOf(number, series.length);
      let d = "";
      let joined = "";
      meansOf(view, one).forEach((value, i) => {
        const column = view.columns[i];
        if (!column || !Number.isFinite(value)) {
          joined = "";
          return;
        }
        d += `${joined === column.kind ? "L" : "M"}${num(x(column.at + shift))} ${num(y(value))}`;
        joined = column.kind;
      });
      const style = {
        fill: "none",
        stroke: colourOf(number, colours),
        "stroke-width": 1.6,
        "stroke-opacity": 0.85,
      };
      return d === "" ? "" : el("path", { d, ...style, "stroke-linejoin": "round" });
    })
    .join("");
}

function points(placed: readonly Placed[], count: number, radius: number, colours: Palette): string {
  const out: string[] = [];
  for (let number = 0; number < count; number++) {
    const own = placed.filter(({ series }) => series === number);
    let d = "";
    if (placed.length > MOST_OUTLINES) {
      const spots = new Set(own.map(({ x, y }) => `M${Math.round(x) - 1} ${Math.round(y) - 1}h2v2h-2z`));
      d = [...spots].join("");
    } else for (const { x, y } of own) d += shapePath(number, x, y, radius);
    if (d === "") continue;
    const fill = colourOf(number, colours);
    const small = placed.length > MOST_OUTLINES;
    const edge = small ? {} : { stroke: colours.surface, "stroke-width": 0.5 };
    out.push(el("path", { d, fill, "fill-opacity": small ? 0.75 : 0.62, ...edge }));
  }
  return out.join("");
}

/** By layer and series a box from the first to the third quartile, whiskers to the ends, and what is far outside. */
function boxes(
  placed: readonly Placed[],
  { x }: Scales,
  count: number,
  radius: number,
  colours: Palette,
): string {
  const groups = new Map<string, Placed[]>();
  for (const point of placed) {
    const key = `${point.series} ${point.head[0]} ${point.head[1]}`;
    const group = groups.get(key);
    if (group) group.push(point);
    else groups.set(key, [point]);
  }
  const half = Math.max(0.8, (0.3 * (x(1) - x(0))) / count);
  const bars = new Map<number, [whiskers: string, boxes: string, far: string]>();
  for (const group of groups.values()) {
    const sorted = [...group].sort((a, b) => a.y - b.y); // the largest value first
    const at = (share: number) => sorted[Math.round(share * (sorted.length - 1))]?.y ?? 0;
    const [top, upper, lower, bottom] = [at(0), at(0.25), at(0.75), at(1)];
    const middle = sorted.reduce((sum, point) => sum + point.x, 0) / sorted.length;
    const series = sorted[0]?.series ?? 0;
    const reach = 1.5 * (lower - upper);
    const own = bars.get(series) ?? ["", "", ""];
    own[0] += `M${num(middle)} ${num(top)}V${num(bottom)}`;
    own[1] += `M${num(middle - half)} ${num(upper)}h${num(2 * half)}V${num(lower)}h${num(-2 * half)}z`;
    const far = [
      ...sorted.filter(({ y }) => y < upper - reach).slice(0, MOST_FAR),
      ...sorted.filter(({ y }) => y > lower + reach).slice(-MOST_FAR),
    ];
    for (const point of far) own[2] += shapePath(series, point.x, point.y, radius);
    bars.set(series, own);
  }
  return [...bars]
    .map(([series, [whiskers, quartiles, far]]) => {
      const colour = colourOf(series, colours);
      return (
        el("path", { d: whiskers, fill: "none", stroke: colour, "stroke-opacity": 0.55 }) +
        el("path", { d: quartiles, fill: colour, "fill-opacity": 0.45 }) +
        (far === "" ? "" : el("path", { d: far, fill: colour }))
      );
    })
    .join("");
}

/** What marks and lines mean. */
function key(
  view: Patterns,
  boxed: boolean,
  x: number,
  y: number,
  width: number,
  colours: Palette,
): { readonly svg: string; readonly height: number } {
  const series = seriesOf(view);
  const items: [string, (left: number, middle: number) => string][] = series.map(({ label }, number) => [
    label,
    (left, middle) =>
      line(left, middle, left + 18, middle, { stroke: colourOf(number, colours), "stroke-width": 1.6 }) +
      el("path", { d: shapePath(number, left + 9, middle, 4.2), fill: colourOf(number, colours) }),
  ]);
  if (series.some(({ reference }) => Object.values(reference).some(Number.isFinite)))
    items.push([
      "a head that looks at all keys alike",
      (left, middle) =>
        line(left, middle, left + 18, middle, {
          stroke: colours.muted,
          "stroke-width": 1.2,
          "stroke-dasharray": "5 4",
        }),
    ]);
  if (boxed)
    items.push([
      "middle half of a layer's heads, from the least to the largest",
      (left, middle) =>
        line(left + 9, middle - 7, left + 9, middle + 7, { stroke: colours.muted }) +
        el("path", {
          d: `M${num(left + 6)} ${num(middle - 3)}h6v6h-6z`,
          fill: colours.muted,
          "fill-opacity": 0.6,
        }),
    ]);
  const out: string[] = [];
  let [at, row] = [x, 0];
  for (const [label, swatch] of items) {
    const shown = fitText(label, 11, Math.max(60, width - 26));
    const wide = 24 + measure(shown, 11) + 16;
    if (at + wide - 16 > x + width && at > x) {
      at = x;
      row += 1;
    }
    const middle = y + 8 + row * 18;
    out.push(swatch(at, middle), text(at + 24, middle + 4, shown, { size: 11, fill: colours.ink }));
    at += wide;
  }
  return { svg: out.join(""), height: 18 * (row + 1) + 6 };
}

/** Rings and names of the selected heads, in every series; `hovered` is ringed too. */
export function drawSelection(
  view: Patterns,
  picture: PatternsPicture,
  selected: readonly HeadRef[],
  hovered: string | null,
  colours: Palette,
): string {
  const chosen = new Set(selected.map(headKey));
  const lit = new Set(
    picture.placed.filter(({ key: own }) => own === hovered).map(({ head }) => headKey(head)),
  );
  const shown = picture.placed.filter(({ head }) => chosen.has(headKey(head)) || lit.has(headKey(head)));
  const r = picture.radius + 2;
  const out: string[] = [];
  for (const { head, key: own, series, x, y } of shown) {
    const stroke = chosen.has(headKey(head)) ? colours.selected : colours.ink;
    const ring = { d: shapePath(series, x, y, r), fill: "none" };
    const wide = own === hovered ? 2.6 : 1.8;
    out.push(
      el("path", { ...ring, stroke: colours.surface, "stroke-width": wide + 2 }),
      el("path", { ...ring, stroke, "stroke-width": wide }),
    );
  }
  const named = namer(picture.plot, colours);
  const several = kindsOf(view).length > 1;
  const top = new Map<string, Placed>(); // a head with several points is named at its highest
  for (const point of shown) {
    const own = headKey(point.head);
    if (chosen.has(own) && !((top.get(own)?.y ?? 1e9) <= point.y)) top.set(own, point);
  }
  if (chosen.size <= MOST_NAMES)
    for (const { head, x, y } of top.values()) out.push(named(headName(head, several), x, y, r));
  return out.join("");
}

/** One sentence for a screen reader. */
export function describe(view: Patterns): string {
  const chart = chartOf(view);
  return `${view.title || "Where heads look"}; ${chart ? `${yTitle(chart)} by layer; ` : ""}${headline(view)}`;
}

/** The chart on show as a picture of its own. */
export function draw(content: PatternsDocument, options: DrawOptions, buffer?: Buffer): Picture {
  const view = patternsOf(content, buffer);
  const colours = palette(options.theme);
  const picture = drawPatterns(view, options.width, colours);
  let { height } = picture;
  let body = picture.base + drawSelection(view, picture, view.selected, null, colours);
  if (options.provenance) {
    const note = provenanceNote(view.provenance, 2, height, picture.width - 4, colours);
    body += note.svg;
    height += note.height;
  }
  return frame({ width: picture.width, height, label: fitText(describe(view), 10, 4000), body }, options);
}
