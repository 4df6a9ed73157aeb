import type { Token } from "../../wire/types.js";

/** One row or column of a map as it is shown: a token, or several where the map was down-sampled. */
export interface Position {
  /** Row or column of the map. */
  readonly index: number;
  /** First and last token it stands for. */
  readonly first: number;
  readonly last: number;
  /** What is written beside it; never empty. */
  readonly label: string;
  readonly special: boolean;
  readonly continued: boolean;
  readonly joined: boolean;
}

/** The positions of one axis, with special ones left out when asked; `step` is tokens per row. */
export function positionsOf(tokens: readonly Token[], step: number, hideSpecial: boolean): Position[] {
  const size = Math.max(1, Math.floor(step));
  const positions: Position[] = [];
  for (let first = 0; first < tokens.length; first += size) {
    const group = tokens.slice(first, first + size);
    const head = group[0];
    if (head === undefined) continue;
    const special = group.every((token) => token.special);
    if (special && hideSpecial) continue;
    const last = first + group.length - 1;
    positions.push({
      index: first / size,
      first,
      last,
      label: group.length === 1 ? visible(head.text) : group.map((token) => visible(token.text)).join(" "),
      special,
      continued: group.length === 1 && head.continued,
      joined: head.joined,
    });
  }
  return positions;
}

/** Number of special tokens, for the sentence that says they are hidden. */
export function countSpecial(tokens: readonly Token[]): number {
  return tokens.filter((token) => token.special).length;
}

/** Token text with white space made visible, so that no token is drawn as nothing. */
export function visible(text: string): string {
  if (text === "") return "∅";
  const shown = text
    .replace(/\n/g, "⏎")
    .replace(/\t/g, "⇥")
    .replace(/\r/g, "")
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these have no picture; they show as U+FFFD
    .replace(/[\u0000-\u001f\u007f-\u009f]/g, "\ufffd");
  return shown.trim() === "" ? "␣".repeat(Math.min(3, Math.max(1, shown.length))) : shown.trim();
}

/** A token for a read-out: its number and text, with what is not ordinary about it in words. */
export function describe(position: Position): string {
  const where =
    position.first === position.last ? `${position.first}` : `${position.first} to ${position.last}`;
  const notes = [
    position.special ? "added by the tokenizer" : "",
    position.continued ? "shares its character with the token before it" : "",
  ].filter((note) => note !== "");
  return `“${position.label}” (position ${where}${notes.length > 0 ? `, ${notes.join(", ")}` : ""})`;
}

const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff]/;
const LEFT_TO_RIGHT = /[A-Za-z\u00c0-\u024f\u0370-\u052f\u3040-\u30ff\u4e00-\u9fff]/;

/** Whether a text reads from right to left: more of its tokens are written in such a script than not. */
export function isRightToLeft(tokens: readonly Token[]): boolean {
  let balance = 0;
  for (const token of tokens) {
    if (token.special) continue;
    if (RIGHT_TO_LEFT.test(token.text)) balance += 1;
    else if (LEFT_TO_RIGHT.test(token.text)) balance -= 1;
  }
  return balance > 0;
}

/** A head's name as it is printed: `L5H3`, `L5 all heads`; with the kind before it where there are several. */
export function headName(head: readonly [string, number, number], withKind: boolean): string {
  const [kind, layer, index] = head;
  const name = index < 0 ? `L${layer} all heads` : `L${layer}H${index}`;
  return withKind ? `${kind}.${name}` : name;
}

/** Whether two references name the same head. */
export function sameHead(
  a: readonly [string, number, number],
  b: readonly [string, number, number],
): boolean {
  return a[0] === b[0] && a[1] === b[1] && a[2] === b[2];
}
