/** HeadGrid in a notebook. */

import type { RenderProps } from "@anywidget/types";
import { mount } from "../../components/grid/mount.js";
import type { GridDocument, HeadRef } from "../../wire/types.js";
import { type LiveState, showLive } from "../live.js";

interface GridState extends LiveState {
  selected: HeadRef[];
  pruned: HeadRef[];
  kind: string;
  score: string;
}

function render({ model, el }: RenderProps<GridState>): () => void {
  const write = <K extends keyof GridState>(part: Pick<GridState, K>): void => {
    for (const [key, value] of Object.entries(part) as [K, GridState[K]][]) model.set(key, value);
    model.save_changes();
  };
  return showLive({
    model,
    el,
    document: "grid",
    traits: ["selected", "pruned", "kind", "score"],
    props: (arrived: {
      document: GridDocument;
      buffer: Uint8Array<ArrayBuffer>;
      theme: "light" | "dark";
    }) => ({
      ...arrived,
      selected: model.get("selected"),
      pruned: model.get("pruned"),
      kind: model.get("kind"),
      score: model.get("score"),
    }),
    mount: (root, props) =>
      mount(root, props, {
        onSelect: (selected) => write({ selected: [...selected] }),
        onChoose: ({ kind, score }) => write({ kind, score: score ?? "" }),
      }),
  });
}

export default { render };
