/** A grid without a kernel: it keeps its own selection, tab and score. */

import type { GridDocument } from "../../wire/types.js";
import type { Component, StaticProps } from "../component.js";
import { type GridProps, mount } from "./mount.js";

export function mountStatic(
  el: HTMLElement,
  props: StaticProps<GridDocument>,
): Component<StaticProps<GridDocument>> {
  let state: Partial<GridProps> = {};
  const all = (): GridProps => ({ ...props, ...state });
  const change = (part: Partial<GridProps>) => {
    state = { ...state, ...part };
    component.update(all());
  };
  const component = mount(el, all(), {
    onSelect: (selected) => change({ selected }),
    onChoose: ({ kind, score }) => change({ kind, score }),
  });
  return {
    update(next) {
      if (next.document !== props.document) state = {};
      props = next;
      component.update(all());
    },
    destroy: () => component.destroy(),
  };
}
