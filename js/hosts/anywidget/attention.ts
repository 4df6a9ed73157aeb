/** AttentionView in a notebook. */

import { type AttentionEvents, type AttentionProps, mount } from "../../components/attention/mount.js";
import type { AttentionDocument, ViewName } from "../../wire/types.js";
import { type TextState, textRender } from "../text.js";

interface AttentionState extends TextState<ViewName> {
  mode: AttentionDocument["mode"];
}

const render = textRender<AttentionState, AttentionDocument, AttentionProps, AttentionEvents>({
  document: "attention",
  traits: ["mode"],
  props: ({ document, buffer, theme }, model) => ({
    document: {
      ...document,
      selected: model.get("selected"),
      hide_special: model.get("hide_special"),
      mode: model.get("mode"),
      view: model.get("view"),
    },
    buffer,
    theme,
    status: model.get("status"),
  }),
  events: (write) => ({ onMode: (mode) => write("mode", mode) }),
  mount,
});

export default { render };
