/** Reads the imports of TypeScript sources: who needs whom, as values or only as types. */
import { readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";

const ROOT = join(import.meta.dir, "../..");

export interface Import {
  /** Path from the repository root for relative imports, otherwise the package or `node:` name. */
  readonly to: string;
  readonly specifier: string;
  readonly kind: "value" | "type" | "lazy";
}

export function sourceFiles(pattern: string): string[] {
  return [...new Bun.Glob(pattern).scanSync(ROOT)].sort();
}

export function sourceText(file: string): string {
  return readFileSync(join(ROOT, file), "utf8");
}

export function importsOf(file: string, text = sourceText(file)): Import[] {
  const found: Import[] = [];
  const add = (specifier: string, kind: Import["kind"]) =>
    found.push({ to: resolve(file, specifier), specifier, kind });
  for (const [, type, clause = "", specifier = ""] of text.matchAll(
    /^(?:import|export)\s+(type\s+)?(?:([^"';]*?)\s+from\s+)?"([^"]+)"/gm,
  )) {
    add(specifier, type !== undefined || onlyTypes(clause) ? "type" : "value");
  }
  for (const [, type, specifier = ""] of text.matchAll(/(typeof\s+|:\s*)?\bimport\(\s*"([^"]+)"\s*\)/g)) {
    add(specifier, type === undefined ? "lazy" : "type");
  }
  return found;
}

/** Every file of the repository and every package that loading `entry` loads, with the path that leads there. */
export function staticallyReachable(entry: string): Map<string, readonly string[]> {
  const seen = new Map<string, readonly string[]>([[entry, [entry]]]);
  const queue = [entry];
  for (let file = queue.shift(); file !== undefined; file = queue.shift()) {
    const path = seen.get(file) ?? [];
    for (const { to, kind } of importsOf(file)) {
      if (kind !== "value" || seen.has(to)) continue;
      seen.set(to, [...path, to]);
      if (to.startsWith("src/") && to.endsWith(".ts")) queue.push(to);
    }
  }
  return seen;
}

function onlyTypes(clause: string): boolean {
  const names = /^\{([\s\S]*)\}$/.exec(clause.trim())?.[1];
  if (names === undefined) return false;
  const parts = names.split(",").flatMap((name) => (name.trim() === "" ? [] : [name.trim()]));
  return parts.length > 0 && parts.every((name) => name.startsWith("type "));
}

function resolve(file: string, specifier: string): string {
  return specifier.startsWith(".") ? relative(ROOT, join(ROOT, dirname(file), specifier)) : specifier;
}
