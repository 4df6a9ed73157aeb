/** Attention without a kernel: it keeps its own selection and settings; heads that were not saved say so. */

import type { AttentionDocument, HeadRef } from "../../wire/types.js";
import type { Component, StaticProps } from "../component.js";
import { type AttentionProps, mount } from "./mount.js";

export function mountStatic(
  el: HTMLElement,
  props: StaticProps<AttentionDocument>,
  onSelected?: (selected: readonly HeadRef[]) => void,
): Component<StaticProps<AttentionDocument>> {
  let state: Partial<AttentionDocument> = {};
  const all = (): AttentionProps => ({ ...props, document: { ...props.document, ...state } });
  const change = (part: Partial<AttentionDocument>) => {
    state = { ...state, ...part };
    component.update(all());
  };
  const component = mount(el, all(), {
    onSelected(selected) {
      change({ selected });
      onSelected?.(selected);
    },
    onMode: (mode) => change({ mode }),
    onHideSpecial: (hide_special) => change({ hide_special }),
  });
  return {
    update(next) {
      // The same text with another selection keeps its settings.
      if (next.document.panels !== props.document.panels) state = {};
      else if (next.document.selected !== props.document.selected) {
        state = { ...state, selected: next.document.selected };
      }
      props = next;
      component.update(all());
    },
    destroy: () => component.destroy(),
  };
}
