/** The files of a target for a tool with `sudo: true`: read as the user if possible, written as root. */

import { z } from "zod";
import { PermissionDenied } from "../targets/errors.ts";
import type { FileAccess, Target } from "../targets/target.ts";
import { type RunningContext, whileItRuns } from "./run-shell.ts";

export const sudoField = z.boolean().optional().describe("as root; for system files too");

export function filesFor(target: Target, sudo: boolean | undefined, context: RunningContext): FileAccess {
  if (sudo !== true) return target.files;
  const { files } = target;
  const root = files.asRoot(whileItRuns(target, context));
  return {
    asRoot: () => root,
    async resolve(path) {
      const seen = await files.resolve(path);
      return seen.hidden ? root.resolve(path) : seen;
    },
    async read(path, options) {
      try {
        return await files.read(path, options);
      } catch (error) {
        if (!(error instanceof PermissionDenied)) throw error;
        return root.read(path, options);
      }
    },
    write: (path, data, options) => root.write(path, data, options),
    async look(places, options) {
      const seen = await files.look(places, options);
      const hidden = seen.some(({ state }) => state.kind === "unread" && state.why === "unreadable");
      return hidden ? root.look(places, options) : seen;
    },
    restore: (path, state, options) => root.restore(path, state, options),
  };
}

/** Whether only root can read it. */
export async function needsRoot(files: FileAccess, path: string): Promise<boolean> {
  try {
    await files.read(path, { limit: 1, maxBytes: 1 });
    return false;
  } catch (error) {
    return error instanceof PermissionDenied;
  }
}
