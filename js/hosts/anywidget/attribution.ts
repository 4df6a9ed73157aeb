/** AttributionView in a notebook. */

import type { RenderProps } from "@anywidget/types";
import {
  type AttributionComponent,
  type AttributionProps,
  mount,
} from "../../components/attribution/mount.js";
import type { AttributionDocument, HeadRef } from "../../wire/types.js";
import { type Arrived, type LiveState, showLive } from "../live.js";
import { listen, numbers } from "../messages.js";

interface AttributionState extends LiveState {
  selected: HeadRef[];
  view: AttributionProps["view"];
  words: boolean;
  hide_special: boolean;
  status: string;
}

function render({ model, el }: RenderProps<AttributionState>): () => void {
  let component: AttributionComponent | null = null;
  const number = numbers();
  const write = <K extends keyof AttributionState>(key: K, value: AttributionState[K]): void => {
    model.set(key, value);
    model.save_changes();
  };
  const stopListening = listen(model, () => component);
  const stop = showLive({
    model,
    el,
    document: "attribution",
    traits: ["selected", "view", "words", "hide_special", "status"],
    props: ({ document, buffer, theme }: Arrived<AttributionDocument>): AttributionProps => ({
      document: { ...document, selected: model.get("selected") },
      buffer,
      theme,
      view: model.get("view"),
      words: model.get("words"),
      hideSpecial: model.get("hide_special"),
      status: model.get("status"),
    }),
    mount: (root, props) => {
      component = mount(root, props, {
        onSelected: (selected) => write("selected", selected),
        onView: (view) => write("view", view),
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
