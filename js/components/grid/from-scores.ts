/** A scores file as a grid document. */

import { toBase64 } from "../../wire/base64.js";
import { decodeArray } from "../../wire/decode.js";
import type { ArrayRef, GridDocument, GridPanel, KindName, ScoresFile } from "../../wire/types.js";
import { SCHEMA } from "../../wire/types.js";

export const KINDS: readonly KindName[] = ["encoder", "decoder", "cross"];

export const LABELS: Readonly<Record<KindName, string>> = {
  encoder: "Encoder self-attention",
  decoder: "Decoder self-attention",
  cross: "Cross-attention",
};

/** A float array as float32, inline. */
function asFloat32(ref: ArrayRef): ArrayRef {
  if (ref.dtype === "float32") return ref;
  const values = Float32Array.from(decodeArray(ref));
  return { dtype: "float32", shape: ref.shape, data: toBase64(new Uint8Array(values.buffer)) };
}

/** The unit, or for a pure number what it is a number of; as live grids have it. */
function unitOf(file: ScoresFile): string {
  const { method, output } = file.provenance?.settings ?? {};
  if (file.unit !== "") return file.unit;
  return method === "confidence" ? "attention weight" : output === "probability" ? output : "";
}

/** "Confidence of bert-base"; nothing where the subtitle would only be said twice. */
function titleOf(file: ScoresFile): string {
  const model = file.provenance?.model ?? "";
  return model === "" ? "" : `${file.name.charAt(0).toUpperCase()}${file.name.slice(1)} of ${model}`;
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
          unit: unitOf(file),
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
    title: titleOf(file),
    panels,
    selected: [],
    pruned: [],
    provenance: file.provenance,
  };
}
