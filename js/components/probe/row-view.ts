/** The chosen row, alive: its facts, all its heads to choose from, and example sentences with two arcs each. */

import { palette, type Theme } from "../../theme/palette.js";
import type { GridDocument, HeadRef, KindName } from "../../wire/types.js";
import type { Component } from "../component.js";
import { drawing, h, paint, say, set } from "../controls.js";
import { type GridProps, mount as mountGrid } from "../grid/mount.js";
import { answerText, drawExample, drawKey } from "./example.js";
import { gridOf, gridWidth } from "./heads.js";
import {
  type Example,
  exampleSentence,
  examplesOf,
  factsOf,
  hasExamples,
  headLabel,
  type ProbeData,
  rowName,
  type Shown,
  verdictText,
} from "./model.js";

export interface RowDetail {
  readonly element: HTMLElement;
  show(data: ProbeData, shown: Shown, selected: readonly HeadRef[], width: number, theme: Theme): void;
  destroy(): void;
}

const GAP = 20;
const LEAST = 340;

export function rowDetail(selected: (heads: readonly HeadRef[]) => void): RowDetail {
  const name = h("bdi", {});
  const heading = h("div", { class: "hw-heading", role: "status" }, name);
  const verdict = h("div", { class: "hw-probe-verdict" });
  const facts = h("div", { class: "hw-muted" });
  const aside = h("div", { class: "hw-aside" });
  const key = h("div", { class: "hw-picture", "aria-hidden": "true" });
  const list = h("ul", { class: "hw-examples" });
  const none = h("div", { class: "hw-muted" }, "No example sentences.");
  const main = h("div", { class: "hw-main" }, key, list, none);
  const split = h("div", { class: "hw-split" }, aside, main);
  const element = h("div", { class: "hw-probe-detail" }, heading, verdict, facts, split);
  let grid: Component<GridProps> | null = null;
  let gridded: { inputs: readonly unknown[]; document: GridDocument } | null = null;
  let kind: KindName | null = null;

  function showGrid(data: ProbeData, shown: Shown, heads: readonly HeadRef[], theme: Theme): void {
    const inputs = [data, shown.row];
    if (!gridded?.inputs.every((input, at) => Object.is(input, inputs[at]))) {
      const found = gridOf(data, shown.row, []);
      gridded = found && { inputs, document: found };
    }
    aside.hidden = !gridded;
    if (!gridded) return;
    const head = data.heads[shown.head];
    // The head on show leads; a tab that was chosen stays until another head is.
    const props = { document: gridded.document, theme, selected: heads, kind: kind ?? head?.[0] ?? null };
    if (grid) grid.update(props);
    else {
      grid = mountGrid(aside, props, {
        onSelect: (chosen) => {
          kind = null;
          selected(chosen);
        },
        onChoose: (choice) => {
          kind = choice.kind;
          grid?.update({ ...props, kind });
        },
      });
    }
  }

  let listed: readonly unknown[] = [];
  function showExamples(data: ProbeData, shown: Shown, width: number, theme: Theme): void {
    const inputs = [data, shown.row, shown.head, width, theme];
    if (inputs.every((input, at) => Object.is(input, listed[at])) && listed.length > 0) return;
    listed = inputs;
    const colors = palette(theme);
    const head = data.heads[shown.head];
    const label = head ? headLabel(head, data.kinds) : "";
    const examples = examplesOf(data, shown.row, shown.head);
    const legend = drawKey(width, colors, label, ["above the words", "below"]);
    paint(key, examples.length > 0 ? drawing(legend.width, legend.height, legend.svg) : "");
    none.hidden = examples.length > 0;
    list.hidden = examples.length === 0;
    list.replaceChildren(
      ...examples.map((example) => {
        const drawn = drawExample(example, width, colors, label !== "");
        const picture = h("div", { class: "hw-picture", "aria-hidden": "true" });
        paint(picture, drawing(drawn.width, drawn.height, drawn.svg));
        return itemOf(example, label, picture);
      }),
    );
  }

  function itemOf(example: Example, label: string, picture: HTMLElement): HTMLElement {
    const words = [label === "" ? "" : answerText(example), example.sentence.name]
      .filter(Boolean)
      .join(" \u00b7 ");
    const title = example.sentence.words.join(" ");
    const verdict = h("div", { class: "hw-verdict", "aria-hidden": "true", title }, h("bdi", {}, words));
    return h("li", {}, verdict, picture, h("span", { class: "hw-hidden" }, exampleSentence(example, label)));
  }

  return {
    element,
    show(data, shown, heads, width, theme) {
      const row = data.document.rows[shown.row];
      element.hidden = !row;
      if (!row) return;
      say(name, rowName(row));
      say(facts, factsOf(data, shown));
      say(verdict, verdictText(row));
      verdict.hidden = row.verdict === "";
      split.hidden = !hasExamples(data, shown.row);
      if (split.hidden) return;
      const wide = data.measuredIn(shown.row) ? gridWidth(data, width) : 0;
      const beside = wide > 0 && width - wide - GAP >= LEAST;
      set(element, "data-beside", beside);
      aside.style.width = beside ? `${wide}px` : "";
      showGrid(data, shown, heads, theme);
      showExamples(data, shown, Math.max(200, beside ? width - wide - GAP : width), theme);
    },
    destroy() {
      grid?.destroy();
    },
  };
}
