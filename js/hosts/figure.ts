/**
 * The picture of any document without a browser: Python runs this bundle in a bare JavaScript engine and calls
 * `headwidgetsFigure.draw`. Text goes in and text comes out, because that engine passes nothing else.
 */

import { drawDocument } from "../components/drawing.js";
import { checkOptions } from "../marks/picture.js";
import { parseDocument } from "../wire/guards.js";

function draw(documentText: string, optionsText: string): string {
  return JSON.stringify(drawDocument(parseDocument(documentText), checkOptions(JSON.parse(optionsText))));
}

Object.assign(globalThis, { headwidgetsFigure: { draw } });
