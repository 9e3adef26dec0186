/**
 * Runs the files of bench/ one at a time: `bun run bench [NAME...]`. All of them together write docs/benchmarks.md.
 * `bun run bench compare OTHER-BINARY [PART...]` compares dist/buddy with another build.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import { basename, join } from "node:path";
import type { Figure } from "../bench/support/figures.ts";
import { benchmarksPage } from "../bench/support/page.ts";

const DIRECTORY = join(import.meta.dir, "../bench");
const PAGE = join(import.meta.dir, "../docs/benchmarks.md");
const names = [...new Bun.Glob("*.ts").scanSync(DIRECTORY)]
  .map((file) => basename(file, ".ts"))
  .filter((name) => name !== "compare")
  .sort();
const wanted = process.argv.slice(2);
if (wanted[0] === "compare") {
  const argv = [process.execPath, join(DIRECTORY, "compare.ts"), ...wanted.slice(1)];
  process.exit(Bun.spawnSync(argv, { stdio: ["ignore", "inherit", "inherit"] }).exitCode);
}
const unknown = wanted.find((name) => !names.includes(name));
if (unknown !== undefined) {
  console.error(`there is no bench/${unknown}.ts; known: ${names.join(", ")}`);
  process.exit(2);
}

const [cpu] = os.cpus();
const machine = `${os.cpus().length} × ${cpu?.model.trim()}, ${os.type()} ${os.release()}, Bun ${Bun.version}`;
const load = os.loadavg()[0]?.toFixed(1) ?? "?";
console.log(machine);
const dir = mkdtempSync(join(os.tmpdir(), "buddy-bench-figures-"));
const figures: Record<string, readonly Figure[]> = {};
const failed: string[] = [];
for (const name of wanted.length > 0 ? wanted : names) {
  console.log(`\n── ${name} (load average ${os.loadavg()[0]?.toFixed(1)}) ──`);
  const file = join(dir, name);
  const { exitCode } = Bun.spawnSync([process.execPath, join(DIRECTORY, `${name}.ts`)], {
    env: { ...process.env, BENCH_FIGURES: file },
    stdio: ["ignore", "inherit", "inherit"],
  });
  const lines = existsSync(file) ? readFileSync(file, "utf8").trim().split("\n") : [];
  figures[name] = lines.map((line) => JSON.parse(line) as Figure);
  if (exitCode !== 0) failed.push(name);
}
rmSync(dir, { recursive: true });
if (failed.length > 0) {
  console.error(`\nfailed: ${failed.join(", ")}; docs/benchmarks.md is as it was`);
  process.exitCode = 1;
} else if (wanted.length === 0) {
  writeFileSync(PAGE, benchmarksPage({ machine, date: new Date().toISOString().slice(0, 10), load, figures }));
  console.log("\nwrote docs/benchmarks.md");
}
