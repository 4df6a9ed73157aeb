// @vitest-environment happy-dom
import { afterEach, describe, expect, it } from "vitest";
import type { DrawOptions } from "../../marks/picture.js";
import { HOSTILE_TEXT } from "../../testing/charts.js";
import { activeElements, found, parsedSvg, press } from "../../testing/dom.js";
import { PATTERNS, patternsDocument } from "../../testing/patterns.js";
import { packed } from "../../testing/views.js";
import { LIGHT } from "../../theme/palette.js";
import type { HeadRef, PatternsDocument } from "../../wire/types.js";
import { draw, drawPatterns, drawSelection } from "./draw.js";
import { chartOf, headline, meansOf, patternsOf, rangeOf, sentence, seriesOf } from "./model.js";
import { mount, type PatternsProps } from "./mount.js";
import { mountStatic } from "./static.js";

const OPTIONS: DrawOptions = { theme: "light", width: 720, background: true, provenance: true };
const PLAIN = patternsDocument(3, 4);
const VIEW = patternsOf(PLAIN);

afterEach(() => document.body.replaceChildren());

/** A document of one chart with given values, by head. */
function small(heads: readonly HeadRef[], values: readonly number[]): PatternsDocument {
  const kinds = ["encoder", "decoder", "cross"];
  return {
    ...PLAIN,
    heads: packed(
      Int32Array.from(heads.flatMap(([kind, layer, index]) => [kinds.indexOf(kind), layer, index])),
      [heads.length, 3],
    ),
    statistics: [
      {
        name: "entropy",
        label: "Entropy",
        unit: "nats",
        values: packed(Float32Array.from(values), [values.length]),
        stderr: null,
        reference: {},
        n: 7,
      },
    ],
    charts: [{ name: "entropy", label: "Entropy", unit: "nats", statistics: [0] }],
  };
}

describe("draw", () => {
  const documents: [string, PatternsDocument][] = Object.entries(PATTERNS).map(([name, make]) => [
    name,
    make() as PatternsDocument,
  ]);
  documents.push(["not measured in part", patternsDocument(4, 4, { missing: 0.5 })]);
  documents.push(["no chart", { ...PLAIN, charts: [] }]);
  documents.push(["nothing measured", small([["encoder", 0, 0]], [Number.NaN])]);
  for (const [name, content] of documents)
    for (const theme of ["light", "dark"] as const)
      for (const width of [280, 720])
        it(`${name}, ${theme}, ${width}: is one well-formed picture that fits`, () => {
          const picture = draw(content, { ...OPTIONS, theme, width });
          expect(activeElements(parsedSvg(picture.svg))).toEqual([]);
          expect(picture.svg).not.toMatch(/NaN|undefined|Infinity/);
          expect(picture.width).toBeLessThanOrEqual(width);
          expect(picture.svg.length).toBeLessThan(120_000);
        });

  it("says what is measured, in which unit, on how much", () => {
    const { svg } = draw(PLAIN, OPTIONS);
    for (const words of [
      "Attention to neighbours (attention weight)",
      "layer",
      "12 heads, 2001 texts",
      "alike",
    ])
      expect(svg).toContain(words);
  });

  it("puts heads into the column of their layer, and a statistic beside the other", () => {
    const { placed } = drawPatterns(VIEW, 720, LIGHT);
    const places = (layer: number, series: number) =>
      placed.filter((one) => one.head[1] === layer && one.series === series).map(({ x }) => x);
    for (const layer of [0, 1, 2]) {
      expect(Math.max(...places(layer, 0))).toBeLessThan(Math.min(...places(layer, 1)));
      if (layer > 0) expect(Math.max(...places(layer - 1, 1))).toBeLessThan(Math.min(...places(layer, 0)));
    }
    expect(new Set(placed.map(({ key }) => key)).size).toBe(24);
  });

  it("draws the mean of a layer over the heads that were measured", () => {
    const heads: HeadRef[] = [
      ["encoder", 0, 0],
      ["encoder", 0, 1],
      ["encoder", 1, 0],
      ["decoder", 0, 0],
    ];
    const view = patternsOf(small(heads, [1, 3, Number.NaN, 4]));
    const series = seriesOf(view);
    expect(series[0] && meansOf(view, series[0])).toEqual([2, Number.NaN, 4]);
    expect(view.columns.map(({ at }) => at)).toEqual([0, 1, 3]);
    expect(headline(view)).toBe("4 heads, 7 texts");
  });

  it("rings a chosen head at every point, and names it once", () => {
    const picture = drawPatterns(VIEW, 720, LIGHT);
    const svg = drawSelection(VIEW, picture, [["encoder", 1, 2]], null, LIGHT);
    expect(svg.match(/stroke-width="1.8"/g)?.length).toBe(2);
    expect(svg.match(/fill="#c4006a"[^>]*>L1H2</g)?.length).toBe(1);
  });

  it("takes 0 into the range of what may be 0, and references too", () => {
    expect(rangeOf(seriesOf(VIEW))[0]).toBe(0);
    const one = { ...seriesOf(VIEW)[0], values: [5, 6], reference: { encoder: 9 } } as never;
    expect(rangeOf([one])[1]).toBeGreaterThan(9);
    expect(rangeOf([one])[0]).toBeGreaterThan(4);
    expect(rangeOf([])).toEqual([0, 1]);
  });

  it("refuses a chart of what is not there", () => {
    const charts = [{ name: "x", label: "x", unit: "", statistics: [99] }];
    expect(() => patternsOf({ ...PLAIN, charts })).toThrow("chart x");
  });

  it("reads a point out with its error and its kind", () => {
    const view = patternsOf(patternsDocument(2, 2, { kinds: ["encoder", "cross"] }));
    const point = drawPatterns(view, 640, LIGHT).placed.find(({ head }) => head[0] === "cross");
    expect(point && sentence(view, point)).toMatch(
      /^cross layer 0 head 0: Attention to the previous token 0\.\d+ ± 0\.\d+ attention weight$/,
    );
    expect(chartOf({ ...view, shown: 99 })?.name).toBe("offset");
  });
});

