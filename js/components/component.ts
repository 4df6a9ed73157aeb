/** The shape of every component: `draw` makes the picture, `mount` adds pointer, keyboard and focus. */

import type { DrawOptions, Picture } from "../marks/picture.js";
import type { Theme } from "../theme/palette.js";
import type { Buffer } from "../wire/decode.js";
import type { Document } from "../wire/types.js";

/** A mounted component. `update` with the same props changes nothing; `destroy` leaves an empty element. */
export interface Component<P> {
  update(props: P): void;
  destroy(): void;
}

/** What hosts without a kernel know how to give to any component. */
export interface StaticProps<D> {
  readonly document: D;
  readonly buffer?: Buffer;
  readonly theme: Theme;
}

/** One document kind: how it is drawn, and how it is mounted without a kernel (local view state, no requests). */
export interface ComponentEntry<D extends Document> {
  draw(document: D, options: DrawOptions, buffer?: Buffer): Picture;
  mountStatic(el: HTMLElement, props: StaticProps<D>): Component<StaticProps<D>>;
}
