/** Layer curves without a kernel: they keep their own selection and chart. */

import type { HeadRef, PatternsDocument } from "../../wire/types.js";
import type { Component, StaticProps } from "../component.js";
import { mount } from "./mount.js";

export function mountStatic(
  el: HTMLElement,
  props: StaticProps<PatternsDocument>,
): Component<StaticProps<PatternsDocument>> {
  let selected: readonly HeadRef[] = props.document.selected;
  let shown = props.document.shown;
  const show = (): void => component.update({ ...props, selected, shown });
  const component = mount(
    el,
    { ...props, selected, shown },
    {
      onSelect(heads) {
        selected = heads;
        show();
      },
      onShow(index) {
        shown = index;
        show();
      },
    },
  );
  return {
    update(next) {
      if (next.document !== props.document) {
        selected = next.document.selected;
        shown = next.document.shown;
      }
      props = next;
      show();
    },
    destroy: () => component.destroy(),
  };
}
