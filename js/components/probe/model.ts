/** What a probe document shows: rows with their heads, columns, the order of rows, examples and trees. */

import { counted, formatPercent } from "../../marks/format.js";
import { type Buffer, decodeShaped, type Values } from "../../wire/decode.js";
import type {
  HeadRef,
  IntervalData,
  KindName,
  ProbeArc,
  ProbeDocument,
  ProbeRow,
  ProbeSentence,
  ProbeTree,
} from "../../wire/types.js";

/** One example under one head. */
export interface Example {
  readonly arc: ProbeArc;
  readonly sentence: ProbeSentence;
  /** The word that the head points at; -1 for none. */
  readonly predicted: number;
  readonly right: boolean;
}

export interface RowView {
  /** Its place in the document. */
  readonly index: number;
  readonly row: ProbeRow;
}

export interface Column {
  readonly key: string;
  readonly title: string;
  readonly kind: "text" | "number" | "bar" | "verdict";
  readonly value: (row: RowView) => string | number;
  readonly text: (row: RowView) => string;
}

export interface ProbeData {
  readonly document: ProbeDocument;
  readonly heads: readonly HeadRef[];
  /** More than one kind: heads are named with theirs. */
  readonly kinds: boolean;
  readonly rows: readonly RowView[];
  readonly columns: readonly Column[];
  /** Whether the accuracies of a row's heads are here. */
  measuredIn(row: number): boolean;
  /** Accuracy of a head in a row, 0 to 1; NaN is not measured. */
  value(row: number, head: number): number;
  /** The word that a head points at in an example; -1 for none. */
  pointed(arc: number, head: number): number;
}

const KINDS: readonly KindName[] = ["encoder", "decoder", "cross"];
/** The largest of 8 bits stands for "not measured" and for "none". */
const NOTHING = 255;

/** A number as it is sent: negative stands for NaN. */
export function measured(value: number): number {
  return value >= 0 ? value : Number.NaN;
}

/** The document with its arrays read; throws a sentence where they do not fit each other. */
export function viewProbe(document: ProbeDocument, buffer?: Buffer): ProbeData {
  const count = document.heads.shape[0] ?? 0;
  const numbers = decodeShaped(document.heads, [count, 3], "heads", buffer);
  const heads = Array.from({ length: count }, (_, at): HeadRef => {
    const [kind = 0, layer = 0, index = 0] = numbers.slice(3 * at, 3 * at + 3);
    return [KINDS[kind] ?? "encoder", layer, index];
  });
  // A large table comes with the heads of the row shown only.
  const whole = document.table.shape[0] === document.rows.length;
  const table = decodeShaped(document.table, [whole ? document.rows.length : 1, count], "table", buffer);
  const predicted = decodeShaped(document.predicted, [document.arcs.length, count], "predicted", buffer);
  const kinds = new Set(heads.map(([kind]) => kind)).size > 1;
  for (const arc of [...document.arcs, ...document.trees])
    if (!document.sentences[arc.sentence])
      throw new Error(
        `an example is of sentence ${arc.sentence}, but there are ${document.sentences.length}`,
      );
  const rows = document.rows.map((row, index) => ({ index, row }));
  return {
    document,
    heads,
    kinds,
    rows,
    columns: columnsOf(document, rows, kinds),
    measuredIn: (row) => count > 0 && (whole || row === document.shown),
    value: (row, head) => {
      if (!whole && row !== document.shown) return Number.NaN;
      return accuracyOf(table, (whole ? row : 0) * count + head);
    },
    pointed: (arc, head) => pointedOf(predicted, arc * count + head),
  };
}

function accuracyOf(table: Values, at: number): number {
  const value = table[at] ?? Number.NaN;
  if (!(table instanceof Uint8Array)) return value;
  return value === NOTHING ? Number.NaN : value / (NOTHING - 1);
}

