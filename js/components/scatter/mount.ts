/** The scatter, alive: hover reads a head out, a click or a rectangle selects, arrow keys go from point to point. */

import { palette, type Theme } from "../../theme/palette.js";
import type { Buffer } from "../../wire/decode.js";
import type { HeadRef, ScatterDocument } from "../../wire/types.js";
import type { Component } from "../component.js";
import { drawing, h, on, paint, rootOf, say, set, size } from "../controls.js";
import { headKey, toggled } from "../grid/selection.js";
import { observeWidth } from "../width.js";
import { describe, drawScatter, drawSelection, type ScatterPicture } from "./draw.js";
import {
  inside,
  nearest,
  type Placed,
  type Scatter,
  scatterOf,
  selectionText,
  sentence,
  step,
} from "./model.js";

export interface ScatterProps {
  readonly document: ScatterDocument;
  readonly buffer?: Buffer;
  readonly theme: Theme;
  /** Overrides the document's own. */
  readonly selected?: readonly HeadRef[];
}

/** What the user meant; the owner of the state answers by `update`. */
export interface ScatterEvents {
  onSelect?(selected: readonly HeadRef[]): void;
}

const FALLBACK_WIDTH = 640;
const REACH = 12;
const FINGER = 22;
/** Pixels that a pointer has to move before a press is a drag. */
const SLACK = 4;

type Spot = readonly [number, number];

export function mount(
  parent: HTMLElement,
  props: ScatterProps,
  events: ScatterEvents = {},
): Component<ScatterProps> {
  const control = new AbortController();
  const { signal } = control;
  const root = rootOf(parent, "scatter", "heads by two measurements", signal);
  const picture = h("div", { class: "hw-picture", "aria-hidden": "true" });
  const marks = h("div", { class: "hw-marks", "aria-hidden": "true" });
  const brush = h("div", { class: "hw-brush", hidden: true });
  const list = h("div", { class: "hw-points", role: "listbox", "aria-multiselectable": "true", tabindex: 0 });
  const stage = h("div", { class: "hw-stage" }, picture, marks, brush, list);
  const readout = h("div", { class: "hw-readout", "aria-hidden": "true" });
  root.append(h("div", { class: "hw-scroll" }, stage), readout);

  let drawn: { scatter: Scatter; picture: ScatterPicture; inputs: readonly unknown[] } | null = null;
  let options = new Map<string, HTMLElement>();
  let hovered: Placed | null = null;
  let current: Placed | null = null;
  let start: Spot | null = null;
  let dragging = false;
  let available = root.clientWidth || FALLBACK_WIDTH;
  const identity = `hw-${Math.random().toString(36).slice(2)}`;

  const selected = () => props.selected ?? props.document.selected;
  const focused = () => root.ownerDocument.activeElement === list;

  function showReadout(): void {
    const shown = hovered ?? (focused() ? current : null);
    say(readout, shown && drawn ? sentence(drawn.scatter, shown.point) : selectionText(selected()));
  }

  function showMarks(): void {
    if (!drawn) return;
    const ringed = hovered ?? (focused() ? current : null);
    const body = drawSelection(
      drawn.scatter,
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
      const scatter = scatterOf(props.document, props.buffer);
      const made = drawScatter(scatter, available, palette(props.theme));
      drawn = { scatter, picture: made, inputs };
      paint(picture, drawing(made.width, made.height, made.base));
      size(stage, made.width, made.height);
      set(list, "aria-label", describe(scatter));
      const again = (old: Placed | null) => made.placed.find(({ key }) => key === old?.key) ?? null;
      current = again(current);
      hovered = again(hovered);
      placeOptions(scatter, made.placed);
    }
    const chosen = new Set(selected().map(headKey));
    for (const [key, option] of options) set(option, "aria-selected", String(chosen.has(key)));
    set(list, "aria-activedescendant", current ? `${identity}-${current.key}` : false);
    showMarks();
  }

  /** One element per point for screen readers; what is seen is the drawing. */
  function placeOptions(scatter: Scatter, placed: readonly Placed[]): void {
    options = new Map(
      placed.map(({ point, key, x, y }) => {
        const option = h("div", {
          role: "option",
          id: `${identity}-${key}`,
          "aria-label": sentence(scatter, point),
          "data-head": key,
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
  const under = (event: PointerEvent): Placed | null => {
    const [x, y] = spotOf(event);
    return nearest(drawn?.picture.placed ?? [], x, y, event.pointerType === "touch" ? FINGER : REACH);
  };
  const adds = (event: MouseEvent | KeyboardEvent) => event.ctrlKey || event.metaKey || event.shiftKey;

  function showBrush(until: Spot | null): void {
    brush.hidden = !start || !until || !dragging;
    if (!start || !until || !dragging) return;
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
      if (dragging) showBrush(spot);
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
      showBrush(null);
      list.focus({ preventScroll: true });
      if (dragged) {
        const heads = inside(drawn?.picture.placed ?? [], from, spotOf(event));
        const before = adds(event) ? selected() : [];
        const known = new Set(before.map(headKey));
        events.onSelect?.([...before, ...heads.filter((head) => !known.has(headKey(head)))]);
        return;
      }
      const point = under(event);
      if (point) {
        current = point;
        choose(point.point.head, adds(event));
      } else if (!adds(event) && selected().length > 0) events.onSelect?.([]);
      render();
    },
    signal,
  );
  const giveUp = (): void => {
    start = null;
    dragging = false;
    showBrush(null);
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
        choose(current.point.head, adds(event) || event.key === " ");
      } else if (event.key === "a" && (event.ctrlKey || event.metaKey)) {
        events.onSelect?.(placed.map(({ point }) => point.head));
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
