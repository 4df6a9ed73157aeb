/** The table of rows: sorted by its headings, walked by keys, a row chosen by pointer, finger or Enter. */

import { palette, type Theme } from "../../theme/palette.js";
import { drawing, h, on, paint, set } from "../controls.js";
import { BAR_HEIGHT, rowBar, valueText } from "./bars.js";
import {
  baselineText,
  type Column,
  intervalText,
  nextSort,
  type ProbeData,
  type RowView,
  sortedRows,
  strongestText,
  subtitleOf,
} from "./model.js";

export interface RowTable {
  readonly element: HTMLElement;
  show(data: ProbeData, sort: string, row: number, theme: Theme): void;
}

const BAR = 112;
const PAGE = 10;

export function rowTable(
  signal: AbortSignal,
  chosen: (row: number) => void,
  sorted: (sort: string) => void,
): RowTable {
  const headings = h("tr", {});
  const body = h("tbody", {});
  const table = h("table", { class: "hw-table", role: "grid" }, h("thead", {}, headings), body);
  const element = h("div", { class: "hw-scroll hw-table-rows" }, table);
  let shown: { data: ProbeData; sort: string; row: number; theme: Theme } | null = null;
  let rows: readonly RowView[] = [];
  let current = 0;

  function show(data: ProbeData, sort: string, row: number, theme: Theme): void {
    const fresh = shown?.data !== data || shown.sort !== sort || shown.theme !== theme;
    const moved = fresh || shown?.row !== row;
    shown = { data, sort, row, theme };
    if (fresh) fill(data, sort, theme);
    const at = rows.findIndex(({ index }) => index === row);
    if (moved && at >= 0) current = at;
    current = Math.max(0, Math.min(rows.length - 1, current));
    [...body.children].forEach((line, i) => {
      set(line, "aria-selected", String(i === at));
      set(line, "tabindex", i === current ? 0 : -1);
    });
    if (moved) reveal();
  }

  function fill(data: ProbeData, sort: string, theme: Theme): void {
    const active = document.activeElement;
    const heading =
      active instanceof HTMLElement && headings.contains(active) ? active.dataset.key : undefined;
    const inside = body.contains(active);
    rows = sortedRows(data, sort);
    headings.replaceChildren(...data.columns.map((column) => headingOf(column, sort)));
    body.replaceChildren(...rows.map((row, at) => lineOf(row, at, data, theme)));
    set(table, "aria-rowcount", rows.length + 1);
    set(table, "aria-label", [data.document.title, subtitleOf(data)].filter(Boolean).join(": "));
    if (heading) headings.querySelector<HTMLElement>(`[data-key="${CSS.escape(heading)}"]`)?.focus();
    if (inside) (body.children[current] as HTMLElement | undefined)?.focus();
  }

  /** Bring the chosen row into the table's own window; the page stays where it is. */
  function reveal(): void {
    const row = body.querySelector<HTMLElement>('[aria-selected="true"]');
    if (!row || element.clientHeight === 0) return;
    const top = row.offsetTop - (headings.offsetHeight || 0);
    const bottom = row.offsetTop + row.offsetHeight - element.clientHeight;
    if (element.scrollTop > top) element.scrollTop = top;
    else if (element.scrollTop < bottom) element.scrollTop = bottom;
  }

  function headingOf(column: Column, sort: string): HTMLElement {
    const state = sort === column.key ? "ascending" : sort === `-${column.key}` ? "descending" : "none";
    const arrow = { ascending: " \u25b2", descending: " \u25bc", none: "" }[state];
    const button = h(
      "button",
      { type: "button", "data-key": column.key, title: `sort by ${column.title}` },
      h("bdi", {}, column.title),
      h("span", { "aria-hidden": "true" }, arrow),
    );
    return h("th", { scope: "col", "aria-sort": state, "data-kind": column.kind }, button);
  }

  function lineOf(row: RowView, at: number, data: ProbeData, theme: Theme): HTMLElement {
    const cells = data.columns.map((column) => cellOf(row, column, data, theme));
    return h("tr", { "data-row": row.index, "aria-rowindex": at + 2, tabindex: -1 }, ...cells);
  }

  function cellOf(view: RowView, column: Column, data: ProbeData, theme: Theme): HTMLElement {
    const attributes = { role: "gridcell", "data-kind": column.kind };
    const label = column.text(view);
    if (column.kind !== "bar") {
      const titled = column.kind === "number" ? attributes : { ...attributes, title: label };
      return h("td", titled, h("bdi", {}, label));
    }
    const { row } = view;
    const sentence = [
      `${data.document.measure} ${intervalText(row.accuracy)}`,
      baselineText(row) && `baseline ${baselineText(row)}`,
      strongestText(row) && `strongest other baseline ${strongestText(row)}`,
    ].filter(Boolean);
    const picture = h("div", { "aria-hidden": "true" });
    paint(picture, drawing(BAR, BAR_HEIGHT, rowBar(row, BAR, palette(theme))));
    const words = h("span", { class: "hw-share", "aria-hidden": "true" }, valueText(row.accuracy.value));
    const spoken = h("span", { class: "hw-hidden" }, sentence.join(", "));
    return h(
      "td",
      attributes,
      h("div", { class: "hw-barred", title: sentence.join(", ") }, words, picture, spoken),
    );
  }

  function focus(at: number): void {
    const lines = [...body.children] as HTMLElement[];
    current = Math.max(0, Math.min(lines.length - 1, at));
    lines.forEach((line, i) => {
      set(line, "tabindex", i === current ? 0 : -1);
    });
    lines[current]?.focus();
  }

  function choose(at: number): void {
    const row = rows[at];
    if (!row) return;
    focus(at);
    chosen(row.index === shown?.row ? -1 : row.index);
  }

  on(
    headings,
    "click",
    (event) => {
      const button = event.target instanceof Element ? event.target.closest("button") : null;
      const column = shown?.data.columns.find(({ key }) => key === button?.dataset.key);
      if (column && shown) sorted(nextSort(column, shown.sort));
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
      const moves: Readonly<Record<string, number>> = {
        ArrowDown: current + 1,
        ArrowUp: current - 1,
        PageDown: current + PAGE,
        PageUp: current - PAGE,
        Home: 0,
        End: body.children.length - 1,
      };
      const next = moves[event.key];
      if (next !== undefined) focus(next);
      else if (event.key === "Enter" || event.key === " ") choose(current);
      else if (event.key === "Escape" && (shown?.row ?? -1) >= 0) chosen(-1);
      else return;
      event.preventDefault();
    },
    signal,
  );
  return { element, show };
}
