/** The file of --last-message: checked before anything is sent, so that no answer is lost; written at the end. */
import { accessSync, constants, statSync } from "node:fs";
import { dirname } from "node:path";
import { BuddyError } from "../../../lib/errors.ts";
import { fileError, writeError, writeFileAtomic } from "../../../lib/files.ts";

/** Throws where the file could not be written; returns how to write it. */
export function lastMessageTo(path: string): (answer: string) => Promise<void> {
  check(path);
  return (answer) => write(path, answer);
}

function check(path: string): void {
  if (openAs(path) !== undefined) return;
  try {
    const existing = statSync(path, { throwIfNoEntry: false });
    if (existing?.isDirectory()) throw unwritable(path, "it is a directory");
    accessSync(existing === undefined || existing.isFile() ? dirname(path) : path, constants.W_OK);
  } catch (cause) {
    if (cause instanceof BuddyError) throw cause;
    throw unwritable(path, writeError(cause), cause);
  }
}

async function write(path: string, answer: string): Promise<void> {
  const text = answer.endsWith("\n") ? answer : `${answer}\n`;
  try {
    const open = openAs(path);
    if (open !== undefined) return void (await Bun.write(Bun.file(open), text));
    // A directory that was removed meanwhile must not be made again.
    accessSync(dirname(path));
    writeFileAtomic(path, text, 0o644);
  } catch (cause) {
    throw unwritable(path, fileError(cause), cause);
  }
}

function unwritable(path: string, why: string, cause?: unknown): BuddyError {
  return new BuddyError("usage", `cannot write ${path}: ${why}`, { cause });
}

/** The descriptor that a path stands for: a socket cannot be opened by its path, only written to. */
function openAs(path: string): number | undefined {
  if (path === "/dev/stdout") return 1;
  if (path === "/dev/stderr") return 2;
  const number = /^\/(?:dev|proc\/self)\/fd\/(\d{1,6})$/.exec(path)?.[1];
  return number === undefined ? undefined : Number(number);
}
