/** AttributionTree in a notebook. */

import type { RenderProps } from "@anywidget/types";
import { mount, type TreeProps } from "../../components/tree/mount.js";
import type { TreeDocument } from "../../wire/types.js";
import { type Arrived, type LiveState, showLive } from "../live.js";

interface TreeTraits extends LiveState {
  threshold: number;
  penalty: number;
  collapsed: boolean;
  selected_edge: number[];
  status: string;
}

function render({ model, el }: RenderProps<TreeTraits>): () => void {
  return showLive({
    model,
    el,
    document: "tree",
    traits: ["threshold", "penalty", "collapsed", "selected_edge", "status"],
    props: ({ document, buffer, theme }: Arrived<TreeDocument>): TreeProps => ({
      document: {
        ...document,
        threshold: model.get("threshold"),
        penalty: model.get("penalty"),
        collapsed: model.get("collapsed"),
      },
      buffer,
      theme,
      edge: model.get("selected_edge"),
      status: model.get("status"),
    }),
    mount: (root, props) =>
      mount(root, props, {
        onState: ({ threshold, penalty, collapsed }) => {
          model.set("threshold", threshold);
          model.set("penalty", penalty);
          model.set("collapsed", collapsed);
          model.save_changes();
        },
        onEdge: (edge) => {
          model.set("selected_edge", edge);
          model.save_changes();
        },
      }),
  });
}

export default { render };
