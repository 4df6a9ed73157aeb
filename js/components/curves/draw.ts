/** Several curves on one chart: lines told apart by colour, dashes and marks, random orders as a grey band behind. */

import { bottomAxis, leftAxis, leftAxisWidth } from "../../marks/axes.js";
import { type DrawOptions, frame, type Picture, provenanceNote } from "../../marks/picture.js";
import { linearScale, niceTicks, type Scale } from "../../marks/scale.js";
import { el, line, num, rect, text } from "../../marks/svg.js";
import { fitText, measure, wrap } from "../../marks/text.js";
import { type Palette, palette } from "../../theme/palette.js";
import type { CurvePoint, CurvesDocument, NamedCurve } from "../../wire/types.js";
import { isShare, valueText } from "../curve/metric.js";
import { areaText, curveName, type Look, looks, metricRange } from "./model.js";

const MOST_WIDTH = 860;
const SWATCH = 34;
const ROW = 19;

/** What is pointed at: a curve by its place, and a count on it. */
export interface Pointed {
  readonly curve: number;
  readonly count: number | null;
}

export interface CurvesPicture {
  readonly width: number;
  readonly height: number;
  readonly svg: string;
  readonly x: Scale;
  readonly y: Scale;
  /** 100 for shares: what a value is multiplied by on the axis. */
  readonly factor: number;
  /** Left, top, right, bottom of the plot. */
  readonly plot: readonly [number, number, number, number];
  /** Left, top, width, height of each curve's row in the legend. */
  readonly rows: readonly (readonly [number, number, number, number])[];
}

export function drawCurves(
  document: CurvesDocument,
  room: number,
  colours: Palette,
  pointed: Pointed | null = null,
): CurvesPicture {
  const width = Math.max(280, Math.min(MOST_WIDTH, room));
  const factor = isShare(document.metric) ? 100 : 1;
  const out: string[] = [];
  let top = 4;
  if (document.title !== "") {
    out.push(
      text(2, 17, fitText(document.title, 14, width - 4, true), { size: 14, fill: colours.ink, bold: true }),
    );
    top = 26;
  }
  top += 38;
  const bottom = top + Math.round(Math.max(200, Math.min(360, width * 0.48)));
  const [low, high] = metricRange(document);
  const y = linearScale([low * factor, high * factor], [bottom, top]);
  const yTitle = factor === 100 ? `${document.metric} (%)` : document.metric;
  const left = leftAxisWidth(y, { title: yTitle }) + 2;
  const right = width - 14;
  const total = Math.max(1, document.total);
  const x = linearScale([0, total], [left, right]);
  out.push(
    leftAxis(y, left, { title: yTitle, palette: colours, grid: right - left }),
    bottomAxis(x, bottom, {
      title: document.x_label,
      palette: colours,
      count: Math.min(total, Math.max(2, Math.floor((right - left) / 56))),
    }),
    shareAxis(x, total, top, document.x_label, colours),
  );
  if (document.baseline !== null) {
    const at = y(document.baseline.value * factor);
    out.push(
      line(left, at, right, at, { stroke: colours.muted, "stroke-width": 1.2, "stroke-dasharray": "5 4" }),
    );
  }
  const styles = looks(document, colours);
  const place = { x, y, factor };
  document.curves.forEach((curve, i) => {
    if (curve.control && curve.draws > 1) out.push(band(curve.points, place, colours.line, 0.28));
    else if (pointed?.curve === i)
      out.push(band(curve.points, place, styles[i]?.stroke ?? colours.line, 0.2));
  });
  document.curves.forEach((curve, i) => {
    const look = styles[i];
    if (!look || pointed?.curve === i) return;
    const body = series(curve, look, place, colours, 1.8);
    out.push(pointed === null || curve.control ? body : el("g", { opacity: 0.35 }, body));
  });
  const above = pointed === null ? undefined : document.curves[pointed.curve];
  const look = pointed === null ? undefined : styles[pointed.curve];
  if (pointed !== null && above !== undefined && look !== undefined) {
    out.push(series(above, look, place, colours, 2.6));
    const point = above.points.find(({ count }) => count === pointed.count);
    if (point) out.push(cursor(point, place, bottom, top, colours));
  }
  const under = legend(document, styles, bottom + 44, width, colours, pointed);
  out.push(under.svg);
  let height = under.bottom;
  for (const part of document.note === "" ? [] : wrap(document.note, 11, width - 8, 6)) {
    height += 15;
    out.push(text(2, height, part, { size: 11, fill: colours.muted }));
  }
  return {
    width,
    height: height + 6,
    svg: out.join(""),
    x,
    y,
    factor,
    plot: [left, top, right, bottom],
    rows: under.rows,
  };
}

