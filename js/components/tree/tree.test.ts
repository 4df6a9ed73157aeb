// @vitest-environment happy-dom
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { DrawOptions } from "../../marks/picture.js";
import { measure } from "../../marks/text.js";
import { activeElements, parsedSvg } from "../../testing/dom.js";
import * as texts from "../../testing/texts.js";
import { splitText, treeDocument } from "../../testing/trees.js";
import { parseDocument } from "../../wire/guards.js";
import type { TreeDocument } from "../../wire/types.js";
import { draw, viewOf } from "./draw.js";
import { candidatesOf, grow, type TreeEdge } from "./grow.js";
import { LABEL, type Label, layoutTree } from "./layout.js";
import { levelOf, nodesOf, treePositions } from "./model.js";

const FOLDER = "tests/wire/fixtures/";
const read = (name: string) => readFileSync(`${FOLDER}${name}`, "utf8");
const OPTIONS: DrawOptions = { theme: "light", width: 720, background: true, provenance: true };

function fixture(): TreeDocument {
  const document = parseDocument(read("tree.json"));
  if (document.document !== "tree") throw new Error("not a tree");
  return document;
}

function levelIn(document: TreeDocument, collapsed = document.collapsed) {
  const level = levelOf(document, collapsed);
  if (level === null) throw new Error("no level");
  return level;
}

function view(document: TreeDocument, width = 704) {
  const level = levelIn(document);
  const candidates = candidatesOf(level, document.layers, document.order);
  return viewOf(document, candidates, treePositions(document, level), document, width);
}

const flat = (edges: readonly TreeEdge[]) =>
  edges.map((edge) => [edge.layer, edge.query, edge.key, edge.weight, edge.share]);

describe("the same trees as Python", () => {
  interface Case {
    readonly level: number;
    readonly root: number;
    readonly order: "strongest" | "published";
    readonly threshold: number;
    readonly penalty: number;
    readonly top: number;
    readonly objective: number;
    readonly edges: number[][];
    readonly terminals: number[][];
  }
  const cases: Case[] = JSON.parse(read("tree.grown.json"));
  const document = fixture();

  it("has many of them, small and large", () => {
    expect(cases.length).toBeGreaterThan(100);
    expect(new Set(cases.map((one) => one.edges.length)).size).toBeGreaterThan(5);
  });
  for (const one of cases)
    it(`level ${one.level}, root ${one.root}, ${one.order}, tau ${one.threshold}, lambda ${one.penalty}`, () => {
      const level = { ...levelIn(document, one.level > 0), root: one.root };
      const grown = grow(candidatesOf(level, document.layers, one.order), one.threshold, one.penalty);
      expect(grown.top).toBe(one.top);
      expect(flat(grown.edges)).toEqual(one.edges);
      expect(flat(grown.terminals)).toEqual(one.terminals);
      expect(grown.objective).toBe(one.objective);
    });
});

const FORTY = treeDocument(splitText(10), 24, { threshold: 0.1 });
const DOCUMENTS: Readonly<Record<string, TreeDocument>> = {
  english: treeDocument(texts.ENGLISH, 6),
  hebrew: treeDocument(texts.HEBREW, 6, { threshold: 0.1 }),
  hostile: treeDocument(texts.HOSTILE, 6, { threshold: 0.05 }),
  "one token": treeDocument(texts.ONE, 6),
  "a long token": treeDocument(texts.LONG_TOKEN, 6, { threshold: 0.05 }),
  "a shared character": treeDocument(texts.CONTINUED, 6, { threshold: 0.05 }),
  "40 tokens and 24 layers": FORTY,
  "40 tokens in words": { ...FORTY, collapsed: true },
  "40 tokens, all of them in the tree": { ...FORTY, threshold: 0 },
  "128 tokens": treeDocument(texts.longText(128), 4, { threshold: 0.2 }),
  "128 tokens, all of them in the tree": treeDocument(texts.longText(128), 4, { threshold: 0 }),
  "48 layers": treeDocument(texts.ENGLISH, 48, { threshold: 0.1 }),
  "no root": treeDocument(texts.ENGLISH, 6, { threshold: 0.1 }, -1),
  "root at the end": treeDocument(texts.ENGLISH, 6, { threshold: 0.1 }, texts.ENGLISH.length - 1),
  "a high lambda": treeDocument(texts.ENGLISH, 6, { threshold: 0.1, penalty: 0.5 }),
  "no result yet": treeDocument(texts.ENGLISH, 6, { levels: [], tokens: [], words: [] }),
  "no layer": treeDocument(texts.ENGLISH, 1),
  fixture: fixture(),
};

