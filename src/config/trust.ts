/** A configuration file that merely lies in the working directory may not weaken safety or redirect credentials. */
import { readFileSync } from "node:fs";
import { writeFileAtomic } from "../lib/atomic-file.ts";
import { isLoopback } from "../lib/is-loopback.ts";
import { type ConfigFile, buddyVariable, type Place } from "./find-file.ts";
import { isLocal } from "./keys.ts";
import { buddyPaths } from "./paths.ts";
import type { FileSettings, FoundValue } from "./read-settings.ts";
import { SETTINGS } from "./schema.ts";

/** Shown to the user, who answers for this content of this file. */
export interface TrustQuestion {
  readonly file: string;
  /** Lines such as `tools.shell_confirm = false (line 3): commands would run without a question`. */
  readonly settings: readonly string[];
}

/** Undefined when nobody answered; that is not remembered. */
export type AskTrust = (question: TrustQuestion) => Promise<boolean | undefined>;

export interface WeakSetting {
  /** "tools.shell_confirm", or "models.NAME" for a whole profile. */
  readonly key: string;
  readonly shown: string;
  readonly line: number | undefined;
  readonly why: string;
}

/** What the file sets that is weaker than the defaults, or that sends a credential to an address of its choice. */
export function weakSettings(settings: FileSettings, place: Place, flags: { readonly apiKey?: string | undefined }) {
  const weak: WeakSetting[] = [];
  for (const [key, found] of settings.values) {
    const why = weakens(key, found.value);
    if (why !== undefined) weak.push({ key, shown: `${key} = ${shownValue(found)}`, line: found.line, why });
  }
  const keyGiven = flags.apiKey !== undefined || buddyVariable(place.env, "API_KEY") !== undefined;
  for (const [name, profile] of settings.profiles) {
    const why = redirects(profile, keyGiven);
    if (why === undefined) continue;
    const first = profile.get("api_base_url") ?? profile.get("api_key_file") ?? profile.get("api_key_env");
    const shown = [...profile]
      .filter(
        ([key]) => key.startsWith("api_base_url") || (key.startsWith("api_key") && key !== "api_key") || key === "auth",
      )
      .map(([key, found]) => `${key} = ${shownValue(found)}`);
    weak.push({ key: `models.${name}`, shown: `models.${name}: ${shown.join(", ")}`, line: first?.line, why });
  }
  return weak;
}

/** Takes the weak settings out; a profile goes as a whole, because its key belongs to its address. */
export function dropSettings(settings: FileSettings, weak: readonly WeakSetting[]): void {
  for (const { key } of weak) {
    if (!key.startsWith("models.")) {
      settings.values.delete(key);
      continue;
    }
    const name = key.slice("models.".length);
    settings.profiles.delete(name);
    if (settings.values.get("agent.model")?.value === name) settings.values.delete("agent.model");
  }
}

/** The remembered answer for exactly this content at this place. */
export function rememberedAnswer(file: ConfigFile, place: Place): boolean | undefined {
  const answer = readAnswers(place)[file.path];
  return answer?.sha256 === fingerprint(file) ? answer.trusted : undefined;
}

/** Returns why it could not be remembered, if so: then the question comes again next time. */
export function rememberAnswer(file: ConfigFile, trusted: boolean, place: Place): unknown {
  const path = buddyPaths(place.env)?.trust;
  if (path === undefined) return new Error("HOME is not set");
  try {
    const answers = { ...readAnswers(place), [file.path]: { sha256: fingerprint(file), trusted } };
    writeFileAtomic(path, `${JSON.stringify({ version: 1, files: answers }, null, 2)}\n`);
    return undefined;
  } catch (error) {
    return error;
  }
}

const STRICTNESS = ["block", "ask", "off"];

function weakens(key: string, value: unknown): string | undefined {
  const [section, name = ""] = key.split(".");
  if (section === "safety") {
    const table = SETTINGS.safety as Readonly<Record<string, { readonly fallback: unknown }>>;
    const weaker = STRICTNESS.indexOf(String(value)) > STRICTNESS.indexOf(String(table[name]?.fallback));
    return weaker ? "a check would be weaker" : undefined;
  }
  const list = Array.isArray(value) ? (value as readonly string[]) : [];
  switch (key) {
    case "tools.shell_confirm":
      return value === false ? "commands would run without a question" : undefined;
    case "tools.shell_auto_approve":
      return value === "developer" ? "more commands would run without a question" : undefined;
    case "tools.shell_allow":
      return list.length > 0 ? "these commands would run without a question" : undefined;
    case "tools.shell_denylist":
      return SETTINGS.tools.shell_denylist.fallback.every((entry) => list.includes(entry))
        ? undefined
        : "commands denied by default would be allowed";
    case "tools.files_allowed_paths":
      return list.length > 0 ? "files there could be written, protected ones included" : undefined;
    case "tools.fetch_allowed_domains":
      return list.length > 0 ? "private addresses could be fetched" : undefined;
    default:
      return undefined;
  }
}

function redirects(profile: ReadonlyMap<string, FoundValue>, keyGiven: boolean): string | undefined {
  if (profile.has("api_key_env") || profile.has("api_key_file"))
    return "a secret of yours would be sent to this address";
  const address = profile.get("api_base_url")?.value;
  if (address === undefined) return undefined;
  if (profile.get("auth")?.value === "login") return "your sign-in would be used with this address";
  if (keyGiven) return "your key would be sent to this address";
  // Whoever answers there sees everything and chooses the commands; with a key of the file's own nothing else is needed.
  return typeof address === "string" && usable(address, profile.has("api_key"))
    ? "your conversation would be sent to this address"
    : undefined;
}

/** Whether requests would leave this machine without any key of the user's. */
function usable(address: string, hasKey: boolean): boolean {
  const host = URL.parse(address)?.hostname;
  if (host === undefined || isLoopback(host)) return false;
  return hasKey || isLocal(address);
}

function shownValue({ value }: FoundValue): string {
  return JSON.stringify(value) ?? String(value);
}

function fingerprint({ text }: ConfigFile): string {
  return new Bun.CryptoHasher("sha256").update(text).digest("hex");
}

type Answers = Readonly<Record<string, { readonly sha256: string; readonly trusted: boolean }>>;

/** A file that is missing or damaged remembers nothing: the question is asked again, which is the safe way. */
function readAnswers(place: Place): Answers {
  const path = buddyPaths(place.env)?.trust;
  if (path === undefined) return {};
  try {
    const stored = JSON.parse(readFileSync(path, "utf8")) as { files?: unknown };
    return typeof stored.files === "object" && stored.files !== null ? (stored.files as Answers) : {};
  } catch {
    return {};
  }
}
