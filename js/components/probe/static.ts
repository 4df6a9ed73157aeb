/** A probe document without a kernel: it keeps its own row, heads, order and tree. */

import type { ProbeDocument } from "../../wire/types.js";
import type { Component, StaticProps } from "../component.js";
import { mount, type ProbeChoice } from "./mount.js";

export function mountStatic(
  el: HTMLElement,
  props: StaticProps<ProbeDocument>,
): Component<StaticProps<ProbeDocument>> {
  let own: ProbeChoice = {};
  const component = mount(el, props, {
    onChoose: (choice) => {
      own = { ...own, ...choice };
      component.update({ ...props, ...own });
    },
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
