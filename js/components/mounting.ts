/** Any document in an element without a kernel, by whatever components are at hand: what needs a kernel is not offered. */

import type { Document, HeadsFile } from "../wire/types.js";
import { attributionFromResult } from "./attribution/from-result.js";
import type { Component, StaticProps } from "./component.js";
import { gridFromRoles } from "./grid/from-roles.js";
import { gridFromScores } from "./grid/from-scores.js";
import { headMapFromDistances } from "./headmap/from-distances.js";
import { probeFromLinks } from "./probe/from-links.js";

type Named<N extends Document["document"]> = Extract<Document, { document: N }>;
type Mount<D> = (el: HTMLElement, props: StaticProps<D>) => Component<StaticProps<D>>;

/** By kind of document, the component that shows it. */
export type Mounts = { readonly [N in Document["document"]]?: Mount<Named<N>> };

/** A file of scores or of roles is shown as a grid, one of distances as a map, one of links as a table; every other document as itself. */
export function asDocument(document: Document | HeadsFile): Document {
  if (document.document === "scores") return gridFromScores(document);
  if (document.document === "roles") return gridFromRoles(document);
  if (document.document === "distances") return headMapFromDistances(document);
  if (document.document === "links") return probeFromLinks(document);
  return document.document === "attribution-result" ? attributionFromResult(document) : document;
}

export function missing(document: Document): Error {
  return new Error(`this headwidgets cannot show a document of kind "${document.document}"`);
}

export function mountDocument(
  mounts: Mounts,
  el: HTMLElement,
  props: StaticProps<Document | HeadsFile>,
): Component<StaticProps<Document | HeadsFile>> {
  const document = asDocument(props.document);
  const mount = mounts[document.document] as Mount<Document> | undefined;
  if (!mount) throw missing(document);
  const component = mount(el, { ...props, document });
  return {
    update: (next) => component.update({ ...next, document: asDocument(next.document) }),
    destroy: () => component.destroy(),
  };
}
