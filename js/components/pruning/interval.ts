// The interval bar: the metric's value with its interval on an axis, beside the full model.
import { bottomAxis } from "../../marks/axes.js";
import { linearScale } from "../../marks/scale.js";
import { el, line, num, rect, text } from "../../marks/svg.js";
import { measure } from "../../marks/text.js";
import type { Palette } from "../../theme/palette.js";
import type { EstimateData, PruningDocument } from "../../wire/types.js";
import { intervalOf, isShare } from "../curve/metric.js";

export const INTERVAL_HEIGHT = 74;

/** Draw the bar; `range` is the metric's range on the axis, kept by the caller so that it does not jump. */
export function drawInterval(
  document: PruningDocument,
  estimate: EstimateData | null,
  range: readonly [number, number],
  width: number,
  colors: Palette,
): string {
  const share = isShare(document.metric);
  const factor = share ? 100 : 1;
  const scale = linearScale([range[0] * factor, range[1] * factor], [10, width - 12]);
  const middle = 24;
  const parts = [rect(10, middle - 6, width - 22, 12, { fill: colors.faint, rx: 2 })];
  if (estimate !== null && Number.isFinite(estimate.value)) {
    const { low, high } = intervalOf(estimate);
    const [from, to] = [scale(low * factor), scale(high * factor)];
    const at = scale(estimate.value * factor);
    if (Number.isFinite(from) && Number.isFinite(to)) {
      parts.push(
        rect(from, middle - 6, Math.max(1, to - from), 12, {
          fill: colors.series[0],
          "fill-opacity": estimate.exact ? 0.45 : 0.3,
          stroke: colors.series[0],
          "stroke-dasharray": estimate.exact ? undefined : "3 2",
        }),
      );
    }
    parts.push(line(at, middle - 9, at, middle + 9, { stroke: colors.ink, "stroke-width": 2.5 }));
  }
  if (document.baseline !== null && Number.isFinite(document.baseline.value)) {
    const at = scale(document.baseline.value * factor);
    const label = "full model";
    const half = measure(label, 10) / 2;
    const x = Math.max(10 + half, Math.min(width - 12 - half, at));
    parts.push(
      el("path", { d: `M${num(at)} ${num(middle - 7)}l-4 -6h8z`, fill: colors.muted }),
      text(x, middle - 15, label, { size: 10, fill: colors.muted, anchor: "middle" }),
    );
  }
  const title = share ? `${document.metric} (%)` : document.metric;
  parts.push(bottomAxis(scale, middle + 14, { title, palette: colors, size: 10 }));
  return parts.join("");
}
