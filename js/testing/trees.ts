/** Tree documents for tests and pictures: attributions with a few strong links per layer, as real ones have. */

import type { Token, TreeDocument, TreeLevel } from "../wire/types.js";
import * as texts from "./texts.js";
import { generator, packed } from "./views.js";

/** Sums over heads [layers, tokens, tokens]: mostly near nothing, a few strong in some rows, more towards the last layer. */
export function treeMatrix(count: number, layers: number, root: number, seed = 1): Float32Array {
  const random = generator(seed);
  const values = new Float32Array(layers * count * count);
  for (let layer = 0; layer < layers; layer += 1) {
    const scale = 0.02 * 1.1 ** layer;
    // As in real ones: few positions gather, most of what they take comes from few others.
    const gathers = Array.from({ length: count }, () => (random() < 0.25 ? 1 : 0.25));
    const gives = Array.from({ length: count }, () => (random() < 0.2 ? 1 : 0.2));
    for (let query = 0; query < count; query += 1)
      for (let key = 0; key < count; key += 1) {
        const value = (gathers[query] ?? 0) * (gives[key] ?? 0) * 4 * random() ** 1.5 - 0.06 * random();
        if (layer === layers - 1 && root >= 0 && query !== root) continue;
        values[(layer * count + query) * count + key] = scale * value;
      }
  }
  return values;
}

/** What `headwidgets.attribution.trees` makes of such sums. */
export function treeLevel(
  values: Float32Array,
  count: number,
  layers: number,
  root: number,
  floor = 0,
): TreeLevel {
  const size = count * count;
  const peak = new Float32Array(layers);
  for (let layer = 0; layer < layers; layer += 1)
    peak[layer] = values.subarray(layer * size, (layer + 1) * size).reduce((a, b) => Math.max(a, b), -1e9);
  const gathered = new Float32Array(count);
  const edges: number[] = [];
  let heaviest = 0;
  values.forEach((value, at) => {
    const [layer, query, key] = [Math.floor(at / size), Math.floor(at / count) % count, at % count];
    if (query === key) return;
    gathered[query] = (gathered[query] ?? 0) + value;
    if (!(value > 0) || (root >= 0 && (query === root || key === root || layer === layers - 1))) return;
    heaviest = Math.max(heaviest, value);
    if (value > floor * (peak[layer] ?? 0)) edges.push(at);
  });
  const last = (layers - 1) * size + Math.max(0, root) * count;
  const terminal = root < 0 ? new Float32Array(count) : values.slice(last, last + count);
  return {
    count,
    root,
    floor,
    edges: packed(Int32Array.from(edges), [edges.length]),
    weight: packed(
      Float32Array.from(edges, (at) => values[at] ?? 0),
      [edges.length],
    ),
    heaviest,
    peak: packed(peak, [layers]),
    gathered: packed(gathered, [count]),
    terminal: packed(terminal, [count]),
  };
}

export function treeDocument(
  tokens: readonly Token[],
  layers = 12,
  part: Partial<TreeDocument> = {},
  root = 0,
  seed = 1,
): TreeDocument {
  const count = tokens.length;
  const matrix = treeMatrix(count, layers, root, seed);
  const words: number[] = [];
  for (const token of tokens) {
    const last = words.at(-1) ?? -1;
    words.push(token.joined && !token.special && last >= 0 ? last : last + 1);
  }
  const wide = (words.at(-1) ?? -1) + 1;
  const joined = new Float32Array(layers * wide * wide);
  matrix.forEach((value, at) => {
    const layer = Math.floor(at / (count * count));
    const row = words[Math.floor(at / count) % count] ?? 0;
    const to = (layer * wide + row) * wide + (words[at % count] ?? 0);
    joined[to] = (joined[to] ?? 0) + value;
  });
  const levels = [treeLevel(matrix, count, layers, root)];
  if (wide < count) levels.push(treeLevel(joined, wide, layers, root < 0 ? -1 : (words[root] ?? 0)));
  return {
    schema: 1,
    document: "tree",
    title: "Attribution tree of a small encoder",
    text: tokens.map((token) => token.text).join(" "),
    target: "positive",
    output: "log-odds",
    unit: "nats",
    value: 2.41,
    kind: "encoder",
    layers,
    tokens,
    words,
    levels,
    order: "strongest",
    threshold: 0.4,
    penalty: 0,
    collapsed: false,
    notes: [],
    provenance: { model: "a small encoder", version: "0.1.0", settings: { method: "attribution", seed: 0 } },
    ...part,
  };
}

/** Four tokens to a word and two, as a tokenizer of pieces makes them. */
export function splitText(words: number): Token[] {
  const text = Array.from({ length: words }, (_, at) => `and the convinc${at} ##ingly`).join(" ");
  return texts.tokensOf(`[CLS] ${text}`).slice(0, 4 * words);
}

/** For the gallery. */
export const TREES: Readonly<Record<string, () => TreeDocument>> = {
  tree: () => treeDocument(texts.ENGLISH, 6, { threshold: 0.15 }),
  "tree-forty": () => treeDocument(splitText(10), 24, { threshold: 0.4 }),
  "tree-forty-all": () => treeDocument(splitText(10), 24, { threshold: 0.05 }),
  "tree-words": () => treeDocument(splitText(10), 24, { threshold: 0.2, collapsed: true }),
  "tree-hebrew": () => treeDocument(texts.HEBREW, 6, { threshold: 0.15 }),
  "tree-long-token": () => treeDocument(texts.LONG_TOKEN, 6, { threshold: 0.1 }),
  "tree-hostile": () => treeDocument(texts.HOSTILE, 6, { threshold: 0.05 }),
  "tree-one": () => treeDocument(texts.ONE, 6),
  "tree-128": () => treeDocument(texts.longText(128), 12, { threshold: 0.7 }),
};
