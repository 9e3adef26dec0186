/** The stored sessions a buddy can see: start one, find one by id or prefix, continue or copy it, remove it. */
import { constants, copyFileSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { closestMatch } from "../lib/closest-match.ts";
import { BuddyError } from "../lib/errors.ts";
import { fileError } from "../lib/file-error.ts";
import { lockSession, SessionHeld, type SessionLock } from "./session-lock.ts";
import { newSessionId } from "./ids.ts";
import { listSessions, type StoredSession } from "./list.ts";
import { SessionLog } from "./log.ts";
import { copyOutputs, removeOutputs } from "./outputs.ts";
import { prepare, sessionDirectory } from "./session-directory.ts";
import { readEvents } from "./read.ts";
import { Replay } from "./replay.ts";

export class SessionStore {
  /** Where new sessions go. */
  readonly directory: string;
  readonly #directories: readonly string[];
  readonly #readOnly: string | undefined;
  readonly #options: SessionStoreOptions;

  constructor(options: SessionStoreOptions) {
    const place = sessionDirectory(options.cwd, options.stateDirectory);
    this.directory = place.directory;
    const elsewhere = options.stateDirectory === undefined ? [] : [join(options.stateDirectory, "sessions")];
    this.#readOnly = place.readOnly;
    const readOnly = place.readOnly === undefined ? [] : [place.readOnly];
    this.#directories = [...new Set([place.directory, ...readOnly, ...elsewhere])];
    this.#options = options;
  }

  list(): StoredSession[] {
    return this.#directories.flatMap(listSessions).sort((a, b) => (a.lastUsed < b.lastUsed ? 1 : -1));
  }

  /** `last`, a whole id, or the unique start of one. `current`: the session one is in, which is not meant by `last`. */
  find(name: string, current?: string): StoredSession {
    const all = this.list();
    if (name === "last") {
      const newest = all.find(({ id, problem, bytes }) => id !== current && problem === undefined && bytes > 0);
      if (newest !== undefined) return newest;
      throw new BuddyError("usage", `there is no ${current === undefined ? "" : "other "}stored session here`, {
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
    throw new BuddyError("usage", `there is no session ${JSON.stringify(name)}`, {
      hint:
        near === undefined ? "List them with: buddy sessions" : `Did you mean ${near}? List them with: buddy sessions`,
    });
  }

  /** The same for what is to be read; throws when that cannot be. */
  readable(name: string, current?: string): StoredSession {
    const session = this.find(name, current);
    if (session.problem === undefined) return session;
    throw new BuddyError("session", `session ${session.id} cannot be read: ${session.problem}`, {
      hint: `The file was left as it is${session.problem.includes("newer buddy") ? "; update buddy to go on with it" : ""}: ${session.path}`,
    });
  }

  /** A new session; its file appears with the first event. */
  start(): SessionLog {
    return this.#log(newSessionId(), this.directory);
  }

  /** Throws SessionHeld while another process has it. */
  async resume(name: string, current?: string): Promise<ResumedSession> {
    const { id, path } = this.readable(name, current);
    if (id === current) throw new BuddyError("usage", `this is session ${id} already`);
    const directory = dirname(path);
    if (directory === this.#readOnly) {
      const copy = this.fork(id);
      const note = `${directory} cannot be written: session ${id} goes on as a copy, ${copy.log.id}`;
      return { ...copy, notes: [note, ...copy.notes] };
    }
    const hold = await lockSession(directory, id).catch((error: BuddyError) => {
      if (error instanceof SessionHeld) throw error;
      // No locks on this file system: said once, and the session goes on all the same.
      this.#options.problem(error.message);
      return undefined;
    });
    try {
      return { log: this.#log(id, directory, hold), ...restore(path) };
    } catch (error) {
      hold?.release();
      throw error;
    }
  }

  /** A copy under a new id: what another process goes on writing to the original does not reach it. */
  fork(name: string): ResumedSession {
    const original = this.readable(name);
    const log = this.start();
    try {
      prepare(log.directory);
      copyFileSync(original.path, log.path, constants.COPYFILE_EXCL);
    } catch (error) {
      throw new BuddyError("session", `session ${original.id} cannot be copied to ${log.path}: ${fileError(error)}`, {
        hint: "Make room or the directory writable, or start a new session.",
        cause: error,
      });
    }
    const { replay, notes } = restore(log.path);
    const trouble = copyOutputs(this.#options.stateDirectory, original.id, log.id);
    return { log, replay, notes: trouble === undefined ? notes : [...notes, trouble] };
  }

  async remove(name: string): Promise<StoredSession> {
    const session = this.find(name);
    const directory = dirname(session.path);
    const hold = await lockSession(directory, session.id);
    try {
      removeOutputs(this.#options.stateDirectory, session.id);
      rmSync(session.path);
    } catch (error) {
      throw new BuddyError("session", `cannot remove ${session.path}: ${fileError(error)}`, { cause: error });
    } finally {
      hold.release();
    }
    for (const end of ["lock", "lock-journal"])
      rmSync(join(directory, "..", "locks", `${session.id}.${end}`), { force: true });
    return session;
  }

  #log(id: string, directory: string, hold?: SessionLock): SessionLog {
    const { redact, problem } = this.#options;
    return new SessionLog({ id, directory, redact, problem, hold });
  }
}

export interface SessionStoreOptions {
  readonly cwd: string;
  /** Such as ~/.local/state/buddy: for sessions the working directory cannot hold. Undefined: there is no such place. */
  readonly stateDirectory: string | undefined;
  /** Takes keys and tokens out of every line. */
  readonly redact: (text: string) => string;
  /** Told when the log cannot be written; the work goes on. */
  readonly problem: (message: string) => void;
}

export interface ResumedSession {
  readonly log: SessionLog;
  readonly replay: Replay;
  /** What to tell the user: damaged lines, repaired calls. */
  readonly notes: readonly string[];
}

function restore(path: string): { replay: Replay; notes: string[] } {
  const replay = new Replay();
  const { damaged } = readEvents(path, (event) => replay.add(event));
  replay.finish();
  const notes: string[] = [];
  if (damaged > 0) notes.push(`${count(damaged, "damaged line")} of the session log skipped`);
  if (replay.repaired > 0)
    notes.push(`${count(replay.repaired, "tool call")} had no stored result and got a note instead`);
  return { replay, notes };
}

function count(n: number, what: string): string {
  return `${n} ${what}${n === 1 ? "" : "s"}`;
}
