/** Layer x head grid as a picture: layers are rows (0 on top, nearest the input), heads are columns. */

import { counted } from "../../marks/format.js";
import { type Box, hatch } from "../../marks/hatch.js";
import { LEGEND_HEIGHT, legend } from "../../marks/legend.js";
import { type DrawOptions, frame, MARK_LIMIT, type Picture, provenanceNote } from "../../marks/picture.js";
import { imageMark } from "../../marks/png.js";
import { type Ramp, rampFor } from "../../marks/ramp.js";
import { el, num, rect, text } from "../../marks/svg.js";
import { fitText, measure, wrap } from "../../marks/text.js";
import { type Palette, palette, readableOn } from "../../theme/palette.js";
import { type Buffer, decodeShaped } from "../../wire/decode.js";
import type { GridDocument, GridPanel, HeadRef, ScoreLayer } from "../../wire/types.js";
import { cellBox, type GridLayout, gridLayout, LABEL_SIZE } from "./layout.js";
import { describeRoles, type RolesView, roleLegend, roleMarks, viewRoles } from "./roles.js";

/** Pixels that a legend likes to have. */
const LEGEND_WIDTH = 320;

/** One panel with one score, decoded. */
export interface PanelView {
  readonly panel: GridPanel;
  /** null: the panel has no scores, its heads are only there to be chosen. */
  readonly score: ScoreLayer | null;
  readonly values: ArrayLike<number>;
  readonly stderr: ArrayLike<number> | null;
  /** Which roles its heads have; null or absent where the document has none. */
  readonly roles?: RolesView | null;
}

/** A drawn panel, its marks (crosses, rings) apart, so that a live view renews only those. */
export interface PanelPicture {
  readonly layout: GridLayout;
  readonly ramp: Ramp;
  readonly base: string;
  readonly width: number;
  readonly height: number;
}

/** Decode the score called `name` (or the first) of a panel. */
export function viewPanel(panel: GridPanel, name: string | null, buffer?: Buffer): PanelView {
  const score = panel.scores.find((candidate) => candidate.name === name) ?? panel.scores[0] ?? null;
  if (!score)
    return {
      panel,
      score,
      values: new Float32Array(panel.layers * panel.heads).fill(Number.NaN),
      stderr: null,
    };
  const shape = [panel.layers, panel.heads];
  const values = decodeShaped(score.values, shape, `${panel.kind}, ${score.name}`, buffer);
  const stderr = score.stderr
    ? decodeShaped(score.stderr, shape, `${panel.kind}, standard error of ${score.name}`, buffer)
    : null;
  return { panel, score, values, stderr };
}

function cellMarks(view: PanelView, layout: GridLayout, scale: Ramp, colours: Palette): string {
  const { panel, values } = view;
  const boxes: Box[] = [];
  const bare: string[] = [];
  const out: string[] = [];
  for (let layer = 0; layer < panel.layers; layer++)
    for (let head = 0; head < panel.heads; head++) {
      const value = values[layer * panel.heads + head] ?? Number.NaN;
      const [x, y, side] = cellBox(layout, layer, head);
      if (view.roles && !view.score) {
        bare.push(`M${num(x)} ${num(y)}h${num(side)}v${num(side)}h${num(-side)}z`);
      } else if (Number.isFinite(value)) {
        out.push(rect(x, y, side, side, { fill: scale.colour(value) }));
      } else if (view.score) {
        boxes.push([x, y, side, side]);
        out.push(rect(x + 0.5, y + 0.5, side - 1, side - 1, { fill: "none", stroke: colours.faint }));
      } else {
        out.push(rect(x + 0.5, y + 0.5, side - 1, side - 1, { fill: colours.faint, stroke: colours.line }));
      }
    }
  if (bare.length > 0) out.push(el("path", { d: bare.join(""), fill: colours.faint }));
  return out.join("") + hatch(boxes, colours.line);
}

/** The same cells as one image, for grids with more cells than a page should hold elements. */
function cellImage(view: PanelView, layout: GridLayout, scale: Ramp, colours: Palette): string {
  const { panel, values } = view;
  const side = Math.max(4, Math.min(8, Math.round(layout.pitch)));
  const table = [...scale.colours];
  const [empty, stroke] = [0, 255]; // the ends of the ramp give way to the surface and the hatching
  table[empty] = colours.surface;
  table[stroke] = colours.line;
  const width = panel.heads * side;
  const pixels = new Uint8Array(width * panel.layers * side);
  for (let layer = 0; layer < panel.layers; layer++)
    for (let head = 0; head < panel.heads; head++) {
      const value = values[layer * panel.heads + head] ?? Number.NaN;
      const measured = Number.isFinite(value);
      const index = measured ? Math.max(1, Math.min(254, scale.index(value))) : empty;
      for (let y = 0; y < side; y++) {
        const row = (layer * side + y) * width + head * side;
        pixels.fill(index, row, row + side);
        if (!measured) for (let x = 0; x < side; x++) if ((x + y) % 4 === 0) pixels[row + x] = stroke;
      }
    }
  const image = { width, height: panel.layers * side, colours: table, pixels };
  return imageMark(image, layout.x, layout.y, layout.right - layout.x, layout.bottom - layout.y, 1);
}

