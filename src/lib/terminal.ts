/** The terminal this process has: whether a stream is one, whose turn it is to use it, colour, lines on stderr. */
import { fstatSync, statSync, closeSync, openSync, readFileSync, writeSync } from "node:fs";
import { once } from "./values.ts";

// Whether a file descriptor is a terminal, without loading node:tty (2 ms) for a pipe, a file or /dev/null.

export function isTerminal(fd: number): boolean {
  try {
    const stat = fstatSync(fd);
    if (!stat.isCharacterDevice() || stat.rdev === statSync("/dev/null", { throwIfNoEntry: false })?.rdev) return false;
    return process.getBuiltinModule("node:tty").isatty(fd);
  } catch {
    return false; // closed
  }
}

// The terminal this process belongs to, wherever stdin and stdout lead.

/** A file descriptor to read and write, or undefined where there is no terminal or we are not in its foreground. */
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

/** The kernel stops a background job that reads its terminal. Where this cannot be known, we are in the foreground. */
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

// Whether a stream gets colour: --no-color, NO_COLOR, FORCE_COLOR, CLICOLOR_FORCE, the setting, then the terminal.

interface ColorQuestion {
  /** False when --no-color was given. */
  readonly flag?: boolean | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly isTty: boolean;
  /** [display].color */
  readonly setting?: "auto" | "always" | "never" | undefined;
}

export function wantsColor({ flag, env, isTty, setting = "auto" }: ColorQuestion): boolean {
  if (flag === false) return false;
  if (env.NO_COLOR !== undefined && env.NO_COLOR !== "") return false;
  if (env.FORCE_COLOR !== undefined && env.FORCE_COLOR !== "") return !["0", "false"].includes(env.FORCE_COLOR);
  if (env.CLICOLOR_FORCE !== undefined && !["", "0"].includes(env.CLICOLOR_FORCE)) return true;
  if (setting !== "auto") return setting === "always";
  return isTty && env.TERM !== "dumb" && env.CLICOLOR !== "0";
}

// One line (or several) on stderr, as it is: Bun's console.error paints everything red on a terminal.

export function stderrLine(text: string): void {
  const bytes = Buffer.from(`${text}\n`);
  for (let written = 0; written < bytes.length;) {
    try {
      written += writeSync(2, bytes, written);
    } catch (error) {
      // A slow reader of a non-blocking pipe gets a moment; one that is gone gets nothing.
      if ((error as NodeJS.ErrnoException).code !== "EAGAIN") return;
      Atomics.wait(pause(), 0, 0, 1);
    }
  }
}

const pause = once(() => new Int32Array(new SharedArrayBuffer(4)));

/** Only one program uses the terminal at a time: buddy stops drawing while another program asks something there. */
interface TerminalPainter {
  /** Takes off the screen what still changes, and leaves the keys to others. */
  pause(): void | Promise<void>;
  resume(): void;
}

const painters = new Set<TerminalPainter>();
let lent = 0;

/** Returns how to be forgotten again. */
export function paintsOnTerminal(painter: TerminalPainter): () => void {
  painters.add(painter);
  if (lent > 0) void painter.pause();
  return () => void painters.delete(painter);
}

/** Nothing of buddy is drawn, and no key is read, until `work` is over. */
export async function lendTerminal<T>(work: () => Promise<T>): Promise<T> {
  if (lent++ === 0) for (const painter of painters) await painter.pause();
  try {
    return await work();
  } finally {
    if (--lent === 0) for (const painter of painters) painter.resume();
  }
}
