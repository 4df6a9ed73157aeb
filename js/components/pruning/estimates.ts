// Estimates by count: those of the document, those that came as answers, and the one that is asked for. One request
// is in flight and the newest position wins.
import type { Answer, CurvePoint, EstimateData, EstimateRequest, PruningDocument } from "../../wire/types.js";
import { estimateAt } from "./model.js";

/** Milliseconds after which an unanswered request no longer holds back a newer position. */
const PATIENCE = 2000;

interface Flight {
  readonly id: number;
  readonly count: number;
  answered: boolean;
}

export class Estimates {
  readonly #send: ((request: EstimateRequest) => void) | undefined;
  readonly #nextId: () => number;
  readonly #changed: () => void;
  readonly #answers = new Map<number, EstimateData>();
  #document: PruningDocument | null = null;
  #key = "";
  #ids = new Map<number, number>();
  #wanted: number | null = null;
  #flight: Flight | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #error = "";

  /** `send` is absent where no kernel answers. */
  constructor(
    send: ((request: EstimateRequest) => void) | undefined,
    nextId: () => number,
    changed: () => void,
  ) {
    this.#send = send;
    this.#nextId = nextId;
    this.#changed = changed;
  }

  /** Take a document; another ranking or ablation forgets the answers. */
  load(document: PruningDocument): void {
    if (document === this.#document) return;
    const key = JSON.stringify([document.metric, document.method, document.ablation, document.order]);
    if (key !== this.#key) {
      this.#key = key;
      this.#answers.clear();
      this.#ids.clear();
      this.#land();
      this.#error = "";
    }
    this.#document = document;
  }

  /** What is known at a count: the answer or the document, whichever saw more examples. */
  at(count: number): EstimateData | null {
    const sent = this.#document === null ? null : estimateAt(this.#document, count);
    const answer = this.#answers.get(count) ?? null;
    if (sent === null || answer === null) return sent ?? answer;
    return answer.n > sent.n ? answer : sent;
  }

  /** All known points, by count. */
  points(): CurvePoint[] {
    const counts = new Set<number>(this.#answers.keys());
    for (const point of this.#document?.points ?? []) counts.add(point.count);
    const points: CurvePoint[] = [];
    for (const count of [...counts].sort((a, b) => a - b)) {
      const estimate = this.at(count);
      if (estimate !== null) points.push({ count, estimate });
    }
    return points;
  }

  /** Whether an estimate of this count is on its way. */
  waiting(count: number): boolean {
    return this.#send !== undefined && this.#flight !== null && this.#wanted === count;
  }

  /** The last request's failure, as a sentence. */
  get error(): string {
    return this.#error;
  }

  /** Say where the slider stands. */
  want(count: number): void {
    if (count !== this.#wanted) this.#error = "";
    this.#wanted = count;
    this.#ask();
  }

  /** Take an answer; true when it was for this slider. */
  receive(answer: Answer): boolean {
    const count = this.#ids.get(answer.id);
    if (count === undefined) return false;
    const flight = this.#flight?.id === answer.id ? this.#flight : null;
    if (answer.answer === "estimate") {
      // An overtaken request's answer is still true of its own count.
      const known = this.#answers.get(answer.point.count);
      if (known === undefined || answer.point.estimate.n >= known.n) {
        this.#answers.set(answer.point.count, answer.point.estimate);
      }
      if (flight !== null) flight.answered = true;
      if (flight !== null && answer.done) this.#land();
    } else if (flight !== null) {
      if (answer.answer === "error") {
        this.#error = answer.message;
        if (this.#wanted === flight.count) this.#wanted = null;
      }
      this.#land();
    }
    this.#ask();
    this.#changed();
    return true;
  }

  dispose(): void {
    this.#land();
    this.#wanted = null;
  }

  #land(): void {
    clearTimeout(this.#timer);
    this.#flight = null;
  }

  #ask(): void {
    const count = this.#wanted;
    const send = this.#send;
    if (count === null || send === undefined || this.#document === null) return;
    if (this.#document.order.length === 0 && count > 0) return;
    if (this.at(count)?.exact === true) return;
    const flight = this.#flight;
    if (flight !== null && (flight.count === count || !flight.answered)) return;
    this.#land();
    const id = this.#nextId();
    this.#ids.set(id, count);
    this.#flight = { id, count, answered: false };
    this.#timer = setTimeout(() => {
      // Cancelled requests are never answered.
      if (this.#flight?.id === id) this.#flight.answered = true;
      this.#ask();
    }, PATIENCE);
    send({ id, ask: "estimate", count });
  }
}
