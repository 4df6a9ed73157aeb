/** Token lists of the kinds that break drawings. */

import type { Token } from "../wire/types.js";

/** Tokens of a text written with spaces; `##x` is joined to the word before it, `[X]` and `<x>` are special. */
export function tokensOf(text: string): Token[] {
  return text.split(" ").map((piece) => {
    const joined = piece.startsWith("##");
    return {
      text: joined ? piece.slice(2) : piece,
      special: /^(\[[A-Z]+\]|<\/?[a-z]+>)$/.test(piece),
      continued: false,
      joined,
    };
  });
}

export const ENGLISH = tokensOf("[CLS] the film is not bad at all , just un ##convincing [SEP]");

export const HEBREW = tokensOf("[CLS] הסרט הזה לא היה רע בכלל , רק מעט ארוך ##ים מדי [SEP]");

export const HOSTILE: Token[] = [
  { text: "[CLS]", special: true, continued: false, joined: false },
  { text: "</script><img src=x onerror=alert(1)>", special: false, continued: false, joined: false },
  { text: `"'&<b>\u0000\u0007`, special: false, continued: false, joined: false },
  { text: "{{x}}", special: false, continued: false, joined: true },
  { text: "]]>", special: false, continued: false, joined: false },
  { text: "", special: false, continued: false, joined: false },
  { text: "[SEP]", special: true, continued: false, joined: false },
];

export const ONE: Token[] = [{ text: "Hello", special: false, continued: false, joined: false }];

export const LONG_TOKEN: Token[] = [
  ...tokensOf("[CLS] see"),
  {
    text: "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunter",
    special: false,
    continued: false,
    joined: false,
  },
  ...tokensOf("now [SEP]"),
];

/** An emoji over three byte tokens: the second and third share its character. */
export const CONTINUED: Token[] = [
  ...tokensOf("<s> good"),
  { text: "🙂", special: false, continued: false, joined: false },
  { text: "🙂", special: false, continued: true, joined: true },
  { text: "🙂", special: false, continued: true, joined: true },
  ...tokensOf("news </s>"),
];

/** `count` tokens of running text between [CLS] and [SEP]. */
export function longText(count: number): Token[] {
  const words =
    "the head looks at a token that is far away and another one near by , while most of them rest on the separator .".split(
      " ",
    );
  const tokens: Token[] = [];
  for (let at = 0; at < count; at += 1) {
    const end = at === 0 ? "[CLS]" : at === count - 1 ? "[SEP]" : undefined;
    tokens.push({
      text: end ?? words[at % words.length] ?? "",
      special: end !== undefined,
      continued: false,
      joined: false,
    });
  }
  return tokens;
}

export const FRENCH = tokensOf("<s> le film n' est pas mal du tout </s>");
