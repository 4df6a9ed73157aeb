// @vitest-environment happy-dom
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { DrawOptions } from "../../marks/picture.js";
import { activeElements, found, frameDone, parsedSvg } from "../../testing/dom.js";
import { estimate, gridDocument, pruningDocument } from "../../testing/views.js";
import type { Answer, ChoiceRequest, EstimateRequest, HeadRef, PruningDocument } from "../../wire/types.js";
import { draw as drawCurve, metricRange } from "../curve/draw.js";
import { changeText, rangeText, valueText } from "../curve/metric.js";
import { draw as drawDashboard } from "../dashboard/draw.js";
import { draw } from "./draw.js";
import { Estimates } from "./estimates.js";
import { clampCount, countText, prunedAt, readingOf } from "./model.js";
import { mount, type PruningComponent, type PruningEvents } from "./mount.js";
import { mountStatic } from "./static.js";

const OPTIONS: DrawOptions = { theme: "light", width: 720, background: true, provenance: true };
const FULL = pruningDocument();
const BARE: PruningDocument = { ...FULL, points: [], baseline: null, count: 0 };

const DOCUMENTS: Readonly<Record<string, PruningDocument>> = {
  full: FULL,
  "nothing measured": BARE,
  "not ranked": { ...BARE, order: [], grid: { ...FULL.grid, panels: [] }, status: "Ranking heads." },
  "one point": { ...FULL, points: FULL.points.slice(0, 1), count: 30 },
  "another metric": { ...FULL, metric: "bleu", count: 12 },
  large: pruningDocument(48, 64, 1000),
};

describe("draw", () => {
  for (const [name, document] of Object.entries(DOCUMENTS))
    for (const theme of ["light", "dark"] as const)
      it(`${name}, ${theme}: is one well-formed picture that fits`, () => {
        for (const picture of [
          draw(document, { ...OPTIONS, theme }),
          drawCurve(document, { ...OPTIONS, theme }),
        ]) {
          expect(activeElements(parsedSvg(picture.svg))).toEqual([]);
          expect(picture.svg).not.toMatch(/NaN|undefined|Infinity/);
          expect(picture.width).toBeLessThanOrEqual(720);
          expect(picture.svg.length).toBeLessThan(200_000);
        }
      });

  it("titles both axes and the second reading", () => {
    const { svg } = drawCurve(FULL, OPTIONS);
    for (const title of ["heads pruned", "share of heads pruned (%)", "accuracy (%)", "full model 97.2 %"])
      expect(svg).toContain(title);
  });

  it("holds every interval in the range of the axis", () => {
    const [low, high] = metricRange(FULL);
    for (const point of FULL.points) {
      expect(point.estimate.low).toBeGreaterThanOrEqual(low);
      expect(point.estimate.high).toBeLessThanOrEqual(high);
    }
  });

  it("shows a share over a range that does not magnify noise, within 0 to 1", () => {
    for (const value of [0.985, 0.5, 0.002]) {
      const one = {
        ...estimate(value, 1000, 1000, null),
        low: value,
        high: value,
        partial_low: value,
        partial_high: value,
      };
      const [low, high] = metricRange({ ...BARE, baseline: one });
      expect(high - low).toBeGreaterThan(0.099);
      expect(low).toBeGreaterThanOrEqual(0);
      expect(high).toBeLessThanOrEqual(1);
      expect(low).toBeLessThanOrEqual(value);
      expect(high).toBeGreaterThanOrEqual(value);
    }
  });

  it("crosses as many heads out as are pruned", () => {
    const { svg } = draw({ ...FULL, count: 5 }, OPTIONS);
    const crosses = [...parsedSvg(svg).querySelectorAll('path[stroke-linecap="round"]')]
      .map((path) => path.getAttribute("d")?.match(/M/g)?.length ?? 0)
      .reduce((a, b) => a + b, 0);
    expect(crosses).toBe(5);
  });

  it("stacks documents in a dashboard", () => {
    const parts = [gridDocument(4, 4, []), FULL];
    const picture = drawDashboard({ schema: 1, document: "dashboard", title: "Both", parts }, OPTIONS);
    expect(parsedSvg(picture.svg).querySelectorAll("svg > svg").length).toBeGreaterThanOrEqual(2);
    expect(picture.height).toBeGreaterThan(draw(FULL, OPTIONS).height);
  });
});

