/** What every anywidget host does: read the traits, mount, follow changes and the theme, clean up. */

import type { AnyModel } from "@anywidget/types";
import type { Component } from "../components/component.js";
import { resolveTheme, watchTheme } from "../theme/detect.js";
import type { Theme } from "../theme/palette.js";
import { type Buffer, bytesOf } from "../wire/decode.js";
import { checkDocumentOf } from "../wire/guards.js";
import type { Document, ThemeName } from "../wire/types.js";

/** The traits that every live widget has. */
export interface LiveState {
  document: unknown;
  buffer: Buffer;
  version: number;
  theme: ThemeName;
  kept: boolean;
}

/** The document and its bytes, checked when they came and the same objects until the next ones come. */
export interface Arrived<D> {
  readonly document: D;
  readonly buffer: Uint8Array<ArrayBuffer>;
  readonly theme: Theme;
}

export interface LiveHost<S extends LiveState, D extends Document, P> {
  readonly model: AnyModel<S>;
  readonly el: HTMLElement;
  readonly document: D["document"];
  /** Traits besides `version` and `theme` that are part of the props. */
  readonly traits: readonly (keyof S & string)[];
  props(arrived: Arrived<D>): P;
  mount(el: HTMLElement, props: P): Component<P>;
}

function explain(el: HTMLElement, error: unknown): void {
  const note = document.createElement("div");
  note.className = "hw-root hw-error";
  note.setAttribute("role", "alert");
  note.textContent = `headwidgets: ${error instanceof Error ? error.message : String(error)}`;
  el.replaceChildren(note);
}

/**
 * Show a live widget in `el`; returns what undoes it.
 *
 * A document that cannot be read is a sentence in place of the picture; the next good one mends it.
 */
export function showLive<S extends LiveState, D extends Document, P>(host: LiveHost<S, D, P>): () => void {
  const { model, el } = host;
  const control = new AbortController();
  let component: Component<P> | null = null;
  let root: HTMLElement | null = null;
  let read: { raw: unknown; bytes: Buffer; document: D; buffer: Uint8Array<ArrayBuffer> } | null = null;
  let waiting = false;

  function arrived(): Arrived<D> {
    const raw = model.get("document");
    const bytes: Buffer = model.get("buffer");
    if (!read || read.raw !== raw || read.bytes !== bytes)
      read = {
        raw,
        bytes,
        document: checkDocumentOf(raw, host.document) as unknown as D,
        buffer: bytesOf(bytes),
      };
    return { document: read.document, buffer: read.buffer, theme: resolveTheme(model.get("theme"), el) };
  }

  function show(): void {
    waiting = false;
    if (control.signal.aborted) return;
    try {
      const props = host.props(arrived());
      if (component) component.update(props);
      else {
        root = document.createElement("div");
        el.replaceChildren(root);
        component = host.mount(root, props);
      }
    } catch (error) {
      component?.destroy();
      component = null;
      explain(el, error);
    }
  }

  // Traits that change together arrive as several events: one picture for all of them.
  const soon = (): void => {
    if (waiting) return;
    waiting = true;
    queueMicrotask(show);
  };
  const names = ["version", "theme", ...host.traits];
  for (const name of names) model.on(`change:${name}`, soon);
  watchTheme(soon, control.signal);
  show();
  // Inside our own output renderer this view stays when the saved data change: then Python may bring them up to date.
  setTimeout(() => {
    if (control.signal.aborted || model.get("kept") || !el.closest(".hw-output")) return;
    model.set("kept", true);
    model.save_changes();
  });
  return () => {
    control.abort();
    for (const name of names) model.off(`change:${name}`, soon);
    component?.destroy();
    el.replaceChildren();
  };
}
