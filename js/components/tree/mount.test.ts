// @vitest-environment happy-dom
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { activeElements, found, frameDone, press } from "../../testing/dom.js";
import * as texts from "../../testing/texts.js";
import { splitText, treeDocument } from "../../testing/trees.js";
import type { Component } from "../component.js";
import { candidatesOf, grow } from "./grow.js";
import { levelOf, type TreeState } from "./model.js";
import { mount, type TreeProps } from "./mount.js";
import { mountStatic } from "./static.js";

const DOCUMENT = treeDocument(texts.ENGLISH, 6, { threshold: 0.1 });
let host: HTMLElement;
let component: Component<TreeProps>;
let states: TreeState[];
let chosen: number[][];
let props: TreeProps;

function show(document = DOCUMENT): void {
  props = { document, theme: "light", edge: [] };
  component = mount(host, props, {
    onState: (state) => states.push(state),
    onEdge: (edge) => {
      chosen.push(edge);
      props = { ...props, edge };
      component.update(props);
    },
  });
}

function edgesFor(threshold: number, penalty = 0, collapsed = false, document = DOCUMENT): string[] {
  const level = levelOf(document, collapsed);
  if (level === null) throw new Error("no level");
  const { edges } = grow(candidatesOf(level, document.layers, document.order), threshold, penalty);
  return edges.map((edge) => `${edge.layer} ${edge.query} ${edge.key}`);
}

const drawn = (): (string | null)[] =>
  [...host.querySelectorAll('[data-part="edge"]')].map((one) => one.getAttribute("data-edge"));
const slider = (at: number) =>
  host.querySelectorAll<HTMLInputElement>("input.hw-slider")[at] as HTMLInputElement;
const field = (at: number) =>
  host.querySelectorAll<HTMLInputElement>('input[type="number"]')[at] as HTMLInputElement;
const items = () => [...host.querySelectorAll<HTMLElement>('[role="treeitem"]')];
const readout = () => found(host, ".hw-readout").textContent ?? "";

function turn(input: HTMLInputElement, value: number): void {
  input.value = String(value);
  input.dispatchEvent(new Event("input", { bubbles: true }));
}

beforeEach(() => {
  host = document.createElement("div");
  document.body.append(host);
  states = [];
  chosen = [];
  show();
});
afterEach(() => {
  component.destroy();
  host.remove();
});

describe("tau and lambda", () => {
  it("redraw at once, and are told once a frame", async () => {
    expect(drawn()).toEqual(edgesFor(0.1));
    turn(slider(0), 0.3);
    expect(drawn()).toEqual(edgesFor(0.3));
    turn(slider(0), 0.25);
    turn(slider(0), 0.22);
    expect(drawn()).toEqual(edgesFor(0.22));
    expect(states).toEqual([]);
    await frameDone();
    expect(states).toEqual([{ threshold: 0.22, penalty: 0, collapsed: false }]);
    turn(slider(1), 0.5);
    expect(drawn()).toEqual(edgesFor(0.22, 0.5));
    expect(edgesFor(0.22, 0.5).length).toBeLessThan(edgesFor(0.22).length);
    await frameDone();
    expect(states.at(-1)).toEqual({ threshold: 0.22, penalty: 0.5, collapsed: false });
    expect(field(0).value).toBe("0.22");
    expect(slider(1).getAttribute("aria-valuetext")).toContain("nats an edge");
  });

  it("can be typed, and stay inside their range", async () => {
    turn(field(0), 0.123);
    expect(drawn()).toEqual(edgesFor(0.123));
    turn(field(0), 7);
    await frameDone();
    expect(states.at(-1)?.threshold).toBe(0.99);
    field(0).value = "";
    field(0).dispatchEvent(new Event("input"));
    field(0).dispatchEvent(new Event("change"));
    expect(field(0).value).toBe("0.99");
  });

  it("an old value from Python does not move them back, a new one moves them", async () => {
    turn(slider(0), 0.3);
    component.update({ ...props, theme: "dark" });
    expect(drawn()).toEqual(edgesFor(0.3));
    await frameDone();
    slider(0).dispatchEvent(new Event("change"));
    component.update({ ...props, document: { ...DOCUMENT, threshold: 0.3 } });
    expect(drawn()).toEqual(edgesFor(0.3));
    component.update({ ...props, document: { ...DOCUMENT, threshold: 0.05, penalty: 0.02 } });
    expect(drawn()).toEqual(edgesFor(0.05, 0.02));
    expect(slider(0).valueAsNumber).toBeCloseTo(0.05);
  });

  it("start at the floor, below which nothing was sent", () => {
    component.destroy();
    const level = { ...(DOCUMENT.levels[0] as (typeof DOCUMENT.levels)[0]), floor: 0.2 };
    show({ ...DOCUMENT, levels: [level] });
    expect(slider(0).min).toBe("0.2");
    expect(drawn()).toEqual(edgesFor(0.2));
  });
});

