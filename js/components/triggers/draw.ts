/** A table of triggers as a picture: the top rows, and what the chosen one does. */

import { type DrawOptions, frame, type Picture, provenanceNote } from "../../marks/picture.js";
import { el, escapeText, line, rect, text } from "../../marks/svg.js";
import { fitText, measure, wrap } from "../../marks/text.js";
import { type Palette, palette } from "../../theme/palette.js";
import type { Buffer } from "../../wire/decode.js";
import type { TriggerExample, TriggerRow, TriggersDocument } from "../../wire/types.js";
import { BAR_HEIGHT, drawBar, drawLegend } from "./bars.js";
import {
  type Column,
  cellText,
  changeText,
  type Outcome,
  outcomeText,
  placeText,
  type RowView,
  rightToLeft,
  sortedRows,
  subtitleOf,
  type TableView,
  viewTable,
  wordsText,
} from "./model.js";

const EDGE = 8;
const ROW = 46;
const HEADER = 26;
/** Rows and classes that a picture shows; the table has all. */
const MOST_ROWS = 12;
const MOST_CLASSES = 20;
const SIZE = 12;
/** Columns that a narrow picture leaves out, in this order. */
const LESS_NEEDED = ["support", "score", "worst", "moved", "found_in"];

interface Placed {
  readonly column: Column;
  readonly x: number;
  readonly width: number;
}

/** The picture of a triggers document. */
export function draw(document: TriggersDocument, options: DrawOptions, buffer?: Buffer): Picture {
  const colors = palette(options.theme);
  const width = Math.max(420, options.width) - 2 * EDGE;
  const view = viewTable(document, buffer);
  const rows = sortedRows(view, document.sort);
  const chosen = rows.find(({ index }) => index === document.selected);
  const top = rows.slice(0, MOST_ROWS);
  if (chosen && !top.includes(chosen)) top[top.length - 1] = chosen;
  const parts: string[] = [
    text(0, 15, fitText(document.title, 15, width, true), { size: 15, fill: colors.ink, bold: true }),
    text(0, 34, fitText(subtitleOf(view), SIZE, width), { fill: colors.muted }),
  ];
  let y = 44;
  if (document.outcomes) {
    const legend = drawLegend(document.draws, width, colors);
    parts.push(place(0, y, legend.svg));
    y += legend.height + 4;
  }
  const columns = placedColumns(view, width);
  parts.push(header(columns, y, width, document.sort, colors));
  y += HEADER;
  for (const row of top) {
    parts.push(place(0, y, drawRow(row, columns, width, document, colors)));
    y += ROW;
  }
  if (rows.length === 0) {
    parts.push(text(2, y + 18, "no triggers", { fill: colors.muted }));
    y += 28;
  }
  if (rows.length > top.length) {
    const more = `and ${rows.length - top.length} more`;
    parts.push(text(2, y + 15, more, { size: 11, fill: colors.muted }));
    y += 22;
  }
  if (chosen) {
    const detail = drawDetail(chosen, width, colors);
    parts.push(place(0, y + 12, detail.svg));
    y += 12 + detail.height;
  }
  for (const note of wrap(document.note, 11, width, 4)) {
    y += 15;
    parts.push(text(0, y, note, { size: 11, fill: colors.muted }));
  }
  if (options.provenance) {
    const note = provenanceNote(document.provenance, 0, y, width, colors);
    parts.push(note.svg);
    y += note.height;
  }
  const label = [document.title, subtitleOf(view)].filter(Boolean).join(": ");
  return frame(
    { width: width + 2 * EDGE, height: y + 2 * EDGE, label, body: place(EDGE, EDGE, parts.join("")) },
    options,
  );
}

function place(x: number, y: number, svg: string): string {
  return el("g", { transform: `translate(${x} ${y})` }, svg);
}

