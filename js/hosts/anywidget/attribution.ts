/** AttributionView in a notebook. */

import { type AttributionEvents, type AttributionProps, mount } from "../../components/attribution/mount.js";
import type { AttributionDocument } from "../../wire/types.js";
import { type TextState, textRender } from "../text.js";

interface AttributionState extends TextState<AttributionProps["view"]> {
  words: boolean;
}

const render = textRender<AttributionState, AttributionDocument, AttributionProps, AttributionEvents>({
  document: "attribution",
  traits: ["words"],
  props: ({ document, buffer, theme }, model) => ({
    document: { ...document, selected: model.get("selected") },
    buffer,
    theme,
    view: model.get("view"),
    words: model.get("words"),
    hideSpecial: model.get("hide_special"),
    status: model.get("status"),
  }),
  events: () => ({}),
  mount,
});

export default { render };
