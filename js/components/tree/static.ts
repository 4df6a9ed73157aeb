import type { TreeDocument } from "../../wire/types.js";
import type { Component, StaticProps } from "../component.js";
import { mount, type TreeProps } from "./mount.js";

/** The tree without a kernel: it grows here anyway, so everything can be turned. */
export function mountStatic(
  el: HTMLElement,
  props: StaticProps<TreeDocument>,
): Component<StaticProps<TreeDocument>> {
  let edge: readonly number[] = [];
  let own: Partial<TreeDocument> = {};
  const all = (): TreeProps => ({ ...props, document: { ...props.document, ...own }, edge });
  const component = mount(el, all(), {
    onState: (state) => {
      own = state;
    },
    onEdge: (chosen) => {
      edge = chosen;
      component.update(all());
    },
  });
  return {
    update(next) {
      // The same data keeps what was turned.
      if (next.document.levels !== props.document.levels) {
        own = {};
        edge = [];
      }
      props = next;
      component.update(all());
    },
    destroy: () => component.destroy(),
  };
}
