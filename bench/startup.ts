/** Start-up time of the compiled binary, as ratios to a compiled Bun hello-world in the same run. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CONFIG_TEMPLATE } from "../src/config/create.ts";
import { buildHost, compile, hostTarget } from "../scripts/build.ts";
import { figure } from "./support/figures.ts";

const ROUNDS = Number(process.argv[2] ?? 60);

interface Subject {
  readonly name: string;
  readonly argv: readonly string[];
  readonly exit: number;
  /** At most this many times the hello-world. */
  readonly time?: number;
  readonly ms: number[];
}

function subject(name: string, argv: readonly string[], more: Partial<Subject> = {}): Subject {
  return { name, argv, exit: 0, ms: [], ...more };
}

function measure(subjects: readonly Subject[], env: Record<string, string>, cwd: string): void {
  // Interleaved, so that a busy moment of the machine falls on everyone alike; the first rounds only warm the caches.
  for (let round = -5; round < ROUNDS; round++) {
    for (const { argv, exit, ms } of subjects) {
      const started = Bun.nanoseconds();
      const child = Bun.spawnSync([...argv], { env, cwd, stdin: "ignore", stdout: "pipe", stderr: "pipe" });
      const took = (Bun.nanoseconds() - started) / 1e6;
      if (child.exitCode !== exit) throw new Error(`${argv.join(" ")}: ${child.exitCode} ${child.stderr.toString()}`);
      if (round < 0) continue;
      ms.push(took);
    }
  }
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
}

/** The template with every setting written out. */
function fullConfig(): string {
  return CONFIG_TEMPLATE.replace(/^# (\w+ = |\[)/gm, "$1");
}

const LOADING = `
const { loadConfiguration } = await import(${JSON.stringify(join(import.meta.dir, "../src/app/configuration.ts"))});
const globals = { config: process.argv[2], tmux: "auto", dryRun: false, quiet: false, verbose: false };
const { config } = await loadConfiguration(globals);
console.log(config.agent.model);
`;

const dir = mkdtempSync(join(tmpdir(), "buddy-bench-"));
try {
  const buddy = await buildHost();
  const hello = join(dir, "hello");
  writeFileSync(join(dir, "hello.ts"), 'console.log("hello");\n');
  await compile(hostTarget(), process.execPath, hello, { entry: join(dir, "hello.ts") });
  // No command only loads the configuration, so a program that does just that stands for it.
  const loading = join(dir, "loading");
  writeFileSync(join(dir, "loading.ts"), LOADING);
  await compile(hostTarget(), process.execPath, loading, { entry: join(dir, "loading.ts") });
  const config = join(dir, "full.toml");
  writeFileSync(config, fullConfig(), { mode: 0o600 });
  mkdirSync(join(dir, "home"));
  const base = subject("a compiled Bun hello-world", [hello]);
  const subjects = [
    base,
    subject("`buddy --version`", [buddy, "--version"], { time: 1.05 }),
    subject("`buddy --help`", [buddy, "--help"], { time: 2 }),
    subject("`buddy exec --help`", [buddy, "exec", "--help"], { time: 2 }),
    subject("an unknown command", [buddy, "exce"], { exit: 2 }),
    subject("a full configuration", [loading, config], { time: 3 }),
    subject("… an unknown profile", [buddy, "exec", "--config", config, "-m", "none", "x"], { exit: 2 }),
  ];
  measure(subjects, { HOME: join(dir, "home"), PATH: process.env.PATH ?? "" }, dir);

  for (const { name, ms, time } of subjects) {
    figure(name, ms, "ms");
    if (name !== base.name)
      figure("… to the hello-world", median(ms) / median(base.ms), "×", time === undefined ? undefined : `≤ ${time}`);
  }
} finally {
  rmSync(dir, { recursive: true, force: true });
}
