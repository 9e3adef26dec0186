/** Writes the configuration file from the embedded template, whole or not at all. */
import { existsSync, renameSync } from "node:fs";
import { dirname } from "node:path";
import template from "../../templates/buddy.toml" with { type: "text" };
import { writeFileAtomic } from "../lib/atomic-file.ts";
import { BuddyError } from "../lib/errors.ts";
import { fileError } from "../lib/file-error.ts";
import type { Place } from "./find-file.ts";
import { shownPath } from "./origin.ts";

export const CONFIG_TEMPLATE: string = template;

export function createConfigFile(path: string, place: Place, text = CONFIG_TEMPLATE): void {
  const home = place.env.HOME;
  // Without this check a mistyped HOME would be made, directories and all, where the user can write.
  if (home !== undefined && path.startsWith(`${home}/`) && !existsSync(home)) {
    throw new BuddyError("config", `the home directory ${home} does not exist, so ${path} cannot be created`, {
      hint: REMEDY,
    });
  }
  try {
    writeFileAtomic(path, text);
  } catch (error) {
    throw new BuddyError("config", `cannot create ${path}: ${whyNot(error)}`, {
      hint: REMEDY,
      cause: error,
    });
  }
}

function whyNot(error: unknown): string {
  return (error as NodeJS.ErrnoException).code === "ENOENT" ? "its directory cannot be made" : fileError(error);
}

const REMEDY = "set HOME or XDG_CONFIG_HOME to a directory of yours that can be written, or use --config PATH";

/** Moves a file aside as <name>.<unix seconds>.bak and returns that name. */
export function setAside(path: string, place: Place): string {
  let seconds = Math.floor(Date.now() / 1000);
  while (existsSync(`${path}.${seconds}.bak`)) seconds++;
  const aside = `${path}.${seconds}.bak`;
  try {
    renameSync(path, aside);
    return aside;
  } catch (error) {
    throw new BuddyError("config", `cannot keep the old file as ${shownPath(aside, place)}: ${fileError(error)}`, {
      hint: `make ${shownPath(dirname(path), place)} writable; nothing was changed`,
      cause: error,
    });
  }
}
