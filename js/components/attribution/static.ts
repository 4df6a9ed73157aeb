/** Attribution without a kernel; maps that were not saved say so. */

import type { AttributionDocument, HeadRef } from "../../wire/types.js";
import type { Component, StaticProps } from "../component.js";
import { mountOwn } from "../maps/own-state.js";
import { type AttributionProps, mount } from "./mount.js";

type Own = Pick<AttributionProps, "view" | "hideSpecial"> & { readonly selected?: readonly HeadRef[] };

function start(document: AttributionDocument): Own {
  const sent = new Set(document.maps.map((map) => map.view));
  const both = sent.has("attribution") && sent.has("attention");
  const [only = "attribution"] = sent;
  return { view: document.view ?? (both ? "both" : only), hideSpecial: false };
}

export function mountStatic(
  el: HTMLElement,
  first: StaticProps<AttributionDocument>,
  onSelected?: (selected: readonly HeadRef[]) => void,
): Component<StaticProps<AttributionDocument>> {
  return mountOwn<AttributionDocument, Own, AttributionProps>(first, {
    start,
    props: (props, { view, hideSpecial, selected = props.document.selected }) => ({
      ...props,
      document: { ...props.document, selected },
      view,
      hideSpecial,
      words: false,
    }),
    mount: (props, change) =>
      mount(el, props, {
        onSelected(selected) {
          change({ selected });
          onSelected?.(selected);
        },
        onView: (view) => change({ view }),
        onHideSpecial: (hideSpecial) => change({ hideSpecial }),
      }),
  });
}
