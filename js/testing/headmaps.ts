/** Maps of heads for tests and pictures, from a seeded generator. */

import type { Document, HeadGroups, HeadMapDocument, HeadRef } from "../wire/types.js";
import { HOSTILE_TEXT, numbers, packedPoints } from "./charts.js";
import { packed } from "./views.js";

export interface HeadMapOptions {
  readonly shown?: number;
  readonly selected?: readonly HeadRef[];
  readonly hostile?: boolean;
}

const ROLES = ["positional", "syntactic", "separator", "rare-word", "broad"];

/** Layers that drift across the plane, with two far heads, roles for some and four clusters. */
export function headMapDocument(layers = 6, heads = 12, options: HeadMapOptions = {}): HeadMapDocument {
  const { shown = 0, selected = [], hostile = false } = options;
  const next = numbers(layers * heads + 5);
  const bell = () => next() + next() + next() - 1.5;
  const points = Array.from({ length: layers * heads }, (_, i) => {
    const layer = Math.floor(i / heads);
    const far = i % 29 === 7 ? 0.25 : 0;
    return {
      head: ["encoder", layer, i % heads] as HeadRef,
      x: 0.35 * (layer / Math.max(1, layers - 1) - 0.5) + 0.07 * bell() - far,
      y: 0.09 * bell() + far,
    };
  });
  const { heads: places, x, y } = packedPoints(points, false);
  const count = points.length;
  const names = hostile
    ? [HOSTILE_TEXT, "שורש המילה", "a role whose name goes on and on and on and on"]
    : ROLES;
  const roles = points.map((_, i) => (i % 3 === 0 ? (i * 7) % names.length : -1));
  const groups: HeadGroups[] = [
    {
      name: "layer",
      labels: Array.from({ length: layers }, (_, i) => String(i)),
      ordered: true,
      group: packed(
        Int32Array.from(points, ({ head }) => head[1]),
        [count],
      ),
    },
    {
      name: "role",
      labels: names,
      ordered: false,
      group: packed(Int32Array.from(roles), [count]),
      about: roles.map((role, i) => (role < 0 ? "" : `${names[role]}${i % 2 ? ", sink" : ""}`)),
    },
    {
      name: "cluster",
      labels: ["A", "B", "C", "D"],
      ordered: false,
      group: packed(
        Int32Array.from(points, (point) => (point.x < -0.1 ? 0 : point.x < 0.05 ? 1 : point.y < 0 ? 2 : 3)),
        [count],
      ),
    },
  ];
  return {
    schema: 1,
    document: "headmap",
    title: hostile ? HOSTILE_TEXT : "Heads of encoder-small by how they attend",
    heads: places,
    x,
    y,
    unit: "nats per token",
    stress: 0.23,
    fit: 0.815,
    groups,
    shown,
    selected,
    note: hostile
      ? HOSTILE_TEXT
      : "Encoder attention, Jensen-Shannon divergence over 400 texts. Within a layer 0.216, between layers 0.266 nats (p < 0.001).",
    provenance: {
      model: "fixture/encoder-small",
      version: "0.1.0",
      settings: { seed: 0, method: "distance" },
    },
  };
}

export const HEADMAPS: Readonly<Record<string, () => Document>> = {
  headmap: () =>
    headMapDocument(6, 12, {
      selected: [
        ["encoder", 0, 7],
        ["encoder", 5, 3],
        ["encoder", 3, 0],
      ],
    }),
  "headmap-144": () => headMapDocument(12, 12),
  "headmap-roles": () => headMapDocument(6, 12, { shown: 1 }),
  "headmap-clusters": () => headMapDocument(12, 12, { shown: 2 }),
  "headmap-384": () => headMapDocument(24, 16),
  "headmap-3072": () => headMapDocument(48, 64, { shown: 2 }),
  "headmap-hostile": () => headMapDocument(3, 4, { shown: 1, hostile: true }),
};
