// The shaded tokens, to point at and to walk along.
import { LEGEND_HEIGHT, legend } from "../../marks/legend.js";
import { rect } from "../../marks/svg.js";
import type { Palette } from "../../theme/palette.js";
import { drawing, h, on, paint, perFrame, say, set, size } from "../controls.js";
import type { TokenValues } from "./model.js";
import { describeToken, drawStrip, hitStrip, layoutStrip, type StripLayout } from "./strip.js";

export interface StripProps {
  readonly tokens: TokenValues;
  readonly title: string;
  readonly unit: string;
  readonly target: string;
  readonly mirrored: boolean;
  readonly palette: Palette;
  readonly width: number;
}

export interface StripView {
  readonly element: HTMLElement;
  update(props: StripProps): void;
}

/** Mount a strip; `told` receives what a token carries. */
export function mountStrip(signal: AbortSignal, told: (text: string, spoken: boolean) => void): StripView {
  const title = h("div", { class: "hw-heading" });
  const picture = h("div", { class: "hw-picture", "aria-hidden": "true" });
  const overlay = h("div", { class: "hw-overlay", "aria-hidden": "true" });
  const stage = h("div", { class: "hw-stage" }, picture, overlay);
  const scroll = h("div", { class: "hw-scroll hw-strip", tabindex: 0, role: "group" }, stage);
  const key = h("div", { "aria-hidden": "true" });
  const element = h("div", { class: "hw-strips" }, title, scroll, key);
  let props: StripProps | null = null;
  let layout: StripLayout | null = null;
  let at: number | null = null;
  let pinned = false;
  let point: readonly [number, number] | null = null;

  function show(spoken: boolean): void {
    if (props === null || layout === null) return;
    const box = layout.boxes.find((one) => one.at === at);
    const body =
      box === undefined
        ? ""
        : rect(box.x + 0.5, box.y + 0.5, box.width - 1, 24, {
            fill: "none",
            stroke: props.palette.selected,
            "stroke-width": 2,
            rx: 2,
          });
    paint(overlay, drawing(layout.width, layout.height, body));
    told(at === null ? "" : describeToken(props.tokens, at, props.unit, props.target), spoken);
  }

  const follow = perFrame(() => {
    if (layout === null || pinned) return;
    at = point === null ? null : hitStrip(layout, point[0], point[1]);
    show(false);
  }, signal);
  const locate = (event: MouseEvent): readonly [number, number] => {
    const box = stage.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  on(
    stage,
    "pointermove",
    (event) => {
      if (event.pointerType === "touch") return;
      point = locate(event);
      follow();
    },
    signal,
  );
  on(
    stage,
    "pointerleave",
    () => {
      point = null;
      follow();
    },
    signal,
  );
  on(
    stage,
    "click",
    (event) => {
      if (layout === null) return;
      const [x, y] = locate(event);
      const hit = hitStrip(layout, x, y);
      pinned = hit !== null && !(pinned && hit === at);
      at = hit;
      show(true);
    },
    signal,
  );
  on(
    scroll,
    "keydown",
    (event) => {
      if (props === null || layout === null || event.ctrlKey || event.metaKey || event.altKey) return;
      const last = props.tokens.positions.length - 1;
      const forward = props.mirrored ? "ArrowLeft" : "ArrowRight";
      const backward = props.mirrored ? "ArrowRight" : "ArrowLeft";
      if (event.key === "Escape") {
        at = null;
        pinned = false;
      } else if (event.key === "Home") at = 0;
      else if (event.key === "End") at = last;
      else if (event.key === forward) at = at === null ? 0 : Math.min(last, at + 1);
      else if (event.key === backward) at = at === null ? 0 : Math.max(0, at - 1);
      else return;
      event.preventDefault();
      pinned = at !== null;
      show(true);
      const box = layout.boxes.find((one) => one.at === at);
      if (box === undefined) return;
      if (box.y < scroll.scrollTop) scroll.scrollTop = box.y;
      if (box.y + box.height > scroll.scrollTop + scroll.clientHeight) {
        scroll.scrollTop = box.y + box.height - scroll.clientHeight;
      }
    },
    signal,
  );

  return {
    element,
    update(next) {
      props = next;
      const strip = layoutStrip(next.tokens, Math.max(120, next.width - 4), next.mirrored, next.palette);
      layout = strip;
      const unit = next.unit;
      const wide = Math.min(strip.width, 420);
      const meaning = "attribution of a token: solid supports, dashed opposes";
      const colors = { title: meaning, unit, palette: next.palette, width: wide };
      paint(picture, drawing(strip.width, strip.height, drawStrip(strip, next.tokens, next.palette)));
      paint(key, drawing(wide, LEGEND_HEIGHT, legend(0, 0, strip.scale, colors)));
      say(title, next.title);
      set(scroll, "aria-label", `${next.title}. Arrow keys move from token to token.`);
      size(stage, strip.width, strip.height);
      if (at !== null && at >= next.tokens.positions.length) {
        at = null;
        pinned = false;
      }
      if (at !== null) show(false);
    },
  };
}
