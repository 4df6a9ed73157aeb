/** Which theme surrounds an element: JupyterLab's, that of VS Code, else how dark the page is. */

import { formatColour, luminance } from "./colour.js";
import type { Theme } from "./palette.js";

function fromBackground(element: Element): Theme | null {
  for (let at: Element | null = element; at; at = at.parentElement) {
    const match = /^rgba?\(\s*([\d.]+)[, ]+([\d.]+)[, ]+([\d.]+)(?:\s*[,/]\s*([\d.]+))?/.exec(
      getComputedStyle(at).backgroundColor,
    );
    if (!match || (match[4] !== undefined && Number(match[4]) < 0.5)) continue;
    const hex = formatColour([Number(match[1]), Number(match[2]), Number(match[3])]);
    return luminance(hex) < 0.3 ? "dark" : "light";
  }
  return null;
}

/** The theme around `element`; `wanted` other than "auto" is taken as it is. */
export function resolveTheme(wanted: "auto" | Theme, element: Element): Theme {
  if (wanted !== "auto") return wanted;
  const lab = document.body?.dataset.jpThemeLight;
  if (lab === "true" || lab === "false") return lab === "true" ? "light" : "dark";
  const seen = element.isConnected ? fromBackground(element) : null;
  if (seen) return seen;
  return typeof matchMedia === "function" && matchMedia("(prefers-color-scheme: dark)").matches
    ? "dark"
    : "light";
}

/** Call `changed` whenever the theme around the page may have changed, until `signal` aborts. */
export function watchTheme(changed: () => void, signal: AbortSignal): void {
  const observer = new MutationObserver(changed);
  const attributes = {
    attributes: true,
    attributeFilter: ["data-jp-theme-light", "class", "data-theme", "style"],
  };
  for (const element of [document.documentElement, document.body])
    if (element) observer.observe(element, attributes);
  signal.addEventListener("abort", () => observer.disconnect(), { once: true });
  if (typeof matchMedia === "function")
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", changed, { signal });
}
