// A picture of maps that can be pointed at: the drawn body, a canvas under large matrices, and an overlay that shows
// the token or cell under the pointer or the keyboard's cursor. Nothing moves on hover.

import { rect } from "../../marks/svg.js";
import { parseColour } from "../../theme/colour.js";
import { drawing, h, on, paint, perFrame, set, size } from "../controls.js";
import type { MapValues } from "./head-map.js";
import { type Focus, hitLinks, type LinksLayout, rowY } from "./links.js";
import { type Cell, cellLevels, hitMatrix, isVector, type MatrixLayout } from "./matrix.js";
import { type Body, linesBody, linksOverlay, type MapsInput, matrixBody, rampOf } from "./pictures.js";
import { describeCell, describeFocus } from "./readout.js";

export interface StageProps {
  readonly input: MapsInput;
  readonly mode: "lines" | "matrix";
  readonly zoom: number;
  /** For a screen reader: what is shown. */
  readonly label: string;
}

export interface Stage {
  readonly element: HTMLElement;
  /** Draw; returns the sentences that belong under the picture. */
  update(props: StageProps): readonly string[];
}

type Drawn =
  | { readonly mode: "lines"; readonly body: Body<LinksLayout> }
  | { readonly mode: "matrix"; readonly body: Body<MatrixLayout> };

