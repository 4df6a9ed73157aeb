/** The scatter, alive: hover reads a head out, a click or a rectangle selects, arrow keys go from point to point. */

import type { ScatterDocument } from "../../wire/types.js";
import type { Component } from "../component.js";
import { mountPoints, type PointsChart, type PointsEvents, type PointsProps } from "../points/mount.js";
import { describe, drawScatter, drawSelection, type ScatterPicture } from "./draw.js";
import { type Placed, type Scatter, scatterOf, sentence } from "./model.js";

export type ScatterProps = PointsProps<ScatterDocument>;
export type ScatterEvents = PointsEvents;

const CHART: PointsChart<ScatterDocument, Scatter, Placed, ScatterPicture> = {
  name: "scatter",
  label: "heads by two measurements",
  region: "rectangle",
  decode: scatterOf,
  draw: drawScatter,
  drawSelection,
  describe,
  sentence: (content, { point }) => sentence(content, point),
};

export function mount(
  parent: HTMLElement,
  props: ScatterProps,
  events: ScatterEvents = {},
): Component<ScatterProps> {
  return mountPoints(parent, CHART, props, events);
}
