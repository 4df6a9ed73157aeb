/**
 * Which component shows which document. `draws` and `mounts` are separate constants, so that the figure bundle
 * does not carry what needs a browser.
 */

import type { DrawOptions, Picture } from "../marks/picture.js";
import type { Buffer } from "../wire/decode.js";
import type { Document, ScoresFile } from "../wire/types.js";
import { draw as drawAttention } from "./attention/draw.js";
import { mountStatic as mountAttention } from "./attention/static.js";
import { draw as drawAttribution } from "./attribution/draw.js";
import { mountStatic as mountAttribution } from "./attribution/static.js";
import type { Component, StaticProps } from "./component.js";
import { draw as drawDashboard } from "./dashboard/draw.js";
import { mountStatic as mountDashboard } from "./dashboard/mount.js";
import { draw as drawGrid } from "./grid/draw.js";
import { gridFromScores } from "./grid/from-scores.js";
import { mountStatic as mountGrid } from "./grid/static.js";
import { draw as drawPruning } from "./pruning/draw.js";
import { mountStatic as mountPruning } from "./pruning/static.js";

type Named<N extends Document["document"]> = Extract<Document, { document: N }>;
type Draw<D> = (document: D, options: DrawOptions, buffer?: Buffer) => Picture;
type Mount<D> = (el: HTMLElement, props: StaticProps<D>) => Component<StaticProps<D>>;

export const draws: { readonly [N in Document["document"]]?: Draw<Named<N>> } = {
  grid: drawGrid,
  attention: drawAttention,
  attribution: drawAttribution,
  pruning: drawPruning,
  dashboard: drawDashboard,
};

export const mounts: { readonly [N in Document["document"]]?: Mount<Named<N>> } = {
  grid: mountGrid,
  attention: mountAttention,
  attribution: mountAttribution,
  pruning: mountPruning,
  dashboard: mountDashboard,
};

/** A scores file is shown as a grid; every other document as itself. */
export function asDocument(document: Document | ScoresFile): Document {
  return document.document === "scores" ? gridFromScores(document) : document;
}

function missing(document: Document): Error {
  return new Error(`this headwidgets cannot show a document of kind "${document.document}"`);
}

/** The static picture of any document. */
export function drawDocument(any: Document | ScoresFile, options: DrawOptions, buffer?: Buffer): Picture {
  const document = asDocument(any);
  const draw = draws[document.document] as Draw<Document> | undefined;
  if (!draw) throw missing(document);
  return draw(document, options, buffer);
}

/** Any document in `el` without a kernel: what needs one is not offered. */
export function mountDocument(
  el: HTMLElement,
  props: StaticProps<Document | ScoresFile>,
): Component<StaticProps<Document | ScoresFile>> {
  const document = asDocument(props.document);
  const mount = mounts[document.document] as Mount<Document> | undefined;
  if (!mount) throw missing(document);
  const component = mount(el, { ...props, document });
  return {
    update: (next) => component.update({ ...next, document: asDocument(next.document) }),
    destroy: () => component.destroy(),
  };
}
