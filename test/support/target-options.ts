/** The options of a target for tests: this machine, no tmux, small limits; a test gives what matters to it. */
import { LOCAL } from "../../src/targets/place.ts";
import type { TargetOptions } from "../../src/targets/target.ts";

export function targetOptions(more: Partial<TargetOptions> = {}): TargetOptions {
  return {
    place: LOCAL,
    tmux: "never",
    agentName: "",
    tmuxSocket: "",
    maxSessions: 1,
    maxPanes: 1,
    backgroundTimeoutMs: 60_000,
    ...more,
  };
}
