// @vitest-environment happy-dom
import { afterEach, describe, expect, it, vi } from "vitest";
import type { DrawOptions } from "../../marks/picture.js";
import { activeElements, found, parsedSvg, press } from "../../testing/dom.js";
import { triggersDocument, triggersFound, triggersHostile, triggersMany } from "../../testing/triggers.js";
import { checkDocument } from "../../wire/guards.js";
import { draw } from "./draw.js";
import {
  against,
  changeText,
  movedText,
  nextSort,
  outcomeText,
  rightToLeft,
  sortedRows,
  viewTable,
} from "./model.js";
import { mount, type TriggersProps } from "./mount.js";
import { mountStatic } from "./static.js";

const OPTIONS: DrawOptions = { theme: "light", width: 760, background: true };
const ALL = { triggersDocument, triggersFound, triggersMany, triggersHostile };

afterEach(() => document.body.replaceChildren());

function place(): HTMLElement {
  const el = document.createElement("div");
  document.body.append(el);
  return el;
}

function rows(el: ParentNode): HTMLElement[] {
  return [...el.querySelectorAll<HTMLElement>('table[role="grid"] tbody tr')];
}

describe("what a table shows", () => {
  it("reads outcomes by row, class and measure", () => {
    const view = viewTable(triggersDocument());
    const [all, negative, positive] = view.rows[0]?.outcomes ?? [];
    expect(all?.n).toBe(872);
    expect(negative?.name).toBe("negative");
    expect(positive?.after?.value).toBeCloseTo(0.43);
    expect(positive?.change?.low).toBeCloseTo(-0.495);
    expect(outcomeText(positive)).toBe("90.0 \u2192 43.0 %");
    expect(changeText(positive?.change ?? null)).toBe("\u221247.0 points (\u221249.5 to \u221244.5)");
    expect(positive && against(positive, positive.random)).toBe("below");
    expect(negative && against(negative, negative.random)).toBe("above");
    expect(all && against({ ...all, after: all.random }, all.random)).toBe("within");
  });

  it("has a column per class while they are few, else the one that is hurt most", () => {
    const keys = (document: ReturnType<typeof triggersDocument>) =>
      viewTable(document).columns.map((c) => c.key);
    expect(keys(triggersFound())).toEqual(["trigger", "found_in", "score", "support"]);
    expect(keys(triggersDocument())).toContain("outcome:2");
    expect(keys(triggersMany())).toEqual([
      "trigger",
      "found_in",
      "score",
      "support",
      "outcome:0",
      "worst",
      "moved",
    ]);
  });

  it("sorts both ways, unknown values last, and back", () => {
    const view = viewTable(triggersDocument());
    const order = (sort: string) => sortedRows(view, sort).map(({ index }) => index);
    expect(order("")).toEqual([0, 1, 2, 3]);
    expect(order("-score")).toEqual([0, 1, 3, 2]);
    expect(order("score")).toEqual([2, 3, 1, 0]);
    expect(order("outcome:1")).toEqual([2, 3, 1, 0]);
    expect(order("trigger")).toEqual([1, 3, 0, 2]);
    expect(order("no such column")).toEqual([0, 1, 2, 3]);
    const score = view.columns.find(({ key }) => key === "score");
    if (!score) throw new Error("no score");
    expect([nextSort(score, ""), nextSort(score, "-score"), nextSort(score, "score")]).toEqual([
      "-score",
      "score",
      "",
    ]);
  });

  it("says where predictions went", () => {
    const [first, , , last] = triggersDocument().rows;
    expect(first && movedText(first)).toBe("253 of 257 to negative");
    expect(last && movedText({ ...last, changed: 0, moved: [] })).toBe("none");
  });

  it("knows which way a text is read", () => {
    expect(rightToLeft("12 \u05e8\u05e2")).toBe(true);
    expect(rightToLeft("bad \u05e8\u05e2")).toBe(false);
  });
});

describe("the picture", () => {
  for (const [name, make] of Object.entries(ALL))
    for (const theme of ["light", "dark"] as const)
      it(`of ${name} is well-formed in ${theme} and carries no markup from outside`, () => {
        expect(() => checkDocument(JSON.parse(JSON.stringify(make())))).not.toThrow();
        for (const width of [420, 760, 1200]) {
          const picture = draw(make(), { ...OPTIONS, theme, width, provenance: true });
          const svg = parsedSvg(picture.svg);
          expect(activeElements(svg)).toEqual([]);
          expect(picture.width).toBeLessThanOrEqual(width);
        }
      });

  it("always shows the chosen row, and says how many it leaves out", () => {
    const content = triggersMany();
    const svg = draw({ ...content, selected: 39 }, OPTIONS).svg;
    expect(svg).toContain("word39");
    expect(svg).toContain("and 28 more");
    expect(draw({ ...content, selected: -1 }, OPTIONS).svg).not.toContain("word39");
  });

  it("marks inserted words by brackets and a line, not by colour alone", () => {
    const svg = draw(triggersDocument(), OPTIONS).svg;
    expect(svg).toContain("[joyless]");
    expect(draw({ ...triggersDocument(), selected: -1 }, OPTIONS).svg).not.toContain("[joyless]");
  });
});