describe("words", () => {
  it("collapse and come back", async () => {
    component.destroy();
    const document = treeDocument(splitText(5), 8, { threshold: 0.2 });
    show(document);
    const box = found<HTMLInputElement>(host, 'input[type="checkbox"]');
    box.checked = true;
    box.dispatchEvent(new Event("change"));
    expect(drawn()).toEqual(edgesFor(0.2, 0, true, document));
    expect(host.textContent).toContain("convinc0ingly");
    await frameDone();
    expect(states.at(-1)?.collapsed).toBe(true);
    box.checked = false;
    box.dispatchEvent(new Event("change"));
    expect(drawn()).toEqual(edgesFor(0.2, 0, false, document));
  });

  it("are not offered where every word is one token", () => {
    component.destroy();
    show(treeDocument(texts.longText(12), 6));
    expect(found<HTMLInputElement>(host, 'input[type="checkbox"]').disabled).toBe(true);
  });
});

describe("walking the tree", () => {
  it("is a tree for screen readers: levels, places among siblings, one stop for Tab", () => {
    expect(found(host, '[role="tree"]').getAttribute("aria-label")).toContain("Attribution tree");
    expect(items().length).toBe(edgesFor(0.1).length + 2);
    expect(items().filter((item) => item.tabIndex === 0).length).toBe(1);
    expect(items()[0]?.getAttribute("aria-level")).toBe("1");
    expect(items()[0]?.getAttribute("aria-label")).toContain("root, where the prediction is read");
    expect(items()[1]?.getAttribute("aria-label")).toContain("Top node. Layer 5: “[CLS]” (position 0");
    for (const item of items()) {
      expect(Number(item.getAttribute("aria-posinset"))).toBeGreaterThan(0);
      expect(Number(item.getAttribute("aria-posinset"))).toBeLessThanOrEqual(
        Number(item.getAttribute("aria-setsize")),
      );
    }
  });

  it("goes down to the heaviest, up again, and along the text", () => {
    items()[0]?.focus();
    press(document.activeElement as Element, "ArrowDown");
    expect(document.activeElement).toBe(items()[1]);
    press(document.activeElement as Element, "ArrowDown");
    const top = edgesFor(0.1)[0]?.split(" ")[1];
    const level = candidatesOf(DOCUMENT.levels[0] as (typeof DOCUMENT.levels)[0], 6, "strongest");
    const heaviest = grow(level, 0.1, 0)
      .edges.filter((edge) => String(edge.query) === top)
      .sort((a, b) => b.weight - a.weight)[0];
    expect(readout()).toContain(`(position ${heaviest?.key}`);
    expect(readout()).toMatch(
      /^Layer \d: “.+” \(position \d+.*\) attends to “.+” .*weight \+[\d.]+ nats \(\d+\.\d % of/,
    );
    press(document.activeElement as Element, "ArrowUp");
    expect(document.activeElement).toBe(items()[1]);
    press(document.activeElement as Element, "Home");
    expect(document.activeElement).toBe(items()[0]);
    const before = Number.parseFloat((document.activeElement as HTMLElement).style.left);
    press(document.activeElement as Element, "ArrowRight");
    expect(Number.parseFloat((document.activeElement as HTMLElement).style.left)).toBeGreaterThan(before);
    press(document.activeElement as Element, "End");
    expect(document.activeElement).toBe(items().at(-1));
  });

  it("keeps its keys to itself, and Enter chooses an edge", () => {
    let leaked = 0;
    host.addEventListener("keydown", () => {
      leaked += 1;
    });
    items()[2]?.focus();
    const event = press(items()[2] as Element, "Enter");
    expect(event.defaultPrevented).toBe(true);
    expect(leaked).toBe(0);
    expect(chosen).toEqual([edgesFor(0.1)[0]?.split(" ").map(Number)]);
    expect(items()[2]?.getAttribute("aria-selected")).toBe("true");
    expect(found(host, ".hw-overlay").innerHTML).toContain("stroke-dasharray");
    press(items()[2] as Element, "Enter");
    expect(chosen.at(-1)).toEqual([]);
  });

  it("keeps the focus on a token that is still there after a redraw", () => {
    const [before, after] = [edgesFor(0.1), edgesFor(0.3)].map((edges) =>
      edges.map((one) => one.split(" ")[2]),
    );
    const key = after?.at(-1);
    const [from, to] = [before?.indexOf(key) ?? -1, after?.indexOf(key) ?? -1];
    expect(from).toBeGreaterThanOrEqual(0);
    expect(from).not.toBe(to);
    items()[from + 2]?.focus();
    turn(slider(0), 0.3);
    expect(document.activeElement).toBe(items()[to + 2]);
    expect(readout()).toBe(items()[to + 2]?.getAttribute("aria-label"));
  });

  it("reads what is under the pointer", () => {
    const target = found(host, '[role="tree"]');
    const item = items()[2] as HTMLElement;
    const [x, y] = [Number.parseFloat(item.style.left) + 9, Number.parseFloat(item.style.top) + 9];
    target.dispatchEvent(new PointerEvent("pointermove", { clientX: x, clientY: y, bubbles: true }));
    expect(readout()).toBe(item.getAttribute("aria-label"));
    expect(found(host, ".hw-overlay").innerHTML).toContain("<circle");
    target.dispatchEvent(new PointerEvent("pointerleave"));
    expect(readout()).toContain("Point at a line");
    target.dispatchEvent(new MouseEvent("click", { clientX: x, clientY: y, bubbles: true }));
    expect(chosen.length).toBe(1);
  });
});

describe("without a kernel, without a result, with hostile text", () => {
  it("a saved tree can be turned too, and keeps it when only the theme changes", () => {
    component.destroy();
    const saved = mountStatic(host, { document: DOCUMENT, theme: "light" });
    turn(slider(0), 0.3);
    saved.update({ document: DOCUMENT, theme: "dark" });
    expect(drawn()).toEqual(edgesFor(0.3));
    saved.destroy();
    expect(host.childElementCount).toBe(0);
    show();
  });

  it("says what is running, or that nothing is there yet", () => {
    component.destroy();
    show({ ...DOCUMENT, levels: [], tokens: [], words: [] });
    expect(found(host, ".hw-state").textContent).toContain("No result yet");
    component.update({ ...props, status: "Attribution: layer 2 of 6." });
    expect(found(host, ".hw-state").textContent).toBe("Attribution: layer 2 of 6.");
    component.update({ ...props, document: DOCUMENT });
    expect(drawn()).toEqual(edgesFor(0.1));
  });

  it("token text is only ever text", () => {
    component.destroy();
    show(treeDocument(texts.HOSTILE, 6, { threshold: 0 }));
    expect(activeElements(host)).toEqual([]);
    expect(host.textContent).toContain("</script><img");
  });
});
