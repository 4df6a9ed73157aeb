/** Where heads look in one text, as a picture: lines or matrices of the selected heads, or the overview of all. */

import { type DrawOptions, frame, type Picture, provenanceNote } from "../../marks/picture.js";
import { text } from "../../marks/svg.js";
import { fitText, measure } from "../../marks/text.js";
import { type Palette, palette } from "../../theme/palette.js";
import { type Buffer, decodeArray } from "../../wire/decode.js";
import type { AttentionDocument, AttentionPanel } from "../../wire/types.js";
import { decodeMap, type MapValues, pooled, poolingOf } from "../maps/head-map.js";
import { headColor, headLegend, notesMark } from "../maps/labels.js";
import { layoutOverview } from "../maps/overview.js";
import { linesBody, type MapsInput, matrixBody, overviewBody } from "../maps/pictures.js";
import { isRightToLeft, sameHead } from "../maps/positions.js";
import { labelOf, titleOf, type View, viewInput } from "../maps/views.js";
import { headsOf, panelOf, type Shown, shownOf } from "./model.js";

/** Longest side of a text whose lines make a readable picture; longer ones are drawn as a matrix. */
export const MOST_LINES = 160;

const EDGE = 8;

/** What the thumbnails are of, whatever the view. */
export const THUMBNAILS_NOTE =
  "Small pictures: every head's attention, each scaled to its own largest weight.";

/** The drawing input of what is shown. */
export function inputOf(shown: Shown, view: View, palette: Palette, width: number): MapsInput {
  const { names, query, key } = shown;
  return viewInput(shown.maps, view, "", { names, query, key, palette, width });
}

/** The picture of an attention document. */
export function draw(document: AttentionDocument, options: DrawOptions, buffer?: Buffer): Picture {
  const colors = palette(options.theme);
  const width = Math.max(240, options.width) - 2 * EDGE;
  const view = document.view ?? "attention";
  const title = titleOf(document, view);
  const panel = panelOf(document, null);
  const heads = headsOf(document, panel.kind);
  const maps: MapValues[] = [];
  for (const head of heads) {
    const map = document.maps.find((one) => one.view === view && sameHead(one.head, head));
    if (map !== undefined) maps.push(decodeMap(map, buffer));
  }
  const longest = maps.reduce((most, map) => Math.max(most, map.rows, map.columns), 0);
  const lines = document.mode === "lines" && longest <= MOST_LINES;
  const factor = lines ? 1 : poolingOf(maps);
  const shown = shownOf(
    document,
    panel,
    maps.map((map) => pooled(map, factor)),
  );
  const parts: string[] = [];
  const notes: string[] = [];
  const kinds = document.panels.length > 1 ? `${panel.label} · ` : "";
  parts.push(text(0, 15, fitText(title, 15, width, true), { size: 15, fill: colors.ink, bold: true }));
  // A mark of direction behind a right-to-left sentence keeps its full stop at the sentence's own end.
  const end = isRightToLeft(panel.key) ? "\u200f" : "";
  const sentence = fitText(`${kinds}${document.text}`, 12, width);
  parts.push(text(0, 34, `${sentence}${end}`, { size: 12, fill: colors.muted }));
  let y = 46;
  let right = Math.min(
    width,
    Math.max(measure(title, 15, true), measure(`${kinds}${document.text}`, 12), 360),
  );
  if (shown.maps.length === 0) {
    const all = overview(panel, colors, width, document, buffer);
    parts.push(`<g transform="translate(0 ${y})">${all.svg}</g>`);
    y += all.height;
    right = Math.max(right, all.width);
    notes.push(THUMBNAILS_NOTE);
  } else {
    if (lines) {
      const names = headLegend(shown.names, 0, y, width, colors, measure);
      parts.push(names.svg);
      y += names.height + 8;
    }
    const input = inputOf(shown, view, colors, width);
    const single = shown.names[0];
    if (!lines && shown.names.length === 1 && single !== undefined) {
      parts.push(text(0, y + 12, single, { fill: colors.ink, bold: true }));
      y += 22;
    }
    const body = lines ? linesBody(input) : matrixBody(input);
    parts.push(`<g transform="translate(0 ${y})">${body.svg}</g>`);
    y += body.height;
    right = Math.max(right, body.width);
    notes.push(...body.notes, ...shown.notes);
    if (document.mode === "lines" && !lines) {
      notes.push(
        `A text of ${panel.query.length} positions is drawn as a matrix; lines are readable up to ${MOST_LINES}.`,
      );
    }
    const missing = heads.length - shown.maps.length;
    if (missing > 0)
      notes.push(`${missing} selected ${missing === 1 ? "head was" : "heads were"} not loaded.`);
  }
  const foot = notesMark(notes, 0, y, width, colors);
  parts.push(foot.svg);
  y += foot.height;
  if (options.provenance === true) {
    const note = provenanceNote(document.provenance, 0, y, width, colors);
    parts.push(note.svg);
    y += note.height;
  }
  const what = shown.names.length > 0 ? `of ${shown.names.join(", ")}` : "of all heads";
  return frame(
    {
      width: right + 2 * EDGE,
      height: y + 2 * EDGE,
      label: `${title}: ${labelOf(view).toLowerCase()} ${what}`,
      body: `<g transform="translate(${EDGE} ${EDGE})">${parts.join("")}</g>`,
    },
    options,
  );
}

function overview(
  panel: AttentionPanel,
  colors: Palette,
  width: number,
  document: AttentionDocument,
  buffer: Buffer,
): { readonly svg: string; readonly width: number; readonly height: number } {
  const thumbs = decodeArray(panel.thumbnails, buffer);
  const t = panel.thumbnails.shape[3] ?? 1;
  const layout = layoutOverview(panel.layers, panel.heads, t, width, true);
  const marked = headsOf(document, panel.kind).map((head, at) => ({
    layer: head[1],
    index: head[2],
    color: headColor(at, colors.name),
  }));
  return { ...layout, svg: overviewBody(layout, thumbs, t, marked, colors) };
}