describe("words", () => {
  it("write accuracies in percent, changes in points, other metrics as they are", () => {
    expect(valueText("accuracy", 0.9544)).toBe("95.4 %");
    expect(rangeText("accuracy", 0.941, 0.9651)).toBe("94.1 to 96.5 %");
    expect(changeText("accuracy", { value: -0.018, low: -0.029, high: 0.0001 })).toBe(
      "−1.8 points (−2.9 to 0.0)",
    );
    expect(valueText("bleu", 27.41)).toBe("27.41");
    expect(changeText("bleu", { value: 0.5, low: -0.25, high: 1.25 })).toBe("+0.500 (−0.250 to +1.25)");
    expect(valueText("accuracy", Number.NaN)).toBe("not measured");
  });

  it("say for what the interval is: the set while unfinished, new data once exact", () => {
    const partial = readingOf(FULL, 10, estimate(0.9, 300, 1200, -0.07), false);
    expect(partial.progress).toBe("after 300 of 1,200");
    expect(partial.interval).toMatch(/^95 % interval for all 1,200: /);
    const exact = readingOf(FULL, 10, estimate(0.9, 1200, 1200, -0.07), false);
    expect(exact.progress).toBe("exact on all 1,200");
    expect(exact.interval).toMatch(/^95 % interval for new data: /);
    expect(readingOf(FULL, 13, null, false).interval).toContain("nearest measured: 12 heads");
    expect(countText(FULL, 24)).toBe("24 of 72 heads pruned (33.3 %)");
  });

  it("prune the first heads of the order, never more than there are", () => {
    expect(prunedAt(FULL, 3)).toEqual(FULL.order.slice(0, 3));
    expect(clampCount(FULL, 1e9)).toBe(72);
    expect(clampCount(FULL, -4)).toBe(0);
    expect(clampCount(FULL, Number.NaN)).toBe(0);
  });
});

function point(id: number, count: number, n: number): Answer {
  return {
    id,
    answer: "estimate",
    point: { count, estimate: estimate(0.9, n, 1200, -0.07) },
    done: n === 1200,
  };
}

describe("estimates", () => {
  let sent: EstimateRequest[];
  let estimates: Estimates;
  let id = 0;

  beforeEach(() => {
    vi.useFakeTimers();
    sent = [];
    id = 0;
    estimates = new Estimates(
      (request) => sent.push(request),
      () => {
        id += 1;
        return id;
      },
      () => {},
    );
    estimates.load(BARE);
  });
  afterEach(() => {
    estimates.dispose();
    vi.useRealTimers();
  });

  it("have one request in flight; the newest position follows the first answer", () => {
    for (const count of [3, 4, 5, 6]) estimates.want(count);
    expect(sent.map(({ count }) => count)).toEqual([3]);
    estimates.receive(point(1, 3, 100));
    expect(sent.map(({ count }) => count)).toEqual([3, 6]);
  });

  it("narrow under one number until done, and do not ask again for what is exact", () => {
    estimates.want(3);
    for (const n of [100, 400, 1200]) {
      estimates.receive(point(1, 3, n));
      expect(estimates.at(3)?.n).toBe(n);
    }
    estimates.want(3);
    expect(sent).toHaveLength(1);
  });

  it("never go back to an estimate from fewer examples", () => {
    estimates.want(3);
    estimates.receive(point(1, 3, 400));
    estimates.receive(point(1, 3, 100));
    expect(estimates.at(3)?.n).toBe(400);
  });

  it("ignore numbers that are not theirs", () => {
    estimates.want(3);
    expect(estimates.receive(point(99, 3, 100))).toBe(false);
    expect(estimates.at(3)).toBeNull();
  });

  it("forget everything when the ranking changes", () => {
    estimates.want(3);
    estimates.receive(point(1, 3, 400));
    estimates.load({ ...BARE, method: "random" });
    expect(estimates.at(3)).toBeNull();
    expect(estimates.receive(point(1, 3, 1200))).toBe(false);
  });

  it("go on with the newest position when a request is never answered", () => {
    estimates.want(3);
    estimates.want(9);
    vi.advanceTimersByTime(2100);
    expect(sent.map(({ count }) => count)).toEqual([3, 9]);
  });

  it("tell an error and wait for the next move", () => {
    estimates.want(3);
    estimates.receive({ id: 1, answer: "error", message: "The kernel is out of memory." });
    expect(estimates.error).toBe("The kernel is out of memory.");
    expect(sent).toHaveLength(1);
    estimates.want(4);
    expect(estimates.error).toBe("");
    expect(sent).toHaveLength(2);
  });
});

