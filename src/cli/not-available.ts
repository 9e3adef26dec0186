/** The honest answer of a command whose work has not landed. */
import { BuddyError } from "../lib/errors.ts";

export function notAvailable(what: string): BuddyError {
  return new BuddyError("usage", `${what} is not available in this build`, {
    hint: "buddy --help lists the commands; a newer build may have it",
  });
}
