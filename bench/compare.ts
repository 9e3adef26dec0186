/**
 * Two binaries side by side: `bun run bench compare OTHER-BINARY [exec|agent|startup|fleet|memory]...` compares dist/buddy
 * with another build. They take turns, so that a busy moment falls on both. BENCH_ROUNDS=20 changes the number of pairs.
 */
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { CONFIG_TEMPLATE } from "../src/config/create.ts";
import { shell } from "../test/support/calls.ts";
import { endTmux } from "../test/support/end-tmux.ts";
import { sshdAddresses } from "../test/support/machines.ts";
import { script } from "../test/support/scripted-model/playbook.ts";
import { type ScriptedServer, startScripted } from "../test/support/scripted-model/server.ts";
import type { Figure } from "./support/figures.ts";
import { RATIO_HEADINGS, ratioLine, ratioOf, ratioRow } from "./support/ratio.ts";

/** Figures of one run of a binary, by name. */
type Sample = Readonly<Record<string, { readonly value: number; readonly unit: string }>>;

interface Part {
  readonly rounds: number;
  /** Sets up what both binaries use, and returns the run that is measured. */
  start(): Promise<(binary: string) => Promise<Sample>>;
}

const SOCKET = "buddy-bench-compare";
const MACHINES = 8;
const CALLS = 20;
const dir = mkdtempSync(join(tmpdir(), "buddy-compare-"));
const env = { HOME: join(dir, "home"), PATH: process.env["PATH"] ?? "", LANG: "C.UTF-8", TERM: "xterm" };

