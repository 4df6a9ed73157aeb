/**
 * A saved output in JupyterLab: the live widget while there is one, else the same component from the saved data.
 *
 * The notebook's own widget renderer (rank -10) prints an error where a model is gone, so this renderer stands before
 * it. It draws text as text and runs nothing from the notebook, so it is safe in notebooks that are not trusted;
 * there it never hands over, because a live widget runs code that the notebook's state may carry.
 */

import type { ISessionContext } from "@jupyterlab/apputils";
import type { IRenderMime, IRenderMimeRegistry } from "@jupyterlab/rendermime";
import { Panel, Widget } from "@lumino/widgets";
import type { Component, StaticProps } from "../components/component.js";
import { asDocument, mountDocument } from "../components/mounting.js";
import { mounts } from "../components/registry.js";
import { resolveTheme, watchTheme } from "../theme/detect.js";
import { checkDocument } from "../wire/guards.js";
import { type Document, MIME_PREFIX } from "../wire/types.js";

export const WIDGET_VIEW = "application/vnd.jupyter.widget-view+json";

export const MIME_TYPES: readonly string[] = Object.keys(mounts).map((name) => `${MIME_PREFIX}${name}+json`);

/** Before the renderer of widget views, which has -10. */
export const RANK = -20;

/** What we use of the widget manager that stands behind a notebook's widget renderer. */
interface Manager {
  has_model(id: string): boolean;
  get_model(id: string): Promise<{ readonly comm_live?: boolean }>;
  readonly restored?: {
    connect(slot: () => void): boolean;
    disconnect(slot: () => void): boolean;
  };
}

/** A notebook, as far as renderers need one. */
export interface Surroundings {
  readonly rendermime: IRenderMimeRegistry;
  readonly session: ISessionContext | null;
}

function isManager(value: unknown): value is Manager {
  const candidate = value as Partial<Record<keyof Manager, unknown>> | null;
  return typeof candidate?.has_model === "function" && typeof candidate.get_model === "function";
}

/** The manager of the notebook's widget renderer, or null while it has none. */
async function managerOf(rendermime: IRenderMimeRegistry): Promise<Manager | null> {
  if (!rendermime.getFactory(WIDGET_VIEW)) return null;
  const probe = rendermime.createRenderer(WIDGET_VIEW);
  try {
    const held = (probe as unknown as { readonly _manager?: { readonly promise?: Promise<unknown> } })
      ._manager;
    if (!held?.promise) return null;
    const none = new Promise<null>((resolve) => setTimeout(resolve, 0, null));
    const manager = await Promise.race([held.promise, none]);
    return isManager(manager) ? manager : null;
  } finally {
    probe.dispose();
  }
}

/** Shows a document in an element from its JSON alone, in the theme around it. */
export class SavedView {
  private readonly control = new AbortController();
  private readonly root = document.createElement("div");
  private component: Component<StaticProps<Document>> | null = null;
  private shown: Document | null = null;

  constructor(private readonly host: HTMLElement) {
    host.append(this.root);
    watchTheme(() => this.refresh(), this.control.signal);
  }

  /** Show `value`, or a sentence that says why it cannot be shown. */
  show(value: unknown): void {
    try {
      this.shown = asDocument(checkDocument(value));
      this.refresh();
    } catch (error) {
      this.explain(error);
    }
  }

  explain(error: unknown): void {
    this.clear();
    this.root.className = "hw-root hw-error";
    this.root.setAttribute("role", "alert");
    this.root.textContent = `headwidgets: ${error instanceof Error ? error.message : String(error)}`;
  }

  private clear(): void {
    this.component?.destroy();
    this.component = null;
    this.root.className = "";
    this.root.removeAttribute("role");
    this.root.replaceChildren();
  }

  private refresh(): void {
    if (!this.shown) return;
    const props = { document: this.shown, theme: resolveTheme("auto", this.host) };
    if (this.component) {
      this.component.update(props);
      return;
    }
    this.clear();
    this.component = mountDocument(mounts, this.root, props) as Component<StaticProps<Document>>;
  }

  dispose(): void {
    this.control.abort();
    this.clear();
    this.root.remove();
  }
}

/** Renders one output. */
export class SavedRenderer extends Panel implements IRenderMime.IRenderer {
  private saved: SavedView | null = null;
  private live: Widget | null = null;
  private liveId = "";
  private stopWaiting: (() => void) | null = null;
  private turn = 0;

