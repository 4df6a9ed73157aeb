/** Which component shows which document, all of them: for hosts that may meet any. */

import { mountStatic as attention } from "./attention/static.js";
import { mountStatic as attribution } from "./attribution/static.js";
import { mountStatic as curves } from "./curves/static.js";
import { mountStatic as dashboard } from "./dashboard/mount.js";
import { mountStatic as grid } from "./grid/static.js";
import { mountStatic as headmap } from "./headmap/static.js";
import type { Mounts } from "./mounting.js";
import { mountStatic as patterns } from "./patterns/static.js";
import { mountStatic as probe } from "./probe/static.js";
import { mountStatic as pruning } from "./pruning/static.js";
import { mountStatic as scatter } from "./scatter/static.js";
import { mountStatic as tree } from "./tree/static.js";
import { mountStatic as triggers } from "./triggers/static.js";

export const mounts: Mounts = {
  grid,
  attention,
  attribution,
  pruning,
  tree,
  scatter,
  curves,
  triggers,
  probe,
  headmap,
  patterns,
  dashboard,
};
