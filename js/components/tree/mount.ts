/** The attribution tree, live: tau, lambda and words redraw at once; nodes and edges by pointer and by keyboard. */

import { formatNumber, formatPercent } from "../../marks/format.js";
import { palette } from "../../theme/palette.js";
import type { TreeDocument } from "../../wire/types.js";
import { outputSentence } from "../attribution/model.js";
import type { Component, StaticProps } from "../component.js";
import { check, drawing, h, liveRegion, paint, perFrame, rootOf, say, set, size } from "../controls.js";
import type { Position } from "../maps/positions.js";
import { observeWidth } from "../width.js";
import { mountDial } from "./dial.js";
import { type TreeView, treeBody, treeKey, viewNotes, viewOf } from "./draw.js";
import { type Candidates, candidatesOf } from "./grow.js";
import { hasWords, levelOf, sizeSentence, type TreeState, treePositions } from "./model.js";
import { drawFocus, mountNodes } from "./nodes.js";

export interface TreeProps extends StaticProps<TreeDocument> {
  /** What is running, or what went wrong; empty when idle. */
  readonly status?: string;
  /** The edge that was chosen, `[layer, query, key]`; empty for none. */
  readonly edge: readonly number[];
}

/** What the user meant. */
export interface TreeEvents {
  /** tau, lambda, or tokens against words; at most once per frame. */
  onState(state: TreeState): void;
  onEdge(edge: number[]): void;
}

