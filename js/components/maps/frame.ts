// What the live views of one text share: the bar's common controls, maps on demand, messages, and the life of a mount.

import type { MapView } from "../../marks/picture.js";
import type { Theme } from "../../theme/palette.js";
import type { Buffer } from "../../wire/decode.js";
import type {
  Answer,
  AttentionDocument,
  AttributionDocument,
  HeadMapRequest,
  HeadRef,
  KindName,
} from "../../wire/types.js";
import type { Component, StaticProps } from "../component.js";
import { check, choice, h, liveRegion, rootOf, say, set } from "../controls.js";
import { observeWidth } from "../width.js";
import { type MapKey, MapStore } from "./store.js";
import { viewChoice, viewOptions } from "./views.js";

type TextDocument = AttentionDocument | AttributionDocument;

/** What the user meant, in any view of a text. */
export interface TextEvents {
  onSelected(selected: HeadRef[]): void;
  onView(view: MapView): void;
  onHideSpecial(hide: boolean): void;
  /** Words or tokens as positions; absent where no kernel can compute the other. */
  readonly onWords?: (words: boolean) => void;
  /** A head's map is wanted; absent where no kernel answers. */
  readonly onRequest?: (request: HeadMapRequest) => void;
}

export interface TextComponent<P> extends Component<P> {
  /** An answer of the kernel; true when it was for this view. */
  receive(answer: Answer, buffer: Buffer): boolean;
}

/** What a view shows now, of what all of them have. */
export interface TextState {
  readonly view: MapView;
  readonly words: boolean;
  readonly hideSpecial: boolean;
  readonly title: string;
}

interface Own<P> {
  readonly name: string;
  /** The read-out when nothing is pointed at. */
  hint(): string;
  render(props: P): void;
}

/** The parts of a view, and the steps of its `render`. */
export class TextFrame<P extends StaticProps<TextDocument> & { readonly status?: string }> {
  readonly #teardown = new AbortController();
  readonly signal = this.#teardown.signal;
  readonly root: HTMLElement;
  readonly live = liveRegion();
  readonly title = h("strong", {});
  readonly state = h("div", { class: "hw-state" });
  readonly readout = h("div", { class: "hw-readout" });
  readonly store: MapStore;
  readonly kinds = choice("Kind of attention", this.signal, (value) => {
    this.kind = value as KindName;
    this.render();
  });
  readonly views = viewChoice(
    this.signal,
    (view) => this.#events.onView(view),
    (why) => this.tell(why, true),
  );
  readonly words = check("whole words", this.signal, (on) => this.#events.onWords?.(on));
  readonly special = check("hide special tokens", this.signal, (on) => this.#events.onHideSpecial(on));
  /** The kind on show; null for that of the first selected head. */
  kind: KindName | null = null;
  width = 720;
  props: P;
  readonly #events: TextEvents;
  readonly #own: Own<P>;
  #identity = "";
  #selection = "";
  #failure = "";

  constructor(el: HTMLElement, props: P, events: TextEvents, own: Own<P>) {
    this.props = props;
    this.#events = events;
    this.#own = own;
    this.root = rootOf(el, own.name, props.document.title, this.signal);
    this.store = new MapStore(
      events.onRequest,
      () => this.render(),
      1 + Math.floor(Math.random() * 1e6) * 1000,
    );
  }

  /** Begin to live: call once when all elements are in place. */
  start(): TextComponent<P> {
    const stopWidth = observeWidth(this.root, (pixels) => {
      this.width = pixels;
      this.render();
    });
    this.signal.addEventListener("abort", stopWidth, { once: true });
    this.render();
    return {
      update: (next) => {
        this.props = next;
        this.render();
      },
      receive: (answer, buffer) => {
        if (this.store.receive(answer, buffer)) return true;
        // What else can fail is the switch to whole words.
        if (answer.answer !== "error") return false;
        this.#failure = answer.message;
        this.render();
        return true;
      },
      destroy: () => {
        this.store.dispose();
        this.#teardown.abort();
        this.root.remove();
      },
    };
  }

  render(): void {
    if (!this.signal.aborted) this.#own.render(this.props);
  }

  /** First step: take in the document; another text forgets what belonged to the one before. */
  take(words: boolean): void {
    const { document, buffer } = this.props;
    const shapes = document.panels.map((one) => [
      one.kind,
      one.layers,
      one.heads,
      one.query.length,
      one.key.length,
    ]);
    const target = "target" in document ? document.target : "";
    const identity = JSON.stringify([document.text, document.provenance, target, shapes]);
    this.store.load(document.maps, buffer, words, identity !== this.#identity);
    if (identity !== this.#identity) this.#failure = "";
    this.#identity = identity;
    const selection = JSON.stringify(document.selected);
    if (selection === this.#selection) return;
    this.#selection = selection;
    const chosen = document.selected[document.document === "attention" ? document.selected.length - 1 : 0];
    if (chosen !== undefined) this.kind = chosen[0];
  }

  /** Second step: the controls that every view has. */
  controls(kind: KindName | "", state: TextState, theme: Theme): void {
    const { document } = this.props;
    const events = this.#events;
    set(this.root, "data-theme", theme);
    set(this.root, "aria-label", state.title);
    say(this.title, state.title);
    this.kinds.show(
      document.panels.map((one) => [one.kind, one.label]),
      kind,
    );
    const both = document.document === "attribution";
    this.views.show(viewOptions(document, events.onRequest !== undefined, both), state.view);
    this.words.show(
      state.words,
      events.onWords !== undefined,
      events.onWords ? "" : "Needs a running kernel",
    );
    this.special.show(state.hideSpecial, true, "");
  }

  /** Last step: say what is missing or running, and ask for the maps that are wanted. */
  finish(messages: readonly string[], wanted: readonly MapKey[]): void {
    const all = [this.props.status ?? "", this.#failure, ...messages].filter((one) => one !== "");
    say(this.state, [...new Set(all)].join(" "));
    this.state.hidden = all.length === 0;
    this.store.want(wanted);
  }

  /** Show what is pointed at; spoken when it was asked for by keyboard or by tap. */
  readonly tell = (text: string, spoken: boolean): void => {
    say(this.readout, text === "" ? this.#own.hint() : text);
    if (spoken) say(this.live, text);
  };
}
