// @vitest-environment happy-dom
import { afterEach, describe, expect, it, vi } from "vitest";
import type { DrawOptions } from "../../marks/picture.js";
import { activeElements, found, parsedSvg, press } from "../../testing/dom.js";
import { PROBES, probeDocument, spansDocument, trainedDocument } from "../../testing/probes.js";
import { generator, packed } from "../../testing/views.js";
import { LIGHT } from "../../theme/palette.js";
import { decodeArray } from "../../wire/decode.js";
import { checkDocument } from "../../wire/guards.js";
import type { LinksFile, ProbeDocument, ProbeSentence } from "../../wire/types.js";
import { asDocument } from "../mounting.js";
import { bracket, depths } from "./arcs.js";
import { draw } from "./draw.js";
import { answerText } from "./example.js";
import {
  examplesOf,
  factsOf,
  nextSort,
  rightWords,
  shownOf,
  sortedRows,
  subtitleOf,
  treeFor,
  viewProbe,
  wordsIn,
} from "./model.js";
import { mount, type ProbeProps } from "./mount.js";
import { excerpt, runs } from "./sentence.js";
import { mountStatic } from "./static.js";
import { drawTree } from "./tree.js";

const OPTIONS: DrawOptions = { theme: "light", width: 760, background: true };

afterEach(() => document.body.replaceChildren());

function rowsOf(el: ParentNode): HTMLElement[] {
  return [...el.querySelectorAll<HTMLElement>('.hw-table-rows table[role="grid"] tbody tr')];
}

/** The same document with its arrays in 8 bits, and the heads of one row only. */
function small(content: ProbeDocument, row: number): ProbeDocument {
  const count = content.heads.shape[0] ?? 0;
  const table = [...decodeArray(content.table)].slice(row * count, (row + 1) * count);
  const predicted = [...decodeArray(content.predicted)];
  return {
    ...content,
    table: packed(
      Uint8Array.from(table, (value) => (Number.isNaN(value) ? 255 : Math.round(254 * value))),
      [1, count],
    ),
    predicted: packed(
      Uint8Array.from(predicted, (word) => (word < 0 ? 255 : word)),
      content.predicted.shape,
    ),
    shown: row,
  };
}

