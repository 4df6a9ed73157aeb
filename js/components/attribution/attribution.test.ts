// @vitest-environment happy-dom
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { DrawOptions } from "../../marks/picture.js";
import { measure } from "../../marks/text.js";
import { activeElements, found, parsedSvg, press } from "../../testing/dom.js";
import * as texts from "../../testing/texts.js";
import {
  attributionDocument,
  attributionMap,
  attributionPanel,
  attributionValues,
  normMap,
  packed,
} from "../../testing/views.js";
import { LIGHT } from "../../theme/palette.js";
import type { AttributionDocument, HeadMapRequest, HeadRef } from "../../wire/types.js";
import { decodeMap } from "../maps/head-map.js";
import { draw } from "./draw.js";
import { hitLayers, layersBox, layoutLayers } from "./layers.js";
import { headOf, integrationSentence, numbersOf, outputSentence, panelOf, tokenValues } from "./model.js";
import { type AttributionEvents, type AttributionProps, mount } from "./mount.js";
import { hitStrip, layoutStrip, short } from "./strip.js";

const OPTIONS: DrawOptions = { theme: "light", width: 720, background: true, provenance: true };
const ENGLISH = attributionDocument(texts.ENGLISH);

function panelIn(document: AttributionDocument) {
  const panel = panelOf(document, null);
  if (panel === null) throw new Error("no panel");
  return { panel, numbers: numbersOf(panel) };
}

const CROSS: AttributionDocument = {
  ...ENGLISH,
  panels: [attributionPanel("cross", texts.FRENCH, texts.ENGLISH, 4, 4)],
  maps: [],
  selected: [["cross", 1, -1]],
};

const DOCUMENTS: Readonly<Record<string, AttributionDocument>> = {
  english: ENGLISH,
  hebrew: attributionDocument(texts.HEBREW),
  hostile: attributionDocument(texts.HOSTILE),
  "one token": attributionDocument(texts.ONE),
  "a long token": attributionDocument(texts.LONG_TOKEN),
  "a shared character": attributionDocument(texts.CONTINUED),
  "24 layers": attributionDocument(texts.ENGLISH, 24, 16),
  "128 tokens": attributionDocument(texts.longText(128), 6, 12),
  "one head": attributionDocument(texts.ENGLISH, 12, 12, ["encoder", 4, 3]),
  cross: CROSS,
  "no result yet": { ...ENGLISH, panels: [], maps: [], selected: [] },
  "no maps": { ...ENGLISH, maps: [], selected: [["encoder", 2, 2]] },
};

describe("a narrow picture", () => {
  it("cuts no sentence: what was attributed, its value, headings and notes are wrapped", () => {
    const { svg, width } = draw(
      { ...ENGLISH, target: "a target of many words ".repeat(4).trim() },
      { ...OPTIONS, width: 400 },
    );
    const lines = [...parsedSvg(svg).querySelectorAll("text")];
    const words = lines.map((one) => one.textContent).join(" ");
    expect(words).toContain(outputSentence(ENGLISH).split(": ").at(-1));
    expect(words.replace(/\s+/g, " ")).toContain("the change of the output by every layer");
    for (const line of lines)
      if (!line.getAttribute("transform") && line.getAttribute("text-anchor") === null)
        expect(measure(line.textContent ?? "", Number(line.getAttribute("font-size")))).toBeLessThanOrEqual(
          width,
        );
  });
});

describe("numbers under tokens", () => {
  it("have the decimals of the largest, and noise is 0", () => {
    const numbers = [4.84, 0.06, -0.0034, 0.0009, Number.NaN].map((value) => short(value, 4.84));
    expect(numbers).toEqual(["+4.84", "+0.06", "0", "0", "–"]);
    expect(short(-0.0312, 0.0312)).toBe("−0.0312");
    expect(short(123.4, 123.4)).toBe("+123");
    expect(short(0, 0)).toBe("0");
  });
});

describe("draw", () => {
  for (const [name, document] of Object.entries(DOCUMENTS))
    for (const theme of ["light", "dark"] as const)
      it(`${name}, ${theme}: is one well-formed, inert picture that fits`, () => {
        const picture = draw(document, { ...OPTIONS, theme });
        const root = parsedSvg(picture.svg);
        expect(activeElements(root)).toEqual([]);
        expect(picture.svg).not.toMatch(/NaN|undefined|Infinity/);
        expect(picture.width).toBeLessThanOrEqual(720);
        expect(picture.svg.length).toBeLessThan(200_000);
      });

  it("speaks of the integration error and never of accuracy", () => {
    const { svg } = draw(ENGLISH, OPTIONS);
    expect(svg).toContain("Integration error: the links of layer 3 add up to");
    expect(svg.toLowerCase()).not.toContain("accura");
  });

  it("shows attribution, attention or both, as asked", () => {
    const count = (svg: string) => svg.match(/from \(query\)/g)?.length ?? 0;
    expect(count(draw(ENGLISH, OPTIONS).svg)).toBe(2);
    expect(count(draw(ENGLISH, { ...OPTIONS, view: "attention" }).svg)).toBe(1);
    expect(draw(ENGLISH, { ...OPTIONS, view: "attribution" }).svg).not.toContain("attention weight");
  });

  it("hides special tokens when asked and says that sums are then not whole", () => {
    const { svg } = draw(ENGLISH, { ...OPTIONS, hide_special: true });
    expect(svg).not.toContain("[CLS]");
    expect(svg).toContain("need not add up");
  });

  it("shows source and target tokens of cross-attention", () => {
    const { svg } = draw(CROSS, OPTIONS);
    expect(svg).toContain("received by each token (key)");
    expect(svg).toContain("given by each token (query)");
  });
});

