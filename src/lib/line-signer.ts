/**
 * Signs lines of logs with a key in the user's state directory, to recognise a session log that came with a repository
 * and a changed line of the audit record. A MAC covers its line only: a session log may be moved, copied and continued.
 */
import { join } from "node:path";
import { createKey, readKey } from "./files.ts";

export class LineSigner {
  readonly #key: Uint8Array;

  constructor(key: Uint8Array) {
    this.#key = key;
  }

  /** `json` is one object; the MAC becomes its last field. */
  sign(json: string): string {
    return `${json.slice(0, -1)}${this.#end(this.#hasher().update(json))}`;
  }

  /** The same for an object that comes in pieces. */
  *signed(json: Iterable<string>): Generator<string> {
    const hasher = this.#hasher();
    let last = "";
    for (const piece of json) {
      hasher.update(piece);
      if (last !== "") yield last;
      last = piece;
    }
    yield `${last.slice(0, -1)}${this.#end(hasher)}`;
  }

  verify({ json, mac }: SignedLine): boolean {
    return mac !== undefined && mac === macOf(this.#hasher().update(json));
  }

  /** A signer with another key, for another kind of log: a line of one is not valid in the other. */
  derived(purpose: string): LineSigner {
    return new LineSigner(new Bun.CryptoHasher("sha256", this.#key).update(purpose).digest());
  }

  /** For the stored bytes of a line, which may be very long. */
  isSigned(line: Uint8Array): boolean {
    const at = line.length - FIELD.length - MAC_LENGTH - 2;
    if (at < 1) return false;
    const tail = new TextDecoder().decode(line.subarray(at));
    return tail === this.#end(this.#hasher().update(line.subarray(0, at)).update("}"));
  }

  #end(hasher: Bun.CryptoHasher): string {
    return `${FIELD}${macOf(hasher)}"}`;
  }

  #hasher(): Bun.CryptoHasher {
    return new Bun.CryptoHasher("sha256", this.#key);
  }
}

function macOf(hasher: Bun.CryptoHasher): string {
  return hasher.digest("hex").slice(0, MAC_LENGTH);
}

/** The signer of this user; undefined if no key can be stored: then nothing is signed and every log is foreign. */
export function lineSigner(
  stateDirectory: string | undefined,
  { create = true }: { readonly create?: boolean } = {},
): LineSigner | undefined {
  if (stateDirectory === undefined) return undefined;
  const path = join(stateDirectory, "session.key");
  try {
    const key = readKey(path) ?? (create ? createKey(path) : undefined);
    return key === undefined ? undefined : new LineSigner(key);
  } catch {
    // The log itself reports a full disk; buddy asks before it continues an unsigned log.
    return undefined;
  }
}

export interface SignedLine {
  /** The line without its MAC. */
  readonly json: string;
  readonly mac?: string;
}

export function splitLine(line: string): SignedLine {
  const at = line.length - FIELD.length - MAC_LENGTH - 2;
  if (at < 1 || !line.startsWith(FIELD, at) || !line.endsWith('"}')) return { json: line };
  return { json: `${line.slice(0, at)}}`, mac: line.slice(at + FIELD.length, -2) };
}

const FIELD = ',"mac":"';
const MAC_LENGTH = 32;
