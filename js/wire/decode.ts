/** Arrays inside documents: `ArrayRef` on the wire, typed arrays on this side. */

import { fromBase64 } from "./base64.js";
import type { ArrayRef } from "./types.js";

/** What accompanies a live document; hosts deliver DataViews, buffers or base64. */
export type Buffer = DataView | ArrayBuffer | Uint8Array | string | null | undefined;

export type Values = Float32Array | Float64Array | Int32Array | Uint8Array;

const MAKERS = {
  float32: Float32Array,
  float64: Float64Array,
  int32: Int32Array,
  uint8: Uint8Array,
} as const;

/** The bytes of a buffer, whatever the host made of it. */
export function bytesOf(buffer: Buffer): Uint8Array<ArrayBuffer> {
  if (buffer === null || buffer === undefined) return new Uint8Array(0);
  if (typeof buffer === "string") return fromBase64(buffer);
  if (buffer instanceof ArrayBuffer) return new Uint8Array(buffer);
  if (ArrayBuffer.isView(buffer))
    return new Uint8Array(buffer.buffer as ArrayBuffer, buffer.byteOffset, buffer.byteLength);
  throw new Error(`the buffer is a DataView, an ArrayBuffer or base64, got ${typeof buffer}`);
}

/** Number of entries of an array. */
export function countOf(ref: ArrayRef): number {
  return ref.shape.reduce((product, n) => product * n, 1);
}

/**
 * The array that `ref` describes, as a copy with its own memory.
 *
 * Throws with both numbers when the bytes do not fit the shape.
 */
export function decodeArray(ref: ArrayRef, buffer?: Buffer): Values {
  const Maker = MAKERS[ref.dtype];
  if (!Maker)
    throw new Error(`an array is one of ${Object.keys(MAKERS).join(", ")}, got "${String(ref.dtype)}"`);
  const size = countOf(ref) * Maker.BYTES_PER_ELEMENT;
  let bytes: Uint8Array;
  if (ref.data !== undefined) {
    bytes = fromBase64(ref.data);
    if (bytes.length !== size)
      throw new Error(`an array of shape [${ref.shape}] has ${size} bytes, got ${bytes.length}`);
  } else if (ref.offset !== undefined && buffer !== null && buffer !== undefined) {
    const all = bytesOf(buffer);
    bytes = all.slice(ref.offset, ref.offset + size);
    if (bytes.length !== size)
      throw new Error(
        `an array of shape [${ref.shape}] needs ${size} bytes from ${ref.offset} on, but the buffer has ${all.length}`,
      );
  } else throw new Error("an array has neither data nor a buffer to look in");
  return new Maker(bytes.slice().buffer as ArrayBuffer);
}

/** `decodeArray` that insists on a shape; `what` names the array in the error. */
export function decodeShaped(ref: ArrayRef, shape: readonly number[], what: string, buffer?: Buffer): Values {
  if (ref.shape.length !== shape.length || ref.shape.some((n, axis) => n !== shape[axis]))
    throw new Error(`${what}: expected an array of shape [${shape}], got [${ref.shape}]`);
  return decodeArray(ref, buffer);
}
