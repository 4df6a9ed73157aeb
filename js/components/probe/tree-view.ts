/** One tree, alive: the sentence is chosen from a list, a word's arcs stand out under pointer, finger or focus. */

import { palette, type Theme } from "../../theme/palette.js";
import { drawing, h, menu, on, paint, say, set, size } from "../controls.js";
import { drawKey } from "./example.js";
import { type ProbeData, rightWords, type Shown, wordSentence, wordsIn } from "./model.js";
import { drawTree, type TreeDrawn } from "./tree.js";

export interface TreeView {
  readonly element: HTMLElement;
  show(data: ProbeData, shown: Shown, width: number, theme: Theme): void;
}

const SHORT = 48;

export function treeView(signal: AbortSignal, chosen: (tree: number) => void): TreeView {
  const list = menu("sentence", signal, (label) => chosen(Number.parseInt(label, 10) - 1));
  const back = h(
    "button",
    { type: "button", "aria-label": "sentence before", title: "sentence before" },
    "\u2039",
  );
  const next = h(
    "button",
    { type: "button", "aria-label": "next sentence", title: "next sentence" },
    "\u203a",
  );
  const counted = h("span", { class: "hw-muted" });
  const bar = h("div", { class: "hw-bar" }, list.element, back, next, counted);
  const key = h("div", { class: "hw-picture", "aria-hidden": "true" });
  const picture = h("div", { class: "hw-picture", "aria-hidden": "true" });
  const words = h("div", {
    class: "hw-cells hw-words-of-tree",
    role: "listbox",
    "aria-label": "words of the sentence",
  });
  const stage = h("div", { class: "hw-stage" }, picture, words);
  const readout = h("div", { class: "hw-readout", "aria-hidden": "true" });
  const element = h(
    "div",
    { class: "hw-probe-tree" },
    bar,
    key,
    h("div", { class: "hw-scroll" }, stage),
    readout,
  );

  let last: { data: ProbeData; shown: Shown; width: number; theme: Theme } | null = null;
  let current = 0;
  let hovered = -1;

  function paintTree(): TreeDrawn | null {
    if (!last) return null;
    const { data, shown, width, theme } = last;
    const tree = data.document.trees[shown.tree];
    const sentence = tree && data.document.sentences[tree.sentence];
    if (!tree || !sentence) return null;
    const focused = words.querySelector(":focus") ? current : -1;
    const one = hovered >= 0 ? hovered : focused;
    const focus = one >= 0 ? new Set([one]) : wordsIn(data, shown.tree, shown.row);
    const drawn = drawTree(sentence, tree, width, palette(theme), focus);
    paint(picture, drawing(drawn.width, drawn.height, drawn.svg));
    size(stage, drawn.width, drawn.height);
    say(readout, one >= 0 ? wordSentence(sentence, tree, one) : "");
    return drawn;
  }

  function show(data: ProbeData, shown: Shown, width: number, theme: Theme): void {
    const fresh = last?.data !== data || last.shown.tree !== shown.tree;
    last = { data, shown, width, theme };
    const { trees, sentences } = data.document;
    const tree = trees[shown.tree];
    const sentence = tree && sentences[tree.sentence];
    element.hidden = !sentence;
    if (!tree || !sentence) return;
    if (fresh) {
      current = 0;
      hovered = -1;
    }
    const labels = trees.map((one, at) => {
      const text = (sentences[one.sentence]?.words ?? []).join(" ");
      const shortened = text.length > SHORT ? `${[...text].slice(0, SHORT).join("")}\u2026` : text;
      return `${at + 1}. \u2068${shortened}\u2069`; // isolated: the number stays in front whichever way it is read
    });
    list.show(labels, labels[shown.tree] ?? "", true);
    set(back, "disabled", shown.tree === 0);
    set(next, "disabled", shown.tree === trees.length - 1);
    const [right, all] = rightWords(tree);
    say(counted, [sentence.name, `${right} of ${all} words have the right head`].filter(Boolean).join(": "));
    const drawn = paintTree();
    const sides: [string, string] = drawn?.column
      ? ["left of the words", "right"]
      : ["above the words", "below"];
    const legend = drawKey(width, palette(theme), "predicted", sides);
    paint(key, drawing(legend.width, legend.height, legend.svg));
    const boxes = drawn?.boxes ?? [];
    if (fresh || words.children.length !== boxes.length) {
      words.replaceChildren(
        ...boxes.map((_, at) => h("div", { class: "hw-cell", role: "option", "data-at": at })),
      );
    }
    set(words, "aria-orientation", drawn?.column ? "vertical" : "horizontal");
    boxes.forEach(([x, y, wide, high], at) => {
      const cell = words.children[at];
      if (!cell) return;
      set(cell, "style", `left:${x}px;top:${y}px;width:${wide}px;height:${high}px`);
      set(cell, "aria-label", wordSentence(sentence, tree, at));
      set(cell, "aria-selected", "false");
      set(cell, "tabindex", at === current ? 0 : -1);
    });
  }

  function focus(at: number): void {
    const cells = [...words.children] as HTMLElement[];
    current = Math.max(0, Math.min(cells.length - 1, at));
    cells.forEach((cell, i) => {
      set(cell, "tabindex", i === current ? 0 : -1);
    });
    cells[current]?.focus();
  }

  const cellOf = (event: Event): number => {
    const cell = event.target instanceof Element ? event.target.closest<HTMLElement>(".hw-cell") : null;
    return cell ? Number(cell.dataset.at) : -1;
  };
  const hover = (at: number): void => {
    if (at === hovered) return;
    hovered = at;
    paintTree();
  };
  on(words, "pointerover", (event) => event.pointerType !== "touch" && hover(cellOf(event)), signal);
  on(words, "pointerleave", () => hover(-1), signal);
  on(words, "click", (event) => cellOf(event) >= 0 && focus(cellOf(event)), signal);
  for (const name of ["focusin", "focusout"] as const) {
    // Once the focus has arrived where it goes.
    on(words, name, () => queueMicrotask(() => !signal.aborted && paintTree()), signal);
  }
  on(
    words,
    "keydown",
    (event) => {
      if (event.altKey || event.ctrlKey || event.metaKey) return;
      const tree = last?.data.document.trees[last.shown.tree];
      const sentence = tree && last?.data.document.sentences[tree.sentence];
      if (!tree || !sentence) return;
      const boxes = [...words.children] as HTMLElement[];
      // Left and right are those of the eye: a sentence may be read from the right.
      const mirrored =
        boxes.length > 1 &&
        Number.parseFloat(boxes[0]?.style.left ?? "0") > Number.parseFloat(boxes[1]?.style.left ?? "0");
      const side = mirrored ? -1 : 1;
      const moves: Readonly<Record<string, number>> = {
        ArrowRight: current + side,
        ArrowLeft: current - side,
        ArrowDown: current + 1,
        ArrowUp: current - 1,
        Home: 0,
        End: boxes.length - 1,
      };
      const to = moves[event.key];
      if (to === undefined) return;
      focus(to);
      event.preventDefault();
    },
    signal,
  );
  const move = (by: number): void => {
    const at = (last?.shown.tree ?? 0) + by;
    if (last && at >= 0 && at < last.data.document.trees.length) chosen(at);
  };
  on(back, "click", () => move(-1), signal);
  on(next, "click", () => move(1), signal);
  return { element, show };
}
