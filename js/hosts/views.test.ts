// @vitest-environment happy-dom
import type { AnyModel } from "@anywidget/types";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { found, frameDone, press } from "../testing/dom.js";
import { probeDocument } from "../testing/probes.js";
import { ENGLISH } from "../testing/texts.js";
import { triggersDocument } from "../testing/triggers.js";
import {
  attentionDocument,
  attentionMap,
  attributionDocument,
  estimate,
  pruningDocument,
} from "../testing/views.js";
import { fromBase64 } from "../wire/base64.js";
import type { ArrayRef, HeadMap } from "../wire/types.js";
import attention from "./anywidget/attention.js";
import attribution from "./anywidget/attribution.js";
import probe from "./anywidget/probe.js";
import pruning from "./anywidget/pruning.js";
import triggers from "./anywidget/triggers.js";

type Listener = (...args: unknown[]) => void;

/** A model as a host gives it: state, listeners, messages. */
class FakeModel {
  readonly sent: Record<string, unknown>[] = [];
  readonly saved: Record<string, unknown>[] = [];
  readonly #listeners = new Map<string, Set<Listener>>();
  #dirty: Record<string, unknown> = {};

  constructor(readonly state: Record<string, unknown>) {}

  get(name: string): unknown {
    return this.state[name];
  }

  set(name: string, value: unknown): void {
    this.state[name] = value;
    this.#dirty[name] = value;
    this.emit(`change:${name}`);
  }

  save_changes(): void {
    this.saved.push(this.#dirty);
    this.#dirty = {};
  }

  send(message: Record<string, unknown>): void {
    this.sent.push(message);
  }

  on(name: string, listener: Listener): void {
    const listeners = this.#listeners.get(name) ?? new Set();
    this.#listeners.set(name, listeners.add(listener));
  }

  off(name: string, listener: Listener): void {
    this.#listeners.get(name)?.delete(listener);
  }

  emit(name: string, ...args: unknown[]): void {
    for (const listener of this.#listeners.get(name) ?? []) listener(...args);
  }

  get listening(): number {
    return [...this.#listeners.values()].reduce((sum, listeners) => sum + listeners.size, 0);
  }
}

/** A document as a live widget has it: arrays by offset into one buffer that starts anywhere in its memory. */
function live(document: object): { document: unknown; buffer: DataView } {
  const pieces: Uint8Array[] = [];
  let size = 0;
  const walk = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(walk);
    if (typeof value !== "object" || value === null) return value;
    const ref = value as Partial<ArrayRef>;
    if (ref.dtype !== undefined && ref.data !== undefined) {
      const bytes = fromBase64(ref.data);
      const offset = size;
      pieces.push(bytes);
      size += Math.ceil(bytes.length / 8) * 8;
      return { dtype: ref.dtype, shape: ref.shape, offset };
    }
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, walk(item)]));
  };
  const walked = walk(document);
  const memory = new Uint8Array(size + 3);
  let at = 3;
  for (const piece of pieces) {
    memory.set(piece, at);
    at += Math.ceil(piece.length / 8) * 8;
  }
  return { document: walked, buffer: new DataView(memory.buffer, 3) };
}

