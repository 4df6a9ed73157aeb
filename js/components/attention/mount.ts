/** Where heads look, live: choose heads in the overview, read their lines or matrices. */

import { palette } from "../../theme/palette.js";
import { type Buffer, decodeArray } from "../../wire/decode.js";
import type { Answer, AttentionDocument, HeadMapRequest, HeadRef, KindName } from "../../wire/types.js";
import type { Component, StaticProps } from "../component.js";
import { check, choice, drawing, h, liveRegion, on, rootOf, say, set } from "../controls.js";
import { mountCellGrid } from "../maps/cell-grid.js";
import type { MapValues } from "../maps/head-map.js";
import { headColor } from "../maps/labels.js";
import { hitOverview, layoutOverview, overviewBox } from "../maps/overview.js";
import { overviewBody } from "../maps/pictures.js";
import { sameHead } from "../maps/positions.js";
import { mountStage } from "../maps/stage.js";
import { MapStore, toggled } from "../maps/store.js";
import { observeWidth } from "../width.js";
import { inputOf } from "./draw.js";
import { headsOf, nameOf, panelOf, shownOf } from "./model.js";

export interface AttentionProps extends StaticProps<AttentionDocument> {
  /** What is running, or what went wrong; empty when idle. */
  readonly status?: string;
}

/** What the user meant. */
export interface AttentionEvents {
  onSelected(selected: HeadRef[]): void;
  onMode(mode: AttentionDocument["mode"]): void;
  onHideSpecial(hide: boolean): void;
  /** Words or tokens as positions; absent where no kernel can compute the other. */
  readonly onWords?: (words: boolean) => void;
  /** A head's map is wanted; absent where no kernel answers. */
  readonly onRequest?: (request: HeadMapRequest) => void;
}

export interface AttentionComponent extends Component<AttentionProps> {
  /** An answer of the kernel; true when it was for this view. */
  receive(answer: Answer, buffer: Buffer): boolean;
}

const HINTS = {
  lines: "Point at a token to see and read all of its links.",
  matrix: "Point at a cell to read its weight.",
} as const;

