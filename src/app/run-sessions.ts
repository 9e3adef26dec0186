/** The session of a run, and the stored ones it can change to. */
import { defined } from "../lib/values.ts";
import type { AgentEvent } from "../agent/events.ts";
import { printable } from "../lib/text.ts";
import { newSessionId } from "../session/outputs.ts";
import type { ResumedSession, ResumeOptions, SessionStore, SessionStoreOptions } from "../session/store.ts";
import type { SessionLog, SessionLogOptions } from "../session/log.ts";
import type { LoadedConfig } from "../config/load.ts";
import { profileNames } from "../config/profiles.ts";
import { BuddyError } from "../lib/errors.ts";
import { modelClient, type ProfileClient } from "./model/model-client.ts";
import type { Replay } from "../session/read.ts";
import type { GlobalOptions } from "../cli/args/options.ts";

interface RunSessionsOptions extends SessionStoreOptions {
  /** False: nothing is written to a session log. */
  readonly record: boolean;
}

export class RunSessions {
  readonly #options: RunSessionsOptions;
  #directory: Promise<string> | undefined;
  #store: Promise<SessionStore> | undefined;
  #recorder: SessionRecorder;

  constructor(options: RunSessionsOptions) {
    this.#options = options;
    this.#recorder = this.#record(undefined);
  }

  get id(): string {
    return this.#recorder.id;
  }

  /** Whether it can be resumed: a model answered, or a command ran. */
  get isKept(): boolean {
    return this.#recorder.isKept;
  }

  append(event: AgentEvent): void {
    if (this.#options.record) this.#recorder.append(event);
  }

  /** Resolves when the log has every event so far. */
  stored(): Promise<void> {
    return this.#recorder.stored();
  }

  store(): Promise<SessionStore> {
    return (this.#store ??= Promise.all([import("../session/store.ts"), this.#newDirectory()]).then(
      ([{ SessionStore }]) => new SessionStore(this.#options),
    ));
  }

  /** The session to begin with; one of another user only if the terminal confirms it. */
  async resume(name: string, fork: boolean): Promise<ResumedSession> {
    const store = await this.store();
    const { ForeignSession } = await import("../session/store.ts");
    const open = async (how?: ResumeOptions) => (fork ? store.fork(name, how) : store.resume(name, how));
    const resumed = await open().catch(async (error: unknown) => {
      if (!(error instanceof ForeignSession)) throw error;
      const { yesOnTerminal } = await import("../ui/questions/confirm-on-terminal.ts");
      const question = `${printable(error.lines.join("\n"))}\nContinue this session?`;
      if ((await yesOnTerminal(question)) !== true) throw error;
      return open({ foreign: true });
    });
    this.#recorder = this.#record(resumed);
    return resumed;
  }

  /** Leaves the session for another, or for a new one. */
  async change(next?: ResumedSession): Promise<void> {
    await this.#recorder.close();
    this.#recorder = this.#record(next);
  }

  close(): Promise<void> {
    return this.#recorder.close();
  }

  #record(resumed: ResumedSession | undefined): SessionRecorder {
    const { redact, problem, stateDirectory } = this.#options;
    const id = resumed?.log.id ?? newSessionId();
    return new SessionRecorder({ id, resumed, redact, problem, stateDirectory, directory: () => this.#newDirectory() });
  }

  /** Where new sessions go; an unusual place is reported once. Not asked from the store: a new session needs none. */
  #newDirectory(): Promise<string> {
    return (this.#directory ??= import("../session/session-directory.ts").then(({ sessionDirectory }) => {
      const { cwd, stateDirectory, record, problem } = this.#options;
      const { directory, notice, unwritable } = sessionDirectory(cwd, stateDirectory);
      // If nothing can be written, the log itself reports that, with the reason.
      if (notice !== undefined && unwritable === undefined && record) problem(notice);
      return directory;
    }));
  }
}

// Writes the events of a run to its session log, without delaying the first answer.

interface RecorderOptions extends Omit<SessionLogOptions, "directory"> {
  /** Where a new log goes. */
  directory(): Promise<string>;
  /** Of a session that is continued. */
  readonly resumed?: ResumedSession | undefined;
}

/**
 * The file is opened after the first prompt was sent (a start without one leaves no session); then every event is
 * written as it comes. Locking, and waiting for the disk, begin after FIRST_MOMENTS_MS or with the first tool: a short
 * answer is over by then, and no other process can know its id yet.
 */
export class SessionRecorder {
  readonly id: string;
  readonly #options: RecorderOptions;
  #log: SessionLog | undefined;
  #opening: Promise<SessionLog> | undefined;
  #waiting: AgentEvent[] = [];
  /** A prompt was given. */
  #begun: boolean;
  #isKept: boolean;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isLive = false;

  constructor(options: RecorderOptions) {
    this.#options = options;
    this.id = options.id;
    this.#log = options.resumed?.log;
    this.#begun = this.#isKept = this.#log !== undefined;
  }

  get isKept(): boolean {
    return this.#isKept;
  }

