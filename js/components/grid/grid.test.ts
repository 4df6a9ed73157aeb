// @vitest-environment happy-dom
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { DrawOptions } from "../../marks/picture.js";
import { GRIDS, grid, gridPanel, HOSTILE_TEXT, scoreLayer } from "../../testing/grids.js";
import { LIGHT } from "../../theme/palette.js";
import type { HeadRef } from "../../wire/types.js";
import { draw } from "./draw.js";
import { cellAt, cellBox, gridLayout } from "./layout.js";
import { type GridEvents, type GridProps, mount } from "./mount.js";
import { looksOf, parts, roleWords, viewRoles } from "./roles.js";
import { headsBetween, toggled } from "./selection.js";
import { mountStatic } from "./static.js";

const OPTIONS: DrawOptions = { theme: "light", width: 720, background: true };

function parsed(svg: string): Document {
  const document = new DOMParser().parseFromString(svg, "image/svg+xml");
  expect(document.querySelector("parsererror")).toBeNull();
  return document;
}

function named(name: string) {
  const document = GRIDS[name];
  if (!document) throw new Error(`no grid called ${name}`);
  return document;
}

describe("draw", () => {
  for (const [name, document] of Object.entries(GRIDS))
    for (const theme of ["light", "dark"] as const)
      it(`${name}, ${theme}: is one well-formed picture of a sensible size`, () => {
        const picture = draw(document, { ...OPTIONS, theme, provenance: true });
        const root = parsed(picture.svg).documentElement;
        expect(root.tagName).toBe("svg");
        expect(picture.width).toBeGreaterThan(40);
        expect(picture.width).toBeLessThanOrEqual(720);
        expect(picture.height).toBeGreaterThan(40);
        expect(root.getAttribute("aria-label")?.length).toBeGreaterThan(5);
        expect(picture.svg).not.toMatch(/NaN|undefined|Infinity/);
      });

  it("draws one mark per head up to the limit and one image above it", () => {
    const small = draw(named("bert"), OPTIONS).svg;
    const large = draw(named("large"), OPTIONS).svg;
    expect(small).not.toContain("<image");
    expect(parsed(large).querySelectorAll("image")).toHaveLength(1);
    expect(parsed(large).querySelectorAll("*").length).toBeLessThan(400);
    expect(large.length).toBeLessThan(150_000);
  });

  it("hatches what was not measured and says so in the legend", () => {
    expect(draw(named("bert"), OPTIONS).svg).toContain("not measured");
    expect(draw(named("signed"), OPTIONS).svg).not.toContain("not measured");
  });

  it("stacks all kinds, or shows the one asked for", () => {
    const all = draw(named("seq2seq"), OPTIONS);
    const one = draw(named("seq2seq"), { ...OPTIONS, kind: "decoder", score: "entropy" });
    expect(all.height).toBeGreaterThan(2 * one.height);
    expect(one.svg).toContain("entropy (nats)");
    expect(one.svg).not.toContain("encoder self-attention");
  });

  it("keeps hostile text text", () => {
    const { svg } = draw(named("hostile"), OPTIONS);
    const document = parsed(svg);
    expect(document.querySelectorAll("script, img, foreignObject")).toHaveLength(0);
    for (const element of document.querySelectorAll("*"))
      for (const attribute of element.attributes) expect(attribute.name).not.toMatch(/^on/);
    expect(document.documentElement.textContent).toContain("</script><img src=x onerror=alert(1)>");
    const inPage = globalThis.document.createElement("div");
    inPage.innerHTML = svg;
    expect(inPage.querySelectorAll("script, img")).toHaveLength(0);
  });

  it("names the shape it expected when an array does not fit its panel", () => {
    const wrong = grid([gridPanel("encoder", 3, 4, [scoreLayer("x", 2, 4)])]);
    expect(() => draw(wrong, OPTIONS)).toThrow(/encoder, x: expected an array of shape \[3,4\], got \[2,4\]/);
  });
});

