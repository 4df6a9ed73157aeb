/** Attribution without a kernel: it keeps its own selection and settings; maps that were not saved say so. */

import type { AttributionDocument, HeadRef } from "../../wire/types.js";
import type { Component, StaticProps } from "../component.js";
import { type AttributionProps, mount } from "./mount.js";

type Own = Pick<AttributionProps, "view" | "hideSpecial"> & { readonly selected?: readonly HeadRef[] };

export function mountStatic(
  el: HTMLElement,
  props: StaticProps<AttributionDocument>,
  onSelected?: (selected: readonly HeadRef[]) => void,
): Component<StaticProps<AttributionDocument>> {
  const start = (document: AttributionDocument): Own => {
    const views = new Set(document.maps.map((map) => map.view));
    const view = views.size > 1 ? "both" : views.has("attention") ? "attention" : "attribution";
    return { view, hideSpecial: false };
  };
  let state = start(props.document);
  const all = (): AttributionProps => ({
    ...props,
    document: { ...props.document, selected: state.selected ?? props.document.selected },
    view: state.view,
    hideSpecial: state.hideSpecial,
    words: false,
  });
  const change = (part: Partial<Own>) => {
    state = { ...state, ...part };
    component.update(all());
  };
  const component = mount(el, all(), {
    onSelected(selected) {
      change({ selected });
      onSelected?.(selected);
    },
    onView: (view) => change({ view }),
    onHideSpecial: (hideSpecial) => change({ hideSpecial }),
  });
  return {
    update(next) {
      // The same text with another selection keeps its settings.
      if (next.document.panels !== props.document.panels) state = start(next.document);
      else if (next.document.selected !== props.document.selected) {
        state = { ...state, selected: next.document.selected };
      }
      props = next;
      component.update(all());
    },
    destroy: () => component.destroy(),
  };
}
