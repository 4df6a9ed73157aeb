/**
 * The grid for keyboard and screen reader: rows and cells as transparent elements over the picture, one of them in
 * the tab order. Grids with very many cells keep only the row of the focused cell in the page (with its index).
 */

import { MARK_LIMIT } from "../../marks/picture.js";
import { h, set } from "../controls.js";
import { cellBox, type GridLayout } from "./layout.js";

export type Cell = readonly [layer: number, head: number];

export interface CellState {
  readonly label: string;
  readonly selected: boolean;
}

/** The cell where a key leads from `[layer, head]`, or null when the key does not move. */
export function step(key: string, ctrl: boolean, [layer, head]: Cell, layout: GridLayout): Cell | null {
  const [lastLayer, lastHead] = [layout.layers - 1, layout.heads - 1];
  switch (key) {
    case "ArrowUp":
      return [Math.max(0, layer - 1), head];
    case "ArrowDown":
      return [Math.min(lastLayer, layer + 1), head];
    case "ArrowLeft":
      return [layer, Math.max(0, head - 1)];
    case "ArrowRight":
      return [layer, Math.min(lastHead, head + 1)];
    case "Home":
      return ctrl ? [0, 0] : [layer, 0];
    case "End":
      return ctrl ? [lastLayer, lastHead] : [layer, lastHead];
    case "PageUp":
      return [Math.max(0, layer - 5), head];
    case "PageDown":
      return [Math.min(lastLayer, layer + 5), head];
    default:
      return null;
  }
}

export class CellGrid {
  readonly element = h("div", { class: "hw-cells", role: "grid", "aria-multiselectable": "true" });
  private readonly cells = new Map<string, HTMLElement>();
  private layout: GridLayout | null = null;
  private state: (cell: Cell) => CellState = () => ({ label: "", selected: false });
  private at: Cell = [0, 0];

  /** The cell that is in the tab order. */
  get current(): Cell {
    return this.at;
  }

  private get sparse(): boolean {
    return this.layout !== null && this.layout.layers * this.layout.heads > MARK_LIMIT;
  }

  /** Lay the cells out anew. Focus stays on its cell. */
  place(layout: GridLayout, label: string, state: (cell: Cell) => CellState): void {
    const focused = this.element.querySelector(":focus") !== null;
    this.layout = layout;
    this.state = state;
    this.at = [
      Math.max(0, Math.min(layout.layers - 1, this.at[0])),
      Math.max(0, Math.min(layout.heads - 1, this.at[1])),
    ];
    set(this.element, "aria-label", label);
    set(this.element, "aria-rowcount", layout.layers);
    set(this.element, "aria-colcount", layout.heads);
    this.rows(this.sparse ? [this.at[0]] : Array.from({ length: layout.layers }, (_, layer) => layer));
    if (focused) this.focus(this.at);
  }

  private rows(layers: readonly number[]): void {
    const { layout } = this;
    if (!layout) return;
    this.cells.clear();
    const rows = layers.map((layer) => {
      const row = h("div", { role: "row", "aria-rowindex": layer + 1 });
      for (let head = 0; head < layout.heads; head++) {
        const [x, y, side] = cellBox(layout, layer, head);
        const cell = h("div", {
          class: "hw-cell",
          style: `left:${x}px;top:${y}px;width:${side}px;height:${side}px`,
          role: "gridcell",
          "aria-colindex": head + 1,
          "data-layer": layer,
          "data-head": head,
        });
        this.cells.set(`${layer},${head}`, cell);
        this.describe(cell, [layer, head]);
        row.append(cell);
      }
      return row;
    });
    this.element.replaceChildren(...rows);
  }

  private describe(cell: HTMLElement, at: Cell): void {
    const { label, selected } = this.state(at);
    set(cell, "aria-label", label);
    set(cell, "aria-selected", String(selected));
    set(cell, "tabindex", at[0] === this.at[0] && at[1] === this.at[1] ? 0 : -1);
  }

  /** Say again what the cells are, after `selected` or `pruned` changed. */
  refresh(): void {
    for (const [key, cell] of this.cells) {
      const [layer = 0, head = 0] = key.split(",").map(Number);
      this.describe(cell, [layer, head]);
    }
  }

  /** Put a cell into the tab order without moving the focus. */
  makeCurrent(cell: Cell): void {
    const before = this.cells.get(this.at.join(","));
    this.at = cell;
    if (this.sparse && !this.cells.has(cell.join(","))) {
      this.rows([cell[0]]);
      return;
    }
    if (before) before.tabIndex = -1;
    const now = this.cells.get(cell.join(","));
    if (now) now.tabIndex = 0;
  }

  focus(cell: Cell): void {
    this.makeCurrent(cell);
    this.cells.get(cell.join(","))?.focus({ preventScroll: false });
  }
}
