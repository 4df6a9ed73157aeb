/** Probe documents of the kinds that break drawings; every number in them is counted from the sentences below. */

import type {
  HeadRef,
  IntervalData,
  ProbeArc,
  ProbeDocument,
  ProbeRow,
  ProbeSentence,
  ProbeTree,
} from "../wire/types.js";
import { generator, packed } from "./views.js";

interface Parsed {
  readonly sentence: ProbeSentence;
  readonly heads: readonly number[];
  readonly relations: readonly string[];
}

/** `word/head/relation`, heads from 1 (0 is the root); `##` in front of a word: no space before it. */
function parsed(text: string, name: string): Parsed {
  const cells = text.split(" ").map((cell) => {
    const parts = cell.split("/");
    return { word: parts.slice(0, -2).join("/"), head: parts.at(-2), relation: parts.at(-1) ?? "" };
  });
  return {
    sentence: {
      words: cells.map(({ word }) => word.replace(/^##/, "")),
      glued: cells.map(({ word }) => word.startsWith("##")),
      name,
    },
    heads: cells.map(({ head }) => Number(head) - 1),
    relations: cells.map(({ relation }) => relation),
  };
}

const ENGLISH = [
  "The/2/det dog/3/nsubj chased/0/root a/6/det small/6/amod cat/3/obj into/9/case the/9/det garden/3/obl ##./3/punct",
  "She/2/nsubj wrote/0/root two/5/nummod long/5/amod letters/2/obj to/9/case her/9/nmod:poss old/9/amod teacher/2/obl ##./2/punct",
  "Yesterday/4/advmod the/3/det committee/4/nsubj rejected/0/root the/6/det plan/4/obj that/8/nsubj came/6/acl:relcl from/11/case our/11/nmod:poss office/8/obl ##./4/punct",
  "Birds/2/nsubj sing/0/root ##./2/punct",
  "The/3/det quick/3/amod editor/4/nsubj found/0/root a/7/det serious/7/amod mistake/4/obj in/10/case the/10/det report/7/nmod ##,/4/punct but/15/cc nobody/15/nsubj had/15/aux noticed/4/conj it/15/obj ##./4/punct",
].map((text, at) => parsed(text, `en ${at + 1}`));

const HEBREW = [
  "\u05d4\u05db\u05dc\u05d1/2/nsubj \u05e8\u05d3\u05e3/0/root \u05d0\u05d7\u05e8\u05d9/4/case \u05d4\u05d7\u05ea\u05d5\u05dc/2/obl \u05d1\u05d2\u05d9\u05e0\u05d4/2/obl ##./2/punct",
  "\u05d4\u05d9\u05d0/2/nsubj \u05db\u05ea\u05d1\u05d4/0/root \u05de\u05db\u05ea\u05d1/2/obj \u05d0\u05e8\u05d5\u05da/3/amod \u05dc\u05de\u05d5\u05e8\u05d4/2/obl \u05e9\u05dc\u05d4/5/nmod:poss ##./2/punct",
].map((text, at) => parsed(text, `he ${at + 1}`));

const HOSTILE = [
  `</script><img/2/nsubj src=x/0/root "'&<b>/2/obj Donaudampfschifffahrtselektrizit\u00e4tenhauptbetriebswerkbauunterbeamtengesellschaft/3/compound \u0000\u0007/2/obj {{x}}/2/<td><b>`,
].map((text) => parsed(text, "</b>"));

/** A sentence of `count` words, each under the word before it or under one far to the left. */
function long(count: number): Parsed {
  const random = generator(count);
  const words = "the head of this clause looks back at a word that stands very far away from it".split(" ");
  const cells = Array.from({ length: count }, (_, at) => {
    const head = at === 0 ? 0 : random() < 0.75 ? at : 1 + Math.floor(random() * at);
    return `${words[at % words.length]}/${head}/${at === 0 ? "root" : random() < 0.3 ? "nsubj" : "obj"}`;
  });
  return parsed(cells.join(" "), `${count} words`);
}

/** Wilson's interval at 95 %. */
function wilson(right: number, n: number): IntervalData {
  if (n === 0) return { value: -1, low: 0, high: 1 };
  const z = 1.96;
  const p = right / n;
  const centre = (p + (z * z) / (2 * n)) / (1 + (z * z) / n);
  const half = (z * Math.sqrt((p * (1 - p)) / n + (z * z) / (4 * n * n))) / (1 + (z * z) / n);
  return { value: p, low: Math.max(0, centre - half), high: Math.min(1, centre + half) };
}

/** The word that a head points at: some heads look at a fixed offset, some often at the annotated word. */
function pointer(
  [, layer, index]: HeadRef,
  text: Parsed,
  source: number,
  target: number,
  copy: number,
): number {
  const random = generator(copy * 40009 + layer * 977 + index * 71 + source * 7 + text.sentence.words.length);
  const count = text.sentence.words.length;
  const within = (at: number): number => Math.max(0, Math.min(count - 1, at));
  if ((layer + index) % 4 === 0) return within(source + 1);
  if ((layer + index) % 4 === 1) return within(source - 1);
  return random() < 0.25 + 0.08 * layer ? target : Math.floor(random() * count);
}

function arcsOf(texts: readonly Parsed[], relation: string, down: boolean): ProbeArc[] {
  return texts.flatMap((text, sentence) =>
    text.heads.flatMap((head, at) => {
      if (head < 0 || text.relations[at] !== relation) return [];
      return [{ sentence, source: [down ? head : at], target: [down ? at : head] }];
    }),
  );
}

/** Every sentence counts as so many; heads that look by chance look elsewhere in each. */
const COPIES = 12;

const BASE = {
  schema: 1,
  document: "probe",
  title: "Which head finds which relation?",
  measure: "accuracy",
  trees: [],
  scores: [],
  shown: 0,
  head: null,
  selected: [],
  note: "Heads were chosen on one half of the sentences and are reported on the other.",
  provenance: null,
} as const;

interface Options {
  readonly layers?: number;
  readonly heads?: number;
  readonly kinds?: readonly HeadRef[0][];
  readonly shown?: number;
  readonly most?: number;
}

/** Heads over the relations of `texts`, both directions. */
export function probeDocument(texts: readonly Parsed[] = ENGLISH, options: Options = {}): ProbeDocument {
  const { layers = 6, heads: width = 8, kinds = ["encoder"], shown = 0, most = 6 } = options;
  const heads = kinds.flatMap((kind) =>
    Array.from({ length: layers * width }, (_, at): HeadRef => [kind, Math.floor(at / width), at % width]),
  );
  const codes = heads.flatMap(([kind, layer, index]) => [
    ["encoder", "decoder", "cross"].indexOf(kind),
    layer,
    index,
  ]);
  const names = [...new Set(texts.flatMap(({ relations }) => relations))]
    .filter((name) => name !== "root")
    .sort();
  const arcs: ProbeArc[] = [];
  const table: number[] = [];
  const predicted: number[] = [];
  const rows = names.flatMap((relation) => [false, true].map((down) => rowOf(relation, down)));

  function rowOf(relation: string, down: boolean): ProbeRow {
    const own = arcsOf(texts, relation, down);
    const n = own.length * COPIES;
    const pointed = (arc: ProbeArc, head: HeadRef, copy = 0): number => {
      const text = texts[arc.sentence];
      return text ? pointer(head, text, arc.source[0] ?? 0, arc.target[0] ?? 0, copy) : -1;
    };
    const copies = Array.from({ length: COPIES }, (_, copy) => copy);
    const right = heads.map((head) =>
      copies.reduce(
        (sum, copy) => sum + own.filter((arc) => arc.target.includes(pointed(arc, head, copy))).length,
        0,
      ),
    );
    const best = right.indexOf(Math.max(...right));
    const offsets = own.map((arc) => (arc.target[0] ?? 0) - (arc.source[0] ?? 0));
    const counts = new Map<number, number>();
    for (const one of offsets) counts.set(one, (counts.get(one) ?? 0) + 1);
    const [offset, hits] = [...counts].sort((a, b) => b[1] - a[1])[0] ?? [0, 0];
    table.push(...right.map((count) => count / n));
    const first = arcs.length;
    for (const arc of own.slice(0, most)) {
      arcs.push(arc);
      predicted.push(...heads.map((head) => pointed(arc, head)));
    }
    const accuracy = wilson(right[best] ?? 0, n);
    const strong = Math.min(1, hits / own.length + 0.1);
    const good = accuracy.low > strong;
    return {
      relation,
      direction: down ? "head to dependent" : "dependent to head",
      n,
      best: heads[best] ?? null,
      accuracy,
      baseline: hits / own.length,
      offset,
      strongest: "own offset profile",
      strongest_accuracy: strong,
      verdict: n < 20 ? "too few instances" : good ? "above every baseline" : "not above every baseline",
      verdict_good: good && n >= 20,
      arcs: own.slice(0, most).map((_, at) => first + at),
    };
  }

  return {
    ...BASE,
    heads: packed(Int32Array.from(codes), [heads.length, 3]),
    rows,
    table: packed(Float32Array.from(table), [rows.length, heads.length]),
    sentences: texts.map(({ sentence }) => sentence),
    arcs,
    predicted: packed(Int32Array.from(predicted), [arcs.length, heads.length]),
    shown,
  };
}

/** A trained probe: scores, rows by relation, trees. */
export function trainedDocument(texts: readonly Parsed[] = ENGLISH): ProbeDocument {
  const random = generator(3);
  const trees = texts.map((text, sentence): ProbeTree => {
    const predicted = text.heads.map((head) => {
      if (random() < 0.7) return head;
      const other = Math.floor(random() * text.heads.length);
      return random() < 0.1 ? -1 : other;
    });
    return { sentence, gold: [...text.heads], predicted, relations: [...text.relations] };
  });
  const names = [...new Set(texts.flatMap(({ relations }) => relations))].sort();
  const rows = names.map((relation): ProbeRow => {
    const cells = trees.flatMap((tree) =>
      tree.relations.flatMap((name, at) =>
        name === relation ? [[tree.gold[at] === tree.predicted[at], tree.gold[at] === at + 1]] : [],
      ),
    );
    return {
      relation,
      direction: "",
      n: cells.length,
      best: null,
      accuracy: wilson(cells.filter(([right]) => right).length, cells.length),
      baseline: cells.filter(([, branching]) => branching).length / cells.length,
      offset: 1,
      strongest: "",
      strongest_accuracy: -1,
      verdict: "",
      verdict_good: false,
      arcs: [],
    };
  });
  const empty = packed(new Float32Array(0), [rows.length, 0]);
  return {
    ...BASE,
    title: "Attention-only probe",
    measure: "UAS",
    heads: packed(new Int32Array(0), [0, 3]),
    rows,
    table: empty,
    sentences: texts.map(({ sentence }) => sentence),
    arcs: [],
    predicted: packed(new Int32Array(0), [0, 0]),
    trees,
    scores: [
      { name: "attention and embeddings", accuracy: wilson(7610, 10000), control: false },
      { name: "distance only, same embeddings", accuracy: wilson(5820, 10000), control: true },
      { name: "random weights", accuracy: wilson(4130, 10000), control: true },
      { name: "right-branching", accuracy: wilson(2640, 10000), control: true },
    ],
    shown: -1,
    note: "Trained on 800 sentences, three seeds.",
  };
}

/** Spans, several targets, a head that points at itself and one that points nowhere. */
export function spansDocument(): ProbeDocument {
  const text = parsed(
    "The/2/det bakery/9/nsubj in/5/case our/5/nmod:poss street/2/nmod ,/9/punct it/9/nsubj has/9/aux closed/0/root because/13/mark the/12/det oven/13/nsubj broke/9/advcl ##,/13/punct they/16/nsubj say/9/parataxis ##./9/punct",
    "a bakery",
  );
  const arcs: ProbeArc[] = [
    { sentence: 0, source: [10, 11], target: [0, 1] },
    { sentence: 0, source: [14], target: [1, 6] },
    { sentence: 0, source: [6], target: [1] },
  ];
  const row: ProbeRow = {
    relation: "Cause-Effect(e1,e2)",
    direction: "e2 to e1",
    n: 3,
    best: ["encoder", 0, 1],
    accuracy: wilson(2, 3),
    baseline: 1 / 3,
    offset: -5,
    strongest: "nearest noun",
    strongest_accuracy: 2 / 3,
    verdict: "too few instances",
    verdict_good: false,
    arcs: [0, 1, 2],
  };
  return {
    ...BASE,
    title: "Which head links the two entities?",
    heads: packed(Int32Array.from([0, 0, 0, 0, 0, 1]), [2, 3]),
    rows: [row],
    table: packed(Float32Array.from([0, 2 / 3]), [1, 2]),
    sentences: [text.sentence],
    arcs,
    predicted: packed(Int32Array.from([11, 1, -1, 6, 6, 4]), [3, 2]),
    note: "",
  };
}

export const PROBES: Readonly<Record<string, () => ProbeDocument>> = {
  probe: () => probeDocument(),
  "probe-144": () => probeDocument([...ENGLISH, long(60)], { layers: 12, heads: 12, shown: 20 }),
  "probe-large": () => probeDocument(ENGLISH, { layers: 32, heads: 32, shown: 13, most: 3 }),
  "probe-kinds": () =>
    probeDocument(ENGLISH, { layers: 4, heads: 4, kinds: ["encoder", "decoder"], shown: 3 }),
  "probe-hebrew": () => probeDocument(HEBREW, { shown: 4 }),
  "probe-hostile": () => ({
    ...probeDocument(HOSTILE, { layers: 2, heads: 3 }),
    title: "</script><img src=x>",
  }),
  "probe-spans": spansDocument,
  "probe-trained": () => trainedDocument(),
  "probe-trained-row": () => ({ ...trainedDocument(), shown: 6, tree: 4 }),
  "probe-trained-hebrew": () => trainedDocument(HEBREW),
  "probe-trained-long": () => trainedDocument([long(45), ...ENGLISH]),
  "probe-trained-hostile": () => trainedDocument(HOSTILE),
};
