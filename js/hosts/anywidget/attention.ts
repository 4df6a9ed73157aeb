/** AttentionView in a notebook. */

import type { RenderProps } from "@anywidget/types";
import { type AttentionComponent, type AttentionProps, mount } from "../../components/attention/mount.js";
import type { AttentionDocument, HeadRef } from "../../wire/types.js";
import { type Arrived, type LiveState, showLive } from "../live.js";
import { listen, numbers } from "../messages.js";

interface AttentionState extends LiveState {
  selected: HeadRef[];
  hide_special: boolean;
  mode: AttentionDocument["mode"];
  status: string;
}

function render({ model, el }: RenderProps<AttentionState>): () => void {
  let component: AttentionComponent | null = null;
  const number = numbers();
  const write = <K extends keyof AttentionState>(key: K, value: AttentionState[K]): void => {
    model.set(key, value);
    model.save_changes();
  };
  let merged: {
    readonly key: string;
    readonly from: AttentionDocument;
    readonly document: AttentionDocument;
  } | null = null;
  const stopListening = listen(model, () => component);
  const stop = showLive({
    model,
    el,
    document: "attention",
    traits: ["selected", "hide_special", "mode", "status"],
    props: ({ document, buffer, theme }: Arrived<AttentionDocument>): AttentionProps => {
      const state = {
        selected: model.get("selected"),
        hide_special: model.get("hide_special"),
        mode: model.get("mode"),
      };
      const key = JSON.stringify(state);
      if (merged?.from !== document || merged.key !== key)
        merged = { key, from: document, document: { ...document, ...state } };
      return { document: merged.document, buffer, theme, status: model.get("status") };
    },
    mount: (root, props) => {
      component = mount(root, props, {
        onSelected: (selected) => write("selected", selected),
        onMode: (mode) => write("mode", mode),
        onHideSpecial: (hide) => write("hide_special", hide),
        onWords: (words) => model.send({ id: number(), ask: "words", words }),
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

export default { render };
