// @vitest-environment happy-dom
import { afterEach, describe, expect, it } from "vitest";
import type { DrawOptions } from "../../marks/picture.js";
import { curvesDocument, HOSTILE_TEXT } from "../../testing/charts.js";
import { activeElements, found, parsedSvg, press } from "../../testing/dom.js";
import { contrast } from "../../theme/colour.js";
import { palette } from "../../theme/palette.js";
import type { CurvesDocument } from "../../wire/types.js";
import { draw, drawCurves } from "./draw.js";
import { curveName, looks, metricRange, nextCount, pointAt } from "./model.js";
import { mount } from "./mount.js";

const OPTIONS: DrawOptions = { theme: "light", width: 720, background: true, provenance: true };
const FULL = curvesDocument(6);
const DOCUMENTS: Readonly<Record<string, CurvesDocument>> = {
  full: FULL,
  "nine curves": curvesDocument(9),
  loss: curvesDocument(2, { metric: "loss" }),
  hostile: curvesDocument(3, { hostile: true }),
  "no curves": { ...FULL, curves: [], baseline: null },
  "no areas": { ...FULL, curves: FULL.curves.map((curve) => ({ ...curve, area: null })) },
  "one point": {
    ...FULL,
    curves: FULL.curves.map((curve) => ({ ...curve, points: curve.points.slice(0, 1) })),
  },
};

afterEach(() => document.body.replaceChildren());

describe("draw", () => {
  for (const [name, content] of Object.entries(DOCUMENTS))
    for (const theme of ["light", "dark"] as const)
      for (const width of [300, 720])
        it(`${name}, ${theme}, ${width}: is one well-formed picture that fits`, () => {
          const picture = draw(content, { ...OPTIONS, theme, width });
          expect(activeElements(parsedSvg(picture.svg))).toEqual([]);
          expect(picture.svg).not.toMatch(/NaN|undefined|Infinity/);
          expect(picture.width).toBeLessThanOrEqual(width);
          expect(picture.svg.length).toBeLessThan(200_000);
        });

  it("names every curve with its area and interval", () => {
    const { svg } = draw(FULL, OPTIONS);
    for (const { name } of FULL.curves) expect(svg).toContain(name);
    for (const words of ["accuracy (%)", "share of heads pruned (%)", "heads pruned", "mean and 95 % of 20"])
      expect(svg).toContain(words);
    expect(svg).toMatch(/\d\d\.\d to \d\d\.\d %/);
  });

  it("keeps the rows of the legend apart and inside", () => {
    const { rows, height } = drawCurves(FULL, 720, palette("light"));
    rows.forEach(([, top, , high], i) => {
      expect(top + high).toBeLessThanOrEqual(rows[i + 1]?.[1] ?? height);
    });
  });

  it("tells lines apart without colour, and each is seen on its surface", () => {
    for (const theme of ["light", "dark"] as const) {
      const colours = palette(theme);
      const styles = looks(curvesDocument(7), colours).slice(1);
      expect(new Set(styles.map(({ dash }) => dash)).size).toBe(7);
      expect(new Set(styles.map((look) => look.mark(0, 0, 3))).size).toBe(7);
      for (const { stroke } of styles) expect(contrast(stroke, colours.surface)).toBeGreaterThan(3);
    }
  });

  it("brings a curve forward with its own band", () => {
    const plain = drawCurves(FULL, 720, palette("light")).svg;
    const { svg } = drawCurves(FULL, 720, palette("light"), { curve: 1, count: 24 });
    expect(svg.match(/fill-opacity="0.2"/g)?.length).toBe(1);
    expect(plain).not.toContain('fill-opacity="0.2"');
    expect(svg).toContain(palette("light").selected);
  });

  it("holds every interval in its range; a share is not magnified", () => {
    const [low, high] = metricRange(FULL);
    for (const { points } of FULL.curves)
      for (const { estimate } of points) {
        expect(estimate.low).toBeGreaterThanOrEqual(low);
        expect(estimate.high).toBeLessThanOrEqual(high);
      }
    const flat = { value: 0.9, low: 0.9, high: 0.9 };
    const point = {
      count: 0,
      estimate: { ...flat, n: 1, total: 1, exact: true, partial_low: 0.9, partial_high: 0.9, change: null },
    };
    const one = { name: "a", points: [point], control: false, area: null, draws: 1 };
    const [from, until] = metricRange({ ...FULL, curves: [one], baseline: null });
    expect(until - from).toBeGreaterThan(0.099);
  });

  it("finds points and steps by count", () => {
    const [, curve] = FULL.curves;
    if (!curve) throw new Error("no curve");
    expect(pointAt(curve, 13)?.count).toBe(12);
    expect(nextCount(curve, 12, 1)).toBe(24);
    expect(nextCount(curve, 12, -1)).toBe(0);
    expect(nextCount(curve, 144, 1)).toBe(144);
    expect(curveName({ ...curve, control: true, draws: 1 })).toBe(curve.name);
  });
});

