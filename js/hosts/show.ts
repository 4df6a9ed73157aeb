/**
 * An exported page: mounts every `[data-headwidgets]` element from the JSON inside it. Each kind of document has a
 * bundle of its own in `page/`, so that a page carries the code of what it shows and no more.
 */

import { type Mounts, mountDocument } from "../components/mounting.js";
import { describeProvenance } from "../marks/picture.js";
import { resolveTheme, watchTheme } from "../theme/detect.js";
import { parseDocument } from "../wire/guards.js";
import type { Document, HeadsFile } from "../wire/types.js";

/** How the numbers were made, as a foot line. */
function provenanceNote(content: Document | HeadsFile): HTMLElement {
  const note = document.createElement("p");
  note.className = "hw-root hw-note";
  note.textContent = "provenance" in content ? describeProvenance(content.provenance) : "";
  return note;
}

function showOne(element: HTMLElement, mounts: Mounts): void {
  const source = element.querySelector('script[type="application/json"]');
  const root = document.createElement("div");
  element.append(root);
  try {
    const content = parseDocument(source?.textContent ?? "");
    const wanted = element.dataset.theme;
    const theme = () => resolveTheme(wanted === "light" || wanted === "dark" ? wanted : "auto", element);
    const component = mountDocument(mounts, root, { document: content, theme: theme() });
    watchTheme(() => component.update({ document: content, theme: theme() }), new AbortController().signal);
    if (element.dataset.provenance === "true") element.append(provenanceNote(content));
    // The static picture that stood in while scripts were off makes room.
    for (const picture of element.querySelectorAll("[data-headwidgets-static]")) picture.remove();
  } catch (error) {
    root.className = "hw-root hw-error";
    root.setAttribute("role", "alert");
    root.textContent = `headwidgets: ${error instanceof Error ? error.message : String(error)}`;
  }
}

/** Show every document of the page, once the page is there. */
export function showPage(mounts: Mounts): void {
  const all = (): void => {
    for (const element of document.querySelectorAll<HTMLElement>("[data-headwidgets]"))
      showOne(element, mounts);
  };
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", all);
  else all();
}
