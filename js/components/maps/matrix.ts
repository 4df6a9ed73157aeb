// Query rows by key columns: layout and cells of one or several maps on one scale.
import type { MapValues } from "./head-map.js";
import { valueAt } from "./head-map.js";
import type { Position } from "./positions.js";

/** Above this many cells a matrix is one embedded image. */
export const VECTOR_CELLS = 2500;

const PANEL_GAP = 18;
const CAPTION = 20;
const TICK_ROOM = 13;

/** Where the matrices stand. */
export interface MatrixLayout {
  readonly width: number;
  readonly height: number;
  /** Side of one cell; below 1 where the text is longer than the picture is wide. */
  readonly cell: number;
  /** Top left corner of the cells of every map. */
  readonly panels: readonly { readonly x: number; readonly y: number }[];
  /** Whether the rows of a panel have labels (the first of each line of panels). */
  readonly labelled: readonly boolean[];
  readonly rowLabels: number;
  readonly columnLabels: number;
  readonly query: readonly Position[];
  readonly key: readonly Position[];
  /** Every how many positions a label is written. */
  readonly every: number;
}

/** One cell under a point. */
export interface Cell {
  readonly panel: number;
  readonly row: number;
  readonly column: number;
}

/** Place `count` matrices; `zoom` enlarges cells beyond the width (the host scrolls). */
export function layoutMatrix(
  query: readonly Position[],
  key: readonly Position[],
  count: number,
  width: number,
  zoom: number,
  measure: (text: string, size: number) => number,
): MatrixLayout {
  const size = 11;
  const widest = (positions: readonly Position[]): number =>
    Math.ceil(
      Math.min(
        110,
        positions.reduce((most, position) => Math.max(most, measure(position.label, size)), 10),
      ),
    ) + 8;
  const rowLabels = widest(query) + 20;
  const columnLabels = widest(key) + 20;
  const rows = Math.max(1, query.length);
  const columns = Math.max(1, key.length);
  const room = Math.max(80, width - rowLabels - 8);
  const wanted = Math.max(Math.min(columns * 12, 420), 150);
  const across = Math.max(1, Math.min(count, Math.floor((room + PANEL_GAP) / (wanted + PANEL_GAP))));
  const fit = (room - PANEL_GAP * (across - 1)) / across / columns;
  const most = count === 1 ? 28 : 22;
  const whole = fit >= 4 ? Math.floor(fit) : fit;
  const cell = Math.max(0.25, Math.min(most, whole)) * zoom;
  const panels: { x: number; y: number }[] = [];
  const labelled: boolean[] = [];
  const captionRoom = count > 1 ? CAPTION : 0;
  const lineHeight = captionRoom + columnLabels + rows * cell + PANEL_GAP;
  for (let index = 0; index < count; index += 1) {
    const column = index % across;
    panels.push({
      x: rowLabels + column * (columns * cell + PANEL_GAP),
      y: captionRoom + columnLabels + Math.floor(index / across) * lineHeight,
    });
    labelled.push(column === 0);
  }
  const lines = Math.max(1, Math.ceil(count / across));
  return {
    width: Math.max(rowLabels + 240, rowLabels + across * columns * cell + (across - 1) * PANEL_GAP + 8),
    height: lines * lineHeight - PANEL_GAP + 4,
    cell,
    panels,
    labelled,
    rowLabels,
    columnLabels,
    query,
    key,
    every: Math.max(1, Math.ceil(TICK_ROOM / cell)),
  };
}

/** The cell under a point, null outside. */
export function hitMatrix(layout: MatrixLayout, x: number, y: number): Cell | null {
  for (const [panel, corner] of layout.panels.entries()) {
    const column = Math.floor((x - corner.x) / layout.cell);
    const row = Math.floor((y - corner.y) / layout.cell);
    if (row >= 0 && column >= 0 && row < layout.query.length && column < layout.key.length) {
      return { panel, row, column };
    }
  }
  return null;
}

/** Whether the cells of a layout are drawn as shapes (else as one image). */
export function isVector(layout: MatrixLayout): boolean {
  return layout.query.length * layout.key.length <= VECTOR_CELLS && layout.cell >= 4;
}

/**
 * Cells as one path per colour level. `level` maps a value to a colour number, or -1 for a value that is not there,
 * which is left to the background's hatching.
 */
export function drawCells(
  layout: MatrixLayout,
  panel: number,
  map: MapValues,
  level: (value: number) => number,
  colors: readonly string[],
  missing: string,
): string {
  const corner = layout.panels[panel];
  if (corner === undefined) return "";
  const gap = layout.cell >= 9 ? 1 : 0;
  const side = round(layout.cell - gap);
  const paths = new Map<number, string[]>();
  layout.query.forEach((query, row) => {
    layout.key.forEach((key, column) => {
      const at = level(valueAt(map, query.index, key.index));
      const path = paths.get(at) ?? [];
      path.push(
        `M${round(corner.x + column * layout.cell)} ${round(corner.y + row * layout.cell)}h${side}v${side}h-${side}z`,
      );
      paths.set(at, path);
    });
  });
  const parts: string[] = [];
  for (const [at, path] of paths) {
    parts.push(`<path fill="${at < 0 ? missing : (colors[at] ?? missing)}" d="${path.join("")}"/>`);
  }
  return `<g shape-rendering="crispEdges">${parts.join("")}</g>`;
}

/** Colour numbers of the visible cells, row-major, for an image; 0 stands for a value that is not there. */
export function cellLevels(
  layout: MatrixLayout,
  map: MapValues,
  level: (value: number) => number,
): Uint8Array {
  const result = new Uint8Array(layout.query.length * layout.key.length);
  let at = 0;
  for (const query of layout.query) {
    for (const key of layout.key) {
      result[at] = level(valueAt(map, query.index, key.index)) + 1;
      at += 1;
    }
  }
  return result;
}

/** Which of `count` positions get a label: every `every`-th, and never two that would overlap. */
export function labelledPositions(count: number, every: number): number[] {
  const result: number[] = [];
  for (let at = 0; at < count; at += every) result.push(at);
  return result;
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}
