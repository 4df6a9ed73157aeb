/** SVG as text. Strings from outside reach it through `escapeText` only, so they are text and never markup. */

export type Attributes = Readonly<Record<string, string | number | undefined>>;

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** `text` for use inside an element or an attribute; what XML cannot hold becomes U+FFFD. */
export function escapeText(text: string): string {
  return (
    text
      // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what XML 1.0 forbids
      .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "\ufffd")
      .replace(/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, "\ufffd")
      .replace(/[&<>"']/g, (character) => ENTITIES[character] ?? character)
  );
}

/** A coordinate: at most two decimals. */
export function num(value: number): string {
  if (!Number.isFinite(value)) throw new Error(`a coordinate is a finite number, got ${value}`);
  const text = value.toFixed(2);
  const short = text.replace(/\.?0+$/, "");
  return short === "-0" ? "0" : short;
}

/** An element; `children` are markup made by this module. */
export function el(name: string, attributes: Attributes, ...children: readonly string[]): string {
  let open = `<${name}`;
  for (const [key, value] of Object.entries(attributes))
    if (value !== undefined)
      open += ` ${key}="${typeof value === "number" ? num(value) : escapeText(value)}"`;
  return children.length === 0 ? `${open}/>` : `${open}>${children.join("")}</${name}>`;
}

export interface TextStyle {
  readonly size?: number;
  readonly fill: string;
  readonly anchor?: "start" | "middle" | "end";
  readonly bold?: boolean;
  /** Degrees, clockwise, around the text's own point. */
  readonly rotate?: number;
  readonly italic?: boolean;
}

/** Text whose baseline starts (or ends, or centres) at x, y. */
export function text(x: number, y: number, content: string, style: TextStyle): string {
  return el(
    "text",
    {
      x,
      y,
      fill: style.fill,
      "font-size": style.size ?? 12,
      "text-anchor": style.anchor === "start" ? undefined : style.anchor,
      "font-weight": style.bold ? "bold" : undefined,
      "font-style": style.italic ? "italic" : undefined,
      transform: style.rotate ? `rotate(${num(style.rotate)} ${num(x)} ${num(y)})` : undefined,
    },
    escapeText(content),
  );
}

export function rect(x: number, y: number, width: number, height: number, rest: Attributes): string {
  return el("rect", { x, y, width, height, ...rest });
}

export function line(x1: number, y1: number, x2: number, y2: number, rest: Attributes): string {
  return el("line", { x1, y1, x2, y2, ...rest });
}
