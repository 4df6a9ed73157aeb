/** The grid, alive: pointer, keyboard, focus and read-out on top of what `draw` makes. */

import { formatEstimate } from "../../marks/format.js";
import { palette, type Theme } from "../../theme/palette.js";
import type { Buffer } from "../../wire/decode.js";
import type { GridDocument, HeadRef, KindName } from "../../wire/types.js";
import type { Component } from "../component.js";
import { drawing, h, liveRegion, menu, on, paint, rootOf, say, set, size } from "../controls.js";
import { observeWidth } from "../width.js";
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
import { roleWords, viewRoles } from "./roles.js";
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
  /** What is running, or how it ended; empty when there is nothing to say. */
  readonly status?: string;
  /** Whether scores still come. */
  readonly running?: boolean;
}

/** What the user meant; the owner of the state answers by `update`. */
export interface GridEvents {
  onSelect?(selected: readonly HeadRef[]): void;
  /** Present: Delete and `x` toggle pruning of the selected heads. */
  onPrune?(pruned: readonly HeadRef[]): void;
  onChoose?(choice: { readonly kind: KindName; readonly score: string | null }): void;
  /** Present: a button ends what is running. */
  onStop?(): void;
}

const FALLBACK_WIDTH = 720;
/** Milliseconds after which a finger adds a head to the selection. */
const LONG_PRESS = 500;

