import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { fromBase64, toBase64 } from "./base64.js";
import { bytesOf, decodeArray, decodeShaped } from "./decode.js";
import { checkDocument, checkDocumentOf, DocumentError, parseDocument } from "./guards.js";
import type { ArrayRef } from "./types.js";

const FOLDER = new URL("../../tests/wire/fixtures/", import.meta.url);
const read = (name: string) => readFileSync(new URL(name, FOLDER), "utf8");
const CASES = readdirSync(FOLDER)
  .filter((name) => /^[a-z]+\.json$/.test(name))
  .map((name) => name.slice(0, -5));

function isRef(value: object): value is ArrayRef {
  return "dtype" in value && "shape" in value;
}

/** Every array of a document by its path, NaN as null. */
function arrays(value: unknown, buffer?: Uint8Array, path = ""): Record<string, (number | null)[]> {
  if (value === null || typeof value !== "object") return {};
  if (isRef(value))
    return { [path]: Array.from(decodeArray(value, buffer), (x) => (Number.isNaN(x) ? null : x)) };
  return Object.assign(
    {},
    ...Object.entries(value).map(([key, item]) => arrays(item, buffer, path ? `${path}.${key}` : key)),
  );
}

describe("what Python writes", () => {
  it("has cases", () => expect(CASES.length).toBeGreaterThanOrEqual(3));
  for (const name of CASES) {
    const expected = JSON.parse(read(`${name}.arrays.json`));
    it(`${name}: is read from files`, () => {
      const document = parseDocument(read(`${name}.json`));
      expect(document.document).toBe(name);
      expect(arrays(document)).toEqual(expected);
    });
    it(`${name}: is read from live widgets, wherever the bytes start`, () => {
      const document = checkDocument(JSON.parse(read(`${name}.live.json`)));
      const bytes = Uint8Array.from(readFileSync(new URL(`${name}.live.bin`, FOLDER)));
      const moved = new Uint8Array(bytes.length + 3);
      moved.set(bytes, 3);
      const view = new DataView(moved.buffer, 3);
      for (const form of [bytes, view, bytes.slice().buffer, toBase64(bytes)])
        expect(arrays(document, bytesOf(form))).toEqual(expected);
    });
  }
});

describe("arrays", () => {
  const ref: ArrayRef = { dtype: "float32", shape: [2], data: toBase64(new Uint8Array(8)) };
  it("say both numbers when bytes and shape differ", () => {
    expect(() => decodeArray({ ...ref, shape: [3] })).toThrow("shape [3] has 12 bytes, got 8");
    expect(() => decodeArray({ dtype: "int32", shape: [2], offset: 8 }, new Uint8Array(8))).toThrow(
      "needs 8 bytes from 8 on, but the buffer has 8",
    );
    expect(() => decodeArray({ dtype: "int32", shape: [2] })).toThrow("neither data nor a buffer");
    expect(() => decodeShaped(ref, [1, 2], "totals")).toThrow(
      "totals: expected an array of shape [1,2], got [2]",
    );
  });
  it("are copies", () => {
    const buffer = new Uint8Array(8);
    const values = decodeArray({ dtype: "uint8", shape: [8], offset: 0 }, buffer);
    values[0] = 9;
    expect(buffer[0]).toBe(0);
  });
  it("may be empty", () => {
    expect(decodeArray({ dtype: "float64", shape: [0, 4], data: "" })).toHaveLength(0);
  });
});

describe("base64", () => {
  it("goes both ways for every length", () => {
    for (let size = 0; size < 40; size++) {
      const bytes = Uint8Array.from({ length: size }, (_, i) => (i * 89 + size) & 255);
      expect(toBase64(bytes)).toBe(btoa(String.fromCharCode(...bytes)));
      expect(fromBase64(toBase64(bytes))).toEqual(bytes);
    }
  });
  it("takes line breaks and refuses what is none", () => {
    expect(fromBase64("AA\nAA\n")).toHaveLength(3);
    expect(() => fromBase64("A*AA")).toThrow(/no base64/);
    expect(() => fromBase64("AAA")).toThrow(/groups of 4/);
  });
});

describe("guards", () => {
  const grid = () => JSON.parse(read("grid.json"));
  const refused = (value: unknown) => {
    try {
      checkDocument(value);
    } catch (error) {
      expect(error).toBeInstanceOf(DocumentError);
      return (error as Error).message;
    }
    throw new Error("was accepted");
  };
  it("say where and what", () => {
    expect(refused(null)).toBe("expected a headwidgets document, got null");
    expect(refused({ document: "grid", schema: 2 })).toMatch(
      /newer headwidgets \(schema 2; this one reads up to 1\)/,
    );
    expect(refused({ ...grid(), pruned: undefined })).toBe(
      'this grid document is damaged: "pruned" is missing',
    );
    expect(refused({ ...grid(), provenance: { model: "m", version: "1", settings: { a: [] } } })).toMatch(
      /provenance/,
    );
    const broken = grid();
    broken.panels[0].scores[0].values = "AAAA";
    expect(refused(broken)).toBe(
      'this grid document is damaged: panels[0].scores[0].values: expected an object, got "AAAA"',
    );
  });
  it("tell kinds of documents apart", () => {
    expect(() => checkDocumentOf(grid(), "pruning")).toThrow("expected a pruning document, got grid");
  });
  it("name the part of a dashboard that is wrong", () => {
    const parts = [grid(), { ...grid(), title: 7 }];
    expect(refused({ schema: 1, document: "dashboard", title: "", parts })).toBe(
      "this dashboard document is damaged: parts[1].title: expected a text, got 7",
    );
  });
  it("say that a text is no JSON", () => {
    expect(() => parseDocument("{")).toThrow(/this is not JSON/);
  });
});