/** Mount the attention view into `el`. */
export function mount(el: HTMLElement, first: AttentionProps, events: AttentionEvents): AttentionComponent {
  const teardown = new AbortController();
  const { signal } = teardown;
  let props = first;
  let kind: KindName | null = null;
  let several = false;
  let zoom = 1;
  let width = 720;
  let identity = "";
  let failure = "";
  let selection = "";

  const root = rootOf(el, "attention", first.document.title, signal);
  const live = liveRegion();
  const readout = h("div", { class: "hw-readout" });
  const state = h("div", { class: "hw-state" });
  const notes = h("div", { class: "hw-notes" });
  const chips = h("div", { class: "hw-chips", role: "group", "aria-label": "Heads on show" });
  const title = h("strong", {});
  const kinds = choice("Kind of attention", signal, (value) => {
    kind = value as KindName;
    render();
  });
  const modes = choice("Drawing", signal, (value) => events.onMode(value === "matrix" ? "matrix" : "lines"));
  const zooms = choice("Size of cells", signal, (value) => {
    zoom = Number(value);
    render();
  });
  const words = check("whole words", signal, (on) => events.onWords?.(on));
  const special = check("hide special tokens", signal, (on) => events.onHideSpecial(on));
  const compare = check("several heads", signal, (on) => {
    several = on;
    render();
  });
  const tell = (text: string, spoken: boolean): void => {
    say(readout, text === "" ? hint() : text);
    if (spoken) say(live, text);
  };
  const overview = mountCellGrid(signal, {
    pick(row, column, add) {
      const head: HeadRef = [panel().kind, row, column];
      const sameKind = props.document.selected.filter((other) => other[0] === head[0]);
      const chosen = toggled(sameKind, head, add || several);
      events.onSelected(chosen);
      say(live, `${chosen.map((one) => nameOf(props.document, one)).join(", ")} selected`);
    },
    told: tell,
  });
  const stage = mountStage(signal, tell);
  const aside = h("div", { class: "hw-aside" }, overview.element);
  const main = h("div", { class: "hw-main" }, chips, state, stage.element, readout, notes);
  root.append(
    h(
      "div",
      { class: "hw-bar" },
      title,
      kinds.element,
      modes.element,
      zooms.element,
      words.element,
      special.element,
      compare.element,
    ),
    h("div", { class: "hw-split" }, aside, main),
    live,
  );
  on(
    chips,
    "click",
    (event) => {
      const button = event.target instanceof Element ? event.target.closest("button") : null;
      const at = button instanceof HTMLElement ? Number(button.dataset.at) : Number.NaN;
      const heads = headsOf(props.document, panel().kind);
      if (heads[at] !== undefined) events.onSelected(heads.filter((_, other) => other !== at));
    },
    signal,
  );
  const store = new MapStore(events.onRequest, render, 1 + Math.floor(Math.random() * 1e6) * 1000);

  function panel(): ReturnType<typeof panelOf> {
    return panelOf(props.document, kind);
  }

  function hint(): string {
    return HINTS[props.document.mode];
  }

  function render(): void {
    if (signal.aborted) return;
    const { document, buffer, theme } = props;
    const colors = palette(theme);
    set(root, "data-theme", theme);
    set(root, "aria-label", document.title);
    say(title, document.title);
    const identityNow = JSON.stringify([document.text, document.provenance, document.panels.map(shapeOf)]);
    store.load(document.maps, buffer, document.words, identityNow !== identity);
    if (identityNow !== identity) failure = "";
    identity = identityNow;
    const selectionNow = JSON.stringify(document.selected);
    if (selectionNow !== selection) {
      selection = selectionNow;
      const last = document.selected[document.selected.length - 1];
      if (last !== undefined) kind = last[0];
    }
    const now = panel();
    const heads = headsOf(document, now.kind);
    kinds.show(
      document.panels.map((one) => [one.kind, one.label]),
      now.kind,
    );
    modes.show(
      [
        ["lines", "Lines"],
        ["matrix", "Matrix"],
      ],
      document.mode,
    );
    const large = document.mode === "matrix" && Math.max(now.query.length, now.key.length) > 60;
    zooms.show(
      large
        ? [
            ["1", "fit"],
            ["2", "2×"],
            ["4", "4×"],
          ]
        : [],
      String(zoom),
    );
    words.show(document.words, events.onWords !== undefined, events.onWords ? "" : "Needs a running kernel");
    special.show(document.hide_special, true, "");
    compare.show(several, true, "Or hold Shift while you choose");

    const t = now.thumbnails.shape[3] ?? 1;
    const layout = layoutOverview(
      now.layers,
      now.heads,
      t,
      Math.max(240, Math.min(450, width * 0.42)),
      false,
    );
    const beside = width - layout.width - 16 >= 400;
    set(root, "data-beside", beside);
    const marked = heads.map((head, at) => ({ layer: head[1], index: head[2], color: headColor(at, theme) }));
    overview.update({
      width: layout.width,
      height: layout.height,
      box: (row, column) => overviewBox(layout, row, column),
      at: (x, y) => hitOverview(layout, x, y),
      rows: now.layers,
      columns: now.heads,
      label: `${now.label}: ${now.layers} layers by ${now.heads} heads. Arrow keys move, Enter selects, Shift Enter adds.`,
      svg: drawing(
        layout.width,
        layout.height,
        overviewBody(layout, thumbnails(document, buffer, now.kind), t, marked, colors),
      ),
      describe: (row, column) => nameOf(document, [now.kind, row, column]),
      isSelected: (row, column) => heads.some((head) => sameHead(head, [now.kind, row, column])),
    });

    const maps: MapValues[] = [];
    const messages = [props.status ?? "", failure].filter((one) => one !== "");
    for (const head of heads) {
      const found = store.state({ view: "attention", head });
      if (found.status === "ready") maps.push(found.map);
      else messages.push(found.message);
    }
    if (heads.length === 0) messages.push("Choose a head in the overview to see where it looks.");
    const shown = shownOf(document, now, maps);
    showChips(heads, theme);
    say(state, messages.join(" "));
    state.hidden = messages.length === 0;
    const mainWidth = Math.max(280, beside ? width - layout.width - 16 : width);
    stage.element.hidden = maps.length === 0;
    if (maps.length > 0) {
      const names = shown.names.join(", ");
      const drawn = stage.update({
        input: inputOf(shown, colors, mainWidth - 2),
        mode: document.mode,
        zoom,
        label: `Attention of ${names}, drawn as ${document.mode}`,
      });
      say(notes, [...drawn, ...shown.notes].join(" "));
    } else say(notes, "");
    const idle = ["", HINTS.lines, HINTS.matrix].includes(readout.textContent ?? "");
    if (idle) say(readout, hint());
    store.want(heads.map((head) => ({ view: "attention", head })));
  }

  function showChips(heads: readonly HeadRef[], theme: AttentionProps["theme"]): void {
    const key = JSON.stringify([heads, theme, props.document.panels.length]);
    if (chips.dataset.key === key) return;
    chips.dataset.key = key;
    chips.replaceChildren(
      ...heads.map((head, at) => {
        const name = nameOf(props.document, head);
        const swatch = h("span", { class: "hw-swatch" });
        swatch.style.background = headColor(at, theme);
        const remove = h("button", { type: "button", "data-at": at, "aria-label": `Take ${name} out` }, "×");
        return h("span", { class: "hw-chip" }, swatch, name, ...(heads.length > 1 ? [remove] : []));
      }),
    );
  }

  const stopWidth = observeWidth(root, (pixels) => {
    width = pixels;
    render();
  });
  signal.addEventListener("abort", stopWidth, { once: true });
  render();
  return {
    update(next) {
      props = next;
      render();
    },
    receive(answer, buffer) {
      if (store.receive(answer, buffer)) return true;
      // What else can fail is the switch to whole words.
      if (answer.answer !== "error") return false;
      failure = answer.message;
      render();
      return true;
    },
    destroy() {
      store.dispose();
      teardown.abort();
      root.remove();
    },
  };
}

let decoded: { readonly key: unknown; readonly buffer: Buffer; readonly values: ArrayLike<number> } | null =
  null;

/** The thumbnails of a kind; decoded once while they stay the same. */
function thumbnails(document: AttentionDocument, buffer: Buffer, kind: KindName): ArrayLike<number> {
  const ref = panelOf(document, kind).thumbnails;
  if (decoded?.key !== ref || decoded.buffer !== buffer) {
    decoded = { key: ref, buffer, values: decodeArray(ref, buffer) };
  }
  return decoded.values;
}

function shapeOf(panel: AttentionDocument["panels"][number]): readonly unknown[] {
  return [panel.kind, panel.layers, panel.heads, panel.query.length, panel.key.length];
}
