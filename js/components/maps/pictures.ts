// The three pictures of maps (lines, matrices, thumbnails) as markup, for attention and attribution alike.

import { formatNumber } from "../../marks/format.js";
import { LEGEND_HEIGHT, legend } from "../../marks/legend.js";
import { type IndexedImage, imageMark } from "../../marks/png.js";
import { type Ramp, ramp } from "../../marks/ramp.js";
import { el, line, num, rect, text } from "../../marks/svg.js";
import { fitText, measure } from "../../marks/text.js";
import type { Palette } from "../../theme/palette.js";
import { largest, type MapValues } from "./head-map.js";
import { headColor, thousands, tokenLabel } from "./labels.js";
import {
  drawLinks,
  type Focus,
  KEY_TITLE,
  LEGEND,
  type LinkSeries,
  type LinksLayout,
  labelRoom,
  layoutLinks,
  opacityOf,
  QUERY_TITLE,
  rowY,
  widthOf,
} from "./links.js";
import {
  cellLevels,
  drawCells,
  isVector,
  labelledPositions,
  layoutMatrix,
  type MatrixLayout,
} from "./matrix.js";
import type { OverviewLayout } from "./overview.js";
import { mosaic, numbersEvery, shrunk, thumbnailSide } from "./overview.js";
import type { Position } from "./positions.js";

/** What maps are drawn of. */
export interface MapsInput {
  readonly maps: readonly MapValues[];
  readonly names: readonly string[];
  readonly query: readonly Position[];
  readonly key: readonly Position[];
  /** Signed values: a diverging ramp, and two kinds of lines. */
  readonly signed: boolean;
  /** What a value is, and its unit. */
  readonly quantity: string;
  readonly unit: string;
  readonly palette: Palette;
  readonly width: number;
  /** The host paints large matrices itself (on a canvas): leave their place empty. */
  readonly bare?: boolean;
}

/** A drawn body with what its host must know. */
export interface Body<L> {
  readonly svg: string;
  readonly width: number;
  readonly height: number;
  readonly layout: L;
  readonly notes: readonly string[];
}

/** Most links in one picture; the strongest are drawn. */
export const LINK_BUDGET = 1200;

export const OPPOSING: Readonly<Record<"light" | "dark", string>> = { light: "#b4560f", dark: "#f0994a" };

/** The lines' series: one colour per head, or blue and orange by sign. */
export function seriesOf(input: MapsInput): LinkSeries[] {
  const theme = input.palette.name;
  return input.maps.map((map, at) => ({
    map,
    name: input.names[at] ?? "",
    color: headColor(at, theme),
    opposing: OPPOSING[theme],
  }));
}

/** Token-to-token lines. */
export function linesBody(input: MapsInput): Body<LinksLayout> {
  const { palette, query, key } = input;
  const layout = layoutLinks(query, key, input.width, measure);
  const scale = largest(input.maps);
  const links = drawLinks(layout, seriesOf(input), scale || 1, null, LINK_BUDGET);
  const parts: string[] = [
    text(layout.left - 10, LEGEND + 13, QUERY_TITLE, { size: 11, fill: palette.muted, anchor: "end" }),
    text(layout.right + 10, LEGEND + 13, KEY_TITLE, { size: 11, fill: palette.muted }),
    `<g data-part="links">${links.markup}</g>`,
    columnOf(query, "query", layout, palette),
    columnOf(key, "key", layout, palette),
  ];
  if (scale > 0) parts.push(lineLegend(0, 0, scale, input));
  const notes: string[] = [];
  if (links.drawn < links.total) {
    notes.push(`The ${thousands(links.drawn)} strongest of ${thousands(links.total)} links are drawn.`);
  }
  return { svg: parts.join(""), width: layout.width, height: layout.height, layout, notes };
}

function columnOf(
  positions: readonly Position[],
  side: "query" | "key",
  layout: LinksLayout,
  palette: Palette,
): string {
  const room = labelRoom(layout, side);
  const start = side === "key";
  const labels = positions.map((position, at) =>
    tokenLabel(position, start ? layout.right + 10 : layout.left - 10, rowY(layout, at), {
      anchor: start ? "start" : "end",
      size: layout.fontSize,
      room,
      palette,
    }),
  );
  const x = start ? layout.right + 4 : layout.left - 4;
  const bonds = positions
    .map((position, at) =>
      position.joined && at > 0 ? `M${num(x)} ${num(rowY(layout, at - 1))}V${num(rowY(layout, at))}` : "",
    )
    .join("");
  if (bonds !== "")
    labels.push(el("path", { d: bonds, stroke: palette.line, "stroke-width": 1.5, fill: "none" }));
  return el("g", { "data-part": side }, ...labels);
}

