/** The sh scripts behind BackgroundShells: one private directory per shell on the target, kept after a disconnect. */
import backgroundBase from "../../../templates/target/background-base.sh" with { type: "text" };
import backgroundFinish from "../../../templates/target/background-finish.sh" with { type: "text" };
import backgroundState from "../../../templates/target/background-state.sh" with { type: "text" };
import backgroundTree from "../../../templates/target/background-tree.sh" with { type: "text" };
import backgroundLate from "../../../templates/target/background-late.sh" with { type: "text" };
import backgroundRunner from "../../../templates/target/background-runner.sh" with { type: "text" };
import backgroundStart from "../../../templates/target/background-start.sh" with { type: "text" };
import backgroundFind from "../../../templates/target/background-find.sh" with { type: "text" };
import backgroundTell from "../../../templates/target/background-tell.sh" with { type: "text" };
import backgroundOutput from "../../../templates/target/background-output.sh" with { type: "text" };
import backgroundSeen from "../../../templates/target/background-seen.sh" with { type: "text" };
import backgroundKill from "../../../templates/target/background-kill.sh" with { type: "text" };
import backgroundList from "../../../templates/target/background-list.sh" with { type: "text" };
import { quote } from "../../lib/quote.ts";
import { script } from "../../lib/script.ts";

const parts = {
  backgroundBase,
  backgroundFind,
  backgroundFinish,
  backgroundState,
  backgroundTell,
  backgroundTree,
};

export const START = script(backgroundStart, {
  ...parts,
  runner: quote(script(backgroundRunner, parts)),
  late: quote(script(backgroundLate, parts)),
});
export const LOOK = script(backgroundOutput, parts);
export const SEEN = script(backgroundSeen, parts);
export const KILL = script(backgroundKill, parts);
export const LIST = script(backgroundList, parts);