export function mount(parent: HTMLElement, props: GridProps, events: GridEvents = {}): Component<GridProps> {
  const control = new AbortController();
  const { signal } = control;
  // The notebook's own keys (a, d d, x, arrows) must not act while the focus is in here.
  const root = rootOf(parent, "grid", "heads by layer", signal);
  const tabs = h("div", { class: "hw-tabs", role: "tablist", "aria-label": "kind of attention" });
  const scores = menu("score", signal, (score) => {
    const shown = panel();
    if (shown) events.onChoose?.({ kind: shown.kind, score });
  });
  const roles = menu("select role", signal, (name) => {
    const found = drawn?.view.roles?.looks.find(({ role }) => role.name === name);
    const kind = panel()?.kind;
    if (found)
      events.onSelect?.(found.role.heads.filter(({ head }) => head[0] === kind).map(({ head }) => head));
  });
  const bar = h("div", { class: "hw-bar" }, tabs, scores.element, roles.element);
  const picture = h("div", { class: "hw-picture", "aria-hidden": "true" });
  const marks = h("div", { class: "hw-marks", "aria-hidden": "true" });
  const hover = h("div", { class: "hw-hover", hidden: true });
  const grid = new CellGrid();
  const stage = h("div", { class: "hw-stage" }, picture, marks, hover, grid.element);
  // Hidden from screen readers: the focused cell says the same.
  const readout = h("div", { class: "hw-readout", "aria-hidden": "true" });
  const said = h("span", {});
  const stop = h("button", { type: "button" }, "Stop");
  const state = h("div", { class: "hw-state hw-running", hidden: true }, said, stop);
  // Progress is seen; only how it ended is spoken.
  const live = liveRegion();
  root.append(bar, h("div", { class: "hw-scroll" }, stage), state, readout, live);
  let wasRunning = false;
  let stopping = false;

  let drawn: { view: PanelView; picture: PanelPicture; inputs: readonly unknown[] } | null = null;
  let anchor: Cell = [0, 0];
  let hovered: Cell | null = null;
  let available = root.clientWidth || FALLBACK_WIDTH;
  let chosen = new Set<string>();
  let gone = new Set<string>();

  const selected = () => props.selected ?? props.document.selected;
  const pruned = () => props.pruned ?? props.document.pruned;
  const panel = () => {
    const { panels } = props.document;
    return panels.find((candidate) => candidate.kind === props.kind) ?? panels[0] ?? null;
  };
  const refOf = (cell: Cell): HeadRef => [panel()?.kind ?? "encoder", cell[0], cell[1]];

  function sentence(cell: Cell): string {
    if (!drawn) return "";
    const { score, values, stderr, panel: shown, roles } = drawn.view;
    const at = cell[0] * shown.heads + cell[1];
    const value = values[at] ?? Number.NaN;
    const name = `layer ${cell[0]} head ${cell[1]}`;
    const key = headKey(refOf(cell));
    return [
      score ? `${name}: ${formatEstimate(value, stderr?.[at] ?? null, score.unit)}` : name,
      score && score.n > 0 && Number.isFinite(value) ? `n = ${score.n}` : "",
      roles ? roleWords(roles.of.get(key)) : "",
      gone.has(key) ? "pruned" : "",
      chosen.has(key) ? "selected" : "",
    ]
      .filter(Boolean)
      .join(", ");
  }

  function showReadout(): void {
    const cell = hovered ?? (grid.element.querySelector(":focus") ? grid.current : null);
    const counts = [
      chosen.size > 0 ? `${chosen.size} selected` : "",
      gone.size > 0 ? `${gone.size} pruned` : "",
    ];
    say(readout, cell ? sentence(cell) : counts.filter(Boolean).join(", "));
  }

  function showHover(cell: Cell | null): void {
    hovered = cell;
    hover.hidden = !cell;
    if (cell && drawn) {
      const [x, y, side] = cellBox(drawn.picture.layout, cell[0], cell[1]);
      set(hover, "style", `transform:translate(${x}px,${y}px);width:${side}px;height:${side}px`);
    }
    showReadout();
  }

  /** Whether the selected heads are those of a role. */
  function isChosen(name: string): boolean {
    const kind = panel()?.kind;
    const layer = drawn?.view.roles?.looks.find(({ role }) => role.name === name)?.role;
    const own = layer?.heads.filter(({ head }) => head[0] === kind) ?? [];
    return own.length > 0 && own.length === chosen.size && own.every(({ head }) => chosen.has(headKey(head)));
  }

  function showBar(view: PanelView): void {
    const { panels } = props.document;
    const buttons = [...tabs.children];
    if (buttons.length !== panels.length) {
      buttons.splice(0, buttons.length, ...panels.map(() => h("button", { type: "button", role: "tab" })));
      tabs.replaceChildren(...buttons);
    }
    panels.forEach((candidate, i) => {
      const tab = buttons[i];
      if (!tab) return;
      say(tab, candidate.label || candidate.kind);
      set(tab, "aria-selected", String(candidate === view.panel));
      set(tab, "tabindex", candidate === view.panel ? 0 : -1);
    });
    const names = view.panel.scores.map((score) => score.name);
    scores.show(names, view.score?.name ?? "", true);
    tabs.hidden = panels.length < 2;
    scores.element.hidden = names.length < 2;
    const held = view.roles?.looks.map(({ role }) => role.name) ?? [];
    const chosenRole = held.find((name) => isChosen(name)) ?? "";
    roles.show(["", ...held], chosenRole, events.onSelect !== undefined);
    roles.element.hidden = held.length === 0 || !events.onSelect;
    bar.hidden = tabs.hidden && scores.element.hidden && roles.element.hidden;
  }

  function showState(): void {
    const { status = "", running = false } = props;
    const leaves = !running && stop.contains(document.activeElement);
    if (!running) stopping = false;
    say(said, status);
    stop.hidden = !running || !events.onStop;
    set(stop, "aria-disabled", stopping ? "true" : false);
    state.hidden = status === "" && stop.hidden;
    if (wasRunning && !running) say(live, status || "Done.");
    else if (running) say(live, "");
    wasRunning = running;
    // A button that goes must not take the focus to the top of the page.
    if (leaves && drawn) grid.focus(grid.current);
  }

  function render(): void {
    const colours = palette(props.theme);
    set(root, "data-theme", props.theme);
    const shown = panel();
    if (!shown) {
      bar.hidden = true;
      say(picture, props.running ? "No scores yet." : "No heads to show.");
      showState();
      return;
    }
    chosen = new Set(selected().map(headKey));
    gone = new Set(pruned().map(headKey));
    const inputs = [props.document, props.buffer, props.theme, shown.kind, props.score ?? null, available];
    const fresh = !drawn?.inputs.every((input, i) => Object.is(input, inputs[i]));
    if (fresh || !drawn) {
      const roles = viewRoles(props.document, shown.kind, colours);
      const view = { ...viewPanel(shown, props.score ?? null, props.buffer), roles };
      const words = { title: props.document.title, subtitle: subtitleOf(view) };
      drawn = { view, picture: drawPanel(view, words, available, colours), inputs };
      paint(picture, drawing(drawn.picture.width, drawn.picture.height, drawn.picture.base));
      size(stage, drawn.picture.width, drawn.picture.height);
    }
    const { view, picture: base } = drawn;
    paint(marks, drawing(base.width, base.height, drawMarks(view, base, pruned(), selected(), colours)));
    if (fresh) {
      grid.place(base.layout, describePanel(view, props.document.title), (cell) => ({
        label: sentence(cell),
        selected: chosen.has(headKey(refOf(cell))),
      }));
    } else grid.refresh();
    showBar(view);
    const { layers, heads } = base.layout;
    showHover(hovered && hovered[0] < layers && hovered[1] < heads ? hovered : null);
    showState();
  }

  function choose(cell: Cell, add: boolean, range: boolean): void {
    const now = selected();
    const ref = refOf(cell);
    if (range) {
      const block = headsBetween(refOf(anchor), ref);
      events.onSelect?.(add ? [...now, ...block.filter((head) => !chosen.has(headKey(head)))] : block);
      return;
    }
    anchor = cell;
    const alone = now.length === 1 && chosen.has(headKey(ref));
    events.onSelect?.(add ? toggled(now, ref) : alone ? [] : [ref]);
  }

  function chooseTab(at: number): void {
    const { panels } = props.document;
    const place = (at + panels.length) % panels.length;
    const next = panels[place];
    const tab = tabs.children[place];
    if (tab instanceof HTMLElement) tab.focus();
    if (!next || next === panel()) return;
    const score = next.scores.find((candidate) => candidate.name === props.score) ?? next.scores[0];
    events.onChoose?.({ kind: next.kind, score: score?.name ?? null });
  }

  function cellOf(event: MouseEvent): Cell | null {
    const target = event.target instanceof Element ? event.target.closest<HTMLElement>(".hw-cell") : null;
    if (target) return [Number(target.dataset.layer), Number(target.dataset.head)];
    if (!drawn) return null;
    const box = stage.getBoundingClientRect();
    return cellAt(drawn.picture.layout, event.clientX - box.left, event.clientY - box.top);
  }

  let pressed: ReturnType<typeof setTimeout> | undefined;
  let longPressed = false;
  const release = () => clearTimeout(pressed);

  on(
    stage,
    "pointermove",
    (event) => {
      const cell = event.pointerType === "touch" ? null : cellOf(event);
      if (cell?.[0] !== hovered?.[0] || cell?.[1] !== hovered?.[1]) showHover(cell);
    },
    signal,
  );
  on(stage, "pointerleave", () => showHover(null), signal);
  on(
    stage,
    "pointerdown",
    (event) => {
      release();
      longPressed = false;
      const cell = event.pointerType === "touch" ? cellOf(event) : null;
      if (!cell) return;
      pressed = setTimeout(() => {
        longPressed = true;
        choose(cell, true, false);
      }, LONG_PRESS);
    },
    signal,
  );
  for (const name of ["pointerup", "pointercancel", "pointerleave"] as const)
    on(stage, name, release, signal);
  on(stage, "contextmenu", (event) => longPressed && event.preventDefault(), signal);
  on(
    stage,
    "click",
    (event) => {
      const cell = cellOf(event);
      if (!cell || longPressed) return;
      grid.focus(cell);
      choose(cell, event.ctrlKey || event.metaKey, event.shiftKey);
    },
    signal,
  );
  for (const name of ["focusin", "focusout"] as const) on(grid.element, name, showReadout, signal);

  on(
    grid.element,
    "keydown",
    (event) => {
      if (!drawn || event.altKey) return;
      const { layout } = drawn.picture;
      const add = event.ctrlKey || event.metaKey;
      const cell = grid.current;
      const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
      if (key === " " || key === "Enter") choose(cell, add, event.shiftKey);
      else if (key === "Escape" && chosen.size > 0) events.onSelect?.([]);
      else if (add && key === "a")
        events.onSelect?.(headsBetween(refOf([0, 0]), refOf([layout.layers - 1, layout.heads - 1])));
      else if (events.onPrune && (key === "Delete" || (key === "x" && !add))) {
        const targets = chosen.size > 0 ? selected() : [refOf(cell)];
        events.onPrune(targets.reduce<readonly HeadRef[]>(toggled, pruned()));
      } else {
        const next = step(key, add, cell, layout);
        if (!next) return;
        if (event.shiftKey) choose(next, false, true);
        else anchor = next;
        grid.focus(next);
      }
      event.preventDefault();
    },
    signal,
  );

  on(
    stop,
    "click",
    () => {
      if (stopping) return;
      stopping = true;
      set(stop, "aria-disabled", "true");
      events.onStop?.();
    },
    signal,
  );

  const tabOf = (event: Event) =>
    [...tabs.children].findIndex((tab) => event.target instanceof Node && tab.contains(event.target));
  on(tabs, "click", (event) => tabOf(event) >= 0 && chooseTab(tabOf(event)), signal);
  on(
    tabs,
    "keydown",
    (event) => {
      const move = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (!move) return;
      event.preventDefault();
      chooseTab(tabOf(event) + move);
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
      release();
      stopWatching();
      control.abort();
      root.remove();
    },
  };
}
