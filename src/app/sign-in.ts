/** What `buddy login`, /login and doctor need for the sign-in of a profile. */
import { isatty } from "node:tty";
import type { SignInScreen } from "../auth/sign-in.ts";
import { BuddyError } from "../lib/errors.ts";
import { clip } from "../lib/graphemes.ts";
import type { GlobalOptions } from "../cli/args/options.ts";
import { stderrLine } from "../lib/stderr-line.ts";

/** The store and server behind a login profile; throws for a profile that needs no sign-in. */
export async function openSignIn(name: string | undefined, globals: GlobalOptions) {
  const { loadConfiguration } = await import("./configuration.ts");
  const { resolveProfile, profileNames } = await import("../config/profiles.ts");
  const loaded = await loadConfiguration(globals);
  const profile = resolveProfile(loaded, name);
  if (profile.auth !== "login") {
    const { models } = loaded.config;
    const others = profileNames(loaded).filter((other) => models[other]?.auth === "login");
    throw new BuddyError("usage", `profile ${profile.name} needs no sign-in`, {
      hint:
        others.length === 0
          ? 'A profile with auth = "login" does.'
          : `Profiles with a sign-in: ${others.join(", ")}; for example: buddy login ${others[0]}`,
    });
  }
  return { profile: profile.name, provider: PROVIDER, ...(await signInParts()) };
}

export const PROVIDER = "openai";

/** auth.json and the sign-in server, for every user of a token. */
export async function signInParts(warn: (message: string) => void = (message) => stderrLine(`buddy: ${message}`)) {
  const [{ AuthStore }, { OpenAiDevice }, { requirePaths }] = await Promise.all([
    import("../auth/store.ts"),
    import("../auth/openai-device.ts"),
    import("../config/paths.ts"),
  ]);
  return {
    store: new AuthStore(requirePaths(process.env, "the sign-in", "auth").auth, warn),
    device: new OpenAiDevice(process.env.BUDDY_AUTH_ISSUER || undefined),
  };
}

/** On a terminal the waiting line is rewritten in place; elsewhere it is said once a minute. */
export function signInScreen(): SignInScreen {
  const live = isatty(2) && process.env.TERM !== "dumb";
  let last = "";
  const put = (text: string) => void Bun.stderr.writer().write(text);
  return {
    say: (text) => stderrLine(text),
    progress(text) {
      const columns = process.stderr.columns ?? 80;
      if (live) put(`\r\u001b[K${text === undefined ? "" : clip(`${text} (Ctrl-C to stop)`, columns - 1)}`);
      else if (text !== undefined && text !== last) stderrLine(text);
      last = text ?? "";
    },
  };
}

/** Ctrl-C ends the work with exit code 130 and nothing stored. */
export async function untilInterrupted<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const abort = new AbortController();
  const stop = () => abort.abort(new BuddyError("interrupted", "sign-in stopped; nothing was changed"));
  process.once("SIGINT", stop);
  try {
    return await work(abort.signal);
  } finally {
    process.removeListener("SIGINT", stop);
  }
}
