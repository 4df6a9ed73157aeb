/** A chart whose points are heads, alive: hover reads a head out, a click or an outline selects, arrow keys go from point to point. */

import { num } from "../../marks/svg.js";
import { type Palette, palette, type Theme } from "../../theme/palette.js";
import type { Buffer } from "../../wire/decode.js";
import type { HeadRef } from "../../wire/types.js";
import type { Component } from "../component.js";
import { drawing, h, on, paint, rootOf, say, set, size } from "../controls.js";
import { headKey, toggled } from "../grid/selection.js";
import { observeWidth } from "../width.js";
import { inside, nearest, type PlacedHead, type Spot, selectionText, step, surrounded } from "./model.js";

export interface PointsProps<D> {
  readonly document: D;
  readonly buffer?: Buffer;
  readonly theme: Theme;
  /** Overrides the document's own. */
  readonly selected?: readonly HeadRef[];
}

/** What the user meant; the owner of the state answers by `update`. */
export interface PointsEvents {
  onSelect?(selected: readonly HeadRef[]): void;
}

export interface PointsPicture<P> {
  readonly width: number;
  readonly height: number;
  /** Everything but the selection. */
  readonly base: string;
  readonly placed: readonly P[];
}

/** What a chart of points is made of: D a document, C the same with its arrays decoded, P a point in the picture. */
export interface PointsChart<D, C, P extends PlacedHead, M extends PointsPicture<P>> {
  readonly name: string;
  /** For a screen reader: what the chart is. */
  readonly label: string;
  /** What dragging draws: a rectangle, or an outline. */
  readonly region: "rectangle" | "outline";
  decode(document: D, buffer?: Buffer): C;
  draw(content: C, width: number, colours: Palette): M;
  drawSelection(
    content: C,
    picture: M,
    selected: readonly HeadRef[],
    hovered: string | null,
    colours: Palette,
  ): string;
  describe(content: C): string;
  /** Everything that is said of one point. */
  sentence(content: C, point: P): string;
}

/** Heads without repetition: one may have several points. */
function eachOnce(heads: readonly HeadRef[]): readonly HeadRef[] {
  return [...new Map(heads.map((head) => [headKey(head), head])).values()];
}

const FALLBACK_WIDTH = 640;
const REACH = 12;
const FINGER = 22;
/** Pixels that a pointer has to move before a press is a drag. */
const SLACK = 4;

export function mountPoints<
  D extends { readonly selected: readonly HeadRef[] },
  C,
  P extends PlacedHead,
  M extends PointsPicture<P>,
