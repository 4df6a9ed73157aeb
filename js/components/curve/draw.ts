/** A metric against the number of pruned heads: points with their interval, the full model, where the slider stands. */

import { bottomAxis, leftAxis, leftAxisWidth } from "../../marks/axes.js";
import { type DrawOptions, frame, type Picture } from "../../marks/picture.js";
import { linearScale, niceTicks, type Scale } from "../../marks/scale.js";
import { el, line, num, rect, text } from "../../marks/svg.js";
import { fitText, measure } from "../../marks/text.js";
import { type Palette, palette } from "../../theme/palette.js";
import type { CurvePoint, PruningDocument } from "../../wire/types.js";
import { thousands } from "../maps/labels.js";
import { intervalOf, isShare, valueText } from "./metric.js";

export interface CurveBody {
  readonly svg: string;
  readonly width: number;
  readonly height: number;
}

const TOP = 42;
const BOTTOM = 36;
const KEY = 34;
/** A share of examples is drawn over at least this range. */
const LEAST_SPAN = 0.1;

/** Range of the metric that holds every interval, with some room. */
export function metricRange(document: PruningDocument): readonly [number, number] {
  const ends: number[] = [];
  for (const { estimate } of document.points) {
    ends.push(estimate.value, estimate.low, estimate.high, estimate.partial_low, estimate.partial_high);
  }
  if (document.baseline !== null)
    ends.push(document.baseline.value, document.baseline.low, document.baseline.high);
  const known = ends.filter(Number.isFinite);
  const share = isShare(document.metric);
  if (known.length === 0) return [0, 1];
  let low = Math.min(...known);
  let high = Math.max(...known);
  const pad = Math.max((high - low) * 0.06, share ? 0.01 : Math.abs(high) * 0.01 || 0.01);
  low -= pad;
  high += pad;
  if (share && high - low < LEAST_SPAN) {
    // A hair's breadth of accuracy must not look like a landslide while one point is known.
    high = Math.min(1, Math.max(high, (low + high + LEAST_SPAN) / 2));
    low = Math.max(0, Math.min(low, high - LEAST_SPAN));
    high = Math.max(high, low + LEAST_SPAN);
  }
  return share ? [Math.max(0, low), Math.min(1.0, high)] : [low, high];
}

/** The chart alone. */
export function curveBody(
  document: PruningDocument,
  width: number,
  height: number,
  colors: Palette,
): CurveBody {
  const total = Math.max(1, document.order.length);
  const share = isShare(document.metric);
  const factor = share ? 100 : 1;
  const [low, high] = metricRange(document);
  const yTitle = share ? `${document.metric} (%)` : document.metric;
  const bottom = height - BOTTOM - KEY;
  const yScale = linearScale([low * factor, high * factor], [bottom, TOP]);
  const left = leftAxisWidth(yScale, { title: yTitle }) + 2;
  const right = width - 14;
  const xScale = linearScale([0, total], [left, right]);
  const parts: string[] = [
    leftAxis(yScale, left, { title: yTitle, palette: colors, grid: right - left }),
    bottomAxis(xScale, bottom, {
      title: "heads pruned",
      palette: colors,
      count: Math.min(total, Math.max(2, Math.floor((right - left) / 56))),
    }),
    ratioAxis(xScale, total, TOP, colors),
  ];
  const points = [...document.points].sort((a, b) => a.count - b.count);
  parts.push(band(points, xScale, yScale, factor, colors));
  if (document.baseline !== null) {
    const y = yScale(document.baseline.value * factor);
    parts.push(
      line(left, y, right, y, { stroke: colors.muted, "stroke-width": 1.2, "stroke-dasharray": "5 4" }),
    );
  }
  parts.push(series(points, xScale, yScale, factor, colors));
  parts.push(current(document, points, xScale, yScale, factor, bottom, colors));
  parts.push(key(document, left, height - KEY + 8, right - left, colors));
  return { svg: parts.join(""), width, height };
}

/** The same positions as a share of all heads, above the plot. */
function ratioAxis(x: Scale, total: number, y: number, colors: Palette): string {
  const [left, right] = x.range;
  const ticks = niceTicks(0, 100, right - left > 260 ? 5 : 2);
  const parts = [
    line(left, y, right, y, { stroke: colors.line }),
    text((left + right) / 2, y - 26, "share of heads pruned (%)", { fill: colors.ink, anchor: "middle" }),
  ];
  for (const value of ticks.values) {
    const at = x((value / 100) * total);
    parts.push(
      line(at, y - 4, at, y, { stroke: colors.line }),
      text(at, y - 8, String(value), { size: 11, fill: colors.muted, anchor: "middle" }),
    );
  }
  return parts.join("");
}

