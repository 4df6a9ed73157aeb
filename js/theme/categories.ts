/** Colours for categories. Neighbours differ in lightness too; a category also has a pattern or a shape of its own. */

import type { Theme } from "./palette.js";

const LIGHT = [
  "#2f7ab8", // blue
  "#e08a1e", // orange
  "#3a9a6b", // green
  "#b5487f", // magenta
  "#8ecae6", // sky
  "#c9b21f", // mustard
  "#7b5fb0", // violet
  "#8a949f", // grey
  "#c8553d", // vermilion
  "#7fb8a4", // sea green
  "#9b6b43", // brown
  "#dba3c4", // pink
];

const DARK = [
  "#5aa9e6",
  "#f0a445",
  "#4cc38a",
  "#e879b0",
  "#a9dcf2",
  "#e0cb4a",
  "#a78be0",
  "#a3acb8",
  "#ef7f66",
  "#9fd6c3",
  "#c29468",
  "#f0c4dc",
];

export function categories(theme: Theme): readonly string[] {
  return theme === "dark" ? DARK : LIGHT;
}
