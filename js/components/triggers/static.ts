/** The table without a kernel: it keeps its own choice of row and order. */

import type { TriggersDocument } from "../../wire/types.js";
import type { Component, StaticProps } from "../component.js";
import { mount, type TriggersProps } from "./mount.js";

export function mountStatic(
  el: HTMLElement,
  props: StaticProps<TriggersDocument>,
): Component<StaticProps<TriggersDocument>> {
  let own: Pick<TriggersProps, "selected" | "sort"> = {};
  const change = (part: typeof own): void => {
    own = { ...own, ...part };
    component.update({ ...props, ...own });
  };
  const component = mount(el, props, {
    onSelect: (selected) => change({ selected }),
    onSort: (sort) => change({ sort }),
  });
  return {
    update(next) {
      if (next.document !== props.document) own = {};
      props = next;
      component.update({ ...props, ...own });
    },
    destroy: () => component.destroy(),
  };
}
