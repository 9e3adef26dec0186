/** What commands write to standard output and standard error while a test runs them in its own process. */
import { spyOn } from "bun:test";
import * as output from "../../src/lib/output.ts";
import * as stderr from "../../src/lib/terminal.ts";
import { run } from "../../src/cli/run.ts";

/** `buddy …` in this process: not for commands that end it (exec, demo). */
export async function runHere(...argv: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  let out = "";
  let err = "";
  const listeners = new Map(EVENTS.map((event) => [event, process.listeners(event)]));
  const spies = [
    spyOn(output, "print").mockImplementation((pieces) => Promise.resolve(void (out += [...pieces].join("")))),
    spyOn(console, "log").mockImplementation((...words: unknown[]) => void (out += `${words.join(" ")}\n`)),
    spyOn(stderr, "stderrLine").mockImplementation((text) => void (err += `${text}\n`)),
  ];
  try {
    return { code: await run(argv), stdout: out, stderr: err };
  } finally {
    for (const spy of spies) spy.mockRestore();
    for (const [event, before] of listeners)
      for (const listener of process.listeners(event)) if (!before.includes(listener)) process.off(event, listener);
  }
}

const EVENTS = ["uncaughtException", "unhandledRejection"] as unknown as "exit"[];
