/** Attention without a kernel: it keeps its own selection and settings; heads that were not saved say so. */

import type { AttentionDocument } from "../../wire/types.js";
import type { Component, StaticProps } from "../component.js";
import { type AttentionProps, mount } from "./mount.js";

export function mountStatic(
  el: HTMLElement,
  props: StaticProps<AttentionDocument>,
): Component<StaticProps<AttentionDocument>> {
  let state: Partial<AttentionDocument> = {};
  const all = (): AttentionProps => ({ ...props, document: { ...props.document, ...state } });
  const change = (part: Partial<AttentionDocument>) => {
    state = { ...state, ...part };
    component.update(all());
  };
  const component = mount(el, all(), {
    onSelected: (selected) => change({ selected }),
    onMode: (mode) => change({ mode }),
    onHideSpecial: (hide_special) => change({ hide_special }),
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
