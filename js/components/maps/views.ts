// The three views of a head's map: what each is called, what its numbers are, and which of them a document can show.

import type { MapView } from "../../marks/picture.js";
import type { AttentionDocument, AttributionDocument, HeadMap } from "../../wire/types.js";
import { type Choice, choice, type Option } from "../controls.js";
import type { MapValues } from "./head-map.js";
import type { MapsInput } from "./pictures.js";

export type View = HeadMap["view"];

interface Meaning {
  /** On the toggle, and before a head's name. */
  readonly label: string;
  /** At the beginning of a title. */
  readonly title: string;
  /** What a number is; of a whole layer (index -1). */
  readonly quantity: string;
  readonly layer: string;
  /** One sentence for who asks. */
  readonly hint: string;
}

const MEANINGS: Readonly<Record<View, Meaning>> = {
  attention: {
    label: "Attention",
    title: "Attention",
    quantity: "attention weight",
    layer: "attention weight, summed over heads",
    hint: "Where each token looks: attention weights.",
  },
  norm: {
    label: "Norm",
    title: "Norm-based attention",
    quantity: "norm of the weighted vector",
    layer: "norm of the weighted vectors, added over heads",
    hint: "How large a vector each weight carries: a large weight may carry little.",
  },
  attribution: {
    label: "Attribution",
    title: "Attribution",
    quantity: "attribution",
    layer: "attribution",
    hint: "What each link adds to the model's output.",
  },
};

const ORDER: readonly View[] = ["attention", "norm", "attribution"];

/** A view's name, as on the toggle. */
export function labelOf(view: View): string {
  return MEANINGS[view].label;
}

/** The views whose maps are drawn. */
export function viewsIn(view: MapView): readonly View[] {
  return view === "both" ? ["attribution", "attention"] : [view];
}

/** A document's title, with what is on show in place of what it was made for. */
export function titleOf(document: AttentionDocument, view: View): string {
  return document.title.replace(/^Attention\b/, MEANINGS[view].title);
}

/** What a reader must know about a view besides its legend. */
export function viewNotes(maps: readonly MapValues[]): string[] {
  const [first] = maps;
  if (first?.view === "norm" && first.head[2] < 0)
    return [
      "Norm: the length of what all heads together carry from a token; their weighted vectors are added first.",
    ];
  if (first?.view === "norm") {
    const ends = maps.some((map) => map.top !== undefined);
    const scale = ends ? " The scale ends at the largest of the layer's heads." : "";
    return [
      `Norm: the attention weight times the length of the vector it carries through the output projection.${scale}`,
    ];
  }
  if (first?.view !== "attribution" || !first.about) return [];
  return [`Attribution to the ${first.about}: positive links support it, negative ones oppose it.`];
}

/** Maps of one view over their positions, ready to be drawn; `unit` is of attribution where the map has none. */
export function viewInput(
  maps: readonly MapValues[],
  view: View,
  unit: string,
  rest: Pick<MapsInput, "names" | "query" | "key" | "palette" | "width">,
): MapsInput {
  const [first] = maps;
  const meaning = MEANINGS[view];
  const signed = view === "attribution";
  const quantity = first !== undefined && first.head[2] < 0 ? meaning.layer : meaning.quantity;
  return { ...rest, maps, signed, quantity, unit: signed ? (first?.unit ?? unit) : "" };
}

/** The toggle's options; those that cannot be shown say why. Without a kernel only maps that were sent can be. */
export function viewOptions(
  document: Pick<AttentionDocument | AttributionDocument, "maps" | "lacking">,
  live: boolean,
  both: boolean,
): Option[] {
  const reason = (view: View): string =>
    document.lacking?.[view] ??
    (live || document.maps.length === 0 || document.maps.some((map) => map.view === view)
      ? ""
      : "Not in this file; a running kernel can make it.");
  const options = ORDER.map((view): Option => [view, labelOf(view), MEANINGS[view].hint, reason(view)]);
  if (both)
    options.push([
      "both",
      "Both",
      "Attribution and attention side by side.",
      reason("attribution") || reason("attention"),
    ]);
  return options;
}

/** The toggle itself, the same in every view of a text. */
export function viewChoice(
  signal: AbortSignal,
  chosen: (view: MapView) => void,
  refused: (why: string) => void,
): Choice {
  return choice("What the maps show", signal, (value) => chosen(value as MapView), refused);
}
