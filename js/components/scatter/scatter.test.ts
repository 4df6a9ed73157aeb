// @vitest-environment happy-dom
import { afterEach, describe, expect, it } from "vitest";
import type { DrawOptions } from "../../marks/picture.js";
import { HOSTILE_TEXT, packedPoints, scatterDocument } from "../../testing/charts.js";
import { activeElements, found, parsedSvg, press } from "../../testing/dom.js";
import { LIGHT } from "../../theme/palette.js";
import type { HeadRef, ScatterDocument } from "../../wire/types.js";
import { inside, nearest, step } from "../points/model.js";
import { draw, drawScatter, drawSelection } from "./draw.js";
import { headline, isComparable, rangeOf, regression, scatterOf } from "./model.js";
import { mount, type ScatterProps } from "./mount.js";
import { mountStatic } from "./static.js";

const OPTIONS: DrawOptions = { theme: "light", width: 720, background: true, provenance: true };
const PLAIN = scatterDocument(3, 4);
const POINTS = scatterOf(PLAIN);
const DOCUMENTS: Readonly<Record<string, ScatterDocument>> = {
  plain: PLAIN,
  "72 without errors": scatterDocument(6, 12, { errors: false, unit: "" }),
  "384": scatterDocument(24, 16, { selected: [["encoder", 3, 3]] }),
  "3072": scatterDocument(48, 64),
  "three kinds": scatterDocument(2, 3, { kinds: ["encoder", "decoder", "cross"] }),
  hostile: scatterDocument(2, 3, { hostile: true }),
  "one value": {
    ...PLAIN,
    ...packedPoints(
      POINTS.points.map(({ head }) => ({ head, x: 1, y: 0 })),
      false,
    ),
  },
};

afterEach(() => document.body.replaceChildren());

describe("draw", () => {
  for (const [name, content] of Object.entries(DOCUMENTS))
    for (const theme of ["light", "dark"] as const)
      for (const width of [280, 720])
        it(`${name}, ${theme}, ${width}: is one well-formed picture that fits`, () => {
          const picture = draw(content, { ...OPTIONS, theme, width });
          expect(activeElements(parsedSvg(picture.svg))).toEqual([]);
          expect(picture.svg).not.toMatch(/NaN|undefined|Infinity/);
          expect(picture.width).toBeLessThanOrEqual(width);
          expect(picture.svg.length).toBeLessThan(300_000);
        });

  it("says r with its interval, titles and units", () => {
    const { svg } = draw(PLAIN, OPTIONS);
    for (const words of ["r = 0.71 (0.63 to 0.79), 12 heads", "SST-2 (probability)", "MRPC (probability)"])
      expect(svg).toContain(words);
    expect(headline({ ...POINTS, missing: 2 })).toContain("2 not measured");
  });

  it("draws a line of equality only where both have the same unit and size", () => {
    expect(isComparable(POINTS)).toBe(true);
    expect(isComparable({ ...POINTS, y_unit: "nats" })).toBe(false);
    expect(isComparable({ ...POINTS, x_unit: "", y_unit: "" })).toBe(false);
    const far = POINTS.points.map((point) => ({ ...point, y: point.y * 40 }));
    expect(isComparable({ ...POINTS, points: far })).toBe(false);
  });

  it("fits a line by least squares, and none where r may be 0", () => {
    const points = [0, 1, 2, 3].map((x) => ({
      head: ["encoder", 0, x] as HeadRef,
      x,
      y: 2 * x + 1 + (x === 3 ? 1 : 0),
      x_error: null,
      y_error: null,
    }));
    const fit = regression({ ...POINTS, points });
    expect(fit?.slope).toBeCloseTo(2.3);
    expect(fit?.start).toBeCloseTo(0.8);
    const weak = { ...POINTS.correlation, pearson: { value: 0.1, low: -0.1, high: 0.3 } };
    expect(regression({ ...POINTS, points, correlation: weak })).toBeNull();
  });

  it("names selected heads, and no name covers another", () => {
    const selected = POINTS.points.slice(0, 6).map(({ head }) => head);
    const picture = drawScatter(POINTS, 640, LIGHT);
    const svg = drawSelection(POINTS, picture, selected, null, LIGHT);
    expect(svg.match(/>L\d+H\d+</g)?.length).toBeGreaterThan(2);
  });

  it("takes 0 into the range where it is near", () => {
    expect(rangeOf([0.01, 1], [])[0]).toBeLessThan(0);
    expect(rangeOf([0.8, 1], [])[0]).toBeGreaterThan(0.7);
    expect(rangeOf([], [])).toEqual([0, 1]);
  });
});

