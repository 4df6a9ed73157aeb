/** A page that mounts any fixture as a notebook would, with a stand-in for the kernel, for pictures and by hand. */

import { type AttentionProps, mount as mountAttention } from "../components/attention/mount.js";
import { type AttributionProps, mount as mountAttribution } from "../components/attribution/mount.js";
import { mountDocument } from "../components/mounting.js";
import { mount as mountPruning } from "../components/pruning/mount.js";
import { mounts } from "../components/registry.js";
import type { Theme } from "../theme/palette.js";
import type {
  AttentionDocument,
  AttributionDocument,
  Document,
  HeadMap,
  HeadRef,
  PruningDocument,
} from "../wire/types.js";
import { curvesDocument, scatterDocument } from "./charts.js";
import { GRIDS } from "./grids.js";
import { HEADMAPS } from "./headmaps.js";
import { PATTERNS } from "./patterns.js";
import { PROBES } from "./probes.js";
import * as texts from "./texts.js";
import { TREES } from "./trees.js";
import { triggersDocument, triggersFound, triggersHostile, triggersMany } from "./triggers.js";
import {
  attentionDocument,
  attentionMap,
  attributionDocument,
  attributionMap,
  estimate,
  gridDocument,
  normMap,
  pruningDocument,
  translationDocument,
} from "./views.js";

const THREE: HeadRef[] = [
  ["encoder", 3, 5],
  ["encoder", 3, 6],
  ["encoder", 4, 0],
];

/** A document in another view, without maps of it: they come on demand. */
function inView<D extends AttentionDocument | AttributionDocument>(document: D, view: HeadMap["view"]): D {
  return { ...document, view };
}

/** Everything that has a picture, by name; `live` ones have a kernel. */
export const fixtures: Readonly<Record<string, () => Document>> = {
  attention: () => attentionDocument(texts.ENGLISH),
  "attention-three": () => attentionDocument(texts.ENGLISH, 12, 12, THREE),
  "attention-norm": () => inView(attentionDocument(texts.ENGLISH, 12, 12, THREE), "norm"),
  "attention-norm-matrix": () => ({
    ...inView(attentionDocument(texts.ENGLISH, 12, 12, THREE), "norm"),
    mode: "matrix",
  }),
  "attention-attribution": () => inView(attentionDocument(texts.ENGLISH), "attribution"),
  "attention-attribution-matrix": () => ({
    ...inView(attentionDocument(texts.ENGLISH, 12, 12, THREE), "attribution"),
    mode: "matrix",
  }),
  "attention-lacking": () => ({
    ...attentionDocument(texts.ENGLISH),
    lacking: { attribution: "No attribution: BertModel has no prediction that attribution can follow." },
  }),
  "attention-matrix": () => ({ ...attentionDocument(texts.ENGLISH, 12, 12, THREE), mode: "matrix" }),
  "attention-128": () => ({ ...attentionDocument(texts.longText(128)), mode: "matrix" }),
  "attention-512": () => ({ ...attentionDocument(texts.longText(512)), mode: "matrix" }),
  "attention-512-lines": () => attentionDocument(texts.longText(512)),
  "attention-hebrew": () => attentionDocument(texts.HEBREW),
  "attention-hostile": () => attentionDocument(texts.HOSTILE),
  "attention-one": () => attentionDocument(texts.ONE),
  "attention-long-token": () => attentionDocument(texts.LONG_TOKEN),
  "attention-continued": () => attentionDocument(texts.CONTINUED),
  "attention-24": () => attentionDocument(texts.ENGLISH, 24, 16),
  "attention-48": () => attentionDocument(texts.ENGLISH, 48, 64),
  "attention-cross": () => translationDocument(texts.ENGLISH, texts.FRENCH),
  attribution: () => attributionDocument(texts.ENGLISH),
  "attribution-head": () => attributionDocument(texts.ENGLISH, 12, 12, ["encoder", 4, 3]),
  "attribution-norm": () => inView(attributionDocument(texts.ENGLISH), "norm"),
  "attribution-norm-head": () => inView(attributionDocument(texts.HEBREW, 12, 12, ["encoder", 4, 3]), "norm"),
  "attribution-hebrew": () => attributionDocument(texts.HEBREW),
  "attribution-128": () => attributionDocument(texts.longText(128)),
  "attribution-hostile": () => attributionDocument(texts.HOSTILE),
  "attribution-long-token": () => attributionDocument(texts.LONG_TOKEN),
  "attribution-one": () => attributionDocument(texts.ONE, 24, 16),
  ...Object.fromEntries(Object.entries(GRIDS).map(([name, grid]) => [`grid-${name}`, () => grid])),
  pruning: () => pruningDocument(),
  scatter: () =>
    scatterDocument(12, 12, {
      selected: [
        ["encoder", 11, 3],
        ["encoder", 7, 2],
        ["encoder", 0, 5],
      ],
    }),
  "scatter-72": () => scatterDocument(6, 12, { errors: false, unit: "" }),
  "scatter-384": () => scatterDocument(24, 16),
  "scatter-kinds": () => scatterDocument(6, 8, { kinds: ["encoder", "decoder", "cross"] }),
  "scatter-hostile": () => scatterDocument(2, 3, { hostile: true }),
  curves: () => curvesDocument(6),
  "curves-loss": () => curvesDocument(2, { metric: "loss" }),
  "curves-hostile": () => curvesDocument(3, { hostile: true }),
  ...TREES,
  triggers: triggersDocument,
  "triggers-found": triggersFound,
  "triggers-many": triggersMany,
  "triggers-hostile": triggersHostile,
  ...HEADMAPS,
  ...PATTERNS,
  ...PROBES,
  dashboard: () => ({
    schema: 1,
    document: "dashboard",
    title: "A small encoder",
    parts: [
      { ...gridDocument(12, 12, []), title: "Importance" },
      attentionDocument(texts.ENGLISH, 12, 12, THREE),
      attributionDocument(texts.ENGLISH),
      pruningDocument(12, 12, 30),
    ],
  }),
};