describe("mount", () => {
  const shown = (content: CurvesDocument) => mount(document.body, { document: content, theme: "light" });

  it("reads out the point nearest to the pointer", () => {
    const component = shown(FULL);
    const picture = drawCurves(FULL, 720, palette("light"));
    const point = FULL.curves[1]?.points[6];
    if (!point) throw new Error("no point");
    const [clientX, clientY] = [picture.x(point.count), picture.y(100 * point.estimate.value)];
    const stage = found(document.body, ".hw-stage");
    stage.dispatchEvent(new PointerEvent("pointermove", { clientX, clientY, bubbles: true }));
    expect(found(document.body, ".hw-readout").textContent).toMatch(
      /attribution, 72 heads pruned \(50 %\): accuracy \d\d\.\d %, 95 % interval .* change −/,
    );
    stage.dispatchEvent(new PointerEvent("pointerleave", { bubbles: true }));
    expect(found(document.body, ".hw-readout").textContent).toBe("");
    component.destroy();
    expect(document.body.children.length).toBe(0);
  });

  it("works by keyboard: down the names, along a curve, and keys stay inside", () => {
    shown(FULL);
    const rows = [...document.querySelectorAll<HTMLElement>(".hw-curve-rows button")];
    expect(rows.map((row) => row.tabIndex)).toEqual([0, -1, -1, -1, -1, -1, -1]);
    let leaked = 0;
    document.body.addEventListener("keydown", () => leaked++, { once: true });
    rows[0]?.focus();
    if (rows[0]) press(rows[0], "ArrowDown");
    expect(document.activeElement).toBe(rows[1]);
    if (rows[1]) {
      press(rows[1], "ArrowRight");
      press(rows[1], "ArrowRight");
    }
    expect(found(document.body, "[role=status]").textContent).toContain("attribution, 12 heads pruned");
    found(document.body, ".hw-stage").dispatchEvent(new PointerEvent("pointerleave", { bubbles: true }));
    expect(found(document.body, ".hw-readout").textContent).toContain("attribution, 12 heads pruned");
    rows[1]?.click();
    expect(rows[1]?.getAttribute("aria-pressed")).toBe("true");
    if (rows[1]) press(rows[1], "Escape");
    expect(rows[1]?.getAttribute("aria-pressed")).toBe("false");
    expect(leaked).toBe(0);
  });

  it("labels every row with its area and draws names as text", () => {
    shown(curvesDocument(3, { hostile: true }));
    expect(activeElements(document.body)).toEqual([]);
    const label = document.querySelectorAll(".hw-curve-rows button")[1]?.getAttribute("aria-label");
    expect(label).toContain(HOSTILE_TEXT.slice(0, 20));
    expect(label).toMatch(/area 0\.\d+/);
  });

  it("follows an update that has fewer curves", () => {
    const component = shown(FULL);
    [...document.querySelectorAll<HTMLElement>(".hw-curve-rows button")].at(-1)?.click();
    component.update({ document: curvesDocument(1), theme: "dark" });
    expect(document.querySelectorAll(".hw-curve-rows button").length).toBe(2);
    expect(found(document.body, ".hw-readout").textContent).toBe("");
  });
});