interface Place {
  readonly x: Scale;
  readonly y: Scale;
  readonly factor: number;
}

/** The same positions as a share of what is counted, above the plot. */
function shareAxis(x: Scale, total: number, y: number, label: string, colours: Palette): string {
  const [left, right] = x.range;
  const ticks = niceTicks(0, 100, right - left > 260 ? 5 : 2);
  const title = label === "heads pruned" ? "share of heads pruned (%)" : "share (%)";
  const out = [
    line(left, y, right, y, { stroke: colours.line }),
    text((left + right) / 2, y - 26, title, { fill: colours.ink, anchor: "middle" }),
  ];
  for (const value of ticks.values) {
    const at = x((value / 100) * total);
    out.push(
      line(at, y - 4, at, y, { stroke: colours.line }),
      text(at, y - 8, String(value), { size: 11, fill: colours.muted, anchor: "middle" }),
    );
  }
  return out.join("");
}

function band(points: readonly CurvePoint[], { x, y, factor }: Place, fill: string, opacity: number): string {
  const known = points.filter(
    ({ estimate }) => Number.isFinite(estimate.low) && Number.isFinite(estimate.high),
  );
  if (known.length < 2) return "";
  const upper = known.map(({ count, estimate }) => `${num(x(count))} ${num(y(estimate.high * factor))}`);
  const lower = known.map(({ count, estimate }) => `${num(x(count))} ${num(y(estimate.low * factor))}`);
  return el("path", {
    d: `M${upper.join("L")}L${lower.reverse().join("L")}Z`,
    fill,
    "fill-opacity": opacity,
  });
}

function series(curve: NamedCurve, look: Look, place: Place, colours: Palette, width: number): string {
  const { x, y, factor } = place;
  const known = curve.points.filter(({ estimate }) => Number.isFinite(estimate.value));
  const at = known.map(({ count, estimate }) => [x(count), y(estimate.value * factor)] as const);
  const out: string[] = [];
  if (at.length > 1) {
    const d = `M${at.map(([left, top]) => `${num(left)} ${num(top)}`).join("L")}`;
    out.push(
      el("path", {
        d,
        fill: "none",
        stroke: look.stroke,
        "stroke-width": width,
        "stroke-dasharray": look.dash,
        "stroke-linejoin": "round",
      }),
    );
  }
  const every = Math.max(1, Math.ceil(at.length / 26));
  const marks = at
    .filter((_, i) => i % every === 0 || i === at.length - 1)
    .map(([left, top]) => look.mark(left, top, 3.4))
    .join("");
  if (marks !== "")
    out.push(el("path", { d: marks, fill: colours.surface, stroke: look.stroke, "stroke-width": 1.6 }));
  return out.join("");
}

function cursor(
  { count, estimate }: CurvePoint,
  place: Place,
  bottom: number,
  top: number,
  colours: Palette,
): string {
  const [at, level] = [place.x(count), place.y(estimate.value * place.factor)];
  return [
    line(at, top, at, bottom, { stroke: colours.selected, "stroke-width": 1 }),
    el("circle", { cx: at, cy: level, r: 7, fill: "none", stroke: colours.surface, "stroke-width": 4 }),
    el("circle", { cx: at, cy: level, r: 7, fill: "none", stroke: colours.selected, "stroke-width": 2 }),
  ].join("");
}

