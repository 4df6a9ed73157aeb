// What is under the pointer or the cursor, in words.
import { formatNumber } from "../../marks/format.js";
import { valueAt } from "./head-map.js";
import type { Focus } from "./links.js";
import type { Cell } from "./matrix.js";
import type { MapsInput } from "./pictures.js";
import { describe, type Position } from "./positions.js";

/** The strongest links of one token, per head. */
export function describeFocus(input: MapsInput, focus: Focus, most = 3): string {
  const own = focus.side === "query" ? input.query : input.key;
  const others = focus.side === "query" ? input.key : input.query;
  const position = own[focus.at];
  if (position === undefined) return "";
  const verb = focus.side === "query" ? "looks at" : "is looked at from";
  const heads = input.maps.map((map, number) => {
    const links = others
      .map((other) => ({
        other,
        value:
          focus.side === "query"
            ? valueAt(map, position.index, other.index)
            : valueAt(map, other.index, position.index),
      }))
      .filter((link) => !Number.isNaN(link.value))
      .sort((a, b) => Math.abs(b.value) - Math.abs(a.value))
      .slice(0, input.maps.length > 2 ? 1 : most)
      .map((link) => `“${link.other.label}” ${signed(link.value, input.signed)}`);
    const name = input.maps.length > 1 ? `${input.names[number] ?? ""} ` : "";
    return `${name}${links.length > 0 ? links.join(", ") : "nothing measured"}`;
  });
  return `${describe(position)} ${verb} ${heads.join(" · ")}`;
}

/** One value of one head. */
export function describeCell(input: MapsInput, cell: Cell): string {
  const map = input.maps[cell.panel];
  const query = input.query[cell.row];
  const key = input.key[cell.column];
  if (map === undefined || query === undefined || key === undefined) return "";
  const value = valueAt(map, query.index, key.index);
  const unit = input.unit === "" || Number.isNaN(value) ? "" : ` ${input.unit}`;
  return `${input.names[cell.panel] ?? ""}: ${pair(query, key)}: ${signed(value, input.signed)}${unit}`;
}

function pair(query: Position, key: Position): string {
  return `${describe(query)} → ${describe(key)}`;
}

/** A number with its sign where signs matter. */
export function signed(value: number, withSign: boolean): string {
  const text = formatNumber(value, 3);
  return withSign && value > 0 ? `+${text}` : text;
}