function axes(layout: GridLayout, width: number, colours: Palette): string {
  const { layers, pitch, gap, x, y, bottom, right } = layout;
  const out: string[] = [];
  const half = (pitch - gap) / 2;
  for (const layer of layout.layerLabels)
    out.push(
      text(x - 6, y + layer * pitch + half + LABEL_SIZE * 0.35, String(layer), {
        size: LABEL_SIZE,
        fill: colours.muted,
        anchor: "end",
      }),
    );
  for (const head of layout.headLabels)
    out.push(
      text(x + head * pitch + half, bottom + LABEL_SIZE + 3, String(head), {
        size: LABEL_SIZE,
        fill: colours.muted,
        anchor: "middle",
      }),
    );
  let under = bottom + LABEL_SIZE + 6;
  if (layout.group > 1) {
    const path: string[] = [];
    const groups = Math.ceil(layout.heads / layout.group);
    for (let g = 0; g < groups; g++) {
      const from = x + g * layout.group * pitch + 1;
      const until = x + Math.min(layout.heads, (g + 1) * layout.group) * pitch - gap - 1;
      path.push(`M${num(from)} ${num(under)}v4H${num(until)}v-4`);
    }
    out.push(el("path", { d: path.join(""), fill: "none", stroke: colours.line }));
    under += 6;
  }
  const title =
    layout.group > 1 ? `head (brackets: ${counted(layout.group, "head")} share keys and values)` : "head";
  const centred = measure(title, 12) <= right - x;
  const at = centred ? (x + right - gap) / 2 : x;
  const shown = fitText(title, 12, width - x);
  out.push(text(at, under + 12, shown, { fill: colours.ink, anchor: centred ? "middle" : "start" }));
  const tall = layers * pitch;
  const side = tall > 150 ? "layer (0 is nearest the input)" : tall >= 34 ? "layer" : "";
  if (side)
    out.push(text(12, (y + bottom - gap) / 2, side, { fill: colours.ink, anchor: "middle", rotate: -90 }));
  return out.join("");
}

export interface PanelText {
  readonly title: string;
  readonly subtitle: string;
}

/** Axes, cells and legend of one panel with its top at 0. */
export function drawPanel(view: PanelView, words: PanelText, width: number, colours: Palette): PanelPicture {
  const out: string[] = [];
  let top = 2;
  let widest = 0;
  for (const line of wrap(words.title, 14, width - 4, 2, true)) {
    widest = Math.max(widest, measure(line, 14, true));
    out.push(text(2, top + 14, line, { size: 14, bold: true, fill: colours.ink }));
    top += 18;
  }
  for (const line of wrap(words.subtitle, 12, width - 4, 2)) {
    widest = Math.max(widest, measure(line, 12));
    out.push(text(2, top + 12, line, { fill: colours.muted }));
    top += 16;
  }
  const layout = gridLayout(view.panel, width, top + 6);
  const scale = rampFor(view.values, view.score?.signed ?? false, colours);
  const many = view.panel.layers * view.panel.heads > MARK_LIMIT && view.score !== null;
  out.push(many ? cellImage(view, layout, scale, colours) : cellMarks(view, layout, scale, colours));
  if (view.roles) out.push(roleMarks(view.roles, view.panel, layout, colours));
  out.push(axes(layout, Math.max(width, layout.right), colours));
  let height = layout.bottom + LABEL_SIZE + 6 + (layout.group > 1 ? 6 : 0) + 18;
  if (view.score) {
    const missing = Array.prototype.some.call(view.values, (value: number) => !Number.isFinite(value));
    const { name, unit } = view.score;
    const room = Math.min(LEGEND_WIDTH, Math.max(width, layout.right) - layout.x - 2);
    out.push(
      legend(layout.x, height + 6, scale, { title: name, unit, palette: colours, width: room, missing }),
    );
    widest = Math.max(widest, layout.x + room);
    height += 6 + LEGEND_HEIGHT;
  }
  if (view.roles) {
    const wide = Math.max(width, layout.right) - layout.x - 6;
    const named = roleLegend(view.roles, layout.x, height + 8, wide, colours);
    out.push(named.svg);
    widest = Math.max(widest, layout.x + named.width);
    height += 8 + named.height;
  }
  const tight = Math.ceil(Math.max(layout.right, Math.min(width - 4, widest)) + 4);
  return { layout, ramp: scale, base: out.join(""), width: tight, height };
}

