/** Attribution, live: shaded tokens, a head or layer to choose, maps of attribution and attention. */

import type { MapView } from "../../marks/picture.js";
import { type Palette, palette } from "../../theme/palette.js";
import type { Buffer } from "../../wire/decode.js";
import type {
  Answer,
  AttributionDocument,
  AttributionPanel,
  HeadMapRequest,
  HeadRef,
  KindName,
} from "../../wire/types.js";
import type { Component, StaticProps } from "../component.js";
import { check, choice, drawing, h, liveRegion, rootOf, say, set } from "../controls.js";
import { mountCellGrid } from "../maps/cell-grid.js";
import type { MapValues } from "../maps/head-map.js";
import { isRightToLeft, sameHead } from "../maps/positions.js";
import { mountStage, type Stage } from "../maps/stage.js";
import { MapStore } from "../maps/store.js";
import { observeWidth } from "../width.js";
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

/** What the user meant. */
export interface AttributionEvents {
  onSelected(selected: HeadRef[]): void;
  onView(view: MapView): void;
  onHideSpecial(hide: boolean): void;
  readonly onWords?: (words: boolean) => void;
  readonly onRequest?: (request: HeadMapRequest) => void;
}

export interface AttributionComponent extends Component<AttributionProps> {
  receive(answer: Answer, buffer: Buffer): boolean;
}

