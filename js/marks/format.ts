/** Numbers for readers: a true minus sign, no needless digits. */

function minus(text: string): string {
  return text.replace(/^-/, "\u2212").replace("e-", "e\u2212").replace("e+", "e");
}

/** `value` with `digits` significant digits; very large and very small ones with an exponent. */
export function formatNumber(value: number, digits = 3): string {
  if (Number.isNaN(value)) return "not measured";
  if (!Number.isFinite(value)) return value > 0 ? "\u221e" : "\u2212\u221e";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e6 || size < 1e-4) return minus(value.toExponential(Math.max(0, digits - 1)));
  const decimals = Math.max(0, digits - 1 - Math.floor(Math.log10(size)));
  return minus(value.toFixed(Math.min(decimals, 12)));
}

/** `value` with as many decimals as a step of `step` needs. */
export function formatTick(value: number, step: number): string {
  if (Math.abs(value) < step * 1e-9) return "0";
  const largest = Math.abs(value);
  if (largest >= 1e6 || step < 1e-4) return minus(Number(value.toPrecision(6)).toExponential());
  const decimals = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  return minus(value.toFixed(decimals));
}

/** `value` and its standard error to the error's second digit, with the unit: "0.412 ± 0.018 nats". */
export function formatEstimate(value: number, stderr: number | null, unit = ""): string {
  const tail = unit ? ` ${unit}` : "";
  if (Number.isNaN(value)) return "not measured";
  if (stderr === null || !Number.isFinite(stderr) || stderr <= 0) return `${formatNumber(value)}${tail}`;
  const place = Math.floor(Math.log10(stderr));
  if (Math.abs(value) >= 1e6 || place < -6)
    return `${formatNumber(value)} \u00b1 ${formatNumber(stderr, 2)}${tail}`;
  const decimals = Math.max(0, Math.min(9, 1 - place));
  return `${minus(value.toFixed(decimals))} \u00b1 ${stderr.toFixed(decimals)}${tail}`;
}

/** 0.8315 as "83.2 %". */
export function formatPercent(value: number, decimals = 1): string {
  return Number.isNaN(value) ? "not measured" : `${minus((100 * value).toFixed(decimals))} %`;
}

/** "1 head", "3 heads". */
export function counted(n: number, one: string, many = `${one}s`): string {
  return `${n} ${n === 1 ? one : many}`;
}
