/** Any document in an element without a kernel, by whatever components are at hand: what needs a kernel is not offered. */

import type { Document, ScoresFile } from "../wire/types.js";
import type { Component, StaticProps } from "./component.js";
import { gridFromScores } from "./grid/from-scores.js";

type Named<N extends Document["document"]> = Extract<Document, { document: N }>;
type Mount<D> = (el: HTMLElement, props: StaticProps<D>) => Component<StaticProps<D>>;

/** By kind of document, the component that shows it. */
export type Mounts = { readonly [N in Document["document"]]?: Mount<Named<N>> };

/** A scores file is shown as a grid; every other document as itself. */
export function asDocument(document: Document | ScoresFile): Document {
  return document.document === "scores" ? gridFromScores(document) : document;
}

export function missing(document: Document): Error {
  return new Error(`this headwidgets cannot show a document of kind "${document.document}"`);
}

export function mountDocument(
  mounts: Mounts,
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