describe("what a probe document shows", () => {
  it("reads accuracies and words by row and head", () => {
    const content = probeDocument();
    const data = viewProbe(content);
    const table = decodeArray(content.table);
    expect(data.heads[9]).toEqual(["encoder", 1, 1]);
    expect(data.value(3, 9)).toBe(table[3 * 48 + 9]);
    for (const { row, index } of data.rows) {
      const values = data.heads.map((_, head) => data.value(index, head));
      const best = data.heads.findIndex((head) => String(head) === String(row.best));
      expect(Math.max(...values)).toBeCloseTo(values[best] ?? 0);
      expect(values[best]).toBeCloseTo(row.accuracy.value);
    }
    expect(data.columns.map(({ key }) => key)).toEqual([
      "relation",
      "direction",
      "n",
      "best",
      "accuracy",
      "baseline",
      "strongest",
      "verdict",
    ]);
  });

  it("leaves out columns in which nothing is said", () => {
    const keys = viewProbe(trainedDocument()).columns.map(({ key }) => key);
    expect(keys).toEqual(["relation", "n", "accuracy", "baseline"]);
  });

  it("says one direction once, above the table", () => {
    const content = probeDocument();
    const one = { ...content, rows: content.rows.map((row) => ({ ...row, direction: "down" })) };
    expect(viewProbe(one).columns.map(({ key }) => key)).not.toContain("direction");
    expect(subtitleOf(viewProbe(one))).toBe(
      `${content.rows.length} rows (down), ${subtitleOf(viewProbe(content)).split(", ")[1]}`,
    );
  });

  it("reads a file of links as the same table", () => {
    const content = probeDocument();
    const file: LinksFile = {
      schema: 1,
      document: "links",
      version: "0",
      fingerprint: null,
      name: content.title,
      heads: content.heads,
      rows: content.rows.map((row) => ({
        relation: row.relation,
        label: row.direction,
        n: row.n,
        best: row.best,
        accuracy: [row.accuracy.value, row.accuracy.low, null],
        baseline: null,
        offset: row.offset,
        strongest: row.strongest,
        strongest_accuracy: row.strongest_accuracy,
        verdict: row.verdict,
        better: row.verdict_good,
        arcs: row.arcs,
      })),
      accuracy: packed(Float64Array.from(decodeArray(content.table)), content.table.shape),
      sentences: content.sentences,
      arcs: content.arcs,
      predicted: content.predicted,
      notes: ["One.", "Two."],
      provenance: null,
    };
    const back = asDocument(checkDocument(JSON.parse(JSON.stringify(file))));
    if (back.document !== "probe") throw new Error("not a probe");
    const [was, now] = [viewProbe(content), viewProbe(back)];
    expect(back.note).toBe("One. Two.");
    expect(back.rows[3]).toEqual({
      ...content.rows[3],
      accuracy: { ...content.rows[3]?.accuracy, high: -1 },
      baseline: -1,
    });
    expect(now.value(3, 9)).toBeCloseTo(was.value(3, 9), 6);
    expect(examplesOf(now, 3, 9)).toEqual(examplesOf(was, 3, 9));
    expect(now.columns.map(({ key }) => key)).not.toContain("baseline");
  });

  it("reads the same from 8 bits, and of one row only", () => {
    const [whole, bits] = [viewProbe(probeDocument()), viewProbe(small(probeDocument(), 4))];
    expect([whole.measuredIn(4), bits.measuredIn(4), bits.measuredIn(3)]).toEqual([true, true, false]);
    expect(bits.value(3, 0)).toBeNaN();
    for (let head = 0; head < 48; head += 1) {
      expect(bits.value(4, head)).toBeCloseTo(whole.value(4, head), 2);
      for (const arc of whole.document.rows[4]?.arcs ?? [])
        expect(bits.pointed(arc, head)).toBe(whole.pointed(arc, head));
    }
    const spans = viewProbe(small(spansDocument(), 0));
    expect(spans.pointed(1, 0)).toBe(-1);
  });

  it("says what does not fit", () => {
    const content = probeDocument();
    expect(() => viewProbe({ ...content, heads: packed(new Int32Array(9), [3, 3]) })).toThrow(/table/);
    expect(() => viewProbe({ ...content, sentences: content.sentences.slice(0, 1) })).toThrow(
      /an example is of sentence \d+, but there are 1/,
    );
  });

  it("sorts both ways, unknown values last, and back", () => {
    const content = probeDocument();
    const odd = content.rows.map((row, at) => (at === 2 ? { ...row, baseline: -1 } : row));
    const data = viewProbe({ ...content, rows: odd });
    const order = (sort: string) => sortedRows(data, sort).map(({ index }) => index);
    const plain = content.rows.map((_, at) => at);
    expect(order("")).toEqual(plain);
    expect(order("no such column")).toEqual(plain);
    const accuracies = order("-accuracy").map((at) => odd[at]?.accuracy.value ?? 0);
    expect(accuracies).toEqual([...accuracies].sort((a, b) => b - a));
    expect([order("baseline").at(-1), order("-baseline").at(-1)]).toEqual([2, 2]);
    const heads = order("best").map((at) => odd[at]?.best);
    const places = heads.map((head) => 8 * (head?.[1] ?? 0) + (head?.[2] ?? 0));
    expect(places).toEqual([...places].sort((a, b) => a - b));
    const accuracy = data.columns.find(({ key }) => key === "accuracy");
    if (!accuracy) throw new Error("no accuracy");
    expect([nextSort(accuracy, ""), nextSort(accuracy, "-accuracy"), nextSort(accuracy, "accuracy")]).toEqual(
      ["-accuracy", "accuracy", ""],
    );
  });

  it("shows the head that is wanted where it was measured, else the row's best", () => {
    const data = viewProbe(probeDocument());
    const best = data.heads.findIndex((head) => String(head) === String(data.rows[2]?.row.best));
    expect(shownOf(data, 2, [], 0)).toEqual({ row: 2, head: best, tree: -1 });
    expect(
      shownOf(
        data,
        2,
        [
          ["cross", 0, 0],
          ["encoder", 0, 3],
        ],
        0,
      ).head,
    ).toBe(3);
    expect(shownOf(data, 99, [["encoder", 0, 3]], 0)).toEqual({ row: -1, head: -1, tree: -1 });
    const facts = factsOf(data, { row: 2, head: 3, tree: -1 });
    expect(facts).toMatch(
      /^L0H3 .* %; best head L\dH\d .* %.*, n = \d+; best fixed offset .* at [+\u2212]\d/,
    );
  });

  it("counts an example as right when the head points at any of its targets", () => {
    const data = viewProbe(spansDocument());
    expect(examplesOf(data, 0, 1).map(({ right }) => right)).toEqual([true, true, false]);
    expect(examplesOf(data, 0, 0).map(({ predicted, right }) => [predicted, right])).toEqual([
      [11, false],
      [-1, false],
      [6, false],
    ]);
  });

  it("finds a tree for a relation, and the words in it", () => {
    const data = viewProbe(trainedDocument());
    const conj = data.rows.findIndex(({ row }) => row.relation === "conj");
    expect(treeFor(data, 0, conj)).toBe(4);
    expect(treeFor(data, 4, conj)).toBe(4);
    expect([...wordsIn(data, 4, conj)]).toEqual([14]);
    const tree = data.document.trees[0];
    if (!tree) throw new Error("no tree");
    expect(rightWords(tree)[0]).toBe(tree.gold.filter((head, at) => tree.predicted[at] === head).length);
  });
});

