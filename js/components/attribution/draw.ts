/** Which links between tokens carry a prediction, as a picture: shaded tokens, maps, totals of heads and layers. */

import { LEGEND_HEIGHT, legend } from "../../marks/legend.js";
import { type DrawOptions, frame, type MapView, type Picture, provenanceNote } from "../../marks/picture.js";
import { text } from "../../marks/svg.js";
import { fitText, measure, wrap } from "../../marks/text.js";
import { type Palette, palette } from "../../theme/palette.js";
import type { Buffer } from "../../wire/decode.js";
import type { AttributionDocument, AttributionPanel, HeadMap, HeadRef } from "../../wire/types.js";
import { decodeMap, type MapValues, pooled, poolingOf } from "../maps/head-map.js";
import { notesMark } from "../maps/labels.js";
import { type MapsInput, matrixBody } from "../maps/pictures.js";
import { countSpecial, isRightToLeft, positionsOf, sameHead } from "../maps/positions.js";
import { labelOf, viewInput, viewNotes, viewsIn } from "../maps/views.js";
import { drawChosen, drawLayers, layersRamp, layoutLayers } from "./layers.js";
import {
  headOf,
  headSentence,
  integrationSentence,
  type Numbers,
  nameOf,
  numbersOf,
  outputSentence,
  panelOf,
  type TokenValues,
  tokenValues,
} from "./model.js";
import { drawStrip, layoutStrip } from "./strip.js";

const EDGE = 8;
/** A picture is at least this wide, if it may be. */
const LEAST = 420;

/** The input of a matrix or of lines for one map. */
export function mapInput(
  document: AttributionDocument,
  panel: AttributionPanel,
  map: MapValues,
  hideSpecial: boolean,
  colors: Palette,
  width: number,
): MapsInput {
  return viewInput([map], map.view, document.unit, {
    names: [nameOf(document, map.head)],
    query: positionsOf(panel.query, map.queryStep, hideSpecial),
    key: positionsOf(panel.key, map.keyStep, hideSpecial),
    palette: colors,
    width,
  });
}

/** Heading of a strip of tokens. */
export function stripTitle(document: AttributionDocument, head: HeadRef, side: TokenValues["side"]): string {
  const verb = side === "received" ? "received by each token (key)" : "given by each token (query)";
  return `Attribution ${verb} · ${nameOf(document, head)}`;
}

/** Which sides of a panel are shown as strips. */
export function sidesOf(panel: AttributionPanel, side: TokenValues["side"]): TokenValues["side"][] {
  return panel.kind === "cross" ? ["received", "given"] : [side];
}

/** What the reader must know about what is left out. */
export function remarks(panel: AttributionPanel, hideSpecial: boolean): string[] {
  const hidden = countSpecial(panel.key);
  const notes: string[] = [];
  if (hideSpecial && hidden > 0) {
    notes.push(
      `${hidden} special ${hidden === 1 ? "token is" : "tokens are"} hidden; the others are as they were, so they need not add up.`,
    );
  }
  if ([...panel.query, ...panel.key].some((token) => token.continued)) {
    notes.push("A hook before a token: it shares its character with the token before it.");
  }
  return notes;
}

/** The picture of an attribution document. */
export function draw(document: AttributionDocument, options: DrawOptions, buffer?: Buffer): Picture {
  const colors = palette(options.theme);
  const width = Math.max(240, options.width) - 2 * EDGE;
  const panel = panelOf(document, null);
  const parts: string[] = [
    text(0, 15, fitText(document.title, 15, width, true), { size: 15, fill: colors.ink, bold: true }),
  ];
  let y = 24;
  let right = measure(document.title, 15, true);
  const say = (sentence: string): void => {
    // Wrapped to what is drawn above, so that a picture is no wider than its maps and no sentence is cut.
    const note = notesMark([sentence], 0, y, Math.min(width, Math.max(right, LEAST)), colors);
    parts.push(note.svg);
    y += note.height;
  };
  if (panel === null) {
    say("No result yet: the attribution is still being computed.");
  } else {
    const numbers = numbersOf(panel, buffer);
    const head = headOf(document, panel, numbers);
    const found = (view: HeadMap["view"]): MapValues | null => {
      const map = document.maps.find((one) => one.view === view && sameHead(one.head, head));
      return map === undefined ? null : decodeMap(map, buffer);
    };
    const view = options.view ?? viewOf(document, head);
    const body = panelBody(
      document,
      panel,
      numbers,
      head,
      found,
      view,
      options.hide_special === true,
      colors,
      width,
    );
    parts.push(`<g transform="translate(0 ${y})">${body.svg}</g>`);
    y += body.height;
    right = Math.max(right, body.width);
    say(headSentence(document, panel, numbers, head));
    say(integrationSentence(document, panel, numbers, head[1]));
    const norms = view === "norm" ? found("norm") : null;
    if (norms !== null) say(viewNotes([norms]).join(" "));
    for (const sentence of remarks(panel, options.hide_special === true)) say(sentence);
  }
  if (options.provenance === true) {
    const room = Math.min(width, Math.max(right, LEAST));
    const note = provenanceNote(document.provenance, 0, y, room, colors);
    parts.push(note.svg);
    y += note.height;
  }
  const label = panel === null ? document.title : `${document.title}: ${outputSentence(document)}`;
  return frame(
    {
      width: Math.min(width, Math.max(right, LEAST)) + 2 * EDGE,
      height: y + 2 * EDGE,
      label,
      body: `<g transform="translate(${EDGE} ${EDGE})">${parts.join("")}</g>`,
    },
    options,
  );
}

