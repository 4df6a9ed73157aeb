/** A scatter without a kernel: it keeps its own selection. */

import type { HeadRef, ScatterDocument } from "../../wire/types.js";
import type { Component, StaticProps } from "../component.js";
import { mount } from "./mount.js";

export function mountStatic(
  el: HTMLElement,
  props: StaticProps<ScatterDocument>,
): Component<StaticProps<ScatterDocument>> {
  let selected: readonly HeadRef[] = props.document.selected;
  const component = mount(
    el,
    { ...props, selected },
    {
      onSelect(heads) {
        selected = heads;
        component.update({ ...props, selected });
      },
    },
  );
  return {
    update(next) {
      if (next.document !== props.document) selected = next.document.selected;
      props = next;
      component.update({ ...props, selected });
    },
    destroy: () => component.destroy(),
  };
}