const PARTS: Readonly<Record<string, Part>> = {
  startup: {
    rounds: 40,
    async start() {
      const full = join(dir, "full.toml");
      writeFileSync(full, CONFIG_TEMPLATE.replace(/^# (\w+ = |\[)/gm, "$1"), { mode: 0o600 });
      const commands: Readonly<Record<string, readonly string[]>> = {
        "`--version`": ["--version"],
        "`--help`": ["--help"],
        "`exec --help`": ["exec", "--help"],
        "an unknown command": ["exce"],
        "a full configuration, an unknown profile": ["exec", "--config", full, "-m", "none", "x"],
      };
      return async (binary) => {
        const sample: Record<string, Sample[string]> = {};
        for (const [name, args] of Object.entries(commands)) sample[name] = ms((await run(binary, args)).ms);
        return sample;
      };
    },
  },

  agent: {
    rounds: 60,
    async start() {
      const server = startScripted({ reply: () => ({ text: "The answer is 42." }) });
      const config = configFor(server);
      return async (binary) => {
        const done = await run(binary, ["exec", "--config", config, "-q", "hi"]);
        return {
          "an answer without tools": ms(done.ms),
          "… processor time": ms(done.cpuMs),
          "… answer received to exit": ms(done.ended - (server.requests.at(-1)?.sentAt ?? Number.NaN)),
          "… memory": { value: done.mb, unit: "MB" },
        };
      };
    },
  },

  exec: {
    rounds: 10,
    async start() {
      return async (binary) => {
        const sample: Record<string, Sample[string]> = {};
        for (const pane of ["--no-tmux", "--tmux"])
          for (const command of ["echo", "umask 022; echo"]) {
            const kind = command === "echo" ? "an auto-approved call" : "an approved call";
            const calls = Array.from({ length: CALLS }, (_, n) => shell(`${command} ${n}`));
            await using server = startScripted(script([...calls, { text: "done" }]));
            const config = configFor(server);
            const done = await run(binary, ["exec", "--config", config, "-q", pane, "--approve", "all", "go"]);
            const times = server.requests.slice(1).map(({ at }, index) => at - server.requests[index]!.sentAt!);
            const what = `${kind}, ${pane}`;
            sample[`${what}: the first`] = ms(times[0]!);
            sample[`${what}: a later one`] = ms(middle(times.slice(1)));
            sample[`${what}: processor time of ${CALLS}`] = ms(done.cpuMs);
          }
        return sample;
      };
    },
  },

  fleet: {
    rounds: 8,
    async start() {
      const lab = await sshdAddresses(Array.from({ length: MACHINES }, (_, at) => `127.0.9.${at + 1}`));
      const names = Array.from({ length: MACHINES }, (_, at) => `web${at + 1}`);
      lab.configure(
        names
          .map(
            (name, at) =>
              `Host ${name}\n  HostName 127.0.9.${at + 1}\n  Port ${lab.port}\n  IdentityFile ${lab.identity}`,
          )
          .join("\n"),
      );
      const hosts = join(lab.dir, "hosts");
      writeFileSync(hosts, `${names.join("\n")}\n`);
      const there = { ...env, ...lab.env };
      return async (binary) => {
        const once = await run(binary, ["run", "-q", "--on", `@${hosts}`, "uname -n"], there);
        const calls = Array.from({ length: CALLS }, (_, n) => shell("uname -n", { why: `call ${n}` }));
        await using server = startScripted(script([...calls, { text: "done" }]));
        const config = configFor(server);
        await run(binary, ["exec", "--config", config, "-q", "--approve", "all", "--on", `@${hosts}`, "go"], there);
        const times = server.requests.slice(1).map(({ at }, index) => at - server.requests[index]!.sentAt!);
        return {
          [`\`buddy run\` on ${MACHINES} machines`]: ms(once.ms),
          "… processor time": ms(once.cpuMs),
          "… the first call of `buddy exec`": ms(times[0]!),
          "… a later one": ms(middle(times.slice(1))),
        };
      };
    },
  },

  memory: {
    rounds: 3,
    async start() {
      return async (binary) => {
        const file = join(dir, "figures");
        rmSync(file, { force: true });
        const bench = Bun.spawn(
          [process.execPath, join(import.meta.dir, "memory.ts"), "slow-reader", "stream", "event"],
          {
            env: { ...process.env, BUDDY_BINARY: binary, BENCH_FIGURES: file },
            stdio: ["ignore", "ignore", "inherit"],
          },
        );
        if ((await bench.exited) !== 0) throw new Error(`bench/memory.ts failed with ${binary}`);
        const figures = readFileSync(file, "utf8").trim().split("\n");
        return Object.fromEntries(
          figures.map((line) => JSON.parse(line) as Figure).map(({ name, value, unit }) => [name, { value, unit }]),
        );
      };
    },
  },
};

interface Run {
  readonly ms: number;
  readonly cpuMs: number;
  readonly mb: number;
  readonly ended: number;
}

async function run(binary: string, args: readonly string[], environment: Record<string, string> = env): Promise<Run> {
  const started = performance.now();
  const child = Bun.spawn([binary, ...args], {
    cwd: dir,
    env: environment,
    stdin: "ignore",
    stdout: "ignore",
    stderr: "pipe",
  });
  const [error, code] = await Promise.all([child.stderr.text(), child.exited]);
  const ended = performance.now();
  // 2: what startup does wrong on purpose.
  if (code !== 0 && code !== 2) throw new Error(`${binary} ${args.join(" ")} ended with ${code}: ${error}`);
  const usage = child.resourceUsage();
  return {
    ms: ended - started,
    cpuMs: Number(usage?.cpuTime.total ?? 0) / 1000,
    mb: (usage?.maxRSS ?? 0) / 1024 / 1024,
    ended,
  };
}

function configFor({ url }: ScriptedServer): string {
  const path = join(dir, "buddy.toml");
  writeFileSync(
    path,
    `[agent]\nmodel = "bench"\n[models.bench]\napi_base_url = "${url}"\nmodel = "gpt-4o"\n[tmux]\nsocket = "${SOCKET}"\n`,
    { mode: 0o600 },
  );
  return path;
}

const ms = (value: number) => ({ value, unit: "ms" });
const middle = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;

/** Copied, so that both come from fresh pages of one file system. */
function copied(binary: string, name: string): string {
  const copy = join(dir, name);
  copyFileSync(binary, copy);
  chmodSync(copy, 0o755);
  return copy;
}

async function compare(own: string, other: string, { rounds, start }: Part): Promise<void> {
  const measure = await start();
  const pairs = new Map<string, { readonly unit: string; readonly values: (readonly [number, number])[] }>();
  const count = Number(process.env["BENCH_ROUNDS"] ?? rounds);
  // The first pair warms caches. Which of the two goes first changes with every pair.
  for (let round = 0; round <= count; round++) {
    const first = await measure(round % 2 === 0 ? own : other);
    const second = await measure(round % 2 === 0 ? other : own);
    const [mine, its] = round % 2 === 0 ? [first, second] : [second, first];
    if (round === 0) continue;
    for (const [name, { value, unit }] of Object.entries(mine)) {
      const known = pairs.get(name) ?? { unit, values: [] };
      pairs.set(name, known);
      known.values.push([value, its[name]?.value ?? Number.NaN]);
    }
  }
  for (const [name, { unit, values }] of pairs) console.log(ratioRow(ratioOf(name, unit, values)));
}

const [other, ...wanted] = process.argv.slice(2);
const own = join(import.meta.dir, "../dist/buddy");
const unknown = wanted.find((name) => PARTS[name] === undefined);
if (other === undefined || unknown !== undefined || !existsSync(other) || !existsSync(own)) {
  console.error(
    unknown === undefined
      ? `usage: bun run bench compare OTHER-BINARY [${Object.keys(PARTS).join("|")}]...; build dist/buddy before`
      : `cannot compare ${unknown}; known: ${Object.keys(PARTS).join(", ")}`,
  );
  process.exit(2);
}
try {
  mkdirSync(env.HOME);
  const [ours, theirs] = [copied(own, "own"), copied(resolve(other), "other")];
  for (const name of wanted.length > 0 ? wanted : Object.keys(PARTS)) {
    console.log(`\n${ratioLine([`── ${name} ──`, ...RATIO_HEADINGS.slice(1)])}`);
    await compare(ours, theirs, PARTS[name]!);
  }
} finally {
  endTmux(SOCKET);
  rmSync(dir, { recursive: true, force: true });
}
process.exit(0);
