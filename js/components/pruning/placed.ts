import type { Picture } from "../../marks/picture.js";
import { num } from "../../marks/svg.js";

/** A picture inside another one, its top left at x, y. */
export function placed(picture: Picture, x: number, y: number): string {
  return picture.svg.replace("<svg ", `<svg x="${num(x)}" y="${num(y)}" `);
}