describe("numbers", () => {
  it("of tokens are the sums of all heads' links, for a layer", () => {
    const { panel, numbers } = panelIn(ENGLISH);
    const layer: HeadRef = ["encoder", 3, -1];
    const tokens = tokenValues(panel, numbers, layer, null, "received", false);
    let expected = 0;
    for (let head = 0; head < 12; head += 1) {
      const map = attributionValues(3, head, 13, 13);
      for (let query = 0; query < 13; query += 1) expected += map[query * 13 + 4] ?? 0;
    }
    expect(tokens?.values[4]).toBeCloseTo(expected, 4);
  });

  it("of tokens are the sums of one head's map, for a head, also when it was down-sampled", () => {
    const { panel, numbers } = panelIn(ENGLISH);
    const head: HeadRef = ["encoder", 4, 3];
    const map = decodeMap(attributionMap(head, texts.ENGLISH, texts.ENGLISH, 12));
    const whole = tokenValues(panel, numbers, head, map, "given", false);
    const sum = whole?.values.reduce((a, b) => a + b, 0);
    expect(sum).toBeCloseTo(numbers.totals[4 * 12 + 3] ?? Number.NaN, 4);
    const halved = { ...map, rows: 1, columns: 1, values: Float32Array.of(0.5), queryStep: 13, keyStep: 13 };
    expect(tokenValues(panel, numbers, head, halved, "given", false)?.values).toEqual([0.5 * 169]);
    expect(tokenValues(panel, numbers, head, null, "given", false)).toBeNull();
  });

  it("say what the links add up to, of what, in which unit, with how many steps", () => {
    const { panel } = panelIn(ENGLISH);
    const numbers = {
      ...numbersOf(panel),
      totals: new Float32Array(144).fill(1.234 / 12),
      change: Float64Array.from({ length: 12 }, () => 1.236),
      gap: Float64Array.from({ length: 12 }, () => 0.002),
      steps: Int32Array.from({ length: 12 }, () => 6),
    };
    const sentence = integrationSentence({ ...ENGLISH, tolerance: 0.01 }, panel, numbers, 3);
    expect(sentence).toBe(
      "Integration error: the links of layer 3 add up to 1.234 of 1.236 log-odds (0.2 %), with 6 steps of the gauss-legendre rule.",
    );
    const strict = integrationSentence({ ...ENGLISH, tolerance: 0.001 }, panel, numbers, 3);
    expect(strict).toContain("This is above the tolerance of 0.001.");
  });

  it("name the target and the output with its unit once", () => {
    expect(outputSentence(ENGLISH)).toBe("log-odds of “positive”: 2.414");
    expect(outputSentence({ ...ENGLISH, output: "probability", unit: "1/100", value: 0.5 })).toBe(
      "probability of “positive”: 0.5000 1/100",
    );
  });

  it("choose the layer that carries most when nothing is selected", () => {
    const { panel } = panelIn(ENGLISH);
    const numbers = { ...numbersOf(panel), change: Float64Array.from([0, 1, -5, 2, 0, 0, 0, 0, 0, 0, 0, 0]) };
    expect(headOf({ ...ENGLISH, selected: [] }, panel, numbers)).toEqual(["encoder", 2, -1]);
  });

  it("refuse arrays of another shape by name", () => {
    const panel = { ...panelIn(ENGLISH).panel, totals: packed(new Float32Array(3), [3]) };
    expect(() => numbersOf(panel)).toThrow(/encoder, totals/);
  });
});

describe("geometry", () => {
  it("lays tokens of a right-to-left text from the right", () => {
    const document = attributionDocument(texts.HEBREW);
    const { panel, numbers } = panelIn(document);
    const tokens = tokenValues(panel, numbers, ["encoder", 3, -1], null, "received", false);
    if (tokens === null) throw new Error("no tokens");
    const strip = layoutStrip(tokens, 400, true, LIGHT);
    expect(strip.boxes[0]?.x).toBeGreaterThan(strip.boxes[1]?.x ?? 0);
    for (const box of strip.boxes) {
      expect(box.x).toBeGreaterThanOrEqual(0);
      expect(box.x + box.width).toBeLessThanOrEqual(400);
      expect(hitStrip(strip, box.x + 2, box.y + 2)).toBe(box.at);
    }
  });

  it("has a cell for every head and one for the whole layer", () => {
    const { panel, numbers } = panelIn(ENGLISH);
    const layout = layoutLayers(panel, numbers, 420, true);
    for (const column of [0, 7, 12]) {
      const box = layersBox(layout, 5, column);
      expect(hitLayers(layout, box.x + box.width / 2, box.y + box.height / 2)).toEqual([5, column]);
    }
  });
});

