/** Documents for tests and pictures; values come from a seeded generator, arrays are base64. */

import { toBase64 } from "../wire/base64.js";
import type {
  ArrayRef,
  AttentionDocument,
  AttentionPanel,
  AttributionDocument,
  AttributionPanel,
  CurvePoint,
  EstimateData,
  GridDocument,
  HeadMap,
  HeadRef,
  KindName,
  PruningDocument,
  Token,
} from "../wire/types.js";

/** Numbers in 0..1, the same for the same seed (mulberry32). */
export function generator(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let value = Math.imul(state ^ (state >>> 15), 1 | state);
    value = (value + Math.imul(value ^ (value >>> 7), 61 | value)) ^ value;
    return ((value ^ (value >>> 14)) >>> 0) / 4294967296;
  };
}

export function packed(
  values: Float32Array | Float64Array | Int32Array | Uint8Array,
  shape: readonly number[],
): ArrayRef {
  const dtype =
    values instanceof Float32Array
      ? "float32"
      : values instanceof Float64Array
        ? "float64"
        : values instanceof Int32Array
          ? "int32"
          : "uint8";
  const bytes = new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
  return { dtype, shape: [...shape], data: toBase64(bytes) };
}

/** A softmax map: some heads look at the first token, some one back, some spread. */
export function attentionValues(layer: number, index: number, rows: number, columns: number): Float32Array {
  const random = generator(layer * 131 + index * 17 + 5);
  const style = (layer + index * 3) % 4;
  const values = new Float32Array(rows * columns);
  for (let row = 0; row < rows; row += 1) {
    let sum = 0;
    for (let column = 0; column < columns; column += 1) {
      let score = random() * 1.6;
      if (style === 0 && column === 0) score += 4;
      if (style === 1 && column === row - 1) score += 4.5;
      if (style === 2 && column === columns - 1) score += 3;
      if (style === 3) score += 3 * random() ** 6;
      const weight = Math.exp(score);
      values[row * columns + column] = weight;
      sum += weight;
    }
    for (let column = 0; column < columns; column += 1) {
      values[row * columns + column] = (values[row * columns + column] ?? 0) / sum;
    }
  }
  return values;
}

export function attentionMap(head: HeadRef, query: readonly Token[], key: readonly Token[]): HeadMap {
  const values = attentionValues(head[1], Math.max(0, head[2]), query.length, key.length);
  let high = 0;
  for (const value of values) high = Math.max(high, value);
  return {
    head,
    view: "attention",
    values: packed(values, [query.length, key.length]),
    low: 0,
    high,
    query_step: 1,
    key_step: 1,
  };
}

function thumbnails(layers: number, heads: number, rows: number, columns: number): ArrayRef {
  const t = Math.min(16, Math.max(rows, columns));
  const values = new Uint8Array(layers * heads * t * t);
  for (let layer = 0; layer < layers; layer += 1) {
    for (let head = 0; head < heads; head += 1) {
      const map = attentionValues(layer, head, t, t);
      const most = map.reduce((a, b) => Math.max(a, b), 0);
      for (let at = 0; at < t * t; at += 1) {
        values[(layer * heads + head) * t * t + at] = Math.round((255 * (map[at] ?? 0)) / most);
      }
    }
  }
  return packed(values, [layers, heads, t, t]);
}

export function attentionPanel(
  kind: KindName,
  query: readonly Token[],
  key: readonly Token[],
  layers: number,
  heads: number,
): AttentionPanel {
  const label = { encoder: "Encoder", decoder: "Decoder", cross: "Cross-attention" }[kind];
  return {
    kind,
    label,
    layers,
    heads,
    query,
    key,
    thumbnails: thumbnails(layers, heads, query.length, key.length),
  };
}

export function attentionDocument(
  tokens: readonly Token[],
  layers = 12,
  heads = 12,
  selected: readonly HeadRef[] = [["encoder", 3, 5]],
): AttentionDocument {
  return {
    schema: 1,
    document: "attention",
    title: "Attention",
    text: tokens
      .filter((token) => !token.special)
      .map((token) => token.text)
      .join(" "),
    panels: [attentionPanel("encoder", tokens, tokens, layers, heads)],
    maps: selected.map((head) => attentionMap(head, tokens, tokens)),
    selected,
    words: false,
    hide_special: false,
    mode: "lines",
    provenance: { model: "fixture/encoder-small", version: "0.1.0", settings: { seed: 0 } },
  };
}