describe("mount", () => {
  function shown(content: PatternsDocument) {
    const log: (readonly HeadRef[])[] = [];
    const charts: number[] = [];
    const props: PatternsProps = { document: content, theme: "light", selected: [] };
    const component = mount(document.body, props, {
      onSelect: (heads) => log.push(heads),
      onShow: (chart) => charts.push(chart),
    });
    return { log, charts, props, component, list: found(document.body, "[role=listbox]") };
  }

  it("chooses heads by keyboard, at any of their points", () => {
    const { log, props, component, list } = shown(PLAIN);
    let leaked = 0;
    document.body.addEventListener("keydown", () => leaked++, { once: true });
    list.focus();
    press(list, "Home");
    press(list, "End");
    press(list, "Enter");
    expect(log.at(-1)).toEqual([["encoder", 2, 3]]);
    component.update({ ...props, selected: [["encoder", 2, 3]] });
    expect(document.querySelectorAll("[aria-selected=true]").length).toBe(2);
    expect(leaked).toBe(0);
    component.destroy();
    expect(document.body.children.length).toBe(0);
  });

  it("takes each head once from a rectangle over all of its points", () => {
    const { log } = shown(PLAIN);
    const stage = found(document.body, ".hw-stage");
    const at = (type: string, x: number, y: number) =>
      stage.dispatchEvent(new PointerEvent(type, { clientX: x, clientY: y, button: 0, bubbles: true }));
    at("pointerdown", 0, 0);
    at("pointermove", 900, 900);
    at("pointerup", 900, 900);
    expect(log.at(-1)?.length).toBe(12);
  });

  it("changes the chart by menu, and draws it when told", () => {
    const { charts, props, component } = shown(PLAIN);
    const select = found(document.body, "select") as HTMLSelectElement;
    select.value = "Entropy";
    select.dispatchEvent(new Event("change", { bubbles: true }));
    expect(charts).toEqual([2]);
    component.update({ ...props, shown: 2 });
    expect(document.body.textContent).toContain("Entropy from the first token");
  });

  it("keeps its own selection and chart without a kernel, until another document comes", () => {
    const component = mountStatic(document.body, { document: PLAIN, theme: "dark" });
    const select = found(document.body, "select") as HTMLSelectElement;
    select.value = "Entropy";
    select.dispatchEvent(new Event("change", { bubbles: true }));
    expect(document.body.textContent).toContain("Entropy from the first token");
    const list = found(document.body, "[role=listbox]");
    list.focus();
    press(list, "Home");
    press(list, "Enter");
    expect(document.querySelectorAll("[aria-selected=true]").length).toBe(2);
    component.update({ document: { ...PLAIN, title: "other" }, theme: "dark" });
    expect(document.querySelectorAll("[aria-selected=true]").length).toBe(0);
    expect(document.body.textContent).not.toContain("Entropy from the first token");
  });

  it("draws names as text", () => {
    shown(patternsDocument(2, 3, { hostile: true }));
    expect(activeElements(document.body)).toEqual([]);
    expect(document.body.textContent).toContain(HOSTILE_TEXT.slice(0, 30));
  });
});
