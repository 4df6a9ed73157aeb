/** What heads or probes find, alive: a table of rows, the chosen row's heads and examples, trees, and scores. */

import { palette, type Theme } from "../../theme/palette.js";
import type { Buffer } from "../../wire/decode.js";
import type { HeadRef, ProbeDocument } from "../../wire/types.js";
import type { Component } from "../component.js";
import { drawing, h, paint, rootOf, say, set } from "../controls.js";
import { observeWidth } from "../width.js";
import { BAR_HEIGHT, drawBar, drawBarKey } from "./bars.js";
import {
  hasExamples,
  intervalText,
  type ProbeData,
  shownOf,
  subtitleOf,
  tickNames,
  treeFor,
  viewProbe,
} from "./model.js";
import { rowDetail } from "./row-view.js";
import { rowTable } from "./table.js";
import { treeView } from "./tree-view.js";

export interface ProbeProps {
  readonly document: ProbeDocument;
  readonly buffer?: Buffer;
  readonly theme: Theme;
  /** Override the document's own. */
  readonly row?: number;
  readonly selected?: readonly HeadRef[];
  readonly sort?: string;
  readonly tree?: number;
}

/** What changes together when something is chosen. */
export interface ProbeChoice {
  readonly row?: number;
  readonly selected?: readonly HeadRef[];
  readonly sort?: string;
  readonly tree?: number;
}

/** What the user meant; the owner of the state answers by `update`. */
export interface ProbeEvents {
  onChoose?(choice: ProbeChoice): void;
}

const FALLBACK_WIDTH = 720;
const SCORE_BAR = 260;
/** Pixels that names and numbers beside a score's bar like to have. */
const SCORE_TEXT = 380;

export function mount(
  parent: HTMLElement,
  props: ProbeProps,
  events: ProbeEvents = {},
): Component<ProbeProps> {
  const control = new AbortController();
  const { signal } = control;
  const root = rootOf(parent, "probe", "what heads find", signal);
  const title = h("div", { class: "hw-heading" });
  const subtitle = h("div", { class: "hw-muted" });
  const key = h("div", { class: "hw-picture", "aria-hidden": "true" });
  const scores = h("div", { class: "hw-scroll hw-probe-scores" });
  const choose = (choice: ProbeChoice): void => events.onChoose?.(choice);
  const table = rowTable(signal, chooseRow, (sort) => choose({ sort }));
  const detail = rowDetail((selected) => choose({ selected }));
  const trees = treeView(signal, (tree) => choose({ tree }));
  const note = h("div", { class: "hw-notes" });
  root.append(title, subtitle, key, scores, table.element, detail.element, trees.element, note);

  let data: ProbeData | null = null;
  let read: readonly unknown[] = [];
  let available = root.clientWidth || FALLBACK_WIDTH;

  const row = () => props.row ?? props.document.shown;
  const tree = () => props.tree ?? props.document.tree ?? 0;
  const sort = () => props.sort ?? props.document.sort ?? "";
  const selected = (): readonly HeadRef[] => {
    if (props.selected) return props.selected;
    const { head, selected: own } = props.document;
    return own.length > 0 || !head ? own : [head];
  };

  /** A row brings its best head, and where it has no examples a tree in which its relation occurs. */
  function chooseRow(chosen: number): void {
    if (!data) return;
    const best = data.document.rows[chosen]?.best;
    const other = hasExamples(data, chosen) ? tree() : treeFor(data, tree(), chosen);
    choose({
      row: chosen,
      ...(best ? { selected: [best] } : {}),
      ...(other === tree() ? {} : { tree: other }),
    });
  }

  function render(): void {
    set(root, "data-theme", props.theme);
    const inputs = [props.document, props.buffer];
    if (!data || !inputs.every((input, at) => Object.is(input, read[at]))) {
      data = viewProbe(props.document, props.buffer);
      read = inputs;
    }
    const colors = palette(props.theme);
    const shown = shownOf(data, row(), selected(), tree());
    say(title, props.document.title);
    title.hidden = props.document.title === "";
    say(subtitle, subtitleOf(data));
    subtitle.hidden = subtitle.textContent === "";
    const legend = drawBarKey(props.document.measure, tickNames(data), available, colors);
    paint(key, drawing(legend.width, legend.height, legend.svg));
    showScores(data, props.theme);
    table.element.hidden = data.rows.length === 0;
    table.show(data, sort(), shown.row, props.theme);
    const head = data.heads[shown.head];
    const chosen = selected();
    detail.show(data, shown, chosen.length > 0 || !head ? chosen : [head], available, props.theme);
    trees.element.hidden = shown.row >= 0 && hasExamples(data, shown.row);
    if (!trees.element.hidden) trees.show(data, shown, available, props.theme);
    say(note, props.document.note);
    note.hidden = props.document.note === "";
  }

  let scored: readonly unknown[] = [];
  function showScores(shown: ProbeData, theme: Theme): void {
    const width = Math.max(80, Math.min(SCORE_BAR, available - SCORE_TEXT));
    const inputs = [shown, theme, width];
    if (inputs.every((input, at) => Object.is(input, scored[at]))) return;
    scored = inputs;
    const all = shown.document.scores;
    scores.hidden = all.length === 0;
    const lines = all.map(({ name, accuracy, control: hollow }) => {
      const bar = h("div", { "aria-hidden": "true" });
      const drawn = drawBar(accuracy, Number.NaN, Number.NaN, hollow, width, palette(theme));
      paint(bar, drawing(width, BAR_HEIGHT, drawn));
      return h(
        "tr",
        { "data-control": String(hollow) },
        h("th", { scope: "row" }, h("bdi", {}, name)),
        h("td", {}, hollow ? "control" : "probe"),
        h("td", {}, bar),
        h("td", { class: "hw-nowrap" }, intervalText(accuracy)),
      );
    });
    const heads = ["", "", "", `${shown.document.measure} (95 % interval)`].map((label) =>
      h("th", { scope: "col" }, label),
    );
    const inner = h(
      "table",
      { class: "hw-table" },
      h("thead", {}, h("tr", {}, ...heads)),
      h("tbody", {}, ...lines),
    );
    scores.replaceChildren(inner);
  }

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
      detail.destroy();
      control.abort();
      root.remove();
    },
  };
}
