/** The target of a run that has several machines, wired to the run. */
import { OutputStore } from "../targets/output/output-store.ts";
import { isLocal } from "../targets/place.ts";
import { LazyFleet } from "./lazy-fleet.ts";
import { machineParts } from "./run-tools.ts";
import type { Run, RunOptions } from "./run.ts";
import { openTarget, targetOptions } from "./target-options.ts";

export function runFleet(run: Run, options: RunOptions, places: Run["places"]): LazyFleet {
  const { loaded, globals } = options;
  const { outputs } = run.outputs(options);
  // One for all: an id is unique among the machines, and a machine costs less.
  const outputStore = new OutputStore({
    store: outputs,
    tell: (text) => run.onNotice({ kind: "warning", text }),
  });
  return new LazyFleet({
    places,
    outputStore,
    open: options.open ?? openTarget,
    targetOptions: (place) => ({ ...targetOptions(loaded, globals, place), outputStore }),
    permit: (target, place) => machineParts({ loaded, target, place, rules: run.rules, local: isLocal(place) }),
    approvals: run.approvals,
    limits: { parallel: loaded.config.fleet.parallel, ...options.fleet },
    onNotice: (machine, notice) => run.onNotice(notice, machine),
    onOpen: (machine, { identity: { label, user, host, machine: id, attach } }) =>
      run.agent.publish({
        type: "machine",
        machine,
        state: "open",
        label,
        user,
        host,
        id,
        ...(attach === undefined ? {} : { attach }),
      }),
    onUnreachable: (machine, label, error) =>
      run.agent.publish({
        type: "machine",
        machine,
        state: "unreachable",
        label,
        message: error instanceof Error ? error.message : String(error),
      }),
  });
}
