/** Attribution, live: shaded tokens, a head or layer to choose, maps of attribution and attention. */

import type { MapView } from "../../marks/picture.js";
import { type Palette, palette } from "../../theme/palette.js";
import type { Buffer } from "../../wire/decode.js";
import type { AttributionDocument, AttributionPanel, HeadRef } from "../../wire/types.js";
import type { StaticProps } from "../component.js";
import { choice, drawing, h, say, set } from "../controls.js";
import { mountCellGrid } from "../maps/cell-grid.js";
import { type TextComponent, type TextEvents, TextFrame } from "../maps/frame.js";
import type { MapValues } from "../maps/head-map.js";
import { isRightToLeft, sameHead } from "../maps/positions.js";
import { mountStage, type Stage } from "../maps/stage.js";
import type { MapKey } from "../maps/store.js";
import { labelOf, viewNotes, viewsIn } from "../maps/views.js";
import { mapInput, remarks, sidesOf, stripTitle } from "./draw.js";
import { drawChosen, drawLayers, hitLayers, layersBox, layoutLayers } from "./layers.js";
import {
  headOf,
  headSentence,
  integrationSentence,
  type Numbers,
  nameOf,
  numbersOf,
  outputSentence,
  panelOf,
  tokenValues,
  withSign,
} from "./model.js";
import { mountStrip, type StripView } from "./strip-view.js";

export interface AttributionProps extends StaticProps<AttributionDocument> {
  readonly view: MapView;
  readonly words: boolean;
  readonly hideSpecial: boolean;
  /** What is running, or what went wrong; empty when idle. */
  readonly status?: string;
}

export type AttributionEvents = TextEvents;

export type AttributionComponent = TextComponent<AttributionProps>;

const HINT = "Point at a token, a link, a head or a layer to read its value.";

