/** How the machine of a run is opened: what the command line and the configuration say of it. */
import type { GlobalOptions } from "../cli/args/options.ts";
import type { LoadedConfig } from "../config/load.ts";
import { secretVariables } from "../config/profiles.ts";
import { isLocal, type Place } from "../targets/place.ts";
import type { TargetOptions } from "../targets/target.ts";

/** The command line comes before what the configuration says of a place. */
export function targetOptions(
  loaded: LoadedConfig,
  globals: Pick<GlobalOptions, "on" | "cd" | "tmux" | "tmuxSession" | "pane">,
  place: Place,
): Omit<TargetOptions, "signal" | "onNotice"> {
  const { config } = loaded;
  // Without --on the process has changed to the local --cd already.
  const cd = globals.cd ?? place.cd;
  const cwd =
    isLocal(place) && globals.on === undefined ? loaded.cwd : (cd ?? (isLocal(place) ? loaded.cwd : undefined));
  const tmuxSession = globals.tmuxSession ?? (globals.tmux === "auto" ? place.tmux?.session : undefined);
  return {
    place,
    tmux: globals.tmux === "auto" ? (place.tmux?.mode ?? "auto") : globals.tmux,
    ...(tmuxSession === undefined ? {} : { tmuxSession }),
    ...(globals.pane === undefined ? {} : { pane: globals.pane }),
    agentName: config.agent.name,
    tmuxSocket: config.tmux.socket,
    maxSessions: config.tmux.max_sessions,
    tmuxIdleMs: config.tmux.idle,
    maxPanes: config.tmux.max_panes,
    ...(cwd === undefined ? {} : { cwd }),
    backgroundTimeoutMs: config.tools.background_timeout,
    secondLock: config.safety.second_lock,
    secretEnv: secretVariables(loaded),
  };
}

/** Loaded when a machine is opened, which many runs never do. */
export const openTarget = async (wanted: TargetOptions) => (await import("../targets/open.ts")).openTarget(wanted);
