/** The configuration for a command: loads it, asks about an untrusted file on the terminal, prints warnings. */
import { writeSync } from "node:fs";
import { type LoadedConfig, loadConfig } from "../config/load.ts";
import { type ResolvedProfile, resolveProfile } from "../config/profiles.ts";
import type { TrustQuestion } from "../config/trust.ts";
import { openTerminal } from "../lib/controlling-terminal.ts";
import { BuddyError } from "../lib/errors.ts";
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

/** Not read synchronously: a command that listens to signals would not hear Ctrl-C at the question. */
async function lineFrom(terminal: number, question: string): Promise<string | undefined> {
  const { ReadStream } = await import("node:tty");
  const stream = new ReadStream(terminal);
  const { promise, resolve, reject } = Promise.withResolvers<string | undefined>();
  const interrupted = () => reject(new BuddyError("interrupted", "interrupted"));
  process.once("SIGINT", interrupted);
  try {
    stream.once("data", (chunk: Buffer | string) => resolve(chunk.toString()));
    for (const event of ["end", "error"] as const) stream.once(event, () => resolve(undefined));
    writeSync(terminal, question);
    return await promise;
  } finally {
    process.removeListener("SIGINT", interrupted);
    stream.destroy();
  }
}