/** Columns with what they need; the words get what is left, and where that is too little some columns stay away. */
function placedColumns(view: TableView, width: number): Placed[] {
  const need = (column: Column): number => {
    if (column.kind === "words") return 0;
    if (column.kind === "outcome") return 118;
    const cells = view.rows.map((row) => measure(cellText(column, row), SIZE));
    return Math.min(120, Math.max(measure(column.title, 11, true) + 12, ...cells)) + 12;
  };
  const least = Math.min(170, width * 0.3);
  let shown = view.columns.map((column) => ({ column, own: need(column) }));
  const rest = (): number => width - shown.reduce((sum, { own }) => sum + own, 0);
  for (const key of LESS_NEEDED) if (rest() < least) shown = shown.filter(({ column }) => column.key !== key);
  const room = rest();
  const factor = room >= least ? 1 : (width - least) / Math.max(1, width - room);
  let x = 0;
  return shown.map(({ column, own }) => {
    const placed = { column, x, width: column.kind === "words" ? Math.max(room, least) : own * factor };
    x += placed.width;
    return placed;
  });
}

function header(columns: readonly Placed[], y: number, width: number, sort: string, colors: Palette): string {
  const parts = columns.map(({ column, x, width: own }) => {
    const arrow = sort === column.key ? " \u25b2" : sort === `-${column.key}` ? " \u25bc" : "";
    const end = column.kind === "number";
    const label = fitText(`${column.title}${arrow}`, 11, own - 8, true);
    return text(end ? x + own - 12 : x + 2, y + 17, label, {
      size: 11,
      fill: colors.ink,
      bold: true,
      anchor: end ? "end" : "start",
    });
  });
  return [...parts, line(0, y + HEADER - 1, width, y + HEADER - 1, { stroke: colors.line })].join("");
}

function drawRow(
  view: RowView,
  columns: readonly Placed[],
  width: number,
  document: TriggersDocument,
  colors: Palette,
): string {
  const chosen = view.index === document.selected;
  const parts = [line(0, ROW - 0.5, width, ROW - 0.5, { stroke: colors.faint })];
  if (chosen) {
    parts.push(
      rect(-4, 1, width + 8, ROW - 3, { fill: "none", stroke: colors.selected, "stroke-width": 2, rx: 3 }),
    );
  }
  for (const { column, x, width: own } of columns) {
    if (column.kind === "words") {
      parts.push(place(x, 0, drawWords(view.row, own - 10, document.pairs, colors)));
      continue;
    }
    const outcome = column.outcome === undefined ? undefined : view.outcomes[column.outcome];
    const at = outcome ? 15 : 27;
    const end = column.kind === "number";
    parts.push(
      text(end ? x + own - 12 : x + 2, at, fitText(cellText(column, view), SIZE, own - 8), {
        fill: colors.ink,
        anchor: end ? "end" : "start",
      }),
    );
    if (outcome) parts.push(place(x, 19, drawBar(outcome, own - 8, colors)));
  }
  return parts.join("");
}

/** Words in their order, each in a box with its place under it. */
function drawWords(row: TriggerRow, width: number, pairs: boolean, colors: Palette): string {
  const gap = 5;
  const wanted = row.tokens.map((token) =>
    Math.max(measure(token.text, SIZE) + 12, measure(placeText(token, pairs), 9) + 4),
  );
  const most = (width - gap * (wanted.length - 1)) / Math.max(1, wanted.length);
  const spare = width - gap * (wanted.length - 1) - wanted.reduce((sum, own) => sum + Math.min(own, most), 0);
  const long = wanted.filter((own) => own > most).length;
  let x = 0;
  const parts = row.tokens.map((token, i) => {
    const own = Math.min(wanted[i] ?? 0, most + (long > 0 ? spare / long : 0));
    const shown = fitText(token.text, SIZE, own - 8);
    const full = shown === token.text ? "" : `<title>${escapeText(token.text)}</title>`;
    const svg = el(
      "g",
      {},
      full,
      rect(x + 0.5, 7.5, own - 1, 20, { fill: colors.faint, stroke: colors.line, rx: 4 }),
      text(x + own / 2, 21.5, shown, { size: SIZE, fill: colors.ink, anchor: "middle" }),
      text(x + own / 2, 38, fitText(placeText(token, pairs), 9, own + 4), {
        size: 9,
        fill: colors.muted,
        anchor: "middle",
      }),
    );
    x += own + gap;
    return svg;
  });
  return parts.join("");
}

