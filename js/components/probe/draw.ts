/** A probe document as a picture: scores, the top rows, and what the chosen row's head or the chosen tree says. */

import { type DrawOptions, frame, type Picture, provenanceNote } from "../../marks/picture.js";
import { el, line, rect, text } from "../../marks/svg.js";
import { fitText, measure, wrap } from "../../marks/text.js";
import { type Palette, palette } from "../../theme/palette.js";
import type { Buffer } from "../../wire/decode.js";
import type { ProbeDocument } from "../../wire/types.js";
import { drawMarks, drawPanel, viewPanel } from "../grid/draw.js";
import { drawBar, drawBarKey, rowBar, valueText } from "./bars.js";
import { answerText, type Drawn, drawExample, drawKey } from "./example.js";
import { gridOf, gridWidth } from "./heads.js";
import {
  type Column,
  examplesOf,
  factsOf,
  hasExamples,
  headLabel,
  intervalText,
  type ProbeData,
  type RowView,
  rightWords,
  rowName,
  type Shown,
  shownOf,
  sortedRows,
  subtitleOf,
  tickNames,
  verdictText,
  viewProbe,
  wordsIn,
} from "./model.js";
import { ticked } from "./ticked.js";
import { drawTree } from "./tree.js";

const EDGE = 8;
const ROW = 26;
const HEADER = 24;
const SIZE = 12;
const BAR = 96;
/** Rows and examples that a picture shows; the table has all. */
const MOST_ROWS = 12;
const MOST_EXAMPLES = 5;
/** Columns that a narrow picture leaves out, in this order. */
const LESS_NEEDED = ["verdict", "strongest", "n", "baseline"];

/** The picture of a probe document. */
export function draw(document: ProbeDocument, options: DrawOptions, buffer?: Buffer): Picture {
  const colors = palette(options.theme);
  const width = Math.max(420, options.width) - 2 * EDGE;
  const data = viewProbe(document, buffer);
  const heads = document.head ? [document.head, ...document.selected] : document.selected;
  const shown = shownOf(data, document.shown, heads, document.tree ?? 0);
  const blocks = [headline(data, width, colors), ...scoreBlock(data, width, colors)];
  if (data.rows.length > 0) blocks.push(tableBlock(data, shown, width, colors));
  if (shown.row >= 0) blocks.push(detailBlock(data, shown, width, colors));
  if (shown.tree >= 0 && !(shown.row >= 0 && hasExamples(data, shown.row))) {
    blocks.push(treeBlock(data, shown, width, colors));
  }
  blocks.push(...notes(document.note, width, colors));
  let y = 0;
  const parts = blocks.map((block, at) => {
    if (at > 0) y += 10;
    const placed = place(0, y, block.svg);
    y += block.height;
    return placed;
  });
  if (options.provenance) {
    const note = provenanceNote(document.provenance, 0, y, width, colors);
    parts.push(note.svg);
    y += note.height;
  }
  const label = [document.title, subtitleOf(data)].filter(Boolean).join(": ");
  return frame(
    { width: width + 2 * EDGE, height: y + 2 * EDGE, label, body: place(EDGE, EDGE, parts.join("")) },
    options,
  );
}

function place(x: number, y: number, svg: string): string {
  return el("g", { transform: `translate(${Math.round(x)} ${Math.round(y)})` }, svg);
}

function headline(data: ProbeData, width: number, colors: Palette): Drawn {
  const title = fitText(data.document.title, 15, width, true);
  const svg = [
    text(0, 15, title, { size: 15, fill: colors.ink, bold: true }),
    text(0, 34, fitText(subtitleOf(data), SIZE, width), { fill: colors.muted }),
  ];
  return { svg: svg.join(""), width, height: 40 };
}

function notes(note: string, width: number, colors: Palette): Drawn[] {
  const lines = wrap(note, 11, width, 5);
  if (lines.length === 0) return [];
  const svg = lines.map((one, at) => text(0, 11 + 15 * at, one, { size: 11, fill: colors.muted }));
  return [{ svg: svg.join(""), width, height: 15 * lines.length }];
}

