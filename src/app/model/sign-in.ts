/** What `buddy login`, /login and doctor need for the sign-in of a profile. */
import { isatty } from "node:tty";
import type { SignInScreen } from "../../auth/sign-in.ts";
import { BuddyError, messageOf } from "../../lib/errors.ts";
import { clip } from "../../lib/text.ts";
import { startChild } from "../../lib/start-child.ts";
import type { LoadedConfig } from "../../config/load.ts";
import type { GlobalOptions } from "../../cli/args/options.ts";
import { log } from "../../lib/log.ts";
import { existsSync, rmSync } from "node:fs";
import { isLocal, providerKeyFile } from "../../config/keys.ts";
import { buddyPaths, requirePaths } from "../../config/paths.ts";
import { fileError } from "../../lib/files.ts";

/** The store and server of a login profile; for any other profile, throws an error that says what it needs. */
export async function openSignIn(
  name: string | undefined,
  globals: GlobalOptions,
  command: "login" | "logout" = "login",
) {
  const { loadConfiguration } = await import("../configuration.ts");
  const { profileNames } = await import("../../config/profiles.ts");
  const loaded = await loadConfiguration(globals);
  const profile = await chosenProfile(loaded, name);
  if (profile.auth !== "login") {
    const { models } = loaded.config;
    const others = profileNames(loaded).filter((other) => models[other]?.auth === "login");
    const needsNone = profile.baseUrl === "" || isLocal(profile.baseUrl);
    const what = needsNone ? "needs no sign-in" : "uses a key, not a sign-in";
    throw new BuddyError("usage", `profile ${profile.name} ${what}`, {
      hint: [
        ...(needsNone ? [] : [command === "login" ? keyAdvice(profile) : "Remove the key where you set it."]),
        ...(others.length === 0
          ? []
          : [`Profiles with a sign-in: ${others.join(", ")}; for example: buddy ${command} ${others[0]}`]),
      ].join("\n"),
    });
  }
  return { profile: profile.name, provider: PROVIDER, ...(await signInParts()) };
}

interface ChosenProfile {
  readonly name: string;
  readonly auth: "api-key" | "login";
  readonly baseUrl: string;
  readonly variable?: string | undefined;
  readonly program?: string | undefined;
}

/** Also a profile whose key is missing: signing in gets it one. */
async function chosenProfile(loaded: LoadedConfig, name: string | undefined): Promise<ChosenProfile> {
  const { resolveProfile } = await import("../../config/profiles.ts");
  const settings = loaded.config.models[name ?? loaded.config.agent.model];
  if (settings === undefined) return resolveProfile(loaded, name);
  return {
    name: name ?? loaded.config.agent.model,
    auth: settings.auth,
    baseUrl: settings.api_base_url,
    variable: settings.api_key_env,
    program: settings.api_key_command?.[0],
  };
}

function keyAdvice({ name, baseUrl, variable, program }: ChosenProfile): string {
  if (program !== undefined) return `Its key comes from the program ${program} (api_key_command): sign in there.`;
  const host = URL.parse(baseUrl)?.host ?? baseUrl;
  return variable === undefined
    ? `Get a key from ${host} and set BUDDY_API_KEY, or api_key_file in [models.${name}].`
    : `Get a key from ${host}, then: export ${variable}=…`;
}

/** The profile whose key OpenRouter grants in the browser: the named one; for `openrouter`, the first there is. */
export async function openRouterProfile(name: string | undefined, globals: GlobalOptions): Promise<string | undefined> {
  const { loadConfiguration } = await import("../configuration.ts");
  const loaded = await loadConfiguration(globals);
  const { models } = loaded.config;
  const isOpenRouter = (baseUrl = "") => /(^|\.)openrouter\.ai$/.test(URL.parse(baseUrl)?.hostname ?? "");
  const first = Object.keys(models).find((one) => isOpenRouter(models[one]?.api_base_url));
  if (name === "openrouter" && models[name] === undefined && first !== undefined) return first;
  const { name: chosen, baseUrl } = await chosenProfile(loaded, name);
  return isOpenRouter(baseUrl) ? chosen : undefined;
}

/** Opens an address in the browser of this machine, if it has one. */
export function openInBrowser(url: string): void {
  // A server may have chosen it: nothing but a page is handed to a program.
  if (!/^https?:\/\//.test(url)) return;
  const program = process.platform === "darwin" ? "open" : "xdg-open";
  const display = process.platform === "darwin" || process.env["DISPLAY"] || process.env["WAYLAND_DISPLAY"];
  if (!display || Bun.which(program) === null) return;
  try {
    startChild([program, url], { stdin: "ignore", stdout: "ignore", stderr: "ignore", detached: true }).unref();
  } catch {
    // The user opens it: the address is on the screen.
  }
}

export const PROVIDER = "openai";

/** auth.json and the sign-in server, for every user of a token. */
export async function signInParts(warn: (message: string) => void = (message) => log.warn(message)) {
  const { AuthStore } = await import("../../auth/store.ts");
  const { OpenAiDevice } = await import("../../auth/openai-device.ts");
  return {
    store: new AuthStore(requirePaths(process.env, "the sign-in", "auth").auth, warn),
    device: new OpenAiDevice(process.env.BUDDY_AUTH_ISSUER || undefined),
  };
}

export async function isSignedIn(): Promise<boolean> {
  return (await signInParts()).store.read(PROVIDER) !== undefined;
}

/** On a terminal the waiting line is rewritten in place; elsewhere it is printed once a minute. */
export async function signInScreen(): Promise<SignInScreen> {
  const live = isatty(2) && process.env.TERM !== "dumb";
  const styled = live ? await styledLines() : undefined;
  let last = "";
  const put = (text: string) => void Bun.stderr.writer().write(text);
  return {
    say(text) {
      if (styled === undefined) log.info(text);
      else styled(text.trimEnd());
    },
    progress(text) {
      const columns = process.stderr.columns ?? 80;
      if (live) put(`\r\u001b[K${text === undefined ? "" : clip(`${text} (Ctrl-C to stop)`, columns - 1)}`);
      else if (text !== undefined && text !== last) log.info(text);
      last = text ?? "";
    },
  };
}

/** Prints in the style of @clack/prompts, in characters that the terminal can show. */
async function styledLines(): Promise<(text: string) => void> {
  const [clack, { terminalEncoder }, { Writable }] = await Promise.all([
    import("@clack/prompts"),
    import("../../ui/terminal/ascii.ts"),
    import("node:stream"),
  ]);
  const encode = terminalEncoder(process.env);
  const output = new Writable({
    write(chunk: Buffer, _encoding, done) {
      process.stderr.write(encode(chunk.toString()));
      done();
    },
  });
  return (text) => clack.log.message(text, { output });
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

// Signing out: the sign-in of a profile is revoked and removed, a key that `buddy login` got is removed.

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
      // Removed anyway: this machine must no longer have it.
      revoked = false;
      say(`could not revoke the sign-in: ${messageOf(error)}`);
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