/** The document's own view; where it names none, both maps when both were sent, else attribution. */
export function viewOf(document: AttributionDocument, head: HeadRef): MapView {
  if (document.view !== undefined) return document.view;
  const has = (view: HeadMap["view"]): boolean =>
    document.maps.some((map) => map.view === view && sameHead(map.head, head));
  if (has("attribution") && has("attention")) return "both";
  return has("attention") ? "attention" : "attribution";
}

interface Block {
  readonly svg: string;
  readonly width: number;
  readonly height: number;
}

function panelBody(
  document: AttributionDocument,
  panel: AttributionPanel,
  numbers: Numbers,
  head: HeadRef,
  found: (view: HeadMap["view"]) => MapValues | null,
  view: MapView,
  hideSpecial: boolean,
  colors: Palette,
  width: number,
): Block {
  const parts: string[] = [];
  let y = 0;
  let right = 0;
  const kinds = document.panels.length > 1 ? `${panel.label} · ` : "";
  const subtitle = `${kinds}${outputSentence(document)}`;
  const heading = (words: string, bold: boolean): void => {
    for (const line of wrap(words, 12, width, 4, bold)) {
      parts.push(text(0, y + 13, line, { fill: colors.ink, bold }));
      right = Math.max(right, measure(line, 12, bold));
      y += 16;
    }
  };
  heading(subtitle, false);
  y += 10;
  const map = found("attribution");
  const mirrored = (side: TokenValues["side"]): boolean =>
    isRightToLeft(side === "received" ? panel.key : panel.query);
  for (const side of sidesOf(panel, "received")) {
    const tokens = tokenValues(panel, numbers, head, map, side, hideSpecial);
    parts.push(
      text(0, y + 12, fitText(stripTitle(document, head, side), 12, width), { fill: colors.ink, bold: true }),
    );
    y += 22;
    if (tokens === null) {
      parts.push(text(0, y + 12, "The map of this head was not loaded.", { fill: colors.muted }));
      y += 24;
      continue;
    }
    const strip = layoutStrip(tokens, width, mirrored(side), colors);
    parts.push(`<g transform="translate(0 ${y})">${drawStrip(strip, tokens, colors)}</g>`);
    right = Math.max(
      right,
      mirrored(side) ? width : Math.max(...strip.boxes.map((box) => box.x + box.width), 0),
    );
    y += strip.height + 10;
    parts.push(
      legend(0, y, strip.scale, {
        title: "attribution of a token: solid supports, dashed opposes",
        unit: document.unit,
        palette: colors,
        width: Math.min(width, 420),
      }),
    );
    y += LEGEND_HEIGHT + 10;
  }
  const maps = viewsIn(view)
    .map(found)
    .filter((one): one is MapValues => one !== null);
  const across = maps.length > 1 && width >= 600 ? maps.length : 1;
  const each = Math.floor((width - 20 * (across - 1)) / across);
  const factor = poolingOf(maps);
  let tallest = 0;
  maps.forEach((one, at) => {
    const input = mapInput(document, panel, pooled(one, factor), hideSpecial, colors, each);
    const body = matrixBody(input);
    const x = across === 1 ? 0 : at * (each + 20);
    parts.push(
      text(x, y + 12, `${labelOf(one.view)} · ${nameOf(document, head)}`, { fill: colors.ink, bold: true }),
      `<g transform="translate(${x} ${y + 20})">${body.svg}</g>`,
    );
    right = Math.max(right, x + body.width);
    if (across === 1) y += body.height + 28;
    else tallest = Math.max(tallest, body.height + 28);
  });
  y += tallest;
  const layout = layoutLayers(panel, numbers, width, true);
  heading("Attribution of every head, and the change of the output by every layer", true);
  y += 6;
  parts.push(
    `<g transform="translate(0 ${y})">${drawLayers(layout, numbers, document.unit, colors)}${drawChosen(layout, head[1], head[2], colors)}</g>`,
  );
  right = Math.max(right, layout.width);
  y += layout.height + 4;
  parts.push(
    legend(0, y, layersRamp(numbers, colors), {
      title: "attribution of a head",
      unit: document.unit,
      palette: colors,
      width: Math.min(width, 320),
    }),
  );
  y += LEGEND_HEIGHT + 6;
  return { svg: parts.join(""), width: right, height: y };
}
