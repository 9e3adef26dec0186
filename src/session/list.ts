/** The stored sessions of a directory, newest first, read from their first lines only. */
import { lstatSync, type Stats } from "node:fs";
import { join } from "node:path";
import type { AgentEvent } from "../agent/events.ts";
import { BuddyError } from "../lib/errors.ts";
import { fileError, filesIn } from "../lib/files.ts";
import { isSessionId } from "./ids.ts";
import { readEvents } from "./read.ts";
import type { LineSigner } from "../lib/line-signer.ts";

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

export function listSessions(directory: string, signer: LineSigner | undefined): StoredSession[] {
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
      if (event.type === "turn")
        session.title = (event.shown ?? event.prompt).replace(/\s+/g, " ").trim().slice(0, 200);
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
