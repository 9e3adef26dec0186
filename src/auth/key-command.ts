/**
 * A key that a program prints: the program runs when the key is first needed, and again when the key expires or the
 * server refuses it.
 */
import { BuddyError } from "../lib/errors.ts";
import { fileError } from "../lib/files.ts";
import { isRecord, jsonObject } from "../lib/values.ts";
import { childEnv, runProgram } from "../lib/start-child.ts";
import { tokenClaims } from "./store.ts";

export interface KeyCommandOptions {
  readonly profile: string;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly timeoutMs?: number;
}

export function keyFromCommand(argv: readonly string[], options: KeyCommandOptions) {
  let kept: Promise<PrintedKey> | undefined;
  return {
    async token(
      { refused }: { readonly refused?: string | undefined },
      signal: AbortSignal,
    ): Promise<{ accessToken: string }> {
      const known = await kept?.catch(() => undefined);
      if (
        kept === undefined ||
        known === undefined ||
        refused === known.value ||
        known.expires - MARGIN_MS < Date.now()
      )
        kept = printKey(argv, options, signal);
      return { accessToken: (await kept).value };
    },
  };
}

interface PrintedKey {
  readonly value: string;
  /** Milliseconds since the epoch; Infinity where the program does not say. */
  readonly expires: number;
}

/** A key is not used in the last minute before it expires. */
const MARGIN_MS = 60_000;
const TIMEOUT_MS = 30_000;
const MOST_BYTES = 64 * 1024;

async function printKey(argv: readonly string[], options: KeyCommandOptions, signal: AbortSignal): Promise<PrintedKey> {
  const { profile, timeoutMs = TIMEOUT_MS } = options;
  const shown = argv[0] ?? "";
  const fail = (why: string, cause?: unknown) =>
    new BuddyError("auth", `profile ${profile}: api_key_command ${shown} ${why}`, {
      hint: `Run it yourself to see why: ${argv.join(" ")}`,
      cause,
    });
  const run = await runProgram(argv, {
    cwd: options.cwd,
    env: childEnv({}, options.env),
    timeoutMs,
    signal,
    mostBytes: MOST_BYTES,
  });
  if (run.kind === "not-started") throw fail(`cannot be started: ${fileError(run.error)}`, run.error);
  if (run.kind === "killed") throw fail(run.why);
  if (run.code !== 0) throw fail(`failed with exit code ${run.code}${firstLine(run.stderr)}`);
  const key = printedKey(run.stdout.trim());
  if (key === undefined) throw fail("printed nothing that looks like a key");
  return key;
}

function firstLine(text: string): string {
  const line = text.trim().split("\n")[0]?.slice(0, 200) ?? "";
  return line === "" ? "" : `: ${line}`;
}

/**
 * Plain text: the key on the first line; a password manager may print notes below it. JSON: a token under one of the
 * usual names, and when it expires.
 */
function printedKey(text: string): PrintedKey | undefined {
  if (!text.startsWith("{")) {
    const [first = "", ...notes] = text.split(/\r?\n/);
    const value = /^"([^"\\]*)"$/.exec(first)?.[1] ?? first;
    return value === "" || (notes.length > 0 && !LIKE_A_KEY.test(value))
      ? undefined
      : { value, expires: expiryOf(value) };
  }
  const printed = jsonObject(text);
  const found = [printed, printed?.["status"]].filter(isRecord);
  for (const table of found) {
    const value = TOKEN_NAMES.map((name) => table[name]).find((one) => typeof one === "string" && one !== "");
    if (typeof value !== "string") continue;
    const given = EXPIRY_NAMES.map((name) => table[name]).find((one) => one !== undefined && one !== null);
    return { value, expires: given === undefined ? expiryOf(value) : timeOf(given, "expires_in" in table) };
  }
  return undefined;
}

const LIKE_A_KEY = /^[\x21-\x7e]{16,}$/;

const TOKEN_NAMES = ["token", "access_token", "accessToken", "api_key", "apiKey", "key", "value", "id_token"];
const EXPIRY_NAMES = [
  "expires_in",
  "expires_at",
  "expires_on",
  "expiresOn",
  "expiry",
  "expiration",
  "expirationTimestamp",
  "token_expiry",
];

function timeOf(given: unknown, isSpan: boolean): number {
  const number = typeof given === "number" ? given : /^\d+$/.test(String(given)) ? Number(given) : undefined;
  if (number === undefined) {
    const at = Date.parse(String(given));
    return Number.isNaN(at) ? Infinity : at;
  }
  if (isSpan) return Date.now() + number * 1000;
  return number > 1e11 ? number : number * 1000;
}

/** Infinity unless the token is a JWT that says when it expires. */
function expiryOf(token: string): number {
  const { exp } = tokenClaims(token);
  return typeof exp === "number" ? exp * 1000 : Infinity;
}