/** Boxes of labels in a frame turned with them, where text that is side by side must not touch. */
function boxesOf(labels: readonly Label[]): (readonly [number, number, number, number])[] {
  return labels.map(({ position, x, rotate, room, placed }) => {
    const wide = Math.min(room, measure(position.label, LABEL, placed));
    if (rotate === 0) return [x - wide / 2, x + wide / 2, 0, LABEL];
    if (rotate === -90) return [x - LABEL / 2, x + LABEL / 2, 0, wide];
    // Turned by 45 degrees, the line of a label is where x - y is constant.
    const across = x * Math.SQRT1_2;
    return [across - LABEL / 2, across + LABEL / 2, 0, wide];
  });
}

describe("draw", () => {
  for (const [name, document] of Object.entries(DOCUMENTS))
    for (const [theme, width] of [
      ["light", 720],
      ["dark", 720],
      ["light", 360],
    ] as const)
      it(`${name}, ${theme}, ${width}: is one well-formed, inert picture that fits`, () => {
        const picture = draw(document, { ...OPTIONS, theme, width });
        const root = parsedSvg(picture.svg);
        expect(activeElements(root)).toEqual([]);
        expect(picture.svg).not.toMatch(/NaN|undefined|Infinity/);
        expect(picture.width).toBeLessThanOrEqual(width);
        expect(picture.svg.length).toBeLessThan(100_000);
        if (document.levels.length === 0) return;
        const { layout } = view(document, width - 16);
        const boxes = boxesOf(layout.labels).sort((a, b) => a[0] - b[0]);
        boxes.forEach((box, at) => {
          const before = boxes[at - 1];
          if (before !== undefined) expect(box[0]).toBeGreaterThanOrEqual(before[1] - 0.01);
        });
        for (const label of layout.labels) expect(label.x).toBeGreaterThanOrEqual(layout.left);
        // Nothing of the plot leaves it: layers stand apart, nodes inside.
        for (let layer = 1; layer < document.layers; layer += 1)
          expect(layout.rowOf(layer - 1) - layout.endOf(layer)).toBeGreaterThanOrEqual(12.99);
        for (const { x, y } of layout.nodes) {
          expect(x).toBeGreaterThanOrEqual(layout.left);
          expect(x).toBeLessThanOrEqual(layout.right);
          expect(y).toBeGreaterThan(0);
          expect(y).toBeLessThan(layout.bottom);
        }
      });

  it("keeps 40 tokens and 24 layers readable: every token and layer has its own place, every node a label", () => {
    for (const document of [FORTY, { ...FORTY, threshold: 0 }]) {
      const { layout, grown } = view(document);
      expect(layout.labels.length).toBe(40);
      expect(layout.ticks.length).toBe(24);
      expect(new Set(layout.nodes.map(({ x, y }) => `${x} ${y}`)).size).toBe(layout.nodes.length);
      expect(grown.edges.length).toBeGreaterThan(3);
      const { svg, height } = draw(document, OPTIONS);
      expect(height).toBeLessThan(900);
      for (const size of svg.matchAll(/font-size="([\d.]+)"/g))
        expect(Number(size[1])).toBeGreaterThanOrEqual(10);
    }
    expect(view({ ...FORTY, threshold: 0 }).nodes.length).toBe(40);
  });

  it("draws one line per edge, wider for more weight, and says the numbers of the legend", () => {
    const document = treeDocument(texts.ENGLISH, 6, { threshold: 0.1 });
    const { grown, candidates } = view(document);
    const lines = [...parsedSvg(draw(document, OPTIONS).svg).querySelectorAll('[data-part="edge"]')];
    expect(lines.length).toBe(grown.edges.length);
    expect(grown.edges.length).toBeGreaterThan(3);
    const width = (edge: TreeEdge) =>
      Number(
        lines
          .find((one) => one.getAttribute("data-edge") === `${edge.layer} ${edge.query} ${edge.key}`)
          ?.getAttribute("stroke-width"),
      );
    const ordered = [...grown.edges].sort((a, b) => a.weight - b.weight);
    expect(ordered.map(width)).toEqual([...ordered.map(width)].sort((a, b) => a - b));
    expect(ordered.at(-1)?.weight).toBeLessThanOrEqual(candidates.heaviest);
    expect(draw(document, OPTIONS).svg).toContain("attribution of an edge (nats)");
  });

  it("has a titled layer axis, and calls itself a heuristic", () => {
    const { svg } = draw(DOCUMENTS.english as TreeDocument, OPTIONS);
    expect(svg).toContain("layer in which a token enters");
    expect(svg.replace(/<[^>]+>/g, " ").replace(/\s+/g, " ")).toContain(
      "Heuristic: layers are different quantities",
    );
  });

  it("stands each node at the layer where it enters, the root on top, a chain in one layer on its way down", () => {
    const document = { ...FORTY, threshold: 0 };
    const { layout } = view(document);
    const [root, ...others] = layout.nodes;
    expect(root?.node.role).toBe("root");
    for (const { node, y } of others) {
      const parent = layout.nodes[node.parent];
      expect(y).toBeGreaterThan(parent?.y ?? 1e9);
      expect(y).toBeGreaterThanOrEqual(layout.rowOf(node.layer));
      expect(y).toBeLessThanOrEqual(layout.endOf(node.layer));
    }
  });

  it("keeps the reading order: from the right in Hebrew", () => {
    const { layout } = view(DOCUMENTS.hebrew as TreeDocument);
    const columns = layout.labels.map((label) => label.x);
    expect(columns).toEqual([...columns].sort((a, b) => b - a));
    const english = view(DOCUMENTS.english as TreeDocument).layout.labels.map((label) => label.x);
    expect(english).toEqual([...english].sort((a, b) => a - b));
  });

  it("says what is not drawn: columns, labels, edges below the floor, ties", () => {
    const narrow = draw(treeDocument(texts.longText(80), 6, { threshold: 0.85 }), OPTIONS).svg;
    expect(narrow.replace(/<[^>]+>/g, " ")).toContain("have no column");
    const crowded = draw(treeDocument(texts.longText(80), 6, { threshold: 0 }), OPTIONS).svg;
    expect(crowded.replace(/<[^>]+>/g, " ")).toContain("nodes have no label");
    const document = treeDocument(texts.ENGLISH, 6);
    const level = { ...levelIn(document), floor: 0.25 };
    const floored = draw({ ...document, levels: [level], threshold: 0 }, OPTIONS).svg;
    expect(floored.replace(/<[^>]+>/g, " ")).toContain("25.0 % of their layer");
    expect(floored).toContain("τ = 0.25");
  });

  it("collapses to words: texts are joined, a shared character once", () => {
    const words = treePositions({ ...FORTY }, levelIn(FORTY, true)).map((one) => one.label);
    expect(words.slice(0, 4)).toEqual(["[CLS]", "and", "the", "convinc0ingly"]);
    const shared = treeDocument(texts.CONTINUED, 3);
    expect(treePositions(shared, levelIn(shared, true)).map((one) => one.label)).toEqual([
      "<s>",
      "good",
      "🙂",
      "news",
      "</s>",
    ]);
  });
});

describe("layout", () => {
  it("survives no positions at all", () => {
    const layout = layoutTree({ positions: [], tokens: [], nodes: [], layers: 0, width: 100 });
    expect(Number.isFinite(layout.height)).toBe(true);
    expect(nodesOf({ top: -1, edges: [], terminals: [], objective: 0 }, -1, 3)).toEqual([]);
  });
});
