/** Layer curves: which chart is shown, where its points stand, and what is said of one. */

import { counted, formatEstimate } from "../../marks/format.js";
import { linearScale, type Scale } from "../../marks/scale.js";
import { type Buffer, decodeShaped } from "../../wire/decode.js";
import type {
  HeadRef,
  KindName,
  PatternChart,
  PatternStatistic,
  PatternsDocument,
} from "../../wire/types.js";
import { headKey } from "../grid/selection.js";
import type { PlacedHead } from "../points/model.js";

const KINDS: readonly KindName[] = ["encoder", "decoder", "cross"];

/** A statistic with its arrays decoded. */
export interface Statistic extends Omit<PatternStatistic, "values" | "stderr"> {
  readonly values: ArrayLike<number>;
  readonly stderr: ArrayLike<number> | null;
}

/** One layer of one kind of attention: a column of the chart. */
export interface Column {
  readonly kind: KindName;
  readonly layer: number;
  /** In columns from the left; kinds are one column apart. */
  readonly at: number;
  /** Heads of the layer. */
  readonly heads: number;
}

/** A document with its arrays decoded. */
export interface Patterns extends Omit<PatternsDocument, "heads" | "statistics"> {
  readonly heads: readonly HeadRef[];
  readonly statistics: readonly Statistic[];
  readonly columns: readonly Column[];
}

export function patternsOf(document: PatternsDocument, buffer?: Buffer): Patterns {
  const { heads, statistics, ...rest } = document;
  const count = heads.shape[0] ?? 0;
  const places = decodeShaped(heads, [count, 3], "heads", buffer);
  const found: HeadRef[] = [];
  for (let i = 0; i < count; i++) {
    const kind = KINDS[places[3 * i] ?? 0];
    if (kind === undefined) throw new Error(`patterns: point ${i} is no head`);
    found.push([kind, places[3 * i + 1] ?? 0, places[3 * i + 2] ?? 0]);
  }
  const decoded = statistics.map(({ values, stderr, ...own }) => ({
    ...own,
    values: decodeShaped(values, [count], `values of ${own.name}`, buffer),
    stderr: stderr === null ? null : decodeShaped(stderr, [count], `errors of ${own.name}`, buffer),
  }));
  for (const { name, statistics: own } of rest.charts)
    if (own.some((number) => decoded[number] === undefined))
      throw new Error(`patterns: chart ${name} has a statistic that is not there`);
  return { ...rest, heads: found, statistics: decoded, columns: columnsOf(found) };
}

function columnsOf(heads: readonly HeadRef[]): readonly Column[] {
  const most = new Map<string, number>();
  for (const [kind, layer, index] of heads) {
    const key = `${kind} ${layer}`;
    most.set(key, Math.max(most.get(key) ?? 0, index + 1));
  }
  const columns: Column[] = [];
  let at = 0;
  for (const kind of KINDS) {
    const layers = heads.filter(([own]) => own === kind).map(([, layer]) => layer);
    if (layers.length === 0) continue;
    if (at > 0) at += 1;
    const last = Math.max(...layers);
    for (let layer = 0; layer <= last; layer++, at++)
      columns.push({ kind, layer, at, heads: most.get(`${kind} ${layer}`) ?? 0 });
  }
  return columns;
}

/** The kinds of attention that are drawn, left to right. */
export function kindsOf(view: Patterns): readonly KindName[] {
  return KINDS.filter((kind) => view.columns.some((column) => column.kind === kind));
}

/** The chart on show; null where there is none. */
export function chartOf(view: Patterns): PatternChart | null {
  return view.charts[view.shown] ?? view.charts[0] ?? null;
}

/** The statistics of the chart on show. */
export function seriesOf(view: Patterns): readonly Statistic[] {
  const chart = chartOf(view);
  return (chart?.statistics ?? []).flatMap((number) => view.statistics[number] ?? []);
}

export interface Placed extends PlacedHead {
  /** Which series, and which point of it. */
  readonly series: number;
  readonly index: number;
}

export interface Scales {
  /** From columns to pixels. */
  readonly x: Scale;
  readonly y: Scale;
}