describe("roles", () => {
  const role = (name: string, ...heads: HeadRef[]) => ({
    name,
    rule: `what ${name} heads do`,
    heads: heads.map((head) => ({ head, value: 0.9, about: `${name} in 90 %`, certain: head[2] !== 1 })),
  });
  const two = grid([gridPanel("encoder", 2, 3, [])], {
    roles: [
      role("mine", ["encoder", 0, 1]),
      role("positional", ["encoder", 0, 1], ["encoder", 1, 2]),
      role("rare-word"),
    ],
  });

  it("names every role with its heads and rule, and those that no head has", () => {
    const { svg } = draw(two, OPTIONS);
    const words = parsed(svg).documentElement.textContent ?? "";
    for (const part of [
      "positional",
      "2 heads",
      "mine",
      "1 head",
      "what mine heads do",
      "No head: rare-word.",
    ])
      expect(words).toContain(part);
    expect(words).toContain("may do so by luck");
    expect(parsed(svg).documentElement.getAttribute("aria-label")).toContain(
      "roles: mine 1, positional 2, rare-word 0",
    );
  });

  it("gives a known role the same look whatever else there is, and no two roles the same", () => {
    const names = (list: readonly string[]) =>
      looksOf(
        list.map((name) => role(name)),
        LIGHT,
      );
    const alone = names(["induction"])[0];
    const many = names([
      "positional",
      "x",
      "y",
      "induction",
      "z",
      ...Array.from({ length: 25 }, (_, i) => `r${i}`),
    ]);
    expect([alone?.colour, alone?.pattern]).toEqual([many[3]?.colour, many[3]?.pattern]);
    expect(new Set(many.map(({ colour, pattern }) => `${colour} ${pattern}`)).size).toBe(many.length);
  });

  it("cuts a box into as many parts as there are roles, inside it and without overlap", () => {
    for (let count = 1; count <= 12; count++)
      for (const box of [
        [10, 20, 30, 30],
        [10, 20, 30, 12],
      ] as const) {
        const cut = parts(box, count);
        expect(cut).toHaveLength(count);
        const area = cut.reduce((sum, [, , width, height]) => sum + width * height, 0);
        expect(area).toBeCloseTo(box[2] * box[3], 6);
        for (const [x, y, width, height] of cut) {
          expect(x).toBeGreaterThanOrEqual(box[0] - 1e-9);
          expect(y).toBeGreaterThanOrEqual(box[1] - 1e-9);
          expect(x + width).toBeLessThanOrEqual(box[0] + box[2] + 1e-9);
          expect(y + height).toBeLessThanOrEqual(box[1] + box[3] + 1e-9);
        }
      }
  });

  it("reads out evidence, uncertainty and the lack of a role", () => {
    const view = viewRoles(two, "encoder", LIGHT);
    expect(roleWords(view?.of.get("encoder,0,1"))).toBe(
      "mine (mine in 90 %), may be luck; positional (positional in 90 %), may be luck",
    );
    expect(roleWords(view?.of.get("encoder,1,2"))).toBe("positional (positional in 90 %)");
    expect(roleWords(view?.of.get("encoder,1,1"))).toBe("no role");
    expect(viewRoles(grid([]), "encoder", LIGHT)).toBeNull();
  });

  it("keeps few elements however many heads have roles", () => {
    const svg = draw(named("roles-large-bare"), OPTIONS).svg;
    expect(parsed(svg).querySelectorAll("*").length).toBeLessThan(200);
  });
});

describe("layout", () => {
  it("finds every cell under its own middle, and nothing outside", () => {
    for (const [layers, heads] of [
      [1, 1],
      [6, 12],
      [48, 64],
    ] as const) {
      const layout = gridLayout(gridPanel("encoder", layers, heads, []), 720, 40);
      for (const layer of [0, layers - 1])
        for (const head of [0, heads - 1]) {
          const [x, y, side] = cellBox(layout, layer, head);
          expect(cellAt(layout, x + side / 2, y + side / 2)).toEqual([layer, head]);
        }
      expect(cellAt(layout, layout.x - 1, layout.y + 1)).toBeNull();
      expect(cellAt(layout, layout.right + 1, layout.y + 1)).toBeNull();
      expect(layout.right).toBeLessThanOrEqual(720);
    }
  });
});

