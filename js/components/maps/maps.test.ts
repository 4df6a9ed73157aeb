import { describe, expect, it, vi } from "vitest";
import { measure } from "../../marks/text.js";
import { CONTINUED, ENGLISH, HEBREW, longText, tokensOf } from "../../testing/texts.js";
import { attentionMap, packed } from "../../testing/views.js";
import type { HeadMap, HeadMapRequest, HeadRef } from "../../wire/types.js";
import { decodeMap, pooled, sums, valueAt } from "./head-map.js";
import { drawLinks, hitLinks, layoutLinks, rowY } from "./links.js";
import { hitMatrix, isVector, layoutMatrix } from "./matrix.js";
import { hitOverview, layoutOverview, mosaic, overviewBox, shrunk, thumbnailSide } from "./overview.js";
import { isRightToLeft, positionsOf, visible } from "./positions.js";
import { MapStore, toggled } from "./store.js";

const L3H5: HeadRef = ["encoder", 3, 5];

describe("positions", () => {
  it("leaves special tokens out when asked, and keeps the numbers of the others", () => {
    const positions = positionsOf(ENGLISH, 1, true);
    expect(positions).toHaveLength(ENGLISH.length - 2);
    expect(positions[0]).toMatchObject({ index: 1, first: 1, label: "the" });
  });

  it("groups neighbouring tokens of a down-sampled map, the last group shorter", () => {
    const positions = positionsOf(longText(10), 4, true);
    expect(positions.map(({ first, last }) => [first, last])).toEqual([
      [0, 3],
      [4, 7],
      [8, 9],
    ]);
  });

  it("marks tokens that share a character and gives nothing an empty label", () => {
    expect(positionsOf(CONTINUED, 1, false).filter((position) => position.continued)).toHaveLength(2);
    expect(visible("")).toBe("∅");
    expect(visible("  ")).toBe("␣␣");
    expect(visible("\n")).toBe("⏎");
    expect(visible("a\u0007")).toBe("a\ufffd");
  });

  it("tells which way a text reads", () => {
    expect(isRightToLeft(HEBREW)).toBe(true);
    expect(isRightToLeft(ENGLISH)).toBe(false);
    expect(isRightToLeft(tokensOf("[CLS] שלום the end of it [SEP]"))).toBe(false);
  });
});

describe("maps", () => {
  const quantised: HeadMap = {
    head: L3H5,
    view: "attribution",
    values: packed(Uint8Array.from([0, 255, 51, 204]), [2, 2]),
    low: -1,
    high: 4,
    query_step: 1,
    key_step: 1,
  };

  it("turn 0..255 back into low..high", () => {
    const map = decodeMap(quantised);
    expect([...map.values].map((value) => Number(value.toFixed(5)))).toEqual([-1, 4, 0, 3]);
    expect(valueAt(map, 1, 1)).toBeCloseTo(3);
    expect(valueAt(map, 2, 0)).toBeNaN();
  });

  it("refuse a shape that does not fit, with both numbers", () => {
    const wrong = { ...quantised, values: packed(new Float32Array(4), [4]) };
    expect(() => decodeMap(wrong)).toThrow(/\[rows, columns\]; got shape \[4\] with 4 values/);
  });

  it("keep their sum when pooled cells are weighted by their number", () => {
    const map = decodeMap(attentionMap(L3H5, longText(9), longText(9)));
    const small = pooled(map, 3);
    expect([small.rows, small.columns, small.queryStep]).toEqual([3, 3, 3]);
    const total = map.values.reduce((a, b) => a + b, 0);
    expect(small.values.reduce((a, b) => a + 9 * b, 0)).toBeCloseTo(total, 4);
    expect(sums(map, "columns").reduce((a, b) => a + b, 0)).toBeCloseTo(9, 4);
  });
});

