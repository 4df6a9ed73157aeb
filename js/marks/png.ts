/** A PNG encoder in plain ECMAScript for indexed pictures: LZ77 with fixed Huffman codes, no library, no DOM. */

import { parseColour } from "../theme/colour.js";
import { toBase64 } from "../wire/base64.js";
import { el } from "./svg.js";

export interface IndexedImage {
  readonly width: number;
  readonly height: number;
  /** At most 256 colours, `#rrggbb`. */
  readonly colours: readonly string[];
  /** One index per pixel, row-major. */
  readonly pixels: Uint8Array;
}

class Bits {
  private bytes = new Uint8Array(1024);
  private length = 0;
  private held = 0;
  private count = 0;

  byte(value: number): void {
    if (this.length === this.bytes.length) {
      const larger = new Uint8Array(2 * this.length);
      larger.set(this.bytes);
      this.bytes = larger;
    }
    this.bytes[this.length++] = value & 255;
  }

  /** `size` bits, least significant first. */
  write(value: number, size: number): void {
    this.held |= value << this.count;
    this.count += size;
    while (this.count >= 8) {
      this.byte(this.held);
      this.held >>>= 8;
      this.count -= 8;
    }
  }

  /** A Huffman code: most significant bit first. */
  code(value: number, size: number): void {
    for (let bit = size - 1; bit >= 0; bit--) this.write((value >> bit) & 1, 1);
  }

  done(): Uint8Array {
    if (this.count > 0) this.byte(this.held);
    this.held = 0;
    this.count = 0;
    return this.bytes.slice(0, this.length);
  }
}

function literal(bits: Bits, symbol: number): void {
  if (symbol < 144) bits.code(0x30 + symbol, 8);
  else if (symbol < 256) bits.code(0x190 + symbol - 144, 9);
  else if (symbol < 280) bits.code(symbol - 256, 7);
  else bits.code(0xc0 + symbol - 280, 8);
}

/** First value and number of extra bits of every length code (257 on) and distance code (0 on): RFC 1951, 3.2.5. */
const LENGTHS: (readonly [number, number])[] = [];
const DISTANCES: (readonly [number, number])[] = [];
for (let i = 0, at = 3; i < 28; i++) {
  const extra = i < 8 ? 0 : (i >> 2) - 1;
  LENGTHS.push([at, extra]);
  at += 1 << extra;
}
LENGTHS.push([258, 0]);
for (let i = 0, at = 1; i < 30; i++) {
  const extra = i < 4 ? 0 : (i >> 1) - 1;
  DISTANCES.push([at, extra]);
  at += 1 << extra;
}

function codeFor(table: readonly (readonly [number, number])[], value: number): number {
  let low = 0;
  let high = table.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((table[middle]?.[0] ?? 0) <= value) low = middle;
    else high = middle - 1;
  }
  return low;
}

function match(bits: Bits, length: number, distance: number): void {
  const l = codeFor(LENGTHS, length);
  const [lengthBase, lengthExtra] = LENGTHS[l] ?? [0, 0];
  literal(bits, 257 + l);
  bits.write(length - lengthBase, lengthExtra);
  const d = codeFor(DISTANCES, distance);
  const [distanceBase, distanceExtra] = DISTANCES[d] ?? [0, 0];
  bits.code(d, 5);
  bits.write(distance - distanceBase, distanceExtra);
}

/** A zlib stream (RFC 1950) of one block; exported for its test. */
export function deflate(data: Uint8Array): Uint8Array {
  const bits = new Bits();
  bits.byte(0x78);
  bits.byte(0x01);
  bits.write(1, 1);
  bits.write(1, 2);
  const heads = new Int32Array(1 << 15).fill(-1);
  let at = 0;
  while (at < data.length) {
    let length = 0;
    let from = -1;
    if (at + 3 <= data.length) {
      const key = (((data[at] ?? 0) << 10) ^ ((data[at + 1] ?? 0) << 5) ^ (data[at + 2] ?? 0)) & 0x7fff;
      from = heads[key] ?? -1;
      heads[key] = at;
      if (from >= 0 && at - from <= 32768)
        while (length < 258 && at + length < data.length && data[from + length] === data[at + length])
          length++;
    }
    if (length >= 3) {
      match(bits, length, at - from);
      at += length;
    } else literal(bits, data[at++] ?? 0);
  }
  literal(bits, 256);
  const body = bits.done();
  let a = 1;
  let b = 0;
  for (let i = 0; i < data.length; i++) {
    a = (a + (data[i] ?? 0)) % 65521;
    b = (b + a) % 65521;
  }
  const out = new Uint8Array(body.length + 4);
  out.set(body);
  out.set([b >> 8, b & 255, a >> 8, a & 255], body.length);
  return out;
}