/** A trained probe and its controls. */
function scoreBlock(data: ProbeData, width: number, colors: Palette): Drawn[] {
  const { scores, measure: what } = data.document;
  if (scores.length === 0) return [];
  const names = Math.min(width * 0.4, Math.max(...scores.map(({ name }) => measure(name, SIZE))) + 16);
  const numbers = Math.max(...scores.map(({ accuracy }) => measure(intervalText(accuracy), SIZE))) + 8;
  const bar = Math.max(80, Math.min(320, width - names - numbers - 12));
  const key = drawBarKey(what, ["", ""], width, colors);
  const parts = [key.svg];
  let y = key.height + 4;
  for (const { name, accuracy, control } of scores) {
    const label = fitText(name, SIZE, names - 10, !control);
    parts.push(
      text(0, y + 13, label, { fill: colors.ink, bold: !control }),
      place(names, y, drawBar(accuracy, Number.NaN, Number.NaN, control, bar, colors)),
      text(names + bar + 10, y + 13, fitText(intervalText(accuracy), SIZE, width - names - bar - 10), {
        fill: colors.ink,
      }),
    );
    y += 22;
  }
  return [{ svg: parts.join(""), width, height: y }];
}

interface Placed {
  readonly column: Column;
  readonly x: number;
  readonly width: number;
}

/** Columns with what they need; where that is too much some stay away, then texts give way. */
function placedColumns(data: ProbeData, width: number): Placed[] {
  const need = (column: Column): number => {
    const cells = Math.max(
      measure(column.title, 11, true) + 14,
      ...data.rows.map((row) => measure(column.text(row), SIZE)),
    );
    if (column.kind === "bar") return Math.max(cells, 48) + BAR + 14;
    return Math.min(column.kind === "verdict" ? 220 : 150, cells) + 14;
  };
  let shown = data.columns.map((column) => ({ column, own: need(column) }));
  const total = (): number => shown.reduce((sum, { own }) => sum + own, 0);
  for (const key of LESS_NEEDED)
    if (total() > width * 1.15) shown = shown.filter(({ column }) => column.key !== key);
  // Long texts give way first, down to what still says something.
  for (const key of ["verdict", "strongest"]) {
    const over = total() - width;
    if (over > 0)
      shown = shown.map((one) =>
        one.column.key === key ? { ...one, own: Math.max(96, one.own - over) } : one,
      );
  }
  const fixed = shown.filter(({ column }) => column.kind === "bar").reduce((sum, { own }) => sum + own, 0);
  const factor = Math.min(1, (width - fixed) / Math.max(1, total() - fixed));
  let x = 0;
  return shown.map(({ column, own }) => {
    const placed = { column, x, width: column.kind === "bar" ? own : own * factor };
    x += placed.width;
    return placed;
  });
}

function tableBlock(data: ProbeData, shown: Shown, width: number, colors: Palette): Drawn {
  const sort = data.document.sort ?? "";
  const rows = sortedRows(data, sort);
  const chosen = rows.find(({ index }) => index === shown.row);
  const top = rows.slice(0, MOST_ROWS);
  if (chosen && !top.includes(chosen)) top[top.length - 1] = chosen;
  const columns = placedColumns(data, width);
  const key = drawBarKey(data.document.measure, tickNames(data), width, colors);
  const parts = [key.svg];
  let y = key.height + 2;
  parts.push(header(columns, y, width, sort, colors));
  y += HEADER;
  for (const row of top) {
    parts.push(place(0, y, tableRow(row, columns, width, row === chosen, colors)));
    y += ROW;
  }
  if (rows.length > top.length) {
    parts.push(text(2, y + 16, `and ${rows.length - top.length} more`, { size: 11, fill: colors.muted }));
    y += 20;
  }
  return { svg: parts.join(""), width, height: y };
}

function header(columns: readonly Placed[], y: number, width: number, sort: string, colors: Palette): string {
  const parts = columns.map(({ column, x, width: own }) => {
    const arrow = sort === column.key ? " \u25b2" : sort === `-${column.key}` ? " \u25bc" : "";
    const end = column.kind === "number";
    const label = fitText(`${column.title}${arrow}`, 11, own - 6, true);
    const style = { size: 11, fill: colors.ink, bold: true };
    return text(end ? x + own - 14 : x + 2, y + 16, label, { ...style, anchor: end ? "end" : "start" });
  });
  return [...parts, line(0, y + HEADER - 1, width, y + HEADER - 1, { stroke: colors.line })].join("");
}

function tableRow(
  view: RowView,
  columns: readonly Placed[],
  width: number,
  chosen: boolean,
  colors: Palette,
): string {
  const parts = [line(0, ROW - 0.5, width, ROW - 0.5, { stroke: colors.faint })];
  if (chosen) {
    const ring = { fill: "none", stroke: colors.selected, "stroke-width": 2, rx: 3 };
    parts.push(rect(-4, 1, width + 8, ROW - 2, ring));
  }
  for (const { column, x, width: own } of columns) {
    const end = column.kind === "number";
    const bar = column.kind === "bar";
    const label = bar ? valueText(view.row.accuracy.value) : fitText(column.text(view), SIZE, own - 10);
    parts.push(
      ticked(end ? x + own - 14 : x + 2, 17, label, { fill: colors.ink, anchor: end ? "end" : "start" }),
    );
    if (bar) parts.push(place(x + own - BAR - 12, 4, rowBar(view.row, BAR, colors)));
  }
  return parts.join("");
}

