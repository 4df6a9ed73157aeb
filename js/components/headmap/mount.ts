/** The map of heads, alive: a click or an outline selects, arrow keys go from head to head, a menu chooses the colours. */

import type { HeadMapDocument } from "../../wire/types.js";
import type { Component } from "../component.js";
import { h, menu } from "../controls.js";
import { mountPoints, type PointsChart, type PointsEvents, type PointsProps } from "../points/mount.js";
import { describe, drawHeadMap, drawSelection, type HeadMapPicture } from "./draw.js";
import { type HeadMapView, headMapOf, type Placed, sentence } from "./model.js";

export interface HeadMapProps extends PointsProps<HeadMapDocument> {
  /** Which of the document's groups colours the points; overrides the document's own. */
  readonly shown?: number;
}

export interface HeadMapEvents extends PointsEvents {
  onShow?(shown: number): void;
}

const CHART: PointsChart<HeadMapDocument, HeadMapView, Placed, HeadMapPicture> = {
  name: "headmap",
  label: "heads by how they attend",
  region: "outline",
  decode: headMapOf,
  draw: drawHeadMap,
  drawSelection,
  describe,
  sentence,
};

export function mount(
  parent: HTMLElement,
  given: HeadMapProps,
  events: HeadMapEvents = {},
): Component<HeadMapProps> {
  let props = given;
  let coloured = props.document;
  const control = new AbortController();
  const colours = menu("colour by", control.signal, (name) => {
    const shown = props.document.groups.findIndex((group) => group.name === name);
    if (shown >= 0) events.onShow?.(shown);
  });
  const bar = h("div", { class: "hw-bar" }, colours.element);
  /** The document with the colours asked for; the same one as long as both are. */
  function current(): PointsProps<HeadMapDocument> {
    const { document, shown = document.shown } = props;
    if (coloured.groups !== document.groups || coloured.shown !== shown || coloured.x !== document.x)
      coloured = shown === document.shown ? document : { ...document, shown };
    const names = document.groups.map(({ name }) => name);
    colours.show(names, names[shown] ?? names[0] ?? "", events.onShow !== undefined);
    bar.hidden = names.length < 2;
    const selected = props.selected ?? document.selected;
    return { ...props, document: coloured, selected };
  }
  const points = mountPoints(parent, CHART, current(), events, bar);
  return {
    update(next) {
      if (next.document !== props.document) coloured = next.document;
      props = next;
      points.update(current());
    },
    destroy() {
      control.abort();
      points.destroy();
    },
  };
}
