/** Where points lie, what the numbers say, and what choosing does. */

import { counted, formatEstimate } from "../../marks/format.js";
import { linearScale, type Scale } from "../../marks/scale.js";
import { type Buffer, decodeShaped } from "../../wire/decode.js";
import type { ArrayRef, HeadRef, IntervalData, KindName, ScatterDocument } from "../../wire/types.js";
import { headKey } from "../grid/selection.js";
import { type PlacedHead, severalKinds } from "../points/model.js";

/** One head, measured twice; an error is null where it is not known. */
export interface ScatterPoint {
  readonly head: HeadRef;
  readonly x: number;
  readonly y: number;
  readonly x_error: number | null;
  readonly y_error: number | null;
}

/** A document with its arrays decoded. */
export interface Scatter extends Omit<ScatterDocument, "heads" | "x" | "y" | "x_error" | "y_error"> {
  readonly points: readonly ScatterPoint[];
}

const KINDS: readonly KindName[] = ["encoder", "decoder", "cross"];

export function scatterOf(document: ScatterDocument, buffer?: Buffer): Scatter {
  const { heads, x, y, x_error, y_error, ...rest } = document;
  const count = heads.shape[0] ?? 0;
  const places = decodeShaped(heads, [count, 3], "heads", buffer);
  const numbers = (ref: ArrayRef | null, what: string) =>
    ref === null ? null : decodeShaped(ref, [count], what, buffer);
  const [xs, ys] = [numbers(x, "x"), numbers(y, "y")];
  const errors = [numbers(x_error, "errors of x"), numbers(y_error, "errors of y")];
  const points: ScatterPoint[] = [];
  for (let i = 0; i < count; i++) {
    const [kind, value, other] = [KINDS[places[3 * i] ?? 0], xs?.[i] ?? Number.NaN, ys?.[i] ?? Number.NaN];
    if (kind === undefined || !Number.isFinite(value) || !Number.isFinite(other))
      throw new Error(`scatter: point ${i} is no head with two finite numbers`);
    const [x_error = null, y_error = null] = errors.map((found) => {
      const error = found?.[i] ?? Number.NaN;
      return Number.isFinite(error) ? error : null;
    });
    points.push({
      head: [kind, places[3 * i + 1] ?? 0, places[3 * i + 2] ?? 0],
      x: value,
      y: other,
      x_error,
      y_error,
    });
  }
  return { ...rest, points };
}

export interface Placed extends PlacedHead {
  readonly point: ScatterPoint;
}

/** "name (unit)". */
export function axisTitle(name: string, unit: string): string {
  return unit === "" ? name : `${name} (${unit})`;
}

function number(value: number): string {
  const text = value.toFixed(2).replace("-", "−");
  return text === "−0.00" ? "0.00" : text;
}

/** "0.62 (0.51 to 0.71)". */
export function intervalText({ value, low, high }: IntervalData): string {
  return low === high ? number(value) : `${number(value)} (${number(low)} to ${number(high)})`;
}

/** Pearson's r with its interval: the line over the picture. */
export function headline(document: Scatter): string {
  const { correlation, missing } = document;
  const left = missing > 0 ? `, ${missing} not measured` : "";
  return `r = ${intervalText(correlation.pearson)}, ${counted(correlation.heads, "head")}${left}`;
}

/** What else is known of the agreement. */
export function details(document: Scatter): string {
  const { spearman, within_layers, ceiling } = document.correlation;
  return [
    `Spearman ${intervalText(spearman)}`,
    within_layers === null ? "" : `within layers ${intervalText(within_layers)}`,
    ceiling === null ? "" : `r at most ${intervalText(ceiling)}, as far as each agrees with itself`,
  ]
    .filter((part) => part !== "")
    .join(" · ");
}

/** What the interval is over. */
export function footnote(document: Scatter): string {
  return `95 % intervals, bootstrap over ${document.correlation.resampled}`;
}

