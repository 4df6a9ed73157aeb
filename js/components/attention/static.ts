/** Attention without a kernel; heads and views that were not saved say so. */

import type { AttentionDocument, HeadRef } from "../../wire/types.js";
import type { Component, StaticProps } from "../component.js";
import { mountOwn } from "../maps/own-state.js";
import { type AttentionProps, mount } from "./mount.js";

export function mountStatic(
  el: HTMLElement,
  first: StaticProps<AttentionDocument>,
  onSelected?: (selected: readonly HeadRef[]) => void,
): Component<StaticProps<AttentionDocument>> {
  return mountOwn<AttentionDocument, Partial<AttentionDocument>, AttentionProps>(first, {
    start: () => ({}),
    props: (props, state) => ({ ...props, document: { ...props.document, ...state } }),
    mount: (props, change) =>
      mount(el, props, {
        onSelected(selected) {
          change({ selected });
          onSelected?.(selected);
        },
        onView: (view) => change({ view: view === "both" ? "attention" : view }),
        onMode: (mode) => change({ mode }),
        onHideSpecial: (hide_special) => change({ hide_special }),
      }),
  });
}
