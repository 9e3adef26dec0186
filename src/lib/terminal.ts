/** The terminal of this process: whether a stream is one, who may use it, colour, lines on stderr. */
import { fstatSync, lstatSync, statSync, closeSync, openSync, readFileSync, writeSync } from "node:fs";
import { type Environment, once } from "./values.ts";

/** Does not load node:tty (2 ms) for a pipe, a file or /dev/null. */
export function isTerminal(fd: number): boolean {
  try {
    const stat = fstatSync(fd);
    if (!stat.isCharacterDevice() || stat.rdev === statSync("/dev/null", { throwIfNoEntry: false })?.rdev) return false;
    return process.getBuiltinModule("node:tty").isatty(fd);
  } catch {
    return false; // closed
  }
}

/**
 * The socket of the tmux server that buddy was started in; undefined if it belongs to another user (after `su`): a
 * server can make its clients read and write files with their permissions.
 */
export function surroundingTmux(env: Environment = process.env): string | undefined {
  const socket = env["TMUX"]?.split(",")[0];
  if (!socket?.startsWith("/")) return undefined;
  const user = process.getuid?.();
  const there = lstatSync(socket, { throwIfNoEntry: false });
  const above = lstatSync(socket.replace(/[^/]+$/, "."), { throwIfNoEntry: false });
  const safe = there?.isSocket() === true && there.uid === user && (above?.uid === user || above?.uid === 0);
  return safe ? socket : undefined;
}

/** The controlling terminal, for reading and writing; undefined if there is none or we are in the background. */
export function openTerminal(): number | undefined {
  if (inBackground()) return undefined;
  try {
    return openSync("/dev/tty", "r+");
  } catch {
    return undefined;
  }
}

/** Whether a question can be asked on the terminal. */
export function canAsk(): boolean {
  const terminal = openTerminal();
  if (terminal === undefined) return false;
  closeSync(terminal);
  return true;
}

/** The kernel stops a background job that reads its terminal. False where there is no /proc. */
function inBackground(): boolean {
  try {
    // pid (comm) state ppid pgrp session tty tpgid; comm may contain spaces and brackets.
    const fields = readFileSync("/proc/self/stat", "utf8")
      .replace(/^.*\) /s, "")
      .split(" ");
    const [group, foreground] = [Number(fields[2]), Number(fields[5])];
    return foreground > 0 && group !== foreground;
  } catch {
    return false;
  }
}

interface ColorQuestion {
  /** False when --no-color was given. */
  readonly flag?: boolean | undefined;
  readonly env: Environment;
  readonly isTty: boolean;
  /** [display].color */
  readonly setting?: "auto" | "always" | "never" | undefined;
}

/** Decided by --no-color, NO_COLOR, FORCE_COLOR, CLICOLOR_FORCE, the setting and the terminal, in this order. */
export function wantsColor({ flag, env, isTty, setting = "auto" }: ColorQuestion): boolean {
  if (flag === false) return false;
  if (env.NO_COLOR !== undefined && env.NO_COLOR !== "") return false;
  if (env.FORCE_COLOR !== undefined && env.FORCE_COLOR !== "") return !["0", "false"].includes(env.FORCE_COLOR);
  if (env.CLICOLOR_FORCE !== undefined && !["", "0"].includes(env.CLICOLOR_FORCE)) return true;
  if (setting !== "auto") return setting === "always";
  return isTty && env.TERM !== "dumb" && env.CLICOLOR !== "0";
}

/** Writes to stderr unchanged: Bun's console.error colours everything red on a terminal. */
export function stderrLine(text: string): void {
  const bytes = Buffer.from(`${text}\n`);
  for (let written = 0; written < bytes.length;) {
    try {
      written += writeSync(2, bytes, written);
    } catch (error) {
      // Wait for a slow reader of a non-blocking pipe; give up when it is gone.
      if ((error as NodeJS.ErrnoException).code !== "EAGAIN") return;
      Atomics.wait(pause(), 0, 0, 1);
    }
  }
}

const pause = once(() => new Int32Array(new SharedArrayBuffer(4)));

/** A part of buddy that draws on the terminal and reads keys; it pauses while another program asks something there. */
interface TerminalPainter {
  /** Removes what still changes from the screen and stops reading keys. */
  pause(): unknown;
  resume(): unknown;
}

const painters = new Set<TerminalPainter>();
let lent = 0;

/** Returns a function that unregisters it. */
export function paintsOnTerminal(painter: TerminalPainter): () => void {
  painters.add(painter);
  if (lent > 0) void painter.pause();
  return () => void painters.delete(painter);
}

/** buddy draws nothing and reads no keys until `work` is done. */
export async function lendTerminal<T>(work: () => Promise<T>): Promise<T> {
  if (lent++ === 0) for (const painter of painters) await painter.pause();
  try {
    return await work();
  } finally {
    if (--lent === 0) for (const painter of painters) painter.resume();
  }
}
