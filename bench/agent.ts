/** What buddy adds to a model's answer: one-shot time and memory against a bare fetch, and the cost of a tool call. */
import { mkdtempSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Playbook, script } from "../test/support/scripted-model/playbook.ts";
import { type ScriptedServer, startScripted } from "../test/support/scripted-model/server.ts";
import { buddyBinary } from "../test/support/buddy.ts";
import { endTmux } from "../test/support/end-tmux.ts";
import { figure } from "./support/figures.ts";

const RUNS = Number(process.env.RUNS ?? 15);
const CALLS = 200;
const dir = mkdtempSync(join(tmpdir(), "buddy-bench-"));
/** The run that is measured, and its most memory as the system counts it when a request comes. */
let measured: { pid: number; mb: number } | undefined;

try {
  const floor = await bareFloor();
  const buddy = await buddyBinary();
  await oneShot(floor, buddy);
  if (process.env.ONLY !== "oneshot") {
    for (const kind of ["unasked", "approved"] as const)
      for (const shell of ["--no-tmux", "--tmux"] as const) await toolCalls(buddy, shell, kind);
    await laterTurns(buddy);
  }
} finally {
  endTmux("buddy-bench");
  rmSync(dir, { recursive: true, force: true });
}

/** The least any compiled Bun program needs to fetch and print. */
async function bareFloor(): Promise<string> {
  const source = join(dir, "floor.ts");
  writeFileSync(
    source,
    `const r = await fetch(process.argv[2] + "/chat/completions", { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ model: "m", messages: [{ role: "user", content: "hi" }] }) });
const j = await r.json();
console.log(j.choices[0].message.content);`,
  );
  const binary = join(dir, "floor");
  const built = Bun.spawnSync(
    [
      process.execPath,
      "build",
      "--compile",
      "--production",
      "--minify",
      "--bytecode",
      "--format=esm",
      source,
      "--outfile",
      binary,
    ],
    { stdout: "ignore", stderr: "pipe" },
  );
  if (built.exitCode !== 0) throw new Error(built.stderr.toString());
  return binary;
}

async function oneShot(floor: string, buddy: string): Promise<void> {
  const bare: Sample[] = [];
  const whole: Sample[] = [];
  await using server = startScripted({ reply: () => ({ text: "The answer is 42." }) });
  // In turns, so that a busy machine hits both alike; the first of each warms the page cache.
  for (let run = 0; run <= RUNS; run++) {
    const a = await measure([floor, server.url], server);
    const b = await measure([buddy, "exec", "-q", "hi"], server);
    if (run > 0) {
      bare.push(a);
      whole.push(b);
    }
  }
  figure("a bare `fetch` in a compiled Bun program", all(bare, "ms"), "ms");
  figure("… memory", all(bare, "mb"), "MB");
  figure("`buddy exec`, an answer without tools", all(whole, "ms"), "ms");
  figure("… to the bare `fetch`", middle(all(whole, "ms")) / middle(all(bare, "ms")), "×", "≤ 3");
  figure("… memory", all(whole, "mb"), "MB", "≤ 60");
  figure("answer received to exit, session on the disk", all(whole, "exitMs"), "ms", "≤ 15");
}

/** Unasked: a clean child behind both locks. Approved: in the shell itself. */
async function toolCalls(buddy: string, shell: "--tmux" | "--no-tmux", kind: "unasked" | "approved"): Promise<void> {
  const command = kind === "unasked" ? "echo" : "umask 022; echo";
  const calls = Array.from({ length: CALLS }, (_, n) => ({
    toolCalls: [
      {
        name: "run_shell",
        args: { command: `${command} ${n}`, risk: "low", mutation: false, privesc: false, why: "bench" },
      },
    ],
  }));
  await using server = startScripted(watched(script([...calls, { text: "done" }])));
  const sample = await measure(
    [buddy, "exec", "-q", shell, "--approve", "all", "--max-iterations", "1000", "go"],
    server,
  );
  const gaps = gapsOf(server).slice(1);
  const goal = shell === "--no-tmux" ? "≤ 3" : kind === "unasked" ? "≤ 7" : "≤ 5";
  const where = shell === "--tmux" ? "in the pane" : "without tmux";
  figure(`an ${kind} call, ${where}, over ${CALLS} calls`, gaps, "ms", goal);
  figure("… the first 20, the last 20 of them: ratio", middle(gaps.slice(-20)) / middle(gaps.slice(0, 20)), "×");
  figure(`… memory after ${CALLS} calls`, sample.mb, "MB", "≤ 70");
}

