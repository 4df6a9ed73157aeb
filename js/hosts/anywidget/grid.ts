/** HeadGrid in a notebook. */

import type { RenderProps } from "@anywidget/types";
import { mount } from "../../components/grid/mount.js";
import type { GridDocument, HeadRef } from "../../wire/types.js";
import { type LiveState, showLive } from "../live.js";
import { numbers } from "../messages.js";

interface GridState extends LiveState {
  selected: HeadRef[];
  pruned: HeadRef[];
  kind: string;
  score: string;
  status: string;
  running: boolean;
}

function render({ model, el }: RenderProps<GridState>): () => void {
  const write = <K extends keyof GridState>(part: Pick<GridState, K>): void => {
    for (const [key, value] of Object.entries(part) as [K, GridState[K]][]) model.set(key, value);
    model.save_changes();
  };
  const number = numbers();
  return showLive({
    model,
    el,
    document: "grid",
    traits: ["selected", "pruned", "kind", "score", "status", "running"],
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
      status: model.get("status"),
      running: model.get("running"),
    }),
    mount: (root, props) =>
      mount(root, props, {
        onSelect: (selected) => write({ selected: [...selected] }),
        onChoose: ({ kind, score }) => write({ kind, score: score ?? "" }),
        onStop: () => model.send({ id: number(), ask: "stop" }),
      }),
  });
}

export default { render };