function lineLegend(x: number, y: number, scale: number, input: MapsInput): string {
  const { palette } = input;
  const title = input.unit === "" ? input.quantity : `${input.quantity} (${input.unit})`;
  const parts = [text(x, y + 11, title, { size: 12, fill: palette.ink })];
  let at = x;
  const sample = (value: number, color: string, dash: string | undefined): void => {
    const share = Math.abs(value) / scale;
    parts.push(
      line(at, y + 25, at + 26, y + 25, {
        stroke: color,
        "stroke-opacity": opacityOf(share),
        "stroke-width": widthOf(share),
        "stroke-dasharray": dash,
      }),
      text(at + 31, y + 29, formatNumber(value, 2), { size: 11, fill: palette.muted }),
    );
    at += 31 + measure(formatNumber(value, 2), 11) + 16;
  };
  const neutral = input.maps.length > 1 ? palette.muted : headColor(0, palette.name);
  for (const share of [0.2, 0.5, 1]) sample(scale * share, neutral, undefined);
  if (input.signed) for (const share of [0.2, 0.5, 1]) sample(-scale * share, OPPOSING[palette.name], "5 3");
  return parts.join("");
}

/** The ramp that several maps share. */
export function rampOf(input: MapsInput): Ramp {
  const most = largest(input.maps) || 1;
  return ramp(input.signed ? -most : 0, most, input.signed, input.palette);
}

/** Matrices: query rows by key columns, small multiples on one scale. */
export function matrixBody(input: MapsInput, zoom = 1): Body<MatrixLayout> {
  const { palette, maps, query, key } = input;
  const layout = layoutMatrix(query, key, maps.length, input.width, zoom, measure);
  const colors = rampOf(input);
  const parts: string[] = [];
  let missing = false;
  maps.forEach((map, panel) => {
    const corner = layout.panels[panel];
    if (corner === undefined) return;
    const wide = key.length * layout.cell;
    const high = query.length * layout.cell;
    if (maps.length > 1) {
      const name = fitText(input.names[panel] ?? "", 12, wide + layout.rowLabels - 20);
      parts.push(text(corner.x, corner.y - layout.columnLabels - 6, name, { fill: palette.ink, bold: true }));
    }
    const level = (value: number): number => {
      if (!Number.isFinite(value)) missing = true;
      return Number.isFinite(value) ? colors.index(value) : -1;
    };
    if (isVector(layout)) parts.push(drawCells(layout, panel, map, level, colors.colours, palette.faint));
    else if (input.bare !== true)
      parts.push(imageMark(imageOf(layout, map, colors, palette), corner.x, corner.y, wide, high, 1));
    parts.push(
      rect(corner.x - 0.5, corner.y - 0.5, wide + 0.5, high + 0.5, {
        fill: "none",
        stroke: palette.line,
        "stroke-width": 0.75,
      }),
      matrixLabels(layout, panel, palette),
    );
  });
  const last = layout.height + 6;
  parts.push(
    legend(layout.rowLabels, last, colors, {
      title: input.quantity,
      unit: input.unit,
      palette,
      width: Math.max(120, input.width - layout.rowLabels),
      missing,
    }),
  );
  return {
    svg: parts.join(""),
    width: layout.width,
    height: last + LEGEND_HEIGHT,
    layout,
    notes: layout.every > 1 ? [`Every ${ordinal(layout.every)} position is labelled.`] : [],
  };
}

/** A large matrix as an image. */
export function imageOf(layout: MatrixLayout, map: MapValues, colors: Ramp, palette: Palette): IndexedImage {
  // 64 steps look the same and pack to half the size; 0 stands for "not measured".
  const level = (value: number): number => (Number.isFinite(value) ? colors.index(value) >> 2 : -1);
  const steps = Array.from({ length: 64 }, (_, at) => colors.colours[at * 4 + 2] ?? palette.faint);
  return {
    width: layout.key.length,
    height: layout.query.length,
    colours: [palette.faint, ...steps],
    pixels: cellLevels(layout, map, level),
  };
}

