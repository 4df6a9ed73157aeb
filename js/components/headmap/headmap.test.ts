// @vitest-environment happy-dom
import { afterEach, describe, expect, it } from "vitest";
import type { DrawOptions } from "../../marks/picture.js";
import { HOSTILE_TEXT } from "../../testing/charts.js";
import { activeElements, found, parsedSvg, press } from "../../testing/dom.js";
import { headMapDocument } from "../../testing/headmaps.js";
import { packed } from "../../testing/views.js";
import { LIGHT } from "../../theme/palette.js";
import { decodeArray } from "../../wire/decode.js";
import type { DistancesFile, HeadMapDocument, HeadRef } from "../../wire/types.js";
import { asDocument } from "../mounting.js";
import { surrounded } from "../points/model.js";
import { draw, drawHeadMap, drawSelection } from "./draw.js";
import { misfit } from "./from-distances.js";
import { headMapOf, labelOf, scalesOf, sentence } from "./model.js";
import { type HeadMapProps, mount } from "./mount.js";
import { shapePath } from "./shapes.js";
import { mountStatic } from "./static.js";

const OPTIONS: DrawOptions = { theme: "light", width: 720, background: true, provenance: true };
const PLAIN = headMapDocument(6, 12);
const VIEW = headMapOf(PLAIN);
const DOCUMENTS: Readonly<Record<string, HeadMapDocument>> = {
  layers: PLAIN,
  roles: headMapDocument(6, 12, { shown: 1 }),
  clusters: headMapDocument(12, 12, { shown: 2 }),
  "384": headMapDocument(24, 16),
  "3072": headMapDocument(48, 64, { shown: 2 }),
  hostile: headMapDocument(3, 4, { hostile: true, shown: 1 }),
  "no groups": { ...PLAIN, groups: [] },
  "one place": {
    ...PLAIN,
    x: packed(new Float32Array(72), [72]),
    y: packed(new Float32Array(72), [72]),
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
          expect(picture.svg.length).toBeLessThan(600_000);
        });

  it("says how good the picture is, and what the axes are", () => {
    const { svg } = draw(PLAIN, OPTIONS);
    for (const words of ["72 heads, stress 0.23", "82 % of the variance", "first direction (nats per token)"])
      expect(svg).toContain(words);
  });

  it("has one unit for both directions, so that distances are what they look like", () => {
    for (const points of [VIEW.points, VIEW.points.map(({ head, x, y }) => ({ head, x: y, y: x }))]) {
      const { x, y } = scalesOf(points, [50, 600], [20, 500]);
      expect(x(0.1) - x(0)).toBeCloseTo(y(0) - y(0.1), 6);
      for (const point of points) {
        expect(x(point.x)).toBeGreaterThan(50);
        expect(y(point.y)).toBeLessThan(500);
      }
    }
  });

  it("tells categories apart by shape as well as colour", () => {
    const shapes = new Set([0, 1, 2, 3, 4, 5, 6].map((i) => shapePath(i, 0, 0, 5)));
    expect(shapes.size).toBe(7);
    const { base } = drawHeadMap(headMapOf(DOCUMENTS.roles ?? PLAIN), 640, LIGHT);
    for (const label of ["positional (5)", "syntactic (5)", "no role (48)"]) expect(base).toContain(label);
  });

  it("writes the layer into the points, as far as there is room", () => {
    const numbers = (view: HeadMapDocument) =>
      drawHeadMap(headMapOf(view), 640, LIGHT).base.match(/text-anchor="middle"[^>]*>\d+</g)?.length ?? 0;
    expect(numbers(PLAIN)).toBeGreaterThanOrEqual(72);
    expect(numbers(headMapDocument(24, 16))).toBeLessThan(40);
  });

  it("names selected heads", () => {
    const svg = drawSelection(VIEW, drawHeadMap(VIEW, 640, LIGHT), [["encoder", 0, 7]], null, LIGHT);
    expect(svg).toContain(">L0H7<");
  });

  it("refuses points without a place", () => {
    const x = packed(new Float32Array(72).fill(Number.NaN), [72]);
    expect(() => headMapOf({ ...PLAIN, x })).toThrow("point 0 is no head with a place");
  });

  it("says everything of a head", () => {
    const [first] = drawHeadMap(VIEW, 640, LIGHT).placed;
    expect(first && sentence(VIEW, first)).toBe("layer 0 head 0; role positional; cluster A");
    const roles = VIEW.groups[1];
    expect(roles && labelOf(roles, 1)).toBe("");
    expect(roles && labelOf(roles, 3)).toBe("syntactic, sink");
  });
});

