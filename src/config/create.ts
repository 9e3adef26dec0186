/** Writes the configuration file from the embedded template, whole or not at all. */
import { chmodSync, constants, copyFileSync, existsSync } from "node:fs";
import { dirname, join } from "node:path";
import schema from "../../docs/buddy.schema.json" with { type: "text" };
import template from "../../templates/buddy.toml" with { type: "text" };
import { writeFileAtomic, fileError } from "../lib/files.ts";
import { BuddyError } from "../lib/errors.ts";
import type { Place } from "./find-file.ts";
import { shownPath } from "./paths.ts";

export const CONFIG_TEMPLATE: string = template;

export function createConfigFile(path: string, text = CONFIG_TEMPLATE): void {
  try {
    writeFileAtomic(path, text);
    if (text.startsWith(SCHEMA_LINE)) writeFileAtomic(join(dirname(path), SCHEMA_FILE), schema as unknown as string);
  } catch (error) {
    throw new BuddyError("config", `cannot create ${path}: ${whyNot(error)}`, {
      hint: REMEDY,
      cause: error,
    });
  }
}

/** Editors look for what the first line of the template names. */
const SCHEMA_FILE = "buddy.schema.json";
const SCHEMA_LINE = `#:schema ./${SCHEMA_FILE}\n`;

function whyNot(error: unknown): string {
  return (error as NodeJS.ErrnoException).code === "ENOENT" ? "its directory cannot be created" : fileError(error);
}

const REMEDY = "set HOME or XDG_CONFIG_HOME to a directory you can write to, or use --config PATH";

/** Keeps a file as <name>.<unix seconds>.bak too, and returns that name; the file itself stays until it is replaced. */
export function setAside(path: string, place: Place): string {
  let seconds = Math.floor(Date.now() / 1000);
  while (existsSync(`${path}.${seconds}.bak`)) seconds++;
  const aside = `${path}.${seconds}.bak`;
  try {
    copyFileSync(path, aside, constants.COPYFILE_EXCL);
    chmodSync(aside, 0o600);
    return aside;
  } catch (error) {
    throw new BuddyError("config", `cannot keep the old file as ${shownPath(aside, place)}: ${fileError(error)}`, {
      hint: `Make ${shownPath(dirname(path), place)} writable; nothing was changed`,
      cause: error,
    });
  }
}
