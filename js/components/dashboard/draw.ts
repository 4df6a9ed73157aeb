/** Several documents one under the other, in one picture. */

import { type DrawOptions, frame, type Picture } from "../../marks/picture.js";
import { text } from "../../marks/svg.js";
import { fitText, measure } from "../../marks/text.js";
import { palette } from "../../theme/palette.js";
import type { Buffer } from "../../wire/decode.js";
import type { DashboardDocument } from "../../wire/types.js";
import { draw as drawAttention } from "../attention/draw.js";
import { draw as drawAttribution } from "../attribution/draw.js";
import { draw as drawGrid } from "../grid/draw.js";
import { draw as drawPruning } from "../pruning/draw.js";
import { placed } from "../pruning/placed.js";

const GAP = 20;

/** The picture of a dashboard. */
export function draw(document: DashboardDocument, options: DrawOptions, buffer?: Buffer): Picture {
  const colors = palette(options.theme);
  const inner: DrawOptions = { ...options, background: false };
  const parts: string[] = [];
  let y = 0;
  let width = 0;
  if (document.title !== "") {
    parts.push(
      text(8, 22, fitText(document.title, 17, options.width - 16, true), {
        size: 17,
        fill: colors.ink,
        bold: true,
      }),
    );
    width = Math.min(options.width, measure(document.title, 17, true) + 16);
    y = 38;
  }
  for (const part of document.parts) {
    const picture = drawPart(part, inner, buffer);
    parts.push(placed(picture, 0, y));
    y += picture.height + GAP;
    width = Math.max(width, picture.width);
  }
  const height = Math.max(1, document.parts.length > 0 ? y - GAP : y);
  return frame({ width: Math.max(1, width), height, label: document.title, body: parts.join("") }, options);
}

function drawPart(part: DashboardDocument["parts"][number], options: DrawOptions, buffer?: Buffer): Picture {
  switch (part.document) {
    case "grid":
      return drawGrid(part, options, buffer);
    case "attention":
      return drawAttention(part, options, buffer);
    case "attribution":
      return drawAttribution(part, options, buffer);
    case "pruning":
      return drawPruning(part, options, buffer);
  }
}
