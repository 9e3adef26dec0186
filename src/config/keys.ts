/** The key of a profile: BUDDY_API_KEY or --api-key first, then the profile's one source. */
import { existsSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { BuddyError, messageOf } from "../lib/errors.ts";
import { readTextFile } from "../lib/files.ts";
import type { LoadedConfig } from "./load.ts";
import { buddyPaths, expandHome, describeOrigin, type Origin, shownPath } from "./paths.ts";
import type { ProfileSettings } from "./schema.ts";

export interface ProfileKey {
  readonly value: string;
  /**
   * For people: "BUDDY_API_KEY", "the variable X", "the file ~/.key", "api_key from ./buddy.toml line 3". The line is
   * looked up when this is read.
   */
  readonly source: string;
}

interface KeyOwner {
  readonly name: string;
  readonly auth: "api-key" | "login";
  readonly baseUrl: string;
}

/** Undefined if the sign-in is used or the server is local; throws if a key is needed and there is none. */
export function findKey(loaded: LoadedConfig, owner: KeyOwner, settings: ProfileSettings): ProfileKey | undefined {
  if (loaded.key !== undefined) {
    const { origin } = loaded.key;
    return checked(loaded.key.value, () => (origin.kind === "env" ? origin.name : "--api-key"), owner.name);
  }
  const own = ownKey(loaded, owner, settings);
  if (own !== undefined) return own;
  const granted = grantedKey(loaded, owner);
  if (granted !== undefined) return granted;
  if (settings.api_key_command !== undefined || hasCredentialHeader(settings)) return undefined;
  if (owner.auth === "login" || isLocal(owner.baseUrl)) return undefined;
  throw new BuddyError("auth", `profile ${owner.name} has no key for ${new URL(owner.baseUrl).host}`, {
    hint: [
      "Set BUDDY_API_KEY, or give the profile one of api_key_env, api_key_file, api_key, api_key_command",
      ...(fileOf(loaded, owner.name) ?? []),
    ].join("\n"),
  });
}

/** Some gateways take their credential in another header. */
function hasCredentialHeader({ headers = {} }: ProfileSettings): boolean {
  return Object.keys(headers).some((name) => /^(authorization|.*api-?key|.*token)$/i.test(name));
}

function ownKey(loaded: LoadedConfig, owner: KeyOwner, settings: ProfileSettings): ProfileKey | undefined {
  const { name } = owner;
  const at = (key: string) => describeOrigin(loaded.origins.get(`models.${name}.${key}`) ?? DEFAULT, loaded);
  if (settings.api_key_env !== undefined) {
    const value = loaded.env[settings.api_key_env]?.trim();
    if (value !== undefined && value !== "") return checked(value, () => `the variable ${settings.api_key_env}`, name);
    const granted = grantedKey(loaded, owner);
    if (granted !== undefined) return granted;
    if (settings.auth === "login") return undefined;
    throw new BuddyError("auth", `profile ${name} takes its key from ${settings.api_key_env}, which is not set`, {
      hint: `Run: export ${settings.api_key_env}=…, or set BUDDY_API_KEY (api_key_env is ${at("api_key_env")})`,
    });
  }
  if (settings.api_key_file !== undefined)
    return keyFromFile(loaded, name, settings.api_key_file, () => at("api_key_file"));
  if (settings.api_key !== undefined) return checked(settings.api_key.trim(), () => `api_key ${at("api_key")}`, name);
  return undefined;
}

/** Where `buddy login` stores the key that a provider granted. */
export function providerKeyFile(directory: string, provider: string): string {
  return join(directory, "keys", provider);
}

/** A key that `buddy login` got for this endpoint. */
function grantedKey(loaded: LoadedConfig, { name, baseUrl }: KeyOwner): ProfileKey | undefined {
  const directory = buddyPaths(loaded.env)?.dir;
  if (directory === undefined || !`.${new URL(baseUrl).hostname}`.endsWith(".openrouter.ai")) return undefined;
  const path = providerKeyFile(directory, "openrouter");
  if (!existsSync(path)) return undefined;
  return keyFromFile(loaded, name, path, () => "created by buddy login");
}

const DEFAULT: Origin = { kind: "default" };

const LARGEST_KEY_FILE = 64 * 1024;

/** Expands ~; a relative path is relative to the configuration file that names it. */
export function profilePath(loaded: LoadedConfig, key: string, file: string): string {
  const origin = loaded.origins.get(key);
  return resolve(origin?.kind === "file" ? dirname(origin.file) : loaded.cwd, expandHome(file, loaded.env));
}

function keyFromFile(loaded: LoadedConfig, profile: string, file: string, where: () => string): ProfileKey {
  const path = profilePath(loaded, `models.${profile}.api_key_file`, file);
  const shown = shownPath(path, loaded);
  const failure = (why: string, cause?: unknown) =>
    new BuddyError("auth", `profile ${profile}: the key file ${shown} cannot be used: ${why}`, {
      hint: `Put the key into the file (chmod 600), or set BUDDY_API_KEY (api_key_file is ${where()})`,
      cause,
    });
  let text: string;
  try {
    text = readTextFile(path, LARGEST_KEY_FILE);
  } catch (error) {
    throw failure(messageOf(error), error);
  }
  const value = text.replace(/^\uFEFF/, "").trim();
  if (value === "") throw failure("it is empty");
  return checked(value, () => `the file ${shown}`, profile);
}

/** A character that a header cannot contain would make the request fail with an obscure message. */
function checked(value: string, source: () => string, profile: string): ProfileKey {
  if (/^[\x21-\x7e]+$/.test(value))
    return {
      value,
      get source() {
        return source();
      },
    };
  const what =
    value === "" ? "is empty" : "contains characters that keys do not have (a space, a line break, an accent)";
  throw new BuddyError("auth", `profile ${profile}: the key from ${source()} ${what}`, {
    hint: "Copy the key again, without anything around it",
  });
}

/** Servers on this machine or in its network (Ollama, LM Studio, llama.cpp) usually need no key. */
export function isLocal(baseUrl: string): boolean {
  const { hostname: host } = new URL(baseUrl);
  if (host.startsWith("[")) return host === "[::1]" || /^\[f[cd][0-9a-f]{2}:/.test(host);
  if (!host.includes(".") || LOCAL_DOMAINS.some((domain) => host.endsWith(domain))) return true;
  // Only an address ends with a number: 10.example.com and 1e1.example.com are names.
  const [first, second = NaN, , last = NaN] = host.split(".").map(Number);
  if (Number.isNaN(last)) return false;
  if (first === 172) return second >= 16 && second <= 31;
  return first === 127 || first === 10 || (first === 192 && second === 168) || (first === 169 && second === 254);
}

const LOCAL_DOMAINS = [".localhost", ".local", ".internal", ".lan"];

function fileOf(loaded: LoadedConfig, name: string): string[] | undefined {
  const origin = [...loaded.origins].find(([key]) => key.startsWith(`models.${name}.`))?.[1];
  return origin === undefined ? undefined : [`The profile is ${describeOrigin(origin, loaded)}`];
}
