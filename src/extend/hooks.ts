/** The operator's hooks: which of them an event starts, how a hook runs, and what its exit code means. */
import { basename } from "node:path";
import type { HookSettings } from "../config/schema.ts";
import { clip, printable, collapseSpaces } from "../lib/text.ts";
import { fileError } from "../lib/files.ts";
import { formatDuration } from "../lib/durations.ts";
import { matchesGlob } from "../lib/names.ts";
import { startChild } from "../lib/start-child.ts";
import { within } from "../lib/waiting.ts";
import { exitCleanup } from "../targets/connection/exit-cleanup.ts";
import { expandTilde } from "../lib/user-directories.ts";

/** What a hook gets on its stdin; see docs/extending.md. */
export interface HookEvent {
  readonly event: HookSettings["on"];
  readonly v: 1;
  readonly ts: string;
  readonly session: string;
  readonly machine: HookMachine;
  readonly [field: string]: unknown;
}

export interface HookMachine {
  /** "local", "ssh deploy@web1", … */
  readonly target: string;
  /** Every name it is known by. */
  readonly names: readonly string[];
  readonly user?: string;
  readonly host?: string;
  readonly id?: string;
  readonly label?: string;
}

/** `ask`: a person must be asked, whatever else approves the call. */
interface Objection {
  readonly kind: "deny" | "ask";
  readonly reason: string;
}

interface HooksOptions {
  readonly hooks: readonly HookSettings[];
  readonly cwd: string;
  readonly home?: string | undefined;
  /** Gets what goes wrong with a hook. */
  readonly problem: (message: string) => void;
}

export class Hooks {
  readonly #options: HooksOptions;

  constructor(options: HooksOptions) {
    this.#options = options;
  }

  /** Before a tool runs, in the order of the file. The first denial counts; a hook that fails denies. */
  async before(event: HookEvent & { readonly tool: string }, signal: AbortSignal): Promise<Objection | undefined> {
    const questions: string[] = [];
    for (const hook of this.#matching(event)) {
      const answer = objectionOf(hook, await runHook(hook, this.#options, event, signal));
      if (answer?.kind === "deny") {
        if (answer.failed) this.#options.problem(answer.reason);
        return { kind: "deny", reason: answer.reason };
      }
      if (answer !== undefined) questions.push(answer.reason);
    }
    return questions.length === 0 ? undefined : { kind: "ask", reason: questions.join("; ") };
  }

  /** After something happened; a hook that fails is a problem. */
  async report(event: HookEvent, signal: AbortSignal): Promise<void> {
    await Promise.all(
      this.#matching(event).map(async (hook) => {
        const failure = failureOf(await runHook(hook, this.#options, event, signal));
        if (failure !== undefined) this.#options.problem(`the ${event.event} hook ${nameOf(hook)} ${failure}`);
      }),
    );
  }

  #matching({ event, tool, machine }: HookEvent): readonly HookSettings[] {
    const { target, names, host, id, label } = machine;
    const known = [target, ...names, host, id, label, ...(label?.split(/\s+/) ?? [])];
    return this.#options.hooks.filter(
      (hook) =>
        hook.on === event &&
        (tool === undefined || matches(hook.match, [tool as string])) &&
        matches(hook.machine, known),
    );
  }
}

/** Upper and lower case are the same. */
function matches(patterns: readonly string[] | undefined, names: readonly (string | undefined)[]): boolean {
  if (patterns === undefined || patterns.length === 0) return true;
  return patterns.some((pattern) =>
    names.some((name) => name !== undefined && matchesGlob(pattern.toLowerCase(), name.toLowerCase())),
  );
}

/** Exit code 0: no objection. 2: denied. 3: a person must be asked. Anything else is a failure, and denies. */
function objectionOf(hook: HookSettings, outcome: HookOutcome): (Objection & { readonly failed: boolean }) | undefined {
  const name = nameOf(hook);
  if (outcome.kind === "ended" && outcome.code === 0) return undefined;
  if (outcome.kind === "ended" && (outcome.code === DENY || outcome.code === ASK)) {
    const kind = outcome.code === DENY ? "deny" : "ask";
    const words = wordsOf(outcome.said);
    return { kind, failed: false, reason: `the hook ${name} ${kind === "deny" ? "denies it" : "asks"}${words}` };
  }
  const why = failureOf(outcome) ?? "was stopped";
  return { kind: "deny", failed: outcome.kind !== "cancelled", reason: `the hook ${name} ${why}; the call is denied` };
}

function failureOf(outcome: HookOutcome): string | undefined {
  switch (outcome.kind) {
    case "cancelled":
      return undefined;
    case "failed":
      return outcome.why;
    case "ended":
      return outcome.code === 0 ? undefined : `failed with exit code ${outcome.code}${wordsOf(outcome.said)}`;
  }
}

function wordsOf(said: string): string {
  const line = printable(collapseSpaces(said));
  return line === "" ? "" : `: ${clip(line, MOST_WORDS)}`;
}

function nameOf({ command }: HookSettings): string {
  return basename(command[0] ?? "");
}

const DENY = 2;
const ASK = 3;
const MOST_WORDS = 500;

type HookOutcome =
  | { readonly kind: "ended"; readonly code: number; readonly said: string }
  /** Could not be started, did not end in time, or was ended by a signal. */
  | { readonly kind: "failed"; readonly why: string }
  | { readonly kind: "cancelled" };

/** The event as JSON on its stdin, and a time limit for it and all it started. */
async function runHook(
  { command, timeout }: HookSettings,
  { cwd, home }: Pick<HooksOptions, "cwd" | "home">,
  event: HookEvent,
  signal: AbortSignal,
): Promise<HookOutcome> {
  if (signal.aborted) return { kind: "cancelled" };
  const [program = "", ...args] = command;
  // Before the hook starts: if buddy is killed, nothing else would end it.
  const cleanup = exitCleanup();
  let child;
  try {
    child = startChild([expandTilde(program, home), ...args], {
      cwd,
      stdin: Buffer.from(`${JSON.stringify(event)}\n`),
      stdout: "pipe",
      stderr: "pipe",
      // Its own group, away from the terminal: all that it starts ends with it.
      detached: true,
    });
  } catch (error) {
    return { kind: "failed", why: `cannot be started: ${fileError(error)}` };
  }
  const forget = cleanup.watch(child.pid);
  const end = (): void => endGroup(child.pid);
  signal.addEventListener("abort", end, { once: true });
  const texts = [readText(child.stdout), readText(child.stderr)] as const;
  try {
    const code = await within(child.exited, timeout);
    if (signal.aborted) return { kind: "cancelled" };
    if (code === undefined) return { kind: "failed", why: `did not end within ${formatDuration(timeout)}` };
    if (child.signalCode !== null) return { kind: "failed", why: `was ended by ${child.signalCode}` };
    // A program that it left running may keep its output open.
    await within(Promise.all(texts.map(({ ended }) => ended)), OUTPUT_MS);
    const [said, complaint] = texts.map(({ text }) => text().trim());
    return { kind: "ended", code, said: said || complaint || "" };
  } finally {
    signal.removeEventListener("abort", end);
    if (child.exitCode === null) end();
    forget();
    for (const text of texts) text.stop();
  }
}

function endGroup(pid: number): void {
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // It has already ended.
  }
}

/** Keeps the beginning of what it prints; reads the rest, too, so that the program does not block. */
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
