// Tokens as running text, shaded by what they carry. The sign is in the number and in the underline too: solid
// supports the target, dashed opposes it.
import { type Ramp, ramp } from "../../marks/ramp.js";
import { el, escapeText, num, rect, text } from "../../marks/svg.js";
import { fitText, measure } from "../../marks/text.js";
import { type Palette, readableOn } from "../../theme/palette.js";
import { type TokenValues, withSign } from "./model.js";

const SIZE = 14;
const VALUE_SIZE = 10;
const WORD_GAP = 5;
/** Longer texts carry no numbers under their tokens; the read-out has them. */
const MOST_NUMBERS = 160;

export interface StripBox {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
  readonly at: number;
}

export interface StripLayout {
  readonly boxes: readonly StripBox[];
  readonly width: number;
  readonly height: number;
  readonly numbers: boolean;
  readonly scale: Ramp;
  readonly mirrored: boolean;
}

/** Flow the tokens into lines of `width` pixels, from the right for right-to-left text. */
export function layoutStrip(
  tokens: TokenValues,
  width: number,
  mirrored: boolean,
  palette: Palette,
): StripLayout {
  const numbers = tokens.positions.length <= MOST_NUMBERS;
  const height = numbers ? 39 : 26;
  const most = tokens.values.reduce(
    (size, value) => (Number.isFinite(value) ? Math.max(size, Math.abs(value)) : size),
    0,
  );
  const boxes: StripBox[] = [];
  let x = 0;
  let y = 0;
  tokens.positions.forEach((position, at) => {
    const value = tokens.values[at] ?? Number.NaN;
    const label = measure(position.label, SIZE) + 10;
    const number = numbers ? measure(short(value, most), VALUE_SIZE) + 6 : 0;
    const wide = Math.min(width, Math.max(16, Math.ceil(Math.max(label, number))));
    const gap = x === 0 ? 0 : position.joined ? 1 : WORD_GAP;
    if (x + gap + wide > width && x > 0) {
      x = 0;
      y += height + 6;
    } else x += gap;
    boxes.push({ x: mirrored ? width - x - wide : x, y, width: wide, height, at });
    x += wide;
  });
  return {
    boxes,
    width,
    height: y + height,
    numbers,
    scale: ramp(-most, most, true, palette),
    mirrored,
  };
}

/** A value beside a largest of `most`: the numbers of a strip have the same decimals, and what rounds to nothing is 0. */
export function short(value: number, most: number): string {
  if (!Number.isFinite(value)) return "–";
  if (most >= 1e6 || (most > 0 && most < 1e-4)) return withSign(value, 2);
  const decimals = most > 0 ? Math.max(0, 2 - Math.floor(Math.log10(most))) : 0;
  const text = Math.abs(value).toFixed(decimals);
  return Number(text) === 0 ? "0" : `${value > 0 ? "+" : "−"}${text}`;
}

/** The token under a point. */
export function hitStrip(layout: StripLayout, x: number, y: number): number | null {
  for (const box of layout.boxes) {
    if (x >= box.x && x < box.x + box.width && y >= box.y && y < box.y + box.height) return box.at;
  }
  return null;
}

/** The shaded tokens. */
export function drawStrip(layout: StripLayout, tokens: TokenValues, palette: Palette): string {
  const bound = layout.scale.high;
  const parts: string[] = [];
  for (const box of layout.boxes) {
    const position = tokens.positions[box.at];
    const value = tokens.values[box.at] ?? Number.NaN;
    if (position === undefined) continue;
    const known = Number.isFinite(value);
    const fill = known ? layout.scale.colour(value) : palette.surface;
    const ink = known ? readableOn(fill) : palette.muted;
    const shown = fitText(position.label, SIZE, box.width - 8);
    const middle = box.x + box.width / 2;
    const marks = [
      rect(box.x, box.y, box.width, 25, {
        fill,
        rx: 2,
        stroke: known ? undefined : palette.line,
        "stroke-dasharray": known ? undefined : "2 2",
      }),
      text(middle, box.y + 17, shown, { size: SIZE, fill: ink, anchor: "middle", italic: position.special }),
    ];
    if (position.continued) {
      marks.push(
        el("path", {
          d: `M${num(box.x + 2)} ${num(box.y + 3)}v5h4`,
          fill: "none",
          stroke: ink,
          "stroke-width": 1.2,
        }),
      );
    }
    if (known && bound > 0 && Math.abs(value) >= 0.05 * bound) {
      marks.push(
        el("path", {
          d: `M${num(box.x + 3)} ${num(box.y + 22)}H${num(box.x + box.width - 3)}`,
          stroke: ink,
          "stroke-width": 1.6,
          "stroke-dasharray": value < 0 ? "3 2.5" : undefined,
        }),
      );
    }
    if (layout.numbers) {
      marks.push(
        text(middle, box.y + 36, short(value, bound), {
          size: VALUE_SIZE,
          fill: palette.muted,
          anchor: "middle",
        }),
      );
    }
    if (shown !== position.label) marks.push(`<title>${escapeText(position.label)}</title>`);
    parts.push(el("g", {}, ...marks));
  }
  return parts.join("");
}

/** What a token carries, for a read-out. */
export function describeToken(tokens: TokenValues, at: number, unit: string, target: string): string {
  const position = tokens.positions[at];
  const value = tokens.values[at] ?? Number.NaN;
  if (position === undefined) return "";
  const name = `“${position.label}” (position ${position.first})`;
  if (!Number.isFinite(value)) return `${name}: not measured`;
  const goal = target === "" ? "the output" : `“${target}”`;
  const effect = value === 0 ? "" : value > 0 ? `, supports ${goal}` : `, opposes ${goal}`;
  const verb = tokens.side === "received" ? "links to it carry" : "links from it carry";
  return `${name}: ${verb} ${withSign(value)}${unit === "" ? "" : ` ${unit}`}${effect}`;
}
