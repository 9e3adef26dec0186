/** What commands write to standard output and standard error while a test runs them in its own process. */
import { spyOn } from "bun:test";
import * as output from "../../src/lib/output.ts";
import * as stderr from "../../src/lib/terminal.ts";
import { runCommandLine } from "../../src/cli/run-command-line.ts";

/** Keeps what is written from now on, in pieces as they come. */
export function captureOutput() {
  const out: string[] = [];
  const err: string[] = [];
  const spies = [
    spyOn(output, "print").mockImplementation(async (pieces) => void out.push(...pieces)),
    spyOn(console, "log").mockImplementation((...words: unknown[]) => void out.push(`${words.join(" ")}\n`)),
    spyOn(stderr, "stderrLine").mockImplementation((text) => void err.push(`${text}\n`)),
  ];
  return { out, err, [Symbol.dispose]: () => spies.forEach((spy) => spy.mockRestore()) };
}

/** `buddy …` in this process: not for commands that end it (exec, demo). */
export async function runHere(...argv: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const listeners = new Map(EVENTS.map((event) => [event, process.listeners(event)]));
  using written = captureOutput();
  try {
    const code = await runCommandLine(argv);
    return { code, stdout: written.out.join(""), stderr: written.err.join("") };
  } finally {
    for (const [event, before] of listeners)
      for (const listener of process.listeners(event)) if (!before.includes(listener)) process.off(event, listener);
  }
}

const EVENTS = ["uncaughtException", "unhandledRejection"] as unknown as "exit"[];
