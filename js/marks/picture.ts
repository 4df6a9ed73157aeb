/** What every `draw` takes and gives, and the frame around it. */

import { FONT, type Palette, palette, type Theme } from "../theme/palette.js";
import type { KindName, Provenance } from "../wire/types.js";
import { el, escapeText, rect, text } from "./svg.js";
import { wrap } from "./text.js";

export type MapView = "attention" | "norm" | "attribution" | "both";

export interface DrawOptions {
  readonly theme: Theme;
  /** Pixels to fit into; a picture may be narrower. */
  readonly width: number;
  /** Paint the surface behind the picture (live views are transparent). */
  readonly background: boolean;
  /** Print how the numbers were made under the picture. */
  readonly provenance?: boolean;
  /** Grids: the kind and the score to show; without them every kind with its first score. */
  readonly kind?: KindName | undefined;
  readonly score?: string | undefined;
  /** Attribution: which maps to show (default: those sent), and whether special tokens are left out. */
  readonly view?: MapView | undefined;
  readonly hide_special?: boolean;
}

export interface Picture {
  readonly svg: string;
  readonly width: number;
  readonly height: number;
}

/** Above this number of marks a picture uses one embedded image. */
export const MARK_LIMIT = 2500;

const VIEWS: readonly MapView[] = ["attention", "norm", "attribution", "both"];
const KINDS: readonly KindName[] = ["encoder", "decoder", "cross"];

/** Options from the outside world, completed and checked. */
export function checkOptions(value: Partial<Record<keyof DrawOptions, unknown>>): DrawOptions {
  const { theme = "light", width = 720, background = true, provenance = false } = value;
  if (theme !== "light" && theme !== "dark")
    throw new Error(`theme: expected "light" or "dark", got ${JSON.stringify(theme)}`);
  if (typeof width !== "number" || !(width >= 40 && width <= 20000))
    throw new Error(`width: expected 40 to 20000 pixels, got ${JSON.stringify(width)}`);
  if (value.kind !== undefined && !KINDS.includes(value.kind as KindName))
    throw new Error(`kind: expected ${KINDS.join(", ")}, got ${JSON.stringify(value.kind)}`);
  if (value.view !== undefined && !VIEWS.includes(value.view as MapView))
    throw new Error(`view: expected ${VIEWS.join(", ")}, got ${JSON.stringify(value.view)}`);
  return {
    theme,
    width,
    background: background === true,
    provenance: provenance === true,
    kind: value.kind as KindName | undefined,
    score: value.score === undefined ? undefined : String(value.score),
    view: value.view as MapView | undefined,
    hide_special: value.hide_special === true,
  };
}

export interface FrameContent {
  readonly width: number;
  readonly height: number;
  /** One sentence for a screen reader. */
  readonly label: string;
  /** Markup. */
  readonly body: string;
}

/** The outermost element of a picture. */
export function frame(content: FrameContent, options: DrawOptions): Picture {
  const width = Math.ceil(content.width);
  const height = Math.ceil(content.height);
  const behind = options.background
    ? rect(0, 0, width, height, { fill: palette(options.theme).surface })
    : "";
  const svg = el(
    "svg",
    {
      xmlns: "http://www.w3.org/2000/svg",
      width,
      height,
      viewBox: `0 0 ${width} ${height}`,
      role: "img",
      "aria-label": content.label,
      "font-family": FONT,
      "text-rendering": "geometricPrecision",
    },
    `<title>${escapeText(content.label)}</title>`,
    behind,
    content.body,
  );
  return { svg, width, height };
}

const NOTE_SIZE = 10;

/** How a result was made, in one line; empty when unknown. */
export function describeProvenance(provenance: Provenance | null): string {
  if (!provenance) return "";
  const settings = Object.entries(provenance.settings).map(([key, value]) => `${key} ${value ?? "none"}`);
  const parts = [provenance.model, ...settings, `headwidgets ${provenance.version}`];
  return parts.filter(Boolean).join(" \u00b7 ");
}

/** Lines of the note that says how a result was made. */
export function provenanceLines(provenance: Provenance | null, width: number): string[] {
  return wrap(describeProvenance(provenance), NOTE_SIZE, width, 4);
}

/** The note as markup with its top at `y`, and the height it takes. */
export function provenanceNote(
  provenance: Provenance | null,
  x: number,
  y: number,
  width: number,
  colours: Palette,
): { readonly svg: string; readonly height: number } {
  const lines = provenanceLines(provenance, width);
  const svg = lines
    .map((content, i) => text(x, y + 14 + i * 13, content, { size: NOTE_SIZE, fill: colours.muted }))
    .join("");
  return { svg, height: lines.length > 0 ? 8 + 13 * lines.length : 0 };
}
