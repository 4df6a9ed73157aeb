/** Which component draws which document; what needs a browser is in `registry.ts`, so that no figure carries it. */

import type { DrawOptions, Picture } from "../marks/picture.js";
import type { Buffer } from "../wire/decode.js";
import type { Document, HeadsFile } from "../wire/types.js";
import { draw as drawAttention } from "./attention/draw.js";
import { draw as drawAttribution } from "./attribution/draw.js";
import { draw as drawCurves } from "./curves/draw.js";
import { draw as drawDashboard } from "./dashboard/draw.js";
import { draw as drawGrid } from "./grid/draw.js";
import { draw as drawHeadMap } from "./headmap/draw.js";
import { asDocument, missing } from "./mounting.js";
import { draw as drawPatterns } from "./patterns/draw.js";
import { draw as drawProbe } from "./probe/draw.js";
import { draw as drawPruning } from "./pruning/draw.js";
import { draw as drawScatter } from "./scatter/draw.js";
import { draw as drawTree } from "./tree/draw.js";
import { draw as drawTriggers } from "./triggers/draw.js";

type Named<N extends Document["document"]> = Extract<Document, { document: N }>;
type Draw<D> = (document: D, options: DrawOptions, buffer?: Buffer) => Picture;

export const draws: { readonly [N in Document["document"]]?: Draw<Named<N>> } = {
  grid: drawGrid,
  attention: drawAttention,
  attribution: drawAttribution,
  pruning: drawPruning,
  tree: drawTree,
  scatter: drawScatter,
  curves: drawCurves,
  triggers: drawTriggers,
  probe: drawProbe,
  headmap: drawHeadMap,
  patterns: drawPatterns,
  dashboard: drawDashboard,
};

/** The static picture of any document. */
export function drawDocument(any: Document | HeadsFile, options: DrawOptions, buffer?: Buffer): Picture {
  const document = asDocument(any);
  const draw = draws[document.document] as Draw<Document> | undefined;
  if (!draw) throw missing(document);
  return draw(document, options, buffer);
}
