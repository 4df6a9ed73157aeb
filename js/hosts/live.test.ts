// @vitest-environment happy-dom
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { GRIDS } from "../testing/grids.js";
import { toBase64 } from "../wire/base64.js";
import grid from "./anywidget/grid.js";

/** As much of an anywidget model as a host uses. */
function fakeModel(state: Record<string, unknown>) {
  const listeners = new Map<string, Set<() => void>>();
  const saved: Record<string, unknown>[] = [];
  let dirty: Record<string, unknown> = {};
  const put = (part: Record<string, unknown>) => {
    const changed = Object.keys(part).filter((key) => state[key] !== part[key]);
    Object.assign(state, part);
    for (const key of changed) for (const listener of listeners.get(`change:${key}`) ?? []) listener();
  };
  return {
    saved,
    listening: () => [...listeners.values()].reduce((sum, set) => sum + set.size, 0),
    /** Several traits in one message of the kernel. */
    receive: put,
    get: (key: string) => state[key],
    set(key: string, value: unknown) {
      dirty[key] = value;
      put({ [key]: value });
    },
    save_changes() {
      saved.push(dirty);
      dirty = {};
    },
    on(name: string, listener: () => void) {
      listeners.set(name, (listeners.get(name) ?? new Set()).add(listener));
    },
    off(name: string, listener: () => void) {
      listeners.get(name)?.delete(listener);
    },
    send() {},
  };
}

const soon = () => new Promise((resolve) => setTimeout(resolve, 0));

describe("a live grid", () => {
  let el: HTMLElement;
  beforeEach(() => {
    el = document.createElement("div");
    document.body.append(el);
  });
  afterEach(() => el.remove());

  function shown(rest: Record<string, unknown> = {}) {
    const model = fakeModel({
      document: GRIDS.bert,
      buffer: new DataView(new ArrayBuffer(0)),
      version: 1,
      theme: "light",
      selected: [],
      pruned: [],
      kind: "",
      score: "",
      ...rest,
    });
    const stop = grid.render({ model, el } as unknown as Parameters<typeof grid.render>[0]);
    return { model, stop };
  }
  const cell = (layer: number, head: number) =>
    el.querySelector<HTMLElement>(`[data-layer="${layer}"][data-head="${head}"]`);

  it("writes what was chosen to the kernel, at once, and shows it", async () => {
    const { model } = shown();
    cell(2, 3)?.click();
    expect(model.saved).toEqual([{ selected: [["encoder", 2, 3]] }]);
    await soon();
    expect(cell(2, 3)?.getAttribute("aria-selected")).toBe("true");
  });

  it("follows traits that the kernel changes", async () => {
    const { model } = shown();
    model.receive({ pruned: [["encoder", 1, 1]], selected: [["encoder", 0, 0]], score: "confidence" });
    await soon();
    expect(cell(1, 1)?.getAttribute("aria-label")).toContain("pruned");
    expect(cell(0, 0)?.getAttribute("aria-selected")).toBe("true");
    expect(el.querySelector("select")?.value).toBe("confidence");
    expect(model.saved).toEqual([]);
  });

  it("reads arrays from the buffer, whatever the host made of the bytes", () => {
    const values = Float32Array.of(0.5, 0.25);
    const bytes = new Uint8Array(values.buffer);
    const moved = new Uint8Array(bytes.length + 5);
    moved.set(bytes, 5);
    const score = { dtype: "float32", shape: [1, 2], offset: 0 };
    const panel = { kind: "encoder", label: "", layers: 1, heads: 2, kv_heads: 2 };
    const layer = { name: "x", unit: "", n: 0, signed: false, values: score, stderr: null };
    const content = { ...GRIDS.empty, panels: [{ ...panel, scores: [layer] }] };
    for (const buffer of [new DataView(moved.buffer, 5), toBase64(bytes)]) {
      const { stop } = shown({ document: content, buffer });
      expect(cell(0, 1)?.getAttribute("aria-label")).toBe("layer 0 head 1: 0.250");
      stop();
    }
  });

  it("says what is wrong with a document, and recovers with the next one", async () => {
    const { model } = shown({ document: { document: "grid", schema: 1, title: 3 } });
    expect(el.querySelector('[role="alert"]')?.textContent).toContain("title: expected a text, got 3");
    model.receive({ document: GRIDS.single, version: 2 });
    await soon();
    expect(el.querySelector('[role="alert"]')).toBeNull();
    expect(el.querySelectorAll('[role="gridcell"]')).toHaveLength(1);
  });

  it("changes its colours with the theme", async () => {
    const { model } = shown();
    model.receive({ theme: "dark" });
    await soon();
    expect(el.querySelector<HTMLElement>(".hw-root")?.dataset.theme).toBe("dark");
  });

  it("leaves no listener and no element behind", async () => {
    const { model, stop } = shown();
    expect(model.listening()).toBeGreaterThan(0);
    stop();
    expect(model.listening()).toBe(0);
    expect(el.innerHTML).toBe("");
    model.receive({ pruned: [["encoder", 1, 1]], version: 2 });
    await soon();
    expect(el.innerHTML).toBe("");
  });
});
