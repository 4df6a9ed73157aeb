/** Triggers of the kinds that break tables: many classes, long words, right to left, hostile text. */

import type { ArrayRef, TriggerExample, TriggerRow, TriggersDocument, TriggerToken } from "../wire/types.js";
import { packed } from "./views.js";

const HOSTILE = "</script><img src=x onerror=alert(1)>";

function word(text: string, place: number, segment = 0): TriggerToken {
  return { text, ids: [1], segment, place };
}

function example(
  text: string,
  inserted: readonly number[],
  before: string,
  after: string,
  second = -1,
): TriggerExample {
  return { parts: text.split("|"), inserted: [...inserted], second, label: before, before, after };
}

function row(
  tokens: TriggerToken[],
  found_in: string,
  score: number,
  changed: number,
  more: Partial<TriggerRow> = {},
): TriggerRow {
  const other = found_in === "positive" ? "negative" : "positive";
  const moved =
    changed > 4
      ? [
          { label: found_in, n: changed - 4 },
          { label: other, n: 4 },
        ]
      : [];
  return {
    tokens,
    score,
    support: 1 + tokens.length,
    found_in,
    changed,
    skipped: 0,
    moved,
    examples: [],
    ...more,
  };
}

/** Numbers of a document whose rows take `falls[row][class]` (all texts first) from 0.9. */
function numbers(falls: readonly (readonly number[])[], n: number): { counts: ArrayRef; outcomes: ArrayRef } {
  const columns = falls[0]?.length ?? 1;
  const counts = falls.flatMap((row) => row.map((_, at) => (at === 0 ? n : Math.round(n / (columns - 1)))));
  const outcomes = falls.flatMap((row) =>
    row.flatMap((fall) => {
      const around = (value: number, by: number) => [
        value,
        Math.max(-1, value - by),
        Math.min(1, value + by),
      ];
      return [
        around(0.9, 0.02),
        around(0.9 - fall, 0.03),
        around(-fall, 0.025),
        around(0.88, 0.03),
        around(0.87, 0.04),
      ].flat();
    }),
  );
  return {
    counts: packed(Int32Array.from(counts), [falls.length, columns]),
    outcomes: packed(Float32Array.from(outcomes), [falls.length, columns, 5, 3]),
  };
}

const base = {
  schema: 1,
  document: "triggers",
  title: "Triggers under test",
  unit: "probability",
  pairs: false,
  draws: 20,
  selected: -1,
  sort: "",
  searched: 500,
  skipped: 3,
  note: "",
  provenance: null,
} as const;

/** Two classes, after an attack. */
export function triggersDocument(): TriggersDocument {
  const rows = [
    row([word("joyless", 0.22), word("dull", 0.5)], "negative", 0.286, 257, {
      examples: [
        example(
          "a quiet story that|joyless|grows on you and|dull|never lets go",
          [1, 3],
          "positive",
          "negative",
        ),
        example("the best hour of the year|joyless|,|dull|by far", [1, 3], "positive", "negative"),
      ],
    }),
    row([word("but", 0.1), word("n't", 0.4), word("appeals", 0.96)], "negative", 0.12, 243),
    row([word("stage", 0.05), word("showcases", 0.23)], "positive", 0.0434, 81),
    row([word("film", 0.27)], "positive", 0.0722, 2),
  ];
  const falls = [
    [0.2, -0.07, 0.47],
    [0.21, 0, 0.41],
    [0.045, 0.14, -0.05],
    [-0.003, 0.004, -0.01],
  ];
  return {
    ...base,
    classes: ["negative", "positive"],
    rows,
    ...numbers(falls, 872),
    note: "Of 4 triggers the best looks better than it is: the best of as many random ones takes up to 3.2 points (97.5 % of 20 draws).",
    selected: 0,
  };
}

/** Before an attack, pairs. */
export function triggersFound(): TriggersDocument {
  const rows = [
    row([word("floods", 0.3), word("ice", 0.8, 1)], "contradiction", 0.41, 0),
    row([word("nobody", 0.1, 1)], "contradiction", 0.37, 0),
    row([word("sleeping", 0.66), word("awake", 0.7, 1), word("outside", 1, 1)], "neutral", 0.002, 0),
  ];
  return {
    ...base,
    title: "Triggers",
    classes: [],
    pairs: true,
    rows,
    counts: null,
    outcomes: null,
    draws: 0,
  };
}

/** Nineteen classes with long names. */
export function triggersMany(): TriggersDocument {
  const classes = Array.from({ length: 19 }, (_, i) => `Relation-Number-${i}(e1,e2)`);
  const rows = Array.from({ length: 40 }, (_, i) =>
    row([word(`word${i}`, (i % 10) / 10), word("caused", 0.9)], classes[i % 19] ?? "", 0.5 / (i + 1), 3 * i),
  );
  const falls = rows.map((_, i) => [0.02 * (i % 9), ...classes.map((_, c) => ((i + c) % 11) * 0.05)]);
  return { ...base, classes, rows, ...numbers(falls, 2717), selected: 5, sort: "-score" };
}

/** Long words, right to left, and text that would be markup elsewhere. */
export function triggersHostile(): TriggersDocument {
  const long = "Donaudampfschifffahrtselektrizit\u00e4tenhauptbetriebswerkbauunter";
  const rows = [
    row([word(HOSTILE, 0.5), word(long, 0.7), word(`"'&<b>\u0000`, 1)], HOSTILE, 0.2, 12, {
      examples: [
        example(`see|${HOSTILE}|and|${long}|now`, [1, 3], HOSTILE, "positive"),
        example(
          "\u05d4\u05e1\u05e8\u05d8 \u05d4\u05d6\u05d4|\u05e8\u05e2|\u05dc\u05d0 \u05d4\u05d9\u05d4 \u05d0\u05e8\u05d5\u05da \u05de\u05d3\u05d9",
          [1],
          "positive",
          HOSTILE,
        ),
      ],
    }),
    row([word("\u05e8\u05e2", 0.4), word("\u05d0\u05e8\u05d5\u05da", 0.9)], "positive", 0.1, 30),
  ];
  return {
    ...base,
    title: HOSTILE,
    classes: [HOSTILE, "positive"],
    rows,
    ...numbers(
      [
        [0.1, 0.2, 0],
        [0.3, 0.4, 0.1],
      ],
      100,
    ),
    selected: 0,
  };
}
