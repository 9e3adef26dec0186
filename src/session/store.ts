/** Stored sessions: start, find by id or prefix, resume, copy and remove them. */
import { constants, copyFileSync, lstatSync, rmSync, type Stats } from "node:fs";
import { dirname, join } from "node:path";
import type { AgentEvent } from "../agent/events.ts";
import { currentDirectory } from "../lib/byte-names.ts";
import { BuddyError } from "../lib/errors.ts";
import { fileError, filesIn } from "../lib/files.ts";
import { type LineSigner, lineSigner } from "../lib/line-signer.ts";
import { log } from "../lib/log.ts";
import { closestMatch, collapseSpaces, plural, shorten } from "../lib/text.ts";
import { stateDirectory } from "../lib/user-directories.ts";
import { SessionLog } from "./log.ts";
import { copyChanges, copyOutputs, isSessionId, newSessionId, removeKept } from "./outputs.ts";
import { NewerLog, readEvents, Replay } from "./read.ts";
import { copySecrets, readSecrets, removeSecrets, type StoredSecret } from "./secrets-file.ts";
import { knownDirectories, prepare, sessionDirectory } from "./session-directory.ts";
import { lockSession, removeLock, SessionInUse, type SessionLock } from "./session-lock.ts";

export class SessionStore {
  /** Where new sessions go. */
  readonly directory: string;
  readonly #directories: readonly string[];
  readonly #readOnly: string | undefined;
  readonly #options: SessionStoreOptions;
  #signer: LineSigner | undefined;

  constructor(options: SessionStoreOptions) {
    const place = sessionDirectory(options.cwd, options.stateDirectory);
    this.directory = place.directory;
    const elsewhere = options.stateDirectory === undefined ? [] : [join(options.stateDirectory, "sessions")];
    this.#readOnly = place.readOnly;
    const readOnly = place.readOnly === undefined ? [] : [place.readOnly];
    this.#directories = [...new Set([place.directory, ...readOnly, ...elsewhere])];
    this.#options = options;
    this.#signer = lineSigner(options.stateDirectory);
  }

