/** What is left when heads are pruned, as one composed picture: the reading, the curve, the grid with its crosses. */

import { type DrawOptions, frame, type Picture, provenanceNote } from "../../marks/picture.js";
import { text } from "../../marks/svg.js";
import { fitText, measure } from "../../marks/text.js";
import { palette } from "../../theme/palette.js";
import type { Buffer } from "../../wire/decode.js";
import type { PruningDocument } from "../../wire/types.js";
import { curveBody, metricRange } from "../curve/draw.js";
import { draw as drawGrid } from "../grid/draw.js";
import { notesMark } from "../maps/labels.js";
import { drawInterval, INTERVAL_HEIGHT } from "./interval.js";
import { clampCount, countText, estimateAt, prunedAt, readingOf } from "./model.js";
import { placed } from "./placed.js";

const EDGE = 8;

/** The picture of a pruning document. */
export function draw(document: PruningDocument, options: DrawOptions, buffer?: Buffer): Picture {
  const colors = palette(options.theme);
  const width = Math.max(280, options.width) - 2 * EDGE;
  const count = clampCount(document, document.count);
  const reading = readingOf(document, count, estimateAt(document, count), false);
  const parts: string[] = [
    text(0, 15, fitText(document.title, 15, width, true), { size: 15, fill: colors.ink, bold: true }),
    text(0, 35, fitText(`Ranked by ${document.method}, ablation: ${document.ablation}`, 12, width), {
      fill: colors.muted,
    }),
  ];
  let y = 42;
  const lead = `${countText(document, count)}: ${reading.value}`;
  parts.push(text(0, y + 16, fitText(lead, 14, width, true), { size: 14, fill: colors.ink, bold: true }));
  y += 22;
  const details = [reading.change, reading.interval, reading.progress].filter((one) => one !== "");
  const sentences = notesMark(details.length > 0 ? [details.join(" · ")] : [], 0, y, width, colors);
  parts.push(sentences.svg);
  y += sentences.height + 6;
  const bar = Math.min(width, 460);
  const range = metricRange(document);
  parts.push(
    `<g transform="translate(0 ${y})">${drawInterval(document, estimateAt(document, count), range, bar, colors)}</g>`,
  );
  y += INTERVAL_HEIGHT + 10;
  const hasGrid = document.grid.panels.length > 0;
  const across = hasGrid && width >= 600;
  const half = across ? Math.floor(width * 0.54) : width;
  const curveHeight = Math.round(Math.max(250, Math.min(340, half * 0.75)));
  const curve = curveBody({ ...document, count }, half, curveHeight, colors);
  parts.push(`<g transform="translate(0 ${y})">${curve.svg}</g>`);
  let bottom = y + curveHeight;
  let right = Math.max(half, bar, measure(lead, 14, true));
  if (hasGrid) {
    const gridDocument = { ...document.grid, pruned: prunedAt(document, count) };
    const room = across ? width - half - 16 : width;
    const grid = drawGrid(gridDocument, { theme: options.theme, width: room, background: false }, buffer);
    const x = across ? half + 16 : 0;
    const top = across ? y : bottom + 12;
    parts.push(placed(grid, x, top));
    bottom = Math.max(bottom, top + grid.height);
    right = Math.max(right, x + grid.width);
  }
  y = bottom + 4;
  if (document.status !== "") {
    const status = notesMark([`When this was saved: ${document.status}`], 0, y, width, colors);
    parts.push(status.svg);
    y += status.height;
  }
  if (options.provenance === true) {
    const note = provenanceNote(document.provenance, 0, y, width, colors);
    parts.push(note.svg);
    y += note.height;
  }
  return frame(
    {
      width: Math.min(width, right) + 2 * EDGE,
      height: y + 2 * EDGE,
      label: `${document.title}: ${lead}`,
      body: `<g transform="translate(${EDGE} ${EDGE})">${parts.join("")}</g>`,
    },
    options,
  );
}