const CRC = new Uint32Array(256);
for (let i = 0; i < 256; i++) {
  let c = i;
  for (let bit = 0; bit < 8; bit++) c = c & 1 ? 0xedb88320 ^ (c >>> 1) : c >>> 1;
  CRC[i] = c >>> 0;
}

function chunk(type: string, data: Uint8Array): Uint8Array {
  const out = new Uint8Array(data.length + 12);
  const view = new DataView(out.buffer);
  view.setUint32(0, data.length);
  for (let i = 0; i < 4; i++) out[4 + i] = type.charCodeAt(i);
  out.set(data, 8);
  let crc = 0xffffffff;
  for (let i = 4; i < out.length - 4; i++) crc = (CRC[(crc ^ (out[i] ?? 0)) & 255] ?? 0) ^ (crc >>> 8);
  view.setUint32(out.length - 4, (crc ^ 0xffffffff) >>> 0);
  return out;
}

/** The bytes of a PNG file. */
export function encodePng({ width, height, colours, pixels }: IndexedImage): Uint8Array {
  if (pixels.length !== width * height)
    throw new Error(`an image of ${width} x ${height} has ${width * height} pixels, got ${pixels.length}`);
  if (colours.length < 1 || colours.length > 256)
    throw new Error(`an indexed image has 1 to 256 colours, got ${colours.length}`);
  const header = new Uint8Array(13);
  const view = new DataView(header.buffer);
  view.setUint32(0, width);
  view.setUint32(4, height);
  header.set([8, 3, 0, 0, 0], 8);
  const table = new Uint8Array(3 * colours.length);
  colours.forEach((colour, i) => {
    table.set(parseColour(colour), 3 * i);
  });
  const rows = new Uint8Array(height * (width + 1));
  for (let y = 0; y < height; y++) rows.set(pixels.subarray(y * width, (y + 1) * width), y * (width + 1) + 1);
  const parts = [
    new Uint8Array([137, 80, 78, 71, 13, 10, 26, 10]),
    chunk("IHDR", header),
    chunk("PLTE", table),
    chunk("IDAT", deflate(rows)),
    chunk("IEND", new Uint8Array(0)),
  ];
  const out = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    out.set(part, at);
    at += part.length;
  }
  return out;
}

/** `image` with every pixel repeated `factor` times both ways, so that viewers which smooth keep its cells crisp. */
export function enlarge(image: IndexedImage, factor: number): IndexedImage {
  if (factor <= 1) return image;
  const width = image.width * factor;
  const pixels = new Uint8Array(width * image.height * factor);
  for (let y = 0; y < image.height; y++) {
    const start = y * factor * width;
    for (let x = 0; x < image.width; x++)
      pixels.fill(image.pixels[y * image.width + x] ?? 0, start + x * factor, start + (x + 1) * factor);
    for (let copy = 1; copy < factor; copy++) pixels.copyWithin(start + copy * width, start, start + width);
  }
  return { ...image, width, height: image.height * factor, pixels };
}

/** The image as one SVG element that fills the box, cells kept crisp. */
export function imageMark(
  image: IndexedImage,
  x: number,
  y: number,
  width: number,
  height: number,
  factor = Math.max(1, Math.min(8, Math.floor(800 / Math.max(image.width, image.height)))),
): string {
  return el("image", {
    x,
    y,
    width,
    height,
    preserveAspectRatio: "none",
    style: "image-rendering:pixelated",
    href: `data:image/png;base64,${toBase64(encodePng(enlarge(image, factor)))}`,
  });
}
