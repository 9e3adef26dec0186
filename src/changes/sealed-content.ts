/**
 * Contents of files on the disk, sealed with a key of the user's that lies beside them: whoever can read both can open
 * them, but no search through the home directory shows a secret that was in a file.
 */
import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import { linkSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Bytes that sealing adds: nonce and tag. */
export const SEAL = 28;

export function seal(bytes: Uint8Array, key: Uint8Array): Uint8Array {
  const nonce = randomBytes(NONCE);
  const cipher = createCipheriv("aes-256-gcm", key, nonce);
  const body = Buffer.concat([cipher.update(bytes), cipher.final()]);
  return Buffer.concat([nonce, cipher.getAuthTag(), body]);
}

/** Undefined for what this key did not seal, or what was changed since. */
export function unseal(sealed: Uint8Array, key: Uint8Array): Uint8Array | undefined {
  try {
    const decipher = createDecipheriv("aes-256-gcm", key, sealed.subarray(0, NONCE));
    decipher.setAuthTag(sealed.subarray(NONCE, SEAL));
    return Buffer.concat([decipher.update(sealed.subarray(SEAL)), decipher.final()]);
  } catch {
    return undefined;
  }
}

/** The key in that directory, made when it is not there; two processes end up with the same one. */
export function contentKey(directory: string): Uint8Array {
  const path = join(directory, "key");
  const known = readKey(path);
  if (known !== undefined) return known;
  const temporary = `${path}.${process.pid}.${randomBytes(4).toString("hex")}`;
  writeFileSync(temporary, randomBytes(KEY), { mode: 0o600, flag: "wx" });
  try {
    linkSync(temporary, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  } finally {
    rmSync(temporary, { force: true });
  }
  return readFileSync(path);
}

export function readKey(path: string): Uint8Array | undefined {
  try {
    const key = readFileSync(path);
    return key.length === KEY ? key : undefined;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

const NONCE = 12;
const KEY = 32;
