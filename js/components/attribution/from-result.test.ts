import { describe, expect, it } from "vitest";
import { toBase64 } from "../../wire/base64.js";
import { decodeArray } from "../../wire/decode.js";
import { parseDocument } from "../../wire/guards.js";
import { type ArrayRef, type AttributionFile, type HeadMap, SCHEMA, type Token } from "../../wire/types.js";
import { decodeMap } from "../maps/head-map.js";
import { attributionFromResult } from "./from-result.js";

const floats = (values: readonly number[], shape: readonly number[]): ArrayRef => ({
  dtype: "float32",
  shape,
  data: toBase64(new Uint8Array(Float32Array.from(values).buffer)),
});
const doubles = (values: readonly number[], shape: readonly number[]): ArrayRef => ({
  dtype: "float64",
  shape,
  data: toBase64(new Uint8Array(Float64Array.from(values).buffer)),
});
const token = (text: string): Token => ({ text, special: false, continued: false, joined: false });
const side = (...texts: string[]) => ({
  tokens: texts,
  labels: texts.map(token),
  group: null,
  words: null,
});
const NAN = Number.NaN;

/** One layer, two heads, one of which there is not; two queries and three keys. */
const FILE: AttributionFile = {
  schema: SCHEMA,
  document: "attribution-result",
  version: "0.1.0",
  fingerprint: null,
  segments: ["a b c", ["x", "y"]],
  target: "y",
  target_ids: [1],
  positions: [1],
  output: "logit",
  unit: "logits",
  value: 2,
  rule: "gauss-legendre",
  tolerance: 0.001,
  words: false,
  notes: [],
  kinds: [
    {
      kind: "cross",
      layers: 1,
      heads: 2,
      query: side("x", "y"),
      key: side("a", "b", "c"),
      totals: doubles([NAN, 21], [1, 2]),
      largest: doubles([NAN, 6], [1, 2]),
      change: doubles([21], [1]),
      gap: doubles([0], [1]),
      steps: { dtype: "int32", shape: [1], data: toBase64(new Uint8Array(Int32Array.of(5).buffer)) },
      maps: floats([NAN, NAN, NAN, NAN, NAN, NAN, 1, 2, 3, 4, 5, 6], [1, 2, 2, 3]),
      attention: null,
    },
  ],
  provenance: { model: "tiny", version: "0.1.0", settings: {} },
};

const values = (map: HeadMap | undefined) => (map ? [...decodeMap(map).values] : undefined);

describe("an attribution file", () => {
  const document = attributionFromResult(parseDocument(JSON.stringify(FILE)) as AttributionFile);

  it("becomes the attribution view of its model and text", () => {
    expect([document.title, document.text]).toEqual(["Attribution of tiny", "a b c → x y"]);
    expect(document.selected).toEqual([["cross", 0, 1]]);
    expect(document.panels[0]?.label).toBe("Cross-attention");
  });

  it("has the map of every head that there is, and of every layer", () => {
    expect(document.maps.map((map) => map.head)).toEqual([
      ["cross", 0, -1],
      ["cross", 0, 1],
    ]);
    for (const map of document.maps) expect(values(map)).toEqual([1, 2, 3, 4, 5, 6]);
  });

  it("sums what keys receive and what queries give", () => {
    const panel = document.panels[0];
    expect(panel && [...decodeArray(panel.received)]).toEqual([5, 7, 9]);
    expect(panel && [...decodeArray(panel.given)]).toEqual([6, 15]);
  });

  it("without maps still shows heads, and does not make up what tokens carry", () => {
    const [kind] = FILE.kinds;
    if (!kind) throw new Error("no kind");
    const bare = attributionFromResult({ ...FILE, kinds: [{ ...kind, maps: null }] });
    expect(bare.maps).toEqual([]);
    const panel = bare.panels[0];
    expect(panel && [...decodeArray(panel.received)].every(Number.isNaN)).toBe(true);
  });

  it("keeps long maps in 256 steps", () => {
    const long = attributionFromResult(FILE, 10);
    expect(long.maps.map((map) => map.values.dtype)).toEqual(["uint8", "uint8"]);
    values(long.maps[1])?.forEach((value, at) => {
      expect(value).toBeCloseTo(at + 1, 1);
    });
  });
});