  constructor(
    private readonly mimeType: string,
    private readonly around: Surroundings | null,
  ) {
    super();
    this.addClass("hw-output");
    // A composed widget has controls of ipywidgets beside ours: no key typed in it is a command of the notebook.
    for (const type of ["keydown", "keypress", "keyup"])
      this.node.addEventListener(type, (event) => event.stopPropagation());
  }

  async renderModel(model: IRenderMime.IMimeModel): Promise<void> {
    const turn = ++this.turn;
    this.stopWaiting?.();
    this.stopWaiting = null;
    const view = model.data[WIDGET_VIEW] as { readonly model_id?: unknown } | undefined;
    const id = model.trusted && typeof view?.model_id === "string" ? view.model_id : "";
    if (id && this.live && this.liveId === id) return;
    if (id && (await this.handOver(id, model, turn))) return;
    if (turn !== this.turn || this.isDisposed) return;
    this.dropLive();
    this.saved ??= new SavedView(this.node);
    this.saved.show(model.data[this.mimeType]);
    if (id) this.waitFor(id, model, turn);
  }

  /** Let the notebook's own renderer show the widget, if its model lives. */
  private async handOver(id: string, model: IRenderMime.IMimeModel, turn: number): Promise<boolean> {
    if (!this.around) return false;
    const { rendermime } = this.around;
    const manager = await managerOf(rendermime);
    if (!manager?.has_model(id)) return false;
    try {
      // A model that was only restored from saved state has no kernel to answer it.
      if ((await manager.get_model(id)).comm_live === false) return false;
    } catch {
      return false;
    }
    if (turn !== this.turn || this.isDisposed) return true;
    this.dropLive();
    const renderer = rendermime.createRenderer(WIDGET_VIEW);
    this.live = renderer;
    this.liveId = id;
    this.addWidget(renderer);
    await renderer.renderModel(model);
    this.saved?.dispose();
    this.saved = null;
    this.stopWaiting?.();
    this.stopWaiting = null;
    return true;
  }

  /** Until the model appears (a reloaded page whose kernel still runs), look again when something may have changed. */
  private waitFor(id: string, model: IRenderMime.IMimeModel, turn: number): void {
    const session = this.around?.session;
    if (!session || !this.around) return;
    const { rendermime } = this.around;
    let watched: Manager | null = null;
    let busy = false;
    const look = async (): Promise<void> => {
      if (busy || turn !== this.turn || this.isDisposed) return;
      busy = true;
      const manager = await managerOf(rendermime);
      if (manager && manager !== watched) {
        watched?.restored?.disconnect(again);
        watched = manager;
        manager.restored?.connect(again);
      }
      if (turn === this.turn && !this.isDisposed) await this.handOver(id, model, turn);
      busy = false;
    };
    const again = (): void => void look();
    session.statusChanged.connect(again);
    session.kernelChanged.connect(again);
    session.connectionStatusChanged.connect(again);
    void session.ready.then(again);
    this.stopWaiting = () => {
      session.statusChanged.disconnect(again);
      session.kernelChanged.disconnect(again);
      session.connectionStatusChanged.disconnect(again);
      watched?.restored?.disconnect(again);
    };
  }

  private dropLive(): void {
    this.live?.dispose();
    this.live = null;
    this.liveId = "";
  }

  override dispose(): void {
    if (this.isDisposed) return;
    this.turn++;
    this.stopWaiting?.();
    this.saved?.dispose();
    super.dispose();
  }
}

/** A factory for a registry; `around` is the notebook whose registry it is, null elsewhere. */
export function rendererFactory(around: Surroundings | null): IRenderMime.IRendererFactory {
  return {
    safe: true,
    mimeTypes: MIME_TYPES,
    createRenderer: (options) => new SavedRenderer(options.mimeType, around),
  };
}

/** A widget that shows the text of a file. */
export class DocumentView extends Widget {
  private readonly view: SavedView;

  constructor() {
    super();
    this.addClass("hw-document");
    this.view = new SavedView(this.node);
  }

  /** Show the JSON in `text`. */
  showText(text: string): void {
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch (error) {
      this.view.explain(
        new Error(`this file is not JSON (${error instanceof Error ? error.message : String(error)})`),
      );
      return;
    }
    this.view.show(value);
  }

  override dispose(): void {
    if (this.isDisposed) return;
    this.view.dispose();
    super.dispose();
  }
}
