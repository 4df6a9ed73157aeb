/** Checks at the border: what arrives is a document of this protocol, or there is a sentence saying why not. */

import { SHAPES, type Shape } from "./shapes.js";
import { type Document, type HeadsFile, SCHEMA } from "./types.js";

export class DocumentError extends Error {
  override name = "DocumentError";
}

const NAMES: Readonly<Record<string, string>> = {
  grid: "GridDocument",
  attention: "AttentionDocument",
  attribution: "AttributionDocument",
  pruning: "PruningDocument",
  tree: "TreeDocument",
  scatter: "ScatterDocument",
  curves: "CurvesDocument",
  triggers: "TriggersDocument",
  patterns: "PatternsDocument",
  headmap: "HeadMapDocument",
  probe: "ProbeDocument",
  dashboard: "DashboardDocument",
  scores: "ScoresFile",
  "attribution-result": "AttributionFile",
  distances: "DistancesFile",
  links: "LinksFile",
  roles: "RolesFile",
};

function shown(value: unknown): string {
  if (Array.isArray(value)) return `a list of ${value.length}`;
  if (value !== null && typeof value === "object") return "an object";
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 40 ? `${text.slice(0, 39)}…` : text;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return value !== null && typeof value === "object" && !Array.isArray(value);
}

const WORDS: Readonly<Record<string, string>> = {
  str: "a text",
  int: "a whole number",
  float: "a number",
  bool: "true or false",
  None: "nothing",
};

function fitsPrimitive(value: unknown, name: string): boolean {
  if (name === "str") return typeof value === "string";
  if (name === "bool") return typeof value === "boolean";
  if (name === "int") return Number.isInteger(value);
  if (name === "None") return value === null;
  return typeof value === "number";
}

/** The first thing that is wrong with `value`, or null. */
function complaint(
  value: unknown,
  shape: Shape | Readonly<Record<string, Shape>>,
  path: string,
): string | null {
  if (typeof shape === "string") {
    const named = SHAPES[shape];
    if (named !== undefined) return complaint(value, named, path);
    return fitsPrimitive(value, shape)
      ? null
      : `${path}: expected ${WORDS[shape] ?? shape}, got ${shown(value)}`;
  }
  if (!Array.isArray(shape)) {
    if (!isRecord(value)) return `${path}: expected an object, got ${shown(value)}`;
    for (const [key, inner] of Object.entries(shape)) {
      const optional = key.endsWith("?");
      const name = optional ? key.slice(0, -1) : key;
      const item = value[name];
      if (item === undefined) {
        if (optional) continue;
        return `${path}: "${name}" is missing`;
      }
      const wrong = complaint(item, inner as Shape, path ? `${path}.${name}` : name);
      if (wrong) return wrong;
    }
    return null;
  }
  const [what, ...parts] = shape as unknown as readonly [string, ...Shape[]];
  if (what === "is")
    return parts.includes(value as Shape)
      ? null
      : `${path}: expected ${parts.join(" or ")}, got ${shown(value)}`;
  if (what === "or") {
    const wrong = parts.map((part) => complaint(value, part, path));
    if (wrong.includes(null)) return null;
    const documents = isRecord(value) ? parts.indexOf(NAMES[String(value.document)] ?? "") : -1;
    return wrong[Math.max(0, documents)] ?? null;
  }
  if (what === "dict") {
    if (!isRecord(value)) return `${path}: expected an object, got ${shown(value)}`;
    for (const [key, item] of Object.entries(value)) {
      const wrong =
        complaint(key, parts[0] as Shape, `${path}, key`) ??
        complaint(item, parts[1] as Shape, `${path}.${key}`);
      if (wrong) return wrong;
    }
    return null;
  }
  if (!Array.isArray(value)) return `${path}: expected a list, got ${shown(value)}`;
  if (what === "tuple" && value.length !== parts.length)
    return `${path}: expected ${parts.length} entries, got ${value.length}`;
  for (let i = 0; i < value.length; i++) {
    const wrong = complaint(value[i], (what === "tuple" ? parts[i] : parts[0]) as Shape, `${path}[${i}]`);
    if (wrong) return wrong;
  }
  return null;
}

/**
 * `value` as a document, checked field by field.
 *
 * Throws a `DocumentError` whose message says what was expected, what came and what to do.
 */
export function checkDocument(value: unknown): Document | HeadsFile {
  if (!isRecord(value)) throw new DocumentError(`expected a headwidgets document, got ${shown(value)}`);
  const name = NAMES[String(value.document)];
  if (!name)
    throw new DocumentError(
      `expected a headwidgets document (${Object.keys(NAMES).join(", ")}), got one called ${shown(value.document)}`,
    );
  if (!Number.isInteger(value.schema) || (value.schema as number) < 1)
    throw new DocumentError(`schema: expected a whole number from 1 on, got ${shown(value.schema)}`);
  if ((value.schema as number) > SCHEMA)
    throw new DocumentError(
      `this was written by a newer headwidgets (schema ${value.schema}; this one reads up to ${SCHEMA}): update headwidgets`,
    );
  const wrong = complaint(value, name, "");
  if (wrong)
    throw new DocumentError(`this ${value.document} document is damaged: ${wrong.replace(/^[.: ]+/, "")}`);
  return value as unknown as Document | HeadsFile;
}

/** A document of one kind, checked. */
export function checkDocumentOf<N extends Document["document"]>(
  value: unknown,
  name: N,
): Extract<Document, { document: N }> {
  const document = checkDocument(value);
  if (document.document !== name)
    throw new DocumentError(`expected a ${name} document, got ${document.document}`);
  return document as Extract<Document, { document: N }>;
}

/** The document in a JSON text. */
export function parseDocument(text: string): Document | HeadsFile {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new DocumentError(`this is not JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
  return checkDocument(value);
}
