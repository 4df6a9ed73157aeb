/** Pruning without a kernel: the panel, the curve and the grid, over what was measured before. */

import { palette } from "../../theme/palette.js";
import type { PruningDocument } from "../../wire/types.js";
import type { Component, StaticProps } from "../component.js";
import { h, paint } from "../controls.js";
import { draw as drawCurve } from "../curve/draw.js";
import { mount as mountGrid } from "../grid/mount.js";
import { observeWidth } from "../width.js";
import { clampCount, prunedAt } from "./model.js";
import { mount } from "./mount.js";

export function mountStatic(
  el: HTMLElement,
  props: StaticProps<PruningDocument>,
): Component<StaticProps<PruningDocument>> {
  const box = h("div", { class: "hw-explorer" });
  const top = h("div", {});
  const curve = h("div", { class: "hw-root hw-curve" });
  const grid = h("div", { class: "hw-explorer-grid" });
  const row = h("div", { class: "hw-explorer-row" }, curve, grid);
  box.append(top, row);
  el.append(box);
  let width = 720;
  let known: PruningDocument = props.document;
  let pruned = prunedAt(props.document, clampCount(props.document, props.document.count));
  const gridProps = () => ({
    document: props.document.grid,
    theme: props.theme,
    pruned,
    ...(props.buffer === undefined ? {} : { buffer: props.buffer }),
  });
  const hasGrid = props.document.grid.panels.length > 0;
  const heads = hasGrid ? mountGrid(grid, gridProps(), {}) : null;

  function showCurve(): void {
    const wide = width >= 640 && hasGrid ? Math.floor(width * 0.54) : width;
    curve.dataset.theme = props.theme;
    curve.style.color = palette(props.theme).ink;
    paint(
      curve,
      drawCurve(known, { theme: props.theme, width: Math.max(260, wide - 8), background: false }).svg,
    );
  }

  const panel = mount(top, props, {
    onPruned(heads_) {
      pruned = heads_;
      heads?.update(gridProps());
    },
    onCount() {},
    onPoints(document) {
      known = document;
      showCurve();
    },
  });
  const stop = observeWidth(box, (pixels) => {
    width = pixels;
    showCurve();
  });
  return {
    update(next) {
      const fresh = next.document !== props.document;
      props = next;
      if (fresh) pruned = prunedAt(next.document, clampCount(next.document, next.document.count));
      heads?.update(gridProps());
      panel.update(next);
    },
    destroy() {
      stop();
      panel.destroy();
      heads?.destroy();
      box.remove();
    },
  };
}
