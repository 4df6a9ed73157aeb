/** Layer curves for tests and pictures, from a seeded generator. */

import type { Document, HeadRef, KindName, PatternStatistic, PatternsDocument } from "../wire/types.js";
import { HOSTILE_TEXT, numbers } from "./charts.js";
import { packed } from "./views.js";

export interface PatternOptions {
  readonly kinds?: readonly KindName[];
  readonly shown?: number;
  readonly selected?: readonly HeadRef[];
  readonly hostile?: boolean;
  readonly errors?: boolean;
  /** Share of heads that were not measured. */
  readonly missing?: number;
}

const KINDS: readonly KindName[] = ["encoder", "decoder", "cross"];

/** Neighbours, special tokens and entropy, as in Clark et al. 2019: most heads near what chance gives, a few far out. */
export function patternsDocument(layers = 12, heads = 12, options: PatternOptions = {}): PatternsDocument {
  const {
    kinds = ["encoder"],
    shown = 0,
    selected = [],
    hostile = false,
    errors = true,
    missing = 0,
  } = options;
  const next = numbers(layers * heads + 11);
  const places: HeadRef[] = kinds.flatMap((kind) =>
    Array.from({ length: layers * heads }, (_, i): HeadRef => [kind, Math.floor(i / heads), i % heads]),
  );
  const shape = [places.length];
  const depth = (layer: number) => (layers > 1 ? layer / (layers - 1) : 0.5);
  const statistic = (
    name: string,
    label: string,
    unit: string,
    reference: number | null,
    value: (layer: number, draw: number) => number,
  ): PatternStatistic => ({
    name,
    label: hostile ? `${label} ${HOSTILE_TEXT}` : label,
    unit,
    values: packed(
      Float32Array.from(places, ([, layer]) => {
        const drawn = value(depth(layer), next());
        return next() < missing ? Number.NaN : drawn;
      }),
      shape,
    ),
    stderr: errors
      ? packed(
          Float32Array.from(places, () => 0.002 + 0.01 * next()),
          shape,
        )
      : null,
    reference: reference === null ? {} : Object.fromEntries(kinds.map((kind) => [kind, reference])),
    n: 2001,
  });
  const weight = "attention weight";
  const statistics = [
    statistic("offset-1", "Attention to the previous token", weight, 0.05, (d, u) =>
      u > 0.94 ? 0.9 : 0.05 + 0.25 * u * (1 - d),
    ),
    statistic("offset+1", "Attention to the next token", weight, 0.051, (d, u) =>
      u > 0.96 ? 0.7 : 0.04 + 0.2 * u * (1 - d),
    ),
    statistic("separators", "Attention to separators", weight, 0.05, (d, u) =>
      Math.min(0.95, 0.02 + 0.9 * u * Math.sin(3 * d) ** 2),
    ),
    statistic("separators_from_separators", "Attention to separators from separators", weight, 0.09, (d, u) =>
      Math.min(0.98, 0.05 + (0.4 + 0.6 * u) * Math.sin(3 * d) ** 2),
    ),
    statistic("punctuation", "Attention to punctuation", weight, 0.15, (d, u) => 0.08 + 0.5 * u ** 4 * d),
    statistic("entropy", "Entropy", "nats", 3.12, (d, u) => 3.1 * (0.25 + 0.7 * u ** (1 + 2 * d))),
    statistic("entropy_first", "Entropy from the first token", "nats", 2.6, (d, u) => 0.3 + 2 * u * d),
  ];
  return {
    schema: 1,
    document: "patterns",
    title: hostile ? HOSTILE_TEXT : "Where heads look: encoder-small",
    heads: packed(
      Int32Array.from(places.flatMap(([kind, layer, index]) => [KINDS.indexOf(kind), layer, index])),
      [places.length, 3],
    ),
    statistics,
    charts: [
      { name: "offset", label: "Attention to neighbours", unit: weight, statistics: [0, 1] },
      {
        name: "tokens",
        label: "Attention to special tokens and punctuation",
        unit: weight,
        statistics: [2, 3, 4],
      },
      { name: "entropy", label: hostile ? HOSTILE_TEXT : "Entropy", unit: "nats", statistics: [5, 6] },
    ],
    shown,
    selected,
    note: hostile ? `שלום עולם ${HOSTILE_TEXT}` : "",
    provenance: { model: "fixture/encoder-small", version: "0.1.0", settings: { seed: 0, method: "offset" } },
  };
}

export const PATTERNS: Readonly<Record<string, () => Document>> = {
  patterns: () =>
    patternsDocument(12, 12, {
      selected: [
        ["encoder", 2, 3],
        ["encoder", 7, 6],
      ],
    }),
  "patterns-tokens": () => patternsDocument(6, 12, { shown: 1 }),
  "patterns-entropy": () => patternsDocument(6, 12, { shown: 2, selected: [["encoder", 5, 11]] }),
  "patterns-kinds": () => patternsDocument(4, 8, { kinds: ["encoder", "decoder", "cross"], shown: 1 }),
  "patterns-30": () => patternsDocument(30, 9, { shown: 1 }),
  "patterns-3072": () => patternsDocument(48, 64, { shown: 1, errors: false }),
  "patterns-hostile": () => patternsDocument(3, 4, { hostile: true, shown: 2 }),
};