describe("arcs", () => {
  it("that overlap have different depths, and a longer one is not nearer than one inside it", () => {
    const random = generator(1);
    for (let round = 0; round < 30; round += 1) {
      const arcs = Array.from({ length: 12 }, () => ({
        from: Math.floor(20 * random()),
        to: Math.floor(20 * random()),
      })).filter(({ from, to }) => from !== to);
      const levels = depths(arcs);
      arcs.forEach((one, i) => {
        arcs.forEach((other, j) => {
          if (i >= j) return;
          const [a, b] = [Math.min(one.from, one.to), Math.max(one.from, one.to)];
          const [c, d] = [Math.min(other.from, other.to), Math.max(other.from, other.to)];
          if (a < d && c < b) expect(levels[i]).not.toBe(levels[j]);
          if (c <= a && b <= d && b - a < d - c) expect(levels[i]).toBeLessThan(levels[j] ?? 0);
        });
      });
    }
  });

  it("begin and end on the line", () => {
    const path = bracket(10, 50, 20, (along, depth) => [along, 100 - depth]);
    expect(path.startsWith("M10 100")).toBe(true);
    expect(path.endsWith("L50 100")).toBe(true);
    expect(path).toContain("Q10 80 16 80");
  });
});

describe("a sentence in a line", () => {
  const long: ProbeSentence = {
    words: Array.from({ length: 200 }, (_, at) => `word${at}`),
    glued: Array.from({ length: 200 }, () => false),
    name: "",
  };

  it("keeps the words that matter, in order, within its width", () => {
    const line = excerpt(long, [3, 190], 500);
    const words = line.slots.map(({ word }) => word);
    expect(words).toContain(3);
    expect(words).toContain(190);
    expect(words.filter((word) => word < 0)).toHaveLength(3);
    expect(line.width).toBeLessThanOrEqual(500);
    const known = words.filter((word) => word >= 0);
    expect(known).toEqual([...known].sort((a, b) => a - b));
    expect(known.length).toBeGreaterThan(4);
    line.slots.slice(1).forEach((slot, at) => {
      const before = line.slots[at];
      if (before) expect(slot.x).toBeGreaterThanOrEqual(before.x + before.width);
    });
  });

  it("cuts words that are longer than the line", () => {
    const words = ["x".repeat(300), "y".repeat(300)];
    const line = excerpt({ words, glued: [false, false], name: "" }, [0, 1], 200);
    expect(line.width).toBeLessThanOrEqual(200);
    expect(line.slots.every(({ label }) => label.endsWith("\u2026"))).toBe(true);
  });

  it("runs from right to left where it is read so", () => {
    const words = ["\u05d4\u05db\u05dc\u05d1", "\u05e8\u05d3\u05e3", "."];
    const line = excerpt({ words, glued: [false, false, true], name: "" }, [0], 300);
    expect(line.mirrored).toBe(true);
    const [first, second, third] = line.slots.map(({ x }) => x);
    expect(first).toBeGreaterThan(second ?? 0);
    expect(second).toBeGreaterThan(third ?? 0);
  });

  it("keeps quotes around a word that is read from right to left", () => {
    const arc = { sentence: 0, source: [0], target: [1] };
    const points = (word: string) =>
      answerText({
        arc,
        sentence: { words: [word], glued: [false], name: "38" },
        predicted: 0,
        right: false,
      });
    expect(points("dog")).toBe("\u2717 points at \u201cdog\u201d");
    expect(points("\u05e8\u05d3\u05e3")).toBe("\u2717 points at \u201c\u2068\u05e8\u05d3\u05e3\u2069\u201d");
  });

  it("shows where the second text of a pair begins, whatever is left out", () => {
    const labels = (important: number[], width: number) =>
      excerpt({ ...long, second: 100 }, important, width)
        .slots.map(({ word, label }) => (word < 0 ? label : "w"))
        .join("");
    expect(labels([3, 190], 500)).toMatch(/^w+\u2026\|\u2026w+\u2026$|^\u2026w+\u2026\|\u2026w+\u2026$/);
    expect(labels([99, 100], 120)).toBe("\u2026w|w\u2026");
    expect(labels([3], 200)).not.toContain("|");
  });

  it("joins neighbours to one piece", () => {
    const line = excerpt(long, [5, 6, 7, 9], 500);
    expect(runs(line, [7, 5, 6, 9]).map((run) => run.words)).toEqual([3, 1]);
    expect(runs(line, [-1])).toEqual([]);
  });
});

