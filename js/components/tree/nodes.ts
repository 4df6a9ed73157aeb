/** Nodes of a tree as things to point at and to walk through: role tree, arrow keys, what is under the pointer. */

import { el } from "../../marks/svg.js";
import type { Palette } from "../../theme/palette.js";
import type { TreeDocument } from "../../wire/types.js";
import { h, on, set } from "../controls.js";
import { edgePath, edgePoints, nodeMark, type TreeView, thickness } from "./draw.js";
import { edgeSentence, nodeSentence } from "./model.js";

const NEAR = 9;
const NEAR_TOUCH = 20;
const TARGET = 18;

export interface NodesEvents {
  told(text: string, spoken: boolean): void;
  chosen(edge: number[]): void;
  /** Another node is under the pointer or the cursor. */
  focused(): void;
}

export interface NodesInput {
  readonly document: TreeDocument;
  readonly view: TreeView;
  readonly label: string;
  readonly chosen: readonly number[];
}

export interface Nodes {
  readonly element: HTMLElement;
  update(input: NodesInput): void;
  /** Index of the node pointed at, or of the one with the focus; -1 for none. */
  current(): number;
}

export function mountNodes(signal: AbortSignal, events: NodesEvents): Nodes {
  const element = h("div", { class: "hw-cells hw-nodes", role: "tree" });
  let input: NodesInput | null = null;
  let children: number[][] = [];
  let hovered = -1;
  let tieHovered = "";
  let focus = 0;
  let focused = false;

  const items = (): HTMLElement[] => [...element.children] as HTMLElement[];

  function sentence(index: number): string {
    const node = input?.view.nodes[index];
    if (input === null || node === undefined) return "";
    return nodeSentence(input.document, input.view.positions, node, children[index]?.length ?? 0);
  }

  function moveTo(index: number): void {
    const item = items()[index];
    if (item === undefined) return;
    focus = index;
    for (const [at, one] of items().entries()) set(one, "tabindex", at === index ? 0 : -1);
    item.focus();
  }

  /** Nearest node or line within reach: the index of the node, -1 for none. */
  function at(x: number, y: number, reach: number): number {
    if (input === null) return -1;
    const { layout } = input.view;
    let best = reach;
    let found = -1;
    layout.nodes.forEach((to, index) => {
      const near = Math.hypot(to.x - x, to.y - y) - 3;
      if (near < best) [best, found] = [near, index];
    });
    if (found >= 0 && best < 6) return found;
    layout.nodes.forEach((to, index) => {
      const from = layout.nodes[to.node.parent];
      if (from === undefined) return;
      for (const [px, py] of edgePoints(from, to)) {
        const near = Math.hypot(px - x, py - y);
        if (near < best) [best, found] = [near, index];
      }
    });
    return found;
  }

  /** A dashed tie of the root under the pointer, in words. */
  function tieAt(x: number, y: number, reach: number): string {
    if (input === null) return "";
    const { view, document } = input;
    const placed = new Map(view.layout.nodes.map((one) => [one.node.position, one]));
    for (const tie of view.ties) {
      const [from, to] = [placed.get(tie.query), placed.get(tie.key)];
      if (from === undefined || to === undefined) continue;
      if (edgePoints(from, to).some(([px, py]) => Math.hypot(px - x, py - y) < reach))
        return edgeSentence(document, view.positions, tie);
    }
    return "";
  }

  function point(event: PointerEvent | MouseEvent, reach: number): number {
    const box = element.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    const index = at(x, y, reach);
    tieHovered = index < 0 ? tieAt(x, y, reach) : "";
    return index;
  }

  function hover(index: number): void {
    const text = index >= 0 ? sentence(index) : tieHovered;
    events.told(text === "" && focused ? sentence(focus) : text, false);
    if (index === hovered) return;
    hovered = index;
    events.focused();
  }

  function choose(index: number): void {
    const edge = input?.view.nodes[index]?.edge;
    if (input === null || !edge) return;
    const wanted = [edge.layer, edge.query, edge.key];
    events.chosen(wanted.join() === input.chosen.join() ? [] : wanted);
  }

  on(element, "pointermove", (event) => hover(point(event, NEAR)), signal);
  on(
    element,
    "pointerleave",
    () => {
      tieHovered = "";
      hover(-1);
    },
    signal,
  );
  on(
    element,
    "click",
    (event) => {
      const touch = event instanceof PointerEvent && event.pointerType === "touch";
      const index = point(event, touch ? NEAR_TOUCH : NEAR);
      if (index < 0) return;
      moveTo(index);
      hover(index);
      choose(index);
    },
    signal,
  );
  on(
    element,
    "focusin",
    (event) => {
      const index = items().indexOf(event.target as HTMLElement);
      if (index < 0) return;
      focus = index;
      focused = true;
      events.told(sentence(index), false);
      events.focused();
    },
    signal,
  );
  on(
    element,
    "focusout",
    () => {
      focused = false;
      events.focused();
    },
    signal,
  );
  on(
    element,
    "keydown",
    (event) => {
      const view = input?.view;
      const node = view?.nodes[focus];
      if (view === undefined || node === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
      const to = target(event.key, view);
      if (event.key === "Enter" || event.key === " ") choose(focus);
      else if (to === null) return;
      else moveTo(to);
      event.preventDefault();
    },
    signal,
  );

  /** Where a key leads: up to the parent, down to the heaviest child, sideways along the text. */
  function target(key: string, view: TreeView): number | null {
    const node = view.nodes[focus];
    if (node === undefined) return null;
    const across = view.layout.nodes.map((one, index) => ({ index, x: one.x })).sort((a, b) => a.x - b.x);
    const place = across.findIndex((one) => one.index === focus);
    switch (key) {
      case "ArrowUp":
        return node.parent >= 0 ? node.parent : focus;
      case "ArrowDown":
        return children[focus]?.[0] ?? focus;
      case "ArrowLeft":
        return across[place - 1]?.index ?? focus;
      case "ArrowRight":
        return across[place + 1]?.index ?? focus;
      case "Home":
        return 0;
      case "End":
        return view.nodes.length - 1;
      default:
        return null;
    }
  }

  return {
    element,
    current: () => (hovered >= 0 ? hovered : focused ? focus : -1),
    update(next) {
      const keep = input?.view.nodes[focus]?.position;
      input = next;
      const { view } = next;
      children = view.nodes.map(() => []);
      for (const [index, node] of view.nodes.entries()) children[node.parent]?.push(index);
      for (const list of children)
        list.sort((a, b) => (view.nodes[b]?.edge?.weight ?? 0) - (view.nodes[a]?.edge?.weight ?? 0));
      element.style.width = `${Math.ceil(view.layout.width)}px`;
      element.style.height = `${Math.ceil(view.layout.height)}px`;
      set(
        element,
        "aria-label",
        `${next.label}. Up goes to the node above, down to the heaviest below, left and right along the text; Enter selects the edge.`,
      );
      const had = focused;
      while (element.children.length > view.nodes.length) element.lastElementChild?.remove();
      while (element.children.length < view.nodes.length)
        element.append(h("div", { class: "hw-cell", role: "treeitem", tabindex: -1 }));
      const same = view.nodes.findIndex((node) => node.position === keep);
      focus = Math.max(0, same);
      hovered = -1;
      items().forEach((item, index) => {
        const node = view.nodes[index];
        const placed = view.layout.nodes[index];
        if (node === undefined || placed === undefined) return;
        const siblings = node.parent >= 0 ? (children[node.parent] ?? []) : [index];
        item.style.left = `${placed.x - TARGET / 2}px`;
        item.style.top = `${placed.y - TARGET / 2}px`;
        item.style.width = `${TARGET}px`;
        item.style.height = `${TARGET}px`;
        set(item, "aria-label", sentence(index));
        set(item, "aria-level", node.depth + 1);
        set(item, "aria-setsize", siblings.length);
        set(item, "aria-posinset", siblings.indexOf(index) + 1);
        set(item, "aria-expanded", (children[index]?.length ?? 0) > 0 ? "true" : false);
        const { edge } = node;
        const on = edge !== null && next.chosen.join() === [edge.layer, edge.query, edge.key].join();
        set(item, "aria-selected", on ? "true" : "false");
        set(item, "tabindex", index === focus ? 0 : -1);
      });
      if (had && element.contains(element.ownerDocument.activeElement)) {
        items()[focus]?.focus();
        events.told(sentence(focus), false);
      }
    },
  };
}

/** Marks over the picture: the edge under pointer or cursor, and the one that was chosen. */
export function drawFocus(
  view: TreeView,
  current: number,
  chosen: readonly number[],
  colors: Palette,
): string {
  const { layout, candidates } = view;
  const parts: string[] = [];
  const mark = (index: number, dashed: boolean): void => {
    const to = layout.nodes[index];
    if (to === undefined) return;
    const from = layout.nodes[to.node.parent];
    const stroke = dashed ? colors.selected : colors.ink;
    if (from !== undefined) {
      const wide = to.node.role === "top" ? 1.5 : thickness(to.node.edge?.weight ?? 0, candidates.heaviest);
      const d = edgePath(from, to);
      parts.push(
        el("path", { d, fill: "none", stroke: colors.surface, "stroke-width": wide + 4 }),
        el("path", { d, fill: "none", stroke, "stroke-width": wide + 1.5, "stroke-linecap": "round" }),
      );
      parts.push(ring(from.x, from.y, stroke, dashed));
    }
    parts.push(ring(to.x, to.y, stroke, dashed));
  };
  if (chosen.length === 3) {
    const index = layout.nodes.findIndex(
      ({ node: { edge } }) => edge !== null && [edge.layer, edge.query, edge.key].join() === chosen.join(),
    );
    if (index >= 0) mark(index, true);
  }
  if (current >= 0) mark(current, false);
  // The nodes once more, over the line.
  if (parts.length > 0) for (const one of layout.nodes) parts.push(nodeMark(one, view, colors));
  return parts.join("");
}

function ring(x: number, y: number, stroke: string, dashed: boolean): string {
  return el("circle", {
    cx: x,
    cy: y,
    r: 9.5,
    fill: "none",
    stroke,
    "stroke-width": 1.75,
    "stroke-dasharray": dashed ? "4 2" : undefined,
  });
}
