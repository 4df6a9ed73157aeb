/** Lists of heads: what choosing does to them. */

import type { HeadRef } from "../../wire/types.js";

/** A head as a key for sets. */
export function headKey([kind, layer, index]: HeadRef): string {
  return `${kind},${layer},${index}`;
}

/** `heads` without `head` if it was there, else with it at the end. */
export function toggled(heads: readonly HeadRef[], head: HeadRef): readonly HeadRef[] {
  const key = headKey(head);
  const rest = heads.filter((other) => headKey(other) !== key);
  return rest.length < heads.length ? rest : [...heads, head];
}

/** The block of heads with these two at its corners, row by row. */
export function headsBetween(one: HeadRef, other: HeadRef): readonly HeadRef[] {
  const [kind] = one;
  const out: HeadRef[] = [];
  const [fromLayer, untilLayer] = [Math.min(one[1], other[1]), Math.max(one[1], other[1])];
  const [fromHead, untilHead] = [Math.min(one[2], other[2]), Math.max(one[2], other[2])];
  for (let layer = fromLayer; layer <= untilLayer; layer++)
    for (let head = fromHead; head <= untilHead; head++) out.push([kind, layer, head]);
  return out;
}
