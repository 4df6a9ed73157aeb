/** JupyterLab: opens `.heads` files and renders saved outputs. Live widgets need nothing from here. */

import type { JupyterFrontEnd, JupyterFrontEndPlugin } from "@jupyterlab/application";
import { ABCWidgetFactory, type DocumentRegistry, DocumentWidget } from "@jupyterlab/docregistry";
import { INotebookTracker, type NotebookPanel } from "@jupyterlab/notebook";
import { IRenderMimeRegistry } from "@jupyterlab/rendermime";
import { DocumentView, RANK, rendererFactory } from "./mime.js";

const FACTORY = "Attention heads";

class HeadsFactory extends ABCWidgetFactory<DocumentWidget<DocumentView>> {
  protected createNewWidget(context: DocumentRegistry.Context): DocumentWidget<DocumentView> {
    const content = new DocumentView();
    const show = () => content.showText(context.model.toString());
    void context.ready.then(() => {
      if (content.isDisposed) return;
      show();
      context.model.contentChanged.connect(show);
    });
    content.disposed.connect(() => context.model.contentChanged.disconnect(show));
    return new DocumentWidget({ content, context });
  }
}

const documents: JupyterFrontEndPlugin<void> = {
  id: "headwidgets:documents",
  description: "Opens .heads files: scores, grids and whatever else a widget saved.",
  autoStart: true,
  activate: (app: JupyterFrontEnd) => {
    app.docRegistry.addFileType({
      name: "heads",
      displayName: "Attention heads",
      extensions: [".heads"],
      mimeTypes: ["application/vnd.headwidgets+json"],
      contentType: "file",
      fileFormat: "text",
    });
    app.docRegistry.addWidgetFactory(
      new HeadsFactory({ name: FACTORY, fileTypes: ["heads"], defaultFor: ["heads"], readOnly: true }),
    );
  },
};

const outputs: JupyterFrontEndPlugin<void> = {
  id: "headwidgets:outputs",
  description: "Renders saved widget outputs: the live widget while its model lives, else the saved data.",
  autoStart: true,
  requires: [IRenderMimeRegistry],
  optional: [INotebookTracker],
  activate: (_app: JupyterFrontEnd, rendermime: IRenderMimeRegistry, notebooks: INotebookTracker | null) => {
    // Outside notebooks (consoles, log views) a live widget view goes first.
    rendermime.addFactory(rendererFactory(null), -5);
    const adopt = (panel: NotebookPanel): void => {
      const registry = panel.content.rendermime;
      registry.addFactory(
        rendererFactory({ rendermime: registry, session: panel.context.sessionContext }),
        RANK,
      );
    };
    notebooks?.forEach(adopt);
    notebooks?.widgetAdded.connect((_, panel) => adopt(panel));
  },
};

const plugins: JupyterFrontEndPlugin<unknown>[] = [documents, outputs];

export default plugins;
