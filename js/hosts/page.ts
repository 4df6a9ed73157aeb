/** An exported page: mounts every `[data-headwidgets]` element from the JSON inside it. */

import { mountDocument } from "../components/registry.js";
import { describeProvenance } from "../marks/picture.js";
import { resolveTheme, watchTheme } from "../theme/detect.js";
import { parseDocument } from "../wire/guards.js";
import type { Document, ScoresFile } from "../wire/types.js";

/** How the numbers were made, as a foot line. */
function provenanceNote(content: Document | ScoresFile): HTMLElement {
  const note = document.createElement("p");
  note.className = "hw-root hw-note";
  note.textContent = "provenance" in content ? describeProvenance(content.provenance) : "";
  return note;
}

function showOne(element: HTMLElement): void {
  const source = element.querySelector('script[type="application/json"]');
  const root = document.createElement("div");
  element.append(root);
  try {
    const content = parseDocument(source?.textContent ?? "");
    const wanted = element.dataset.theme;
    const theme = () => resolveTheme(wanted === "light" || wanted === "dark" ? wanted : "auto", element);
    const component = mountDocument(root, { document: content, theme: theme() });
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

function showAll(): void {
  for (const element of document.querySelectorAll<HTMLElement>("[data-headwidgets]")) showOne(element);
}

if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", showAll);
else showAll();
