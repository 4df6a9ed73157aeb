// Head maps on demand: those of the document, those that were asked for, and what is on its way.
import type { Buffer } from "../../wire/decode.js";
import type { Answer, HeadMap, HeadMapRequest, HeadRef } from "../../wire/types.js";
import { decodeMap, type MapValues } from "./head-map.js";
import { headName, sameHead } from "./positions.js";

/** A head's map as the view finds it. */
export type MapState =
  | { readonly status: "ready"; readonly map: MapValues }
  | { readonly status: "loading"; readonly message: string }
  | { readonly status: "error"; readonly message: string };

/** Which map. */
export interface MapKey {
  readonly view: HeadMap["view"];
  readonly head: HeadRef;
}

const SLOW = 10_000;

/** Maps by head and view. One request is in flight; when it is answered, the newest wish that is still open follows. */
export class MapStore {
  readonly #send: ((request: HeadMapRequest) => void) | undefined;
  readonly #changed: () => void;
  readonly #maps = new Map<string, MapValues>();
  readonly #errors = new Map<string, string>();
  #source: readonly HeadMap[] | null = null;
  #buffer: Buffer;
  #words = false;
  #wanted: readonly MapKey[] = [];
  #inFlight: { readonly id: number; readonly key: string; readonly words: boolean } | null = null;
  #nextId: number;
  #slow: ReturnType<typeof setTimeout> | undefined;
  #isSlow = false;

  /** `send` is absent where no kernel answers; `changed` is called when a map arrived or failed. */
  constructor(send: ((request: HeadMapRequest) => void) | undefined, changed: () => void, firstId = 1) {
    this.#send = send;
    this.#changed = changed;
    this.#nextId = firstId;
  }

  /** Take the maps of a document; what was fetched for another text or other positions is forgotten. */
  load(maps: readonly HeadMap[], buffer: Buffer, words: boolean, fresh: boolean): void {
    if (fresh || words !== this.#words) {
      this.#maps.clear();
      this.#errors.clear();
      this.#source = null;
    }
    this.#words = words;
    if (this.#source === maps && this.#buffer === buffer) return;
    this.#source = maps;
    this.#buffer = buffer;
    for (const map of maps) {
      const key = keyOf(map);
      try {
        this.#maps.set(key, decodeMap(map, buffer));
        this.#errors.delete(key);
      } catch (error) {
        this.#errors.set(key, sentence(error));
      }
    }
  }

  /** Say which maps are on show; those that are missing are asked for, the last of the list first. */
  want(keys: readonly MapKey[]): void {
    this.#wanted = keys;
    this.#ask();
  }

  /** What is known of a map. */
  state(key: MapKey): MapState {
    const name = keyOf(key);
    const map = this.#maps.get(name);
    if (map !== undefined) return { status: "ready", map };
    const error = this.#errors.get(name);
    if (error !== undefined) return { status: "error", message: error };
    const head = headName(key.head, false);
    if (this.#send === undefined) {
      return {
        status: "error",
        message: `The ${key.view} map of ${head} is not in this file; choose another head.`,
      };
    }
    const slow = this.#isSlow && this.#inFlight?.key === name;
    return {
      status: "loading",
      message: slow
        ? `Still loading ${head}: the kernel is busy, or gone (then run the cell again).`
        : `Loading ${head} …`,
    };
  }

  /** Take an answer from the other side; true when it was for this store. */
  receive(answer: Answer, buffer: Buffer): boolean {
    const flight = this.#inFlight;
    if (flight === null || answer.id !== flight.id) return false;
    // "done" without a map: it was given up, since another view was chosen. Who still wants it asks again.
    if (answer.answer === "estimate") return false;
    this.#land();
    if (flight.words === this.#words) {
      if (answer.answer === "error") this.#errors.set(flight.key, answer.message);
      else if (answer.answer === "head_map") {
        try {
          this.#maps.set(flight.key, decodeMap(answer.map, buffer));
        } catch (error) {
          this.#errors.set(flight.key, sentence(error));
        }
      }
    }
    this.#ask();
    this.#changed();
    return true;
  }

  /** Ask again for what failed. */
  retry(): void {
    this.#errors.clear();
    this.#ask();
    this.#changed();
  }

  dispose(): void {
    this.#land();
    this.#wanted = [];
  }

  #land(): void {
    clearTimeout(this.#slow);
    this.#inFlight = null;
    this.#isSlow = false;
  }

  #ask(): void {
    if (this.#send === undefined || this.#inFlight !== null) return;
    for (let at = this.#wanted.length - 1; at >= 0; at -= 1) {
      const wish = this.#wanted[at];
      if (wish === undefined) continue;
      const key = keyOf(wish);
      if (this.#maps.has(key) || this.#errors.has(key)) continue;
      const id = this.#nextId;
      this.#nextId += 1;
      this.#inFlight = { id, key, words: this.#words };
      this.#slow = setTimeout(() => {
        this.#isSlow = true;
        this.#changed();
      }, SLOW);
      this.#send({ id, ask: "head_map", view: wish.view, head: wish.head, words: this.#words });
      return;
    }
  }
}

function keyOf(key: MapKey): string {
  return `${key.view} ${key.head.join(" ")}`;
}

function sentence(error: unknown): string {
  return `The map cannot be read: ${error instanceof Error ? error.message : String(error)}.`;
}

/** `heads` with `head` switched on or off; without `add` it becomes the only one. */
export function toggled(heads: readonly HeadRef[], head: HeadRef, add: boolean): HeadRef[] {
  if (!add) return [head];
  const others = heads.filter((other) => !sameHead(other, head));
  if (others.length === heads.length) return [...heads, head];
  return others.length > 0 ? others : [head];
}