/** What one trigger does, class by class, and the texts that it changed. */
function drawDetail(view: RowView, width: number, colors: Palette): { svg: string; height: number } {
  const parts: string[] = [];
  const heading = `${wordsText(view.row)}: ${cellText({ key: "moved", title: "", kind: "text", value: () => 0 }, view)}`;
  const lead =
    view.outcomes.length > 0 ? heading.replace(/: none$/, ": no prediction changed") : wordsText(view.row);
  parts.push(text(0, 13, fitText(lead, 13, width, true), { size: 13, fill: colors.ink, bold: true }));
  let y = 24;
  const shown = view.outcomes.slice(0, MOST_CLASSES + 1);
  const names = Math.min(width * 0.24, Math.max(...shown.map(({ name }) => measure(name, SIZE)), 30) + 14);
  const numbers = 108;
  const bar = Math.max(56, Math.min(240, width - names - numbers - 215));
  for (const outcome of shown) {
    parts.push(place(0, y, detailRow(outcome, names, numbers, bar, width, colors)));
    y += BAR_HEIGHT + 4;
  }
  if (view.outcomes.length > shown.length) {
    parts.push(
      text(0, y + 13, `and ${view.outcomes.length - shown.length} more classes`, {
        size: 11,
        fill: colors.muted,
      }),
    );
    y += 20;
  }
  for (const example of view.row.examples) {
    const drawn = drawExample(example, width, colors);
    parts.push(place(0, y + 6, drawn.svg));
    y += 6 + drawn.height;
  }
  return { svg: parts.join(""), height: y + 4 };
}

function detailRow(
  outcome: Outcome,
  names: number,
  numbers: number,
  bar: number,
  width: number,
  colors: Palette,
): string {
  const middle = BAR_HEIGHT / 2 + 4;
  const after = names + numbers + bar + 10;
  return [
    text(0, middle, fitText(outcome.name, SIZE, names - 10), { fill: colors.ink }),
    text(names, middle, outcomeText(outcome), { fill: colors.ink }),
    place(names + numbers, 0, drawBar(outcome, bar, colors)),
    text(
      after,
      middle,
      fitText(`${changeText(outcome.change)}, n = ${outcome.n}`.replace(/^, /, ""), 11, width - after),
      {
        size: 11,
        fill: colors.muted,
      },
    ),
  ].join("");
}

interface Run {
  readonly word: string;
  readonly inserted: boolean;
}

/** A changed text: inserted words are bold, underlined and in brackets. */
export function drawExample(
  example: TriggerExample,
  width: number,
  colors: Palette,
): { svg: string; height: number } {
  const runs: Run[] = [];
  example.parts.forEach((part, i) => {
    if (i === example.second) runs.push({ word: "|", inserted: false });
    if (example.inserted.includes(i)) runs.push({ word: `[${part}]`, inserted: true });
    else for (const word of part.split(/\s+/).filter(Boolean)) runs.push({ word, inserted: false });
  });
  const verdict = `${example.label}: ${example.before} \u2192 ${example.after}`;
  const mirrored = rightToLeft(example.parts.join(" "));
  const parts = [text(0, 12, fitText(verdict, 11, width), { size: 11, fill: colors.muted })];
  const space = measure(" ", SIZE);
  let x = 0;
  let y = 29;
  for (const { word, inserted } of runs) {
    const shown = fitText(word, SIZE, width, inserted);
    const own = measure(shown, SIZE, inserted);
    if (x > 0 && x + own > width) {
      x = 0;
      y += 17;
    }
    const left = mirrored ? width - x - own : x;
    parts.push(
      text(left, y, shown, { size: SIZE, fill: inserted ? colors.selected : colors.ink, bold: inserted }),
    );
    if (inserted)
      parts.push(line(left, y + 3, left + own, y + 3, { stroke: colors.selected, "stroke-width": 1.5 }));
    x += own + space + (inserted ? 3 : 0);
  }
  return { svg: parts.join(""), height: y + 8 };
}
