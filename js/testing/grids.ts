/** Grid documents for tests and pictures: ordinary, tiny, huge, grouped, hostile. */

import type {
  GridDocument,
  GridPanel,
  HeadRef,
  KindName,
  RoleEvidence,
  RoleLayer,
  ScoreLayer,
} from "../wire/types.js";
import { generator, packed } from "./views.js";

export const HOSTILE_TEXT = `</script><img src=x onerror=alert(1)> "' &amp; \u0000`;

export interface ScoreOptions {
  readonly unit?: string;
  readonly signed?: boolean;
  readonly n?: number;
  readonly stderr?: boolean;
  /** Share of heads that were not measured. */
  readonly missing?: number;
}

export function scoreLayer(
  name: string,
  layers: number,
  heads: number,
  options: ScoreOptions = {},
): ScoreLayer {
  const random = generator(layers * 131 + heads + name.length);
  const { unit = "", signed = false, n = 200, stderr = true, missing = 0 } = options;
  const values = Float32Array.from({ length: layers * heads }, () => {
    const value = random() ** 2;
    return random() < missing ? Number.NaN : signed ? value - 0.3 : value;
  });
  const shape = [layers, heads];
  const errors = Float32Array.from(values, (value) => 0.01 + 0.05 * Math.abs(value || 0));
  return {
    name,
    unit,
    n,
    signed,
    values: packed(values, shape),
    stderr: stderr ? packed(errors, shape) : null,
  };
}

export function gridPanel(
  kind: KindName,
  layers: number,
  heads: number,
  scores: readonly ScoreLayer[],
  kvHeads = heads,
): GridPanel {
  const label = kind === "cross" ? "cross-attention" : `${kind} self-attention`;
  return { kind, label, layers, heads, kv_heads: kvHeads, scores };
}

export function grid(
  panels: readonly GridPanel[],
  rest: Partial<Pick<GridDocument, "title" | "selected" | "pruned" | "roles">> = {},
): GridDocument {
  return {
    schema: 1,
    document: "grid",
    title: rest.title ?? "Head importance",
    panels,
    selected: rest.selected ?? [],
    pruned: rest.pruned ?? [],
    ...(rest.roles ? { roles: rest.roles } : {}),
    provenance: {
      model: "tiny-bert",
      version: "0.1.0",
      settings: { method: "attribution", ablation: "zero", seed: 0, split: "validation" },
    },
  };
}

const RULES: readonly (readonly [string, string])[] = [
  ["positional", "at least 90 % of the largest weights are at one offset"],
  [
    "syntactic",
    "finds a relation more often than every baseline, all heads and relations judged together, on sentences that did not choose it",
  ],
  ["rare-word", "points at the rarest word of a sentence more often than every baseline"],
  ["separator", "more than 60 % of the attention goes to separators"],
  ["sink", "more than 60 % of the attention goes to the first key"],
  ["broad", "entropy above 80 % of the largest possible"],
  ["previous-token", "in repeated random tokens half of the attention goes to the token before"],
  ["duplicate-token", "in repeated random tokens half of the attention goes to the same token"],
  ["induction", "in repeated random tokens half of the attention goes to what came next the last time"],
];

/** Every role that there is, some heads with several, some of them uncertain. */
export function roleLayers(kind: KindName, layers: number, heads: number, share = 0.12): RoleLayer[] {
  const random = generator(layers * 7 + heads);
  return RULES.map(([name, rule], at) => {
    const found: RoleEvidence[] = [];
    for (let layer = 0; layer < layers; layer++)
      for (let index = 0; index < heads; index++) {
        const crowded = layer === 1 && index < 9 && at <= index;
        if (!crowded && (layer === 1 || name === "rare-word" || random() > share)) continue;
        found.push({
          head: [kind, layer, index],
          value: 0.93,
          about: `93 % of 4,211`,
          low: 0.9,
          high: 0.95,
          n: 200,
          certain: random() > 0.2,
        });
      }
    return { name, rule, heads: name === "rare-word" ? [] : found };
  });
}

const pruned: readonly HeadRef[] = [
  ["encoder", 0, 1],
  ["encoder", 0, 2],
  ["encoder", 3, 5],
  ["encoder", 4, 11],
  ["encoder", 5, 0],
];

