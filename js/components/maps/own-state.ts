// The views of one text without a kernel: each keeps its own selection and settings.

import type { AttentionDocument, AttributionDocument, HeadRef } from "../../wire/types.js";
import type { Component, StaticProps } from "../component.js";

/** What a static view of a text remembers. */
interface OwnState {
  readonly selected?: readonly HeadRef[];
}

interface OwnView<D, S, P> {
  /** The settings with which a text begins. */
  start(document: D): S;
  /** What is drawn. */
  props(props: StaticProps<D>, state: S): P;
  mount(props: P, change: (part: Partial<S>) => void): Component<P>;
}

/** Mount a view that keeps its state itself. */
export function mountOwn<D extends AttentionDocument | AttributionDocument, S extends OwnState, P>(
  props: StaticProps<D>,
  view: OwnView<D, S, P>,
): Component<StaticProps<D>> {
  let now = props;
  let state = view.start(now.document);
  const show = (): void => component.update(view.props(now, state));
  const component = view.mount(view.props(now, state), (part) => {
    state = { ...state, ...part };
    show();
  });
  return {
    update(next) {
      // The same text with another selection keeps its settings.
      if (next.document.panels !== now.document.panels) state = view.start(next.document);
      else if (next.document.selected !== now.document.selected) {
        state = { ...state, selected: next.document.selected };
      }
      now = next;
      show();
    },
    destroy: () => component.destroy(),
  };
}