/** A range that holds every point, its references and 0 where that is near. */
export function rangeOf(series: readonly Statistic[]): readonly [number, number] {
  let [low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  const take = (value: number): void => {
    if (!Number.isFinite(value)) return;
    low = Math.min(low, value);
    high = Math.max(high, value);
  };
  for (const { values, reference } of series) {
    for (let i = 0; i < values.length; i++) take(values[i] ?? Number.NaN);
    for (const value of Object.values(reference)) take(value);
  }
  if (!(low <= high)) return [0, 1];
  const span = high - low || Math.abs(high) || 1;
  if (low > 0 && low < 0.5 * high) low = 0;
  return [low === 0 ? 0 : low - 0.04 * span, high + 0.04 * span];
}

export function scalesOf(
  view: Patterns,
  horizontal: readonly [number, number],
  vertical: readonly [number, number],
): Scales {
  const last = view.columns.at(-1)?.at ?? 0;
  return {
    x: linearScale([-0.55, last + 0.55], horizontal),
    y: linearScale(rangeOf(seriesOf(view)), vertical),
  };
}

/** How far from the middle of its column a series stands, in columns. */
export function shiftOf(series: number, count: number): number {
  return ((series + 0.5) / Math.max(1, count) - 0.5) * 0.86;
}

/** Every point of the chart: by layer, by series, and inside a series by the head's number. */
export function place(view: Patterns, { x, y }: Scales): readonly Placed[] {
  const series = seriesOf(view);
  const columns = new Map(view.columns.map((column) => [`${column.kind} ${column.layer}`, column]));
  const placed: Placed[] = [];
  series.forEach(({ values }, number) => {
    view.heads.forEach((head, index) => {
      const column = columns.get(`${head[0]} ${head[1]}`);
      const value = values[index] ?? Number.NaN;
      if (!column || !Number.isFinite(value)) return;
      const inside = ((head[2] + 0.5) / Math.max(1, column.heads) - 0.5) * (0.66 / series.length);
      placed.push({
        head,
        key: number === 0 ? headKey(head) : `${headKey(head)}-${number}`,
        series: number,
        index,
        x: x(column.at + shiftOf(number, series.length) + inside),
        y: y(value),
      });
    });
  });
  return placed;
}

/** By column, the mean of a series over the layer's heads; NaN where nothing was measured. */
export function meansOf(view: Patterns, { values }: Statistic): readonly number[] {
  const sums = new Map<string, [number, number]>();
  view.heads.forEach(([kind, layer], i) => {
    const value = values[i] ?? Number.NaN;
    if (!Number.isFinite(value)) return;
    const [sum, count] = sums.get(`${kind} ${layer}`) ?? [0, 0];
    sums.set(`${kind} ${layer}`, [sum + value, count + 1]);
  });
  return view.columns.map(({ kind, layer }) => {
    const [sum, count] = sums.get(`${kind} ${layer}`) ?? [0, 0];
    return count > 0 ? sum / count : Number.NaN;
  });
}

/** "Entropy (nats)". */
export function yTitle(chart: PatternChart): string {
  return chart.unit === "" ? chart.label : `${chart.label} (${chart.unit})`;
}

/** What was measured on what. */
export function headline(view: Patterns): string {
  const texts = seriesOf(view).map(({ n }) => n);
  const [least, most] = [Math.min(...texts), Math.max(...texts)];
  const heads = counted(view.heads.length, "head");
  if (texts.length === 0) return heads;
  return `${heads}, ${least === most ? counted(most, "text") : `${least} to ${counted(most, "text")}`}`;
}

/** Everything that is said of one point. */
export function sentence(view: Patterns, { head, series, index }: Placed): string {
  const kind = kindsOf(view).length > 1 ? `${head[0]} ` : "";
  const own = seriesOf(view)[series];
  if (!own) return "";
  const error = own.stderr?.[index] ?? Number.NaN;
  const value = formatEstimate(
    own.values[index] ?? Number.NaN,
    Number.isFinite(error) ? error : null,
    own.unit,
  );
  return `${kind}layer ${head[1]} head ${head[2]}: ${own.label} ${value}`;
}
