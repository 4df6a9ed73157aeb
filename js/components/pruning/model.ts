// What the slider says: which heads are gone at a position, and what is known of the metric there, in sentences.
import { formatPercent } from "../../marks/format.js";
import type { CurvePoint, EstimateData, HeadRef, PruningDocument } from "../../wire/types.js";
import { changeText, intervalOf, rangeText, valueText } from "../curve/metric.js";
import { thousands } from "../maps/labels.js";

/** A count within what there is to prune. */
export function clampCount(document: PruningDocument, count: number): number {
  if (!Number.isFinite(count)) return 0;
  return Math.max(0, Math.min(document.order.length, Math.round(count)));
}

/** The heads pruned at a count: the first of the order. */
export function prunedAt(document: PruningDocument, count: number): HeadRef[] {
  return document.order.slice(0, clampCount(document, count));
}

/** "24 of 72 heads pruned (33.3 %)". */
export function countText(document: PruningDocument, count: number): string {
  const total = document.order.length;
  if (total === 0) return "The heads are not ranked yet.";
  return `${count} of ${total} heads pruned (${formatPercent(count / total, 1)})`;
}

/** What is known at a count: the full model is the point at 0. */
export function estimateAt(document: PruningDocument, count: number): EstimateData | null {
  const point = document.points.find((one) => one.count === count);
  if (point !== undefined) return point.estimate;
  return count === 0 ? document.baseline : null;
}

/** The sentences of a reading. */
export interface Reading {
  /** "accuracy 95.4 %", or that it is not known. */
  readonly value: string;
  /** The paired change to the full model, with its interval; empty for the full model itself. */
  readonly change: string;
  /** How sure it is. */
  readonly interval: string;
  /** "exact on all 1,200" or "after 300 of 1,200". */
  readonly progress: string;
}

/** Put an estimate into words. `waiting` says whether one is on its way. */
export function readingOf(
  document: PruningDocument,
  count: number,
  estimate: EstimateData | null,
  waiting: boolean,
): Reading {
  const { metric } = document;
  if (estimate === null || !Number.isFinite(estimate.value)) {
    return {
      value: waiting ? `${metric} …` : `${metric} not measured`,
      change: "",
      interval: waiting ? "" : nearestText(document, count),
      progress: waiting ? "estimating" : "",
    };
  }
  const { low, high } = intervalOf(estimate);
  const total = thousands(estimate.total);
  const about = estimate.exact ? "for new data" : `for all ${total}`;
  return {
    value: `${metric} ${valueText(metric, estimate.value)}`,
    change:
      estimate.change === null
        ? count === 0
          ? "the full model"
          : ""
        : `${changeText(metric, estimate.change)} against the full model`,
    interval: `95 % interval ${about}: ${rangeText(metric, low, high)}`,
    progress: estimate.exact ? `exact on all ${total}` : `after ${thousands(estimate.n)} of ${total}`,
  };
}

/** Which measured counts are nearest, where this one is not known. */
function nearestText(document: PruningDocument, count: number): string {
  let below: CurvePoint | null = null;
  let above: CurvePoint | null = null;
  for (const point of document.points) {
    if (point.count <= count && (below === null || point.count > below.count)) below = point;
    if (point.count >= count && (above === null || point.count < above.count)) above = point;
  }
  const near = [below, above].filter((point): point is CurvePoint => point !== null);
  if (near.length === 0) return "";
  const texts = near.map(
    (point) => `${point.count} heads: ${valueText(document.metric, point.estimate.value)}`,
  );
  return `nearest measured: ${[...new Set(texts)].join(", ")}`;
}