/** Mount the attribution view into `el`. */
export function mount(
  el: HTMLElement,
  first: AttributionProps,
  events: AttributionEvents,
): AttributionComponent {
  const teardown = new AbortController();
  const { signal } = teardown;
  let props = first;
  let kind: KindName | null = null;
  let side: "received" | "given" = "received";
  let drawn: "matrix" | "lines" = "matrix";
  let width = 720;
  let identity = "";
  let failure = "";
  let selection = "";
  let decoded: {
    readonly panel: AttributionPanel;
    readonly buffer: Buffer;
    readonly numbers: Numbers;
  } | null = null;

  const root = rootOf(el, "attribution", first.document.title, signal);
  const live = liveRegion();
  const title = h("strong", {});
  const target = h("span", { class: "hw-target" });
  const state = h("div", { class: "hw-state" });
  const readout = h("div", { class: "hw-readout" });
  const carries = h("div", {});
  const integration = h("div", {});
  const notes = h("div", {});
  const strips = h("div", { class: "hw-strips" });
  const tell = (text: string, spoken: boolean): void => {
    say(readout, text === "" ? "Point at a token, a link, a head or a layer to read its value." : text);
    if (spoken) say(live, text);
  };
  const kinds = choice("Kind of attention", signal, (value) => {
    kind = value as KindName;
    render();
  });
  const views = choice("Maps", signal, (value) => events.onView(value as MapView));
  const drawings = choice("Drawing", signal, (value) => {
    drawn = value === "lines" ? "lines" : "matrix";
    render();
  });
  const sides = choice("Tokens", signal, (value) => {
    side = value === "given" ? "given" : "received";
    render();
  });
  const words = check("whole words", signal, (on) => events.onWords?.(on));
  const special = check("hide special tokens", signal, (on) => events.onHideSpecial(on));
  const grid = mountCellGrid(signal, {
    pick(layer, column) {
      const panel = panelOf(props.document, kind);
      if (panel === null) return;
      const head: HeadRef = [panel.kind, layer, column >= panel.heads ? -1 : column];
      events.onSelected([head]);
      say(live, `${nameOf(props.document, head)} selected`);
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
      title,
      kinds.element,
      views.element,
      drawings.element,
      sides.element,
      words.element,
      special.element,
    ),
    target,
    h("div", { class: "hw-split" }, aside, main),
    maps,
    readout,
    live,
  );
  const store = new MapStore(events.onRequest, render, 1 + Math.floor(Math.random() * 1e6) * 1000);
  const shownStrips: StripView[] = [];

  function numbers(panel: AttributionPanel): Numbers {
    if (decoded?.panel !== panel || decoded.buffer !== props.buffer) {
      decoded = { panel, buffer: props.buffer, numbers: numbersOf(panel, props.buffer) };
    }
    return decoded.numbers;
  }

  function renderControls(panel: AttributionPanel | null): void {
    const { document, theme } = props;
    set(root, "data-theme", theme);
    set(root, "aria-label", document.title);
    say(title, document.title);
    say(target, panel === null ? "" : outputSentence(document));
    kinds.show(
      document.panels.map((one) => [one.kind, one.label]),
      panel?.kind ?? "",
    );
    views.show(
      [
        ["attribution", "Attribution"],
        ["attention", "Attention"],
        ["both", "Both"],
      ],
      props.view,
    );
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
    words.show(props.words, events.onWords !== undefined, events.onWords ? "" : "Needs a running kernel");
    special.show(props.hideSpecial, true, "");
  }

  function render(): void {
    if (signal.aborted) return;
    const { document, buffer, theme } = props;
    const colors = palette(theme);
    const identityNow = JSON.stringify([
      document.text,
      document.provenance,
      document.target,
      document.panels.map((one) => [one.kind, one.layers, one.heads, one.query.length, one.key.length]),
    ]);
    store.load(document.maps, buffer, props.words, identityNow !== identity);
    if (identityNow !== identity) failure = "";
    identity = identityNow;
    const selectionNow = JSON.stringify(document.selected);
    if (selectionNow !== selection) {
      selection = selectionNow;
      if (document.selected[0] !== undefined) kind = document.selected[0][0];
    }
    const panel = panelOf(document, kind);
    renderControls(panel);
    const messages = [props.status ?? "", failure].filter((one) => one !== "");
    aside.hidden = panel === null;
    strips.hidden = panel === null;
    maps.hidden = panel === null;
    if (panel === null) {
      say(state, messages[0] ?? "No result yet: the attribution is still being computed.");
      state.hidden = false;
      for (const line of [carries, integration, notes, readout]) say(line, "");
      return;
    }
    const now = numbers(panel);
    const head = headOf(document, panel, now);
    const beside = renderGrid(panel, now, head, colors);
    const mainWidth = Math.max(280, beside > 0 ? width - beside - 16 : width);
    const wanted: HeadMapRequest["view"][] =
      props.view === "both" ? ["attribution", "attention"] : [props.view];
    const across = wanted.length > 1 && width >= 640 ? 2 : 1;
    set(maps, "data-across", across > 1);
    const each = across > 1 ? Math.floor((width - 16) / 2) : width;
    stages.forEach((stage, at) => {
      const view = wanted[at];
      const found = view === undefined ? null : store.state({ view, head });
      const column = columns[at];
      if (column !== undefined) column.hidden = found?.status !== "ready";
      if (view === undefined || found === null) return;
      if (found.status !== "ready") {
        messages.push(found.message);
        return;
      }
      say(
        heads[at] ?? title,
        `${view === "attribution" ? "Attribution" : "Attention"} · ${nameOf(document, head)}`,
      );
      stage.update({
        input: mapInput(document, panel, found.map, props.hideSpecial, colors, each - 2),
        mode: drawn,
        zoom: 1,
        label: `${view} of ${nameOf(document, head)}, drawn as ${drawn}`,
      });
    });
    const wish = [...wanted.map((view) => ({ view, head }))];
    if (head[2] >= 0 && !wanted.includes("attribution")) wish.unshift({ view: "attribution", head });
    const own = head[2] < 0 ? null : store.state({ view: "attribution", head });
    renderStrips(panel, now, head, own?.status === "ready" ? own.map : null, colors, mainWidth);
    if (own !== null && own.status !== "ready" && !messages.includes(own.message)) messages.push(own.message);
    say(state, [...new Set(messages)].join(" "));
    state.hidden = messages.length === 0;
    say(carries, headSentence(document, panel, now, head));
    say(integration, integrationSentence(document, panel, now, head[1]));
    say(notes, remarks(panel, props.hideSpecial).join(" "));
    if (readout.textContent === "") tell("", false);
    store.want(wish);
  }

  /** The totals; returns their width when they stand beside the maps, else 0. */
  function renderGrid(panel: AttributionPanel, now: Numbers, head: HeadRef, colors: Palette): number {
    const { document } = props;
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
    const shown = sidesOf(panel, side);
    while (shownStrips.length < shown.length) {
      const strip = mountStrip(signal, tell);
      shownStrips.push(strip);
      strips.append(strip.element);
    }
    shownStrips.forEach((strip, at) => {
      const one = shown[at];
      const tokens = one === undefined ? null : tokenValues(panel, now, head, map, one, props.hideSpecial);
      strip.element.hidden = tokens === null;
      if (one === undefined || tokens === null) return;
      strip.update({
        tokens,
        title: stripTitle(props.document, head, one),
        unit: props.document.unit,
        target: props.document.target,
        mirrored: isRightToLeft(one === "received" ? panel.key : panel.query),
        palette: colors,
        width: room,
      });
    });
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
