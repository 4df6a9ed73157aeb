/** Scatters and curves for tests and pictures, from a seeded generator. */

import type {
  CurvesDocument,
  HeadRef,
  IntervalData,
  KindName,
  NamedCurve,
  ScatterDocument,
} from "../wire/types.js";
import { estimate, packed } from "./views.js";

export const HOSTILE_TEXT =
  "</script><img src=x onerror=alert(1)> żółć 漢字 \u0000 ]]> &amp; a name that does not end";

/** Numbers in [0, 1): a linear congruential generator. */
export function numbers(seed: number): () => number {
  let state = seed + 1;
  return () => {
    state = (1664525 * state + 1013904223) % 2 ** 32;
    return state / 2 ** 32;
  };
}

function interval(value: number, half: number): IntervalData {
  return { value, low: value - half, high: value + half };
}

export interface ScatterOptions {
  readonly kinds?: readonly KindName[];
  readonly errors?: boolean;
  readonly hostile?: boolean;
  readonly selected?: readonly HeadRef[];
  readonly unit?: string;
}

/** Points as the arrays of a document. */
export function packedPoints(
  points: readonly { head: HeadRef; x: number; y: number; x_error?: number; y_error?: number }[],
  errors: boolean,
): Pick<ScatterDocument, "heads" | "x" | "y" | "x_error" | "y_error"> {
  const shape = [points.length];
  const kinds = ["encoder", "decoder", "cross"];
  const column = (of: (point: (typeof points)[number]) => number) =>
    packed(Float32Array.from(points, of), shape);
  return {
    heads: packed(
      Int32Array.from(
        points.flatMap(({ head: [kind, layer, index] }) => [kinds.indexOf(kind), layer, index]),
      ),
      [points.length, 3],
    ),
    x: column(({ x }) => x),
    y: column(({ y }) => y),
    x_error: errors ? column(({ x_error = Number.NaN }) => x_error) : null,
    y_error: errors ? column(({ y_error = Number.NaN }) => y_error) : null,
  };
}

/** Scores of two tasks, most heads near 0 and few far out, as importances are. */
export function scatterDocument(layers = 12, heads = 12, options: ScatterOptions = {}): ScatterDocument {
  const {
    kinds = ["encoder"],
    errors = true,
    hostile = false,
    selected = [],
    unit = "probability",
  } = options;
  const next = numbers(7);
  const points: { head: HeadRef; x: number; y: number; x_error: number; y_error: number }[] = [];
  for (const kind of kinds)
    for (let layer = 0; layer < layers; layer++)
      for (let index = 0; index < heads; index++) {
        const base = -Math.log(1 - next()) * 0.012 * (1 + layer / layers);
        const x = base * (0.6 + 0.8 * next());
        const y = base * (0.5 + next()) + 0.002 * next();
        const [x_error, y_error] = [0.06 * x + 5e-4, 0.08 * y + 5e-4];
        points.push({ head: [kind, layer, index], x, y, x_error, y_error });
      }
  return {
    schema: 1,
    document: "scatter",
    title: hostile ? HOSTILE_TEXT : "",
    x_name: hostile ? HOSTILE_TEXT : "SST-2",
    y_name: hostile ? HOSTILE_TEXT : "MRPC",
    x_unit: unit,
    y_unit: unit,
    ...packedPoints(points, errors),
    missing: hostile ? 3 : 0,
    correlation: {
      pearson: interval(0.71, 0.08),
      spearman: interval(0.66, 0.09),
      within_layers: interval(0.58, 0.1),
      ceiling: errors ? interval(0.93, 0.02) : null,
      heads: points.length,
      resampled: hostile ? HOSTILE_TEXT : "heads, and examples in 32 groups",
    },
    selected,
    provenance: {
      model: "fixture/encoder-small",
      version: "0.1.0",
      settings: { seed: 0, method: "correlation" },
    },
  };
}

const NAMES = [
  "attribution",
  "Taylor",
  "relevance (LRP)",
  "ablation, accuracy",
  "confidence",
  "patching",
  "attention",
];

/** Curves of several rankings, with the band of random orders. */
export function curvesDocument(
  count = 6,
  options: { hostile?: boolean; metric?: string } = {},
): CurvesDocument {
  const { hostile = false, metric = "accuracy" } = options;
  const next = numbers(3);
  const total = 144;
  const steps = Array.from({ length: 13 }, (_, i) => i * 12);
  const height = (share: number, strength: number) => 0.52 + 0.4 / (1 + Math.exp(9 * (share - strength)));
  const curve = (name: string, strength: number, noise: number, control: boolean): NamedCurve => {
    const points = steps.map((at) => {
      const share = at / total;
      const value = height(share, strength) + (at === 0 || at === total ? 0 : noise * (next() - 0.5));
      return {
        count: at,
        estimate: estimate(value, 872, 872, at === 0 ? null : value - height(0, strength)),
      };
    });
    const area = points.reduce((sum, { estimate: { value } }) => sum + value, 0) / points.length;
    return { name, points, control, area: interval(area, 0.012), draws: control ? 20 : 1 };
  };
  return {
    schema: 1,
    document: "curves",
    title: hostile ? HOSTILE_TEXT : "",
    metric: hostile ? HOSTILE_TEXT : metric,
    x_label: hostile ? HOSTILE_TEXT : "heads pruned",
    total,
    baseline: estimate(height(0, 0.6), 872, 872, null),
    curves: [
      curve("random orders", 0.42, 0.02, true),
      ...Array.from({ length: count }, (_, i) =>
        curve(hostile ? HOSTILE_TEXT : (NAMES[i] ?? `ranking ${i}`), 0.72 - 0.05 * i, 0.02, false),
      ),
    ],
    note: hostile ? HOSTILE_TEXT : "",
    provenance: { model: "fixture/encoder-small", version: "0.1.0", settings: { seed: 0, random: 20 } },
  };
}