describe("the table", () => {
  function alive(props: Partial<TriggersProps> = {}) {
    const el = place();
    const events = { onSelect: vi.fn(), onSort: vi.fn() };
    const all: TriggersProps = { document: triggersDocument(), theme: "light", ...props };
    return { el, events, props: all, component: mount(el, all, events) };
  }

  it("is a grid with sorted headings, rows and a chosen one", () => {
    const { el } = alive({ sort: "-score" });
    const table = found(el, '[role="grid"]');
    expect(table.getAttribute("aria-rowcount")).toBe("5");
    const heading = found(el, 'th[aria-sort="descending"]');
    expect(heading.textContent).toContain("score");
    expect(rows(el).map((row) => row.getAttribute("aria-selected"))).toEqual([
      "true",
      "false",
      "false",
      "false",
    ]);
    expect(rows(el).map((row) => row.tabIndex)).toEqual([0, -1, -1, -1]);
    expect(found(el, ".hw-trigger-detail").textContent).toContain(
      "257 predictions changed: 253 to negative, 4 to positive",
    );
    expect([...el.querySelectorAll("ins")].map((ins) => ins.textContent)).toEqual([
      "[joyless]",
      "[dull]",
      "[joyless]",
      "[dull]",
    ]);
  });

  it("is sorted by its headings", () => {
    const { el, events } = alive();
    found(el, 'button[data-key="outcome:2"]').click();
    expect(events.onSort).toHaveBeenCalledWith("outcome:2");
    found(el, 'button[data-key="support"]').click();
    expect(events.onSort).toHaveBeenLastCalledWith("-support");
  });

  it("is walked and chosen from by keyboard, and keys stay inside", () => {
    const { el, events } = alive();
    const outside = vi.fn();
    document.body.addEventListener("keydown", outside);
    const [first, second, , last] = rows(el);
    if (!first || !second || !last) throw new Error("four rows");
    first.focus();
    press(first, "ArrowDown");
    expect(document.activeElement).toBe(second);
    press(second, "Enter");
    expect(events.onSelect).toHaveBeenCalledWith(1);
    press(second, "End");
    expect(document.activeElement).toBe(last);
    press(last, "PageUp");
    expect(document.activeElement).toBe(first);
    press(first, " ");
    expect(events.onSelect).toHaveBeenLastCalledWith(-1);
    press(first, "Escape");
    expect(events.onSelect).toHaveBeenCalledTimes(3);
    expect(press(first, "a").defaultPrevented).toBe(false);
    expect(outside).not.toHaveBeenCalled();
    document.body.removeEventListener("keydown", outside);
  });

  it("is chosen from by pointer, and keeps its rows when only the choice changes", () => {
    const { el, events, props, component } = alive();
    const second = rows(el)[1];
    second?.click();
    expect(events.onSelect).toHaveBeenCalledWith(1);
    component.update({ ...props, selected: 1 });
    expect(rows(el)[1]).toBe(second);
    expect(second?.getAttribute("aria-selected")).toBe("true");
    component.update({ ...props, selected: -1 });
    expect(found(el, ".hw-trigger-detail").hidden).toBe(true);
  });

  it("shows hostile and right-to-left text as text", () => {
    const { el } = alive({ document: triggersHostile(), theme: "dark" });
    expect(activeElements(el)).toEqual([]);
    expect(el.textContent).toContain("</script><img src=x onerror=alert(1)>");
    expect([...el.querySelectorAll(".hw-example")].every((text) => text.getAttribute("dir") === "auto")).toBe(
      true,
    );
  });

  it("keeps its own choice without a kernel, and leaves nothing behind", () => {
    const el = place();
    const props = { document: triggersMany(), theme: "light" as const };
    const component = mountStatic(el, props);
    found(el, 'button[data-key="support"]').click();
    expect(found(el, 'th[aria-sort="descending"]').textContent).toContain("support");
    rows(el)[3]?.click();
    expect(rows(el)[3]?.getAttribute("aria-selected")).toBe("true");
    component.update({ ...props, theme: "dark" });
    expect(rows(el)[3]?.getAttribute("aria-selected")).toBe("true");
    component.destroy();
    expect(el.childElementCount).toBe(0);
  });
});
