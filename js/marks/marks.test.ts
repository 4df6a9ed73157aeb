import { inflateSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { contrast } from "../theme/colour.js";
import { DARK, LIGHT, readableOn } from "../theme/palette.js";
import { formatEstimate, formatNumber, formatTick } from "./format.js";
import { hatch } from "./hatch.js";
import { legend } from "./legend.js";
import { deflate, encodePng, enlarge } from "./png.js";
import { ramp, rampFor } from "./ramp.js";
import { bandLabels, linearScale, niceTicks } from "./scale.js";
import { el, escapeText, num } from "./svg.js";
import { fitText, measure, wrap } from "./text.js";

describe("text becomes text", () => {
  it("escapes everything that could start markup or leave an attribute", () => {
    expect(escapeText(`</script><img src=x onerror="a" b='c'>&`)).toBe(
      "&lt;/script&gt;&lt;img src=x onerror=&quot;a&quot; b=&#39;c&#39;&gt;&amp;",
    );
  });
  it("replaces what XML cannot hold and keeps emoji", () => {
    expect(escapeText("a\u0000b\u001bc\ud800d😀\udc00")).toBe("a\ufffdb\ufffdc\ufffdd😀\ufffd");
  });
  it("escapes attributes", () => {
    expect(el("g", { "aria-label": `"><x` })).toBe(`<g aria-label="&quot;&gt;&lt;x"/>`);
  });
  it("refuses coordinates that are no numbers", () => {
    expect(() => num(Number.NaN)).toThrow(/finite/);
    expect(num(-0.001)).toBe("0");
    expect(num(10)).toBe("10");
    expect(num(100.5)).toBe("100.5");
  });
});

describe("text has a width", () => {
  it("knows Helvetica", () => {
    expect(measure("Wi", 1000)).toBe(944 + 222);
    expect(measure("漢", 10)).toBe(10);
    expect(measure("e\u0301", 1000)).toBe(556);
  });
  it("cuts to the width with an ellipsis and never inside a surrogate pair", () => {
    const cut = fitText("😀😀😀😀", 10, 32);
    expect(cut).toBe("😀😀…");
    expect(measure(cut, 10)).toBeLessThanOrEqual(32);
    expect(fitText("short", 10, 300)).toBe("short");
  });
  it("wraps, breaks long words and ends in an ellipsis", () => {
    const lines = wrap("the quick brown foxxxxxxxxxxxxxxxxxxxxxxxxxxx jumps", 10, 60, 3);
    expect(lines).toHaveLength(3);
    for (const line of lines) expect(measure(line, 10)).toBeLessThanOrEqual(60);
    expect(lines[2]?.endsWith("…")).toBe(true);
    expect(wrap("", 10, 60)).toEqual([]);
  });
});

describe("numbers for readers", () => {
  it("keeps three significant digits and a true minus", () => {
    expect(formatNumber(0.41234)).toBe("0.412");
    expect(formatNumber(-12.345)).toBe("−12.3");
    expect(formatNumber(1234567)).toBe("1.23e6");
    expect(formatNumber(0.00001234)).toBe("1.23e−5");
    expect(formatNumber(Number.NaN)).toBe("not measured");
    expect(formatNumber(0)).toBe("0");
  });
  it("shows the error to its second digit", () => {
    expect(formatEstimate(0.41234, 0.0181, "nats")).toBe("0.412 ± 0.018 nats");
    expect(formatEstimate(12.3, 4, "")).toBe("12.3 ± 4.0");
    expect(formatEstimate(0.5, null)).toBe("0.500");
  });
  it("labels ticks with the digits of their step", () => {
    expect(formatTick(0.30000000000000004, 0.1)).toBe("0.3");
    expect(formatTick(-0.25, 0.05)).toBe("−0.25");
    expect(formatTick(20, 20)).toBe("20");
    expect(formatTick(1e-17, 0.1)).toBe("0");
  });
});

describe("scales", () => {
  it("goes there and back", () => {
    const scale = linearScale([0, 10], [100, 0]);
    expect(scale(2)).toBe(80);
    expect(scale.invert(80)).toBe(2);
  });
  it("ticks are round and inside", () => {
    expect(niceTicks(0, 1, 5).values).toEqual([0, 0.2, 0.4, 0.6, 0.8, 1]);
    expect(niceTicks(-0.3, 0.31, 5).values).toEqual([-0.3, -0.2, -0.1, 0, 0.1, 0.2, 0.3]);
    expect(niceTicks(2, 2).values).toEqual([2]);
  });
  it("thins band labels where they would collide", () => {
    expect(bandLabels(12, 20, 15)).toHaveLength(12);
    expect(bandLabels(64, 8, 15)).toEqual(Array.from({ length: 32 }, (_, i) => 2 * i));
  });
});

describe("palettes", () => {
  for (const palette of [LIGHT, DARK]) {
    it(`${palette.name}: text and marks can be told from the surface`, () => {
      expect(contrast(palette.ink, palette.surface)).toBeGreaterThan(10);
      for (const text of [palette.muted, palette.danger, ...palette.series])
        expect(contrast(text, palette.surface)).toBeGreaterThan(4.5);
      for (const mark of [palette.line, palette.selected, palette.pruned])
        expect(contrast(mark, palette.surface)).toBeGreaterThan(3);
    });
    it(`${palette.name}: the sequential ramp changes lightness in one direction, the diverging one from its middle`, () => {
      const away = (colour: string) => contrast(colour, palette.surface);
      const sequential = ramp(0, 1, false, palette).colours.map(away);
      for (let i = 8; i < 256; i++)
        expect(sequential[i] ?? 0).toBeGreaterThan((sequential[i - 8] ?? 0) - 1e-6);
      const diverging = ramp(-1, 1, true, palette).colours.map(away);
      for (let i = 8; i < 128; i += 8) {
        expect(diverging[128 - i] ?? 0).toBeGreaterThan(diverging[128 - i + 8] ?? 0);
        expect(diverging[127 + i] ?? 0).toBeGreaterThan(diverging[127 + i - 8] ?? 0);
      }
    });
    it(`${palette.name}: every ramp colour has ink that can be read on it`, () => {
      for (const colour of [...ramp(0, 1, false, palette).colours, ...ramp(-1, 1, true, palette).colours])
        expect(contrast(readableOn(colour), colour)).toBeGreaterThan(4.2);
    });
    it(`${palette.name}: positive and negative differ for red-green blindness (in blue)`, () => {
      const blue = (colour: string) => Number.parseInt(colour.slice(5), 16);
      const { colours } = ramp(-1, 1, true, palette);
      for (const step of [40, 80, 110])
        expect(blue(colours[128 + step] ?? "") - blue(colours[127 - step] ?? "")).toBeGreaterThan(40);
    });
  }
});

describe("ramps", () => {
  it("centres signed values at 0 and starts magnitudes at 0 where 0 is near", () => {
    expect(rampFor([-1, 3], true, LIGHT)).toMatchObject({ low: -3, high: 3 });
    expect(rampFor([0.1, 0.9, Number.NaN], false, LIGHT)).toMatchObject({ low: 0, high: 0.9 });
    expect(rampFor([80, 90], false, LIGHT)).toMatchObject({ low: 80, high: 90 });
    expect(rampFor([Number.NaN], false, LIGHT)).toMatchObject({ low: 0, high: 1 });
    expect(rampFor([-1, 3], true, LIGHT).index(0)).toBe(128);
  });
});

describe("hatching", () => {
  it("stays inside its box", () => {
    const numbers = hatch([[10, 20, 8, 5]], "#000000").match(/[ML]([\d.]+) ([\d.]+)/g) ?? [];
    expect(numbers.length).toBeGreaterThan(2);
    for (const point of numbers) {
      const [x, y] = point.slice(1).split(" ").map(Number);
      expect(x).toBeGreaterThanOrEqual(10);
      expect(x).toBeLessThanOrEqual(18);
      expect(y).toBeGreaterThanOrEqual(20);
      expect(y).toBeLessThanOrEqual(25);
    }
  });
});

describe("PNG", () => {
  it("is deflated so that zlib reads it back", () => {
    let seed = 1;
    const random = () => {
      seed = (seed * 16807) % 2147483647;
      return seed;
    };
    for (const size of [0, 1, 2, 3, 300, 5000, 100000]) {
      const noise = Uint8Array.from({ length: size }, () => random() & 255);
      expect(Uint8Array.from(inflateSync(deflate(noise)))).toEqual(noise);
      const runs = Uint8Array.from({ length: size }, (_, i) => (i / 700) & 255);
      const packed = deflate(runs);
      expect(Uint8Array.from(inflateSync(packed))).toEqual(runs);
      if (size === 100000) expect(packed.length).toBeLessThan(2500);
    }
  });
  it("has the chunks of an indexed image and grows in whole pixels", () => {
    const small = { width: 2, height: 2, colours: ["#000000", "#ff0000"], pixels: Uint8Array.of(0, 1, 1, 0) };
    const large = enlarge(small, 3);
    expect(large.width).toBe(6);
    expect([...large.pixels.subarray(0, 6)]).toEqual([0, 0, 0, 1, 1, 1]);
    expect([...large.pixels.subarray(18, 24)]).toEqual([1, 1, 1, 0, 0, 0]);
    const png = encodePng(large);
    expect([...png.subarray(0, 4)]).toEqual([137, 80, 78, 71]);
    expect(new TextDecoder("latin1").decode(png)).toMatch(/IHDR.*PLTE.*IDAT.*IEND/s);
    expect(() => encodePng({ ...small, pixels: new Uint8Array(3) })).toThrow(/4 pixels, got 3/);
  });
});

describe("legend", () => {
  it("labels both sides of zero alike, also where labels are wide", () => {
    for (const most of [0.0142, 0.021, 1.29, 4.8, 123]) {
      const svg = legend(0, 0, ramp(-most, most, true, LIGHT), { title: "t", palette: LIGHT, width: 200 });
      const labels = [...svg.matchAll(/>(\u2212?)([\d.]+)</g)];
      const side = (sign: string) =>
        labels.filter((one) => one[1] === sign && Number(one[2]) > 0).map((one) => one[2]);
      expect(side("\u2212").reverse()).toEqual(side(""));
      expect(side("").length).toBeGreaterThan(0);
    }
  });
});
