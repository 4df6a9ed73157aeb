/** A number by slider and by typing: while it is turned, its own position is the truth. */

import { h, on, set } from "../controls.js";

export interface DialEvents {
  /** At every move. */
  turned(value: number): void;
  /** Let go, or typed to the end. */
  settled(value: number): void;
}

export interface Dial {
  readonly element: HTMLElement;
  /** Under the user's hand. */
  readonly held: boolean;
  show(value: number, least: number, most: number, spoken: string): void;
}

export function mountDial(label: string, name: string, signal: AbortSignal, events: DialEvents): Dial {
  const slider = h("input", { type: "range", class: "hw-slider", step: 0.01, "aria-label": name });
  const field = h("input", {
    type: "number",
    step: "any",
    inputmode: "decimal",
    "aria-label": `${name}, typed`,
  });
  const element = h(
    "div",
    { class: "hw-slide" },
    h("span", { class: "hw-dial" }, label),
    slider,
    h("span", { class: "hw-numbers" }, field),
  );
  let held = false;
  let typing = false;
  let value = 0;
  let range: readonly [number, number] = [0, 1];
  const move = (to: number): void => {
    if (!Number.isFinite(to)) return;
    held = true;
    value = Math.max(range[0], Math.min(range[1], to));
    events.turned(value);
  };
  const settle = (): void => {
    typing = false;
    place();
    if (!held) return;
    held = false;
    events.settled(value);
  };
  const place = (): void => {
    const [least, most] = range;
    // The slider's steps count from its least value, so the exact one may lie between two.
    if (Math.abs(slider.valueAsNumber - value) > 0.005) slider.value = String(value);
    const text = String(Number(value.toFixed(3)));
    if (!typing && field.value !== text) field.value = text;
    const share = most > least ? (100 * (value - least)) / (most - least) : 0;
    slider.style.setProperty("--hw-at", `${Math.max(0, Math.min(100, share))}%`);
  };
  on(slider, "input", () => move(slider.valueAsNumber), signal);
  for (const type of ["change", "pointerup", "pointercancel", "blur"] as const)
    on(slider, type, settle, signal);
  on(
    field,
    "input",
    () => {
      if (field.value.trim() === "" || !Number.isFinite(field.valueAsNumber)) return;
      typing = true;
      move(field.valueAsNumber);
    },
    signal,
  );
  for (const type of ["change", "blur"] as const) on(field, type, settle, signal);
  on(
    field,
    "keydown",
    (event) => {
      if (event.key === "Enter") settle();
    },
    signal,
  );
  return {
    element,
    get held() {
      return held;
    },
    show(next, least, most, spoken) {
      range = [least, most];
      value = next;
      for (const input of [slider, field]) {
        set(input, "min", least);
        set(input, "max", most);
      }
      set(slider, "aria-valuetext", spoken);
      place();
    },
  };
}
