/**
 * How wide text is, without a browser: advance widths of Helvetica (Adobe's metrics, shared by Arial and
 * Liberation Sans), in thousandths of the font size, for the printable ASCII characters.
 */

// biome-ignore format: a table
const ASCII = [
  278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278,
  556, 556, 556, 556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556,
  1015, 667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833, 722, 778,
  667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469, 556,
  333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556,
  556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584,
];

function advance(code: number): number {
  if (code >= 32 && code < 127) return ASCII[code - 32] ?? 556;
  if (code < 32 || (code >= 0x300 && code < 0x370) || (code >= 0x200b && code <= 0x200f)) return 0;
  if (code >= 0xfe00 && code <= 0xfe0f) return 0; // variation selectors
  if (code < 0x250) return 600; // accented Latin
  if (code < 0x1100) return 640; // Greek, Cyrillic, Hebrew, Arabic, Indic
  if (code === 0x2026) return 1000;
  if (code >= 0x2010 && code < 0x2030) return code === 0x2014 ? 1000 : 556;
  return 1000; // CJK, symbols, emoji
}

/** Width in pixels of `text` at `size` pixels; bold is a little wider. */
export function measure(text: string, size: number, bold = false): number {
  let sum = 0;
  for (const character of text) sum += advance(character.codePointAt(0) ?? 0);
  return (sum / 1000) * size * (bold ? 1.09 : 1);
}

/** `text`, cut with an ellipsis where it would be wider than `width` pixels. */
export function fitText(text: string, size: number, width: number, bold = false): string {
  if (measure(text, size, bold) <= width) return text;
  const room = width - measure("\u2026", size, bold);
  let kept = "";
  let used = 0;
  for (const character of text) {
    used += measure(character, size, bold);
    if (used > room) break;
    kept += character;
  }
  return `${kept.trimEnd()}\u2026`;
}

/** `text` in lines of at most `width` pixels; words longer than a line are cut apart, the last line may end in an ellipsis. */
export function wrap(text: string, size: number, width: number, maxLines = 1000, bold = false): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(/\s+/).filter(Boolean)) {
    const longer = line ? `${line} ${word}` : word;
    if (measure(longer, size, bold) <= width) {
      line = longer;
      continue;
    }
    if (line) lines.push(line);
    line = "";
    for (const character of word) {
      if (line && measure(line + character, size, bold) > width) {
        lines.push(line);
        line = "";
      }
      line += character;
    }
  }
  if (line) lines.push(line);
  if (lines.length <= maxLines) return lines;
  const rest = lines.slice(maxLines - 1).join(" ");
  return [...lines.slice(0, maxLines - 1), fitText(rest, size, width, bold)];
}

const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff]/;

/** Whether a text is read from right to left: its first letter says so. */
export function rightToLeft(text: string): boolean {
  const letter = /\p{L}/u.exec(text);
  return letter !== null && RIGHT_TO_LEFT.test(letter[0]);
}
