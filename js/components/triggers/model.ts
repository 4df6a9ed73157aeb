/** What a table of triggers shows: rows with their outcomes, columns, and the order of rows. */

import { formatNumber } from "../../marks/format.js";
import { type Buffer, decodeShaped } from "../../wire/decode.js";
import type { TriggerRow, TriggersDocument, TriggerToken } from "../../wire/types.js";

export { rightToLeft } from "../../marks/text.js";

/** A value with its ends; NaN ends where they are not known. */
export interface Range {
  readonly value: number;
  readonly low: number;
  readonly high: number;
}

/** What a trigger does to the texts of one class, or to all of them. */
export interface Outcome {
  /** Of the class; "all texts" for all of them. */
  readonly name: string;
  readonly n: number;
  readonly before: Range | null;
  readonly after: Range | null;
  readonly change: Range | null;
  readonly random: Range | null;
  readonly matched: Range | null;
}

export interface RowView {
  /** Its place in the document. */
  readonly index: number;
  readonly row: TriggerRow;
  /** All texts first, then by class; empty before an attack. */
  readonly outcomes: readonly Outcome[];
}

export interface TableView {
  readonly document: TriggersDocument;
  readonly rows: readonly RowView[];
  readonly columns: readonly Column[];
}

export interface Column {
  readonly key: string;
  readonly title: string;
  readonly kind: "words" | "text" | "number" | "outcome";
  /** What rows are sorted by. */
  readonly value: (row: RowView) => string | number;
  /** Which outcome is drawn. */
  readonly outcome?: number;
}

export const ALL = "all texts";

/** "1 text", "2 texts". */
export function counted(n: number, what: string): string {
  return `${n} ${what}${n === 1 ? "" : "s"}`;
}
/** Up to this many classes each has a column. */
export const MOST_COLUMNS = 3;

const MEASURES = ["before", "after", "change", "random", "matched"] as const;

/** The document with its arrays read. */
export function viewTable(document: TriggersDocument, buffer?: Buffer): TableView {
  const names = [ALL, ...document.classes];
  const sizes = [document.rows.length, names.length];
  const { counts, outcomes } = document;
  const n = counts ? decodeShaped(counts, sizes, "counts", buffer) : null;
  const numbers = outcomes ? decodeShaped(outcomes, [...sizes, 5, 3], "outcomes", buffer) : null;
  const rows = document.rows.map((row, index): RowView => {
    if (!n || !numbers) return { index, row, outcomes: [] };
    const found = names.map((name, at): Outcome => {
      const cell = index * names.length + at;
      const range = (measure: (typeof MEASURES)[number]): Range | null => {
        const from = (cell * 5 + MEASURES.indexOf(measure)) * 3;
        const [value = Number.NaN, low = Number.NaN, high = Number.NaN] = numbers.slice(from, from + 3);
        return Number.isFinite(value) ? { value, low, high } : null;
      };
      return {
        name,
        n: n[cell] ?? 0,
        before: range("before"),
        after: range("after"),
        change: range("change"),
        random: range("random"),
        matched: range("matched"),
      };
    });
    return { index, row, outcomes: found };
  });
  return { document, rows, columns: columnsOf(document, numbers !== null) };
}

function columnsOf(document: TriggersDocument, tested: boolean): Column[] {
  const columns: Column[] = [
    { key: "trigger", title: "trigger", kind: "words", value: ({ row }) => wordsText(row) },
    { key: "found_in", title: "found in", kind: "text", value: ({ row }) => row.found_in },
    { key: "score", title: "score", kind: "number", value: ({ row }) => row.score },
    { key: "support", title: "support", kind: "number", value: ({ row }) => row.support },
  ];
  if (!tested) return columns;
  const outcome = (at: number, title: string): Column => ({
    key: `outcome:${at}`,
    title,
    kind: "outcome",
    outcome: at,
    value: (row) => row.outcomes[at]?.change?.value ?? Number.POSITIVE_INFINITY,
  });
  const few = document.classes.length <= MOST_COLUMNS;
  if (few) columns.push(...document.classes.map((name, i) => outcome(i + 1, `accuracy, ${name}`)));
  else {
    columns.push(outcome(0, `accuracy, ${ALL}`), {
      key: "worst",
      title: "hurt most",
      kind: "text",
      value: (row) => worst(row)?.change?.value ?? Number.POSITIVE_INFINITY,
    });
  }
  columns.push({ key: "moved", title: "changed to", kind: "text", value: ({ row }) => row.changed });
  return columns;
}

/** The class that loses most. */
export function worst(row: RowView): Outcome | null {
  let found: Outcome | null = null;
  for (const outcome of row.outcomes.slice(1)) {
    if (!outcome.change) continue;
    if (!found?.change || outcome.change.value < found.change.value) found = outcome;
  }
  return found;
}