/** The chosen row: its facts, its heads and its examples. */
function detailBlock(data: ProbeData, shown: Shown, width: number, colors: Palette): Drawn {
  const row = data.document.rows[shown.row];
  if (!row) return { svg: "", width, height: 0 };
  const parts: string[] = [];
  let y = 14;
  parts.push(text(0, y, fitText(rowName(row), 13, width, true), { size: 13, fill: colors.ink, bold: true }));
  for (const one of [...wrap(factsOf(data, shown), 11, width, 3), ...wrap(verdictText(row), 11, width, 2)]) {
    y += 15;
    parts.push(ticked(0, y, one, { size: 11, fill: colors.muted }));
  }
  if (!hasExamples(data, shown.row)) return { svg: parts.join(""), width, height: y + 4 };
  y += 8;
  const head = data.heads[shown.head];
  const grid = gridBlock(data, shown, gridWidth(data, width), colors);
  const beside = grid !== null && width - grid.width - 24 >= 280;
  const left = beside ? grid.width + 24 : 0;
  let gridHeight = 0;
  if (grid) {
    parts.push(place(0, y, grid.svg));
    gridHeight = grid.height;
    if (!beside) y += grid.height + 8;
  }
  const examples = exampleBlock(data, shown, width - left, head ? headLabel(head, data.kinds) : "", colors);
  parts.push(place(left, y, examples.svg));
  return { svg: parts.join(""), width, height: y + Math.max(examples.height, beside ? gridHeight : 0) };
}

function gridBlock(data: ProbeData, shown: Shown, width: number, colors: Palette): Drawn | null {
  const head = data.heads[shown.head];
  const grid = gridOf(data, shown.row, head ? [head] : []);
  if (!grid) return null;
  const parts: string[] = [];
  let [y, widest] = [0, 0];
  for (const panel of grid.panels) {
    const view = viewPanel(panel, null);
    const drawn = drawPanel(view, { title: "", subtitle: panel.label }, width, colors);
    parts.push(place(0, y, drawn.base + drawMarks(view, drawn, [], grid.selected, colors)));
    y += drawn.height + 6;
    widest = Math.max(widest, drawn.width);
  }
  return { svg: parts.join(""), width: widest, height: y };
}

function exampleBlock(data: ProbeData, shown: Shown, width: number, name: string, colors: Palette): Drawn {
  const all = examplesOf(data, shown.row, shown.head);
  const examples = all.slice(0, MOST_EXAMPLES);
  if (all.length === 0) {
    return { svg: text(0, 12, "no example sentences", { size: 11, fill: colors.muted }), width, height: 18 };
  }
  const key = drawKey(width, colors, name, ["above the words", "below"]);
  const parts = [key.svg];
  let y = key.height + 4;
  for (const example of examples) {
    const drawn = drawExample(example, width, colors, name !== "");
    const words = [name === "" ? "" : answerText(example), example.sentence.name]
      .filter(Boolean)
      .join(" \u00b7 ");
    parts.push(
      ticked(0, y + 11, fitText(words, 11, width), { size: 11, fill: colors.muted }),
      place(0, y + 14, drawn.svg),
    );
    y += drawn.height + 22;
  }
  if (all.length > examples.length) {
    parts.push(text(0, y + 9, `and ${all.length - examples.length} more`, { size: 11, fill: colors.muted }));
    y += 16;
  }
  return { svg: parts.join(""), width, height: y };
}

function treeBlock(data: ProbeData, shown: Shown, width: number, colors: Palette): Drawn {
  const tree = data.document.trees[shown.tree];
  const sentence = tree && data.document.sentences[tree.sentence];
  if (!tree || !sentence) return { svg: "", width, height: 0 };
  const drawn = drawTree(sentence, tree, width, colors, wordsIn(data, shown.tree, shown.row));
  const sides: [string, string] = drawn.column
    ? ["left of the words", "right"]
    : ["above the words", "below"];
  const key = drawKey(width, colors, "predicted", sides);
  const [right, all] = rightWords(tree);
  const heading = [sentence.name, `${right} of ${all} words have the right head`].filter(Boolean).join(": ");
  const svg = [
    text(0, 14, fitText(heading, 13, width, true), { size: 13, fill: colors.ink, bold: true }),
    place(0, 24, key.svg),
    place(0, 30 + key.height, drawn.svg),
  ];
  return { svg: svg.join(""), width, height: 30 + key.height + drawn.height };
}
