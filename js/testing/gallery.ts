/** A page with every component on it, for looking: `python js/testing/look.py` opens it and takes pictures. */

import { mountDocument } from "../components/registry.js";
import type { Theme } from "../theme/palette.js";
import { GRIDS } from "./grids.js";

const parameters = new URLSearchParams(location.hash.slice(1));
const theme: Theme = parameters.get("theme") === "dark" ? "dark" : "light";
const only = parameters.get("only");
document.body.style.background = theme === "dark" ? "#111418" : "#ffffff";
for (const [name, content] of Object.entries(GRIDS)) {
  if (only && name !== only) continue;
  const root = document.createElement("div");
  root.id = `grid-${name}`;
  root.style.marginBottom = "28px";
  document.body.append(root);
  mountDocument(root, { document: content, theme });
}
