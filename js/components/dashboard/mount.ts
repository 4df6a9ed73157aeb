/** Several documents one under the other, without a kernel; a head chosen in one is chosen in the others. */

import type {
  AttentionDocument,
  AttributionDocument,
  DashboardDocument,
  GridDocument,
  HeadRef,
} from "../../wire/types.js";
import { mountStatic as mountAttention } from "../attention/static.js";
import { mountStatic as mountAttribution } from "../attribution/static.js";
import type { Component, StaticProps } from "../component.js";
import { h } from "../controls.js";
import { mount as mountGrid } from "../grid/mount.js";
import { mountStatic as mountPruning } from "../pruning/static.js";

type Props = StaticProps<DashboardDocument>;
type Part = DashboardDocument["parts"][number];

/** A mounted part that can be told what is selected elsewhere. */
interface Linked {
  show(part: Part, props: Props): void;
  choose(selected: readonly HeadRef[], props: Props): void;
  destroy(): void;
}

function base(props: Props): Omit<Props, "document"> {
  return { theme: props.theme, ...(props.buffer === undefined ? {} : { buffer: props.buffer }) };
}

function linkGrid(
  el: HTMLElement,
  part: GridDocument,
  props: Props,
  told: (heads: readonly HeadRef[]) => void,
): Linked {
  let document = part;
  let selected: readonly HeadRef[] = part.selected;
  let choice: { readonly kind?: string | null; readonly score?: string | null } = {};
  const all = (now: Props) => ({ ...base(now), document, selected, ...choice });
  let last = props;
  const component = mountGrid(el, all(props), {
    onSelect: (heads) => told(heads),
    onChoose: (made) => {
      choice = made;
      component.update(all(last));
    },
  });
  return {
    show(next, now) {
      if (next.document !== "grid") return;
      document = next;
      last = now;
      component.update(all(now));
    },
    choose(heads, now) {
      selected = heads;
      last = now;
      component.update(all(now));
    },
    destroy: () => component.destroy(),
  };
}

function linkView<D extends AttentionDocument | AttributionDocument>(
  el: HTMLElement,
  part: D,
  props: Props,
  told: (heads: readonly HeadRef[]) => void,
  mount: (
    el: HTMLElement,
    props: StaticProps<D>,
    onSelected: (selected: readonly HeadRef[]) => void,
  ) => Component<StaticProps<D>>,
): Linked {
  let document = part;
  const component = mount(el, { ...base(props), document }, told);
  return {
    show(next, now) {
      if (next.document !== part.document) return;
      document = { ...(next as D), selected: document.selected };
      component.update({ ...base(now), document });
    },
    choose(heads, now) {
      document = { ...document, selected: heads };
      component.update({ ...base(now), document });
    },
    destroy: () => component.destroy(),
  };
}

function linkPart(
  el: HTMLElement,
  part: Part,
  props: Props,
  told: (heads: readonly HeadRef[]) => void,
): Linked {
  switch (part.document) {
    case "grid":
      return linkGrid(el, part, props, told);
    case "attention":
      return linkView(el, part, props, told, mountAttention);
    case "attribution":
      return linkView(el, part, props, told, mountAttribution);
    case "pruning": {
      const component = mountPruning(el, { ...base(props), document: part });
      return {
        show(next, now) {
          if (next.document === "pruning") component.update({ ...base(now), document: next });
        },
        choose() {},
        destroy: () => component.destroy(),
      };
    }
  }
}

/** Mount a dashboard into `el`. */
export function mountStatic(el: HTMLElement, first: Props): Component<Props> {
  let props = first;
  let parts: Linked[] = [];
  const box = h("div", { class: "hw-dashboard" });
  const told = (heads: readonly HeadRef[]): void => {
    for (const part of parts) part.choose(heads, props);
  };
  el.append(box);

  function build(): void {
    for (const part of parts) part.destroy();
    parts = [];
    const heading = h("h2", { class: "hw-dashboard-title" }, props.document.title);
    heading.hidden = props.document.title === "";
    box.replaceChildren(heading);
    for (const part of props.document.parts) {
      const place = h("section", {});
      box.append(place);
      parts.push(linkPart(place, part, props, told));
    }
  }

  build();
  return {
    update(next) {
      const before = props.document.parts;
      props = next;
      const alike =
        before.length === next.document.parts.length &&
        before.every((part, at) => part.document === next.document.parts[at]?.document);
      if (!alike) return build();
      parts.forEach((part, at) => {
        const document = next.document.parts[at];
        if (document !== undefined) part.show(document, next);
      });
    },
    destroy() {
      for (const part of parts) part.destroy();
      box.remove();
    },
  };
}
