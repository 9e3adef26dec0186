/** Signing out: the sign-in of a profile is revoked and removed, a key that `buddy login` got is removed. */
import { existsSync, rmSync } from "node:fs";
import type { GlobalOptions } from "../cli/args/options.ts";
import { providerKeyFile } from "../config/keys.ts";
import { buddyPaths } from "../config/paths.ts";
import { BuddyError } from "../lib/errors.ts";
import { fileError } from "../lib/files.ts";
import { openRouterProfile, openSignIn } from "./sign-in.ts";

/** `say` gets one line for each thing that happened. */
export async function signOut(
  profile: string | undefined,
  globals: GlobalOptions,
  say: (line: string) => void,
): Promise<void> {
  if ((await openRouterProfile(profile, globals)) !== undefined) return removeKey("openrouter", say);
  const { device, store, provider } = await openSignIn(profile, globals, "logout");
  const current = store.read(provider);
  if (current === undefined) return say("not signed in; nothing to remove");
  let revoked = true;
  await store.update(provider, async (stored) => {
    try {
      await device.revoke(stored ?? current, AbortSignal.timeout(REVOKE_TIMEOUT_MS));
    } catch (error) {
      // Removed all the same: what matters most is that this machine no longer has it.
      revoked = false;
      say(`could not revoke the sign-in: ${(error as Error).message}`);
    }
    return undefined;
  });
  say(
    revoked
      ? "signed out: revoked and removed"
      : "removed from this machine; revoke it in your account's settings, too",
  );
}

const REVOKE_TIMEOUT_MS = 15_000;

function removeKey(provider: string, say: (line: string) => void): void {
  const directory = buddyPaths(process.env)?.dir;
  const path = directory === undefined ? undefined : providerKeyFile(directory, provider);
  if (path === undefined || !existsSync(path)) return say("no key from buddy login; nothing to remove");
  try {
    rmSync(path);
  } catch (error) {
    throw new BuddyError("auth", `the key ${path} cannot be removed: ${fileError(error)}`, { cause: error });
  }
  say(`removed the key ${path}; delete it in your OpenRouter account, too`);
}