/** Mount a stage; `told` receives the read-out, spoken when it was asked for by keyboard or by tap. */
export function mountStage(signal: AbortSignal, told: (text: string, spoken: boolean) => void): Stage {
  const under = h("div", { class: "hw-under", "aria-hidden": "true" });
  const picture = h("div", { class: "hw-picture", "aria-hidden": "true" });
  const overlay = h("div", { class: "hw-overlay", "aria-hidden": "true" });
  const stage = h("div", { class: "hw-stage" }, under, picture, overlay);
  const element = h("div", { class: "hw-scroll hw-maps", tabindex: 0, role: "group" }, stage);

  let props: StageProps | null = null;
  let drawn: Drawn | null = null;
  let focus: Focus | null = null;
  let cell: Cell | null = null;
  let pinned = false;
  let point: { x: number; y: number } | null = null;
  let painted: { readonly markup: string; readonly maps: readonly MapValues[] } | null = null;

  function show(spoken: boolean): void {
    if (props === null || drawn === null) return;
    const { input } = props;
    const { width, height } = drawn.body;
    let marks = "";
    let words = "";
    if (drawn.mode === "lines" && focus !== null) {
      marks = linksOverlay(drawn.body.layout, input, focus);
      words = describeFocus(input, focus);
    } else if (drawn.mode === "matrix" && cell !== null) {
      marks = cross(drawn.body.layout, cell, input);
      words = describeCell(input, cell);
    }
    paint(overlay, drawing(width, height, marks));
    // The other lines fade; of a long text they go, since fading thousands costs frames.
    const rows = Math.max(input.query.length, input.key.length);
    set(stage, "data-focus", drawn.mode === "lines" && focus !== null && (rows > 100 ? "only" : "first"));
    told(words, spoken);
  }

  function clear(): void {
    focus = null;
    cell = null;
    pinned = false;
    show(false);
  }

  const follow = perFrame(() => {
    if (point === null || pinned || drawn === null) return;
    if (drawn.mode === "lines") focus = hitLinks(drawn.body.layout, point.x, point.y);
    else cell = hitMatrix(drawn.body.layout, point.x, point.y);
    show(false);
  }, signal);

  function locate(event: MouseEvent): { x: number; y: number } {
    const box = stage.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  }

  on(
    stage,
    "pointermove",
    (event) => {
      if (event.pointerType === "touch") return;
      point = locate(event);
      follow();
    },
    signal,
  );
  on(
    stage,
    "pointerleave",
    (event) => {
      if (event.pointerType === "touch" || pinned) return;
      point = null;
      clear();
    },
    signal,
  );
  on(
    stage,
    "click",
    (event) => {
      if (drawn === null) return;
      const { x, y } = locate(event);
      if (drawn.mode === "lines") {
        const hit = hitLinks(drawn.body.layout, x, y);
        pinned = hit !== null && !(pinned && focus?.side === hit.side && focus.at === hit.at);
        focus = hit;
      } else {
        const hit = hitMatrix(drawn.body.layout, x, y);
        const same = cell?.panel === hit?.panel && cell?.row === hit?.row && cell?.column === hit?.column;
        pinned = hit !== null && !(pinned && same);
        cell = hit;
      }
      show(true);
    },
    signal,
  );

  on(
    element,
    "keydown",
    (event) => {
      if (drawn === null || props === null || event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key === "Escape") return clear();
      const moved =
        drawn.mode === "lines"
          ? moveFocus(drawn.body.layout, focus, event.key)
          : moveCell(drawn.body.layout, cell, event.key);
      if (moved === null) return;
      event.preventDefault();
      if ("side" in moved) focus = moved;
      else cell = moved;
      pinned = true;
      show(true);
      reveal();
    },
    signal,
  );

  function reveal(): void {
    if (drawn === null) return;
    let x = 0;
    let y = 0;
    if (drawn.mode === "lines") {
      if (focus === null) return;
      y = rowY(drawn.body.layout, focus.at);
      x = focus.side === "query" ? 0 : drawn.body.layout.right;
    } else {
      const corner = drawn.body.layout.panels[cell?.panel ?? 0];
      if (cell === null || corner === undefined) return;
      x = corner.x + cell.column * drawn.body.layout.cell;
      y = corner.y + cell.row * drawn.body.layout.cell;
    }
    const margin = 40;
    if (y < element.scrollTop + margin) element.scrollTop = Math.max(0, y - margin);
    if (y > element.scrollTop + element.clientHeight - margin) {
      element.scrollTop = y - element.clientHeight + margin;
    }
    if (x < element.scrollLeft + margin) element.scrollLeft = Math.max(0, x - margin);
    if (x > element.scrollLeft + element.clientWidth - margin) {
      element.scrollLeft = x - element.clientWidth + margin;
    }
  }

  function paintUnder(): void {
    if (props === null || drawn?.mode !== "matrix" || isVector(drawn.body.layout)) {
      under.replaceChildren();
      return;
    }
    const { layout } = drawn.body;
    const { input } = props;
    const colors = rampOf(input);
    const canvases = input.maps.map((map, panel) => {
      const corner = layout.panels[panel] ?? { x: 0, y: 0 };
      const canvas = h("canvas", { width: layout.key.length, height: layout.query.length });
      canvas.style.left = `${corner.x}px`;
      canvas.style.top = `${corner.y}px`;
      canvas.style.width = `${layout.key.length * layout.cell}px`;
      canvas.style.height = `${layout.query.length * layout.cell}px`;
      const levels = cellLevels(layout, map, (value) =>
        Number.isFinite(value) ? Math.min(254, colors.index(value)) : -1,
      );
      fill(canvas, levels, [input.palette.faint, ...colors.colours.slice(0, 255)]);
      return canvas;
    });
    under.replaceChildren(...canvases);
  }

  return {
    element,
    update(next) {
      const body: Drawn =
        next.mode === "lines"
          ? { mode: "lines", body: linesBody(next.input) }
          : { mode: "matrix", body: matrixBody({ ...next.input, bare: true }, next.zoom) };
      const before = drawn;
      props = next;
      drawn = body;
      const { svg, width, height } = body.body;
      const markup = drawing(width, height, svg);
      paint(picture, markup);
      set(element, "aria-label", `${next.label}. Arrow keys move, Escape clears.`);
      size(stage, width, height);
      // Maps are the same objects until they change, so this is cheap and exact.
      const { maps } = next.input;
      const same = painted?.markup === markup && sameMaps(painted.maps, maps);
      painted = { markup, maps };
      if (!same) paintUnder();
      if (before !== null && !fits(body, focus, cell)) clear();
      else if (focus !== null || cell !== null) show(false);
      return body.body.notes;
    },
  };
}

function sameMaps(a: readonly MapValues[], b: readonly MapValues[]): boolean {
  return a.length === b.length && a.every((map, at) => map === b[at]);
}

