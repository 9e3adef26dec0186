/** auth.json: the sign-ins of all providers, readable only by its owner and replaced as a whole. */
import { existsSync, lstatSync, mkdirSync, readFileSync, renameSync } from "node:fs";
import { dirname } from "node:path";
import { writeFileAtomic, fileError, requirePlainFiles } from "../lib/files.ts";
import { BuddyError, messageOf } from "../lib/errors.ts";
import { isRecord, jsonObject } from "../lib/values.ts";
import { type KernelLock, lock } from "../lib/kernel-lock.ts";
import { quote } from "../lib/quote.ts";

export class AuthStore {
  readonly path: string;
  readonly #warn: (message: string) => void;

  constructor(path: string, warn: (message: string) => void) {
    this.path = path;
    this.#warn = warn;
  }

  /** Throws for a file that others could have read. */
  read(provider: string): SignIn | undefined {
    return this.#load()[provider];
  }

  /** Runs `change` under a lock that all processes share and stores what it returns (undefined removes). */
  async update(
    provider: string,
    change: (current: SignIn | undefined) => Promise<SignIn | undefined>,
    signal?: AbortSignal,
  ): Promise<SignIn | undefined> {
    const held = await this.#lock(signal);
    try {
      const { [provider]: current, ...others } = this.#load();
      // The change may replace what is stored at the server: it must be certain that the result can be stored, too.
      if (current !== undefined) this.#write(readFileSync(this.path, "utf8"));
      const next = await change(current);
      if (next !== current) {
        const providers = next === undefined ? others : { ...others, [provider]: next };
        this.#write(`${JSON.stringify({ version: VERSION, providers }, null, 2)}\n`);
      }
      return next;
    } finally {
      held.release();
    }
  }

  /** Throws what `update` would throw, before the user or a server is asked for anything. */
  async checkWritable(signal?: AbortSignal): Promise<void> {
    (await this.#lock(signal)).release();
    this.#load();
  }

  async #lock(signal: AbortSignal | undefined): Promise<KernelLock> {
    try {
      mkdirSync(dirname(this.path), { recursive: true, mode: 0o700 });
      requirePlainFiles(this.path);
      return await lock(`${this.path}.lock`, signal);
    } catch (error) {
      if (signal?.aborted === true) throw error;
      throw this.#unwritable(error);
    }
  }

  #write(text: string): void {
    try {
      writeFileAtomic(this.path, text);
    } catch (error) {
      throw this.#unwritable(error);
    }
  }

  #unwritable(error: unknown): BuddyError {
    return new AuthUnwritable("auth", `the sign-in cannot be stored in ${this.path}: ${fileError(error)}`, {
      hint: "Make its directory writable, or set HOME or XDG_CONFIG_HOME to one that is.",
      cause: error,
    });
  }

  #load(): Record<string, SignIn> {
    let text: string;
    try {
      refuseIfReadableByOthers(this.path);
      text = readFileSync(this.path, "utf8");
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return {};
      if (error instanceof BuddyError) throw error;
      throw new BuddyError("auth", `cannot read ${this.path}: ${messageOf(error)}`, { cause: error });
    }
    const providers = parse(text);
    if (providers !== undefined) return providers;
    let seconds = Math.floor(Date.now() / 1000);
    while (existsSync(`${this.path}.damaged-${seconds}`)) seconds++;
    const aside = `${this.path}.damaged-${seconds}`;
    try {
      renameSync(this.path, aside);
    } catch (error) {
      throw this.#unwritable(error);
    }
    this.#warn(`${this.path} was damaged and is kept as ${aside}; sign in again with: buddy login`);
    return {};
  }
}

/** The file cannot be written. Then no token is refreshed: that would invalidate the stored one. */
export class AuthUnwritable extends BuddyError {}

export interface SignIn {
  readonly access_token: string;
  readonly refresh_token: string;
  readonly id_token?: string;
  readonly account_id?: string;
  /** Both in milliseconds by this machine's clock. */
  readonly issued_at: number;
  readonly expires_at: number;
}

const VERSION = 1;

function refuseIfReadableByOthers(path: string): void {
  const stat = lstatSync(path);
  if (!stat.isFile()) {
    const what = stat.isSymbolicLink() ? "a link" : "not a file";
    throw new BuddyError("auth", `${path} is ${what}`, { hint: "Remove it, then: buddy login" });
  }
  const { mode } = stat;
  if ((mode & 0o077) === 0) return;
  throw new BuddyError("auth", `${path} can be read by other users (mode ${(mode & 0o777).toString(8)})`, {
    hint: `Run: chmod 600 ${quote(path)}\nIf others use this machine, also sign in again: buddy login --reset, then buddy login`,
  });
}

function parse(text: string): Record<string, SignIn> | undefined {
  const value = jsonObject(text);
  if (value === undefined) return undefined;
  if (typeof value.version === "number" && value.version > VERSION)
    throw new BuddyError("auth", `auth.json was written by a newer buddy (format ${value.version})`, {
      hint: "Update buddy; the file was left as it is.",
    });
  if (!isRecord(value.providers)) return undefined;
  const sound = Object.values(value.providers).every(
    (entry) =>
      isRecord(entry) &&
      isToken(entry.access_token) &&
      isToken(entry.refresh_token) &&
      typeof entry.expires_at === "number" &&
      Math.abs(entry.expires_at) <= LAST_DATE,
  );
  return sound ? (value.providers as Record<string, SignIn>) : undefined;
}

/** Whether it can be sent in a header. */
/** The claims of a JWT, which are not verified here; none if it is anything else. */
export function tokenClaims(token: string): Record<string, unknown> {
  const [, claims = "", ...rest] = token.split(".");
  return (rest.length === 1 && jsonObject(Buffer.from(claims, "base64url").toString("utf8"))) || {};
}

export function isToken(value: unknown): value is string {
  return typeof value === "string" && /^[\x21-\x7e]+$/.test(value);
}

/** The last moment that a Date can represent. */
export const LAST_DATE = 8.64e15;
