// @vitest-environment happy-dom
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { DrawOptions } from "../../marks/picture.js";
import { activeElements, found, parsedSvg, press } from "../../testing/dom.js";
import * as texts from "../../testing/texts.js";
import {
  attentionDocument,
  attentionMap,
  attributionMap,
  normMap,
  translationDocument,
} from "../../testing/views.js";
import type { AttentionDocument, HeadMapRequest, HeadRef } from "../../wire/types.js";
import { draw } from "./draw.js";
import { type AttentionEvents, type AttentionProps, mount } from "./mount.js";
import { mountStatic } from "./static.js";

const OPTIONS: DrawOptions = { theme: "light", width: 720, background: true, provenance: true };
const HEADS: HeadRef[] = [
  ["encoder", 3, 5],
  ["encoder", 0, 1],
];

const DOCUMENTS: Readonly<Record<string, AttentionDocument>> = {
  english: attentionDocument(texts.ENGLISH, 12, 12, HEADS),
  hebrew: attentionDocument(texts.HEBREW),
  hostile: attentionDocument(texts.HOSTILE),
  "one token": attentionDocument(texts.ONE),
  "a long token": attentionDocument(texts.LONG_TOKEN),
  "a shared character": attentionDocument(texts.CONTINUED),
  "24 layers": attentionDocument(texts.ENGLISH, 24, 16),
  "128 tokens": attentionDocument(texts.longText(128)),
  translation: translationDocument(texts.ENGLISH, texts.FRENCH),
  "no maps": { ...attentionDocument(texts.ENGLISH), maps: [] },
  "nothing selected": { ...attentionDocument(texts.ENGLISH), maps: [], selected: [] },
  "only special tokens, hidden": { ...attentionDocument(texts.tokensOf("[CLS] [SEP]")), hide_special: true },
};

describe("draw", () => {
  for (const [name, document] of Object.entries(DOCUMENTS))
    for (const mode of ["lines", "matrix"] as const)
      for (const theme of ["light", "dark"] as const)
        it(`${name}, ${mode}, ${theme}: is one well-formed, inert picture that fits`, () => {
          const picture = draw({ ...document, mode }, { ...OPTIONS, theme });
          const root = parsedSvg(picture.svg);
          expect(activeElements(root)).toEqual([]);
          expect(picture.svg).not.toMatch(/NaN|undefined|Infinity/);
          expect(picture.width).toBeLessThanOrEqual(720);
          expect(root.documentElement.getAttribute("aria-label")).toContain("Attention");
        });

  it("draws hostile text as text, whole in the title of a cut label", () => {
    const root = parsedSvg(draw(attentionDocument(texts.HOSTILE), OPTIONS).svg);
    const titles = [...root.querySelectorAll("title")].map((title) => title.textContent);
    expect(titles).toContain("</script><img src=x onerror=alert(1)>");
  });

  it("draws a matrix of more than 2,500 cells as one image, and 512 tokens in under 200 kB", () => {
    const picture = draw({ ...attentionDocument(texts.longText(512)), mode: "matrix" }, OPTIONS);
    const root = parsedSvg(picture.svg);
    expect(root.querySelectorAll("image")).toHaveLength(1);
    expect(picture.svg.length).toBeLessThan(200_000);
    expect(picture.svg).toContain("stands for 2 neighbouring tokens");
  });

  it("draws a long text's lines as a matrix and says so", () => {
    const picture = draw(attentionDocument(texts.longText(300)), OPTIONS);
    expect(picture.svg).toContain("A text of 300 positions is drawn as a matrix");
  });

  it("says what is hidden, and draws no row for it", () => {
    const shown = draw({ ...attentionDocument(texts.ENGLISH), hide_special: true }, OPTIONS).svg;
    expect(shown).toContain("2 special tokens are hidden");
    expect(shown).not.toContain("[CLS]");
    expect(draw(attentionDocument(texts.ENGLISH), OPTIONS).svg).toContain("[CLS]");
  });

  it("shows the overview when no head's map is there", () => {
    const picture = draw(DOCUMENTS["no maps"] as AttentionDocument, OPTIONS);
    expect(parsedSvg(picture.svg).querySelectorAll("image")).toHaveLength(1);
    expect(picture.svg).toContain("scaled to its own largest weight");
  });

  it("draws the chosen view: its title, quantity and scale, and not the maps of another", () => {
    const head: HeadRef = ["encoder", 3, 5];
    const norm = normMap(head, texts.ENGLISH, texts.ENGLISH);
    const signed = {
      ...attributionMap(head, texts.ENGLISH, texts.ENGLISH, 12),
      about: "logit of “x”",
      unit: "nats",
    };
    const maps = [...attentionDocument(texts.ENGLISH).maps, { ...norm, top: 4 }, signed];
    const document = { ...attentionDocument(texts.ENGLISH), maps, mode: "matrix" as const };
    const texted = (view: "attention" | "norm" | "attribution"): string => {
      const root = parsedSvg(draw({ ...document, view }, OPTIONS).svg);
      return [...root.querySelectorAll("text")].map((one) => one.textContent).join("|");
    };
    expect(texted("attention")).toMatch(/Attention\|.*attention weight/);
    expect(texted("norm")).toMatch(/Norm-based attention\|.*norm of the weighted vector\|0\|1\|2\|3\|4\|/);
    expect(texted("norm")).toContain("attention weight times the length of the vector");
    expect(texted("attribution")).toMatch(/Attribution\|.*attribution \(nats\)\|−/);
    expect(texted("attribution")).toContain("logit of “x”: positive links support it");
    const missing = draw({ ...document, maps: [norm], view: "attribution" }, OPTIONS).svg;
    expect(missing).toContain("Small pictures: every head");
  });

  it("names every head on show, with its kind where there are several", () => {
    expect(draw(DOCUMENTS.english as AttentionDocument, OPTIONS).svg).toContain("L0H1");
    expect(draw(DOCUMENTS.translation as AttentionDocument, OPTIONS).svg).toContain("cross.L2H1");
  });
});

