/** auth.json: the sign-ins of every provider, readable by its owner alone and replaced as a whole. */
import { mkdirSync, readFileSync, renameSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { writeFileAtomic } from "../lib/atomic-file.ts";
import { BuddyError } from "../lib/errors.ts";
import { lock } from "../lib/kernel-lock.ts";

export class AuthStore {
  readonly path: string;
  readonly #warn: (message: string) => void;

  constructor(path: string, warn: (message: string) => void) {
    this.path = path;
    this.#warn = warn;
  }

  /** The sign-in of a provider, or undefined. Refuses a file that others could have read. */
  read(provider: string): SignIn | undefined {
    return this.#load()[provider];
  }

  /** Runs `change` while no other process changes tokens; what it returns is stored (undefined removes). */
  async update(
    provider: string,
    change: (current: SignIn | undefined) => Promise<SignIn | undefined>,
    signal?: AbortSignal,
  ): Promise<SignIn | undefined> {
    mkdirSync(dirname(this.path), { recursive: true, mode: 0o700 });
    const held = await lock(`${this.path}.lock`, signal);
    try {
      const { [provider]: current, ...others } = this.#load();
      const next = await change(current);
      if (next !== current) {
        const providers = next === undefined ? others : { ...others, [provider]: next };
        writeFileAtomic(this.path, `${JSON.stringify({ version: 1, providers }, null, 2)}\n`);
      }
      return next;
    } finally {
      held.release();
    }
  }

  #load(): Record<string, SignIn> {
    let text: string;
    try {
      refuseIfReadableByOthers(this.path);
      text = readFileSync(this.path, "utf8");
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return {};
      if (error instanceof BuddyError) throw error;
      throw new BuddyError("auth", `cannot read ${this.path}: ${(error as Error).message}`, { cause: error });
    }
    const providers = parse(text);
    if (providers !== undefined) return providers;
    const aside = `${this.path}.damaged-${Math.floor(Date.now() / 1000)}`;
    renameSync(this.path, aside);
    this.#warn(`${this.path} was damaged and is kept as ${aside}; sign in again with: buddy login`);
    return {};
  }
}

export interface SignIn {
  readonly access_token: string;
  readonly refresh_token: string;
  readonly id_token?: string;
  readonly account_id?: string;
  /** Milliseconds on this machine's clock, whatever the issuer's says. */
  readonly issued_at: number;
  readonly expires_at: number;
}

function refuseIfReadableByOthers(path: string): void {
  const { mode } = statSync(path);
  if ((mode & 0o077) === 0) return;
  throw new BuddyError("auth", `${path} can be read by other users (mode ${(mode & 0o777).toString(8)})`, {
    hint: `Run: chmod 600 '${path}'\nIf others use this machine, also sign in anew: buddy login --reset, then buddy login`,
  });
}

function parse(text: string): Record<string, SignIn> | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isRecord(value) || !isRecord(value.providers)) return undefined;
  const sound = Object.values(value.providers).every(
    (entry) =>
      isRecord(entry) &&
      typeof entry.access_token === "string" &&
      typeof entry.refresh_token === "string" &&
      typeof entry.expires_at === "number",
  );
  return sound ? (value.providers as Record<string, SignIn>) : undefined;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
