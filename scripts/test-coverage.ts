/** Line coverage of src from the lcov file of `bun test`; a file that no test ever loaded counts as not covered. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

export interface Coverage {
  readonly percent: number;
  readonly lines: number;
  /** Files below 90 %, worst first. */
  readonly lowest: readonly { file: string; percent: number }[];
}

export function readCoverage(root: string): Coverage {
  const files = measured(join(root, "coverage/lcov.info"));
  const transpiler = new Bun.Transpiler({ loader: "ts" });
  for (const file of new Bun.Glob("src/**/*.ts").scanSync(root)) {
    if (files.has(file)) continue;
    // A file of types has no line to cover: it transpiles to nothing (or to a bare `export {}`).
    const code = transpiler.transformSync(readFileSync(join(root, file), "utf8"));
    const found = code.split("\n").filter((line) => line.trim() !== "" && !line.startsWith("export {}")).length;
    if (found > 0) files.set(file, { found, hit: 0 });
  }
  let found = 0;
  let hit = 0;
  const rows: { file: string; percent: number }[] = [];
  for (const [file, count] of files) {
    found += count.found;
    hit += count.hit;
    rows.push({ file, percent: count.found === 0 ? 100 : (100 * count.hit) / count.found });
  }
  const lowest = rows.filter((row) => row.percent < 90).sort((a, b) => a.percent - b.percent);
  return { percent: found === 0 ? 0 : (100 * hit) / found, lines: found, lowest };
}

/** With parallel workers one file may have several records: a line is covered when one of them hit it. */
function measured(path: string): Map<string, { found: number; hit: number }> {
  const lines = new Map<string, Map<string, boolean>>();
  let current = new Map<string, boolean>();
  for (const row of existsSync(path) ? readFileSync(path, "utf8").split("\n") : []) {
    if (row.startsWith("SF:")) {
      const file = row.slice(3);
      current = lines.get(file) ?? new Map();
      if (file.startsWith("src/")) lines.set(file, current);
    } else if (row.startsWith("DA:")) {
      const [line = "", count] = row.slice(3).split(",");
      current.set(line, current.get(line) === true || Number(count) > 0);
    }
  }
  return new Map(
    [...lines].map(([file, hits]) => [file, { found: hits.size, hit: [...hits.values()].filter(Boolean).length }]),
  );
}
