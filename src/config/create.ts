/** Writes the configuration file from the embedded template. */
import { chmodSync, constants, copyFileSync, existsSync } from "node:fs";
import { dirname, join } from "node:path";
import schema from "../../docs/buddy.schema.json" with { type: "text" };
import template from "../../templates/buddy.toml" with { type: "text" };
import { BuddyError } from "../lib/errors.ts";
import { fileError, writeFileAtomic } from "../lib/files.ts";
import { type Place, shownPath } from "./paths.ts";

export const CONFIG_TEMPLATE: string = template;

export function createConfigFile(path: string, text = CONFIG_TEMPLATE): void {
  try {
    writeFileAtomic(path, text);
    if (text.startsWith(SCHEMA_LINE)) writeFileAtomic(join(dirname(path), SCHEMA_FILE), schema as unknown as string);
  } catch (error) {
    const missing = (error as NodeJS.ErrnoException).code === "ENOENT";
    const why = missing ? "its directory cannot be created" : fileError(error);
    throw new BuddyError("config", `cannot create ${path}: ${why}`, {
      hint: "Set HOME or XDG_CONFIG_HOME to a directory you can write to, or use --config PATH",
      cause: error,
    });
  }
}

/** The first line of the template names it, for editors. */
const SCHEMA_FILE = "buddy.schema.json";
const SCHEMA_LINE = `#:schema ./${SCHEMA_FILE}\n`;

/** Copies a file to <name>.<unix seconds>.bak and returns that name. */
export function backUp(path: string, place: Place): string {
  let seconds = Math.floor(Date.now() / 1000);
  while (existsSync(`${path}.${seconds}.bak`)) seconds++;
  const copy = `${path}.${seconds}.bak`;
  try {
    copyFileSync(path, copy, constants.COPYFILE_EXCL);
    chmodSync(copy, 0o600);
    return copy;
  } catch (error) {
    throw new BuddyError("config", `cannot copy the old file to ${shownPath(copy, place)}: ${fileError(error)}`, {
      hint: `Make ${shownPath(dirname(path), place)} writable; nothing was changed`,
      cause: error,
    });
  }
}
