// Totals: a layers x heads heat map to choose a head from, and beside every layer a bar of its whole change with the
// integration gap as a whisker. Layers share their rows.
import { bottomAxis } from "../../marks/axes.js";
import { type Box, hatch } from "../../marks/hatch.js";
import { imageMark } from "../../marks/png.js";
import { extent, type Ramp, rampFor } from "../../marks/ramp.js";
import { linearScale, type Scale } from "../../marks/scale.js";
import { el, line, num, rect, text } from "../../marks/svg.js";
import type { Palette } from "../../theme/palette.js";
import type { AttributionPanel } from "../../wire/types.js";
import type { CellBox } from "../maps/cell-grid.js";
import { numbersEvery } from "../maps/overview.js";
import type { Numbers } from "./model.js";

const LEFT = 34;
const TOP = 34;
const BARS = 150;
const GAP = 16;
const UNDER = 38;

export interface LayersLayout {
  readonly width: number;
  readonly height: number;
  readonly layers: number;
  readonly heads: number;
  readonly pitchX: number;
  readonly pitchY: number;
  /** Left end of the bars' plot. */
  readonly bars: number;
  readonly scale: Scale;
}

/** Place the heat map and the bars; with `shrink` they fit `width`. */
export function layoutLayers(
  panel: AttributionPanel,
  numbers: Numbers,
  width: number,
  shrink: boolean,
): LayersLayout {
  const room = Math.max(60, width - LEFT - GAP - BARS - 8);
  const fit = room / Math.max(1, panel.heads);
  const pitchX = shrink ? Math.min(20, fit) : Math.max(10, Math.min(20, Math.floor(fit)));
  const pitchY = panel.layers > 32 ? 12 : panel.layers > 14 ? 16 : 20;
  const bars = LEFT + panel.heads * pitchX + GAP;
  const ends: number[] = [0];
  for (let layer = 0; layer < panel.layers; layer += 1) {
    const change = numbers.change[layer] ?? Number.NaN;
    const gap = numbers.gap[layer] ?? 0;
    if (Number.isFinite(change)) ends.push(change + gap, change - gap);
  }
  const [low, high] = extent(ends) ?? [0, 1];
  const pad = (high - low) * 0.04 || 1;
  return {
    width: bars + BARS + 12,
    height: TOP + panel.layers * pitchY + UNDER,
    layers: panel.layers,
    heads: panel.heads,
    pitchX,
    pitchY,
    bars,
    scale: linearScale(
      [Math.min(0, low - (low < 0 ? pad : 0)), Math.max(0, high + pad)],
      [bars, bars + BARS],
    ),
  };
}

/** Where a head's cell is; column `heads` is the layer's bar. */
export function layersBox(layout: LayersLayout, layer: number, column: number): CellBox {
  const y = TOP + layer * layout.pitchY;
  const height = layout.pitchY - 1;
  if (column >= layout.heads) return { x: layout.bars, y, width: BARS, height };
  return { x: LEFT + column * layout.pitchX, y, width: layout.pitchX - 1, height };
}

/** The cell under a point; column `heads` is the layer's bar. */
export function hitLayers(layout: LayersLayout, x: number, y: number): readonly [number, number] | null {
  const layer = Math.floor((y - TOP) / layout.pitchY);
  if (layer < 0 || layer >= layout.layers) return null;
  if (x >= layout.bars - 2 && x <= layout.bars + BARS) return [layer, layout.heads];
  const column = Math.floor((x - LEFT) / layout.pitchX);
  return column < 0 || column >= layout.heads ? null : [layer, column];
}

/** The ramp of the heat map. */
export function layersRamp(numbers: Numbers, palette: Palette): Ramp {
  return rampFor(numbers.totals, true, palette);
}

