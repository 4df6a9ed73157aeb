// A layers x heads picture as a grid to choose from. Only the cell under the cursor exists as an element: it carries
// the focus ring and what a screen reader says, so that 48 x 64 heads cost no more than 6 x 8.
import { h, on, paint, perFrame, set, size } from "../controls.js";

export interface CellBox {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** Where cells stand, and what they are. */
export interface CellGridProps {
  readonly svg: string;
  readonly width: number;
  readonly height: number;
  readonly rows: number;
  readonly columns: number;
  /** Where a cell is. */
  box(row: number, column: number): CellBox;
  /** Which cell is at a point. */
  at(x: number, y: number): readonly [row: number, column: number] | null;
  /** Name of the whole. */
  readonly label: string;
  /** What a cell is: its head, its value, its state. */
  describe(row: number, column: number): string;
  isSelected(row: number, column: number): boolean;
}

export interface CellGrid {
  readonly element: HTMLElement;
  update(props: CellGridProps): void;
}

export interface CellGridEvents {
  /** A cell was chosen; with `add` the others stay. */
  pick(row: number, column: number, add: boolean): void;
  /** What the pointer or the cursor is on; empty when on nothing. */
  told(text: string, spoken: boolean): void;
}

export function mountCellGrid(signal: AbortSignal, events: CellGridEvents): CellGrid {
  const picture = h("div", { "aria-hidden": "true" });
  const cursor = h("div", { class: "hw-cell", role: "gridcell", tabindex: 0 });
  const line = h("div", { role: "row" }, cursor);
  const stage = h(
    "div",
    { class: "hw-stage hw-pick", role: "grid", "aria-multiselectable": "true" },
    picture,
    line,
  );
  const element = h("div", { class: "hw-scroll" }, stage);
  let props: CellGridProps | null = null;
  let row = 0;
  let column = 0;
  let point: readonly [number, number] | null = null;

  function place(): void {
    if (props === null) return;
    row = Math.max(0, Math.min(props.rows - 1, row));
    column = Math.max(0, Math.min(props.columns - 1, column));
    const box = props.box(row, column);
    cursor.style.left = `${box.x}px`;
    cursor.style.top = `${box.y}px`;
    cursor.style.width = `${box.width}px`;
    cursor.style.height = `${box.height}px`;
    set(line, "aria-rowindex", row + 1);
    set(cursor, "aria-colindex", column + 1);
    set(cursor, "aria-selected", props.isSelected(row, column) ? "true" : "false");
    set(
      cursor,
      "aria-label",
      `${props.describe(row, column)}${props.isSelected(row, column) ? ", selected" : ""}`,
    );
  }

  function hit(event: MouseEvent): readonly [number, number] | null {
    if (props === null) return null;
    const box = stage.getBoundingClientRect();
    return props.at(event.clientX - box.left, event.clientY - box.top);
  }

  const hover = perFrame(() => {
    if (props !== null) events.told(point === null ? "" : props.describe(point[0], point[1]), false);
  }, signal);
  const moved = (event: PointerEvent): void => {
    point = event.type === "pointerleave" ? null : hit(event);
    hover();
  };
  on(stage, "pointermove", moved, signal);
  on(stage, "pointerleave", moved, signal);
  on(
    stage,
    "click",
    (event) => {
      const at = hit(event);
      if (at === null) return;
      [row, column] = at;
      place();
      cursor.focus({ preventScroll: true });
      events.pick(row, column, event.shiftKey || event.ctrlKey || event.metaKey);
    },
    signal,
  );
  on(
    cursor,
    "keydown",
    (event) => {
      if (props === null) return;
      if (event.key === "Enter" || event.key === " ") {
        event.preventDefault();
        events.pick(row, column, event.shiftKey || event.ctrlKey || event.metaKey);
        return;
      }
      const step = {
        ArrowUp: [-1, 0],
        ArrowDown: [1, 0],
        ArrowLeft: [0, -1],
        ArrowRight: [0, 1],
        Home: [event.ctrlKey ? -1e9 : 0, -1e9],
        End: [event.ctrlKey ? 1e9 : 0, 1e9],
        PageUp: [-5, 0],
        PageDown: [5, 0],
      }[event.key];
      if (step === undefined) return;
      event.preventDefault();
      row += step[0] ?? 0;
      column += step[1] ?? 0;
      place();
      if (typeof cursor.scrollIntoView === "function")
        cursor.scrollIntoView({ block: "nearest", inline: "nearest" });
      events.told(props.describe(row, column), true);
    },
    signal,
  );

  return {
    element,
    update(next) {
      props = next;
      paint(picture, next.svg);
      size(stage, next.width, next.height);
      set(stage, "aria-label", next.label);
      set(stage, "aria-rowcount", next.rows);
      set(stage, "aria-colcount", next.columns);
      place();
    },
  };
}
