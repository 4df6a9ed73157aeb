/** Numbered requests to Python and what comes back, for the components that ask. */

import type { AnyModel } from "@anywidget/types";
import { type Buffer, bytesOf } from "../wire/decode.js";
import type { Answer } from "../wire/types.js";
import type { LiveState } from "./live.js";

interface Receiver {
  receive(answer: Answer, buffer: Buffer): boolean;
}

const ANSWERS = ["head_map", "estimate", "done", "error"];

function isAnswer(message: unknown): message is Answer {
  if (typeof message !== "object" || message === null) return false;
  const { id, answer } = message as { id?: unknown; answer?: unknown };
  return typeof id === "number" && typeof answer === "string" && ANSWERS.includes(answer);
}

/** Hand answers to whichever component `current` gives; returns what stops it. */
export function listen<S extends LiveState>(model: AnyModel<S>, current: () => Receiver | null): () => void {
  const take = (message: unknown, buffers: readonly DataView[] = []): void => {
    if (isAnswer(message)) current()?.receive(message, bytesOf(buffers[0]));
  };
  model.on("msg:custom", take);
  return () => model.off("msg:custom", take);
}

/** Numbers for requests that several views of one model do not share. */
export function numbers(): () => number {
  let next = Math.floor(Math.random() * 1e6) * 1000;
  return () => {
    next += 1;
    return next;
  };
}
