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

/** Two characters for every 12 bits, made when first needed. */
let pairs: string[] = [];

/** A base64 text of bytes. */
export function toBase64(bytes: Uint8Array): string {
  if (pairs.length === 0)
    pairs = Array.from({ length: 4096 }, (_, i) => ALPHABET.charAt(i >> 6) + ALPHABET.charAt(i & 63));
  const whole = bytes.length - (bytes.length % 3);
  let text = "";
  for (let i = 0; i < whole; i += 3) {
    const [a, b, c] = [bytes[i] as number, bytes[i + 1] as number, bytes[i + 2] as number];
    text += (pairs[(a << 4) | (b >> 4)] as string) + pairs[((b & 15) << 8) | c];
  }
  if (whole === bytes.length) return text;
  const [a, b] = [bytes[whole] as number, bytes[whole + 1]];
  if (b === undefined) return `${text}${pairs[a << 4]}==`;
  return `${text}${pairs[(a << 4) | (b >> 4)]}${ALPHABET.charAt((b & 15) << 2)}=`;
}
