/**
 * The values behind the names of a session's secrets: in the state directory, readable only by the owner, never next to
 * the log.
 */
import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, utimesSync } from "node:fs";
import { dirname, join } from "node:path";
import { writeFileAtomic, fileError } from "../lib/files.ts";
import { isRecord } from "../lib/values.ts";
import { isSessionId } from "./outputs.ts";

export interface StoredSecret {
  readonly number: number;
  readonly kind: string;
  readonly from: string;
  readonly value: string;
}

/** Returns what went wrong. */
export function writeSecrets(
  stateDirectory: string,
  session: string,
  secrets: readonly StoredSecret[],
): string | undefined {
  const path = pathOf(stateDirectory, session);
  try {
    if (secrets.length === 0) {
      rmSync(path, { force: true });
      return undefined;
    }
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    if ((statSync(dirname(path)).mode & 0o077) !== 0) chmodSync(dirname(path), 0o700);
    if (statSync(path, { throwIfNoEntry: false }) === undefined) removeOld(dirname(path));
    writeFileAtomic(path, `${JSON.stringify({ v: 1, secrets })}\n`);
    return undefined;
  } catch (error) {
    return `the secrets of this session cannot be saved in ${path}: ${fileError(error)}; if you resume it later, their values are unknown`;
  }
}

/** None from a file that is missing, damaged or readable by others: then the values are unknown. */
export function readSecrets(stateDirectory: string, session: string): StoredSecret[] {
  try {
    const path = pathOf(stateDirectory, session);
    const { mode, uid } = statSync(path);
    if ((mode & 0o077) !== 0 || uid !== process.getuid?.()) return [];
    // Restarts the time for which unused secrets are kept.
    utimesSync(path, new Date(), new Date());
    const stored: unknown = JSON.parse(readFileSync(path, "utf8"));
    return isRecord(stored) && Array.isArray(stored["secrets"]) ? stored["secrets"].filter(isSecret) : [];
  } catch {
    return [];
  }
}

export function copySecrets(stateDirectory: string | undefined, from: string, to: string): string | undefined {
  if (stateDirectory === undefined) return undefined;
  const secrets = readSecrets(stateDirectory, from);
  return secrets.length === 0 ? undefined : writeSecrets(stateDirectory, to, secrets);
}

export function removeSecrets(stateDirectory: string | undefined, session: string): void {
  if (stateDirectory !== undefined && isSessionId(session)) rmSync(pathOf(stateDirectory, session), { force: true });
}

/** Secrets of sessions that were unused for this long are removed: their logs may have been deleted by hand. */
const KEPT_MS = 30 * 24 * 3600 * 1000;

function removeOld(directory: string): void {
  for (const name of readdirSync(directory)) {
    const path = join(directory, name);
    const stat = statSync(path, { throwIfNoEntry: false });
    if (stat !== undefined && stat.mtimeMs < Date.now() - KEPT_MS) rmSync(path, { force: true });
  }
}

function pathOf(stateDirectory: string, session: string): string {
  return join(stateDirectory, "secrets", `${session}.json`);
}

function isSecret(value: unknown): value is StoredSecret {
  return (
    isRecord(value) &&
    Number.isSafeInteger(value["number"]) &&
    typeof value["kind"] === "string" &&
    typeof value["from"] === "string" &&
    typeof value["value"] === "string"
  );
}