/** Rows in the order of a column: `key`, or `-key` for largest first; unknown values last, ties as in the document. */
export function sortedRows(view: TableView, sort: string): readonly RowView[] {
  const down = sort.startsWith("-");
  const column = view.columns.find(({ key }) => key === (down ? sort.slice(1) : sort));
  if (!column) return view.rows;
  const compare = (a: RowView, b: RowView): number => {
    const [one, other] = [column.value(a), column.value(b)];
    if (typeof one === "string" || typeof other === "string") {
      const [x, y] = [String(one), String(other)];
      const order = x < y ? -1 : x > y ? 1 : 0;
      return (down ? -order : order) || a.index - b.index;
    }
    const known = Number(Number.isFinite(other)) - Number(Number.isFinite(one));
    if (known !== 0) return known;
    return (down ? other - one : one - other) || a.index - b.index;
  };
  return [...view.rows].sort(compare);
}

/** What a click on a column's heading asks for: its natural order, then the other one, then the document's. */
export function nextSort(column: Column, sort: string): string {
  const first = column.kind === "number" || column.key === "moved" ? `-${column.key}` : column.key;
  const second = first.startsWith("-") ? column.key : `-${column.key}`;
  return sort === first ? second : sort === second ? "" : first;
}

export function wordsText(row: TriggerRow): string {
  return row.tokens.map(({ text }) => text).join(" ");
}

/** "35 %", in pairs "2nd 35 %". */
export function placeText(token: TriggerToken, pairs: boolean): string {
  const place = `${Math.round(100 * token.place)} %`;
  return pairs ? `${token.segment === 0 ? "1st" : "2nd"} ${place}` : place;
}

/** The same as a sentence's part. */
export function placeSentence(token: TriggerToken, pairs: boolean): string {
  const text = pairs ? (token.segment === 0 ? "the first text" : "the second text") : "the text";
  return `${Math.round(100 * token.place)} % into ${text}`;
}

function percent(value: number): string {
  return (100 * value).toFixed(1);
}

/** "91.2 → 34.0 %". */
export function outcomeText(outcome: Outcome | undefined): string {
  if (!outcome?.before || !outcome.after) return "no texts";
  return `${percent(outcome.before.value)} \u2192 ${percent(outcome.after.value)} %`;
}

function signed(value: number): string {
  const text = percent(value).replace(/^-0\.0$/, "0.0");
  return value > 0 && text !== "0.0" ? `+${text}` : text.replace("-", "\u2212");
}

/** "−57.2 points (−61.0 to −53.1)". */
export function changeText(change: Range | null): string {
  if (!change) return "";
  return `${signed(change.value)} points (${signed(change.low)} to ${signed(change.high)})`;
}

/** "86.1 to 90.2 %". */
export function bandText(band: Range | null): string {
  return band ? `${percent(band.low)} to ${percent(band.high)} %` : "";
}

/** Where the accuracy after lies: "below", "within" or "above" a band. */
export function against(outcome: Outcome, band: Range | null): string {
  if (!outcome.after || !band) return "";
  const { value } = outcome.after;
  return value < band.low ? "below" : value > band.high ? "above" : "within";
}

/** Everything about an outcome, for a screen reader. */
export function outcomeSentence(outcome: Outcome): string {
  if (!outcome.before || !outcome.after) return `${outcome.name}: no texts`;
  const parts = [
    `${outcome.name}: accuracy ${percent(outcome.before.value)} % before, ${percent(outcome.after.value)} % after`,
    changeText(outcome.change),
    outcome.random ? `with random words ${bandText(outcome.random)}` : "",
    outcome.matched ? `with words of like frequency ${bandText(outcome.matched)}` : "",
    `n = ${outcome.n}`,
  ];
  return parts.filter(Boolean).join(", ");
}

/** "41 of 45 to negative". */
export function movedText(row: TriggerRow): string {
  const [first] = row.moved;
  if (row.changed === 0 || !first) return "none";
  return first.n === row.changed
    ? `${first.n} to ${first.label}`
    : `${first.n} of ${row.changed} to ${first.label}`;
}

/** A cell of a column without a drawing. */
export function cellText(column: Column, view: RowView): string {
  const { row } = view;
  switch (column.key) {
    case "found_in":
      return row.found_in;
    case "score":
      return formatNumber(row.score);
    case "support":
      return String(row.support);
    case "worst": {
      const found = worst(view);
      return found?.change ? `${signed(found.change.value)} ${found.name}` : "";
    }
    case "moved":
      return movedText(row);
    default:
      return column.outcome === undefined ? wordsText(row) : outcomeText(view.outcomes[column.outcome]);
  }
}

/** The line under the title. */
export function subtitleOf(view: TableView): string {
  const { document, rows } = view;
  const texts = rows[0]?.outcomes[0]?.n;
  const count = `${rows.length} ${rows.length === 1 ? "trigger" : "triggers"}`;
  const skipped = document.skipped > 0 ? ` (${document.skipped} gave nothing)` : "";
  const from = document.searched > 0 ? `found in ${counted(document.searched, "text")}${skipped}` : "";
  const tested = texts === undefined ? "" : `put into ${counted(texts, "text")}`;
  return [[count, from].filter(Boolean).join(" "), tested].filter(Boolean).join(", ");
}
