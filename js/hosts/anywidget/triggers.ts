/** TriggerTable in a notebook. */

import type { RenderProps } from "@anywidget/types";
import { mount } from "../../components/triggers/mount.js";
import type { TriggersDocument } from "../../wire/types.js";
import { type LiveState, showLive } from "../live.js";

interface TriggersState extends LiveState {
  selected: number;
  sort: string;
}

function render({ model, el }: RenderProps<TriggersState>): () => void {
  const write = <K extends "selected" | "sort">(key: K, value: TriggersState[K]): void => {
    model.set(key, value);
    model.save_changes();
  };
  return showLive({
    model,
    el,
    document: "triggers",
    traits: ["selected", "sort"],
    props: (arrived: {
      document: TriggersDocument;
      buffer: Uint8Array<ArrayBuffer>;
      theme: "light" | "dark";
    }) => ({ ...arrived, selected: model.get("selected"), sort: model.get("sort") }),
    mount: (root, props) =>
      mount(root, props, {
        onSelect: (selected) => write("selected", selected),
        onSort: (sort) => write("sort", sort),
      }),
  });
}

export default { render };
