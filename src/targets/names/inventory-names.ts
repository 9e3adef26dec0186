/** The names of an inventory, for completion: as they were last read, or read anew as far as that is quick. */
import { mkdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { BuddyError } from "../../lib/errors.ts";
import { writeFileAtomic } from "../../lib/files.ts";
import { type Inventory, readInventory } from "./inventory.ts";
import { isTimeout } from "../../lib/waiting.ts";

/** Whoever presses Tab does not wait longer; what a script or a cloud lists is read anew after a while. */
const QUICK_MS = 2_000;
const FRESH_MS = 3_600_000;

/** `state`: buddy's state directory; without one nothing is remembered. */
export async function inventoryNames(file: string, state: string | undefined): Promise<string[]> {
  const remembered = readNames(file, state);
  if (remembered?.isFresh === true) return remembered.names;
  try {
    const inventory = await readInventory(file, AbortSignal.timeout(QUICK_MS));
    rememberNames(file, inventory, state);
    return namesIn(inventory);
  } catch (error) {
    // What is wrong with an inventory is reported where it is used.
    if (error instanceof BuddyError || isTimeout(error)) return remembered?.names ?? [];
    throw error;
  }
}

/** After each reading, so that names are completed also where reading them takes long. */
export function rememberNames(file: string, inventory: Inventory, state: string | undefined): void {
  if (state === undefined) return;
  try {
    mkdirSync(join(state, "inventories"), { recursive: true, mode: 0o700 });
    writeFileAtomic(pathFor(file, state), JSON.stringify(namesIn(inventory)));
  } catch (error) {
    // A disk that is full or read-only: the names are read again.
    if ((error as NodeJS.ErrnoException).code === undefined) throw error;
  }
}

function namesIn({ groups, hosts }: Inventory): string[] {
  return [...new Set([...groups.keys(), ...hosts.keys()])];
}

function readNames(file: string, state: string | undefined): { names: string[]; isFresh: boolean } | undefined {
  if (state === undefined) return undefined;
  try {
    const path = pathFor(file, state);
    const names: unknown = JSON.parse(readFileSync(path, "utf8"));
    if (!Array.isArray(names)) return undefined;
    const { mtimeMs } = statSync(path);
    const isFresh = mtimeMs > statSync(file).mtimeMs && Date.now() - mtimeMs < FRESH_MS;
    return { names: names.filter((name) => typeof name === "string"), isFresh };
  } catch {
    return undefined; // not remembered, or no longer an inventory
  }
}

function pathFor(file: string, state: string): string {
  return join(state, "inventories", `${Bun.hash(file).toString(36)}.json`);
}