/** A norm-based map: the weights of a head, each times the length of the key's vector, short for special tokens. */
export function normMap(head: HeadRef, query: readonly Token[], key: readonly Token[]): HeadMap {
  const values = attentionValues(head[1], Math.max(0, head[2]), query.length, key.length);
  const random = generator(head[1] * 31 + 3);
  const lengths = key.map((token) => (token.special ? 0.2 : 1.5 + 2 * random()));
  values.forEach((weight, at) => {
    values[at] = weight * (lengths[at % key.length] ?? 0);
  });
  const high = values.reduce((a, b) => Math.max(a, b), 0);
  return {
    head,
    view: "norm",
    values: packed(values, [query.length, key.length]),
    low: 0,
    high,
    query_step: 1,
    key_step: 1,
    top: head[2] < 0 ? high : 1.25 * high,
  };
}

/** Encoder, decoder and cross-attention of a translation. */
export function translationDocument(source: readonly Token[], target: readonly Token[]): AttentionDocument {
  const kinds: readonly [KindName, readonly Token[], readonly Token[]][] = [
    ["encoder", source, source],
    ["decoder", target, target],
    ["cross", target, source],
  ];
  const selected: HeadRef[] = [["cross", 2, 1]];
  return {
    ...attentionDocument(source, 6, 8, []),
    panels: kinds.map(([kind, query, key]) => attentionPanel(kind, query, key, 6, 8)),
    maps: [attentionMap(["cross", 2, 1], target, source)],
    selected,
  };
}

/** Signed link values of a head, a few large ones among many small. */
export function attributionValues(layer: number, index: number, rows: number, columns: number): Float32Array {
  const random = generator(layer * 977 + index * 31 + 11);
  const values = new Float32Array(rows * columns);
  for (let at = 0; at < values.length; at += 1) {
    values[at] = (random() - 0.42) * 0.02 + (random() > 0.94 ? (random() - 0.35) * 0.16 : 0);
  }
  return values;
}

export function attributionPanel(
  kind: KindName,
  query: readonly Token[],
  key: readonly Token[],
  layers: number,
  heads: number,
): AttributionPanel {
  const totals = new Float32Array(layers * heads);
  const received = new Float32Array(layers * key.length);
  const given = new Float32Array(layers * query.length);
  const change = new Float64Array(layers);
  const gap = new Float64Array(layers);
  const steps = new Int32Array(layers);
  for (let layer = 0; layer < layers; layer += 1) {
    let found = 0;
    for (let head = 0; head < heads; head += 1) {
      const map = attributionValues(layer, head, query.length, key.length);
      map.forEach((value, at) => {
        const row = Math.floor(at / key.length);
        const column = at % key.length;
        totals[layer * heads + head] = (totals[layer * heads + head] ?? 0) + value;
        received[layer * key.length + column] = (received[layer * key.length + column] ?? 0) + value;
        given[layer * query.length + row] = (given[layer * query.length + row] ?? 0) + value;
        found += value;
      });
    }
    gap[layer] = 0.0005 + 0.004 * (layer % 3);
    change[layer] = found + (gap[layer] ?? 0);
    steps[layer] = 4 + (layer % 3);
  }
  const label = { encoder: "Encoder", decoder: "Decoder", cross: "Cross-attention" }[kind];
  return {
    kind,
    label,
    layers,
    heads,
    query,
    key,
    totals: packed(totals, [layers, heads]),
    received: packed(received, [layers, key.length]),
    given: packed(given, [layers, query.length]),
    change: packed(change, [layers]),
    gap: packed(gap, [layers]),
    steps: packed(steps, [layers]),
  };
}

