/** The stored sessions a buddy can see: start one, find one by id or prefix, continue or copy it, remove it. */
import { constants, copyFileSync, rmSync, lstatSync, type Stats } from "node:fs";
import { dirname, join } from "node:path";
import { shorten, closestMatch, plural, collapseSpaces } from "../lib/text.ts";
import { BuddyError } from "../lib/errors.ts";
import { fileError, filesIn } from "../lib/files.ts";
import { lockSession, removeLock, SessionHeld, type SessionLock } from "./session-lock.ts";
import { newSessionId, isSessionId } from "./ids.ts";
import { SessionLog } from "./log.ts";
import { copyChanges, copyOutputs, removeKept } from "./outputs.ts";
import { copySecrets, readSecrets, removeSecrets, type StoredSecret } from "./secrets-file.ts";
import { prepare, sessionDirectory, knownDirectories } from "./session-directory.ts";
import { readEvents } from "./read.ts";
import { Replay } from "./replay.ts";
import { type LineSigner, lineSigner } from "../lib/line-signer.ts";
import type { AgentEvent } from "../agent/events.ts";

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

  list(): StoredSession[] {
    return this.#directories
      .flatMap((directory) => listSessions(directory, this.#signer))
      .sort((a, b) => (a.lastUsed < b.lastUsed ? 1 : -1));
  }

  /** Those of every directory that ever held one, and of this one. */
  listAll(): StoredSession[] {
    const directories = new Set([...this.#directories, ...knownDirectories(this.#options.stateDirectory)]);
    return [...directories]
      .flatMap((directory) => {
        try {
          return listSessions(directory, this.#signer);
        } catch {
          // A directory that cannot be looked at any more has nothing to list.
          return [];
        }
      })
      .sort((a, b) => (a.lastUsed < b.lastUsed ? 1 : -1));
  }

  /** `last`, a whole id, or the unique start of one. `current`: the session one is in, which is not meant by `last`. */
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

  /** The same for what is to be read; throws when that cannot be. */
  readable(name: string, current?: string): StoredSession {
    const session = this.find(name, current);
    if (session.problem === undefined) return session;
    throw new BuddyError("session", `session ${session.id} cannot be read: ${session.problem}`, {
      hint: `The file was left as it is${session.problem.includes("newer buddy") ? "; update buddy to continue it" : ""}: ${session.path}`,
    });
  }

  /** A new session; its file appears with the first event. */
  start(): SessionLog {
    return this.#log(newSessionId(), this.directory);
  }

  /** Throws SessionHeld while another process has it, ForeignSession unless a foreign one was accepted. */
  async resume(name: string, { current, foreign }: ResumeOptions = {}): Promise<ResumedSession> {
    const { id, path } = this.readable(name, current);
    if (id === current) throw new BuddyError("usage", `session ${id} is already open`);
    const directory = dirname(path);
    if (directory === this.#readOnly) {
      const copy = this.fork(id, { foreign });
      const note = `${directory} cannot be written: session ${id} continues as a copy, ${copy.log.id}`;
      return { ...copy, notes: [note, ...copy.notes] };
    }
    const hold = await lockSession(directory, id).catch((error: BuddyError) => {
      if (error instanceof SessionHeld) throw error;
      // No locks on this file system: reported once, and the session continues all the same.
      this.#options.problem(error.message);
      return undefined;
    });
    try {
      return { log: this.#log(id, directory, hold), ...this.#restore(id, path, foreign) };
    } catch (error) {
      hold?.release();
      throw error;
    }
  }

  /** A copy under a new id: what another process still writes to the original does not reach it. */
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
    const hold = await lockSession(directory, session.id);
    try {
      removeKept(this.#options.stateDirectory, session.id);
      removeSecrets(this.#options.stateDirectory, session.id);
      rmSync(session.path);
      removeLock(directory, session.id);
    } catch (error) {
      throw new BuddyError("session", `cannot remove ${session.path}: ${fileError(error)}`, { cause: error });
    } finally {
      hold.release();
    }
    return session;
  }

  #log(id: string, directory: string, hold?: SessionLock): SessionLog {
    const { redact, problem, stateDirectory } = this.#options;
    return new SessionLog({ id, directory, stateDirectory, redact, problem, hold });
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
    if (replay.repaired > 0)
      notes.push(`${plural(replay.repaired, "tool call")} had no stored result; a note replaces it`);
    const { stateDirectory } = this.#options;
    // A foreign log may carry the id of a session of the user's own: it gets none of its secrets.
    const secrets = foreign > 0 || stateDirectory === undefined ? [] : readSecrets(stateDirectory, id);
    return { replay, notes, secrets };
  }
}

/**
 * Thrown for a log that this user's buddy did not write, as a whole or in part: its text would pass for the user's own.
 */
export class ForeignSession extends BuddyError {
  readonly id: string;
  /** What a person should read before saying yes. */
  readonly lines: readonly string[];

  constructor(id: string, path: string, { firstPrompt, turns, target }: Replay) {
    super("approval", `session ${id} was not written by your buddy, or was changed since`, {
      hint: `Continue it on a terminal, where you are asked, or remove it: buddy sessions rm ${id}`,
    });
    this.id = id;
    this.lines = [
      `${path} was not written by your buddy on this machine, or was changed since.`,
      `It holds ${plural(turns, "prompt")}; the first: ${JSON.stringify(shorten(firstPrompt, 200))}`,
      ...(target === "" ? [] : [`It says that it worked on ${JSON.stringify(target)}; that is not restored.`]),
      "The model would treat its text as your own words.",
    ];
  }
}

export interface ResumeOptions {
  /** The session one is in, which is not meant by `last`. */
  readonly current?: string | undefined;
  /** The user agreed to continue a session that is not their own. */
  readonly foreign?: boolean | undefined;
}

interface SessionStoreOptions {
  readonly cwd: string;
  /** Such as ~/.local/state/buddy: for sessions the working directory cannot hold. Undefined without a home. */
  readonly stateDirectory: string | undefined;
  /** Takes keys and tokens out of every line. */
  readonly redact: (text: string) => string;
  /** Gets what went wrong with the log; the work continues. */
  readonly problem: (message: string) => void;
}

export interface ResumedSession {
  readonly log: SessionLog;
  readonly replay: Replay;
  /** For the user: damaged lines, repaired calls. */
  readonly notes: readonly string[];
  /** The values behind the names of secrets in its messages. */
  readonly secrets: readonly StoredSecret[];
}

/** The stored sessions of a directory, newest first, read from their first lines only. */
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
  /** Not written by this user's buddy, as far as the first lines show. */
  readonly foreign?: true;
}

function listSessions(directory: string, signer: LineSigner | undefined): StoredSession[] {
  return filesIn(directory)
    .filter((name) => name.endsWith(".jsonl") && isSessionId(name.slice(0, -6)))
    .flatMap((name) => {
      const path = join(directory, name);
      const found = lstatSync(path, { throwIfNoEntry: false });
      return found === undefined ? [] : [describe(path, { id: name.slice(0, -6), stat: found, signer })];
    })
    .sort((a, b) => (a.lastUsed < b.lastUsed ? 1 : -1));
}

interface Found {
  readonly id: string;
  readonly stat: Stats;
  readonly signer: LineSigner | undefined;
}

function describe(path: string, { id, stat, signer }: Found): StoredSession {
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
    return {
      ...session,
      problem: error instanceof BuddyError ? error.message.replace(`${path} was `, "") : fileError(error),
    };
  }
  return foreign > 0 ? { ...session, foreign: true } : session;
}