describe("geometry", () => {
  const positions = positionsOf(ENGLISH, 1, false);

  it("finds in lines the token whose row it is, and nothing between the columns", () => {
    const layout = layoutLinks(positions, positions, 600, measure);
    expect(hitLinks(layout, 20, rowY(layout, 4))).toEqual({ side: "query", at: 4 });
    expect(hitLinks(layout, layout.right + 5, rowY(layout, 0))).toEqual({ side: "key", at: 0 });
    expect(hitLinks(layout, (layout.left + layout.right) / 2, rowY(layout, 4))).toBeNull();
    expect(hitLinks(layout, 20, rowY(layout, positions.length))).toBeNull();
  });

  it("draws the strongest links first when there are too many", () => {
    const long = positionsOf(longText(60), 1, false);
    const map = decodeMap(attentionMap(L3H5, longText(60), longText(60)));
    const layout = layoutLinks(long, long, 600, measure);
    const series = [{ map, name: "L3H5", color: "#000000", opposing: "#ffffff" }];
    const few = drawLinks(layout, series, 1, null, 50);
    expect(few.drawn).toBe(50);
    expect(few.markup.match(/M/g)).toHaveLength(50);
    const row = drawLinks(layout, series, 0.001, { side: "query", at: 3 }, Number.POSITIVE_INFINITY);
    expect(row.drawn).toBe(60);
  });

  it("finds in matrices the cell, in every panel", () => {
    const layout = layoutMatrix(positions, positions, 3, 700, 1, measure);
    for (const [panel, corner] of layout.panels.entries()) {
      const x = corner.x + 2.5 * layout.cell;
      const y = corner.y + 7.5 * layout.cell;
      expect(hitMatrix(layout, x, y)).toEqual({ panel, row: 7, column: 2 });
    }
    expect(hitMatrix(layout, 1, 1)).toBeNull();
  });

  it("draws small matrices as shapes, large ones as an image, and thins labels", () => {
    const long = positionsOf(longText(512), 1, false);
    expect(isVector(layoutMatrix(positions, positions, 1, 700, 1, measure))).toBe(true);
    const large = layoutMatrix(long, long, 1, 700, 1, measure);
    expect(isVector(large)).toBe(false);
    expect(large.every * large.cell).toBeGreaterThanOrEqual(13);
    expect(large.width).toBeLessThanOrEqual(701);
  });

  it("places thumbnails so that a point inside a box is that head", () => {
    const layout = layoutOverview(48, 64, 16, 700, true);
    expect(layout.width).toBeLessThanOrEqual(700);
    const box = overviewBox(layout, 47, 63);
    expect(hitOverview(layout, box.x + box.width / 2, box.y + box.height / 2)).toEqual([47, 63]);
    expect(hitOverview(layout, 2, 2)).toBeNull();
  });

  it("keeps a bright point when thumbnails shrink", () => {
    const side = thumbnailSide(48, 64, 16);
    expect(side).toBeLessThan(16);
    const one = new Uint8Array(256);
    one[16 * 9 + 13] = 255;
    const small = shrunk(one, 1, 16, side);
    expect(Math.max(...Array.from(small))).toBe(255);
    expect(mosaic(small, 1, 1, side, 32).width).toBe(side + 1);
  });
});

describe("the store of maps", () => {
  const answer = (request: HeadMapRequest) => ({
    id: request.id,
    answer: "head_map" as const,
    map: attentionMap(request.head, ENGLISH, ENGLISH),
  });
  const wish = (index: number) => ({ view: "attention" as const, head: ["encoder", 0, index] as HeadRef });

  function opened() {
    const sent: HeadMapRequest[] = [];
    const store = new MapStore(
      (request) => sent.push(request),
      () => {},
      100,
    );
    store.load([], undefined, false, true);
    return { sent, store };
  }

  it("has one request in flight, and the newest wish follows", () => {
    const { sent, store } = opened();
    store.want([wish(1)]);
    store.want([wish(1), wish(2)]);
    store.want([wish(3)]);
    expect(sent.map(({ head }) => head[2])).toEqual([1]);
    const [first] = sent;
    if (first) store.receive(answer(first), undefined);
    expect(sent.map(({ head }) => head[2])).toEqual([1, 3]);
    expect(store.state(wish(1)).status).toBe("ready");
    expect(store.state(wish(3)).status).toBe("loading");
  });

  it("ignores answers to other numbers and answers for other positions", () => {
    const { sent, store } = opened();
    store.want([wish(1)]);
    const [first] = sent;
    if (!first) throw new Error("nothing was asked");
    expect(store.receive({ ...answer(first), id: 7 }, undefined)).toBe(false);
    store.load([], undefined, true, true);
    expect(store.receive(answer(first), undefined)).toBe(true);
    expect(store.state(wish(1)).status).toBe("loading");
  });

  it("says an error as a sentence and does not ask again by itself", () => {
    const { sent, store } = opened();
    store.want([wish(1)]);
    store.receive({ id: sent[0]?.id ?? 0, answer: "error", message: "The model is gone." }, undefined);
    store.want([wish(1)]);
    expect(sent).toHaveLength(1);
    expect(store.state(wish(1))).toEqual({ status: "error", message: "The model is gone." });
    store.retry();
    expect(sent).toHaveLength(2);
  });

  it("says after a while that the kernel may be gone", () => {
    vi.useFakeTimers();
    const { store } = opened();
    store.want([wish(1)]);
    vi.advanceTimersByTime(11_000);
    expect(store.state(wish(1))).toMatchObject({
      message: expect.stringContaining("kernel is busy, or gone"),
    });
    store.dispose();
    vi.useRealTimers();
  });

  it("says what is missing where no kernel answers", () => {
    const store = new MapStore(undefined, () => {});
    expect(store.state(wish(4))).toMatchObject({ status: "error", message: expect.stringContaining("L0H4") });
  });

  it("switches heads on and off, and never the last one off", () => {
    const two = toggled([["encoder", 0, 1]], ["encoder", 0, 2], true);
    expect(two).toHaveLength(2);
    expect(toggled(two, ["encoder", 0, 1], true)).toEqual([["encoder", 0, 2]]);
    expect(toggled([["encoder", 0, 1]], ["encoder", 0, 1], true)).toHaveLength(1);
    expect(toggled(two, ["encoder", 5, 5], false)).toEqual([["encoder", 5, 5]]);
  });
});