>(
  parent: HTMLElement,
  chart: PointsChart<D, C, P, M>,
  given: PointsProps<D>,
  events: PointsEvents = {},
  bar: HTMLElement | null = null,
): Component<PointsProps<D>> {
  let props = given;
  const control = new AbortController();
  const { signal } = control;
  const root = rootOf(parent, chart.name, chart.label, signal);
  const picture = h("div", { class: "hw-picture", "aria-hidden": "true" });
  const marks = h("div", { class: "hw-marks", "aria-hidden": "true" });
  const brush = h("div", { class: `hw-brush hw-${chart.region}`, hidden: true });
  const list = h("div", { class: "hw-points", role: "listbox", "aria-multiselectable": "true", tabindex: 0 });
  const stage = h("div", { class: "hw-stage" }, picture, marks, brush, list);
  const readout = h("div", { class: "hw-readout", "aria-hidden": "true" });
  if (bar) root.append(bar);
  root.append(h("div", { class: "hw-scroll" }, stage), readout);

  let drawn: { content: C; picture: M; inputs: readonly unknown[] } | null = null;
  let options = new Map<string, HTMLElement>();
  let hovered: P | null = null;
  let current: P | null = null;
  let start: Spot | null = null;
  let outline: Spot[] = [];
  let dragging = false;
  let available = root.clientWidth || FALLBACK_WIDTH;
  const identity = `hw-${Math.random().toString(36).slice(2)}`;

  const selected = () => props.selected ?? props.document.selected;
  const focused = () => root.ownerDocument.activeElement === list;

  function showReadout(): void {
    const shown = hovered ?? (focused() ? current : null);
    say(readout, shown && drawn ? chart.sentence(drawn.content, shown) : selectionText(selected()));
  }

  function showMarks(): void {
    if (!drawn) return;
    const ringed = hovered ?? (focused() ? current : null);
    const body = chart.drawSelection(
      drawn.content,
      drawn.picture,
      selected(),
      ringed?.key ?? null,
      palette(props.theme),
    );
    paint(marks, drawing(drawn.picture.width, drawn.picture.height, body));
    showReadout();
  }

  function render(): void {
    set(root, "data-theme", props.theme);
    const inputs = [props.document, props.buffer, props.theme, available];
    const fresh = !drawn?.inputs.every((input, i) => Object.is(input, inputs[i]));
    if (fresh || !drawn) {
      const content = chart.decode(props.document, props.buffer);
      const made = chart.draw(content, available, palette(props.theme));
      drawn = { content, picture: made, inputs };
      paint(picture, drawing(made.width, made.height, made.base));
      size(stage, made.width, made.height);
      set(list, "aria-label", chart.describe(content));
      const again = (old: P | null) => made.placed.find(({ key }) => key === old?.key) ?? null;
      current = again(current);
      hovered = again(hovered);
      placeOptions(content, made.placed);
    }
    const chosen = new Set(selected().map(headKey));
    for (const option of options.values())
      set(option, "aria-selected", String(chosen.has(option.dataset.head ?? "")));
    set(list, "aria-activedescendant", current ? `${identity}-${current.key}` : false);
    showMarks();
  }

  /** One element per point for screen readers; what is seen is the drawing. */
  function placeOptions(content: C, placed: readonly P[]): void {
    options = new Map(
      placed.map((point) => {
        const { key, x, y } = point;
        const option = h("div", {
          role: "option",
          id: `${identity}-${key}`,
          "aria-label": chart.sentence(content, point),
          "data-head": headKey(point.head),
        });
        option.style.transform = `translate(${x}px,${y}px)`;
        return [key, option];
      }),
    );
    list.replaceChildren(...options.values());
  }

  function choose(head: HeadRef, add: boolean): void {
    const now = selected();
    const alone = now.length === 1 && now[0] !== undefined && headKey(now[0]) === headKey(head);
    events.onSelect?.(add ? toggled(now, head) : alone ? [] : [head]);
  }

  const spotOf = (event: PointerEvent): Spot => {
    const box = stage.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  const under = (event: PointerEvent): P | null => {
    const [x, y] = spotOf(event);
    return nearest(drawn?.picture.placed ?? [], x, y, event.pointerType === "touch" ? FINGER : REACH);
  };
  const adds = (event: MouseEvent | KeyboardEvent) => event.ctrlKey || event.metaKey || event.shiftKey;

  function showRegion(until: Spot | null): void {
    brush.hidden = !start || !until || !dragging;
    if (!start || !until || !dragging) return;
    if (chart.region === "outline") {
      const box = drawn?.picture;
      const d = `M${outline.map(([x, y]) => `${num(x)} ${num(y)}`).join("L")}Z`;
      if (box) paint(brush, drawing(box.width, box.height, `<path d="${d}"/>`));
      return;
    }
    const [left, top] = [Math.min(start[0], until[0]), Math.min(start[1], until[1])];
    set(
      brush,
      "style",
      `transform:translate(${left}px,${top}px);width:${Math.abs(until[0] - start[0])}px;height:${Math.abs(until[1] - start[1])}px`,
    );
  }

  on(
    stage,
    "pointerdown",
    (event) => {
      if (event.button !== 0) return;
      start = spotOf(event);
      outline = [start];
      dragging = false;
    },
    signal,
  );
  on(
    stage,
    "pointermove",
    (event) => {
      const spot = spotOf(event);
      if (start && !dragging && Math.hypot(spot[0] - start[0], spot[1] - start[1]) > SLACK) {
        dragging = true;
        stage.setPointerCapture?.(event.pointerId);
      }
      if (start) outline.push(spot);
      if (dragging) showRegion(spot);
      const next = dragging || event.pointerType === "touch" ? null : under(event);
      if (next?.key === hovered?.key) return;
      hovered = next;
      showMarks();
    },
    signal,
  );
  on(
    stage,
    "pointerup",
    (event) => {
      if (!start) return;
      const [from, dragged] = [start, dragging];
      start = null;
      dragging = false;
      showRegion(null);
      list.focus({ preventScroll: true });
      if (dragged) {
        const placed = drawn?.picture.placed ?? [];
        const heads =
          chart.region === "outline"
            ? surrounded(placed, [...outline, spotOf(event)])
            : inside(placed, from, spotOf(event));
        events.onSelect?.(eachOnce([...(adds(event) ? selected() : []), ...heads]));
        return;
      }
      const point = under(event);
      if (point) {
        current = point;
        choose(point.head, adds(event));
      } else if (!adds(event) && selected().length > 0) events.onSelect?.([]);
      render();
    },
    signal,
  );
  const giveUp = (): void => {
    start = null;
    dragging = false;
    showRegion(null);
  };
  on(stage, "pointercancel", giveUp, signal);
  on(
    stage,
    "pointerleave",
    () => {
      if (dragging) return;
      start = null;
      hovered = null;
      showMarks();
    },
    signal,
  );
  on(
    list,
    "keydown",
    (event) => {
      const placed = drawn?.picture.placed ?? [];
      if (event.key === "Escape") {
        if (start) giveUp();
        else if (selected().length > 0) events.onSelect?.([]);
        else return;
      } else if (event.key === " " || event.key === "Enter") {
        if (!current) return;
        choose(current.head, adds(event) || event.key === " ");
      } else if (event.key === "a" && (event.ctrlKey || event.metaKey)) {
        events.onSelect?.(eachOnce(placed.map(({ head }) => head)));
      } else {
        const next = step(placed, current, event.key);
        if (!next) return;
        current = next;
        hovered = null;
        render();
      }
      event.preventDefault();
    },
    signal,
  );
  on(list, "focus", render, signal);
  on(list, "blur", showMarks, signal);

  const stopWatching = observeWidth(root, (width) => {
    if (width === available) return;
    available = width;
    render();
  });
  render();

  return {
    update(next) {
      props = next;
      render();
    },
    destroy() {
      stopWatching();
      control.abort();
      root.remove();
    },
  };
}
