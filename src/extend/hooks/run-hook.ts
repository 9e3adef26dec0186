/** Runs one hook: the event as JSON on its stdin, a time limit for it and all it started, and what it answered. */
import { join } from "node:path";
import { fileError } from "../../lib/files.ts";
import { formatDuration } from "../../lib/durations.ts";
import { startChild } from "../../lib/start-child.ts";
import { within } from "../../lib/waiting.ts";

export interface HookProgram {
  readonly command: readonly string[];
  readonly timeoutMs: number;
  readonly cwd: string;
  readonly home?: string | undefined;
}

export type HookOutcome =
  | { readonly kind: "ended"; readonly code: number; readonly said: string }
  /** Could not be started, did not end in time, or was ended by a signal. */
  | { readonly kind: "failed"; readonly why: string }
  | { readonly kind: "cancelled" };

export async function runHook(hook: HookProgram, event: unknown, signal?: AbortSignal): Promise<HookOutcome> {
  if (signal?.aborted) return { kind: "cancelled" };
  let child;
  try {
    child = startChild(programOf(hook), {
      cwd: hook.cwd,
      stdin: Buffer.from(`${JSON.stringify(event)}\n`),
      stdout: "pipe",
      stderr: "pipe",
      // A group of its own, away from the terminal: it ends with all it has started.
      detached: true,
    });
  } catch (error) {
    return { kind: "failed", why: `cannot be started: ${fileError(error)}` };
  }
  const end = (): void => endGroup(child.pid);
  signal?.addEventListener("abort", end, { once: true });
  const texts = [readText(child.stdout), readText(child.stderr)] as const;
  try {
    const code = await within(child.exited, hook.timeoutMs);
    if (signal?.aborted) return { kind: "cancelled" };
    if (code === undefined) return { kind: "failed", why: `did not end within ${formatDuration(hook.timeoutMs)}` };
    if (child.signalCode !== null) return { kind: "failed", why: `was ended by ${child.signalCode}` };
    // A program that it left running may hold its output open.
    await within(Promise.all(texts.map(({ ended }) => ended)), OUTPUT_MS);
    const [said, complaint] = texts.map(({ text }) => text().trim());
    return { kind: "ended", code, said: said || complaint || "" };
  } finally {
    signal?.removeEventListener("abort", end);
    if (child.exitCode === null) end();
    for (const text of texts) text.stop();
  }
}

function programOf({ command, home }: HookProgram): readonly string[] {
  const [program = "", ...args] = command;
  return [home !== undefined && program.startsWith("~/") ? join(home, program.slice(2)) : program, ...args];
}

function endGroup(pid: number): void {
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // It has ended by itself.
  }
}

/** The beginning of what it prints; the rest is read and forgotten, so that it does not wait for a reader. */
function readText(stream: ReadableStream<Uint8Array>) {
  const reader = stream.getReader();
  const pieces: Uint8Array[] = [];
  let size = 0;
  const ended = (async () => {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      if (size < MOST_BYTES) pieces.push(value.subarray(0, MOST_BYTES - size));
      size += value.length;
    }
  })().catch(() => undefined);
  return {
    ended,
    text: () => Buffer.concat(pieces).toString(),
    stop: () => void reader.cancel().catch(() => undefined),
  };
}

const MOST_BYTES = 16 * 1024;
const OUTPUT_MS = 250;