/** Everything that is said of one head. */
export function sentence(document: Scatter, { head, x, y, x_error, y_error }: ScatterPoint): string {
  const kind = severalKinds(document.points) ? `${head[0]} ` : "";
  const one = formatEstimate(x, x_error, document.x_unit);
  const other = formatEstimate(y, y_error, document.y_unit);
  return `${kind}layer ${head[1]} head ${head[2]}: ${document.x_name} ${one}; ${document.y_name} ${other}`;
}

/** A range around all values, with room for the marks; 0 is part of it where it is near. */
export function rangeOf(
  values: readonly number[],
  errors: readonly (number | null)[],
): readonly [number, number] {
  let low = Number.POSITIVE_INFINITY;
  let high = Number.NEGATIVE_INFINITY;
  values.forEach((value, i) => {
    const error = errors[i] ?? 0;
    low = Math.min(low, value - error);
    high = Math.max(high, value + error);
  });
  if (!(low <= high)) return [0, 1];
  const span = high - low || Math.abs(high) || 1;
  if (low > 0 && low < span * 0.15) low = 0;
  if (high < 0 && -high < span * 0.15) high = 0;
  return [low === 0 ? -0.02 * span : low - 0.05 * span, high === 0 ? 0.02 * span : high + 0.05 * span];
}

/** Most points whose error bars can be told apart. */
export const MOST_BARS = 200;

export function showsBars(document: Scatter): boolean {
  return document.points.length <= MOST_BARS;
}

export interface Scales {
  readonly x: Scale;
  readonly y: Scale;
}

/** Domains of both axes; error bars count where they are drawn. */
export function domains(document: Scatter): readonly [readonly [number, number], readonly [number, number]] {
  const { points } = document;
  const bars = showsBars(document);
  return [
    rangeOf(
      points.map(({ x }) => x),
      bars ? points.map(({ x_error }) => x_error) : [],
    ),
    rangeOf(
      points.map(({ y }) => y),
      bars ? points.map(({ y_error }) => y_error) : [],
    ),
  ];
}

/** Whether a line "both are equal" says something: the same unit, and ranges of one size. */
export function isComparable(document: Scatter): boolean {
  if (document.x_unit === "" || document.x_unit !== document.y_unit) return false;
  const [x, y] = domains(document);
  const [wide, high] = [x[1] - x[0], y[1] - y[0]];
  const overlap = Math.min(x[1], y[1]) - Math.max(x[0], y[0]);
  return Math.max(wide, high) < 5 * Math.min(wide, high) && overlap > 0.3 * Math.min(wide, high);
}

/** Least squares of y on x; null where the interval of r holds 0, so that no line suggests what is not known. */
export function regression(document: Scatter): { readonly slope: number; readonly start: number } | null {
  const { low, high } = document.correlation.pearson;
  if (!(low > 0 || high < 0)) return null;
  const { points } = document;
  const meanX = points.reduce((sum, { x }) => sum + x, 0) / points.length;
  const meanY = points.reduce((sum, { y }) => sum + y, 0) / points.length;
  let [crossed, squared] = [0, 0];
  for (const { x, y } of points) {
    crossed += (x - meanX) * (y - meanY);
    squared += (x - meanX) ** 2;
  }
  if (!(squared > 0)) return null;
  const slope = crossed / squared;
  return { slope, start: meanY - slope * meanX };
}

export function place(document: Scatter, { x, y }: Scales): readonly Placed[] {
  return document.points.map((point) => ({
    point,
    head: point.head,
    key: headKey(point.head),
    x: x(point.x),
    y: y(point.y),
  }));
}

export function scalesOf(
  document: Scatter,
  horizontal: readonly [number, number],
  vertical: readonly [number, number],
): Scales {
  const [x, y] = domains(document);
  return { x: linearScale(x, horizontal), y: linearScale(y, vertical) };
}
