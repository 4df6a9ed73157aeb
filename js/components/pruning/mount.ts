/** The slider, live: while it is dragged its local position is the truth; the metric follows. */

import { palette } from "../../theme/palette.js";
import type { Answer, ChoiceRequest, EstimateRequest, HeadRef, PruningDocument } from "../../wire/types.js";
import type { Component, StaticProps } from "../component.js";
import { drawing, h, liveRegion, menu, on, paint, perFrame, rootOf, say, set } from "../controls.js";
import { metricRange } from "../curve/draw.js";
import { observeWidth } from "../width.js";
import { Estimates } from "./estimates.js";
import { drawInterval, INTERVAL_HEIGHT } from "./interval.js";
import { clampCount, countText, prunedAt, readingOf } from "./model.js";

export type PruningProps = StaticProps<PruningDocument>;

/** What the user meant. */
export interface PruningEvents {
  /** The heads pruned at the slider's position, at most once per frame while it moves. */
  onPruned(pruned: HeadRef[]): void;
  /** The slider was let go (or a number was typed): this is the count. */
  onCount(count: number): void;
  /** A question for the kernel; absent where none answers. */
  readonly onRequest?: (request: EstimateRequest | ChoiceRequest) => void;
  /** What is known has grown: for a curve beside the panel. */
  readonly onPoints?: (document: PruningDocument) => void;
}

export interface PruningComponent extends Component<PruningProps> {
  receive(answer: Answer): boolean;
}

