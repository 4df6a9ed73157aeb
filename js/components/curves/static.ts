/** Curves without a kernel are the same: nothing in them needs one. */

export { mount as mountStatic } from "./mount.js";
