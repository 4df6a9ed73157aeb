/** ProbeView in a notebook. */

import type { RenderProps } from "@anywidget/types";
import { mount } from "../../components/probe/mount.js";
import type { HeadRef, ProbeDocument } from "../../wire/types.js";
import { type LiveState, showLive } from "../live.js";

interface ProbeState extends LiveState {
  row: number;
  selected: readonly HeadRef[];
  sort: string;
  tree: number;
}

function render({ model, el }: RenderProps<ProbeState>): () => void {
  return showLive({
    model,
    el,
    document: "probe",
    traits: ["row", "selected", "sort", "tree"],
    props: (arrived: {
      document: ProbeDocument;
      buffer: Uint8Array<ArrayBuffer>;
      theme: "light" | "dark";
    }) => ({
      ...arrived,
      row: model.get("row"),
      selected: model.get("selected"),
      sort: model.get("sort"),
      tree: model.get("tree"),
    }),
    mount: (root, props) =>
      mount(root, props, {
        // What was chosen together is sent together.
        onChoose: ({ row, selected, sort, tree }) => {
          if (row !== undefined) model.set("row", row);
          if (selected !== undefined) model.set("selected", [...selected]);
          if (sort !== undefined) model.set("sort", sort);
          if (tree !== undefined) model.set("tree", tree);
          model.save_changes();
        },
      }),
  });
}

export default { render };