  append(event: AgentEvent): void {
    this.#isKept ||= WORTH_KEEPING.has(event.type);
    this.#begun ||= event.type === "turn" || this.#waiting.length >= MOST_BEFORE;
    if (!this.#begun) return void this.#waiting.push(event);
    if (this.#options.resumed === undefined) {
      if (event.type === "tool_started") this.#goLive();
      else this.#timer ??= setTimeout(() => this.#goLive(), FIRST_MOMENTS_MS);
    }
    if (this.#log !== undefined) return this.#log.append(event);
    this.#waiting.push(event);
    setImmediate(() => void this.#open());
  }

  /** Resolves when every event so far is in the log, or was reported as missing. */
  async stored(): Promise<void> {
    if (this.#begun && this.#waiting.length > 0) await this.#open();
    this.#log?.flush();
  }

  async close(): Promise<void> {
    clearTimeout(this.#timer);
    if (!this.#isKept) {
      this.#waiting = [];
      return (await this.#opening)?.discard();
    }
    await this.stored();
    await this.#log?.close();
  }

  #goLive(): void {
    clearTimeout(this.#timer);
    if (this.#isLive) return;
    this.#isLive = true;
    void this.#open().then((log) => log.goLive());
  }

  /** Writes what has happened so far; before that, events are kept. */
  #open(): Promise<SessionLog> {
    return (this.#opening ??= (async () => {
      const { id, redact, problem, stateDirectory } = this.#options;
      const [{ SessionLog }, directory] = await Promise.all([import("../session/log.ts"), this.#options.directory()]);
      const log = new SessionLog({ id, directory, stateDirectory, redact, problem, live: false });
      for (const event of this.#waiting.splice(0)) log.append(event);
      return (this.#log = log);
    })());
  }
}

/** A session without any of these never reached a model, and is removed when it ends. */
const WORTH_KEEPING: ReadonlySet<AgentEvent["type"]> = new Set([
  "text",
  "reasoning",
  "message",
  "tool_started",
  "tool_finished",
  "usage",
]);

const FIRST_MOMENTS_MS = 300;
/** Events before the first prompt (what the operator did in the pane meanwhile) that are kept in memory. */
const MOST_BEFORE = 500;

// What a stored session was run with, for options that the command line does not give.

/** The target of the session, unless the command line names one. */
export function withStoredTarget(globals: GlobalOptions, { target, cwd, places }: Replay): GlobalOptions {
  if ((globals.ssh ?? globals.container ?? globals.on ?? globals.pane) !== undefined) return globals;
  if (places.length > 0)
    return globals.cd === undefined && cwd !== "" && places.length === 1 ? { ...globals, cd: cwd } : globals;
  const { ssh, container } = readLabel(target);
  if (ssh === undefined && container === undefined) return globals;
  return {
    ...globals,
    ...defined({ ssh, container }),
    ...(globals.cd === undefined && cwd !== "" ? { cd: cwd } : {}),
  };
}

/** The profile of the session, unless --model or BUDDY_MODEL chose one. */
export function storedModel(globals: GlobalOptions, { profile, model }: Replay, configured: string | undefined) {
  if (globals.model !== undefined || process.env.BUDDY_MODEL || process.env.AGENT_MODEL || profile === "")
    return undefined;
  return model === "" || model === profile || model === configured || profile === "demo"
    ? profile
    : `${profile}:${model}`;
}

/** The client of the profile in effect: that of a resumed session, if the configuration still has it. */
export async function clientFor(loaded: LoadedConfig, globals: GlobalOptions, resumed: ResumedSession | undefined) {
  const { chosen, note } = resumed === undefined ? { note: [] } : await storedClient(loaded, globals, resumed);
  return { ...(chosen ?? (await modelClient(loaded))), note };
}

/** The client that a stored session was run with; none if another was asked for, or it is no longer available. */
export async function storedClient(
  loaded: LoadedConfig,
  globals: GlobalOptions,
  { replay }: ResumedSession,
): Promise<{ chosen?: ProfileClient; note: string[] }> {
  const { profile } = replay;
  const selector = storedModel(globals, replay, loaded.config.models[profile]?.model);
  if (selector === undefined) return { note: [] };
  // Checked first: an unknown name before a colon would be taken for a part of a model id.
  if (!profileNames(loaded).includes(profile))
    return { note: [`the profile of this session is no longer configured: ${profile}`] };
  try {
    return { chosen: await modelClient(loaded, selector), note: [] };
  } catch (error) {
    if (!(error instanceof BuddyError)) throw error;
    return { note: [`the profile of this session cannot be used: ${error.message}`] };
  }
}

/** Whether two labels name the same place: until it is open, the label of an ssh target may lack the user. */
export function samePlace(one: string, other: string): boolean {
  const bare = (label: string) => label.replace(/\bssh [^@\s]+@/, "ssh ");
  return one === other || ((one === bare(one) || other === bare(other)) && bare(one) === bare(other));
}

/** `ssh deploy@web1`, `container api`, `container api on ssh deploy@web1`; anything else is this machine. */
export function readLabel(label: string): { ssh?: string; container?: string } {
  const [, container, ssh] = /^(?:container (\S+?))?(?: on )?(?:ssh (\S+))?$/.exec(label) ?? [];
  return defined({ ssh, container });
}