  /** Newest first. */
  list(): StoredSession[] {
    return newestFirst(this.#directories.flatMap((directory) => listSessions(directory, this.#signer)));
  }

  /** Also those of all other working directories. */
  listAll(): StoredSession[] {
    const directories = new Set([...this.#directories, ...knownDirectories(this.#options.stateDirectory)]);
    const sessions = [...directories].flatMap((directory) => {
      try {
        return listSessions(directory, this.#signer);
      } catch {
        // The directory can no longer be read.
        return [];
      }
    });
    return newestFirst(sessions);
  }

  /** `last`, an id, or the unique start of one. `current`: the open session, which `last` does not mean. */
  find(name: string, current?: string): StoredSession {
    const all = this.list();
    if (name === "last") {
      const newest = all.find(({ id, problem, bytes }) => id !== current && problem === undefined && bytes > 0);
      if (newest !== undefined) return newest;
      throw new BuddyError("usage", `no ${current === undefined ? "" : "other "}saved session in this directory`, {
        hint: `Sessions are looked for in ${this.#directories.join(" and ")}.`,
      });
    }
    const matches = name === "" ? [] : all.filter((session) => session.id.startsWith(name));
    if (matches.length === 1) return matches[0] as StoredSession;
    if (matches.length > 1)
      throw new BuddyError("usage", `${name} is the start of ${matches.length} sessions`, {
        hint: matches.map((session) => `${session.id}  ${session.title.slice(0, 50)}`).join("\n"),
      });
    const near = closestMatch(
      name,
      all.map((session) => session.id),
    );
    throw new BuddyError("usage", `session ${JSON.stringify(name)} does not exist`, {
      hint:
        near === undefined ? "List them with: buddy sessions" : `Did you mean ${near}? List them with: buddy sessions`,
    });
  }

  /** Like `find`; throws if the session cannot be read. */
  readable(name: string, current?: string): StoredSession {
    const session = this.find(name, current);
    if (session.problem === undefined) return session;
    throw new BuddyError("session", `session ${session.id} cannot be read: ${session.problem}`, {
      hint: `The file was left as it is${session.newer === true ? "; update buddy to continue it" : ""}: ${session.path}`,
    });
  }

  /** A new session; its file is created with the first event. */
  start(): SessionLog {
    return this.#log(newSessionId(), this.directory);
  }

  /** Throws SessionInUse while another process has it, ForeignSession unless a foreign one was accepted. */
  async resume(name: string, { current, foreign }: ResumeOptions = {}): Promise<ResumedSession> {
    const { id, path } = this.readable(name, current);
    if (id === current) throw new BuddyError("usage", `session ${id} is already open`);
    const directory = dirname(path);
    if (directory === this.#readOnly) {
      const copy = this.fork(id, { foreign });
      const note = `${directory} cannot be written: session ${id} continues as a copy, ${copy.log.id}`;
      return { ...copy, notes: [note, ...copy.notes] };
    }
    const lock = await lockSession(directory, id).catch((error: BuddyError) => {
      if (error instanceof SessionInUse) throw error;
      // A file system without locks: the session continues without one.
      this.#options.problem(error.message);
      return undefined;
    });
    try {
      return { log: this.#log(id, directory, lock), ...this.#restore(id, path, foreign) };
    } catch (error) {
      lock?.release();
      throw error;
    }
  }

  /** A copy under a new id. */
  fork(name: string, { foreign }: ResumeOptions = {}): ResumedSession {
    const original = this.readable(name);
    const { replay, notes, secrets } = this.#restore(original.id, original.path, foreign);
    const log = this.start();
    try {
      prepare(log.directory);
      copyFileSync(original.path, log.path, constants.COPYFILE_EXCL);
    } catch (error) {
      throw new BuddyError("session", `session ${original.id} cannot be copied to ${log.path}: ${fileError(error)}`, {
        hint: "Free some space, make the directory writable, or start a new session.",
        cause: error,
      });
    }
    const { stateDirectory } = this.#options;
    const problems = [
      copyOutputs(stateDirectory, original.id, log.id),
      copyChanges(stateDirectory, original.id, log.id),
      secrets.length === 0 ? undefined : copySecrets(stateDirectory, original.id, log.id),
    ].filter((problem) => problem !== undefined);
    return { log, replay, secrets, notes: [...notes, ...problems] };
  }

  async remove(name: string): Promise<StoredSession> {
    const session = this.find(name);
    const directory = dirname(session.path);
    const lock = await lockSession(directory, session.id);
    try {
      removeKept(this.#options.stateDirectory, session.id);
      removeSecrets(this.#options.stateDirectory, session.id);
      rmSync(session.path);
      removeLock(directory, session.id);
    } catch (error) {
      throw new BuddyError("session", `cannot remove ${session.path}: ${fileError(error)}`, { cause: error });
    } finally {
      lock.release();
    }
    return session;
  }

  #log(id: string, directory: string, lock?: SessionLock): SessionLog {
    const { redact, problem, stateDirectory } = this.#options;
    return new SessionLog({ id, directory, stateDirectory, redact, problem, lock });
  }

  #restore(id: string, path: string, accepted = false): Omit<ResumedSession, "log"> {
    const replay = new Replay();
    const { damaged, foreign } = readEvents(path, (event) => replay.add(event), this.#signer);
    replay.finish();
    if (foreign > 0) {
      if (!accepted) throw new ForeignSession(id, path, replay);
      replay.forgetChoices();
    }
    const notes: string[] = [];
    if (damaged > 0) notes.push(`${plural(damaged, "damaged line")} of the session log skipped`);
    for (const title of replay.unfinished)
      notes.push(
        `buddy ended before this had a result, so it may still run or have taken effect: ${shorten(title, 100)}`,
      );
    const { stateDirectory } = this.#options;
    // A foreign log may have the id of one of the user's own sessions: it gets none of its secrets.
    const secrets = foreign > 0 || stateDirectory === undefined ? [] : readSecrets(stateDirectory, id);
    return { replay, notes, secrets };
  }
}

/**
 * Thrown for a log that this user's buddy did not write, or only in part: the model would take its text for the user's.
 */
export class ForeignSession extends BuddyError {
  readonly id: string;
  /** Shown before the user is asked whether to continue it. */
  readonly lines: readonly string[];

  constructor(id: string, path: string, { firstPrompt, turns, target }: Replay) {
    super("approval", `session ${id} was not written by your buddy, or was changed since`, {
      hint: `Continue it on a terminal, where you are asked, or remove it: buddy sessions rm ${id}`,
    });
    this.id = id;
    this.lines = [
      `${path} was not written by your buddy on this machine, or was changed since.`,
      `It contains ${plural(turns, "prompt")}; the first: ${JSON.stringify(shorten(firstPrompt, 200))}`,
      ...(target === "" ? [] : [`It says that it worked on ${JSON.stringify(target)}; that is not restored.`]),
      "The model would treat its text as your own words.",
    ];
  }
}

export interface ResumeOptions {
  /** The open session, which `last` does not mean. */
  readonly current?: string | undefined;
  /** The user agreed to continue a session that is not their own. */
  readonly foreign?: boolean | undefined;
}

/** Those of the current directory, for commands that only look: nothing is written, so nothing is masked. */
export function savedSessions(problem: (message: string) => void = (message) => log.warn(message)): SessionStore {
  const place = { cwd: currentDirectory(), stateDirectory: stateDirectory() };
  return new SessionStore({ ...place, redact: (text) => text, problem });
}

export interface SessionStoreOptions {
  readonly cwd: string;
  /** Such as ~/.local/state/buddy, for sessions that the working directory cannot store. Undefined without a home. */
  readonly stateDirectory: string | undefined;
  /** Removes keys and tokens from every line. */
  readonly redact: (text: string) => string;
  /** Reports what went wrong with the log; the work continues. */
  readonly problem: (message: string) => void;
}

export interface ResumedSession {
  readonly log: SessionLog;
  readonly replay: Replay;
  /** For the user: damaged lines, calls without a result. */
  readonly notes: readonly string[];
  /** The values behind the names of secrets in its messages. */
  readonly secrets: readonly StoredSecret[];
}

/** What the first lines of a log say. */
export interface StoredSession {
  readonly id: string;
  readonly path: string;
  /** ISO 8601. */
  readonly lastUsed: string;
  readonly bytes: number;
  readonly target: string;
  readonly profile: string;
  readonly model: string;
  /** The first prompt, on one line. */
  readonly title: string;
  /** Set when the file cannot be read: a newer format, no permission. */
  readonly problem?: string;
  /** The problem is a newer format. */
  readonly newer?: true;
  /** Not written by this user's buddy, as far as the first lines show. */
  readonly foreign?: true;
}

function listSessions(directory: string, signer: LineSigner | undefined): StoredSession[] {
  return filesIn(directory)
    .filter((name) => name.endsWith(".jsonl") && isSessionId(name.slice(0, -6)))
    .flatMap((name) => {
      const path = join(directory, name);
      const found = lstatSync(path, { throwIfNoEntry: false });
      return found === undefined ? [] : [describe(path, name.slice(0, -6), found, signer)];
    });
}

function newestFirst(sessions: readonly StoredSession[]): StoredSession[] {
  return sessions.toSorted((a, b) => (a.lastUsed < b.lastUsed ? 1 : -1));
}

function describe(path: string, id: string, stat: Stats, signer: LineSigner | undefined): StoredSession {
  const { mtime, size } = stat;
  const session = {
    id,
    path,
    lastUsed: mtime.toISOString(),
    bytes: size,
    target: "",
    profile: "",
    model: "",
    title: "",
  };
  // A link could lead a resumed log anywhere, and a pipe would never end.
  if (!stat.isFile()) return { ...session, problem: "not a regular file" };
  let foreign = 0;
  try {
    const visit = (event: AgentEvent) => {
      if (event.type === "session") {
        session.target = event.target;
        session.profile = event.profile;
        session.model = event.model;
      }
      if (event.type === "turn") session.title = collapseSpaces(event.shown ?? event.prompt).slice(0, 200);
      return event.type !== "turn";
    };
    ({ foreign } = readEvents(path, visit, signer));
  } catch (error) {
    if (error instanceof NewerLog) return { ...session, problem: error.problem, newer: true };
    return { ...session, problem: fileError(error) };
  }
  return foreign > 0 ? { ...session, foreign: true } : session;
}