describe("outlines", () => {
  const at = (x: number, y: number) => ({
    head: ["encoder", x, y] as HeadRef,
    key: `encoder,${x},${y}`,
    x,
    y,
  });
  const placed = [at(1, 1), at(5, 5), at(9, 1), at(5, 1)];

  it("hold what is inside, also where they are not convex", () => {
    const hook = [
      [0, 0],
      [10, 0],
      [10, 10],
      [4, 10],
      [4, 2],
      [0, 2],
    ] as const;
    expect(surrounded(placed, hook).length).toBe(4);
    const bite = [
      [0, 0],
      [4.5, 0],
      [4.5, 3],
      [5.5, 3],
      [5.5, 0],
      [10, 0],
      [10, 4],
      [0, 4],
    ] as const;
    expect(surrounded(placed, bite).map(([, x, y]) => [x, y])).toEqual([
      [1, 1],
      [9, 1],
    ]);
    expect(surrounded(placed, [])).toEqual([]);
  });
});

describe("mount", () => {
  const { placed } = drawHeadMap(VIEW, 640, LIGHT);

  function shown(content: HeadMapDocument) {
    const log: (readonly HeadRef[])[] = [];
    const menus: number[] = [];
    const props: HeadMapProps = { document: content, theme: "light", selected: [] };
    const component = mount(document.body, props, {
      onSelect: (heads) => log.push(heads),
      onShow: (index) => menus.push(index),
    });
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
    return { log, menus, props, component, at, list: found(document.body, "[role=listbox]") };
  }

  for (const pointerType of ["mouse", "touch"])
    it(`selects what an outline holds, by ${pointerType}`, () => {
      const { log, at } = shown(PLAIN);
      const target = placed[7];
      if (!target) throw new Error("no point");
      const around = [
        [-14, -14],
        [14, -14],
        [14, 14],
        [-14, 14],
      ] as const;
      at("pointerdown", target.x - 14, target.y - 14, { pointerType });
      for (const [dx, dy] of around) at("pointermove", target.x + dx, target.y + dy, { pointerType });
      expect(found(document.body, ".hw-outline").hidden).toBe(false);
      expect(found(document.body, ".hw-outline path").getAttribute("d")).toContain("L");
      at("pointerup", target.x - 14, target.y + 14, { pointerType });
      expect(found(document.body, ".hw-outline").hidden).toBe(true);
      const expected = placed.filter(
        ({ x, y }) => Math.abs(x - target.x) < 14 && Math.abs(y - target.y) < 14,
      );
      expect(log.at(-1)).toEqual(expected.map(({ head }) => head));
      expect(log.at(-1)).toContainEqual(target.head);
    });

  it("adds an outline with ctrl, and lets go with Escape", () => {
    const { log, props, component, at, list } = shown(PLAIN);
    component.update({ ...props, selected: [["encoder", 5, 0]] });
    at("pointerdown", 0, 0);
    at("pointermove", 700, 0);
    at("pointermove", 700, 700);
    at("pointermove", 0, 700);
    at("pointerup", 0, 700, { ctrlKey: true });
    expect(log.at(-1)?.[0]).toEqual(["encoder", 5, 0]);
    expect(log.at(-1)?.length).toBe(72);
    expect(press(list, "Escape").defaultPrevented).toBe(true);
    expect(log.at(-1)).toEqual([]);
  });

  it("works by keyboard, and keys stay inside", () => {
    const { log, list } = shown(PLAIN);
    let leaked = 0;
    document.body.addEventListener("keydown", () => leaked++, { once: true });
    list.focus();
    press(list, "Home");
    press(list, "Enter");
    const leftmost = placed.reduce((a, b) => (a.x < b.x ? a : b));
    expect(log.at(-1)).toEqual([leftmost.head]);
    const active = document.getElementById(list.getAttribute("aria-activedescendant") ?? "");
    expect(active?.getAttribute("aria-label")).toMatch(/^layer \d+ head \d+; .*cluster/);
    expect(leaked).toBe(0);
  });

  it("asks for other colours by its menu, and draws what it is told", () => {
    const { menus, props, component } = shown(PLAIN);
    const select = document.querySelector("select");
    if (!select) throw new Error("no menu");
    select.value = "cluster";
    select.dispatchEvent(new Event("change"));
    expect(menus).toEqual([2]);
    component.update({ ...props, shown: 2 });
    expect(found(document.body, ".hw-picture").innerHTML).toContain("A (");
    expect(found(document.body, "[role=listbox]").getAttribute("aria-label")).toContain(
      "coloured by cluster",
    );
    component.destroy();
    expect(document.body.children.length).toBe(0);
  });

  it("has no menu where there is nothing to choose", () => {
    shown({ ...PLAIN, groups: PLAIN.groups.slice(0, 1) });
    expect(found(document.body, ".hw-bar").hidden).toBe(true);
  });

  it("draws names as text", () => {
    shown(headMapDocument(3, 4, { hostile: true, shown: 1 }));
    expect(activeElements(document.body)).toEqual([]);
    expect(document.body.textContent).toContain(HOSTILE_TEXT.slice(0, 30));
  });

  it("keeps its own selection and colours without a kernel, until another document comes", () => {
    const component = mountStatic(document.body, { document: PLAIN, theme: "dark" });
    const list = found(document.body, "[role=listbox]");
    list.focus();
    press(list, "End");
    press(list, "Enter");
    const select = document.querySelector("select");
    if (!select) throw new Error("no menu");
    select.value = "role";
    select.dispatchEvent(new Event("change"));
    expect(document.querySelectorAll("[aria-selected=true]").length).toBe(1);
    expect(found(document.body, ".hw-picture").innerHTML).toContain("positional (5)");
    component.update({ document: { ...PLAIN, title: "other" }, theme: "dark" });
    expect(document.querySelectorAll("[aria-selected=true]").length).toBe(0);
    component.destroy();
  });
});

