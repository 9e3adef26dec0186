/**
 * The licences of everything that is inside the binary, by the lock file: `bun scripts/release/notices.ts` prints them.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { dependencies, devDependencies } from "../../package.json";

const ROOT = join(import.meta.dir, "../..");

interface LockEntry {
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

interface Lock {
  readonly packages: Readonly<Record<string, readonly [id: string, source: string, entry?: LockEntry]>>;
}

export function thirdPartyNotices(lockText = readFileSync(join(ROOT, "bun.lock"), "utf8")): string {
  const lock = Bun.JSONC.parse(lockText) as Lock;
  const sections = [...bundled(lock)]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([id, directory]) => section(id, directory));
  return [
    "buddy contains the following software.",
    `Bun ${devDependencies.bun}, the runtime: MIT (https://bun.com/docs/project/licensing). It links JavaScriptCore and other
parts of WebKit statically, which are under the LGPL 2.1; that page says where their source is and how to relink.`,
    ...sections,
  ].join(`\n\n${"-".repeat(80)}\n\n`);
}

/** `name@version` → its directory, for the packages that the product depends on, and what those depend on. */
function bundled({ packages }: Lock): Map<string, string> {
  const found = new Map<string, string>();
  const visit = (name: string, below: string): void => {
    const key = nearest(packages, name, below);
    const [id, , entry] = packages[key] ?? [];
    if (id === undefined) throw new Error(`bun.lock does not list ${name}`);
    if (found.has(id)) return;
    found.set(id, directoryOf(key));
    for (const next of Object.keys(entry?.dependencies ?? {})) visit(next, key);
  };
  for (const name of Object.keys(dependencies)) visit(name, "");
  return found;
}

/** The key of a nested package is the path to it: "a/b" is b inside a's node_modules; the innermost counts. */
function nearest(packages: Lock["packages"], name: string, below: string): string {
  const parts = below.match(/@[^/]+\/[^/]+|[^/]+/g) ?? [];
  for (let depth = parts.length; depth > 0; depth--) {
    const key = `${parts.slice(0, depth).join("/")}/${name}`;
    if (key in packages) return key;
  }
  return name;
}

/** "a/b" → node_modules/a/node_modules/b; a scope is a part of its name. */
function directoryOf(key: string): string {
  const names = key.match(/@[^/]+\/[^/]+|[^/]+/g) ?? [];
  return join(ROOT, ...names.map((name) => join("node_modules", name)));
}

function section(id: string, directory: string): string {
  const { license, homepage, author } = JSON.parse(readFileSync(join(directory, "package.json"), "utf8")) as {
    license?: string;
    homepage?: string;
    author?: string | { name?: string };
  };
  if (license === undefined) throw new Error(`${id} names no licence`);
  const file = existsSync(directory) ? readdirSync(directory).find((name) => /^licen[cs]e/i.test(name)) : undefined;
  const holder = typeof author === "string" ? author : author?.name;
  const text =
    file === undefined
      ? `The package carries no licence text.${holder === undefined ? "" : ` Copyright: ${holder}.`}`
      : readFileSync(join(directory, file), "utf8").trim();
  return `${id}: ${license}${homepage === undefined ? "" : ` (${homepage})`}\n\n${text}`;
}

if (import.meta.main) console.log(thirdPartyNotices());
