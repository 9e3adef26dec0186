/** The machines a command line names: with --on by name, with --ssh and --container as they are written. */
import { defined } from "../../lib/values.ts";
import { dirname, resolve } from "node:path";
import type { StoredPlace } from "../../agent/events.ts";
import type { GlobalOptions } from "../../cli/args/options.ts";
import type { LoadedConfig } from "../../config/load.ts";
import { expandHome } from "../../config/paths.ts";
import type { TargetSettings } from "../../config/schema.ts";
import { BuddyError } from "../../lib/errors.ts";
import { stateDirectory } from "../../lib/user-directories.ts";
import type { PlaceSources } from "../../targets/names/resolve-places.ts";
import { type Hop, labelOfPath, namesOfPath, pathKey, type Place, placeOf } from "../../targets/place.ts";
import type { NamedTarget } from "../../targets/names/make-places.ts";

export interface ChoiceOptions {
  /** What `--on -` reads, if standard input is free for it. */
  readonly stdin?: (() => Promise<string>) | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly waiting?: PlaceSources["waiting"];
  /** Where a resumed session worked; used if the command line names no machine. */
  readonly stored?: readonly StoredPlace[] | undefined;
}

/** At least one. Free without --on, unless targets are configured: rules need their names. */
export async function chosenPlaces(
  { on, ssh, container, pane }: Pick<GlobalOptions, "on" | "ssh" | "container" | "pane">,
  loaded: LoadedConfig,
  { stored = [], ...options }: ChoiceOptions = {},
): Promise<readonly Place[]> {
  if (stored.length > 0 && (on ?? ssh ?? container ?? pane) === undefined) return storedPlaces(stored, loaded);
  const hasTargets = Object.keys(loaded.config.targets).length > 0;
  if (on === undefined && !hasTargets) return [placeOf({ ssh, container })];
  const { resolvePlaces, withKnownNames } = await import("../../targets/names/resolve-places.ts");
  const sources = { ...placeSources(loaded, options.waiting), ...defined(options) };
  return on === undefined ? [await withKnownNames(placeOf({ ssh, container }), sources)] : resolvePlaces(on, sources);
}

/** A session continues where it worked, whatever the name means now; a `via` command must still be configured. */
async function storedPlaces(stored: readonly StoredPlace[], loaded: LoadedConfig): Promise<Place[]> {
  const { resolvePlaces, withKnownNames } = await import("../../targets/names/resolve-places.ts");
  const sources = placeSources(loaded);
  return Promise.all(
    stored.map(async ({ name, path }) => {
      const now = await resolvePlaces(name, sources).catch(() => []);
      const same = now.find((place) => pathKey(place.path) === pathKey(path));
      if (same !== undefined) return { ...same, name };
      // A command, or arguments of ssh, which may name one.
      if (path.some((hop) => hop.kind === "via" || (hop.kind === "ssh" && hop.args !== undefined))) {
        throw new BuddyError("usage", `this session worked on ${name}, which is no longer configured the same way`, {
          hint: `It was: ${labelOfPath(path)}\nName the machine to continue on with --on NAME, or --on local.`,
        });
      }
      return withKnownNames({ name, path, names: [...new Set([name, ...namesOfPath(path)])] }, sources);
    }),
  );
}

/** Whether --on reads names from standard input, which then is not a prompt. */
export function readsStdin(on: string | undefined): boolean {
  return on !== undefined && /(^|,)\s*@?-\s*(,|$)/.test(on);
}

/** For commands that work on one machine only. */
export async function chosenPlace(
  globals: Pick<GlobalOptions, "on" | "ssh" | "container">,
  loaded: LoadedConfig,
  options?: ChoiceOptions,
): Promise<Place> {
  const [place, ...more] = await chosenPlaces(globals, loaded, options);
  if (place !== undefined && more.length === 0) return place;
  throw new BuddyError("usage", `${globals.on} names ${more.length + 1} machines; this command works on one`, {
    hint: `See them with: buddy targets '${globals.on}'`,
  });
}

/** The names that the configuration knows. `waiting`: for a screen, which stderr would disturb. */
export function placeSources(loaded: LoadedConfig, waiting: PlaceSources["waiting"] = say): PlaceSources {
  const { targets, fleet } = loaded.config;
  const origin = loaded.origins.get("fleet.inventory");
  const base = origin?.kind === "file" ? dirname(origin.file) : loaded.cwd;
  return {
    targets: Object.fromEntries(Object.entries(targets).map(([name, target]) => [name, namedTarget(target)])),
    inventory: fleet.inventory === "" ? undefined : resolve(base, expandHome(fleet.inventory, loaded.env)),
    state: stateDirectory(loaded.env),
    home: loaded.env.HOME,
    cwd: loaded.cwd,
    waiting,
  };
}

async function say(what: string): Promise<void> {
  (await import("../../lib/log.ts")).log.info(`buddy: ${what}; Ctrl-C stops`);
}

/** Steps nest in the order in which they are written. */
function namedTarget({ ssh, container, via, attach_via, cd, tmux, include, written }: TargetSettings): NamedTarget {
  const inner = written.flatMap((key): Exclude<Hop, { kind: "ssh" }>[] => {
    if (key === "container" && container !== undefined) return [{ kind: "container", name: container }];
    if (key !== "via") return [];
    return (via ?? []).map((argv, at) => ({ kind: "via", argv, ...defined({ attach: attach_via?.[at] }) }));
  });
  return { inner, ...defined({ ssh, cd, tmux: tmux === undefined ? undefined : tmuxOf(tmux), include }) };
}

function tmuxOf(tmux: boolean | string): NonNullable<Place["tmux"]> {
  if (typeof tmux === "string") return { mode: "required", session: tmux };
  return { mode: tmux ? "required" : "never" };
}
