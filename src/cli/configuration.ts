/** The configuration for a command: loads it, asks about an untrusted file on the terminal, prints warnings. */
import { closeSync, read, writeSync } from "node:fs";
import { type LoadedConfig, loadConfig } from "../config/load.ts";
import { type ResolvedProfile, resolveProfile } from "../config/profiles.ts";
import type { TrustQuestion } from "../config/trust.ts";
import { openTerminal } from "../lib/controlling-terminal.ts";
import { EXIT } from "../lib/errors.ts";
import { isTerminal } from "../lib/is-terminal.ts";
import { printable } from "../lib/printable.ts";
import { stderrLine } from "../lib/stderr-line.ts";
import type { GlobalOptions } from "./options.ts";

export interface ConfigurationOptions {
  /** False for commands that must never write a file by themselves, such as doctor. */
  readonly create?: boolean;
}

export async function loadConfiguration(
  globals: GlobalOptions,
  options: ConfigurationOptions = {},
): Promise<LoadedConfig> {
  const loaded = await loadConfig({
    flags: globals,
    env: process.env,
    cwd: process.cwd(),
    // demo needs no configuration: it must run where none can be written.
    create: options.create !== false && globals.model !== "demo",
    ...(isTerminal(2) ? { ask: askOnTerminal } : {}),
  });
  if (!globals.quiet) {
    if (loaded.created) stderrLine(`buddy: wrote ${loaded.files[0]} with the defaults`);
    if (globals.apiKey !== undefined)
      warn("--api-key can be seen by every user of this machine (ps); prefer BUDDY_API_KEY");
    for (const warning of loaded.warnings) warn(warning);
  }
  return loaded;
}

/** The configuration and the profile in effect; without a usable one the error lists every way to a model. */
export async function loadProfile(globals: GlobalOptions): Promise<{ loaded: LoadedConfig; profile: ResolvedProfile }> {
  const loaded = await loadConfiguration(globals);
  try {
    return { loaded, profile: resolveProfile(loaded) };
  } catch (error) {
    throw await (await import("./ways-out.ts")).withWaysOut(error);
  }
}

function warn(text: string): void {
  stderrLine(`buddy: warning: ${printable(text)}`);
}

/** Read from the terminal, never from a piped stdin; undefined where there is none or it was closed. */
async function askOnTerminal({ file, settings }: TrustQuestion): Promise<boolean | undefined> {
  const terminal = openTerminal();
  if (terminal === undefined) return undefined;
  const lines = [
    `${file} in this directory wants to change what keeps you safe:`,
    ...settings.map((line) => `  ${line}`),
  ];
  const question = `${printable(lines.join("\n"))}\nTrust this file? It is asked again when it changes. [y/N] `;
  const answer = await lineFrom(terminal, question);
  return answer === undefined ? undefined : /^y(es)?\s*$/i.test(answer);
}

/**
 * Read asynchronously, so that Ctrl-C is heard where a command listens to signals; and not with tty.ReadStream, which in
 * Bun goes on reading after it is destroyed and takes the REPL's keys.
 */
async function lineFrom(terminal: number, question: string): Promise<string | undefined> {
  const { promise, resolve } = Promise.withResolvers<string | undefined>();
  // Nothing has been started yet, and the pending read would keep the process alive: leaving at once is right here.
  const stops = { SIGINT: EXIT.interrupted, SIGTERM: EXIT.terminated, SIGHUP: EXIT.hangup } as const;
  const listeners = Object.entries(stops).map(([name, code]) => [name, () => process.exit(code)] as const);
  for (const [name, listener] of listeners) process.once(name, listener);
  try {
    writeSync(terminal, question);
    const line = Buffer.alloc(256);
    read(terminal, line, 0, line.length, null, (error, length) =>
      resolve(error !== null || length === 0 ? undefined : line.toString("utf8", 0, length)),
    );
    return await promise;
  } finally {
    for (const [name, listener] of listeners) process.removeListener(name, listener);
    closeSync(terminal);
  }
}