/** One row per curve: its line, its name, the area under it with its interval. */
function legend(
  document: CurvesDocument,
  styles: readonly Look[],
  top: number,
  width: number,
  colours: Palette,
  pointed: Pointed | null,
): { svg: string; bottom: number; rows: [number, number, number, number][] } {
  const names = document.curves.map(curveName);
  const areas = document.curves.map(({ area }) => areaText(document.metric, area));
  const hasAreas = areas.some(([value]) => value !== "");
  const valueWide = Math.max(0, ...areas.map(([value]) => measure(value, 12, true)));
  const rangeWide = Math.max(0, ...areas.map(([, range]) => measure(range, 12)));
  const numbers = hasAreas ? valueWide + rangeWide + 28 : 0;
  const nameRoom = Math.max(60, width - SWATCH - 16 - numbers);
  const nameWide = Math.min(nameRoom, Math.max(0, ...names.map((name) => measure(name, 12, true))));
  const valueEnd = SWATCH + 10 + nameWide + 20 + valueWide;
  const out: string[] = [];
  let y = top;
  if (hasAreas) {
    const title = "area under the curve (mean height), 95 % interval";
    out.push(text(2, y + 11, fitText(title, 11, width - 4), { size: 11, fill: colours.muted }));
    y += ROW - 1;
  }
  const rows: [number, number, number, number][] = [];
  document.curves.forEach((curve, i) => {
    const look = styles[i];
    if (!look) return;
    const middle = y + ROW / 2;
    if (curve.control && curve.draws > 1)
      out.push(rect(2, middle - 6, SWATCH - 4, 12, { fill: colours.line, "fill-opacity": 0.28 }));
    const bold = pointed?.curve === i;
    out.push(
      line(2, middle, SWATCH - 2, middle, {
        stroke: look.stroke,
        "stroke-width": bold ? 2.6 : 1.8,
        "stroke-dasharray": look.dash,
      }),
    );
    const mark = look.mark(SWATCH / 2, middle, 3.4);
    if (mark !== "")
      out.push(el("path", { d: mark, fill: colours.surface, stroke: look.stroke, "stroke-width": 1.6 }));
    const name = fitText(names[i] ?? "", 12, nameWide + 1, bold);
    out.push(text(SWATCH + 8, middle + 4, name, { fill: colours.ink, bold }));
    const [value, range] = areas[i] ?? ["", ""];
    if (value !== "") {
      out.push(text(valueEnd, middle + 4, value, { fill: colours.ink, anchor: "end", bold }));
      if (range !== "") out.push(text(valueEnd + 10, middle + 4, range, { fill: colours.muted }));
    }
    rows.push([0, y, Math.min(width, valueEnd + (hasAreas ? 14 + rangeWide : 0)), ROW]);
    y += ROW;
  });
  if (document.baseline !== null) {
    const middle = y + ROW / 2;
    const label = `full model ${valueText(document.metric, document.baseline.value)}`;
    out.push(
      line(2, middle, SWATCH - 2, middle, {
        stroke: colours.muted,
        "stroke-width": 1.2,
        "stroke-dasharray": "5 4",
      }),
      text(SWATCH + 8, middle + 4, label, { fill: colours.ink }),
    );
    y += ROW;
  }
  return { svg: out.join(""), bottom: y + 2, rows };
}

/** One sentence for a screen reader. */
export function describe(document: CurvesDocument): string {
  const listed = document.curves.map(({ name, area }) => {
    const [value] = areaText(document.metric, area);
    return value === "" ? name : `${name} (area ${value})`;
  });
  return `${document.title === "" ? "" : `${document.title}: `}${document.metric} against ${document.x_label}: ${listed.join(", ")}`;
}

/** The curves as a picture of their own. */
export function draw(document: CurvesDocument, options: DrawOptions): Picture {
  const colours = palette(options.theme);
  const picture = drawCurves(document, options.width, colours);
  let { height, svg: body } = picture;
  if (options.provenance) {
    const note = provenanceNote(document.provenance, 2, height, picture.width - 4, colours);
    body += note.svg;
    height += note.height;
  }
  return frame({ width: picture.width, height, label: fitText(describe(document), 10, 4000), body }, options);
}