describe("a file of distances", () => {
  const places = [
    [0, 0],
    [3, 0],
    [0, 1],
    [3, 1.5],
    [1, 0.5],
  ] as const;
  const apart = (one: readonly [number, number], other: readonly [number, number]) =>
    Math.hypot(one[0] - other[0], one[1] - other[1]);
  const pairs = places.flatMap((one, i) => places.slice(i + 1).map((other) => apart(one, other)));
  const file: DistancesFile = {
    schema: 1,
    document: "distances",
    version: "0.1.0",
    fingerprint: null,
    n: 9,
    keys: "content",
    kinds: [
      {
        kind: "decoder",
        heads: packed(Int32Array.from([0, 0, 0, 1, 1, 0, 1, 1, 2, 0]), [5, 2]),
        pairs: packed(Float64Array.from(pairs), [10]),
        stderr: packed(new Float64Array(10), [10]),
        n: 9,
        tokens: 50,
        halves: null,
        by_layer: packed(new Float64Array(9), [1, 3, 3]),
        group_weights: packed(new Float64Array(1), [1]),
      },
    ],
    provenance: null,
  };

  it("is shown as a map whose distances are those of the file", () => {
    const shown = asDocument(file) as HeadMapDocument;
    expect(shown.document).toBe("headmap");
    const [x, y] = [decodeArray(shown.x), decodeArray(shown.y)];
    const drawn = Array.from(x).flatMap((_, i) =>
      Array.from(x.slice(i + 1)).map((_x, j) =>
        Math.hypot((x[i] ?? 0) - (x[i + 1 + j] ?? 0), (y[i] ?? 0) - (y[i + 1 + j] ?? 0)),
      ),
    );
    for (const [i, value] of drawn.entries()) expect(value).toBeCloseTo(pairs[i] ?? 0, 4);
    expect(shown.stress).toBeLessThan(1e-4);
    expect(shown.fit).toBeCloseTo(1, 6);
    expect(shown.note).toContain(
      "decoder attention, Jensen-Shannon divergence over 9 texts, without special tokens",
    );
    const view = headMapOf(shown);
    expect(view.points.map(({ head }) => head)).toEqual([
      ["decoder", 0, 0],
      ["decoder", 0, 1],
      ["decoder", 1, 0],
      ["decoder", 1, 1],
      ["decoder", 2, 0],
    ]);
    expect(() => draw(shown, OPTIONS)).not.toThrow();
  });

  it("knows how far a picture is off", () => {
    // Distances 1, 1, 2 drawn as 1, 2, 1: squared misfit 2 over 6.
    const { stress, fit } = misfit([1, 1, 2], [0, 1, 2], [0, 0, 0]);
    expect(stress).toBeCloseTo(Math.sqrt(2 / 6), 6);
    expect(fit).toBeCloseTo(0.25, 6);
  });
});
