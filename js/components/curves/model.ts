/** Several curves of one metric: ranges, looks and words. */

import { num } from "../../marks/svg.js";
import type { Palette } from "../../theme/palette.js";
import type { CurvePoint, CurvesDocument, IntervalData, NamedCurve } from "../../wire/types.js";
import { changeText, isShare, rangeText, valueText } from "../curve/metric.js";
import { headColor } from "../maps/labels.js";

/** A share of examples is drawn over at least this range. */
const LEAST_SPAN = 0.1;

/** How a line looks: no two of the first eight share colour, dashes or mark. */
export interface Look {
  readonly stroke: string;
  readonly dash: string | undefined;
  /** The mark's outline around x, y. */
  mark(x: number, y: number, r: number): string;
}

const DASHES = [undefined, "8 3", "2 3", "9 3 2 3", "5 2", "12 3", "1 4", "8 3 2 3 2 3"];

const MARKS: readonly ((x: number, y: number, r: number) => string)[] = [
  (x, y, r) =>
    `M${num(x - r)} ${num(y)}a${num(r)} ${num(r)} 0 1 0 ${num(2 * r)} 0a${num(r)} ${num(r)} 0 1 0 ${num(-2 * r)} 0z`,
  (x, y, r) => `M${num(x - 0.9 * r)} ${num(y - 0.9 * r)}h${num(1.8 * r)}v${num(1.8 * r)}h${num(-1.8 * r)}z`,
  (x, y, r) => `M${num(x)} ${num(y - 1.2 * r)}l${num(1.15 * r)} ${num(2.1 * r)}h${num(-2.3 * r)}z`,
  (x, y, r) =>
    `M${num(x)} ${num(y - 1.3 * r)}l${num(1.3 * r)} ${num(1.3 * r)}l${num(-1.3 * r)} ${num(1.3 * r)}l${num(-1.3 * r)} ${num(-1.3 * r)}z`,
  (x, y, r) => `M${num(x)} ${num(y + 1.2 * r)}l${num(1.15 * r)} ${num(-2.1 * r)}h${num(-2.3 * r)}z`,
  (x, y, r) =>
    `M${num(x - r)} ${num(y - r)}l${num(2 * r)} ${num(2 * r)}M${num(x + r)} ${num(y - r)}l${num(-2 * r)} ${num(2 * r)}`,
  (x, y, r) => `M${num(x - 1.2 * r)} ${num(y)}h${num(2.4 * r)}M${num(x)} ${num(y - 1.2 * r)}v${num(2.4 * r)}`,
  (x, y, r) =>
    `M${num(x)} ${num(y - 1.3 * r)}v${num(2.6 * r)}M${num(x - 1.1 * r)} ${num(y - 0.65 * r)}l${num(2.2 * r)} ${num(1.3 * r)}M${num(x - 1.1 * r)} ${num(y + 0.65 * r)}l${num(2.2 * r)} ${num(-1.3 * r)}`,
];

/** Looks of all curves, by place; controls are grey. */
export function looks(document: CurvesDocument, colours: Palette): readonly Look[] {
  let at = 0;
  return document.curves.map((curve) => {
    const place = curve.control ? -1 : at++;
    const mark = MARKS[Math.max(0, place) % MARKS.length] ?? (() => "");
    if (place < 0) return { stroke: colours.muted, dash: "3 3", mark: () => "" };
    return { stroke: headColor(place, colours.name), dash: DASHES[place % DASHES.length], mark };
  });
}

/** A range that holds every curve and its intervals, with some room. */
export function metricRange(document: CurvesDocument): readonly [number, number] {
  const ends: number[] = [];
  for (const { points } of document.curves)
    for (const { estimate } of points) ends.push(estimate.value, estimate.low, estimate.high);
  if (document.baseline !== null) ends.push(document.baseline.value);
  const known = ends.filter(Number.isFinite);
  if (known.length === 0) return [0, 1];
  const share = isShare(document.metric);
  let [low, high] = [Math.min(...known), Math.max(...known)];
  const room = Math.max((high - low) * 0.04, share ? 0.005 : Math.abs(high) * 0.01 || 0.01);
  [low, high] = [low - room, high + room];
  if (!share) return [low, high];
  if (high - low < LEAST_SPAN) {
    high = Math.min(1, (low + high + LEAST_SPAN) / 2);
    low = Math.max(0, high - LEAST_SPAN);
    high = Math.max(high, low + LEAST_SPAN);
  }
  return [Math.max(0, low), Math.min(1, high)];
}

/** "random orders" with what its line and band are. */
export function curveName({ name, control, draws }: NamedCurve): string {
  return control && draws > 1 ? `${name} (mean and 95 % of ${draws})` : name;
}

/** "81.2 % (79.0 to 83.1 %)". */
export function areaText(metric: string, area: IntervalData | null): readonly [string, string] {
  if (area === null) return ["", ""];
  const range = area.low === area.high ? "" : rangeText(metric, area.low, area.high);
  return [valueText(metric, area.value), range];
}

/** Everything that is said of one point. */
export function sentence(
  document: CurvesDocument,
  curve: NamedCurve,
  { count, estimate }: CurvePoint,
): string {
  const { metric, total, x_label } = document;
  const share = total > 0 ? ` (${Math.round((100 * count) / total)} %)` : "";
  const range = rangeText(metric, estimate.low, estimate.high);
  const what = curve.control && curve.draws > 1 ? `95 % of ${curve.draws} orders` : "95 % interval";
  const change = estimate.change === null ? "" : `, change ${changeText(metric, estimate.change)}`;
  return `${curve.name}, ${count} ${x_label}${share}: ${metric} ${valueText(metric, estimate.value)}, ${what} ${range}${change}`;
}

/** The point of a curve whose count is nearest. */
export function pointAt(curve: NamedCurve, count: number): CurvePoint | null {
  let best: CurvePoint | null = null;
  for (const point of curve.points)
    if (best === null || Math.abs(point.count - count) < Math.abs(best.count - count)) best = point;
  return best;
}

/** The next count of a curve in a direction; the same one at its end. */
export function nextCount(curve: NamedCurve, count: number, move: 1 | -1): number {
  const counts = curve.points.map((point) => point.count).sort((a, b) => a - b);
  const ahead = move > 0 ? counts.find((c) => c > count) : counts.filter((c) => c < count).at(-1);
  return ahead ?? pointAt(curve, count)?.count ?? count;
}
