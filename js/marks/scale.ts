/** From data to pixels. */

export interface Scale {
  (value: number): number;
  readonly domain: readonly [number, number];
  readonly range: readonly [number, number];
  /** The data value at a pixel. */
  invert(pixel: number): number;
}

export function linearScale(domain: readonly [number, number], range: readonly [number, number]): Scale {
  const span = domain[1] - domain[0] || 1;
  const slope = (range[1] - range[0]) / span;
  const scale = (value: number) => range[0] + (value - domain[0]) * slope;
  return Object.assign(scale, {
    domain,
    range,
    invert: (pixel: number) => domain[0] + (pixel - range[0]) / (slope || 1),
  });
}

/** A step of 1, 2 or 5 times a power of ten that cuts `span` into about `count` pieces. */
export function niceStep(span: number, count: number): number {
  if (!(span > 0) || !Number.isFinite(span)) return 1;
  const raw = span / Math.max(1, count);
  const power = 10 ** Math.floor(Math.log10(raw));
  const lead = raw / power;
  return power * (lead < 1.5 ? 1 : lead < 3.5 ? 2 : lead < 7.5 ? 5 : 10);
}

export interface Ticks {
  readonly values: readonly number[];
  readonly step: number;
}

/** Round values inside [low, high]. */
export function niceTicks(low: number, high: number, count = 5): Ticks {
  if (!(high > low)) return { values: [low], step: Math.abs(low) || 1 };
  const step = niceStep(high - low, count);
  const first = Math.ceil(low / step - 1e-9);
  const last = Math.floor(high / step + 1e-9);
  const values: number[] = [];
  for (let i = first; i <= last; i++) values.push(Number((i * step).toPrecision(12)));
  return { values, step };
}

/** Indices to label along a band axis, so that labels at least `room` pixels wide do not collide. */
export function bandLabels(count: number, pitch: number, room: number): number[] {
  const steps = [1, 2, 4, 5, 8, 10, 16, 20, 32, 50, 64, 100, 128, 200, 256, 500];
  const step = steps.find((candidate) => candidate * pitch >= room) ?? count;
  const out: number[] = [];
  for (let i = 0; i < count; i += step) out.push(i);
  return out;
}
