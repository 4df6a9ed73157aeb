/** The slider panel of PruningExplorer in a notebook. */

import type { RenderProps } from "@anywidget/types";
import { mount, type PruningComponent, type PruningProps } from "../../components/pruning/mount.js";
import type { HeadRef, PruningDocument } from "../../wire/types.js";
import { type Arrived, type LiveState, showLive } from "../live.js";
import { listen } from "../messages.js";

interface PruningState extends LiveState {
  count: number;
  pruned: HeadRef[];
  method: string;
  ablation: string;
  status: string;
}

function render({ model, el }: RenderProps<PruningState>): () => void {
  let component: PruningComponent | null = null;
  const stopListening = listen(model, () => component);
  const stop = showLive({
    model,
    el,
    document: "pruning",
    traits: ["count", "method", "ablation", "status"],
    props: ({ document, buffer, theme }: Arrived<PruningDocument>): PruningProps => ({
      document: {
        ...document,
        count: model.get("count"),
        method: model.get("method") || document.method,
        ablation: model.get("ablation") || document.ablation,
        status: model.get("status"),
      },
      buffer,
      theme,
    }),
    mount: (root, props) => {
      component = mount(root, props, {
        // Linked views in the page follow the model at once; Python hears of it when the handle is released.
        onPruned: (pruned) => model.set("pruned", pruned),
        onCount: (count) => {
          model.set("count", count);
          model.set("pruned", model.get("document") === null ? [] : prunedOf(model.get("document"), count));
          model.save_changes();
        },
        onRequest: (request) => model.send(request),
      });
      return component;
    },
  });
  return () => {
    stopListening();
    stop();
  };
}

function prunedOf(document: unknown, count: number): HeadRef[] {
  const { order } = document as PruningDocument;
  return order.slice(0, count);
}

export default { render };