function matrixLabels(layout: MatrixLayout, panel: number, palette: Palette): string {
  const corner = layout.panels[panel];
  if (corner === undefined) return "";
  const half = layout.cell / 2;
  const parts: string[] = [];
  for (const at of labelledPositions(layout.key.length, layout.every)) {
    const position = layout.key[at];
    if (position === undefined) continue;
    const style = {
      anchor: "start",
      size: 11,
      room: layout.columnLabels - 22,
      palette,
      rotate: -90,
    } as const;
    parts.push(tokenLabel(position, corner.x + at * layout.cell + half, corner.y - 5, style));
  }
  parts.push(
    text(corner.x, corner.y - layout.columnLabels + 9, KEY_TITLE, { size: 11, fill: palette.muted }),
  );
  if (layout.labelled[panel] !== true) return parts.join("");
  for (const at of labelledPositions(layout.query.length, layout.every)) {
    const position = layout.query[at];
    if (position === undefined) continue;
    const style = { anchor: "end", size: 11, room: layout.rowLabels - 22, palette } as const;
    parts.push(tokenLabel(position, corner.x - 6, corner.y + at * layout.cell + half, style));
  }
  parts.push(text(10, corner.y, QUERY_TITLE, { size: 11, fill: palette.muted, rotate: -90, anchor: "end" }));
  return parts.join("");
}

/** Which heads are marked in an overview, with the colour of their mark. */
export interface Marked {
  readonly layer: number;
  readonly index: number;
  readonly color: string;
}

/** Thumbnails of all heads with the numbers of layers and heads; `marked` ones are framed. */
export function overviewBody(
  layout: OverviewLayout,
  thumbnails: ArrayLike<number>,
  t: number,
  marked: readonly Marked[],
  palette: Palette,
): string {
  const levels = 32;
  const side = thumbnailSide(layout.layers, layout.heads, t);
  const small = shrunk(thumbnails, layout.layers * layout.heads, t, side);
  const scale = ramp(0, 1, false, palette);
  const colours = [palette.surface];
  for (let at = 0; at < levels; at += 1) colours.push(scale.colour(at / (levels - 1)));
  const picture = mosaic(small, layout.layers, layout.heads, side, levels);
  const parts = [
    imageMark(
      { ...picture, colours },
      layout.x,
      layout.y,
      layout.heads * layout.pitch,
      layout.layers * layout.pitch,
      1,
    ),
    ...gridNumbers(layout, palette),
  ];
  parts.push(el("g", { "data-part": "marks" }, overviewMarks(layout, marked, palette)));
  return parts.join("");
}

/** The frames around chosen heads. */
export function overviewMarks(layout: OverviewLayout, marked: readonly Marked[], palette: Palette): string {
  const frames = (stroke: string | null, width: number): string =>
    marked
      .map((head) =>
        rect(
          layout.x + head.index * layout.pitch - 1.5,
          layout.y + head.layer * layout.pitch - 1.5,
          layout.side + 3,
          layout.side + 3,
          {
            fill: "none",
            stroke: stroke ?? head.color,
            "stroke-width": width,
          },
        ),
      )
      .join("");
  return frames(palette.surface, 5) + frames(null, 2.5);
}

/** Layer numbers at the left, head numbers at the top, and what they are. */
export function gridNumbers(layout: OverviewLayout, palette: Palette): string[] {
  const every = numbersEvery(layout.pitch);
  const parts = [
    text(layout.x, 11, "head", { size: 11, fill: palette.ink }),
    text(11, layout.y, "layer", { size: 11, fill: palette.ink, rotate: -90, anchor: "end" }),
  ];
  for (let head = 0; head < layout.heads; head += every) {
    const x = layout.x + head * layout.pitch + layout.side / 2;
    parts.push(text(x, layout.y - 6, String(head), { size: 10, fill: palette.muted, anchor: "middle" }));
  }
  for (let layer = 0; layer < layout.layers; layer += every) {
    const y = layout.y + layer * layout.pitch + layout.side / 2 + 3.5;
    parts.push(text(layout.x - 6, y, String(layer), { size: 10, fill: palette.muted, anchor: "end" }));
  }
  return parts;
}

/** The lines of one token over the faded others, and the tokens at their other ends. */
export function linksOverlay(layout: LinksLayout, input: MapsInput, focus: Focus): string {
  const scale = largest(input.maps) || 1;
  const series = seriesOf(input);
  const { palette } = input;
  const y = rowY(layout, focus.at) - layout.rowHeight / 2;
  const own =
    focus.side === "query" ? [0, layout.left - 6] : [layout.right + 6, layout.width - layout.right - 6];
  const links = drawLinks(layout, series, scale, focus, Number.POSITIVE_INFINITY);
  return (
    rect(own[0] ?? 0, y + 1, own[1] ?? 0, layout.rowHeight - 2, {
      fill: palette.selected,
      "fill-opacity": 0.14,
      rx: 3,
    }) + links.markup
  );
}

function ordinal(value: number): string {
  const tail = value % 100 >= 11 && value % 100 <= 13 ? "th" : (["th", "st", "nd", "rd"][value % 10] ?? "th");
  return `${value}${tail}`;
}
