/** Roles in the cells of a grid: each a colour and a pattern, several to a cell, named in a legend. */

import { counted } from "../../marks/format.js";
import type { Box } from "../../marks/hatch.js";
import { pattern } from "../../marks/patterns.js";
import { el, num, text } from "../../marks/svg.js";
import { fitText, measure, wrap } from "../../marks/text.js";
import { categories } from "../../theme/categories.js";
import { mix } from "../../theme/colour.js";
import { type Palette, readableOn } from "../../theme/palette.js";
import type {
  GridDocument,
  GridPanel,
  HeadRef,
  KindName,
  RoleEvidence,
  RoleLayer,
} from "../../wire/types.js";
import { cellBox, type GridLayout } from "./layout.js";
import { headKey } from "./selection.js";

/** Roles that look the same in every picture, whatever others there are. */
const KNOWN = [
  "positional",
  "syntactic",
  "separator",
  "rare-word",
  "previous-token",
  "broad",
  "sink",
  "duplicate-token",
  "induction",
  "coreference",
];
/** Looks that a role may have. */
const LOOKS = 12;

const SWATCH = { width: 24, height: 14 } as const;
const ROW = 18;
/** Pixels that the words of a rule need at least, else they are left out. */
const LEAST_RULE = 150;

export interface RoleLook {
  readonly role: RoleLayer;
  readonly colour: string;
  readonly ink: string;
  readonly pattern: number;
}

/** The roles of a head, in the order in which they are drawn. */
export interface HeadRole {
  readonly look: RoleLook;
  readonly evidence: RoleEvidence;
}

/** What a panel shows of roles. */
export interface RolesView {
  readonly looks: readonly RoleLook[];
  /** By key of the head. */
  readonly of: ReadonlyMap<string, readonly HeadRole[]>;
}

/** A colour and a pattern for every role; those of a known name are the same everywhere. */
export function looksOf(roles: readonly RoleLayer[], colours: Palette): readonly RoleLook[] {
  const table = categories(colours.name);
  const taken = new Set(roles.map((role) => KNOWN.indexOf(role.name)));
  let next = 0;
  return roles.map((role) => {
    let slot = KNOWN.indexOf(role.name);
    if (slot < 0) {
      while (next < LOOKS && taken.has(next)) next++;
      slot = next++;
    }
    const colour = table[slot % table.length] ?? colours.muted;
    // A second round through the colours meets other patterns.
    const turn = Math.floor(slot / LOOKS);
    return { role, colour, ink: mix(colour, readableOn(colour), 0.8), pattern: (slot + 5 * turn) % LOOKS };
  });
}

/** The roles of one kind of attention; null where the document has none. */
export function viewRoles(
  document: Pick<GridDocument, "roles">,
  kind: KindName,
  colours: Palette,
): RolesView | null {
  if (!document.roles) return null;
  const looks = looksOf(document.roles, colours);
  const of = new Map<string, HeadRole[]>();
  for (const look of looks)
    for (const evidence of look.role.heads) {
      if (evidence.head[0] !== kind) continue;
      const key = headKey(evidence.head);
      const there = of.get(key);
      if (there) there.push({ look, evidence });
      else of.set(key, [{ look, evidence }]);
    }
  return { looks, of };
}

/** A box cut into `count` parts, row by row; in a low and wide one all stand side by side. */
export function parts([x, y, width, height]: Box, count: number): readonly Box[] {
  const rows = height * 2 < width ? 1 : count <= 3 ? 1 : count <= 6 ? 2 : Math.ceil(Math.sqrt(count));
  const columns = Math.ceil(count / rows);
  const out: Box[] = [];
  for (let i = 0; i < count; i++) {
    const row = Math.floor(i / columns);
    const own = row === rows - 1 ? count - columns * (rows - 1) : columns;
    out.push([x + ((i % columns) * width) / own, y + (row * height) / rows, width / own, height / rows]);
  }
  return out;
}

/** The lower part of a cell that shows a score too; all of one that does not. */
function roomFor([x, y, side]: readonly [number, number, number], scored: boolean): Box {
  if (!scored) return [x, y, side, side];
  const height = Math.max(3, Math.round(side * 0.42));
  return [x, y + side - height, side, height];
}

/** Boxes as one path. */
const area = (boxes: readonly Box[]) =>
  boxes
    .map(([x, y, width, height]) => `M${num(x)} ${num(y)}h${num(width)}v${num(height)}h${num(-width)}z`)
    .join("");

/** A swatch or many: filled, with the pattern; pale where it may be luck. */
function painted(look: RoleLook, boxes: readonly Box[], pale: boolean, colours: Palette): string {
  if (boxes.length === 0) return "";
  const fill = pale ? mix(look.colour, colours.surface, 0.68) : look.colour;
  const lines = pattern(look.pattern, boxes);
  const edge = pale ? { stroke: look.colour, "stroke-width": 0.75, "stroke-dasharray": "2 1.5" } : {};
  return (
    el("path", { d: area(boxes), fill, ...edge }) +
    (lines === ""
      ? ""
      : el("path", {
          d: lines,
          fill: "none",
          stroke: pale ? look.colour : look.ink,
          "stroke-width": 1,
        }))
  );
}

