/** Colours for numbers. */

import { mix } from "../theme/colour.js";
import type { Palette } from "../theme/palette.js";

/** 256 colours from the first stop to the last. */
export function rampColours(stops: readonly string[]): readonly string[] {
  const out: string[] = [];
  for (let i = 0; i < 256; i++) {
    const at = (i / 255) * (stops.length - 1);
    const piece = Math.min(stops.length - 2, Math.floor(at));
    out.push(mix(stops[piece] ?? "#000000", stops[piece + 1] ?? "#000000", at - piece));
  }
  return out;
}

const cache = new Map<string, readonly string[]>();

function coloursOf(palette: Palette, signed: boolean): readonly string[] {
  const key = `${palette.name}${signed}`;
  let colours = cache.get(key);
  if (!colours) {
    colours = rampColours(signed ? palette.diverging : palette.sequential);
    cache.set(key, colours);
  }
  return colours;
}

export interface Ramp {
  readonly low: number;
  readonly high: number;
  readonly signed: boolean;
  /** 256 colours, low to high. */
  readonly colours: readonly string[];
  /** Index 0..255 of a finite value. */
  index(value: number): number;
  /** Colour of a finite value. */
  colour(value: number): string;
}

/** A ramp over [low, high]; a signed one is centred at 0. */
export function ramp(low: number, high: number, signed: boolean, palette: Palette): Ramp {
  const bound = Math.max(Math.abs(low), Math.abs(high)) || 1;
  const [from, to] = signed ? [-bound, bound] : [low, high];
  const colours = coloursOf(palette, signed);
  const index = (value: number) =>
    to > from ? Math.max(0, Math.min(255, Math.round((255 * (value - from)) / (to - from)))) : 128;
  return {
    low: from,
    high: to,
    signed,
    colours,
    index,
    colour: (value) => colours[index(value)] ?? palette.surface,
  };
}

/** Smallest and largest finite value; null when there is none. */
export function extent(values: ArrayLike<number>): readonly [number, number] | null {
  let low = Number.POSITIVE_INFINITY;
  let high = Number.NEGATIVE_INFINITY;
  for (let i = 0; i < values.length; i++) {
    const value = values[i] ?? Number.NaN;
    if (!Number.isFinite(value)) continue;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return low <= high ? [low, high] : null;
}

/**
 * The ramp for measured values: signed ones centred at 0, shares and other magnitudes from 0 where 0 is near
 * (the smallest value is below half the largest), else from the smallest value.
 */
export function rampFor(values: ArrayLike<number>, signed: boolean, palette: Palette): Ramp {
  const [low, high] = extent(values) ?? [0, 1];
  if (signed) return ramp(low, high, true, palette);
  return ramp(low >= 0 && low < high / 2 ? 0 : low, high, false, palette);
}
