/** mcp-auth.json: the sign-ins at MCP servers, readable by their owner alone. */
import { lstatSync, readFileSync } from "node:fs";
import { BuddyError } from "../../lib/errors.ts";
import { writeFileAtomic } from "../../lib/files.ts";
import { isRecord } from "../../lib/values.ts";

/** What the client package stores for a server; its own shapes, kept as they are. */
export interface StoredSignIn {
  readonly tokens?: unknown;
  readonly client?: unknown;
  readonly discovery?: unknown;
}

export class SignInStore {
  readonly #path: string | undefined;

  constructor(path: string | undefined) {
    this.#path = path;
  }

  read(address: string): StoredSignIn {
    const all = this.#load();
    const found = Object.hasOwn(all, address) ? all[address] : undefined;
    return isRecord(found) ? found : {};
  }

  /** Undefined removes the sign-in. */
  write(address: string, change: StoredSignIn | undefined): void {
    if (this.#path === undefined)
      throw new BuddyError("auth", "HOME is not set, so there is no place for the sign-in", { hint: "Set HOME." });
    const { [address]: before, ...others } = this.#load();
    const next = change === undefined ? undefined : { ...(isRecord(before) ? before : {}), ...change };
    const servers = next === undefined ? others : { ...others, [address]: next };
    writeFileAtomic(this.#path, `${JSON.stringify({ version: 1, servers }, null, 2)}\n`);
  }

  /** Damaged or missing: not signed in. */
  #load(): Record<string, unknown> {
    if (this.#path === undefined) return {};
    try {
      const stat = lstatSync(this.#path);
      if (!stat.isFile() || (stat.mode & 0o077) !== 0) return this.#refuse(stat.isFile());
      const stored: unknown = JSON.parse(readFileSync(this.#path, "utf8"));
      return isRecord(stored) && isRecord(stored["servers"]) ? stored["servers"] : {};
    } catch (error) {
      if (error instanceof BuddyError) throw error;
      return {};
    }
  }

  #refuse(isFile: boolean): never {
    throw new BuddyError("auth", `${this.#path} ${isFile ? "can be read by other users" : "is not a regular file"}`, {
      hint: isFile ? `Run: chmod 600 '${this.#path}'` : "Remove it, then sign in again.",
    });
  }
}
