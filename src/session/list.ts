/** The stored sessions of a directory, newest first, read from their first lines only. */
import { lstatSync, readdirSync, type Stats } from "node:fs";
import { join } from "node:path";
import { BuddyError } from "../lib/errors.ts";
import { fileError } from "../lib/file-error.ts";
import { isSessionId } from "./ids.ts";
import { readEvents } from "./read.ts";

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
}

export function listSessions(directory: string): StoredSession[] {
  let names: string[];
  try {
    names = readdirSync(directory);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
  return names
    .filter((name) => name.endsWith(".jsonl") && isSessionId(name.slice(0, -6)))
    .flatMap((name) => {
      const path = join(directory, name);
      const found = lstatSync(path, { throwIfNoEntry: false });
      return found === undefined ? [] : [describe(path, name.slice(0, -6), found)];
    })
    .sort((a, b) => (a.lastUsed < b.lastUsed ? 1 : -1));
}

function describe(path: string, id: string, stat: Stats): StoredSession {
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
  try {
    readEvents(path, (event) => {
      if (event.type === "session") {
        session.target = event.target;
        session.profile = event.profile;
        session.model = event.model;
      }
      if (event.type === "turn") session.title = event.prompt.replace(/\s+/g, " ").trim().slice(0, 200);
      return event.type !== "turn";
    });
  } catch (error) {
    return {
      ...session,
      problem: error instanceof BuddyError ? error.message.replace(`${path} was `, "") : fileError(error),
    };
  }
  return session;
}
