// What an attribution document shows: the chosen head or layer, its numbers, and the sentences about them.
import { formatNumber, formatPercent } from "../../marks/format.js";
import { type Buffer, decodeShaped } from "../../wire/decode.js";
import type { AttributionDocument, AttributionPanel, HeadRef, KindName } from "../../wire/types.js";
import { type MapValues, sums } from "../maps/head-map.js";
import { headName, type Position, positionsOf } from "../maps/positions.js";

/** The arrays of a panel. */
export interface Numbers {
  /** `[layers, heads]`. */
  readonly totals: ArrayLike<number>;
  /** `[layers, key]` and `[layers, query]`. */
  readonly received: ArrayLike<number>;
  readonly given: ArrayLike<number>;
  /** `[layers]`. */
  readonly change: ArrayLike<number>;
  readonly gap: ArrayLike<number>;
  readonly steps: ArrayLike<number>;
}

/** The panel of a kind; the first selected head's kind when none is asked for; null while there is no result. */
export function panelOf(document: AttributionDocument, kind: KindName | null): AttributionPanel | null {
  const wanted = kind ?? document.selected[0]?.[0];
  return document.panels.find((candidate) => candidate.kind === wanted) ?? document.panels[0] ?? null;
}

/** Decode a panel's arrays. */
export function numbersOf(panel: AttributionPanel, buffer?: Buffer): Numbers {
  const { layers, heads, kind } = panel;
  return {
    totals: decodeShaped(panel.totals, [layers, heads], `${kind}, totals`, buffer),
    received: decodeShaped(panel.received, [layers, panel.key.length], `${kind}, received`, buffer),
    given: decodeShaped(panel.given, [layers, panel.query.length], `${kind}, given`, buffer),
    change: decodeShaped(panel.change, [layers], `${kind}, change`, buffer),
    gap: decodeShaped(panel.gap, [layers], `${kind}, gap`, buffer),
    steps: decodeShaped(panel.steps, [layers], `${kind}, steps`, buffer),
  };
}

/** The head on show in a panel: the first selected of its kind, else the layer whose links carry most. */
export function headOf(document: AttributionDocument, panel: AttributionPanel, numbers: Numbers): HeadRef {
  const chosen = document.selected.find((head) => head[0] === panel.kind);
  if (chosen !== undefined && chosen[1] >= 0 && chosen[1] < panel.layers && chosen[2] < panel.heads)
    return chosen;
  let most = 0;
  for (let layer = 1; layer < panel.layers; layer += 1) {
    if (Math.abs(numbers.change[layer] ?? 0) > Math.abs(numbers.change[most] ?? 0)) most = layer;
  }
  return [panel.kind, most, -1];
}

/** Attribution of the positions of one side. */
export interface TokenValues {
  readonly side: "received" | "given";
  readonly positions: readonly Position[];
  /** One per position, in the unit of the output; NaN where not known. */
  readonly values: readonly number[];
}

/**
 * What every token of a side carries: of the whole layer from its sums, of one head from its map. Null while the
 * head's map is not there.
 */
export function tokenValues(
  panel: AttributionPanel,
  numbers: Numbers,
  head: HeadRef,
  map: MapValues | null,
  side: "received" | "given",
  hideSpecial: boolean,
): TokenValues | null {
  const tokens = side === "received" ? panel.key : panel.query;
  const layer = head[1];
  if (head[2] < 0) {
    const all = side === "received" ? numbers.received : numbers.given;
    const positions = positionsOf(tokens, 1, hideSpecial);
    return {
      side,
      positions,
      values: positions.map((position) => all[layer * tokens.length + position.index] ?? Number.NaN),
    };
  }
  if (map === null) return null;
  const step = side === "received" ? map.keyStep : map.queryStep;
  const totals = sums(map, side === "received" ? "rows" : "columns");
  const cells = map.queryStep * map.keyStep; // a down-sampled cell is a mean
  const positions = positionsOf(tokens, step, hideSpecial);
  return {
    side,
    positions,
    values: positions.map((position) => (totals[position.index] ?? Number.NaN) * cells),
  };
}

/** What was attributed: "log-odds of “positive”: 2.41". */
export function outputSentence(
  document: Pick<AttributionDocument, "output" | "unit" | "target" | "value">,
): string {
  const unit = document.unit !== "" && document.unit !== document.output ? ` ${document.unit}` : "";
  const target = document.target === "" ? "" : ` of “${document.target}”`;
  return `${document.output}${target}: ${formatNumber(document.value, 4)}${unit}`;
}

/** Name of what is on show. */
export function nameOf(document: AttributionDocument, head: HeadRef): string {
  return headName(head, document.panels.length > 1);
}

/** How well the integral of a layer closes, in plain words. */
export function integrationSentence(
  document: AttributionDocument,
  panel: AttributionPanel,
  numbers: Numbers,
  layer: number,
): string {
  const change = numbers.change[layer] ?? Number.NaN;
  const gap = numbers.gap[layer] ?? Number.NaN;
  const steps = numbers.steps[layer] ?? 0;
  if (!Number.isFinite(change) || !Number.isFinite(gap)) return `Layer ${layer} was not measured.`;
  let found = 0;
  for (let head = 0; head < panel.heads; head += 1) {
    const total = numbers.totals[layer * panel.heads + head] ?? 0;
    if (!Number.isNaN(total)) found += total;
  }
  const unit = document.unit === "" ? "" : ` ${document.unit}`;
  const share = Math.abs(change) > 0 ? gap / Math.abs(change) : Number.NaN;
  const part = Number.isFinite(share) ? ` (${shareOf(share)})` : "";
  const digits = Math.max(3, Math.min(6, Math.ceil(Math.log10(Math.max(10, 1 / Math.max(share, 1e-6)))) + 1));
  const allowed = Math.max(document.tolerance * Math.abs(change), document.tolerance / 10);
  const rule = document.rule === "" ? "" : ` of the ${document.rule} rule`;
  const above =
    document.tolerance > 0 && gap > allowed
      ? ` This is above the tolerance of ${formatNumber(document.tolerance, 1)}.`
      : "";
  return (
    `Integration error: the links of layer ${layer} add up to ${formatNumber(found, digits)} of ` +
    `${formatNumber(change, digits)}${unit}${part}, with ${steps} ${steps === 1 ? "step" : "steps"}${rule}.${above}`
  );
}

function shareOf(share: number): string {
  if (share < 0.00005) return "below 0.01 %";
  return share < 0.001 ? formatPercent(share, 2) : formatPercent(share, 1);
}

/** What one head carries of its layer. */
export function headSentence(
  document: AttributionDocument,
  panel: AttributionPanel,
  numbers: Numbers,
  head: HeadRef,
): string {
  const [, layer, index] = head;
  const unit = document.unit === "" ? "" : ` ${document.unit}`;
  if (index < 0) {
    return `Layer ${layer}: attention as it is, against none at all, changes the output by ${withSign(numbers.change[layer] ?? Number.NaN)}${unit}.`;
  }
  const total = numbers.totals[layer * panel.heads + index] ?? Number.NaN;
  return `${nameOf(document, head)} carries ${withSign(total)} of the ${withSign(numbers.change[layer] ?? Number.NaN)}${unit} of its layer.`;
}

/** A number with its sign. */
export function withSign(value: number, digits = 3): string {
  const text = formatNumber(value, digits);
  return value > 0 ? `+${text}` : text;
}