describe("choosing", () => {
  const { placed } = drawScatter(POINTS, 640, LIGHT);

  it("finds the nearest point within reach", () => {
    const point = placed[5];
    expect(point && nearest(placed, point.x + 1, point.y, 12)?.key).toBe(point?.key);
    expect(nearest(placed, -100, -100, 12)).toBeNull();
  });

  it("goes through all points by arrow keys, left to right and bottom to top", () => {
    for (const [key, value] of [
      ["ArrowRight", (p: { x: number }) => p.x],
      ["ArrowUp", (p: { y: number }) => -p.y],
    ] as const) {
      let at = step(placed, null, key);
      const seen: number[] = [];
      for (let i = 0; i < placed.length; i++) {
        if (at) seen.push(value(at));
        at = step(placed, at, key);
      }
      expect(new Set(seen).size).toBe(placed.length);
      expect(seen).toEqual([...seen].sort((a, b) => a - b));
    }
    expect(step(placed, null, "q")).toBeNull();
  });

  it("takes what is in a rectangle, whichever corner it began at", () => {
    const all = inside(placed, [1000, 0], [0, 1000]);
    expect(all.length).toBe(placed.length);
    const top = placed.reduce((a, b) => (a.y < b.y ? a : b));
    expect(all[0]).toEqual(top.point.head);
  });
});

describe("mount", () => {
  function shown(content: ScatterDocument) {
    const log: (readonly HeadRef[])[] = [];
    const props: ScatterProps = { document: content, theme: "light", selected: [] };
    const component = mount(document.body, props, { onSelect: (heads) => log.push(heads) });
    const stage = found(document.body, ".hw-stage");
    const at = (type: string, x: number, y: number, more: PointerEventInit = {}) =>
      stage.dispatchEvent(
        new PointerEvent(type, {
          clientX: x,
          clientY: y,
          button: 0,
          bubbles: true,
          pointerType: "mouse",
          ...more,
        }),
      );
    return { log, props, component, stage, at, list: found(document.body, "[role=listbox]") };
  }
  const { placed } = drawScatter(POINTS, 640, LIGHT);
  const lonely = placed.reduce((a, b) => (a.x + -a.y > b.x + -b.y ? a : b));

  it("selects by click, adds by ctrl, and lets go", () => {
    const { log, props, component, at } = shown(PLAIN);
    at("pointerdown", lonely.x, lonely.y);
    at("pointerup", lonely.x, lonely.y);
    expect(log).toEqual([[lonely.point.head]]);
    component.update({ ...props, selected: [lonely.point.head] });
    expect(document.querySelectorAll("[aria-selected=true]").length).toBe(1);
    at("pointerdown", lonely.x, lonely.y);
    at("pointerup", lonely.x, lonely.y, { ctrlKey: true });
    expect(log.at(-1)).toEqual([]);
    at("pointerdown", 1, 1);
    at("pointerup", 1, 1);
    expect(log.at(-1)).toEqual([]);
    component.destroy();
    expect(document.body.children.length).toBe(0);
  });

  it("selects by dragging a rectangle, which is seen", () => {
    const { log, at } = shown(PLAIN);
    at("pointerdown", 0, 0);
    at("pointermove", 700, 700);
    expect(found(document.body, ".hw-brush").hidden).toBe(false);
    at("pointerup", 700, 700);
    expect(found(document.body, ".hw-brush").hidden).toBe(true);
    expect(log.at(-1)?.length).toBe(POINTS.points.length);
  });

  it("reads out what the pointer is on", () => {
    const { at } = shown(PLAIN);
    at("pointermove", lonely.x, lonely.y);
    expect(found(document.body, ".hw-readout").textContent).toMatch(
      /layer \d+ head \d+: SST-2 0\.\d+ ± .* MRPC/,
    );
    at("pointermove", 1, 1);
    expect(found(document.body, ".hw-readout").textContent).toBe("");
  });

  it("works by keyboard, and keys stay inside", () => {
    const { log, list } = shown(PLAIN);
    let leaked = 0;
    document.body.addEventListener("keydown", () => leaked++, { once: true });
    list.focus();
    expect(press(list, "ArrowRight").defaultPrevented).toBe(true);
    const active = document.getElementById(list.getAttribute("aria-activedescendant") ?? "");
    expect(active?.getAttribute("aria-label")).toContain("layer");
    press(list, " ");
    expect(log.at(-1)?.length).toBe(1);
    press(list, "a", { ctrlKey: true });
    expect(log.at(-1)?.length).toBe(POINTS.points.length);
    expect(press(list, "x").defaultPrevented).toBe(false);
    expect(leaked).toBe(0);
  });

  it("draws tokens as text", () => {
    shown(scatterDocument(2, 3, { hostile: true }));
    expect(activeElements(document.body)).toEqual([]);
    expect(document.body.textContent).toContain(HOSTILE_TEXT.slice(0, 30));
  });

  it("keeps its own selection without a kernel, until another document comes", () => {
    const component = mountStatic(document.body, { document: PLAIN, theme: "dark" });
    const list = found(document.body, "[role=listbox]");
    list.focus();
    press(list, "Home");
    press(list, "Enter");
    expect(document.querySelectorAll("[aria-selected=true]").length).toBe(1);
    component.update({ document: { ...PLAIN, title: "other" }, theme: "dark" });
    expect(document.querySelectorAll("[aria-selected=true]").length).toBe(0);
    component.destroy();
  });
});
