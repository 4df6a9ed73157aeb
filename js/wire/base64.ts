/** Base64 both ways with ECMAScript built-ins alone (no atob: the figure engine has none). */

const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

const VALUES = new Uint8Array(128).fill(255);
for (let i = 0; i < 64; i++) VALUES[ALPHABET.charCodeAt(i)] = i;

/** Bytes of a base64 text; line breaks are allowed (notebook files have them). */
export function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  const clean = /\s/.test(text) ? text.replace(/\s+/g, "") : text;
  const padding = clean.endsWith("==") ? 2 : clean.endsWith("=") ? 1 : 0;
  if (clean.length % 4 !== 0) throw new Error(`base64 comes in groups of 4 characters, got ${clean.length}`);
  const bytes = new Uint8Array((clean.length / 4) * 3 - padding);
  const digits = clean.length - padding;
  let at = 0;
  let held = 0;
  let bits = 0;
  for (let i = 0; i < digits; i++) {
    const value = VALUES[clean.charCodeAt(i)] ?? 255;
    if (value === 255) throw new Error(`"${clean[i]}" at ${i} is no base64 character`);
    held = ((held << 6) | value) & 0xffffff;
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      bytes[at++] = (held >> bits) & 255;
    }
  }
  return bytes;
}

export function toBase64(bytes: Uint8Array): string {
  const parts: string[] = [];
  for (let i = 0; i < bytes.length; i += 3) {
    const [a, b, c] = [bytes[i] ?? 0, bytes[i + 1] ?? 0, bytes[i + 2] ?? 0];
    parts.push(
      ALPHABET.charAt(a >> 2),
      ALPHABET.charAt(((a & 3) << 4) | (b >> 4)),
      i + 1 < bytes.length ? ALPHABET.charAt(((b & 15) << 2) | (c >> 6)) : "=",
      i + 2 < bytes.length ? ALPHABET.charAt(c & 63) : "=",
    );
  }
  return parts.join("");
}