describe("mount", () => {
  let el: HTMLElement;
  let sent: HeadMapRequest[];
  let selected: HeadRef[][];
  const events: AttributionEvents = {
    onSelected: (heads) => selected.push(heads),
    onView() {},
    onHideSpecial() {},
    onRequest: (request) => sent.push(request),
  };
  const props: AttributionProps = {
    document: ENGLISH,
    theme: "light",
    view: "both",
    words: false,
    hideSpecial: false,
  };

  beforeEach(() => {
    el = document.createElement("div");
    document.body.append(el);
    sent = [];
    selected = [];
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

  it("chooses a head by arrows and Enter, and the whole layer in the last column", () => {
    const view = mount(el, props, events);
    const cell = found(el, '[role="gridcell"]');
    press(cell, "ArrowRight");
    press(cell, "Enter");
    press(cell, "End");
    expect(cell.getAttribute("aria-label")).toMatch(/^Layer 0, all heads: /);
    press(cell, "Enter");
    expect(selected).toEqual([[["encoder", 0, 1]], [["encoder", 0, -1]]]);
    view.destroy();
  });

  it("asks for both maps of a newly chosen head, one after the other", () => {
    const view = mount(el, props, events);
    const head: HeadRef = ["encoder", 5, 6];
    view.update({ ...props, document: { ...ENGLISH, selected: [head] } });
    expect(sent.map(({ view: asked }) => asked)).toEqual(["attention"]);
    const map = { ...attributionMap(head, texts.ENGLISH, texts.ENGLISH, 12), view: "attention" as const };
    view.receive({ id: sent[0]?.id ?? 0, answer: "head_map", map }, undefined);
    expect(sent.map(({ view: asked }) => asked)).toEqual(["attention", "attribution"]);
    expect(found(el, ".hw-state").textContent).toContain("Loading L5H6");
    view.destroy();
  });

  it("shows norms with the tokens still shaded by attribution, on the toggle that every view of a text has", () => {
    const head: HeadRef = ["encoder", 5, 6];
    const document = { ...ENGLISH, selected: [head] };
    const view = mount(el, { ...props, document, view: "norm" }, events);
    const options = [...el.querySelectorAll('[aria-label="What the maps show"] button')];
    expect(options.map((one) => one.textContent)).toEqual(["Attention", "Norm", "Attribution", "Both"]);
    expect(sent.map(({ view: asked }) => asked)).toEqual(["norm"]);
    const norm = normMap(head, texts.ENGLISH, texts.ENGLISH);
    view.receive({ id: sent[0]?.id ?? 0, answer: "head_map", map: norm }, undefined);
    expect(sent.map(({ view: asked }) => asked)).toEqual(["norm", "attribution"]);
    const map = attributionMap(head, texts.ENGLISH, texts.ENGLISH, 12);
    view.receive({ id: sent[1]?.id ?? 0, answer: "head_map", map }, undefined);
    expect(found(el, ".hw-maps").getAttribute("aria-label")).toContain("Norm of L5H6");
    expect(found(el, ".hw-strip").getAttribute("aria-label")).toContain("Attribution received");
    expect(found(el, ".hw-notes").textContent).toContain("attention weight times the length of the vector");
    view.destroy();
  });

  it("draws the view that the document names", () => {
    const head: HeadRef = ["encoder", 3, -1];
    const maps = [...ENGLISH.maps, normMap(head, texts.ENGLISH, texts.ENGLISH)];
    const { svg } = draw({ ...ENGLISH, maps, view: "norm" }, OPTIONS);
    expect(svg).toContain("norm of the weighted vectors, added over heads");
    expect(svg).not.toContain("attention weight, summed over heads");
    expect(draw({ ...ENGLISH, maps }, OPTIONS).svg).toContain("attention weight, summed over heads");
  });

  it("reads tokens out by keyboard, with what they do to the target", () => {
    const view = mount(el, props, events);
    const strip = found(el, ".hw-strip");
    press(strip, "ArrowRight");
    press(strip, "ArrowRight");
    expect(found(el, '[role="status"]').textContent).toMatch(
      /“the” \(position 1\): links to it carry [+−]0\.\d+ log-odds, (supports|opposes) “positive”/,
    );
    view.destroy();
  });

  it("says what is running while there is no result", () => {
    const pending = { ...ENGLISH, panels: [], maps: [], selected: [] };
    const view = mount(el, { ...props, document: pending, status: "Attribution: layer 2 of 12." }, events);
    expect(found(el, ".hw-state").textContent).toBe("Attribution: layer 2 of 12.");
    view.update(props);
    expect(found(el, ".hw-notes").textContent).toContain("Integration error");
    view.destroy();
  });

  it("keeps hostile text inert in the page", () => {
    const view = mount(el, { ...props, document: attributionDocument(texts.HOSTILE) }, events);
    expect(activeElements(el)).toEqual([]);
    view.destroy();
  });
});
