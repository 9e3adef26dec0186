/** What a stored session was run with, for the options that this command line leaves open. */
import type { LoadedConfig } from "../config/load.ts";
import { profileNames } from "../config/profiles.ts";
import { BuddyError } from "../lib/errors.ts";
import type { ResumedSession } from "../session/store.ts";
import { modelClient, type ProfileClient } from "./model-client.ts";
import type { Replay } from "../session/replay.ts";
import type { GlobalOptions } from "../cli/args/options.ts";
import { isLocal, type Place } from "../targets/place.ts";
import { chosenPlaces } from "./places.ts";

/** The target of the session, unless the command line names one. */
export function withStoredTarget(globals: GlobalOptions, { target, cwd, places }: Replay): GlobalOptions {
  if ((globals.ssh ?? globals.container ?? globals.on ?? globals.pane) !== undefined) return globals;
  if (places.length > 0)
    return globals.cd === undefined && cwd !== "" && places.length === 1 ? { ...globals, cd: cwd } : globals;
  const { ssh, container } = readLabel(target);
  if (ssh === undefined && container === undefined) return globals;
  return {
    ...globals,
    ...(ssh === undefined ? {} : { ssh }),
    ...(container === undefined ? {} : { container }),
    ...(globals.cd === undefined && cwd !== "" ? { cd: cwd } : {}),
  };
}

/** Where a session worked; undefined when its log does not say, or is not the user's own. */
export async function storedPlaces(
  replay: Replay,
  loaded: LoadedConfig,
): Promise<readonly [Place, ...Place[]] | undefined> {
  if (replay.target === "") return undefined;
  const { ssh, container } = replay.places.length > 0 ? {} : readLabel(replay.target);
  const named = { ...(ssh === undefined ? {} : { ssh }), ...(container === undefined ? {} : { container }) };
  const [place, ...others] = await chosenPlaces(named, loaded, { stored: replay.places });
  if (place === undefined) return undefined;
  const elsewhere = others.length === 0 && !isLocal(place) && replay.cwd !== "";
  return [elsewhere ? { ...place, cd: replay.cwd } : place, ...others];
}

/** The profile of the session, unless --model or BUDDY_MODEL chose one. */
export function storedModel(globals: GlobalOptions, { profile, model }: Replay, configured: string | undefined) {
  if (globals.model !== undefined || process.env.BUDDY_MODEL || process.env.AGENT_MODEL || profile === "")
    return undefined;
  return model === "" || model === profile || model === configured || profile === "demo"
    ? profile
    : `${profile}:${model}`;
}

/** The client of the profile in effect; a resumed session brings its own, as long as the configuration still has it. */
export async function clientFor(loaded: LoadedConfig, globals: GlobalOptions, resumed: ResumedSession | undefined) {
  const { chosen, note } = resumed === undefined ? { note: [] } : await storedClient(loaded, globals, resumed);
  return { ...(chosen ?? (await modelClient(loaded))), note };
}

/** The client a stored session was run with; none when another was asked for or it cannot be had any more. */
export async function storedClient(
  loaded: LoadedConfig,
  globals: GlobalOptions,
  { replay }: ResumedSession,
): Promise<{ chosen?: ProfileClient; note: string[] }> {
  const { profile } = replay;
  const selector = storedModel(globals, replay, loaded.config.models[profile]?.model);
  if (selector === undefined) return { note: [] };
  // Its name is not a name any more: before a colon it would be taken for a part of a model id.
  if (!profileNames(loaded).includes(profile))
    return { note: [`the profile of this session is no longer configured: ${profile}`] };
  try {
    return { chosen: await modelClient(loaded, selector), note: [] };
  } catch (error) {
    if (!(error instanceof BuddyError)) throw error;
    return { note: [`the profile of this session cannot be used: ${error.message}`] };
  }
}

/** Whether two labels name one place: before it is open, an ssh target may lack the user it turns out to have. */
export function samePlace(one: string, other: string): boolean {
  const bare = (label: string) => label.replace(/\bssh [^@\s]+@/, "ssh ");
  return one === other || ((one === bare(one) || other === bare(other)) && bare(one) === bare(other));
}

/** `ssh deploy@web1`, `container api`, `container api on ssh deploy@web1`; anything else is this machine. */
function readLabel(label: string): { ssh?: string; container?: string } {
  const [, container, ssh] = /^(?:container (\S+?))?(?: on )?(?:ssh (\S+))?$/.exec(label) ?? [];
  return { ...(ssh === undefined ? {} : { ssh }), ...(container === undefined ? {} : { container }) };
}
