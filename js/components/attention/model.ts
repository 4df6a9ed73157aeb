// What an attention document shows: which heads of which kind, over which positions.
import type { AttentionDocument, AttentionPanel, HeadRef, KindName } from "../../wire/types.js";
import type { MapValues } from "../maps/head-map.js";
import { MOST_HEADS } from "../maps/labels.js";
import { countSpecial, headName, isRightToLeft, type Position, positionsOf } from "../maps/positions.js";
import { viewNotes } from "../maps/views.js";

/** The panel of a kind; the first selected head's kind when none is asked for. */
export function panelOf(document: AttentionDocument, kind: KindName | null): AttentionPanel {
  const wanted = kind ?? document.selected[0]?.[0];
  const panel = document.panels.find((candidate) => candidate.kind === wanted) ?? document.panels[0];
  if (panel === undefined) throw new Error("an attention document has at least one panel, got none");
  return panel;
}

/** The selected heads of a kind, at most as many as can be told apart. */
export function headsOf(document: AttentionDocument, kind: KindName): HeadRef[] {
  return document.selected.filter((head) => head[0] === kind).slice(0, MOST_HEADS);
}

/** A head's name; with its kind where the model has several. */
export function nameOf(document: AttentionDocument, head: HeadRef): string {
  return headName(head, document.panels.length > 1);
}

/** Maps on the same positions, with those positions. */
export interface Shown {
  readonly maps: readonly MapValues[];
  readonly names: readonly string[];
  readonly query: readonly Position[];
  readonly key: readonly Position[];
  /** What a reader must know about what is left out, in sentences. */
  readonly notes: readonly string[];
}

/** What of `maps` is drawn over a panel's tokens. */
export function shownOf(
  document: AttentionDocument,
  panel: AttentionPanel,
  maps: readonly MapValues[],
): Shown {
  const first = maps[0];
  const queryStep = first?.queryStep ?? 1;
  const keyStep = first?.keyStep ?? 1;
  const alike = maps.filter((map) => map.queryStep === queryStep && map.keyStep === keyStep);
  const hide = document.hide_special;
  const query = positionsOf(panel.query, queryStep, hide);
  const key = positionsOf(panel.key, keyStep, hide);
  const notes: string[] = [];
  const hidden = countSpecial(panel.key);
  if (hide && hidden > 0) {
    notes.push(
      `${hidden} special ${hidden === 1 ? "token is" : "tokens are"} hidden; the numbers of the others are as they were.`,
    );
  }
  const view = document.view ?? "attention";
  notes.push(...viewNotes(maps));
  if (document.words)
    notes.push(
      view === "attribution"
        ? "Positions are words: what links of a split word carry is summed."
        : "Positions are words: what goes to a split word is summed, what goes from it averaged.",
    );
  const step = Math.max(queryStep, keyStep);
  if (step > 1)
    notes.push(`Each row and column stands for ${step} neighbouring tokens (the mean of their numbers).`);
  if ([...query, ...key].some((position) => position.continued)) {
    notes.push("A hook before a token: it shares its character with the token before it.");
  }
  if (isRightToLeft(panel.key))
    notes.push("The text reads from right to left; positions are in reading order.");
  const left = document.selected.filter((head) => head[0] === panel.kind).length - MOST_HEADS;
  if (left > 0) notes.push(`The first ${MOST_HEADS} of ${left + MOST_HEADS} selected heads are shown.`);
  return { maps: alike, names: alike.map((map) => nameOf(document, map.head)), query, key, notes };
}
