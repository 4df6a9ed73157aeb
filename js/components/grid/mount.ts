/** The grid, alive: pointer, keyboard, focus and read-out on top of what `draw` makes. */

import { formatEstimate } from "../../marks/format.js";
import { el, num } from "../../marks/svg.js";
import { FONT, palette, type Theme } from "../../theme/palette.js";
import type { Buffer } from "../../wire/decode.js";
import type { GridDocument, HeadRef, KindName } from "../../wire/types.js";
import type { Component } from "../component.js";
import { type Cell, CellGrid, step } from "./cells.js";
import {
  describePanel,
  drawMarks,
  drawPanel,
  type PanelPicture,
  type PanelView,
  subtitleOf,
  viewPanel,
} from "./draw.js";
import { cellAt, cellBox } from "./layout.js";
import { headKey, headsBetween, toggled } from "./selection.js";

export interface GridProps {
  readonly document: GridDocument;
  readonly buffer?: Buffer;
  readonly theme: Theme;
  /** Which tab; the first when absent. */
  readonly kind?: string | null;
  /** Name of the drawn score; the first when absent. */
  readonly score?: string | null;
  /** Override the document's own. */
  readonly selected?: readonly HeadRef[];
  readonly pruned?: readonly HeadRef[];
}

/** What the user meant; the owner of the state answers by `update`. */
export interface GridEvents {
  onSelect?(selected: readonly HeadRef[]): void;
  /** Present: Delete and `x` toggle pruning of the selected heads. */
  onPrune?(pruned: readonly HeadRef[]): void;
  onChoose?(choice: { readonly kind: KindName; readonly score: string | null }): void;
}

const FALLBACK_WIDTH = 720;
const LONG_PRESS = 500;

