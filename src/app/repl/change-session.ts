/** /sessions, /new, /resume and /export: the sessions that a run can leave its own for. */
import type { LoadedConfig } from "../../config/load.ts";
import { BuddyError } from "../../lib/errors.ts";
import { defined } from "../../lib/values.ts";
import type { Replay } from "../../session/read.ts";
import { SessionInUse } from "../../session/session-lock.ts";
import { ForeignSession } from "../../session/store.ts";
import { isLocal, samePaths } from "../../targets/place.ts";
import type { ReplHost } from "../../ui/repl/host.ts";
import type { ExportFormat } from "../export-session.ts";
import { chosenPlaces } from "../machines/places.ts";
import { readLabel, storedClient } from "../run-sessions.ts";
import type { Run } from "../run.ts";

export async function listSessions(run: Run): ReturnType<ReplHost["sessions"]> {
  const current = run.sessions.id;
  const stored = (await run.sessions.store()).list().map(({ id, lastUsed, title, target }) => ({
    id,
    lastUsed,
    title,
    target,
    current: id === current,
  }));
  // The current one is written a moment after its first prompt.
  const first = run.agent.history.messages.find(({ role }) => role === "user")?.content;
  if (stored.some((session) => session.current) || typeof first !== "string") return stored;
  const { label } = run.target.facts();
  return [{ id: current, lastUsed: new Date().toISOString(), title: first, target: label, current: true }, ...stored];
}

/** Leaves the conversation; the next turn begins a new session. */
export async function newSession(run: Run): Promise<void> {
  await run.secrets.settled();
  await run.sessions.change();
  run.approvals.forget();
  run.secrets.privacy.restore([]);
  run.extensions.mcp?.servers.newSession();
  run.agent.restore({ messages: [] });
}

interface ResumeHow {
  readonly copy?: boolean;
  readonly foreign?: boolean;
}

/** Asks about a session that is in use or belongs to another user; undefined: the answer was no. */
export async function resumeOrAsk(
  run: Run,
  loaded: LoadedConfig,
  name: string,
  ask: Parameters<ReplHost["resumeSession"]>[1],
  how: ResumeHow = {},
): Promise<readonly string[] | undefined> {
  try {
    return await resumeSession(run, loaded, name, how);
  } catch (error) {
    const again = (more: ResumeHow) => resumeOrAsk(run, loaded, name, ask, { ...how, ...more });
    if (error instanceof ForeignSession) return (await ask.foreign(error.lines)) ? again({ foreign: true }) : undefined;
    if (error instanceof SessionInUse) return (await ask.copy(error.message)) ? again({ copy: true }) : undefined;
    throw error;
  }
}

/**
 * Leaves the conversation for a stored one; returns what to say about it. If it throws SessionInUse or ForeignSession,
 * nothing has changed.
 */
export async function resumeSession(
  run: Run,
  loaded: LoadedConfig,
  name: string,
  { copy = false, foreign }: ResumeHow = {},
): Promise<readonly string[]> {
  const store = await run.sessions.store();
  const next = copy ? store.fork(name, { foreign }) : await store.resume(name, { current: run.sessions.id, foreign });
  const { chosen, note } = await storedClient(loaded, run.globals, next);
  await run.secrets.settled();
  await run.sessions.change(next);
  run.approvals.forget();
  const { name: profile, model } = run.agent.client.profile;
  if (chosen !== undefined && (chosen.profile.name !== profile || chosen.profile.model !== model)) {
    run.secrets.learn(chosen.secrets);
    run.agent.switchModel(chosen.client);
    note.push(`using the model of this session again: ${chosen.profile.model} (${chosen.profile.name})`);
  }
  note.push(...(await returnToMachines(run, loaded, next.replay)));
  return [...note, ...run.continueFrom(next)];
}

/** If the machines of the session cannot be reached, it continues on those in use. */
async function returnToMachines(run: Run, loaded: LoadedConfig, replay: Replay): Promise<readonly string[]> {
  try {
    const places = await storedPlaces(replay, loaded);
    if (places === undefined || samePaths(places, run.places)) return [];
    const said = await run.workOn(places, AbortSignal.timeout(RETURN_MS));
    return [`back on ${run.target.facts().label}`, ...said];
  } catch (error) {
    if (!(error instanceof BuddyError)) throw error;
    return [`${replay.target} cannot be reached: ${error.message}`];
  }
}

/** Where a session worked; undefined: its log does not say. */
async function storedPlaces(replay: Replay, loaded: LoadedConfig): Promise<Run["places"] | undefined> {
  if (replay.target === "") return undefined;
  const { ssh, container } = replay.places.length > 0 ? {} : readLabel(replay.target);
  const named = defined({ ssh, container });
  const [place, ...others] = await chosenPlaces(named, loaded, { stored: replay.places });
  if (place === undefined) return undefined;
  const elsewhere = others.length === 0 && !isLocal(place) && replay.cwd !== "";
  return [elsewhere ? { ...place, cd: replay.cwd } : place, ...others];
}

export async function exportedSession(run: Run, format: ExportFormat, state: string | undefined): Promise<string> {
  await run.sessions.stored();
  const { exportSession } = await import("../export-session.ts");
  const store = await run.sessions.store();
  const { id } = run.sessions;
  if (!store.list().some((stored) => stored.id === id))
    throw new BuddyError("usage", "nothing to export: nothing of this session is saved yet", {
      hint: "Send a prompt first",
    });
  return [...(await exportSession(store.readable(id), format, state))].join("");
}

const RETURN_MS = 30_000;