/** Mount the slider panel into `el`. */
export function mount(el: HTMLElement, first: PruningProps, events: PruningEvents): PruningComponent {
  const teardown = new AbortController();
  const { signal } = teardown;
  let props = first;
  let count = clampCount(first.document, first.document.count);
  let told = first.document.count;
  let held = false;
  let choosing: { readonly id: number; readonly method: string; readonly ablation: string } | null = null;
  let choiceError = "";
  let width = 720;
  let range: readonly [number, number] = [1, 0];
  let rangeKey = "";
  let id = Math.floor(Math.random() * 1e6) * 1000;
  const nextId = (): number => {
    id += 1;
    return id;
  };

  const root = rootOf(el, "pruning", first.document.title, signal);
  const live = liveRegion();
  const title = h("strong", {});
  const methods = menu("ranking", signal, (value) => choose(value, ablationNow()));
  const ablations = menu("ablation", signal, (value) => choose(methodNow(), value));
  const slider = h("input", {
    type: "range",
    class: "hw-slider",
    min: 0,
    step: 1,
    "aria-label": "Heads pruned",
  });
  const number = h("input", {
    type: "number",
    min: 0,
    step: 1,
    inputmode: "numeric",
    "aria-label": "Number of heads pruned",
  });
  const percent = h("input", {
    type: "number",
    min: 0,
    max: 100,
    step: "any",
    inputmode: "decimal",
    "aria-label": "Percent of heads pruned",
  });
  const total = h("span", {});
  const value = h("span", { class: "hw-value" });
  const change = h("span", {});
  const progress = h("span", { class: "hw-progress" });
  const interval = h("div", { class: "hw-muted" });
  const bar = h("div", { class: "hw-interval", "aria-hidden": "true" });
  const status = h("div", { class: "hw-state" });
  const error = h("div", { class: "hw-error", role: "alert" });
  root.append(
    h("div", { class: "hw-bar" }, title, methods.element, ablations.element),
    h(
      "div",
      { class: "hw-slide" },
      slider,
      h("span", { class: "hw-numbers" }, h("label", {}, number, total), h("label", {}, percent, "%")),
    ),
    h("div", { class: "hw-reading" }, value, change, progress),
    interval,
    bar,
    status,
    error,
    live,
  );
  const estimates = new Estimates(events.onRequest, nextId, () => render());
  const follow = perFrame(() => {
    events.onPruned(prunedAt(props.document, count));
    renderReading();
  }, signal);

  function methodNow(): string {
    return choosing?.method ?? props.document.method;
  }
  function ablationNow(): string {
    return choosing?.ablation ?? props.document.ablation;
  }

  function choose(method: string, ablation: string): void {
    if (events.onRequest === undefined) return;
    choosing = { id: nextId(), method, ablation };
    choiceError = "";
    events.onRequest({ id: choosing.id, ask: "choose", method, ablation });
    render();
  }

  /** Move to a count; `final` when the user let go. `typing` is the field being typed into: it is left alone. */
  function move(to: number, final: boolean, typing: HTMLInputElement | null): void {
    const next = clampCount(props.document, to);
    const moved = next !== count;
    count = next;
    showPosition(typing);
    if (moved) {
      estimates.want(count);
      follow();
    }
    if (!final) return;
    held = false;
    if (moved || count !== told) {
      told = count;
      events.onCount(count);
    }
    showPosition(null);
    announce();
  }

  function announce(): void {
    const reading = readingOf(props.document, count, estimates.at(count), estimates.waiting(count));
    say(
      live,
      [countText(props.document, count), reading.value, reading.change, reading.progress]
        .filter(Boolean)
        .join(", "),
    );
  }

  on(
    slider,
    "pointerdown",
    () => {
      held = true;
    },
    signal,
  );
  on(
    slider,
    "input",
    () => {
      held = true;
      move(slider.valueAsNumber, false, null);
    },
    signal,
  );
  on(slider, "change", () => move(slider.valueAsNumber, true, null), signal);
  for (const type of ["pointerup", "pointercancel", "blur"] as const) {
    on(
      slider,
      type,
      () => {
        if (held) move(slider.valueAsNumber, true, null);
      },
      signal,
    );
  }
  const typed = (field: HTMLInputElement, toCount: (value: number) => number): void => {
    on(
      field,
      "input",
      () => {
        if (field.value.trim() === "" || !Number.isFinite(field.valueAsNumber)) return;
        held = true;
        move(toCount(field.valueAsNumber), false, field);
      },
      signal,
    );
    on(field, "change", () => move(count, true, null), signal);
    on(field, "blur", () => (held ? move(count, true, null) : showPosition(null)), signal);
    on(
      field,
      "keydown",
      (event) => {
        if (event.key === "Enter") move(count, true, null);
      },
      signal,
    );
  };
  typed(number, (entered) => entered);
  typed(percent, (entered) => (entered / 100) * props.document.order.length);

  /** Slider, fields and words that say where the slider stands. */
  function showPosition(typing: HTMLInputElement | null): void {
    const { document } = props;
    const most = document.order.length;
    set(slider, "max", most);
    set(number, "max", most);
    slider.disabled = most === 0;
    number.disabled = most === 0;
    percent.disabled = most === 0;
    if (slider.value !== String(count)) slider.value = String(count);
    if (typing !== number && number.value !== String(count)) number.value = String(count);
    const share = most === 0 ? "0" : String(Number(((100 * count) / most).toFixed(1)));
    if (typing !== percent && percent.value !== share) percent.value = share;
    say(total, most === 0 ? "heads" : `of ${most} heads pruned`);
    set(slider, "aria-valuetext", countText(document, count));
    slider.style.setProperty("--hw-at", `${most === 0 ? 0 : (100 * count) / most}%`);
  }

  /** The metric at the slider's position. */
  function renderReading(): void {
    const { document, theme } = props;
    const colors = palette(theme);
    const estimate = estimates.at(count);
    const reading = readingOf(document, count, estimate, estimates.waiting(count));
    say(value, reading.value);
    say(change, reading.change);
    say(progress, reading.progress);
    set(progress, "data-exact", estimate?.exact === true);
    say(interval, reading.interval);
    const points = estimates.points();
    const known = { ...document, count, points };
    const [low, high] = metricRange(known);
    const key = `${document.metric} ${document.method} ${document.ablation}`;
    // The axis only ever widens while one thing is looked at, so that a narrowing bar does not seem to move.
    range = key === rangeKey ? [Math.min(low, range[0]), Math.max(high, range[1])] : [low, high];
    rangeKey = key;
    const wide = Math.min(620, width);
    paint(bar, drawing(wide, INTERVAL_HEIGHT, drawInterval(document, estimate, range, wide, colors)));
    const failure = choiceError || estimates.error;
    say(error, failure);
    error.hidden = failure === "";
    events.onPoints?.(known);
  }

  function render(): void {
    if (signal.aborted) return;
    const { document, theme } = props;
    set(root, "data-theme", theme);
    set(root, "aria-label", document.title);
    say(title, document.title);
    if (choosing !== null && choosing.method === document.method && choosing.ablation === document.ablation) {
      choosing = null;
    }
    const canAsk = events.onRequest !== undefined;
    const listed = (options: readonly string[], current: string): readonly string[] =>
      options.includes(current) ? options : [current, ...options];
    methods.show(listed(document.methods, document.method), methodNow(), canAsk);
    ablations.show(listed(document.ablations, document.ablation), ablationNow(), canAsk);
    const words =
      document.status !== ""
        ? document.status
        : choosing !== null
          ? `Ranking by ${choosing.method}, ablation ${choosing.ablation} …`
          : "";
    say(status, words);
    estimates.load(document);
    showPosition(fieldInUse());
    renderReading();
    if (!held) estimates.want(count);
  }

  function fieldInUse(): HTMLInputElement | null {
    const active = root.ownerDocument.activeElement;
    return held && (active === number || active === percent) ? (active as HTMLInputElement) : null;
  }

  const stopWidth = observeWidth(root, (pixels) => {
    width = pixels;
    renderReading();
  });
  signal.addEventListener("abort", stopWidth, { once: true });
  render();
  return {
    update(next) {
      const before = props.document;
      props = next;
      // A count from Python moves the slider, except under the user's hand.
      if (next.document.count !== told && !held) {
        told = next.document.count;
        count = clampCount(next.document, told);
      }
      const inRange = clampCount(next.document, count);
      if (inRange !== count && next.document.order.length > 0) count = inRange;
      if (next.document.order !== before.order && next.document.order.length > 0) {
        if (JSON.stringify(next.document.order) !== JSON.stringify(before.order)) follow();
      }
      render();
    },
    receive(answer) {
      if (choosing !== null && answer.id === choosing.id) {
        if (answer.answer === "error") choiceError = answer.message;
        choosing = null;
        render();
        return true;
      }
      return estimates.receive(answer);
    },
    destroy() {
      estimates.dispose();
      teardown.abort();
      root.remove();
    },
  };
}