describe("mount", () => {
  let el: HTMLElement;
  let view: PruningComponent;
  let pruned: HeadRef[][];
  let counts: number[];
  let sent: (EstimateRequest | ChoiceRequest)[];
  const events: PruningEvents = {
    onPruned: (heads) => pruned.push(heads),
    onCount: (count) => counts.push(count),
    onRequest: (request) => sent.push(request),
  };
  const slider = () => found<HTMLInputElement>(el, ".hw-slider");
  const field = (label: string) => found<HTMLInputElement>(el, `[aria-label="${label}"]`);
  const heads = () => field("Number of heads pruned");
  const percent = () => field("Percent of heads pruned");

  function enter(input: HTMLInputElement, text: string, ...types: string[]): void {
    input.value = text;
    for (const type of types) input.dispatchEvent(new Event(type, { bubbles: true }));
  }

  beforeEach(() => {
    el = document.createElement("div");
    document.body.append(el);
    pruned = [];
    counts = [];
    sent = [];
    view = mount(el, { document: FULL, theme: "light" }, events);
  });
  afterEach(() => {
    view.destroy();
    expect(el.innerHTML).toBe("");
    el.remove();
  });

  it("makes the same page from the same props", () => {
    const before = el.innerHTML;
    view.update({ document: FULL, theme: "light" });
    expect(el.innerHTML).toBe(before);
  });

  it("dragging, typing a number and typing a percentage give the same", async () => {
    const states: string[] = [];
    for (const act of [
      () => enter(slider(), "36", "input", "change"),
      () => enter(heads(), "36", "input", "change"),
      () => enter(percent(), "50", "input", "change"),
    ]) {
      enter(slider(), "10", "input", "change");
      act();
      await frameDone();
      states.push(
        [slider().value, heads().value, percent().value, pruned.at(-1)?.length, counts.at(-1)].join(" "),
      );
    }
    expect(states).toEqual(["36 36 50 36 36", "36 36 50 36 36", "36 36 50 36 36"]);
  });

  it("keeps its place under the hand whatever arrives, and tells the count only on release", async () => {
    slider().dispatchEvent(new Event("pointerdown"));
    for (const value of ["25", "30", "41"]) {
      enter(slider(), value, "input");
      view.update({
        document: { ...FULL, points: [...FULL.points], count: 24, status: "Evaluating." },
        theme: "dark",
      });
      view.update({ document: { ...FULL, count: 3 }, theme: "light" });
      expect(slider().value).toBe(value);
      expect(heads().value).toBe(value);
    }
    expect(counts).toEqual([]);
    await frameDone();
    expect(pruned.at(-1)).toEqual(FULL.order.slice(0, 41));
    enter(slider(), "41", "change");
    expect(counts).toEqual([41]);
    view.update({ document: { ...FULL, count: 41 }, theme: "light" });
    expect(slider().value).toBe("41");
  });

  it("follows a count set in Python when nobody holds the handle", () => {
    view.update({ document: { ...FULL, count: 6 }, theme: "light" });
    expect(slider().value).toBe("6");
    expect(found(el, ".hw-reading").textContent).toContain("exact on all 1,200");
  });

  it("reports at most once per frame", async () => {
    for (let value = 25; value < 60; value += 1) enter(slider(), String(value), "input");
    await frameDone();
    expect(pruned).toHaveLength(1);
    expect(pruned[0]).toHaveLength(59);
  });

  it("puts wrong input right: too much, too little, nothing", () => {
    enter(heads(), "999", "input", "change");
    expect([slider().value, heads().value]).toEqual(["72", "72"]);
    enter(heads(), "-5", "input", "change");
    expect(slider().value).toBe("0");
    enter(heads(), "", "input", "change");
    expect(heads().value).toBe("0");
  });

  it("asks for another ranking by number, shows it as chosen, and undoes it on failure", () => {
    const select = found<HTMLSelectElement>(el, "select");
    select.value = "random";
    select.dispatchEvent(new Event("change", { bubbles: true }));
    const request = sent.at(-1);
    expect(request).toMatchObject({ ask: "choose", method: "random", ablation: "zero" });
    expect(select.value).toBe("random");
    view.receive({ id: request?.id ?? 0, answer: "error", message: "There is no such ranking." });
    expect(found(el, '[role="alert"]').textContent).toBe("There is no such ranking.");
    expect(found<HTMLSelectElement>(el, "select").value).toBe("attribution");
  });

  it("shows estimates as they narrow", () => {
    enter(slider(), "13", "input", "change");
    const request = sent.at(-1);
    expect(request).toMatchObject({ ask: "estimate", count: 13 });
    view.receive(point(request?.id ?? 0, 13, 300));
    expect(found(el, ".hw-reading").textContent).toContain("after 300 of 1,200");
    view.receive(point(request?.id ?? 0, 13, 1200));
    expect(found(el, ".hw-reading").textContent).toContain("exact on all 1,200");
    expect(slider().getAttribute("aria-valuetext")).toBe("13 of 72 heads pruned (18.1 %)");
  });
});

describe("without a kernel", () => {
  it("the grid and the curve follow the slider, and menus rest", async () => {
    const el = document.createElement("div");
    document.body.append(el);
    const view = mountStatic(el, { document: FULL, theme: "light" });
    const slider = found<HTMLInputElement>(el, ".hw-slider");
    slider.value = "7";
    slider.dispatchEvent(new Event("input", { bubbles: true }));
    await frameDone();
    expect(found(el, ".hw-curve").textContent).toContain("7 pruned");
    expect(found(el, ".hw-explorer-grid .hw-readout").textContent).toContain("7 pruned");
    expect(found<HTMLSelectElement>(el, "select").disabled).toBe(true);
    view.destroy();
    expect(el.innerHTML).toBe("");
    el.remove();
  });
});
