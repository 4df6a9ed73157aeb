// All heads of a kind as thumbnails, to choose one from: a layers x heads mosaic in one image.

/** Where the thumbnails stand. */
export interface OverviewLayout {
  readonly width: number;
  readonly height: number;
  readonly layers: number;
  readonly heads: number;
  /** Top left corner of the first cell, and the distance between cells. */
  readonly x: number;
  readonly y: number;
  readonly pitch: number;
  /** Side of a cell without its gap. */
  readonly side: number;
}

const LEFT = 34;
const TOP = 34;

/**
 * Place layers x heads thumbnails of `t` x `t` points. Points are whole pixels, so a wide model may be wider than
 * `width` (a live host scrolls); with `shrink` everything fits.
 */
export function layoutOverview(
  layers: number,
  heads: number,
  t: number,
  width: number,
  shrink: boolean,
): OverviewLayout {
  const room = Math.max(60, width - LEFT - 4);
  const fit = room / Math.max(1, heads);
  const step = Math.max(1, t) + 1;
  const scale = Math.max(1, Math.floor((2 * Math.min(34, fit)) / step) / 2);
  const whole = Math.max(scale * step, 14);
  const pitch = shrink ? Math.min(whole, fit) : whole;
  return {
    width: LEFT + heads * pitch + 4,
    height: TOP + layers * pitch + 4,
    layers,
    heads,
    x: LEFT,
    y: TOP,
    pitch,
    side: (pitch * (step - 1)) / step,
  };
}

/** The head under a point as `[layer, index]`, null outside. */
export function hitOverview(layout: OverviewLayout, x: number, y: number): readonly [number, number] | null {
  const index = Math.floor((x - layout.x) / layout.pitch);
  const layer = Math.floor((y - layout.y) / layout.pitch);
  if (index < 0 || layer < 0 || index >= layout.heads || layer >= layout.layers) return null;
  return [layer, index];
}

/** Where a head's thumbnail is. */
export function overviewBox(
  layout: OverviewLayout,
  layer: number,
  index: number,
): { readonly x: number; readonly y: number; readonly width: number; readonly height: number } {
  return {
    x: layout.x + index * layout.pitch,
    y: layout.y + layer * layout.pitch,
    width: layout.side,
    height: layout.side,
  };
}

/** Most pixels of a mosaic; beyond it thumbnails are shrunk. */
const MOST_PIXELS = 120_000;

/** Side of a thumbnail as it is drawn: `t`, or less where a model has very many heads. */
export function thumbnailSide(layers: number, heads: number, t: number): number {
  return Math.max(1, Math.min(t, Math.max(4, Math.floor(Math.sqrt(MOST_PIXELS / (layers * heads))) - 1)));
}

/** `[layers, heads, t, t]` shrunk to `side`, keeping the largest value of what falls together. */
export function shrunk(values: ArrayLike<number>, count: number, t: number, side: number): ArrayLike<number> {
  if (side >= t) return values;
  const result = new Uint8Array(count * side * side);
  for (let head = 0; head < count; head += 1) {
    for (let row = 0; row < t; row += 1) {
      const to = (head * side + Math.floor((row * side) / t)) * side;
      for (let column = 0; column < t; column += 1) {
        const at = to + Math.floor((column * side) / t);
        result[at] = Math.max(result[at] ?? 0, values[(head * t + row) * t + column] ?? 0);
      }
    }
  }
  return result;
}

/**
 * Colour numbers of the mosaic, row-major: the thumbnails with one empty (0) row and column after each; values
 * 0..255 become 1..`levels`.
 */
export function mosaic(
  thumbnails: ArrayLike<number>,
  layers: number,
  heads: number,
  t: number,
  levels: number,
): { readonly pixels: Uint8Array; readonly width: number; readonly height: number } {
  const step = t + 1;
  const width = heads * step;
  const height = layers * step;
  const pixels = new Uint8Array(width * height);
  for (let layer = 0; layer < layers; layer += 1) {
    for (let head = 0; head < heads; head += 1) {
      for (let row = 0; row < t; row += 1) {
        for (let column = 0; column < t; column += 1) {
          const value = thumbnails[((layer * heads + head) * t + row) * t + column] ?? 0;
          pixels[(layer * step + row) * width + head * step + column] =
            1 + Math.min(levels - 1, Math.floor((value / 256) * levels));
        }
      }
    }
  }
  return { pixels, width, height };
}

/** Every how many layers or heads a number is written. */
export function numbersEvery(pitch: number): number {
  return pitch >= 15 ? 1 : Math.ceil(18 / pitch);
}