/** Every look that a grid has, by name. */
export const GRIDS: Readonly<Record<string, GridDocument>> = {
  bert: grid(
    [
      gridPanel("encoder", 6, 12, [
        scoreLayer("attribution importance", 6, 12, { unit: "nats", missing: 0.06 }),
        scoreLayer("confidence", 6, 12),
        scoreLayer("change in log-odds", 6, 12, { signed: true }),
      ]),
    ],
    {
      pruned,
      selected: [
        ["encoder", 2, 3],
        ["encoder", 2, 4],
        ["encoder", 5, 11],
      ],
    },
  ),
  signed: grid([gridPanel("encoder", 12, 12, [scoreLayer("change in log-odds", 12, 12, { signed: true })])], {
    title: "What the loss does when a head is taken out",
    pruned,
  }),
  single: grid([gridPanel("decoder", 1, 1, [scoreLayer("confidence", 1, 1)])], { title: "One head" }),
  two: grid([gridPanel("encoder", 2, 4, [scoreLayer("entropy", 2, 4, { unit: "nats", missing: 0.3 })])], {
    title:
      "A title that is much longer than the picture is wide, as titles of real experiments on real models tend to be",
    selected: [["encoder", 1, 0]],
  }),
  grouped: grid([gridPanel("decoder", 8, 32, [scoreLayer("importance", 8, 32)], 8)], {
    title: "Grouped-query attention",
    pruned: [
      ["decoder", 1, 1],
      ["decoder", 7, 31],
    ],
  }),
  seq2seq: grid([
    gridPanel("encoder", 6, 8, [scoreLayer("confidence", 6, 8)]),
    gridPanel("decoder", 6, 8, [
      scoreLayer("confidence", 6, 8),
      scoreLayer("entropy", 6, 8, { unit: "nats" }),
    ]),
    gridPanel("cross", 6, 8, [scoreLayer("confidence", 6, 8, { missing: 1 })]),
  ]),
  large: grid([gridPanel("decoder", 48, 64, [scoreLayer("importance", 48, 64, { missing: 0.02 })], 8)], {
    title: "48 layers of 64 heads",
    selected: [["decoder", 20, 30]],
    pruned: Array.from({ length: 300 }, (_, i): HeadRef => ["decoder", (i * 7) % 48, (i * 13) % 64]),
  }),
  empty: grid([gridPanel("encoder", 4, 8, [])], { title: "No score yet" }),
  roles: grid([gridPanel("encoder", 6, 12, [])], {
    title: "Roles of the heads of a small encoder",
    roles: roleLayers("encoder", 6, 12),
    selected: [["encoder", 2, 3]],
    pruned,
  }),
  "roles-scored": grid([gridPanel("encoder", 6, 12, [scoreLayer("importance", 6, 12, { unit: "nats" })])], {
    title: "Importance and roles",
    roles: roleLayers("encoder", 6, 12),
    selected: [["encoder", 2, 3]],
    pruned,
  }),
  "roles-grouped": grid([gridPanel("decoder", 30, 9, [], 3)], {
    title: "Roles of a causal model",
    roles: roleLayers("decoder", 30, 9, 0.08),
  }),
  "roles-seq2seq": grid(
    [gridPanel("encoder", 4, 8, []), gridPanel("decoder", 3, 8, []), gridPanel("cross", 3, 8, [])],
    { title: "Roles of a translator", roles: roleLayers("encoder", 4, 8, 0.2) },
  ),
  "roles-large": grid([gridPanel("decoder", 48, 64, [scoreLayer("importance", 48, 64)], 8)], {
    title: "48 layers of 64 heads with roles",
    roles: roleLayers("decoder", 48, 64, 0.03),
  }),
  "roles-large-bare": grid([gridPanel("decoder", 48, 64, [], 8)], {
    title: "48 layers of 64 heads with roles",
    roles: roleLayers("decoder", 48, 64, 0.03),
  }),
  "roles-hostile": grid([gridPanel("encoder", 2, 2, [])], {
    title: HOSTILE_TEXT,
    roles: [
      {
        name: HOSTILE_TEXT,
        rule: HOSTILE_TEXT,
        heads: [{ head: ["encoder", 0, 1], value: -1, about: HOSTILE_TEXT }],
      },
      { name: "none has it", rule: "", heads: [] },
    ],
  }),
  hostile: grid([gridPanel("encoder", 2, 2, [scoreLayer(HOSTILE_TEXT, 2, 2, { unit: HOSTILE_TEXT })])], {
    title: HOSTILE_TEXT,
  }),
};