describe("mount", () => {
  let el: HTMLElement;
  let props: AttentionProps;
  let sent: HeadMapRequest[];
  let selected: HeadRef[][];
  let views: string[];
  const events: AttentionEvents = {
    onSelected: (heads) => selected.push(heads),
    onMode() {},
    onHideSpecial() {},
    onView: (view) => views.push(view),
    onRequest: (request) => sent.push(request),
  };

  beforeEach(() => {
    el = document.createElement("div");
    document.body.append(el);
    sent = [];
    selected = [];
    views = [];
    props = { document: attentionDocument(texts.ENGLISH), theme: "light" };
  });
  afterEach(() => el.remove());

  it("makes the same page from the same props, and leaves nothing behind", () => {
    const view = mount(el, props, events);
    const before = el.innerHTML;
    view.update(props);
    expect(el.innerHTML).toBe(before);
    view.destroy();
    expect(el.innerHTML).toBe("");
  });

  it("asks for a selected head's map, says it is loading, and shows it when it comes", () => {
    const view = mount(el, props, events);
    const head: HeadRef = ["encoder", 1, 2];
    view.update({ ...props, document: { ...props.document, selected: [head] } });
    expect(sent).toHaveLength(1);
    expect(sent[0]).toMatchObject({ ask: "head_map", view: "attention", head, words: false });
    expect(found(el, ".hw-state").textContent).toContain("Loading L1H2");
    const map = attentionMap(head, texts.ENGLISH, texts.ENGLISH);
    expect(view.receive({ id: sent[0]?.id ?? 0, answer: "head_map", map }, undefined)).toBe(true);
    expect(found(el, ".hw-state").hidden).toBe(true);
    expect(found(el, ".hw-maps").getAttribute("aria-label")).toContain("L1H2");
    view.destroy();
  });

  it("shows a failure as the sentence that came", () => {
    const view = mount(el, { ...props, document: { ...props.document, maps: [] } }, events);
    view.receive({ id: sent[0]?.id ?? 0, answer: "error", message: "This widget is closed." }, undefined);
    expect(found(el, ".hw-state").textContent).toBe("This widget is closed.");
    view.destroy();
  });

  it("chooses heads by keyboard: arrows move, Enter chooses, Shift Enter adds", () => {
    const view = mount(el, props, events);
    const cell = found(el, '[role="gridcell"]');
    press(cell, "ArrowDown");
    press(cell, "ArrowRight");
    expect(cell.getAttribute("aria-label")).toBe("L1H1");
    press(cell, "Enter");
    press(cell, "Enter", { shiftKey: true });
    expect(selected).toEqual([
      [["encoder", 1, 1]],
      [
        ["encoder", 3, 5],
        ["encoder", 1, 1],
      ],
    ]);
    view.destroy();
  });

  it("toggles the view by mouse and keyboard, keeps the heads, and asks for the maps of the view", () => {
    const view = mount(el, props, events);
    const radio = (name: string): HTMLElement => found(el, `[data-value="${name}"]`);
    radio("norm").click();
    expect(views).toEqual(["norm"]);
    view.update({ ...props, document: { ...props.document, view: "norm" } });
    expect(radio("norm").getAttribute("aria-checked")).toBe("true");
    expect(sent).toHaveLength(1);
    expect(sent[0]).toMatchObject({ ask: "head_map", view: "norm", head: ["encoder", 3, 5] });
    const map = normMap(["encoder", 3, 5], texts.ENGLISH, texts.ENGLISH);
    view.receive({ id: sent[0]?.id ?? 0, answer: "head_map", map }, undefined);
    expect(found(el, ".hw-maps").getAttribute("aria-label")).toContain("Norm of L3H5");
    press(radio("norm"), "ArrowRight");
    press(radio("norm"), "ArrowLeft");
    expect(views).toEqual(["norm", "attribution", "norm"]);
    expect(selected).toEqual([]);
    view.destroy();
  });

  it("offers no view that is lacking, and says why", () => {
    const lacking = { norm: "No norms in this family." };
    const view = mount(el, { ...props, document: { ...props.document, lacking } }, events);
    const norm = found(el, '[data-value="norm"]');
    expect(norm.title).toBe("No norms in this family.");
    expect(norm.getAttribute("aria-disabled")).toBe("true");
    norm.click();
    expect(found(el, ".hw-readout").textContent).toBe("No norms in this family.");
    const attention = found(el, '[data-value="attention"]');
    attention.focus();
    press(attention, "ArrowRight");
    expect(views).toEqual(["attribution"]);
    view.destroy();
  });

  it("asks again for what was given up", () => {
    const view = mount(el, { ...props, document: { ...props.document, view: "attribution" } }, events);
    const id = sent[0]?.id ?? 0;
    view.update(props);
    expect(view.receive({ id, answer: "done" }, undefined)).toBe(true);
    expect(found(el, ".hw-state").hidden).toBe(true);
    expect(sent).toHaveLength(1);
    view.update({ ...props, document: { ...props.document, view: "attribution" } });
    expect(sent.map((request) => request.view)).toEqual(["attribution", "attribution"]);
    view.destroy();
  });

  it("without a kernel offers the views whose maps were saved", () => {
    const maps = [...props.document.maps, normMap(["encoder", 3, 5], texts.ENGLISH, texts.ENGLISH)];
    const view = mountStatic(el, { ...props, document: { ...props.document, maps, view: "norm" } });
    expect(found(el, ".hw-maps").getAttribute("aria-label")).toContain("Norm of L3H5");
    expect(found(el, '[data-value="attribution"]').title).toContain("Not in this file");
    found(el, '[data-value="attention"]').click();
    expect(found(el, ".hw-maps").getAttribute("aria-label")).toContain("Attention of L3H5");
    view.destroy();
  });

  it("reads a token's links out by keyboard and keeps its keys to itself", () => {
    const view = mount(el, props, events);
    const leaked: string[] = [];
    const listen = (event: KeyboardEvent) => leaked.push(event.key);
    document.addEventListener("keydown", listen);
    const maps = found(el, ".hw-maps");
    press(maps, "ArrowDown");
    press(maps, "ArrowDown");
    for (const key of ["a", "d", "x"]) press(maps, key);
    document.removeEventListener("keydown", listen);
    expect(found(el, '[role="status"]').textContent).toMatch(/“the” \(position 1\) looks at “/);
    expect(leaked).toEqual([]);
    expect(found(el, ".hw-root").getAttribute("data-lm-suppress-shortcuts")).toBe("true");
    press(maps, "Escape");
    expect(found(el, ".hw-overlay").innerHTML).toBe("");
    view.destroy();
  });

  it("keeps hostile text inert in the page", () => {
    const view = mount(el, { document: attentionDocument(texts.HOSTILE), theme: "dark" }, events);
    expect(activeElements(el)).toEqual([]);
    view.destroy();
  });

  it("without a kernel keeps its own selection and says which map is not saved", () => {
    const view = mountStatic(el, props);
    const cell = found(el, '[role="gridcell"]');
    press(cell, "Enter");
    expect(found(el, ".hw-state").textContent).toContain("L0H0 is not in this file");
    const words = found<HTMLInputElement>(el, 'input[type="checkbox"]');
    expect(words.disabled).toBe(true);
    view.destroy();
    expect(el.innerHTML).toBe("");
  });
});
