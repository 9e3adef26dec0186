/** The configuration for a command: loads it, asks about an untrusted file on the terminal, prints warnings. */
import { currentDirectory } from "../lib/byte-names.ts";
import { type LoadedConfig, loadConfig } from "../config/load.ts";
import { shownPath } from "../config/paths.ts";
import type { TrustQuestion } from "../config/trust.ts";
import { isTerminal } from "../lib/terminal.ts";
import { printable } from "../lib/text.ts";
import type { GlobalOptions } from "../cli/args/options.ts";

export interface ConfigurationOptions {
  /** False for commands that must not create the file, such as doctor. */
  readonly create?: boolean;
}

export async function loadConfiguration(
  globals: GlobalOptions,
  options: ConfigurationOptions = {},
): Promise<LoadedConfig> {
  const loaded = await loadConfig({
    flags: globals,
    env: process.env,
    cwd: currentDirectory(),
    // demo needs no configuration: it must run where none can be written.
    create: options.create !== false && globals.model !== "demo",
    ...(isTerminal(2) ? { ask: askOnTerminal } : {}),
  });
  if (!globals.quiet) {
    if (loaded.created)
      (await import("../lib/log.ts")).log.info(
        `buddy: wrote ${shownPath(loaded.files[0] ?? "", loaded)} with the defaults`,
      );
    if (globals.apiKey !== undefined)
      await warn("--api-key can be seen by every user of this machine (ps); prefer BUDDY_API_KEY");
    for (const warning of loaded.warnings) await warn(warning);
  }
  return loaded;
}

/** Loaded on demand: most starts have no warning. */
async function warn(text: string): Promise<void> {
  (await import("../lib/log.ts")).log.warn(printable(text));
}

async function askOnTerminal({ file, settings }: TrustQuestion): Promise<boolean | undefined> {
  const lines = [
    `${file} in this directory changes settings that need your trust:`,
    ...settings.map((line) => `  ${line}`),
  ];
  const { yesOnTerminal } = await import("../ui/questions/confirm-on-terminal.ts");
  return yesOnTerminal(`${printable(lines.join("\n"))}\nTrust this file? You will be asked again if it changes.`);
}