function pointedOf(predicted: Values, at: number): number {
  const word = predicted[at] ?? -1;
  return predicted instanceof Uint8Array && word === NOTHING ? -1 : word;
}

/** "L5H3", with several kinds "encoder.L5H3". */
export function headLabel([kind, layer, index]: HeadRef, kinds: boolean): string {
  return `${kinds ? `${kind}.` : ""}L${layer}H${index}`;
}

/** "+1", "−2", "0". */
export function offsetText(offset: number): string {
  return offset > 0 ? `+${offset}` : String(offset).replace("-", "\u2212");
}

/** "58.1 % (55.0 to 61.2)". */
export function intervalText({ value, low, high }: IntervalData): string {
  const known = measured(value);
  if (!Number.isFinite(known)) return "not measured";
  const ends = [low, high].map((end) => formatPercent(end).replace(" %", ""));
  return Number.isFinite(measured(low)) && Number.isFinite(measured(high))
    ? `${formatPercent(known)} (${ends.join(" to ")})`
    : formatPercent(known);
}

function share(value: number): string {
  return Number.isFinite(measured(value)) ? formatPercent(value) : "";
}

/** The best fixed offset in words; empty where there is none. */
export function baselineText({ baseline, offset }: ProbeRow): string {
  const accuracy = share(baseline);
  return accuracy && `${accuracy} at ${offsetText(offset)}`;
}

export function strongestText({ strongest, strongest_accuracy }: ProbeRow): string {
  return strongest === "" ? "" : [share(strongest_accuracy), strongest].filter(Boolean).join(" ");
}

/** "✓ above every baseline": what may be said, with a mark that needs no colour. */
export function verdictText({ verdict, verdict_good }: ProbeRow): string {
  return verdict === "" ? "" : `${verdict_good ? "\u2713" : "\u2013"} ${verdict}`;
}

function columnsOf(document: ProbeDocument, rows: readonly RowView[], kinds: boolean): Column[] {
  const best = (row: ProbeRow): string => (row.best ? headLabel(row.best, kinds) : "");
  const place = ({ best }: ProbeRow): number =>
    best ? (KINDS.indexOf(best[0]) * 1e4 + best[1]) * 1e4 + best[2] : Number.NaN;
  const all: Column[] = [
    {
      key: "relation",
      title: "relation",
      kind: "text",
      value: ({ row }) => row.relation,
      text: ({ row }) => row.relation,
    },
    {
      key: "direction",
      title: "direction",
      kind: "text",
      value: ({ row }) => row.direction,
      text: ({ row }) => row.direction,
    },
    { key: "n", title: "n", kind: "number", value: ({ row }) => row.n, text: ({ row }) => String(row.n) },
    {
      key: "best",
      title: "best head",
      kind: "text",
      value: ({ row }) => place(row),
      text: ({ row }) => best(row),
    },
    {
      key: "accuracy",
      title: document.measure,
      kind: "bar",
      value: ({ row }) => measured(row.accuracy.value),
      text: ({ row }) => share(row.accuracy.value) || "not measured",
    },
    {
      key: "baseline",
      title: "fixed offset",
      kind: "number",
      value: ({ row }) => measured(row.baseline),
      text: ({ row }) => baselineText(row),
    },
    {
      key: "strongest",
      title: "strongest other",
      kind: "text",
      value: ({ row }) => measured(row.strongest_accuracy),
      text: ({ row }) => strongestText(row),
    },
    {
      key: "verdict",
      title: "verdict",
      kind: "verdict",
      value: ({ row }) => `${row.verdict_good ? 0 : 1} ${row.verdict}`,
      text: ({ row }) => verdictText(row),
    },
  ];
  // One direction for all is said above the table; what no row says needs no column.
  const directions = new Set(rows.map(({ row }) => row.direction));
  return all.filter((column) => {
    if (column.key === "direction" && directions.size < 2) return false;
    return column.key === "relation" || rows.some((row) => column.text(row) !== "");
  });
}

