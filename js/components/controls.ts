// Small pieces of DOM that the components' mounts share. Text only ever enters as text.

import { el } from "../marks/svg.js";
import { FONT } from "../theme/palette.js";

type Child = Node | string;

/** An element with attributes and children; a boolean attribute is present or absent. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Readonly<Record<string, string | number | boolean>>,
  ...children: readonly Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) set(element, name, value);
  element.append(...children);
  return element;
}

/** Listen until `signal` aborts. */
export function on<K extends keyof HTMLElementEventMap>(
  element: HTMLElement,
  type: K,
  handler: (event: HTMLElementEventMap[K]) => void,
  signal: AbortSignal,
): void {
  element.addEventListener(type, handler, { signal });
}

/** A drawing in a live view: transparent, and without a title, which would be a tooltip over everything. */
export function drawing(width: number, height: number, body: string): string {
  const [wide, high] = [Math.ceil(width), Math.ceil(height)];
  const box = { width: wide, height: high, viewBox: `0 0 ${wide} ${high}` };
  const style = { "font-family": FONT, "text-rendering": "geometricPrecision" };
  return body === "" ? "" : el("svg", { ...box, ...style }, body);
}

/** Give an element the size of its drawing. */
export function size(element: HTMLElement, width: number, height: number): void {
  element.style.width = `${Math.ceil(width)}px`;
  element.style.height = `${Math.ceil(height)}px`;
}

/** Set an attribute when it differs, so that an update without news leaves the DOM alone. */
export function set(element: Element, name: string, value: string | number | boolean): void {
  if (value === false) {
    if (element.hasAttribute(name)) element.removeAttribute(name);
    return;
  }
  const text = value === true ? "" : String(value);
  if (element.getAttribute(name) !== text) element.setAttribute(name, text);
}

/** Set text when it differs. */
export function say(element: Element, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}

/** Put drawn markup into an element when it differs. The markup is ours: every text in it was escaped by `draw`. */
export function paint(element: Element & { markup?: string }, markup: string): void {
  if (element.markup === markup) return;
  element.markup = markup;
  element.innerHTML = markup;
}

/** One of several buttons is on; arrow keys move between them. */
export interface Choice {
  readonly element: HTMLElement;
  show(options: readonly Option[], chosen: string): void;
}

/** A value and what the reader sees; a hint; and why it cannot be chosen, which empty is when it can. */
export type Option = readonly [value: string, text: string, hint?: string, refused?: string];

/** Tabs or a segmented switch: a radio group of buttons. */
export function choice(
  label: string,
  signal: AbortSignal,
  chosen: (value: string) => void,
  refused?: (why: string) => void,
): Choice {
  const element = h("div", { class: "hw-choice", role: "radiogroup", "aria-label": label });
  let shown = "";
  const pick = (button: Element | null | undefined): void => {
    if (!(button instanceof HTMLElement)) return;
    button.focus();
    chosen(button.dataset.value ?? "");
  };
  on(
    element,
    "click",
    (event) => {
      const button = event.target instanceof Element ? event.target.closest("button") : null;
      if (button instanceof HTMLElement && !isOpen(button)) refused?.(button.title);
      else if (button?.getAttribute("aria-checked") === "false") pick(button);
    },
    signal,
  );
  on(
    element,
    "keydown",
    (event) => {
      const buttons = [...element.children];
      const at = buttons.findIndex(
        (button) => button === document.activeElement || button.contains(document.activeElement),
      );
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (step === undefined || at < 0) return;
      event.preventDefault();
      for (let next = 1; next < buttons.length; next += 1) {
        const button = buttons[(at + step * next + buttons.length * next) % buttons.length];
        if (button === undefined || !isOpen(button)) continue;
        pick(button);
        return;
      }
    },
    signal,
  );
  return {
    element,
    show(options, current) {
      const key = JSON.stringify(options);
      if (key !== shown) {
        shown = key;
        element.replaceChildren(
          ...options.map(([value, text, hint = "", why = ""]) => {
            const button = h("button", { type: "button", role: "radio", "data-value": value }, text);
            if (hint !== "" || why !== "") set(button, "title", why || hint);
            // Not `disabled`: a pointer, a finger or a screen reader must be able to find out why.
            if (why !== "") set(button, "aria-disabled", "true");
            if (why !== "") set(button, "aria-label", `${text}, not available: ${why}`);
            return button;
          }),
        );
      }
      for (const button of element.children) {
        const on = button instanceof HTMLElement && button.dataset.value === current;
        set(button, "aria-checked", on ? "true" : "false");
        set(button, "tabindex", on ? 0 : -1);
      }
      element.hidden = options.length < 2;
    },
  };
}

function isOpen(button: Element): boolean {
  return button.getAttribute("aria-disabled") !== "true";
}

/** A check box with its label. */
export interface Check {
  readonly element: HTMLElement;
  show(on: boolean, enabled: boolean, hint: string): void;
}

export function check(label: string, signal: AbortSignal, changed: (on: boolean) => void): Check {
  const input = h("input", { type: "checkbox" });
  const element = h("label", {}, input, label);
  on(input, "change", () => changed(input.checked), signal);
  return {
    element,
    show(on, enabled, hint) {
      input.checked = on;
      input.disabled = !enabled;
      set(element, "title", hint === "" ? false : hint);
    },
  };
}

/** A drop-down list with its label. */
export interface Menu {
  readonly element: HTMLElement;
  show(options: readonly string[], chosen: string, enabled: boolean): void;
}

export function menu(label: string, signal: AbortSignal, changed: (value: string) => void): Menu {
  const select = h("select", {});
  const element = h("label", {}, label, select);
  let shown = "";
  on(select, "change", () => changed(select.value), signal);
  return {
    element,
    show(options, current, enabled) {
      const key = JSON.stringify(options);
      if (key !== shown) {
        shown = key;
        select.replaceChildren(...options.map((option) => h("option", { value: option }, option)));
      }
      select.value = current;
      select.disabled = !enabled;
    },
  };
}

/** A root element whose keys stay inside: typing in a widget must not run commands of the notebook. */
export function rootOf(parent: HTMLElement, name: string, label: string, signal: AbortSignal): HTMLElement {
  const root = h("div", {
    class: `hw-root hw-${name}`,
    role: "group",
    "aria-label": label,
    "data-lm-suppress-shortcuts": "true",
  });
  for (const type of ["keydown", "keypress", "keyup"] as const) {
    on(root, type, (event) => event.stopPropagation(), signal);
  }
  parent.append(root);
  return root;
}

/** A live region: what a screen reader says, and only when it changed. */
export function liveRegion(): HTMLElement {
  return h("div", { class: "hw-hidden", role: "status", "aria-live": "polite" });
}

/** `work` at most once per animation frame. */
export function perFrame(work: () => void, signal: AbortSignal): () => void {
  let frame = 0;
  signal.addEventListener("abort", () => cancelAnimationFrame(frame), { once: true });
  return () => {
    if (frame !== 0 || signal.aborted) return;
    frame = requestAnimationFrame(() => {
      frame = 0;
      work();
    });
  };
}