export function attributionMap(
  head: HeadRef,
  query: readonly Token[],
  key: readonly Token[],
  heads: number,
): HeadMap {
  const values = new Float32Array(query.length * key.length);
  const chosen = head[2] >= 0 ? [head[2]] : Array.from({ length: heads }, (_, at) => at);
  for (const index of chosen) {
    attributionValues(head[1], index, query.length, key.length).forEach((value, at) => {
      values[at] = (values[at] ?? 0) + value;
    });
  }
  let low = 0;
  let high = 0;
  for (const value of values) {
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  return {
    head,
    view: "attribution",
    values: packed(values, [query.length, key.length]),
    low,
    high,
    query_step: 1,
    key_step: 1,
  };
}

export function attributionDocument(
  tokens: readonly Token[],
  layers = 12,
  heads = 12,
  selected: HeadRef = ["encoder", Math.min(3, layers - 1), -1],
): AttributionDocument {
  return {
    schema: 1,
    document: "attribution",
    title: "Attribution",
    text: tokens
      .filter((token) => !token.special)
      .map((token) => token.text)
      .join(" "),
    target: "positive",
    output: "log-odds",
    unit: "log-odds",
    value: 2.4137,
    rule: "gauss-legendre",
    tolerance: 0.001,
    panels: [attributionPanel("encoder", tokens, tokens, layers, heads)],
    maps: [
      attributionMap(selected, tokens, tokens, heads),
      { ...attentionMap(selected, tokens, tokens), head: selected },
    ],
    selected: [selected],
    provenance: { model: "fixture/encoder-small", version: "0.1.0", settings: { seed: 0, steps: "auto" } },
  };
}

/** An estimate of `value` after `n` of `total` examples. */
export function estimate(value: number, n: number, total: number, change: number | null): EstimateData {
  const half = 1.96 * Math.sqrt((value * (1 - value)) / n);
  const partial = half * Math.sqrt(Math.max(0, (total - n) / (total - 1)));
  return {
    value,
    low: Math.max(0, value - half),
    high: Math.min(1, value + half),
    n,
    total,
    exact: n === total,
    partial_low: Math.max(0, value - partial),
    partial_high: Math.min(1, value + partial),
    change:
      change === null
        ? null
        : { value: change, low: change - half * 0.6, high: Math.min(0, change + half * 0.6) },
  };
}

export function gridDocument(layers: number, heads: number, pruned: readonly HeadRef[]): GridDocument {
  const random = generator(42);
  const values = new Float32Array(layers * heads).map(() => random() ** 3);
  return {
    schema: 1,
    document: "grid",
    title: "Heads pruned",
    panels: [
      {
        kind: "encoder",
        label: "Encoder",
        layers,
        heads,
        kv_heads: heads,
        scores: [
          {
            name: "importance",
            unit: "",
            n: 200,
            signed: false,
            values: packed(values, [layers, heads]),
            stderr: null,
          },
        ],
      },
    ],
    selected: [],
    pruned,
    provenance: null,
  };
}

export function pruningDocument(layers = 6, heads = 12, count = 24): PruningDocument {
  const random = generator(7);
  const order: HeadRef[] = [];
  for (let layer = 0; layer < layers; layer += 1) {
    for (let head = 0; head < heads; head += 1) order.push(["encoder", layer, head]);
  }
  for (let at = order.length - 1; at > 0; at -= 1) {
    const other = Math.floor(random() * (at + 1));
    const [a, b] = [order[at], order[other]];
    if (a !== undefined && b !== undefined) {
      order[at] = b;
      order[other] = a;
    }
  }
  const points: CurvePoint[] = [];
  for (let at = 0; at <= order.length; at += 6) {
    const share = at / order.length;
    const value = 0.972 - 0.28 * share ** 3 - 0.02 * share;
    const partial = at > 50 ? 300 : 1200;
    points.push({ count: at, estimate: estimate(value, partial, 1200, at === 0 ? null : value - 0.972) });
  }
  return {
    schema: 1,
    document: "pruning",
    title: "Pruning",
    metric: "accuracy",
    method: "attribution",
    methods: ["attribution", "confidence", "random"],
    ablation: "zero",
    ablations: ["zero", "mean", "resample"],
    order,
    count,
    baseline: estimate(0.972, 1200, 1200, null),
    points,
    status: "",
    grid: gridDocument(layers, heads, order.slice(0, count)),
    provenance: { model: "fixture/encoder-small", version: "0.1.0", settings: { seed: 0 } },
  };
}
