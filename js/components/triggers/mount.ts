/** The table of triggers, alive: sorted by its headings, a row chosen by pointer or keyboard, its texts under it. */

import { palette, type Theme } from "../../theme/palette.js";
import type { Buffer } from "../../wire/decode.js";
import type { TriggerExample, TriggersDocument } from "../../wire/types.js";
import type { Component } from "../component.js";
import { drawing, h, on, paint, rootOf, say, set } from "../controls.js";
import { observeWidth } from "../width.js";
import { BAR_HEIGHT, drawBar, drawLegend } from "./bars.js";
import {
  against,
  bandText,
  type Column,
  cellText,
  changeText,
  counted,
  nextSort,
  type Outcome,
  outcomeSentence,
  outcomeText,
  placeSentence,
  placeText,
  type RowView,
  sortedRows,
  subtitleOf,
  type TableView,
  viewTable,
  wordsText,
} from "./model.js";

export interface TriggersProps {
  readonly document: TriggersDocument;
  readonly buffer?: Buffer;
  readonly theme: Theme;
  /** Override the document's own. */
  readonly selected?: number;
  readonly sort?: string;
}

/** What the user meant; the owner of the state answers by `update`. */
export interface TriggersEvents {
  onSelect?(row: number): void;
  onSort?(sort: string): void;
}

/** "86.1 to 90.2 %, below": the band, and where the accuracy lies. */
function banded(outcome: Outcome, band: Outcome["random"]): string {
  return [bandText(band), against(outcome, band)].filter(Boolean).join(", ");
}

const BAR = 112;
const DETAIL_BAR = 200;
const PAGE = 10;
const FALLBACK_WIDTH = 720;

