/** A private directory with a short path for control sockets; sockets that killed buddies left in it are removed. */
import { lstatSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { BuddyError } from "../../lib/errors.ts";
import { hasEnded, processMark } from "../../lib/processes.ts";
import { temporaryDirectory } from "../../lib/local-directories.ts";
import { type Environment, sha256 } from "../../lib/values.ts";

/**
 * A socket path has at most 104 bytes on macOS, 108 on Linux; ssh appends a dot and 16 characters while it creates one,
 * and our names have up to 29 on macOS, 35 on Linux.
 */
const LONGEST = 104 - 18 - 35;
const NAME = /^[0-9a-f]{8}-(\d+-[0-9a-z]+)-[0-9a-z]+$/;

export function socketDirectory(env: Environment = process.env): string {
  const standing = privateDirectory(env);
  if (standing !== undefined) return standing;
  const made = mkdtempSync(join(temporaryDirectory(), "buddy-"));
  if (Buffer.byteLength(made) <= LONGEST) return made;
  rmSync(made, { recursive: true });
  throw new BuddyError(
    "target",
    `no private directory for the ssh control socket: ${places(env).join(" and ")} cannot be used`,
    {
      hint: "Remove them if they are not yours, or set XDG_RUNTIME_DIR to a short path that only you can write to.",
    },
  );
}

/** A private directory that all buddies of this user share; undefined if there is none. */
export function privateDirectory(env: Environment = process.env): string | undefined {
  return places(env).find((place) => Buffer.byteLength(place) <= LONGEST && isPrivate(place, process.getuid?.() ?? 0));
}

function places(env: Environment): string[] {
  const runtime = env["XDG_RUNTIME_DIR"];
  return [...(runtime?.startsWith("/") ? [join(runtime, "buddy")] : []), `/tmp/buddy-${process.getuid?.() ?? 0}`];
}

/** From target, process and time: two buddies, or two connections of one, never share a socket. */
export function socketName(target: string, now = Date.now()): string {
  const hash = sha256(target).slice(0, 8);
  return `${hash}-${processMark()}-${now.toString(36)}${(counter++ % 1296).toString(36)}`;
}

let counter = 0;

/** Removes sockets whose buddy has ended; `end` asks a master that may still listen there to exit. */
export async function sweepSockets(directory: string, end: (socket: string) => Promise<void>): Promise<void> {
  for (const name of readdirSync(directory)) {
    const mark = NAME.exec(name)?.[1];
    if (mark === undefined || !hasEnded(mark)) continue;
    const socket = join(directory, name);
    await end(socket);
    rmSync(socket, { force: true });
  }
}

function isPrivate(path: string, uid: number): boolean {
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") return false;
  }
  try {
    const stat = lstatSync(path);
    return stat.isDirectory() && stat.uid === uid && (stat.mode & 0o077) === 0;
  } catch {
    return false;
  }
}