/** Mount the attribution view into `el`. */
export function mount(
  el: HTMLElement,
  first: AttributionProps,
  events: AttributionEvents,
): AttributionComponent {
  let side: "received" | "given" = "received";
  let drawn: "matrix" | "lines" = "matrix";
  let decoded: {
    readonly panel: AttributionPanel;
    readonly buffer: Buffer;
    readonly numbers: Numbers;
  } | null = null;

  const frame = new TextFrame(el, first, events, { name: "attribution", hint: () => HINT, render });
  const { signal, root, live, state, readout, tell } = frame;
  const target = h("span", { class: "hw-target" });
  const carries = h("div", {});
  const integration = h("div", {});
  const notes = h("div", {});
  const strips = h("div", { class: "hw-strips" });
  const drawings = choice("Drawing", signal, (value) => {
    drawn = value === "lines" ? "lines" : "matrix";
    frame.render();
  });
  const sides = choice("Tokens", signal, (value) => {
    side = value === "given" ? "given" : "received";
    frame.render();
  });
  const grid = mountCellGrid(signal, {
    pick(layer, column) {
      const panel = panelOf(frame.props.document, frame.kind);
      if (panel === null) return;
      const head: HeadRef = [panel.kind, layer, column >= panel.heads ? -1 : column];
      events.onSelected([head]);
      say(live, `${nameOf(frame.props.document, head)} selected`);
    },
    told: tell,
  });
  const stages: readonly [Stage, Stage] = [mountStage(signal, tell), mountStage(signal, tell)];
  const heads = [h("div", { class: "hw-heading" }), h("div", { class: "hw-heading" })] as const;
  const columns = stages.map((stage, at) => h("div", { class: "hw-column" }, heads[at] ?? "", stage.element));
  const maps = h("div", { class: "hw-columns" }, ...columns);
  const aside = h("div", { class: "hw-aside" }, grid.element);
  const said = h("div", { class: "hw-notes" }, carries, integration, notes);
  const main = h("div", { class: "hw-main" }, strips, state, said);
  root.append(
    h(
      "div",
      { class: "hw-bar" },
      frame.title,
      frame.kinds.element,
      frame.views.element,
      drawings.element,
      sides.element,
      frame.words.element,
      frame.special.element,
    ),
    target,
    h("div", { class: "hw-split" }, aside, main),
    maps,
    readout,
    live,
  );
  const shownStrips: StripView[] = [];

  function numbers(panel: AttributionPanel): Numbers {
    const { buffer } = frame.props;
    if (decoded?.panel !== panel || decoded.buffer !== buffer) {
      decoded = { panel, buffer, numbers: numbersOf(panel, buffer) };
    }
    return decoded.numbers;
  }

  function renderControls(
    panel: AttributionPanel | null,
    { document, theme, ...own }: AttributionProps,
  ): void {
    frame.controls(panel?.kind ?? "", { ...own, title: document.title }, theme);
    say(target, panel === null ? "" : outputSentence(document));
    drawings.show(
      [
        ["matrix", "Matrix"],
        ["lines", "Lines"],
      ],
      drawn,
    );
    sides.show(
      panel?.kind === "cross"
        ? []
        : [
            ["received", "Tokens as keys"],
            ["given", "As queries"],
          ],
      side,
    );
  }

  function render(props: AttributionProps): void {
    const { document, theme } = props;
    const { width } = frame;
    const colors = palette(theme);
    frame.take(props.words);
    const panel = panelOf(document, frame.kind);
    renderControls(panel, props);
    aside.hidden = panel === null;
    strips.hidden = panel === null;
    maps.hidden = panel === null;
    if (panel === null) {
      const waiting =
        (props.status ?? "") === "" ? ["No result yet: the attribution is still being computed."] : [];
      for (const line of [carries, integration, notes, readout]) say(line, "");
      frame.finish(waiting, []);
      return;
    }
    const now = numbers(panel);
    const head = headOf(document, panel, now);
    const beside = renderGrid(panel, now, head, colors);
    const mainWidth = Math.max(280, beside > 0 ? width - beside - 16 : width);
    const wanted = viewsIn(props.view);
    const across = wanted.length > 1 && width >= 640 ? 2 : 1;
    set(maps, "data-across", across > 1);
    const each = across > 1 ? Math.floor((width - 16) / 2) : width;
    const messages: string[] = [];
    const explained: string[] = [];
    stages.forEach((stage, at) => {
      const view = wanted[at];
      const found = view === undefined ? null : frame.store.state({ view, head });
      const column = columns[at];
      if (column !== undefined) column.hidden = found?.status !== "ready";
      if (view === undefined || found === null) return;
      if (found.status !== "ready") {
        messages.push(found.message);
        return;
      }
      const name = `${labelOf(view)} · ${nameOf(document, head)}`;
      say(heads[at] ?? frame.title, name);
      if (view === "norm") explained.push(...viewNotes([found.map]));
      stage.update({
        input: mapInput(document, panel, found.map, props.hideSpecial, colors, each - 2),
        mode: drawn,
        zoom: 1,
        label: `${labelOf(view)} of ${nameOf(document, head)}, drawn as ${drawn}`,
      });
    });
    const wish: MapKey[] = wanted.map((view) => ({ view, head }));
    if (head[2] >= 0 && !wanted.includes("attribution")) wish.unshift({ view: "attribution", head });
    const own = head[2] < 0 ? null : frame.store.state({ view: "attribution", head });
    renderStrips(panel, now, head, own?.status === "ready" ? own.map : null, colors, mainWidth);
    if (own !== null && own.status !== "ready") messages.push(own.message);
    say(carries, headSentence(document, panel, now, head));
    say(integration, integrationSentence(document, panel, now, head[1]));
    say(notes, [...explained, ...remarks(panel, props.hideSpecial)].join(" "));
    if (readout.textContent === "") tell("", false);
    frame.finish(messages, wish);
  }

  /** The totals; returns their width when they stand beside the maps, else 0. */
  function renderGrid(panel: AttributionPanel, now: Numbers, head: HeadRef, colors: Palette): number {
    const { document } = frame.props;
    const { width } = frame;
    const unit = document.unit === "" ? "" : ` ${document.unit}`;
    const layout = layoutLayers(panel, now, Math.min(420, width), false);
    const beside = width - layout.width - 16 >= 420;
    set(root, "data-beside", beside);
    const body =
      drawLayers(layout, now, document.unit, colors) + drawChosen(layout, head[1], head[2], colors);
    grid.update({
      svg: drawing(layout.width, layout.height, body),
      width: layout.width,
      height: layout.height,
      rows: panel.layers,
      columns: panel.heads + 1,
      box: (layer, column) => layersBox(layout, layer, column),
      at: (x, y) => hitLayers(layout, x, y),
      label: `${panel.label}: attribution of ${panel.layers} layers by ${panel.heads} heads, the last column is the whole layer. Arrow keys move, Enter selects.`,
      describe: (layer, column) =>
        column >= panel.heads
          ? `Layer ${layer}, all heads: ${withSign(now.change[layer] ?? Number.NaN)}${unit}, integration gap ${withSign(now.gap[layer] ?? Number.NaN, 2).replace("+", "")}`
          : `${nameOf(document, [panel.kind, layer, column])}: ${withSign(now.totals[layer * panel.heads + column] ?? Number.NaN)}${unit}`,
      isSelected: (layer, column) => sameHead(head, [panel.kind, layer, column >= panel.heads ? -1 : column]),
    });
    return beside ? layout.width : 0;
  }

  function renderStrips(
    panel: AttributionPanel,
    now: Numbers,
    head: HeadRef,
    map: MapValues | null,
    colors: Palette,
    room: number,
  ): void {
    const { document, hideSpecial } = frame.props;
    const shown = sidesOf(panel, side);
    while (shownStrips.length < shown.length) {
      const strip = mountStrip(signal, tell);
      shownStrips.push(strip);
      strips.append(strip.element);
    }
    shownStrips.forEach((strip, at) => {
      const one = shown[at];
      const tokens = one === undefined ? null : tokenValues(panel, now, head, map, one, hideSpecial);
      strip.element.hidden = tokens === null;
      if (one === undefined || tokens === null) return;
      strip.update({
        tokens,
        title: stripTitle(document, head, one),
        unit: document.unit,
        target: document.target,
        mirrored: isRightToLeft(one === "received" ? panel.key : panel.query),
        palette: colors,
        width: room,
      });
    });
  }

  return frame.start();
}
