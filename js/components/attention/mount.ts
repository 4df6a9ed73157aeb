/** Where heads look, live: choose heads in the overview, read their lines or matrices. */

import { palette } from "../../theme/palette.js";
import { type Buffer, decodeArray } from "../../wire/decode.js";
import type { AttentionDocument, HeadRef, KindName } from "../../wire/types.js";
import type { StaticProps } from "../component.js";
import { check, choice, drawing, h, on, say, set } from "../controls.js";
import { mountCellGrid } from "../maps/cell-grid.js";
import { type TextComponent, type TextEvents, TextFrame } from "../maps/frame.js";
import type { MapValues } from "../maps/head-map.js";
import { headColor } from "../maps/labels.js";
import { hitOverview, layoutOverview, overviewBox } from "../maps/overview.js";
import { overviewBody } from "../maps/pictures.js";
import { sameHead } from "../maps/positions.js";
import { mountStage } from "../maps/stage.js";
import { toggled } from "../maps/store.js";
import { labelOf, titleOf } from "../maps/views.js";
import { inputOf, THUMBNAILS_NOTE } from "./draw.js";
import { headsOf, nameOf, panelOf, shownOf } from "./model.js";

export interface AttentionProps extends StaticProps<AttentionDocument> {
  /** What is running, or what went wrong; empty when idle. */
  readonly status?: string;
}

/** What the user meant. */
export interface AttentionEvents extends TextEvents {
  onMode(mode: AttentionDocument["mode"]): void;
}

export type AttentionComponent = TextComponent<AttentionProps>;

const HINTS = {
  lines: "Point at a token to see and read all of its links.",
  matrix: "Point at a cell to read its value.",
} as const;

/** Mount the attention view into `el`. */
export function mount(el: HTMLElement, first: AttentionProps, events: AttentionEvents): AttentionComponent {
  let several = false;
  let zoom = 1;
  const hint = (): string => HINTS[frame.props.document.mode];
  const frame = new TextFrame(el, first, events, { name: "attention", hint, render });
  const { signal, root, live, state, readout } = frame;
  const notes = h("div", { class: "hw-notes" });
  const chips = h("div", { class: "hw-chips", role: "group", "aria-label": "Heads on show" });
  const modes = choice("Drawing", signal, (value) => events.onMode(value === "matrix" ? "matrix" : "lines"));
  const zooms = choice("Size of cells", signal, (value) => {
    zoom = Number(value);
    frame.render();
  });
  const compare = check("several heads", signal, (on) => {
    several = on;
    frame.render();
  });
  const overview = mountCellGrid(signal, {
    pick(row, column, add) {
      const { document } = frame.props;
      const head: HeadRef = [panel().kind, row, column];
      const sameKind = document.selected.filter((other) => other[0] === head[0]);
      const chosen = toggled(sameKind, head, add || several);
      events.onSelected(chosen);
      say(live, `${chosen.map((one) => nameOf(document, one)).join(", ")} selected`);
    },
    told: frame.tell,
  });
  const stage = mountStage(signal, frame.tell);
  const caption = h("div", { class: "hw-notes" }, THUMBNAILS_NOTE);
  const aside = h("div", { class: "hw-aside" }, overview.element, caption);
  const main = h("div", { class: "hw-main" }, chips, state, stage.element, readout, notes);
  root.append(
    h(
      "div",
      { class: "hw-bar" },
      frame.title,
      frame.kinds.element,
      frame.views.element,
      modes.element,
      zooms.element,
      frame.words.element,
      frame.special.element,
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
      const heads = headsOf(frame.props.document, panel().kind);
      if (heads[at] !== undefined) events.onSelected(heads.filter((_, other) => other !== at));
    },
    signal,
  );

  function panel(): ReturnType<typeof panelOf> {
    return panelOf(frame.props.document, frame.kind);
  }

  function render({ document, buffer, theme }: AttentionProps): void {
    const colors = palette(theme);
    const view = document.view ?? "attention";
    frame.take(document.words);
    const now = panel();
    const heads = headsOf(document, now.kind);
    frame.controls(
      now.kind,
      { view, words: document.words, hideSpecial: document.hide_special, title: titleOf(document, view) },
      theme,
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
    compare.show(several, true, "Or hold Shift while you choose");

    const { width } = frame;
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
    caption.style.maxWidth = `${Math.max(200, layout.width)}px`;
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
    const messages: string[] = [];
    for (const head of heads) {
      const found = frame.store.state({ view, head });
      if (found.status === "ready") maps.push(found.map);
      else messages.push(found.message);
    }
    if (heads.length === 0) messages.push("Choose a head in the overview to see where it looks.");
    const shown = shownOf(document, now, maps);
    showChips(heads, theme);
    const mainWidth = Math.max(280, beside ? width - layout.width - 16 : width);
    stage.element.hidden = maps.length === 0;
    if (maps.length > 0) {
      const drawn = stage.update({
        input: inputOf(shown, view, colors, mainWidth - 2),
        mode: document.mode,
        zoom,
        label: `${labelOf(view)} of ${shown.names.join(", ")}, drawn as ${document.mode}`,
      });
      say(notes, [...drawn, ...shown.notes].join(" "));
    } else say(notes, "");
    const idle = ["", HINTS.lines, HINTS.matrix].includes(readout.textContent ?? "");
    if (idle) say(readout, hint());
    frame.finish(
      messages,
      heads.map((head) => ({ view, head })),
    );
  }

  function showChips(heads: readonly HeadRef[], theme: AttentionProps["theme"]): void {
    const key = JSON.stringify([heads, theme, frame.props.document.panels.length]);
    if (chips.dataset.key === key) return;
    chips.dataset.key = key;
    chips.replaceChildren(
      ...heads.map((head, at) => {
        const name = nameOf(frame.props.document, head);
        const swatch = h("span", { class: "hw-swatch" });
        swatch.style.background = headColor(at, theme);
        const remove = h("button", { type: "button", "data-at": at, "aria-label": `Take ${name} out` }, "×");
        return h("span", { class: "hw-chip" }, swatch, name, ...(heads.length > 1 ? [remove] : []));
      }),
    );
  }

  return frame.start();
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
