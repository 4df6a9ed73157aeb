import { describe, expect, it } from "vitest";
import { toBase64 } from "../../wire/base64.js";
import { SCHEMA, type ScoresFile } from "../../wire/types.js";
import { gridFromScores } from "./from-scores.js";

const FILE: ScoresFile = {
  schema: SCHEMA,
  document: "scores",
  version: "0.1.0",
  fingerprint: null,
  name: "confidence",
  unit: "",
  n: 3,
  values: {
    encoder: {
      dtype: "float32",
      shape: [1, 2],
      data: toBase64(new Uint8Array(new Float32Array([0.5, 0.25]).buffer)),
    },
  },
  stderr: null,
  provenance: { model: "tiny", version: "0.1.0", settings: { method: "confidence" } },
};

describe("a scores file", () => {
  it("names its model, and what a pure number is a number of", () => {
    const { title, panels } = gridFromScores(FILE);
    expect(title).toBe("Confidence of tiny");
    expect(panels.map((panel) => [panel.label, panel.scores[0]?.unit])).toEqual([
      ["Encoder self-attention", "attention weight"],
    ]);
  });

  it("keeps its own unit, and has no title where the model is not known", () => {
    const { title, panels } = gridFromScores({ ...FILE, unit: "nats", provenance: null });
    expect([title, panels[0]?.scores[0]?.unit]).toEqual(["", "nats"]);
  });
});