/** Mount the tree into `el`. */
export function mount(el: HTMLElement, first: TreeProps, events: TreeEvents): Component<TreeProps> {
  const teardown = new AbortController();
  const { signal } = teardown;
  let props = first;
  let state: TreeState = stateOf(first.document);
  let told = state;
  let width = 720;
  let view: TreeView | null = null;
  let read: {
    readonly levels: TreeDocument["levels"];
    readonly buffer: TreeProps["buffer"];
    readonly known: Map<boolean, { readonly candidates: Candidates; readonly positions: Position[] }>;
  } | null = null;

  const root = rootOf(el, "tree", first.document.title, signal);
  const live = liveRegion();
  const title = h("strong", {});
  const target = h("span", { class: "hw-target" });
  const status = h("div", { class: "hw-state" });
  const readout = h("div", { class: "hw-readout" });
  const sizes = h("div", { class: "hw-muted" });
  const notes = h("div", { class: "hw-notes" });
  const picture = h("div", { class: "hw-under" });
  const overlay = h("div", { class: "hw-overlay" });
  const key = h("div", { class: "hw-key", "aria-hidden": "true" });
  const tell = (text: string, spoken: boolean): void => {
    say(
      readout,
      text === ""
        ? "Point at a line or a token to read its layer and weight; arrow keys walk the tree."
        : text,
    );
    if (spoken) say(live, text);
  };
  const send = perFrame(() => {
    told = state;
    events.onState(state);
  }, signal);
  const turn = (part: Partial<TreeState>): void => {
    state = { ...state, ...part };
    redraw();
    send();
  };
  const settled = (): void => {
    if (view !== null) say(live, sizeSentence(props.document, view.grown, view.positions));
  };
  const tau = mountDial("τ threshold", "tau, threshold as a share of the largest entry of a layer", signal, {
    turned: (threshold) => turn({ threshold }),
    settled,
  });
  const lambda = mountDial("λ penalty", "lambda, penalty as a share of the heaviest edge", signal, {
    turned: (penalty) => turn({ penalty }),
    settled,
  });
  const words = check("whole words", signal, (collapsed) => {
    turn({ collapsed });
    settled();
  });
  const nodes = mountNodes(signal, {
    told: tell,
    chosen: (edge) => events.onEdge(edge),
    focused: () => redrawFocus(),
  });
  const stage = h("div", { class: "hw-stage" }, picture, overlay, nodes.element);
  const scroll = h("div", { class: "hw-scroll" }, stage);
  const dials = h("div", { class: "hw-dials" }, tau.element, lambda.element);
  const shown = h("div", {}, dials, sizes, scroll, readout, key);
  root.append(h("div", { class: "hw-bar" }, title, words.element), target, status, shown, notes, live);

  function levelNow(): { readonly candidates: Candidates; readonly positions: Position[] } | null {
    const { document, buffer } = props;
    if (read?.levels !== document.levels || read.buffer !== buffer) {
      read = { levels: document.levels, buffer, known: new Map() };
    }
    const collapsed = state.collapsed && hasWords(document);
    const before = read.known.get(collapsed);
    if (before !== undefined) return before;
    const level = levelOf(document, collapsed);
    if (level === null) return null;
    const now = {
      candidates: candidatesOf(level, document.layers, document.order, buffer),
      positions: treePositions(document, level),
    };
    read.known.set(collapsed, now);
    return now;
  }

  function redraw(): void {
    const { document, theme } = props;
    const level = levelNow();
    shown.hidden = level === null;
    notes.hidden = level === null;
    if (level === null) {
      view = null;
      return;
    }
    const colors = palette(theme);
    view = viewOf(document, level.candidates, level.positions, state, width);
    const { layout, threshold } = view;
    size(stage, layout.width, layout.height);
    paint(picture, drawing(layout.width, layout.height, treeBody(view, colors)));
    const below = treeKey(document, view, Math.min(width, 640), colors);
    paint(key, drawing(Math.max(below.width, 40), below.height, below.svg));
    say(sizes, sizeSentence(document, view.grown, view.positions));
    const sentences = viewNotes(document, view, state);
    notes.replaceChildren(...sentences.map((sentence) => h("div", {}, sentence)));
    nodes.update({ document, view, label: document.title, chosen: props.edge });
    const unit = document.unit === "" ? "" : ` ${document.unit}`;
    const price = state.penalty * level.candidates.heaviest;
    tau.show(
      threshold,
      level.candidates.floor,
      0.99,
      `${formatPercent(threshold, 0)} of the layer’s largest`,
    );
    lambda.show(state.penalty, 0, 1, `${formatNumber(price, 3)}${unit} an edge`);
    redrawFocus();
  }

  function redrawFocus(): void {
    if (view === null) return;
    const { layout } = view;
    const body = drawFocus(view, nodes.current(), props.edge, palette(props.theme));
    paint(overlay, drawing(layout.width, layout.height, body));
  }

  function render(): void {
    if (signal.aborted) return;
    const { document, theme } = props;
    set(root, "data-theme", theme);
    set(root, "aria-label", document.title);
    say(title, document.title);
    const empty = document.levels.length === 0;
    say(target, empty ? "" : outputSentence(document));
    const running = props.status ?? "";
    say(
      status,
      running === "" && empty ? "No result yet: the attribution is still being computed." : running,
    );
    status.hidden = status.textContent === "";
    words.show(state.collapsed, hasWords(document), hasWords(document) ? "" : "Every word is one token here");
    words.element.hidden = empty;
    redraw();
    if (readout.textContent === "") tell("", false);
  }

  const stopWidth = observeWidth(root, (pixels) => {
    width = pixels;
    redraw();
  });
  signal.addEventListener("abort", stopWidth, { once: true });
  render();
  return {
    update(next) {
      props = next;
      const theirs = stateOf(next.document);
      // What Python says counts, except under the user's hand or where it only repeats what was told it.
      if (!tau.held && theirs.threshold !== told.threshold) state = { ...state, threshold: theirs.threshold };
      if (!lambda.held && theirs.penalty !== told.penalty) state = { ...state, penalty: theirs.penalty };
      if (theirs.collapsed !== told.collapsed) state = { ...state, collapsed: theirs.collapsed };
      told = theirs;
      render();
    },
    destroy() {
      teardown.abort();
      root.remove();
    },
  };
}

function stateOf({ threshold, penalty, collapsed }: TreeDocument): TreeState {
  return { threshold, penalty, collapsed };
}