describe("the picture", () => {
  for (const [name, make] of Object.entries(PROBES))
    it(`of ${name} is well-formed and carries no markup from outside`, () => {
      const content = make();
      expect(() => checkDocument(JSON.parse(JSON.stringify(content)))).not.toThrow();
      for (const [width, theme] of [
        [420, "light"],
        [1200, "dark"],
      ] as const) {
        const picture = draw(content, { ...OPTIONS, theme, width, provenance: true });
        expect(activeElements(parsedSvg(picture.svg))).toEqual([]);
        expect(picture.width).toBeLessThanOrEqual(width);
      }
    });

  it("always shows the chosen row, and says how many it leaves out", () => {
    const content = probeDocument();
    const last = content.rows.length - 1;
    const svg = draw({ ...content, shown: last }, OPTIONS).svg;
    expect(svg).toContain(`>${content.rows[last]?.relation}, head to dependent</text>`);
    expect(svg).toContain(`and ${content.rows.length - 12} more`);
  });

  it("tells right from wrong by a mark and by the line, not by colour alone", () => {
    const svg = draw(spansDocument(), OPTIONS).svg;
    expect(svg).toContain(">right \u00b7 a bakery</text>");
    expect(svg).toContain(">points at \u201cstreet\u201d \u00b7 a bakery</text>");
    const nowhere = draw({ ...spansDocument(), head: ["encoder", 0, 0] }, OPTIONS).svg;
    expect(nowhere).toContain(">points at no word \u00b7 a bakery</text>");
    expect(nowhere).not.toContain(">right \u00b7");
    const crosses = (text: string) => text.split("m0-6.4l-6 6.4").length - 1;
    expect([crosses(svg), crosses(nowhere)]).toEqual([1, 3]);
    const dashed = (text: string) => text.split("stroke-dasharray").length;
    expect(dashed(nowhere)).toBeGreaterThan(dashed(svg));
  });

  it("of a tree is a line where it fits, else a column; both have a box for every word", () => {
    const content = trainedDocument();
    const [tree, sentence] = [content.trees[0], content.sentences[0]];
    if (!tree || !sentence) throw new Error("no tree");
    for (const [width, column] of [
      [900, false],
      [200, true],
    ] as const) {
      const drawn = drawTree(sentence, tree, width, LIGHT);
      expect(drawn.column).toBe(column);
      expect(drawn.boxes).toHaveLength(sentence.words.length);
      expect(drawn.width).toBeLessThanOrEqual(column ? 260 : width);
      for (const [x, y, wide, high] of drawn.boxes) {
        expect(x >= 0 && y >= 0 && x + wide <= drawn.width && y + high <= drawn.height).toBe(true);
      }
    }
  });
});