/** Heat map, bars, axes. */
export function drawLayers(layout: LayersLayout, numbers: Numbers, unit: string, palette: Palette): string {
  const { layers, heads, pitchX, pitchY, bars, scale } = layout;
  const colors = layersRamp(numbers, palette);
  const bottom = TOP + layers * pitchY;
  const parts: string[] = [
    text(LEFT, 11, "head", { size: 11, fill: palette.ink }),
    text(bars, 11, "whole layer", { size: 11, fill: palette.ink }),
    text(11, TOP, "layer", { size: 11, fill: palette.ink, rotate: -90, anchor: "end" }),
    layers * heads > 2500
      ? heatImage(layout, numbers, colors, palette)
      : heatCells(layout, numbers, colors, palette),
  ];
  const everyHead = numbersEvery(pitchX);
  for (let head = 0; head < heads; head += everyHead) {
    const x = LEFT + head * pitchX + (pitchX - 1) / 2;
    parts.push(text(x, TOP - 6, String(head), { size: 10, fill: palette.muted, anchor: "middle" }));
  }
  const everyLayer = pitchY >= 12 ? 1 : 2;
  const zero = scale(0);
  for (let layer = 0; layer < layers; layer += 1) {
    const y = TOP + layer * pitchY;
    if (layer % everyLayer === 0) {
      parts.push(
        text(LEFT - 6, y + pitchY / 2 + 3, String(layer), { size: 10, fill: palette.muted, anchor: "end" }),
      );
    }
    const change = numbers.change[layer] ?? Number.NaN;
    const gap = numbers.gap[layer] ?? 0;
    if (!Number.isFinite(change)) {
      parts.push(text(bars + 4, y + pitchY / 2 + 3, "not measured", { size: 10, fill: palette.muted }));
      continue;
    }
    const end = scale(change);
    const high = Math.max(5, pitchY - 7);
    parts.push(
      rect(Math.min(zero, end), y + (pitchY - 1 - high) / 2, Math.max(0.75, Math.abs(end - zero)), high, {
        fill: change < 0 ? palette.series[1] : palette.series[0],
      }),
    );
    const [from, to] = [scale(change - gap), scale(change + gap)];
    if (to - from >= 1.5) {
      const middle = y + (pitchY - 1) / 2;
      parts.push(
        el("path", {
          d: `M${num(from)} ${num(middle - 3)}v6M${num(from)} ${num(middle)}H${num(to)}M${num(to)} ${num(middle - 3)}v6`,
          stroke: palette.ink,
          fill: "none",
        }),
      );
    }
  }
  parts.push(line(zero, TOP - 2, zero, bottom, { stroke: palette.line }));
  const title = unit === "" ? "change of the output" : `change (${unit})`;
  parts.push(bottomAxis(scale, bottom + 1, { title, palette, count: 3 }));
  return parts.join("");
}

function heatCells(layout: LayersLayout, numbers: Numbers, colors: Ramp, palette: Palette): string {
  const paths = new Map<string, string[]>();
  const missing: Box[] = [];
  for (let layer = 0; layer < layout.layers; layer += 1) {
    for (let head = 0; head < layout.heads; head += 1) {
      const value = numbers.totals[layer * layout.heads + head] ?? Number.NaN;
      const { x, y, width, height } = layersBox(layout, layer, head);
      if (!Number.isFinite(value)) {
        missing.push([x, y, width, height]);
        continue;
      }
      const color = colors.colour(value);
      const path = paths.get(color) ?? [];
      path.push(`M${num(x)} ${num(y)}h${num(width)}v${num(height)}h-${num(width)}z`);
      paths.set(color, path);
    }
  }
  const shapes = [...paths].map(([fill, path]) => el("path", { fill, d: path.join("") }));
  return el("g", { "shape-rendering": "crispEdges" }, ...shapes) + hatch(missing, palette.line);
}

function heatImage(layout: LayersLayout, numbers: Numbers, colors: Ramp, palette: Palette): string {
  const { layers, heads } = layout;
  const pixels = new Uint8Array(layers * heads);
  for (let at = 0; at < pixels.length; at += 1) {
    const value = numbers.totals[at] ?? Number.NaN;
    pixels[at] = Number.isFinite(value) ? Math.max(1, colors.index(value)) : 0;
  }
  const image = { width: heads, height: layers, colours: [palette.line, ...colors.colours.slice(1)], pixels };
  return imageMark(image, LEFT, TOP, heads * layout.pitchX, layers * layout.pitchY);
}

/** The frame around the chosen head or layer. */
export function drawChosen(layout: LayersLayout, layer: number, index: number, palette: Palette): string {
  const box = layersBox(layout, layer, index < 0 ? layout.heads : index);
  const shape = [box.x - 1.5, box.y - 1.5, box.width + 3, box.height + 3] as const;
  return (
    rect(...shape, { fill: "none", stroke: palette.surface, "stroke-width": 4, rx: 1 }) +
    rect(...shape, { fill: "none", stroke: palette.selected, "stroke-width": 2, rx: 1 })
  );
}
