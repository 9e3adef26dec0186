/** Builds a run from the command line. A resumed session is read first: it may choose the target and the model. */
import { BuddyError } from "../lib/errors.ts";
import { tracing } from "../lib/trace.ts";
import { stateDirectory } from "../lib/user-directories.ts";
import { loadExtensions, NO_EXTENSIONS } from "./extensions/extensions.ts";
import { uncertainRules } from "./machines/machine-rules.ts";
import { chosenPlaces } from "./machines/places.ts";
import { requirePrice } from "./run-budget.ts";
import { Run, type RunOptions } from "./run.ts";
import { RunSessions, clientFor, withStoredTarget } from "./run-sessions.ts";
import { Secrets } from "./secrets.ts";
import { fleetFor } from "./machines/workplace.ts";

export async function composeRun(options: RunOptions): Promise<Run> {
  const { loaded, problem } = options;
  const state = stateDirectory(loaded.env);
  const secrets: Secrets = new Secrets({
    mask: loaded.config.privacy.to_model === "mask",
    keep: async (list) => {
      if (state === undefined || options.record === false) return undefined;
      return (await import("../session/secrets-file.ts")).writeSecrets(state, sessions.id, list);
    },
    problem,
  });
  const sessions: RunSessions = new RunSessions({
    cwd: loaded.cwd,
    stateDirectory: state,
    record: options.record !== false,
    redact: secrets.redact,
    problem,
  });
  const resumed =
    options.resume === undefined ? undefined : await sessions.resume(options.resume, options.fork === true);
  const globals = resumed === undefined ? options.globals : withStoredTarget(options.globals, resumed.replay);
  const [place, ...others] = await chosenPlaces(globals, loaded, {
    stdin: options.stdin,
    stored: resumed?.replay.places,
  });
  if (place === undefined) throw new BuddyError("internal", "no machine was chosen");
  for (const warning of uncertainRules(loaded.config, [place, ...others])) problem(warning);
  const chosen =
    options.client === undefined
      ? await clientFor(loaded, options.globals, resumed)
      : { client: options.client, secrets: [], note: [] };
  const warning = options.client === undefined ? requirePrice(chosen.client, globals, loaded.config.limits) : undefined;
  if (warning !== undefined) problem(warning);
  secrets.learn(chosen.secrets);
  if (tracing()) (await import("./tracing.ts")).redactTrace(secrets.redact);
  const places: Run["places"] = [place, ...others];
  let run: Run | undefined;
  const extensionParts = {
    place: () => run?.place ?? place,
    notice: (message: string) =>
      run === undefined ? problem(message) : run.agent.publish({ type: "notice", kind: "info", message }),
  };
  const extensions = options.client === undefined ? await loadExtensions(loaded, extensionParts) : NO_EXTENSIONS;
  if (extensions.mcp !== undefined) secrets.learn((await import("./extensions/mcp-servers.ts")).serverSecrets(loaded));
  for (const notice of extensions.notices) problem(notice);
  const fleet = await fleetFor(places, options);
  const parts = { secrets, sessions, client: chosen.client, resumed, places, fleet, extensions };
  run = new Run({ ...options, globals }, parts);
  if (resumed !== undefined) run.notes.push(...chosen.note, ...run.continueFrom(resumed));
  return run;
}