describe("alive", () => {
  function alive(props: Partial<ProbeProps> = {}) {
    const el = document.createElement("div");
    document.body.append(el);
    const events = { onChoose: vi.fn() };
    const all: ProbeProps = { document: probeDocument(), theme: "light", ...props };
    return { el, events, props: all, component: mount(el, all, events) };
  }

  it("is a grid with sorted headings, rows and a chosen one", () => {
    const { el, events } = alive({ sort: "-accuracy", row: 3 });
    expect(found(el, ".hw-table-rows table").getAttribute("aria-rowcount")).toBe("31");
    expect(found(el, 'th[aria-sort="descending"]').textContent).toContain("accuracy");
    const chosen = rowsOf(el).filter((row) => row.getAttribute("aria-selected") === "true");
    expect(chosen.map((row) => row.dataset.row)).toEqual(["3"]);
    expect(rowsOf(el).filter((row) => row.tabIndex === 0)).toEqual(chosen);
    found(el, 'button[data-key="n"]').click();
    expect(events.onChoose).toHaveBeenCalledWith({ sort: "-n" });
  });

  it("is walked and chosen from by keyboard, and keys stay inside", () => {
    const { el, events, props } = alive();
    const outside = vi.fn();
    document.body.addEventListener("keydown", outside);
    const [first, second] = rowsOf(el);
    if (!first || !second) throw new Error("no rows");
    first.focus();
    press(first, "ArrowDown");
    expect(document.activeElement).toBe(second);
    press(second, "Enter");
    expect(events.onChoose).toHaveBeenCalledWith({ row: 1, selected: [props.document.rows[1]?.best] });
    press(second, "End");
    expect(document.activeElement).toBe(rowsOf(el).at(-1));
    press(first, "Escape");
    expect(events.onChoose).toHaveBeenLastCalledWith({ row: -1 });
    expect(press(first, "a").defaultPrevented).toBe(false);
    expect(outside).not.toHaveBeenCalled();
    document.body.removeEventListener("keydown", outside);
  });

  it("keeps the focus on its row when more of the document comes", () => {
    const { el, props, component } = alive({ row: 2 });
    rowsOf(el)[2]?.focus();
    component.update({ ...props, document: small(probeDocument(), 2) });
    expect(document.activeElement).toBe(rowsOf(el)[2]);
    expect(found(el, ".hw-probe-detail [role=gridcell]")).toBeTruthy();
    component.update({ ...props, document: small(probeDocument(), 2), row: 3 });
    expect(found(el, ".hw-probe-detail .hw-aside").hidden).toBe(true);
  });

  it("draws the arcs of the head that is chosen among all heads of the row", () => {
    const { el, events, props, component } = alive({ row: 8 });
    const answers = () => [...el.querySelectorAll(".hw-examples .hw-verdict")].map((one) => one.textContent);
    const data = viewProbe(props.document);
    const said = (head: number) =>
      examplesOf(data, 8, head).map(({ sentence, predicted, right }) =>
        right
          ? `\u2713 right \u00b7 ${sentence.name}`
          : `\u2717 points at \u201c${sentence.words[predicted]}\u201d \u00b7 ${sentence.name}`,
      );
    expect(answers()).toEqual(said(shownOf(data, 8, [], 0).head));
    const cell = found(el, '.hw-probe-detail [role="gridcell"][data-layer="0"][data-head="1"]');
    cell.click();
    expect(events.onChoose).toHaveBeenCalledWith({ selected: [["encoder", 0, 1]] });
    component.update({ ...props, selected: [["encoder", 0, 1]] });
    expect(answers()).toEqual(said(1));
    expect(found(el, ".hw-probe-detail").textContent).toContain("L0H1");
    expect(found(el, ".hw-examples .hw-hidden").textContent).toMatch(/annotated: .* L0H1 points at/);
  });

  it("shows trees word by word, by pointer and by keyboard", () => {
    const { el, events } = alive({ document: trainedDocument(), row: -1 });
    const words = () => [...el.querySelectorAll<HTMLElement>('[role="option"]')];
    expect(words()).toHaveLength(10);
    expect(words()[2]?.getAttribute("aria-label")).toMatch(
      /^\u201cchased\u201d: head the root, root; predicted/,
    );
    words()[0]?.focus();
    press(found(el, '[role="listbox"]'), "ArrowRight");
    expect(document.activeElement).toBe(words()[1]);
    press(found(el, '[role="listbox"]'), "End");
    expect(document.activeElement).toBe(words()[9]);
    const next = found(el, 'button[aria-label="next sentence"]');
    next.click();
    expect(events.onChoose).toHaveBeenCalledWith({ tree: 1 });
    expect(found<HTMLButtonElement>(el, 'button[aria-label="sentence before"]').disabled).toBe(true);
    expect(found(el, ".hw-probe-scores").textContent).toContain("distance only, same embeddings");
  });

  it("moves the way the eye does in a sentence that is read from the right", () => {
    const { el } = alive({ document: PROBES["probe-trained-hebrew"]?.() ?? trainedDocument(), row: -1 });
    const words = [...el.querySelectorAll<HTMLElement>('[role="option"]')];
    words[1]?.click();
    expect(document.activeElement).toBe(words[1]);
    press(words[1] ?? el, "ArrowLeft");
    expect(document.activeElement).toBe(words[2]);
  });

  it("brings a tree that has the relation of a chosen row", () => {
    const { el, events, props } = alive({ document: trainedDocument(), row: -1 });
    const conj = props.document.rows.findIndex(({ relation }) => relation === "conj");
    rowsOf(el)[conj]?.click();
    expect(events.onChoose).toHaveBeenCalledWith({ row: conj, tree: 4 });
  });

  it("shows hostile text as text", () => {
    for (const name of ["probe-hostile", "probe-trained-hostile"]) {
      const { el } = alive({ document: PROBES[name]?.() ?? probeDocument(), theme: "dark" });
      expect(activeElements(el)).toEqual([]);
      expect(el.textContent).toContain("</script><img");
    }
  });

  it("keeps its own choice without a kernel, and leaves nothing behind", () => {
    const el = document.createElement("div");
    document.body.append(el);
    const props = { document: probeDocument(), theme: "light" as const };
    const component = mountStatic(el, props);
    found(el, 'button[data-key="n"]').click();
    expect(found(el, 'th[aria-sort="descending"]').textContent).toContain("n");
    rowsOf(el)[4]?.click();
    const number = rowsOf(el)[4]?.dataset.row;
    component.update({ ...props, theme: "dark" });
    expect(found(el, 'tr[aria-selected="true"]').dataset.row).toBe(number);
    component.update({ ...props, document: probeDocument() });
    expect(found(el, 'tr[aria-selected="true"]').dataset.row).toBe("0");
    component.destroy();
    expect(el.childElementCount).toBe(0);
  });
});