export function mount(
  parent: HTMLElement,
  props: TriggersProps,
  events: TriggersEvents = {},
): Component<TriggersProps> {
  const control = new AbortController();
  const { signal } = control;
  const root = rootOf(parent, "triggers", "triggers", signal);
  const title = h("div", { class: "hw-heading" });
  const subtitle = h("div", { class: "hw-muted" });
  const legend = h("div", { class: "hw-picture", "aria-hidden": "true" });
  const headings = h("tr", {});
  const body = h("tbody", {});
  const table = h("table", { class: "hw-table", role: "grid" }, h("thead", {}, headings), body);
  const scroll = h("div", { class: "hw-scroll hw-trigger-rows" }, table);
  const detail = h("div", { class: "hw-trigger-detail" });
  const note = h("div", { class: "hw-notes" });
  root.append(title, subtitle, legend, scroll, detail, note);

  let view: TableView | null = null;
  let read: readonly unknown[] = [];
  let drawn: readonly unknown[] = [];
  let current = 0;
  let available = root.clientWidth || FALLBACK_WIDTH;

  const selected = () => props.selected ?? props.document.selected;
  const sort = () => props.sort ?? props.document.sort;

  function render(): void {
    set(root, "data-theme", props.theme);
    const inputs = [props.document, props.buffer];
    if (!view || !inputs.every((input, i) => Object.is(input, read[i]))) {
      view = viewTable(props.document, props.buffer);
      read = inputs;
      current = Math.max(
        0,
        sortedRows(view, sort()).findIndex(({ index }) => index === selected()),
      );
    }
    const colors = palette(props.theme);
    say(title, props.document.title);
    title.hidden = props.document.title === "";
    say(subtitle, subtitleOf(view));
    say(note, props.document.note);
    note.hidden = props.document.note === "";
    const key = drawLegend(props.document.draws, available, colors);
    paint(legend, props.document.outcomes ? drawing(key.width, key.height, key.svg) : "");
    legend.hidden = !props.document.outcomes;
    showTable(view);
    showDetail(view);
  }

  function showTable(shown: TableView): void {
    const inputs = [shown, props.theme, sort()];
    const rows = sortedRows(shown, sort());
    const fresh = !inputs.every((input, i) => Object.is(input, drawn[i]));
    if (fresh) {
      drawn = inputs;
      const focused = headings.contains(document.activeElement)
        ? (document.activeElement as HTMLElement).dataset.key
        : undefined;
      headings.replaceChildren(...shown.columns.map((column) => headingOf(column, sort())));
      body.replaceChildren(...rows.map((row, at) => rowOf(row, at, shown)));
      set(table, "aria-rowcount", rows.length + 1);
      set(table, "aria-label", `${props.document.title || "triggers"}: ${subtitleOf(shown)}`);
      if (focused) headings.querySelector<HTMLElement>(`[data-key="${CSS.escape(focused)}"]`)?.focus();
      current = Math.max(
        0,
        rows.findIndex(({ index }) => index === selected()),
      );
    }
    [...body.children].forEach((element, at) => {
      set(element, "aria-selected", String(rows[at]?.index === selected()));
      set(element, "tabindex", at === current ? 0 : -1);
    });
    if (fresh) reveal();
  }

  /** Bring the chosen row into the table's own window; the page stays where it is. */
  function reveal(): void {
    const row = body.querySelector<HTMLElement>('[aria-selected="true"]');
    if (!row) return;
    const top = row.offsetTop - (headings.offsetHeight || 0);
    const bottom = row.offsetTop + row.offsetHeight - scroll.clientHeight;
    if (scroll.scrollTop > top) scroll.scrollTop = top;
    else if (scroll.clientHeight > 0 && scroll.scrollTop < bottom) scroll.scrollTop = bottom;
  }

  function headingOf(column: Column, order: string): HTMLElement {
    const state = order === column.key ? "ascending" : order === `-${column.key}` ? "descending" : "none";
    const arrow = { ascending: " \u25b2", descending: " \u25bc", none: "" }[state];
    const button = h(
      "button",
      { type: "button", "data-key": column.key, title: `sort by ${column.title}` },
      h("bdi", {}, column.title),
      h("span", { "aria-hidden": "true" }, arrow),
    );
    return h("th", { scope: "col", "aria-sort": state, "data-kind": column.kind }, button);
  }

  function rowOf(row: RowView, at: number, shown: TableView): HTMLElement {
    const cells = shown.columns.map((column) => cellOf(row, column, shown));
    return h("tr", { "data-row": row.index, "aria-rowindex": at + 2, tabindex: -1 }, ...cells);
  }

  function cellOf(row: RowView, column: Column, shown: TableView): HTMLElement {
    const { pairs } = shown.document;
    if (column.kind === "words") {
      const words = row.row.tokens.map((token) =>
        h(
          "span",
          { class: "hw-word", title: `${token.text}, ${placeSentence(token, pairs)}` },
          h("bdi", {}, token.text),
          h("small", {}, placeText(token, pairs)),
        ),
      );
      return h("td", { role: "gridcell", "data-kind": "words" }, h("div", { class: "hw-words" }, ...words));
    }
    const outcome = column.outcome === undefined ? undefined : row.outcomes[column.outcome];
    if (outcome)
      return h("td", { role: "gridcell", "data-kind": "outcome" }, barOf(outcome, BAR, outcomeText(outcome)));
    const label = cellText(column, row);
    const attributes = { role: "gridcell", "data-kind": column.kind };
    return h(
      "td",
      column.kind === "text" ? { ...attributes, title: label } : attributes,
      h("bdi", {}, label),
    );
  }

  function barOf(outcome: Outcome, width: number, label: string): HTMLElement {
    const picture = h("div", { "aria-hidden": "true" });
    paint(picture, drawing(width, BAR_HEIGHT, drawBar(outcome, width, palette(props.theme))));
    const words = h("div", { class: "hw-nowrap", "aria-hidden": "true" }, label);
    const spoken = h("span", { class: "hw-hidden" }, outcomeSentence(outcome));
    return h("div", { title: outcomeSentence(outcome) }, ...(label ? [words] : []), picture, spoken);
  }

  let detailed: readonly unknown[] = [];
  function showDetail(shown: TableView): void {
    const row = shown.rows.find(({ index }) => index === selected());
    const inputs = [row, props.theme];
    if (inputs.every((input, i) => Object.is(input, detailed[i])) && detailed.length > 0) return;
    detailed = inputs;
    detail.hidden = !row;
    if (!row) {
      detail.replaceChildren();
      return;
    }
    const heading = h("div", { class: "hw-heading", role: "status" }, h("bdi", {}, wordsText(row.row)));
    const children: Node[] = [heading];
    if (row.outcomes.length > 0) children.push(classTable(row), changesLine(row));
    if (row.row.examples.length > 0) {
      children.push(h("ul", { class: "hw-examples" }, ...row.row.examples.map(exampleOf)));
    }
    detail.replaceChildren(...children);
  }

  function changesLine(row: RowView): HTMLElement {
    const { changed, moved, skipped } = row.row;
    const to = moved.map(({ label, n }) => `${n} to ${label}`).join(", ");
    const parts = [
      changed === 0 ? "No prediction changed" : `${counted(changed, "prediction")} changed: ${to}`,
      skipped === 0
        ? ""
        : `${counted(skipped, "text")} had no room for it and ${skipped === 1 ? "is" : "are"} left out`,
    ];
    return h("div", { class: "hw-muted" }, `${parts.filter(Boolean).join(". ")}.`);
  }

  function classTable(row: RowView): HTMLElement {
    const names = [
      "class",
      "texts",
      "before \u2192 after",
      "",
      "change",
      "with random words",
      "with like frequency",
    ];
    const head = h("tr", {}, ...names.map((name) => h("th", { scope: "col" }, name)));
    const lines = row.outcomes.map((outcome) => {
      const bar = h("div", { "aria-hidden": "true" });
      paint(bar, drawing(DETAIL_BAR, BAR_HEIGHT, drawBar(outcome, DETAIL_BAR, palette(props.theme))));
      return h(
        "tr",
        {},
        h("th", { scope: "row" }, h("bdi", {}, outcome.name)),
        h("td", { "data-kind": "number" }, String(outcome.n)),
        h("td", {}, outcomeText(outcome)),
        h("td", {}, bar),
        h("td", {}, changeText(outcome.change)),
        h("td", {}, banded(outcome, outcome.random)),
        h("td", {}, banded(outcome, outcome.matched)),
      );
    });
    const inner = h("table", { class: "hw-table" }, h("thead", {}, head), h("tbody", {}, ...lines));
    return h("div", { class: "hw-scroll hw-class-rows" }, inner);
  }

  function exampleOf(example: TriggerExample): HTMLElement {
    const text = h("div", { dir: "auto", class: "hw-example" });
    example.parts.forEach((part, i) => {
      if (i > 0) text.append(i === example.second ? " | " : " ");
      if (example.inserted.includes(i)) text.append(h("ins", {}, `[${part}]`));
      else text.append(part);
    });
    const verdict = h(
      "div",
      { class: "hw-verdict" },
      h("bdi", {}, example.label),
      ": ",
      h("bdi", {}, example.before),
      " \u2192 ",
      h("bdi", {}, example.after),
    );
    return h("li", {}, verdict, text);
  }

  function choose(at: number): void {
    const rows = view ? sortedRows(view, sort()) : [];
    const row = rows[at];
    if (!row) return;
    focus(at);
    events.onSelect?.(row.index === selected() ? -1 : row.index);
  }

  function focus(at: number): void {
    const rows = [...body.children] as HTMLElement[];
    current = Math.max(0, Math.min(rows.length - 1, at));
    rows.forEach((element, i) => {
      set(element, "tabindex", i === current ? 0 : -1);
    });
    rows[current]?.focus();
  }

  on(
    headings,
    "click",
    (event) => {
      const button = event.target instanceof Element ? event.target.closest("button") : null;
      const column = view?.columns.find(({ key }) => key === button?.dataset.key);
      if (column) events.onSort?.(nextSort(column, sort()));
    },
    signal,
  );
  on(
    body,
    "click",
    (event) => {
      const row = event.target instanceof Element ? event.target.closest("tr") : null;
      if (row && !document.getSelection()?.toString()) choose([...body.children].indexOf(row));
    },
    signal,
  );
  on(
    body,
    "keydown",
    (event) => {
      if (event.altKey || event.ctrlKey || event.metaKey) return;
      const last = body.children.length - 1;
      const moves: Readonly<Record<string, number>> = {
        ArrowDown: current + 1,
        ArrowUp: current - 1,
        PageDown: current + PAGE,
        PageUp: current - PAGE,
        Home: 0,
        End: last,
      };
      const next = moves[event.key];
      if (next !== undefined) focus(next);
      else if (event.key === "Enter" || event.key === " ") choose(current);
      else if (event.key === "Escape" && selected() >= 0) events.onSelect?.(-1);
      else return;
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