/** 100 000 lines of output early must not slow what comes after. */
async function laterTurns(buddy: string): Promise<void> {
  const call = (command: string) => ({
    toolCalls: [{ name: "run_shell", args: { command, risk: "low", mutation: false, privesc: false, why: "bench" } }],
  });
  for (const shell of ["--no-tmux", "--tmux"]) {
    await using server = startScripted(
      watched(
        script([
          ...Array.from({ length: 10 }, (_, n) => call(`true ${n}`)),
          call("seq 1 100000"),
          ...Array.from({ length: 10 }, (_, n) => call(`true again ${n}`)),
          { text: "done" },
        ]),
      ),
    );
    const sample = await measure([buddy, "exec", "-q", shell, "--approve", "all", "go"], server);
    const gaps = gapsOf(server);
    figure(`a call after one that printed 100 000 lines, ${shell}`, gaps.slice(11), "ms");
    figure("… to the calls before it", middle(gaps.slice(11)) / middle(gaps.slice(1, 10)), "×");
    figure("… memory", sample.mb, "MB");
  }
}

/**
 * From each answer, as it goes out, to the last byte of the next request: what the scripted model takes to read a
 * conversation is not buddy's, and it grows with it.
 */
function gapsOf({ requests }: ScriptedServer): number[] {
  return requests.slice(1).map(({ at }, index) => at - requests[index]!.sentAt!);
}

/** Notes the memory of the run with each request. */
function watched(playbook: Playbook): Playbook {
  return {
    reply(request) {
      if (measured !== undefined) measured.mb = peakMb(measured.pid) ?? measured.mb;
      return playbook.reply(request);
    },
  };
}

/** Linux alone tells. */
function peakMb(pid: number): number | undefined {
  if (process.platform !== "linux") return undefined;
  const kb = /^VmHWM:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  return kb === undefined ? undefined : Number(kb) / 1024;
}

interface Sample {
  readonly ms: number;
  readonly mb: number;
  readonly exitMs: number;
}

async function measure(argv: readonly string[], server: ScriptedServer): Promise<Sample> {
  const home = join(dir, "home");
  mkdirSync(join(home, ".config/buddy"), { recursive: true });
  writeFileSync(
    join(home, ".config/buddy/buddy.toml"),
    `[agent]\nmodel = "bench"\n[models.bench]\napi_base_url = "${server.url}"\nmodel = "gpt-4o"\n[tmux]\nsocket = "buddy-bench"\n`,
  );
  const started = performance.now();
  const child = Bun.spawn([...argv], {
    cwd: dir,
    env: { HOME: home, PATH: process.env.PATH ?? "", LANG: "C.UTF-8", TERM: "xterm" },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const now = (measured = { pid: child.pid, mb: 0 });
  const [text, error, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  const ended = performance.now();
  if (code !== 0) throw new Error(`${argv.join(" ")} ended with ${code}: ${error} ${text}`);
  // What Linux counts at the end holds the memory of the process that started it, too: this one. So it is not used for
  // a run of many calls, during which this one has grown.
  const usage = child.resourceUsage();
  return {
    ms: ended - started,
    mb: now.mb || (usage?.maxRSS ?? 0) / 1024 / 1024,
    exitMs: ended - (server.requests.at(-1)?.sentAt ?? ended),
  };
}

function all(samples: readonly Sample[], key: keyof Sample): number[] {
  return samples.map((sample) => sample[key]);
}

function middle(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[sorted.length >> 1] ?? Number.NaN;
}
