// A metric's values, changes and intervals for readers. Accuracies are written in percent, their changes in points.
import { formatNumber } from "../../marks/format.js";
import type { EstimateData, IntervalData } from "../../wire/types.js";

/** Whether a metric is a share of examples. */
export function isShare(metric: string): boolean {
  return /accuracy|(^|_)acc$/i.test(metric);
}

function minus(text: string): string {
  return text.replace("-", "−");
}

/** "95.4 %", or a plain number for other metrics. */
export function valueText(metric: string, value: number): string {
  if (!Number.isFinite(value)) return "not measured";
  return isShare(metric) ? `${minus((100 * value).toFixed(1))} %` : formatNumber(value, 4);
}

/** "94.1 to 96.5 %". */
export function rangeText(metric: string, low: number, high: number): string {
  if (!Number.isFinite(low) || !Number.isFinite(high)) return "not known";
  if (!isShare(metric)) return `${formatNumber(low, 4)} to ${formatNumber(high, 4)}`;
  return `${minus((100 * low).toFixed(1))} to ${minus((100 * high).toFixed(1))} %`;
}

/** "−1.8 points (−2.9 to −0.7)". */
export function changeText(metric: string, change: IntervalData): string {
  const share = isShare(metric);
  const one = (value: number): string => {
    const text = share ? (100 * value).toFixed(1) : formatNumber(value, 3);
    const plain = minus(text).replace(/^−(0(\.0+)?)$/, "$1");
    return value > 0 && !/^0(\.0+)?$/.test(plain) ? `+${plain}` : plain;
  };
  const unit = share ? " points" : "";
  return `${one(change.value)}${unit} (${one(change.low)} to ${one(change.high)})`;
}

/** The interval that a reader should see: for the set while unfinished, for new data once exact. */
export function intervalOf(estimate: EstimateData): { readonly low: number; readonly high: number } {
  return estimate.exact
    ? { low: estimate.low, high: estimate.high }
    : { low: estimate.partial_low, high: estimate.partial_high };
}