function fits(drawn: Drawn, focus: Focus | null, cell: Cell | null): boolean {
  if (drawn.mode === "lines") {
    if (cell !== null) return false;
    const { layout } = drawn.body;
    return focus === null || focus.at < (focus.side === "query" ? layout.query.length : layout.key.length);
  }
  if (focus !== null) return false;
  const { layout } = drawn.body;
  return (
    cell === null ||
    (cell.panel < layout.panels.length && cell.row < layout.query.length && cell.column < layout.key.length)
  );
}

/** Where a key takes the focus in lines; null for other keys. */
export function moveFocus(layout: LinksLayout, focus: Focus | null, key: string): Focus | null {
  const side = key === "ArrowLeft" ? "query" : key === "ArrowRight" ? "key" : (focus?.side ?? "query");
  const step = { ArrowUp: -1, ArrowDown: 1, ArrowLeft: 0, ArrowRight: 0, Home: -1e9, End: 1e9 }[key];
  if (step === undefined) return null;
  const last = (side === "query" ? layout.query.length : layout.key.length) - 1;
  if (last < 0) return null;
  const at = focus === null ? (step > 1 ? last : 0) : focus.at + step;
  return { side, at: Math.max(0, Math.min(last, at)) };
}

/** Where a key takes the cursor in matrices; null for other keys. */
export function moveCell(layout: MatrixLayout, cell: Cell | null, key: string): Cell | null {
  const step = {
    ArrowUp: [-1, 0],
    ArrowDown: [1, 0],
    ArrowLeft: [0, -1],
    ArrowRight: [0, 1],
    Home: [0, -1e9],
    End: [0, 1e9],
  }[key];
  const rows = layout.query.length;
  const columns = layout.key.length;
  if (step === undefined || rows === 0 || columns === 0) return null;
  if (cell === null) return { panel: 0, row: 0, column: 0 };
  const [down = 0, right = 0] = step;
  const column = cell.column + right;
  if (column >= columns && right === 1 && cell.panel + 1 < layout.panels.length) {
    return { panel: cell.panel + 1, row: cell.row, column: 0 };
  }
  if (column < 0 && right === -1 && cell.panel > 0) {
    return { panel: cell.panel - 1, row: cell.row, column: columns - 1 };
  }
  return {
    panel: cell.panel,
    row: Math.max(0, Math.min(rows - 1, cell.row + down)),
    column: Math.max(0, Math.min(columns - 1, column)),
  };
}

function cross(layout: MatrixLayout, cell: Cell, input: MapsInput): string {
  const corner = layout.panels[cell.panel];
  if (corner === undefined) return "";
  const size = layout.cell;
  const x = corner.x + cell.column * size;
  const y = corner.y + cell.row * size;
  const { selected, surface } = input.palette;
  const wide = layout.key.length * size;
  const high = layout.query.length * size;
  const band = { fill: "none", stroke: selected, "stroke-width": 1 };
  const thick = Math.max(size, 3);
  return (
    rect(corner.x, y + size / 2 - thick / 2, wide, thick, band) +
    rect(x + size / 2 - thick / 2, corner.y, thick, high, band) +
    rect(x - 1.5, y - 1.5, size + 3, size + 3, { fill: "none", stroke: surface, "stroke-width": 3.5 }) +
    rect(x - 1.5, y - 1.5, size + 3, size + 3, { fill: "none", stroke: selected, "stroke-width": 2 })
  );
}

/** Paint colour numbers into a canvas, one pixel each. */
function fill(canvas: HTMLCanvasElement, levels: Uint8Array, colors: readonly string[]): void {
  const context = canvas.getContext("2d");
  if (context === null) return;
  const table = colors.map(parseColour);
  const image = context.createImageData(canvas.width, canvas.height);
  for (let at = 0; at < levels.length; at += 1) {
    const [red, green, blue] = table[levels[at] ?? 0] ?? [0, 0, 0];
    image.data[at * 4] = red;
    image.data[at * 4 + 1] = green;
    image.data[at * 4 + 2] = blue;
    image.data[at * 4 + 3] = 255;
  }
  context.putImageData(image, 0, 0);
}