function answerLater(work: () => void): void {
  setTimeout(work, 60);
}

function fakeMap(
  document: AttentionDocument | AttributionDocument,
  head: HeadRef,
  view: HeadMap["view"],
): HeadMap {
  const panel = document.panels.find((one) => one.kind === head[0]);
  if (panel === undefined) throw new Error(`no panel for ${head.join(" ")}`);
  if (view === "norm") return normMap(head, panel.query, panel.key);
  if (view === "attention") return attentionMap(head, panel.query, panel.key);
  const map = attributionMap(head, panel.query, panel.key, panel.heads);
  return { ...map, about: "log-odds of “positive”", unit: "log-odds" };
}

function liveAttention(el: HTMLElement, first: AttentionDocument, theme: Theme): void {
  let props: AttentionProps = { document: first, theme };
  const change = (part: Partial<AttentionDocument>): void => {
    props = { ...props, document: { ...props.document, ...part } };
    component.update(props);
  };
  const component = mountAttention(el, props, {
    onSelected: (selected) => change({ selected }),
    onMode: (mode) => change({ mode }),
    onHideSpecial: (hide_special) => change({ hide_special }),
    onWords: () => {},
    onView: (view) => change({ view: view === "both" ? "attention" : view }),
    onRequest: ({ id, head, view }) =>
      answerLater(() =>
        component.receive({ id, answer: "head_map", map: fakeMap(props.document, head, view) }, undefined),
      ),
  });
}

function liveAttribution(el: HTMLElement, first: AttributionDocument, theme: Theme): void {
  let props: AttributionProps = {
    document: first,
    theme,
    view: first.view ?? "both",
    words: false,
    hideSpecial: false,
  };
  const change = (part: Partial<AttributionProps>): void => {
    props = { ...props, ...part };
    component.update(props);
  };
  const component = mountAttribution(el, props, {
    onSelected: (selected) => change({ document: { ...props.document, selected } }),
    onView: (view) => change({ view }),
    onHideSpecial: (hideSpecial) => change({ hideSpecial }),
    onWords: () => {},
    onRequest: ({ id, head, view }) =>
      answerLater(() =>
        component.receive({ id, answer: "head_map", map: fakeMap(props.document, head, view) }, undefined),
      ),
  });
}

/** What a test reads: every event in order. */
export const events: unknown[] = [];

function livePruning(el: HTMLElement, document: PruningDocument, theme: Theme): void {
  const component = mountPruning(
    el,
    { document: { ...document, grid: { ...document.grid, panels: [] } }, theme },
    {
      onPruned: (pruned) => events.push(["pruned", pruned.length, performance.now()]),
      onCount: (count) => events.push(["count", count, performance.now()]),
      onRequest: (request) => {
        events.push(["request", request]);
        if (request.ask !== "estimate") return;
        const { id, count } = request;
        const value = 0.972 - 0.3 * (count / document.order.length) ** 2;
        [100, 400, 1200].forEach((n, at) => {
          setTimeout(
            () =>
              component.receive({
                id,
                answer: "estimate",
                done: n === 1200,
                point: { count, estimate: estimate(value, n, 1200, value - 0.972) },
              }),
            80 * (at + 1),
          );
        });
      },
    },
  );
}

/** Mount a fixture into the page's body. */
export function show(name: string, theme: Theme, live: boolean): void {
  const make = fixtures[name];
  if (make === undefined) throw new Error(`no fixture is called ${name}`);
  document.body.style.background = theme === "dark" ? "#111418" : "#ffffff";
  const el = document.createElement("div");
  document.body.replaceChildren(el);
  const content = make();
  if (live && content.document === "attention") liveAttention(el, content, theme);
  else if (live && content.document === "attribution") liveAttribution(el, content, theme);
  else if (live && content.document === "pruning") livePruning(el, content, theme);
  else mountDocument(mounts, el, { document: content, theme });
}

Object.assign(globalThis, { headwidgetsGallery: { show, fixtures, events } });
