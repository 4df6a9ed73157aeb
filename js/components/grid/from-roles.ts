/** A roles file as a grid document: the heads of the model, each with the roles it has. */

import type { GridDocument, GridPanel, KindName, RolesFile } from "../../wire/types.js";
import { SCHEMA } from "../../wire/types.js";
import { KINDS, LABELS } from "./from-scores.js";

export function gridFromRoles(file: RolesFile): GridDocument {
  const panels: GridPanel[] = [];
  for (const kind of KINDS) {
    const [layers, heads] = file.shapes[kind as KindName] ?? [];
    if (layers === undefined || heads === undefined) continue;
    panels.push({ kind, label: LABELS[kind], layers, heads, kv_heads: heads, scores: [] });
  }
  const model = file.provenance?.model ?? "";
  return {
    schema: SCHEMA,
    document: "grid",
    title: model === "" ? "Roles of heads" : `Roles of the heads of ${model}`,
    panels,
    selected: [],
    pruned: [],
    roles: file.roles,
    provenance: file.provenance,
  };
}
