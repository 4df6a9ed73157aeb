/** Where the cells of a grid are. Pure geometry: the drawing and the pointer agree because both ask here. */

import { bandLabels } from "../../marks/scale.js";
import { measure } from "../../marks/text.js";
import type { GridPanel } from "../../wire/types.js";

export interface GridLayout {
  readonly layers: number;
  readonly heads: number;
  /** Top left of the first cell. */
  readonly x: number;
  readonly y: number;
  /** Distance between cells, both ways. */
  readonly pitch: number;
  /** Empty pixels between cells. */
  readonly gap: number;
  readonly right: number;
  readonly bottom: number;
  readonly layerLabels: readonly number[];
  readonly headLabels: readonly number[];
  /** Query heads per key/value head; 1 when every head has its own. */
  readonly group: number;
}

const LARGEST = 34;
const SMALLEST = 5;
export const LABEL_SIZE = 11;

/** Space left of the cells: axis title and layer numbers. */
function leftRoom(layers: number): number {
  return Math.ceil(20 + measure(String(Math.max(0, layers - 1)), LABEL_SIZE) + 6);
}

export function gridLayout(panel: GridPanel, width: number, top: number): GridLayout {
  const { layers, heads } = panel;
  const x = leftRoom(layers);
  const fitting = (width - x - 4) / Math.max(1, heads);
  const pitch = Math.max(SMALLEST, Math.min(LARGEST, fitting >= 12 ? Math.floor(fitting) : fitting));
  const group = panel.kv_heads > 0 && panel.kv_heads < heads ? Math.floor(heads / panel.kv_heads) : 1;
  return {
    layers,
    heads,
    x,
    y: top,
    pitch,
    gap: pitch >= 16 ? 2 : pitch >= 8 ? 1 : 0,
    right: x + heads * pitch,
    bottom: top + layers * pitch,
    layerLabels: bandLabels(layers, pitch, LABEL_SIZE + 2),
    headLabels: bandLabels(heads, pitch, measure(String(Math.max(0, heads - 1)), LABEL_SIZE) + 5),
    group,
  };
}

/** Left, top and side length of a cell. */
export function cellBox(layout: GridLayout, layer: number, head: number): readonly [number, number, number] {
  return [layout.x + head * layout.pitch, layout.y + layer * layout.pitch, layout.pitch - layout.gap];
}

/** The cell under a point of the picture, or null. */
export function cellAt(layout: GridLayout, x: number, y: number): readonly [number, number] | null {
  const head = Math.floor((x - layout.x) / layout.pitch);
  const layer = Math.floor((y - layout.y) / layout.pitch);
  return head >= 0 && head < layout.heads && layer >= 0 && layer < layout.layers ? [layer, head] : null;
}
