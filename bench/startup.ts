/** Start-up time and memory of the compiled binary, as ratios to a compiled Bun hello-world in the same run. */
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildHost, compile, hostTarget } from "../scripts/build.ts";

const ROOT = join(import.meta.dir, "..");
const ROUNDS = Number(process.argv[2] ?? 40);

interface Subject {
  readonly name: string;
  readonly argv: readonly string[];
  readonly budget: number | undefined;
  readonly ms: number[];
  readonly rss: number[];
}

function measure(subjects: readonly Subject[], env: Record<string, string>, cwd: string): void {
  // Interleaved, so that a busy moment of the machine falls on everyone alike; the first rounds only warm the caches.
  for (let round = -3; round < ROUNDS; round++) {
    for (const subject of subjects) {
      const started = Bun.nanoseconds();
      const child = Bun.spawnSync([...subject.argv], { env, cwd, stdin: "ignore", stdout: "pipe", stderr: "pipe" });
      const ms = (Bun.nanoseconds() - started) / 1e6;
      if (child.exitCode !== 0) throw new Error(`${subject.argv.join(" ")}: ${child.stderr.toString()}`);
      if (round < 0) continue;
      subject.ms.push(ms);
      subject.rss.push(child.resourceUsage.maxRSS / 1e6);
    }
  }
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
}

const dir = mkdtempSync(join(tmpdir(), "buddy-bench-"));
try {
  const buddy = existsSync(join(ROOT, "dist/buddy")) ? join(ROOT, "dist/buddy") : buildHost();
  const hello = join(dir, "hello");
  writeFileSync(join(dir, "hello.ts"), 'console.log("hello");\n');
  compile(hostTarget(), process.execPath, hello, join(dir, "hello.ts"));
  mkdirSync(join(dir, "home"));
  const subject = (name: string, argv: readonly string[], budget?: number): Subject => ({
    name,
    argv,
    budget,
    ms: [],
    rss: [],
  });
  const base = subject("hello", [hello]);
  const subjects = [base, subject("buddy --version", [buddy, "--version"], 1.3)];
  measure(subjects, { HOME: join(dir, "home"), PATH: process.env.PATH ?? "" }, dir);
  console.log(`median of ${ROUNDS} interleaved runs\n`);
  console.log(
    `${"".padEnd(26)}${"ms".padStart(7)}${"ratio".padStart(8)}${"budget".padStart(8)}${"RSS MB".padStart(9)}`,
  );
  for (const { name, ms, rss, budget } of subjects) {
    const ratio = median(ms) / median(base.ms);
    const row = [median(ms).toFixed(1).padStart(7), `${ratio.toFixed(2)}×`.padStart(8)];
    row.push((budget === undefined ? "" : `${budget}×`).padStart(8), median(rss).toFixed(0).padStart(9));
    console.log(name.padEnd(26) + row.join(""));
  }
} finally {
  rmSync(dir, { recursive: true, force: true });
}
