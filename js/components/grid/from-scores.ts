/** A scores file as a grid document. */

import { toBase64 } from "../../wire/base64.js";
import { decodeArray } from "../../wire/decode.js";
import type { ArrayRef, GridDocument, GridPanel, KindName, ScoresFile } from "../../wire/types.js";
import { SCHEMA } from "../../wire/types.js";

const KINDS: readonly KindName[] = ["encoder", "decoder", "cross"];

const LABELS: Readonly<Record<KindName, string>> = {
  encoder: "encoder self-attention",
  decoder: "decoder self-attention",
  cross: "cross-attention",
};

/** A float array as float32, inline. */
function asFloat32(ref: ArrayRef): ArrayRef {
  if (ref.dtype === "float32") return ref;
  const values = Float32Array.from(decodeArray(ref));
  return { dtype: "float32", shape: ref.shape, data: toBase64(new Uint8Array(values.buffer)) };
}

export function gridFromScores(file: ScoresFile): GridDocument {
  const panels: GridPanel[] = [];
  for (const kind of KINDS) {
    const ref = file.values[kind];
    if (!ref) continue;
    const [layers, heads] = ref.shape;
    if (ref.shape.length !== 2 || layers === undefined || heads === undefined)
      throw new Error(`values.${kind}: expected an array [layers, heads], got shape [${ref.shape}]`);
    const stderr = file.stderr?.[kind];
    panels.push({
      kind,
      label: LABELS[kind],
      layers,
      heads,
      kv_heads: heads,
      scores: [
        {
          name: file.name,
          unit: file.unit,
          n: file.n,
          signed: decodeArray(ref).some((value) => value < 0),
          values: asFloat32(ref),
          stderr: stderr ? asFloat32(stderr) : null,
        },
      ],
    });
  }
  return {
    schema: SCHEMA,
    document: "grid",
    title: file.name,
    panels,
    selected: [],
    pruned: [],
    provenance: file.provenance,
  };
}
