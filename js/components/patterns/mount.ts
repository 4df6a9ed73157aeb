/** Layer curves, alive: a click or a rectangle selects heads, arrow keys go from point to point, a menu chooses the chart. */

import type { PatternsDocument } from "../../wire/types.js";
import type { Component } from "../component.js";
import { h, menu } from "../controls.js";
import { mountPoints, type PointsChart, type PointsEvents, type PointsProps } from "../points/mount.js";
import { describe, drawPatterns, drawSelection, type PatternsPicture } from "./draw.js";
import { type Patterns, type Placed, patternsOf, sentence } from "./model.js";

export interface PatternsProps extends PointsProps<PatternsDocument> {
  /** The chart on show; overrides the document's own. */
  readonly shown?: number;
}

export interface PatternsEvents extends PointsEvents {
  onShow?(shown: number): void;
}

const CHART: PointsChart<PatternsDocument, Patterns, Placed, PatternsPicture> = {
  name: "patterns",
  label: "where heads look",
  region: "rectangle",
  decode: patternsOf,
  draw: drawPatterns,
  drawSelection,
  describe,
  sentence,
};

export function mount(
  parent: HTMLElement,
  given: PatternsProps,
  events: PatternsEvents = {},
): Component<PatternsProps> {
  let props = given;
  let charted = props.document;
  const control = new AbortController();
  const charts = menu("chart", control.signal, (label) => {
    const shown = props.document.charts.findIndex((chart) => chart.label === label);
    if (shown >= 0) events.onShow?.(shown);
  });
  const bar = h("div", { class: "hw-bar" }, charts.element);
  /** The document with the chart asked for; the same one as long as both are. */
  function current(): PointsProps<PatternsDocument> {
    const { document, shown = document.shown } = props;
    if (charted.statistics !== document.statistics || charted.shown !== shown)
      charted = shown === document.shown ? document : { ...document, shown };
    const labels = document.charts.map(({ label }) => label);
    charts.show(labels, labels[shown] ?? labels[0] ?? "", events.onShow !== undefined);
    bar.hidden = labels.length < 2;
    return { ...props, document: charted, selected: props.selected ?? document.selected };
  }
  const points = mountPoints(parent, CHART, current(), events, bar);
  return {
    update(next) {
      if (next.document !== props.document) charted = next.document;
      props = next;
      points.update(current());
    },
    destroy() {
      control.abort();
      points.destroy();
    },
  };
}
