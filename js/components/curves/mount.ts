/** The curves, alive: pointing at a line or its name brings it forward, with its interval and a read-out. */

import { palette, type Theme } from "../../theme/palette.js";
import type { CurvesDocument } from "../../wire/types.js";
import type { Component } from "../component.js";
import { drawing, h, liveRegion, on, paint, rootOf, say, set, size } from "../controls.js";
import { observeWidth } from "../width.js";
import { type CurvesPicture, describe, drawCurves, type Pointed } from "./draw.js";
import { areaText, nextCount, pointAt, sentence } from "./model.js";

export interface CurvesProps {
  readonly document: CurvesDocument;
  readonly theme: Theme;
}

const FALLBACK_WIDTH = 720;
const REACH = 24;

export function mount(parent: HTMLElement, props: CurvesProps): Component<CurvesProps> {
  const control = new AbortController();
  const { signal } = control;
  const root = rootOf(parent, "curves", "curves", signal);
  const picture = h("div", { class: "hw-picture", "aria-hidden": "true" });
  const rows = h("div", { class: "hw-curve-rows", role: "group", "aria-label": "curves" });
  const stage = h("div", { class: "hw-stage" }, picture, rows);
  const readout = h("div", { class: "hw-readout", "aria-hidden": "true" });
  const spoken = liveRegion();
  root.append(h("div", { class: "hw-scroll" }, stage), readout, spoken);

  let drawn: CurvesPicture | null = null;
  /** What the pointer is on, what the focus is on, and what a click keeps. */
  let pointed: Pointed | null = null;
  let focused: Pointed | null = null;
  let kept: Pointed | null = null;
  let available = root.clientWidth || FALLBACK_WIDTH;

  const shown = () => pointed ?? focused ?? kept;

  function words(): string {
    const now = shown();
    const curve = now === null ? undefined : props.document.curves[now.curve];
    if (!now || !curve) return "";
    const point = now.count === null ? null : pointAt(curve, now.count);
    return point ? sentence(props.document, curve, point) : curve.name;
  }

  function render(): void {
    const { document } = props;
    set(root, "data-theme", props.theme);
    set(root, "aria-label", describe(document));
    if ((kept?.curve ?? 0) >= document.curves.length) kept = null;
    if ((pointed?.curve ?? 0) >= document.curves.length) pointed = null;
    if ((focused?.curve ?? 0) >= document.curves.length) focused = null;
    drawn = drawCurves(document, available, palette(props.theme), shown());
    paint(picture, drawing(drawn.width, drawn.height, drawn.svg));
    size(stage, drawn.width, drawn.height);
    placeRows(drawn);
    say(readout, words());
  }

  function placeRows(made: CurvesPicture): void {
    const buttons = [...rows.children];
    if (buttons.length !== made.rows.length) {
      buttons.splice(0, buttons.length, ...made.rows.map(() => h("button", { type: "button" })));
      rows.replaceChildren(...buttons);
    }
    const owner = root.ownerDocument.activeElement;
    const active = Math.max(0, owner === null ? -1 : buttons.indexOf(owner));
    made.rows.forEach(([left, top, width, height], i) => {
      const [button, curve] = [buttons[i], props.document.curves[i]];
      if (!button || !curve) return;
      set(
        button,
        "style",
        `transform:translate(${left}px,${top}px);width:${Math.ceil(width)}px;height:${height}px`,
      );
      const [value, range] = areaText(props.document.metric, curve.area);
      const area = value === "" ? "" : `, area ${value}${range === "" ? "" : ` (${range})`}`;
      set(button, "aria-label", `${curve.name}${area}`);
      set(button, "aria-pressed", String(kept?.curve === i));
      set(button, "tabindex", i === active ? 0 : -1);
    });
  }

  function point(next: Pointed | null): void {
    if (next?.curve === pointed?.curve && next?.count === pointed?.count) return;
    pointed = next;
    render();
  }

  const rowOf = (target: EventTarget | null) =>
    [...rows.children].findIndex((row) => target instanceof Node && row.contains(target));

  /** The curve whose line is nearest at the count under the pointer. */
  function under(event: PointerEvent): Pointed | null {
    if (!drawn) return null;
    const box = stage.getBoundingClientRect();
    const [left, top] = [event.clientX - box.left, event.clientY - box.top];
    const [x0, y0, x1, y1] = drawn.plot;
    if (left < x0 - 8 || left > x1 + 8 || top < y0 - 8 || top > y1 + 8) return null;
    let best: Pointed | null = null;
    let least = REACH;
    props.document.curves.forEach((curve, i) => {
      const near = drawn && pointAt(curve, drawn.x.invert(left));
      if (!near || !drawn || !Number.isFinite(near.estimate.value)) return;
      const [dx, dy] = [drawn.x(near.count) - left, drawn.y(near.estimate.value * drawn.factor) - top];
      // along a long segment the height counts, not how far its ends are
      const distance = Math.hypot(Math.min(Math.abs(dx), 8), dy) + (curve.control ? 4 : 0);
      if (distance < least) {
        least = distance;
        best = { curve: i, count: near.count };
      }
    });
    return best;
  }

  on(
    stage,
    "pointermove",
    (event) => {
      const row = rowOf(event.target);
      point(row >= 0 ? { curve: row, count: null } : under(event));
    },
    signal,
  );
  on(stage, "pointerleave", () => point(null), signal);
  on(
    stage,
    "pointerup",
    (event) => {
      if (rowOf(event.target) >= 0) return;
      const next = under(event);
      kept = next && kept?.curve === next.curve && kept.count === next.count ? null : next;
      render();
      say(spoken, words());
    },
    signal,
  );
  on(
    rows,
    "click",
    (event) => {
      const row = rowOf(event.target);
      if (row < 0) return;
      kept = kept?.curve === row ? null : { curve: row, count: kept?.count ?? null };
      render();
    },
    signal,
  );
  on(
    rows,
    "focusin",
    (event) => {
      const row = rowOf(event.target);
      if (row < 0) return;
      focused = { curve: row, count: focused?.count ?? kept?.count ?? null };
      render();
    },
    signal,
  );
  on(
    rows,
    "focusout",
    (event) => {
      if (rowOf(event.relatedTarget) >= 0) return;
      focused = null;
      render();
    },
    signal,
  );
  on(
    rows,
    "keydown",
    (event) => {
      const row = rowOf(event.target);
      const curve = props.document.curves[row];
      if (!curve) return;
      const across = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (across !== undefined) {
        const next = rows.children[Math.max(0, Math.min(rows.children.length - 1, row + across))];
        if (next instanceof HTMLElement) next.focus();
      } else if (event.key === "ArrowRight" || event.key === "ArrowLeft") {
        const from = focused?.count ?? (event.key === "ArrowRight" ? -1 : props.document.total + 1);
        focused = { curve: row, count: nextCount(curve, from, event.key === "ArrowRight" ? 1 : -1) };
        pointed = null;
        render();
        say(spoken, words());
      } else if (event.key === "Escape" && kept !== null) {
        kept = null;
        render();
      } else return;
      event.preventDefault();
    },
    signal,
  );

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