function band(points: readonly CurvePoint[], x: Scale, y: Scale, factor: number, colors: Palette): string {
  const known = points.filter(
    ({ estimate }) => Number.isFinite(estimate.low) && Number.isFinite(estimate.high),
  );
  if (known.length < 2) return "";
  const upper = known.map(({ count, estimate }) => `${num(x(count))} ${num(y(estimate.high * factor))}`);
  const lower = known
    .map(({ count, estimate }) => `${num(x(count))} ${num(y(estimate.low * factor))}`)
    .reverse();
  return el("path", {
    d: `M${upper.join("L")}L${lower.join("L")}Z`,
    fill: colors.series[0],
    "fill-opacity": 0.18,
  });
}

function series(points: readonly CurvePoint[], x: Scale, y: Scale, factor: number, colors: Palette): string {
  const known = points.filter(({ estimate }) => Number.isFinite(estimate.value));
  const stroke = colors.series[0];
  const parts: string[] = [];
  if (known.length > 1) {
    const path = known.map(({ count, estimate }) => `${num(x(count))} ${num(y(estimate.value * factor))}`);
    parts.push(el("path", { d: `M${path.join("L")}`, fill: "none", stroke, "stroke-width": 1.8 }));
  }
  const radius = known.length > 40 ? 1.8 : 3;
  for (const { count, estimate } of known) {
    const cx = x(count);
    const cy = y(estimate.value * factor);
    if (!estimate.exact) {
      const { low, high } = intervalOf(estimate);
      const [from, to] = [y(high * factor), y(low * factor)];
      parts.push(
        el("path", {
          d: `M${num(cx - 3)} ${num(from)}h6M${num(cx)} ${num(from)}V${num(to)}M${num(cx - 3)} ${num(to)}h6`,
          fill: "none",
          stroke,
        }),
      );
    }
    parts.push(
      el("circle", {
        cx,
        cy,
        r: radius,
        fill: estimate.exact ? stroke : colors.surface,
        stroke,
        "stroke-width": 1.5,
      }),
    );
  }
  return parts.join("");
}

function current(
  document: PruningDocument,
  points: readonly CurvePoint[],
  x: Scale,
  y: Scale,
  factor: number,
  bottom: number,
  colors: Palette,
): string {
  const at = x(document.count);
  const point = points.find(({ count }) => count === document.count);
  const parts = [line(at, TOP, at, bottom, { stroke: colors.selected, "stroke-width": 1.2 })];
  if (point !== undefined && Number.isFinite(point.estimate.value)) {
    const cy = y(point.estimate.value * factor);
    parts.push(
      el("circle", { cx: at, cy, r: 6, fill: "none", stroke: colors.surface, "stroke-width": 4 }),
      el("circle", { cx: at, cy, r: 6, fill: "none", stroke: colors.selected, "stroke-width": 2 }),
    );
  }
  return parts.join("");
}

/** What the marks mean, in one line or two. */
function key(document: PruningDocument, x: number, y: number, width: number, colors: Palette): string {
  const parts: string[] = [];
  let at = x;
  let row = 0;
  const add = (swatch: (x: number, y: number) => string, label: string): void => {
    const wide = 22 + measure(label, 11) + 14;
    if (at + wide > x + width && at > x) {
      at = x;
      row += 1;
    }
    const middle = y + 4 + row * 15;
    parts.push(
      swatch(at, middle),
      text(at + 22, middle + 4, fitText(label, 11, width), { size: 11, fill: colors.muted }),
    );
    at += wide;
  };
  if (document.baseline !== null) {
    add(
      (left, middle) =>
        line(left, middle, left + 17, middle, {
          stroke: colors.muted,
          "stroke-width": 1.2,
          "stroke-dasharray": "5 4",
        }),
      `full model ${valueText(document.metric, document.baseline.value)}`,
    );
  }
  add(
    (left, middle) => rect(left, middle - 5, 17, 10, { fill: colors.series[0], "fill-opacity": 0.18 }),
    "95 % interval for new data",
  );
  const partial = document.points.find(({ estimate }) => !estimate.exact);
  if (partial !== undefined) {
    add(
      (left, middle) =>
        el("circle", {
          cx: left + 8,
          cy: middle,
          r: 3,
          fill: colors.surface,
          stroke: colors.series[0],
          "stroke-width": 1.5,
        }),
      `part of the ${thousands(partial.estimate.total)} examples`,
    );
  }
  add(
    (left, middle) =>
      line(left + 8, middle - 6, left + 8, middle + 6, { stroke: colors.selected, "stroke-width": 1.5 }),
    `${document.count} pruned`,
  );
  return parts.join("");
}

/** The curve as a picture of its own. */
export function draw(document: PruningDocument, options: DrawOptions): Picture {
  const colors = palette(options.theme);
  const width = Math.max(260, options.width);
  const height = Math.round(Math.max(260, Math.min(380, width * 0.62)));
  const body = curveBody(document, width, height, colors);
  return frame(
    { ...body, label: `${document.metric} against the number of pruned heads`, body: body.svg },
    options,
  );
}
