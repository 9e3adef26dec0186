/** The machines that a run works on, and what depends on them: their target, the runner of calls, AGENTS.md files. */
import type { Run, RunOptions } from "../run.ts";
import type { OutputDirectory, Target } from "../../targets/target.ts";
import { stateDirectory } from "../../lib/user-directories.ts";
import { BuddyError } from "../../lib/errors.ts";
import { outputsDirectory, prepareOutputs } from "../../session/outputs.ts";
import { instructionFiles, type OperatorFile } from "../../agent/system-prompt.ts";
import type { CallRunner } from "../../agent/calls/tool-calls.ts";
import { buddyPaths } from "../../config/paths.ts";
import { areLocal } from "../../targets/place.ts";
import type { LazyFleet } from "./lazy-fleet.ts";
import { LazyTarget, type RunTarget, openTarget, targetOptions } from "./lazy-target.ts";
import { callRunner } from "../run-tools.ts";

/** /on replaces it as a whole. */
export interface Workplace {
  readonly places: Run["places"];
  readonly target: RunTarget;
  /** Where there are several machines: the same as `target`. */
  readonly fleet: LazyFleet | undefined;
  readonly calls: CallRunner;
  /** AGENTS.md files in the prompt. */
  readonly files: readonly OperatorFile[];
}

export function prepareWorkplace(
  run: Run,
  options: RunOptions,
  places: Run["places"],
  makeFleet: MakeFleet | undefined,
  onOpen: (opened: Target) => void,
  before?: Workplace,
): Workplace {
  const { loaded, globals } = options;
  const [place] = places;
  const local = areLocal(places);
  const { files, notices } = instructionFiles(buddyPaths(loaded.env)?.dir, local ? loaded.cwd : undefined);
  for (const notice of notices) options.problem(notice);
  const fleet = makeFleet?.(run, options, places, before);
  const target: RunTarget =
    fleet ??
    before?.target.targets.find((one) => one.isAt(place)) ??
    new LazyTarget({
      open: options.open ?? openTarget,
      target: {
        ...targetOptions(loaded, globals, place),
        outputs: run.outputs,
        session: () => run.sessions.id,
      },
      onNotice: (notice) => run.onNotice(notice),
      onOpen,
    });
  const { registry, desk, recorder, hooks, secrets, rules } = run;
  const calls = callRunner({
    loaded,
    registry,
    target,
    place,
    rules,
    about: () => run.machines.about(),
    fleet: fleet?.parts,
    desk,
    privacy: secrets.privacy,
    recorder,
    hooks,
    dryRun: globals.dryRun,
    local,
    changes: () => run.changes(),
  });
  return { places, target, fleet, calls, files };
}

/** Where the full outputs of commands are kept. */
export function keptOutputs(run: Run, { loaded, record }: RunOptions): OutputDirectory {
  const state = record === false ? undefined : stateDirectory(loaded.env);
  return {
    directory: () => (state === undefined ? undefined : outputsDirectory(state, run.sessions.id)),
    prepare: prepareOutputs,
    hide: () => run.secrets.privacy.stars(),
    tell: (text) => run.onNotice({ kind: "warning", text }),
  };
}

/** Loaded only where there are several machines. */
export function fleetFor(places: Run["places"], options: RunOptions): Promise<MakeFleet> | undefined {
  const several = places.length > 1 || options.fleet?.always === true;
  if (!several) return undefined;
  if (options.globals.pane !== undefined)
    throw new BuddyError("usage", "--pane is for the REPL and buddy exec, which work on one machine");
  return import("./lazy-fleet.ts").then(({ runFleet }) => runFleet);
}

/** Makes the target of a run that has several machines. */
export type MakeFleet = typeof import("./lazy-fleet.ts").runFleet;