describe("lists of heads", () => {
  it("toggles and spans blocks in any direction", () => {
    const head: HeadRef = ["encoder", 1, 2];
    expect(toggled([], head)).toEqual([head]);
    expect(toggled([head, ["cross", 1, 2]], ["encoder", 1, 2])).toEqual([["cross", 1, 2]]);
    expect(headsBetween(["encoder", 1, 2], ["encoder", 0, 1])).toEqual([
      ["encoder", 0, 1],
      ["encoder", 0, 2],
      ["encoder", 1, 1],
      ["encoder", 1, 2],
    ]);
  });
});

describe("mount", () => {
  let root: HTMLElement;
  beforeEach(() => {
    root = document.createElement("div");
    document.body.append(root);
  });
  afterEach(() => root.remove());

  /** A grid that owns its state as a host does. */
  function live(props: GridProps, events: GridEvents = {}) {
    let now = props;
    const component = mount(root, now, {
      ...events,
      onSelect: (selected) => {
        events.onSelect?.(selected);
        now = { ...now, selected };
        component.update(now);
      },
    });
    return { component, selected: () => now.selected ?? now.document.selected };
  }
  const bert: GridProps = {
    document: named("bert"),
    theme: "light",
    selected: [],
    pruned: [["encoder", 0, 1]],
  };

  describe("while scores come", () => {
    const waiting: GridProps = {
      document: grid([]),
      theme: "light",
      status: "importance: 0 of 9",
      running: true,
    };
    const state = () => root.querySelector<HTMLElement>(".hw-state");
    const stop = () => root.querySelector<HTMLButtonElement>(".hw-state button");

    it("says how far it is and stops once, by pointer or keyboard", () => {
      const onStop = vi.fn();
      const { component } = live(waiting, { onStop });
      expect(state()?.textContent).toContain("importance: 0 of 9");
      expect(root.textContent).toContain("No scores yet.");
      stop()?.click();
      stop()?.click();
      expect(onStop).toHaveBeenCalledTimes(1);
      expect(stop()?.getAttribute("aria-disabled")).toBe("true");
      expect(stop()?.type).toBe("button");
      component.destroy();
    });

    it("keeps the focused cell while other scores arrive, and moves the focus off a button that goes", () => {
      const running = { ...bert, status: "importance: 16 of 64 texts", running: true };
      const { component } = live(running, { onStop: vi.fn() });
      const cell = root.querySelector<HTMLElement>('[tabindex="0"].hw-cell');
      cell?.focus();
      component.update({ ...running, document: { ...named("bert") }, status: "importance: 32 of 64 texts" });
      expect(document.activeElement?.classList.contains("hw-cell")).toBe(true);
      expect(state()?.hidden).toBe(false);
      stop()?.focus();
      component.update({ ...bert, status: "", running: false });
      expect(document.activeElement?.classList.contains("hw-cell")).toBe(true);
      expect(state()?.hidden).toBe(true);
      expect(root.querySelector('[role="status"]')?.textContent).toBe("Done.");
      component.destroy();
    });

    it("ends with a sentence that stays, and has no button where nobody can stop it", () => {
      const { component } = live({ ...waiting, ...bert, running: true, status: "working" });
      expect(stop()?.hidden).toBe(true);
      component.update({ ...bert, running: false, status: "importance was stopped after 16 of 64 texts." });
      expect(state()?.hidden).toBe(false);
      expect(root.querySelector('[role="status"]')?.textContent).toContain("stopped after 16");
      component.destroy();
    });
  });
  const cell = (layer: number, head: number) =>
    root.querySelector<HTMLElement>(`[data-layer="${layer}"][data-head="${head}"]`) as HTMLElement;
  const press = (key: string, more: KeyboardEventInit = {}) =>
    document.activeElement?.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, ...more }));
  const click = (element: HTMLElement, more: MouseEventInit = {}) =>
    element.dispatchEvent(new MouseEvent("click", { bubbles: true, ...more }));

  it("is a grid of cells that say layer, head, value and state", () => {
    live(bert);
    expect(root.querySelector('[role="grid"]')?.getAttribute("aria-rowcount")).toBe("6");
    expect(root.querySelectorAll('[role="gridcell"]')).toHaveLength(72);
    expect(cell(0, 1).getAttribute("aria-label")).toMatch(
      /^layer 0 head 1: 0\.\d+ ± 0\.\d+ nats, n = 200, pruned$/,
    );
    expect(root.querySelectorAll('[role="gridcell"][tabindex="0"]')).toHaveLength(1);
    expect(root.querySelector<HTMLElement>(".hw-root")?.dataset.lmSuppressShortcuts).toBe("true");
  });

  it("selects one head by a click, adds with Ctrl, spans with Shift, clears by clicking again", () => {
    const { selected } = live(bert);
    click(cell(2, 3));
    expect(selected()).toEqual([["encoder", 2, 3]]);
    expect(cell(2, 3).getAttribute("aria-selected")).toBe("true");
    click(cell(4, 4), { ctrlKey: true });
    expect(selected()).toHaveLength(2);
    click(cell(5, 5), { shiftKey: true });
    expect(selected()).toEqual(headsBetween(["encoder", 4, 4], ["encoder", 5, 5]));
    click(cell(1, 1));
    click(cell(1, 1));
    expect(selected()).toEqual([]);
  });

  it("moves by arrows, Home and End with one cell in the tab order, and toggles by Space", () => {
    const { selected } = live(bert);
    cell(0, 0).focus();
    press("ArrowRight");
    press("ArrowDown");
    expect(document.activeElement).toBe(cell(1, 1));
    press("End");
    expect(document.activeElement).toBe(cell(1, 11));
    press("Home", { ctrlKey: true });
    expect(document.activeElement).toBe(cell(0, 0));
    press("ArrowUp");
    expect(document.activeElement).toBe(cell(0, 0));
    expect(root.querySelectorAll('[role="gridcell"][tabindex="0"]')).toHaveLength(1);
    press(" ");
    expect(selected()).toEqual([["encoder", 0, 0]]);
    press("ArrowRight", { shiftKey: true });
    expect(selected()).toHaveLength(2);
    press(" ", { ctrlKey: true });
    expect(selected()).toHaveLength(1);
    press("Escape");
    expect(selected()).toEqual([]);
  });

  it("keeps keys to itself", () => {
    live(bert);
    const leaked = vi.fn();
    document.body.addEventListener("keydown", leaked);
    cell(0, 0).focus();
    for (const key of ["a", "d", "x", "Enter", "ArrowDown"]) press(key);
    expect(leaked).not.toHaveBeenCalled();
    document.body.removeEventListener("keydown", leaked);
  });

  it("reads out what is under the pointer, else how much is selected", () => {
    live({ ...bert, selected: [["encoder", 1, 1]] });
    const readout = root.querySelector(".hw-readout");
    expect(readout?.textContent).toBe("1 selected, 1 pruned");
    cell(2, 3).dispatchEvent(new PointerEvent("pointermove", { bubbles: true, pointerType: "mouse" }));
    expect(readout?.textContent).toMatch(/^layer 2 head 3: /);
    root.querySelector(".hw-stage")?.dispatchEvent(new PointerEvent("pointerleave"));
    expect(readout?.textContent).toBe("1 selected, 1 pruned");
  });

  it("adds by a long press of a finger", () => {
    vi.useFakeTimers();
    const { selected } = live({ ...bert, selected: [["encoder", 1, 1]] });
    cell(3, 3).dispatchEvent(new PointerEvent("pointerdown", { bubbles: true, pointerType: "touch" }));
    vi.advanceTimersByTime(600);
    click(cell(3, 3));
    expect(selected()).toHaveLength(2);
    vi.useRealTimers();
  });

  it("does not touch the drawing when only selection or pruning change, and nothing when nothing does", () => {
    const { component } = live(bert);
    const picture = root.querySelector(".hw-picture")?.firstElementChild;
    const before = root.innerHTML;
    component.update(bert);
    expect(root.innerHTML).toBe(before);
    component.update({ ...bert, pruned: [["encoder", 5, 5]] });
    expect(root.querySelector(".hw-picture")?.firstElementChild).toBe(picture);
    expect(cell(5, 5).getAttribute("aria-label")).toContain("pruned");
    expect(cell(0, 1).getAttribute("aria-label")).not.toContain("pruned");
  });

  it("offers pruning only when the owner wants to hear of it", () => {
    const pruned = vi.fn();
    live(
      {
        ...bert,
        selected: [
          ["encoder", 0, 1],
          ["encoder", 0, 2],
        ],
      },
      { onPrune: pruned },
    );
    cell(0, 0).focus();
    press("Delete");
    expect(pruned).toHaveBeenCalledWith([["encoder", 0, 2]]);
  });

  it("says the roles of a cell, and selects the heads of a role by a list", () => {
    const { selected, component } = live({ document: named("roles-seq2seq"), theme: "dark", selected: [] });
    const roles = named("roles-seq2seq").roles ?? [];
    const own = roles[1];
    if (!own) throw new Error("no role");
    const [, layer, index] = own.heads[0]?.head ?? ["encoder", 0, 0];
    expect(cell(layer, index).getAttribute("aria-label")).toContain(`${own.name} (93 % of 4,211)`);
    expect(root.textContent).toContain("select role");
    const list = [...root.querySelectorAll("select")].find((select) => !select.closest("[hidden]"));
    if (!list) throw new Error("no list");
    expect([...list.options].map((option) => option.value)).toEqual(["", ...roles.map(({ name }) => name)]);
    list.value = own.name;
    list.dispatchEvent(new Event("change"));
    expect(selected()).toEqual(own.heads.map(({ head }) => head));
    expect(list.value).toBe(own.name);
    click(cell(layer, index));
    expect(list.value).toBe("");
    component.destroy();
  });

  it("changes kind by tabs and score by the list, through events", () => {
    const chosen = vi.fn();
    mount(root, { document: named("seq2seq"), theme: "dark" }, { onChoose: chosen });
    const tabs = root.querySelectorAll<HTMLElement>('[role="tab"]');
    expect(tabs).toHaveLength(3);
    click(tabs[1] as HTMLElement);
    expect(chosen).toHaveBeenCalledWith({ kind: "decoder", score: "confidence" });
  });

  it("keeps only the focused row of a huge grid in the page, and still goes everywhere", () => {
    live({ document: named("large"), theme: "light" });
    expect(root.querySelectorAll('[role="gridcell"]')).toHaveLength(64);
    cell(0, 0).focus();
    press("ArrowDown");
    expect(document.activeElement?.getAttribute("aria-label")).toMatch(/^layer 1 head 0/);
    press("End", { ctrlKey: true });
    expect(document.activeElement?.getAttribute("aria-label")).toMatch(/^layer 47 head 63/);
    expect(document.activeElement?.parentElement?.getAttribute("aria-rowindex")).toBe("48");
  });

  it("draws hostile names inertly", () => {
    live({ document: named("hostile"), theme: "light" });
    expect(root.querySelectorAll("script, img")).toHaveLength(0);
    expect(root.textContent).toContain(HOSTILE_TEXT.slice(0, 37));
  });

  it("leaves an empty element", () => {
    const { component } = live(bert);
    component.destroy();
    expect(root.innerHTML).toBe("");
  });

  it("keeps its own selection and tab without a kernel", () => {
    const component = mountStatic(root, { document: named("seq2seq"), theme: "light" });
    click(cell(1, 1));
    expect(cell(1, 1).getAttribute("aria-selected")).toBe("true");
    click(root.querySelectorAll<HTMLElement>('[role="tab"]')[2] as HTMLElement);
    expect(root.querySelector('[aria-selected="true"][role="tab"]')?.textContent).toBe("cross-attention");
    expect(cell(1, 1).getAttribute("aria-label")).toBe("layer 1 head 1: not measured");
    component.destroy();
  });
});
