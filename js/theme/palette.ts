/** Concrete colours of the light and the dark theme. SVG carries these, so that a picture looks alike everywhere. */

import { contrast } from "./colour.js";

export interface Palette {
  readonly name: "light" | "dark";
  /** Behind everything. */
  readonly surface: string;
  /** Text and marks that matter. */
  readonly ink: string;
  /** Secondary text (4.5:1 on the surface). */
  readonly muted: string;
  /** Axes, frames, hatching (3:1 on the surface where it carries meaning). */
  readonly line: string;
  /** Grid lines and separators that may be overlooked. */
  readonly faint: string;
  /** Stops of the ramp for magnitudes, low to high; lightness changes in one direction. */
  readonly sequential: readonly string[];
  /** Stops of the ramp for signed values, negative (orange) over 0 to positive (blue). */
  readonly diverging: readonly string[];
  /** Ring around what is selected. */
  readonly selected: string;
  /** Cross over what is pruned. */
  readonly pruned: string;
  /** A first and a second series, for curves. */
  readonly series: readonly [string, string];
  /** Error messages. */
  readonly danger: string;
}

export const LIGHT: Palette = {
  name: "light",
  surface: "#ffffff",
  ink: "#1b2230",
  muted: "#5b6472",
  line: "#838c99",
  faint: "#e3e7ec",
  sequential: ["#eef3f8", "#c3d9ec", "#7fb2d9", "#2f7ab8", "#0a3a70"],
  diverging: ["#7a3300", "#c2611a", "#efab72", "#f4f4f4", "#8bb9dd", "#2f7ab8", "#0a3a70"],
  selected: "#c4006a",
  pruned: "#1b2230",
  series: ["#2f7ab8", "#b4560f"],
  danger: "#b3261e",
};

export const DARK: Palette = {
  name: "dark",
  surface: "#111418",
  ink: "#e8ebef",
  muted: "#a3acb8",
  line: "#737d8a",
  faint: "#2a3038",
  sequential: ["#1e2832", "#1f4a70", "#2f7db3", "#78bbe3", "#e0f3ff"],
  diverging: ["#ffdcb8", "#f0994a", "#9c5a24", "#262c33", "#2a618f", "#6db4e6", "#e0f3ff"],
  selected: "#ff7ac0",
  pruned: "#e8ebef",
  series: ["#6db4e6", "#f0994a"],
  danger: "#ff8a80",
};

export type Theme = "light" | "dark";

export function palette(theme: Theme): Palette {
  return theme === "dark" ? DARK : LIGHT;
}

/** Ink that can be read on `background`: near-black or near-white, whichever contrasts more. */
export function readableOn(background: string): string {
  return contrast(background, "#10151c") >= contrast(background, "#ffffff") ? "#10151c" : "#ffffff";
}

/** Fonts that are metric-compatible with the width table in `marks/text.ts`. */
export const FONT = "Helvetica, Arial, 'Liberation Sans', 'Noto Sans', sans-serif";