/** Every role in its cells: one path of colour and one of pattern per role, however many heads there are. */
export function roleMarks(view: RolesView, panel: GridPanel, layout: GridLayout, colours: Palette): string {
  const sure = new Map<RoleLook, Box[]>();
  const unsure = new Map<RoleLook, Box[]>();
  const edges: Box[] = [];
  const scored = panel.scores.length > 0;
  for (const roles of view.of.values()) {
    const head: HeadRef | undefined = roles[0]?.evidence.head;
    if (!head || head[1] >= panel.layers || head[2] >= panel.heads) continue;
    const room = roomFor(cellBox(layout, head[1], head[2]), scored);
    const boxes = parts(room, roles.length);
    roles.forEach(({ look, evidence }, i) => {
      const box = boxes[i];
      if (!box) return;
      const table = evidence.certain === false ? unsure : sure;
      const there = table.get(look);
      if (there) there.push(box);
      else table.set(look, [box]);
      if (box[0] > room[0] + 0.01) edges.push([box[0] - 0.5, box[1], 1, box[3]]);
      if (box[1] > room[1] + 0.01) edges.push([box[0], box[1] - 0.5, box[2], 1]);
    });
    if (scored) edges.push([room[0], room[1] - 1, room[2], 1]);
  }
  const out: string[] = [];
  for (const look of view.looks) {
    out.push(painted(look, sure.get(look) ?? [], false, colours));
    out.push(painted(look, unsure.get(look) ?? [], true, colours));
  }
  if (edges.length > 0) out.push(el("path", { d: area(edges), fill: colours.surface }));
  return out.join("");
}

function headsOf(look: RoleLook, view: RolesView): number {
  let count = 0;
  for (const roles of view.of.values()) if (roles.some((role) => role.look === look)) count++;
  return count;
}

/** What the colours and patterns mean, with its top left at x, y: name, number of heads, rule. */
export function roleLegend(
  view: RolesView,
  x: number,
  y: number,
  width: number,
  colours: Palette,
): { readonly svg: string; readonly width: number; readonly height: number } {
  const rows = view.looks.map((look) => ({ look, count: headsOf(look, view) }));
  const shown = rows.filter(({ count }) => count > 0);
  const absent = rows.filter(({ count }) => count === 0).map(({ look }) => look.role.name);
  const left = x + SWATCH.width + 8;
  const names = shown.map(({ look }) =>
    fitText(look.role.name, 12, Math.min(160, x + width - left - 60), true),
  );
  const counts = shown.map(({ count }) => counted(count, "head"));
  const nameWidth = Math.max(0, ...names.map((name) => measure(name, 12, true)));
  const countWidth = Math.max(0, ...counts.map((count) => measure(count, 11)));
  const countAt = left + nameWidth + 10;
  const ruleAt = countAt + countWidth + 12;
  const room = x + width - ruleAt;
  const out: string[] = [];
  let top = y;
  let right = ruleAt - 12;
  shown.forEach(({ look }, i) => {
    const box: Box = [x, top + 1, SWATCH.width, SWATCH.height];
    out.push(painted(look, [box], false, colours));
    out.push(text(left, top + 12, names[i] ?? "", { size: 12, bold: true, fill: colours.ink }));
    out.push(text(countAt, top + 12, counts[i] ?? "", { size: 11, fill: colours.muted }));
    const lines = room >= LEAST_RULE ? wrap(look.role.rule, 11, room, 3) : [];
    lines.forEach((line, at) => {
      out.push(text(ruleAt, top + 12 + at * 13, line, { size: 11, fill: colours.muted }));
      right = Math.max(right, ruleAt + measure(line, 11));
    });
    top += ROW + 13 * Math.max(0, lines.length - 1);
  });
  const notes: string[] = [];
  if (absent.length > 0) notes.push(`No head: ${absent.join(", ")}.`);
  let unsure = false;
  for (const roles of view.of.values())
    if (roles.some(({ evidence }) => evidence.certain === false)) unsure = true;
  if (unsure) notes.push("Pale and dashed: the rule holds in this sample, but may do so by luck.");
  for (const note of notes)
    for (const line of wrap(note, 11, Math.max(120, width), 3)) {
      out.push(text(x, top + 12, line, { size: 11, fill: colours.muted }));
      right = Math.max(right, x + measure(line, 11));
      top += 15;
    }
  return { svg: out.join(""), width: right - x, height: top - y };
}

/** What is read out of a head's roles. */
export function roleWords(roles: readonly HeadRole[] | undefined): string {
  if (!roles || roles.length === 0) return "no role";
  return roles
    .map(({ look, evidence }) => {
      const about = evidence.about === "" ? "" : ` (${evidence.about})`;
      return `${look.role.name}${about}${evidence.certain === false ? ", may be luck" : ""}`;
    })
    .join("; ");
}

/** The same of a whole panel. */
export function describeRoles(view: RolesView): string {
  const listed = view.looks.map((look) => `${look.role.name} ${headsOf(look, view)}`);
  return `roles: ${listed.join(", ") || "none"}`;
}
