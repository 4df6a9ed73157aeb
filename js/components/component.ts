/** The shape of every component: `draw` makes the picture, `mount` adds pointer, keyboard and focus. */

import type { Theme } from "../theme/palette.js";
import type { Buffer } from "../wire/decode.js";

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