export function mount(root: HTMLElement, props: GridProps, events: GridEvents = {}): Component<GridProps> {
  const control = new AbortController();
  const { signal } = control;
  const bar = div("hw-bar");
  const scroll = div("hw-scroll");
  const stage = div("hw-stage");
  const picture = div("hw-picture");
  const marks = div("hw-marks");
  const hover = div("hw-hover");
  const readout = div("hw-readout");
  const grid = new CellGrid();
  picture.setAttribute("aria-hidden", "true");
  marks.setAttribute("aria-hidden", "true");
  readout.setAttribute("aria-hidden", "true"); // the focused cell says the same
  hover.hidden = true;
  stage.append(picture, marks, hover, grid.element);
  scroll.append(stage);
  root.classList.add("hw-root", "hw-grid");
  root.dataset.lmSuppressShortcuts = "true";
  root.append(bar, scroll, readout);

  let drawn: { view: PanelView; picture: PanelPicture; inputs: readonly unknown[] } | null = null;
  let barInputs: readonly unknown[] = [];
  let anchor: Cell = [0, 0];
  let hovered: Cell | null = null;
  let available = root.clientWidth || FALLBACK_WIDTH;
  let chosenSet = new Set<string>();
  let prunedSet = new Set<string>();

  const selected = () => props.selected ?? props.document.selected;
  const pruned = () => props.pruned ?? props.document.pruned;
  const panel = () =>
    props.document.panels.find((candidate) => candidate.kind === props.kind) ??
    props.document.panels[0] ??
    null;
  const refOf = (cell: Cell): HeadRef => [panel()?.kind ?? "encoder", cell[0], cell[1]];

  function sentence(cell: Cell): string {
    if (!drawn) return "";
    const { view } = drawn;
    const at = cell[0] * view.panel.heads + cell[1];
    const parts = [`layer ${cell[0]} head ${cell[1]}`];
    if (view.score) {
      const stderr = view.stderr?.[at];
      parts[0] += `: ${formatEstimate(view.values[at] ?? Number.NaN, stderr ?? null, view.score.unit)}`;
      if (view.score.n > 0 && Number.isFinite(view.values[at])) parts.push(`n = ${view.score.n}`);
    }
    const key = headKey(refOf(cell));
    if (prunedSet.has(key)) parts.push("pruned");
    if (chosenSet.has(key)) parts.push("selected");
    return parts.join(", ");
  }

  function showReadout(): void {
    const focused = grid.element.querySelector(":focus") ? grid.current : null;
    const cell = hovered ?? focused;
    const count = [
      chosenSet.size > 0 ? `${chosenSet.size} selected` : "",
      prunedSet.size > 0 ? `${prunedSet.size} pruned` : "",
    ];
    const content = cell ? sentence(cell) : count.filter(Boolean).join(", ");
    if (readout.textContent !== content) readout.textContent = content;
  }

  function showHover(cell: Cell | null): void {
    if (cell?.[0] === hovered?.[0] && cell?.[1] === hovered?.[1]) return;
    hovered = cell;
    hover.hidden = !cell;
    if (cell && drawn) {
      const [x, y, side] = cellBox(drawn.picture.layout, cell[0], cell[1]);
      hover.style.cssText = `transform:translate(${x}px,${y}px);width:${side}px;height:${side}px`;
    }
    showReadout();
  }

  function renderBar(): void {
    const shown = panel();
    const inputs = [props.document, shown?.kind, drawn?.view.score?.name];
    if (same(inputs, barInputs)) return;
    barInputs = inputs;
    const refocus = bar.contains(document.activeElement)
      ? document.activeElement?.getAttribute("role")
      : null;
    bar.replaceChildren();
    const { panels } = props.document;
    if (panels.length > 1) {
      const tabs = div("hw-tabs");
      tabs.setAttribute("role", "tablist");
      tabs.setAttribute("aria-label", "kind of attention");
      for (const candidate of panels) {
        const tab = document.createElement("button");
        tab.type = "button";
        tab.setAttribute("role", "tab");
        tab.setAttribute("aria-selected", String(candidate === shown));
        tab.tabIndex = candidate === shown ? 0 : -1;
        tab.dataset.kind = candidate.kind;
        tab.textContent = candidate.label || candidate.kind;
        tabs.append(tab);
      }
      bar.append(tabs);
    }
    if (shown && shown.scores.length > 1) {
      const label = document.createElement("label");
      label.textContent = "score";
      const select = document.createElement("select");
      for (const score of shown.scores) {
        const option = document.createElement("option");
        option.value = score.name;
        option.textContent = score.name;
        option.selected = score.name === drawn?.view.score?.name;
        select.append(option);
      }
      label.append(select);
      bar.append(label);
    }
    bar.hidden = bar.childElementCount === 0;
    if (refocus === "tab") bar.querySelector<HTMLElement>('[role="tab"][aria-selected="true"]')?.focus();
  }

  function render(): void {
    const colours = palette(props.theme);
    root.dataset.theme = props.theme;
    const shown = panel();
    if (!shown) {
      picture.textContent = "No heads to show.";
      return;
    }
    chosenSet = new Set(selected().map(headKey));
    prunedSet = new Set(pruned().map(headKey));
    const inputs = [props.document, props.buffer, props.theme, shown.kind, props.score ?? null, available];
    const fresh = !drawn || !same(inputs, drawn.inputs);
    if (fresh) {
      const view = viewPanel(shown, props.score ?? null, props.buffer);
      const words = { title: props.document.title, subtitle: subtitleOf(view) };
      const base = drawPanel(view, words, available, colours);
      drawn = { view, picture: base, inputs };
      picture.innerHTML = layer(base.base, base);
      stage.style.cssText = `width:${base.width}px;height:${Math.ceil(base.height)}px`;
    }
    if (!drawn) return;
    marks.innerHTML = layer(
      drawMarks(drawn.view, drawn.picture, pruned(), selected(), colours),
      drawn.picture,
    );
    if (fresh) {
      const label = describePanel(drawn.view, props.document.title);
      grid.place(drawn.picture.layout, label, (cell) => ({
        label: sentence(cell),
        selected: chosenSet.has(headKey(refOf(cell))),
      }));
    } else grid.refresh();
    renderBar();
    const still = hovered;
    hovered = null;
    const layout = drawn.picture.layout;
    showHover(still && still[0] < layout.layers && still[1] < layout.heads ? still : null);
    showReadout();
  }

  function choose(cell: Cell, how: { add: boolean; range: boolean }): void {
    const now = selected();
    const ref = refOf(cell);
    let next: readonly HeadRef[];
    if (how.range) {
      const block = headsBetween(refOf(anchor), ref);
      next = how.add ? [...now, ...block.filter((head) => !chosenSet.has(headKey(head)))] : block;
    } else {
      anchor = cell;
      if (how.add) next = toggled(now, ref);
      else next = now.length === 1 && chosenSet.has(headKey(ref)) ? [] : [ref];
    }
    events.onSelect?.(next);
  }

  function cellOf(event: MouseEvent): Cell | null {
    const target = event.target instanceof Element ? event.target.closest<HTMLElement>(".hw-cell") : null;
    if (target) return [Number(target.dataset.layer), Number(target.dataset.head)];
    if (!drawn) return null;
    const box = stage.getBoundingClientRect();
    return cellAt(drawn.picture.layout, event.clientX - box.left, event.clientY - box.top);
  }

  let pressed: ReturnType<typeof setTimeout> | null = null;
  let longPressed = false;
  const release = () => {
    if (pressed !== null) clearTimeout(pressed);
    pressed = null;
  };

  stage.addEventListener(
    "pointermove",
    (event) => {
      if (event.pointerType !== "touch") showHover(cellOf(event));
    },
    { signal },
  );
  stage.addEventListener("pointerleave", () => showHover(null), { signal });
  stage.addEventListener(
    "pointerdown",
    (event) => {
      longPressed = false;
      release();
      const cell = cellOf(event);
      if (event.pointerType !== "touch" || !cell) return;
      showHover(cell);
      pressed = setTimeout(() => {
        longPressed = true;
        choose(cell, { add: true, range: false });
      }, LONG_PRESS);
    },
    { signal },
  );
  for (const name of ["pointerup", "pointercancel", "pointerleave"] as const)
    stage.addEventListener(name, release, { signal });
  stage.addEventListener(
    "contextmenu",
    (event) => {
      if (longPressed) event.preventDefault();
    },
    { signal },
  );
  stage.addEventListener(
    "click",
    (event) => {
      const cell = cellOf(event);
      if (!cell || longPressed) return;
      grid.focus(cell);
      choose(cell, { add: event.ctrlKey || event.metaKey, range: event.shiftKey });
    },
    { signal },
  );

  grid.element.addEventListener(
    "keydown",
    (event) => {
      if (!drawn || event.altKey) return;
      const add = event.ctrlKey || event.metaKey;
      const cell = grid.current;
      if (event.key === " " || event.key === "Enter") {
        if (event.shiftKey) choose(cell, { add, range: true });
        else choose(cell, { add, range: false });
      } else if (event.key === "Escape" && chosenSet.size > 0) {
        events.onSelect?.([]);
      } else if (add && (event.key === "a" || event.key === "A")) {
        const { layers, heads } = drawn.picture.layout;
        events.onSelect?.(headsBetween(refOf([0, 0]), refOf([layers - 1, heads - 1])));
      } else if (events.onPrune && (event.key === "Delete" || event.key === "x")) {
        const targets = chosenSet.size > 0 ? selected() : [refOf(cell)];
        events.onPrune(targets.reduce<readonly HeadRef[]>(toggled, pruned()));
      } else {
        const next = step(event.key, add, cell, drawn.picture.layout);
        if (!next) return;
        if (event.shiftKey) choose(next, { add: false, range: true });
        else anchor = next;
        grid.focus(next);
      }
      event.preventDefault();
    },
    { signal },
  );
  for (const name of ["focusin", "focusout"] as const)
    grid.element.addEventListener(name, showReadout, { signal });
  // The notebook's own keys (a, d d, x, arrows) must not act while the focus is in here.
  root.addEventListener("keydown", (event) => event.stopPropagation(), { signal });

  bar.addEventListener(
    "click",
    (event) => {
      const tab = event.target instanceof Element ? event.target.closest<HTMLElement>('[role="tab"]') : null;
      if (tab) chooseKind(tab.dataset.kind);
    },
    { signal },
  );
  bar.addEventListener(
    "keydown",
    (event) => {
      const tab = event.target instanceof Element ? event.target.closest<HTMLElement>('[role="tab"]') : null;
      const move = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (!tab || !move) return;
      const { panels } = props.document;
      const at = panels.findIndex((candidate) => candidate.kind === tab.dataset.kind);
      event.preventDefault();
      chooseKind(panels[(at + move + panels.length) % panels.length]?.kind);
    },
    { signal },
  );
  bar.addEventListener(
    "change",
    (event) => {
      const shown = panel();
      if (shown && event.target instanceof HTMLSelectElement)
        events.onChoose?.({ kind: shown.kind, score: event.target.value });
    },
    { signal },
  );

  function chooseKind(kind: string | undefined): void {
    const next = props.document.panels.find((candidate) => candidate.kind === kind);
    if (!next || next === panel()) return;
    const score = next.scores.find((candidate) => candidate.name === props.score) ?? next.scores[0];
    events.onChoose?.({ kind: next.kind, score: score?.name ?? null });
  }

  const observer =
    typeof ResizeObserver === "function"
      ? new ResizeObserver(() => {
          const width = Math.floor(root.clientWidth);
          if (width < 40 || width === available) return;
          available = width;
          render();
        })
      : null;
  observer?.observe(root);
  render();

  return {
    update(next) {
      props = next;
      render();
    },
    destroy() {
      release();
      observer?.disconnect();
      control.abort();
      root.replaceChildren();
      root.classList.remove("hw-root", "hw-grid");
      delete root.dataset.lmSuppressShortcuts;
      delete root.dataset.theme;
    },
  };
}

function div(name: string): HTMLElement {
  const element = document.createElement("div");
  element.className = name;
  return element;
}

function same(one: readonly unknown[], other: readonly unknown[]): boolean {
  return one.length === other.length && one.every((value, i) => Object.is(value, other[i]));
}

function layer(body: string, { width, height }: { readonly width: number; readonly height: number }): string {
  const box = { width, height: Math.ceil(height), viewBox: `0 0 ${num(width)} ${Math.ceil(height)}` };
  const style = { "font-family": FONT, "text-rendering": "geometricPrecision" };
  return el("svg", { xmlns: "http://www.w3.org/2000/svg", ...box, ...style }, body);
}