/** Rows in the order of a column: `key`, or `-key` for largest first; unknown values last, ties as in the document. */
export function sortedRows(data: ProbeData, sort: string): readonly RowView[] {
  const down = sort.startsWith("-");
  const column = data.columns.find(({ key }) => key === (down ? sort.slice(1) : sort));
  if (!column) return data.rows;
  return [...data.rows].sort((a, b) => {
    const [one, other] = [column.value(a), column.value(b)];
    if (typeof one === "string" || typeof other === "string") {
      const [x, y] = [String(one), String(other)];
      const order = x < y ? -1 : x > y ? 1 : 0;
      return (down ? -order : order) || a.index - b.index;
    }
    const known = Number(Number.isFinite(other)) - Number(Number.isFinite(one));
    if (known !== 0) return known;
    return (Number.isFinite(one) ? (down ? other - one : one - other) : 0) || a.index - b.index;
  });
}

/** What a click on a column's heading asks for: its natural order, then the other one, then the document's. */
export function nextSort(column: Column, sort: string): string {
  const up = column.key === "best" || column.kind === "text" || column.kind === "verdict";
  const first = up && column.key !== "strongest" ? column.key : `-${column.key}`;
  const second = first.startsWith("-") ? column.key : `-${column.key}`;
  return sort === first ? second : sort === second ? "" : first;
}

/** What is on show, each inside the document: the row (-1: none), the head (-1: none) and the tree (-1: none). */
export interface Shown {
  readonly row: number;
  readonly head: number;
  readonly tree: number;
}

function sameHead(one: HeadRef, other: HeadRef): boolean {
  return one[0] === other[0] && one[1] === other[1] && one[2] === other[2];
}

export function headNumber(data: ProbeData, head: HeadRef | null | undefined): number {
  return head ? data.heads.findIndex((one) => sameHead(one, head)) : -1;
}

/** The row wanted, and the first of the heads wanted that was measured, else the row's best. */
export function shownOf(data: ProbeData, row: number, heads: readonly HeadRef[], tree: number): Shown {
  const { rows, trees } = data.document;
  const found = row >= 0 && row < rows.length ? row : -1;
  const wanted = heads.map((head) => headNumber(data, head)).find((at) => at >= 0);
  return {
    row: found,
    head: found < 0 ? -1 : (wanted ?? headNumber(data, rows[found]?.best)),
    tree: trees.length > 0 ? Math.max(0, Math.min(trees.length - 1, tree)) : -1,
  };
}

/** The examples of a row under a head. */
export function examplesOf(data: ProbeData, row: number, head: number): readonly Example[] {
  const { arcs, sentences } = data.document;
  return (data.document.rows[row]?.arcs ?? []).flatMap((number) => {
    const arc = arcs[number];
    const sentence = arc && sentences[arc.sentence];
    if (!arc || !sentence) return [];
    const predicted = head < 0 ? -1 : data.pointed(number, head);
    return [{ arc, sentence, predicted, right: arc.target.includes(predicted) }];
  });
}

function phrase(sentence: ProbeSentence, positions: readonly number[]): string {
  return positions.map((at) => sentence.words[at] ?? "").join(" ");
}

/** An example as a sentence, for a screen reader. */
export function exampleSentence(example: Example, head: string): string {
  const { arc, sentence, predicted, right } = example;
  const gold = `\u201c${phrase(sentence, arc.source)}\u201d to \u201c${phrase(sentence, arc.target)}\u201d`;
  if (head === "") return `annotated: ${gold}`;
  const where = predicted < 0 ? "at no word" : `at \u201c${sentence.words[predicted] ?? ""}\u201d`;
  return `annotated: ${gold}; ${head} points ${where}, ${right ? "right" : "wrong"}`;
}

/** Whether the chosen row has something to show of its own; else the trees do. */
export function hasExamples(data: ProbeData, row: number): boolean {
  return data.heads.length > 0 || (data.document.rows[row]?.arcs.length ?? 0) > 0;
}