/** Crosses over pruned heads and rings around selected ones of this panel's kind. */
export function drawMarks(
  view: PanelView,
  picture: Pick<PanelPicture, "layout" | "ramp">,
  pruned: readonly HeadRef[],
  selected: readonly HeadRef[],
  colours: Palette,
): string {
  const { layout, ramp } = picture;
  const within = ([kind, layer, head]: HeadRef) =>
    kind === view.panel.kind && layer >= 0 && layer < layout.layers && head >= 0 && head < layout.heads;
  // One path per layer and ink: a single path with thousands of crosses is slow to paint.
  const crosses = new Map<string, string[]>();
  for (const ref of pruned) {
    if (!within(ref)) continue;
    const [, layer, head] = ref;
    const [x, y, side] = cellBox(layout, layer, head);
    const value = view.values[layer * layout.heads + head] ?? Number.NaN;
    const under = Number.isFinite(value) ? ramp.colour(value) : colours.surface;
    const inset = side * 0.22;
    const arm = num(side - 2 * inset);
    const path = `M${num(x + inset)} ${num(y + inset)}l${arm} ${arm}m0-${arm}l-${arm} ${arm}`;
    const row = `${readableOn(under)} ${layer}`;
    const others = crosses.get(row);
    if (others) others.push(path);
    else crosses.set(row, [path]);
  }
  const out: string[] = [];
  const stroke = Math.max(1, Math.min(2.2, layout.pitch * 0.09));
  const style = { fill: "none", "stroke-width": stroke, "stroke-linecap": "round" };
  for (const [row, paths] of crosses) {
    const ink = row.split(" ")[0] ?? colours.ink;
    const d = paths.join("");
    // Over the patterns of roles a cross needs an edge of its own.
    if (view.roles)
      out.push(el("path", { d, ...style, stroke: readableOn(ink), "stroke-width": stroke + 2.5 }));
    out.push(el("path", { d, stroke: ink, ...style }));
  }
  const ring = selected
    .filter(within)
    .map(([, layer, head]) => {
      const [x, y, side] = cellBox(layout, layer, head);
      const edge = num(side + 1);
      return `M${num(x - 0.5)} ${num(y - 0.5)}h${edge}v${edge}h-${edge}z`;
    })
    .join("");
  // All halos lie under all rings, so that neighbours do not cut into each other.
  const round = { d: ring, fill: "none", "stroke-linejoin": "round" };
  if (ring)
    out.push(
      el("path", { ...round, stroke: colours.surface, "stroke-width": 4.5 }),
      el("path", { ...round, stroke: colours.selected, "stroke-width": 2.5 }),
    );
  return out.join("");
}

/** One sentence about what a panel shows. */
export function describePanel(view: PanelView, title: string): string {
  const { panel, score } = view;
  const size = `${counted(panel.layers, "layer")} by ${counted(panel.heads, "head")}`;
  const what = score ? `${score.name}, ${size}` : size;
  const roles = view.roles ? `${what}; ${describeRoles(view.roles)}` : what;
  return [title, panel.label, roles].filter(Boolean).join(": ");
}

/** The line under the title: which attention, which score, how many examples. */
export function subtitleOf(view: PanelView): string {
  const { panel, score } = view;
  return [panel.label, score?.name, score && score.n > 0 ? `n = ${score.n}` : ""]
    .filter(Boolean)
    .join(" \u00b7 ");
}

/** The static picture: every kind (or `options.kind`) one under the other, each with its first score (or `options.score`). */
export function draw(document: GridDocument, options: DrawOptions, buffer?: Buffer): Picture {
  const colours = palette(options.theme);
  const panels = options.kind
    ? document.panels.filter((panel) => panel.kind === options.kind)
    : document.panels;
  const out: string[] = [];
  const labels: string[] = [];
  let height = 0;
  let width = 0;
  for (const [position, panel] of panels.entries()) {
    const roles = viewRoles(document, panel.kind, colours);
    const view = { ...viewPanel(panel, options.score ?? null, buffer), roles };
    const words = { title: position === 0 ? document.title : "", subtitle: subtitleOf(view) };
    const picture = drawPanel(view, words, options.width, colours);
    const marks = drawMarks(view, picture, document.pruned, document.selected, colours);
    out.push(el("g", { transform: `translate(0 ${num(height)})` }, picture.base, marks));
    labels.push(describePanel(view, position === 0 ? document.title : ""));
    height += picture.height + (position < panels.length - 1 ? 18 : 4);
    width = Math.max(width, picture.width);
  }
  if (panels.length === 0) {
    out.push(text(2, 16, "no heads to show", { fill: colours.muted }));
    height = 24;
    width = Math.max(width, 140);
  }
  if (options.provenance) {
    const note = provenanceNote(document.provenance, 2, height, Math.max(60, options.width - 4), colours);
    out.push(note.svg);
    height += note.height;
  }
  return frame({ width, height, label: labels.join(". ") || document.title, body: out.join("") }, options);
}
