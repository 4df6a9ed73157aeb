/** Helpers of tests that have a DOM. */

import { expect } from "vitest";

/** The picture as a document; fails when it is not well-formed. */
export function parsedSvg(svg: string): Document {
  const document = new DOMParser().parseFromString(svg, "image/svg+xml");
  expect(document.querySelector("parsererror")).toBeNull();
  return document;
}

/** Elements that could run code: there must be none, whatever tokens say. */
export function activeElements(root: ParentNode): Element[] {
  return [...root.querySelectorAll("*")].filter(
    (element) =>
      ["script", "iframe", "object", "embed", "foreignobject", "img"].includes(
        element.tagName.toLowerCase(),
      ) || [...element.attributes].some((attribute) => attribute.name.toLowerCase().startsWith("on")),
  );
}

export function found<E extends Element = HTMLElement>(root: ParentNode, selector: string): E {
  const element = root.querySelector<E>(selector);
  if (element === null) throw new Error(`nothing matches ${selector}`);
  return element;
}

export function press(element: Element, key: string, more: KeyboardEventInit = {}): KeyboardEvent {
  const event = new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, ...more });
  element.dispatchEvent(event);
  return event;
}

export function frameDone(): Promise<void> {
  return new Promise((resolve) => {
    requestAnimationFrame(() => setTimeout(resolve, 0));
  });
}