/** Words of a tree in the relation of a row; none without a row. */
export function wordsIn(data: ProbeData, tree: number, row: number): ReadonlySet<number> {
  const relation = data.document.rows[row]?.relation;
  const relations = data.document.trees[tree]?.relations ?? [];
  return new Set(relations.flatMap((one, at) => (relation !== undefined && one === relation ? [at] : [])));
}

/** The tree to show with a row: the one on show if the relation is in it, else the first that has it. */
export function treeFor(data: ProbeData, tree: number, row: number): number {
  if (row < 0 || wordsIn(data, tree, row).size > 0) return tree;
  const found = data.document.trees.findIndex((_, at) => wordsIn(data, at, row).size > 0);
  return found < 0 ? tree : found;
}

/** Words of a tree whose predicted head is the annotated one, and all words. */
export function rightWords(tree: ProbeTree): readonly [number, number] {
  return [tree.gold.filter((head, at) => head === tree.predicted[at]).length, tree.gold.length];
}

/** One word of a tree as a sentence. */
export function wordSentence(sentence: ProbeSentence, tree: ProbeTree, at: number): string {
  const named = (head: number | undefined): string =>
    head === undefined || head < 0 ? "the root" : `\u201c${sentence.words[head] ?? ""}\u201d`;
  const relation = tree.relations[at] ? `, ${tree.relations[at]}` : "";
  const right = tree.gold[at] === tree.predicted[at];
  const predicted = right ? "predicted alike" : `predicted ${named(tree.predicted[at])}`;
  return `\u201c${sentence.words[at] ?? ""}\u201d: head ${named(tree.gold[at])}${relation}; ${predicted}`;
}

/** What the chosen row says, in one line: of the head on show, and of what it is measured against. */
export function factsOf(data: ProbeData, shown: Shown): string {
  const row = data.document.rows[shown.row];
  if (!row) return "";
  const head = data.heads[shown.head];
  const best = headNumber(data, row.best);
  const own = head && shown.head !== best ? data.value(shown.row, shown.head) : Number.NaN;
  const parts = [
    head && Number.isFinite(own) ? `${headLabel(head, data.kinds)} ${formatPercent(own)}` : "",
    `${row.best ? `best head ${headLabel(row.best, data.kinds)} ` : ""}${intervalText(row.accuracy)}, n = ${row.n}`,
    baselineText(row) && `best fixed offset ${baselineText(row)}`,
    row.strongest && `strongest other baseline ${strongestText(row)}`,
  ];
  return parts.filter(Boolean).join("; ");
}

/** "nsubj, dependent to head". */
export function rowName({ relation, direction }: ProbeRow): string {
  return [relation, direction].filter(Boolean).join(", ");
}

/** The line under the title. */
export function subtitleOf(data: ProbeData): string {
  const { rows, trees } = data.document;
  const good = rows.filter(({ verdict_good }) => verdict_good).length;
  const directions = new Set(rows.map(({ direction }) => direction));
  const one = directions.size === 1 && !directions.has("") ? ` (${[...directions].join("")})` : "";
  const judged = rows.some(({ verdict }) => verdict !== "");
  const counts = [
    rows.length > 0 ? `${counted(rows.length, "row")}${one}${judged ? `, ${good} pass` : ""}` : "",
    data.heads.length > 0 ? counted(data.heads.length, "head") : "",
    trees.length > 0 ? `${counted(trees.length, "example tree")}` : "",
  ];
  return counts.filter(Boolean).join(" \u00b7 ");
}

/** The two ticks of the rows' bars; empty where no row has one. */
export function tickNames({ columns }: ProbeData): readonly [string, string] {
  const has = (key: string): boolean => columns.some((column) => column.key === key);
  return [has("baseline") ? "best fixed offset" : "", has("strongest") ? "strongest other baseline" : ""];
}