describe("anywidget hosts", () => {
  let el: HTMLElement;
  let model: FakeModel;
  let stop: () => void;

  type Host = { render(context: never): unknown };
  function open(host: Host, document: object, traits: Record<string, unknown>): void {
    model = new FakeModel({ ...live(document), version: 1, theme: "light", status: "", ...traits });
    const context = { model: model as unknown as AnyModel, el };
    stop = host.render(context as never) as () => void;
  }

  beforeEach(() => {
    el = document.createElement("div");
    document.body.append(el);
  });
  afterEach(() => {
    stop();
    expect(model.listening).toBe(0);
    expect(el.innerHTML).toBe("");
    el.remove();
  });

  it("probe: reads its arrays from the buffer, writes a row with its best head at once, and follows them", async () => {
    const document = probeDocument();
    open(probe as Host, document, { row: 0, selected: [document.rows[0]?.best], sort: "", tree: 0 });
    const rows = () => [...el.querySelectorAll<HTMLElement>(".hw-table-rows tbody tr")];
    rows()[2]?.click();
    expect(model.saved).toEqual([{ row: 2, selected: [document.rows[2]?.best] }]);
    await frameDone();
    expect(rows()[2]?.getAttribute("aria-selected")).toBe("true");
    model.set("selected", [["encoder", 0, 1]]); // as a grid beside it does
    await frameDone();
    expect(found(el, ".hw-probe-detail").textContent).toContain("L0H1");
    found(el, 'button[data-key="n"]').click();
    expect(model.saved.at(-1)).toEqual({ selected: [["encoder", 0, 1]], sort: "-n" });
  });

  it("triggers: reads its arrays from the buffer, writes row and order, and follows them", async () => {
    open(triggers as Host, triggersDocument(), { selected: -1, sort: "" });
    const rows = () => [...el.querySelectorAll<HTMLElement>('[role="grid"] tbody tr')];
    expect(rows()[0]?.textContent).toContain("90.0 \u2192 43.0 %");
    rows()[2]?.click();
    expect(model.saved).toEqual([{ selected: 2 }]);
    found(el, 'button[data-key="score"]').click();
    expect(model.saved.at(-1)).toEqual({ sort: "-score" });
    await frameDone();
    expect(rows().map((row) => row.dataset.row)).toEqual(["0", "1", "3", "2"]);
    expect(rows()[3]?.getAttribute("aria-selected")).toBe("true");
  });

  it("attention: writes what was chosen, asks for its map and takes the answer's buffer", async () => {
    const selected = [["encoder", 3, 5]];
    open(attention as Host, attentionDocument(ENGLISH), { selected, hide_special: false, mode: "lines" });
    const cell = found(el, '[role="gridcell"]');
    press(cell, "Enter");
    expect(model.saved).toEqual([{ selected: [["encoder", 0, 0]] }]);
    await frameDone();
    expect(model.sent).toHaveLength(1);
    expect(model.sent[0]).toMatchObject({ ask: "head_map", head: ["encoder", 0, 0], words: false });
    const packed = live({ map: attentionMap(["encoder", 0, 0], ENGLISH, ENGLISH) });
    const { map } = packed.document as { map: HeadMap };
    model.emit("msg:custom", { id: model.sent[0]?.id, answer: "head_map", map }, [packed.buffer]);
    expect(found(el, ".hw-maps").getAttribute("aria-label")).toContain("L0H0");
    expect(found(el, ".hw-state").hidden).toBe(true);
  });

  it("attention: asks Python for whole words and shows what is running", async () => {
    open(attention as Host, attentionDocument(ENGLISH), {
      selected: [["encoder", 3, 5]],
      hide_special: false,
      mode: "matrix",
    });
    const words = found<HTMLInputElement>(el, 'input[type="checkbox"]');
    words.checked = true;
    words.dispatchEvent(new Event("change", { bubbles: true }));
    expect(model.sent[0]).toMatchObject({ ask: "words", words: true });
    model.emit("msg:custom", { id: model.sent[0]?.id, answer: "error", message: "No words here." }, []);
    expect(found(el, ".hw-state").textContent).toBe("No words here.");
    model.set("status", "this AttentionView is closed: make a new one");
    await frameDone();
    expect(found(el, ".hw-state").textContent).toContain("this AttentionView is closed: make a new one");
  });

  it("attribution: a head of the totals is a selection, a view is a trait", async () => {
    open(attribution as Host, attributionDocument(ENGLISH), {
      selected: [["encoder", 3, -1]],
      view: "both",
      words: false,
      hide_special: false,
    });
    press(found(el, '[role="gridcell"]'), "Enter");
    const attentionOnly = found(el, '[data-value="attention"]');
    attentionOnly.click();
    expect(model.saved).toEqual([{ selected: [["encoder", 0, 0]] }, { view: "attention" }]);
    await frameDone();
    expect(found(el, '[data-value="attention"]').getAttribute("aria-checked")).toBe("true");
  });

  it("pruning: heads follow in the page at once, Python hears of them on release", async () => {
    const content = pruningDocument();
    open(pruning as Host, content, { count: 24, pruned: [], method: "attribution", ablation: "zero" });
    const slider = found<HTMLInputElement>(el, ".hw-slider");
    slider.value = "13";
    slider.dispatchEvent(new Event("input", { bubbles: true }));
    await frameDone();
    expect(model.get("pruned")).toEqual(content.order.slice(0, 13));
    expect(model.saved).toEqual([]);
    slider.dispatchEvent(new Event("change", { bubbles: true }));
    expect(model.saved).toEqual([{ count: 13, pruned: content.order.slice(0, 13) }]);
    const request = model.sent.at(-1);
    expect(request).toMatchObject({ ask: "estimate", count: 13 });
    const point = { count: 13, estimate: estimate(0.91, 240, 1200, -0.06) };
    model.emit("msg:custom", { id: request?.id, answer: "estimate", point, done: false }, []);
    expect(found(el, ".hw-reading").textContent).toContain("after 240 of 1,200");
  });

  it("say in a sentence what is wrong with a document, and mend with the next one", async () => {
    open(attention as Host, attentionDocument(ENGLISH), { selected: [], hide_special: false, mode: "lines" });
    model.set("document", { schema: 99, document: "attention" });
    model.set("version", 2);
    await frameDone();
    expect(found(el, '[role="alert"]').textContent).toContain("newer headwidgets");
    const good = live(attentionDocument(ENGLISH, 4, 4));
    model.set("buffer", good.buffer);
    model.set("document", good.document);
    model.set("version", 3);
    await frameDone();
    expect(found(el, '[role="grid"]').getAttribute("aria-rowcount")).toBe("4");
  });
});
