/**
 * Many machines at once, beside ansible, clush and pssh with persistent connections: `bun bench/fleet.ts [part…]`,
 * BENCH_MACHINES=50, BENCH_DELAY_MS=50 (each way).
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, readlinkSync, rmdirSync, writeFileSync } from "node:fs";
import net from "node:net";
import { homedir } from "node:os";
import { join } from "node:path";
import { startModel } from "../test/support/model.ts";
import { shell } from "../test/support/calls.ts";
import { sshdAddresses } from "../test/support/machines.ts";
import { until } from "../test/support/until.ts";
import { startDelayProxy } from "./support/delay-proxy.ts";
import { figure } from "./support/figures.ts";

const COUNT = Number(process.env["BENCH_MACHINES"] ?? 50);
const BUDDY = join(import.meta.dir, "../dist/buddy");
const DELAY_MS = Number(process.env["BENCH_DELAY_MS"] ?? 50);
const COMMAND = "uname -n";
/** Starts no program on the machines, which are all this computer. */
const BUILTIN = "echo ok";
const wanted = process.argv.slice(2);

function costs(what: string, { ms, cpuMs }: Pick<Timed, "ms" | "cpuMs">): void {
  figure(what, ms / 1000, "s");
  figure("… CPU time, a machine", cpuMs / COUNT, "ms");
}

const name = (at: number) => `web${String(at + 1).padStart(3, "0")}`;
const addressOf = (at: number) => `127.0.${1 + Math.floor(at / 200)}.${1 + (at % 200)}`;

interface Lab {
  readonly env: Record<string, string>;
  readonly dir: string;
  readonly port: number;
  /** A file with the names of machines, one a line. */
  hosts(names: readonly string[]): string;
  /** The client's configuration of one machine. */
  host(name: string, address: string, port: number): string;
  configure(text: string): void;
}

/** `startup`: lines for the start-up file of the shells on all of them. */
async function lab(count: number, startup?: string): Promise<Lab> {
  const server = await sshdAddresses(Array.from({ length: count }, (_, at) => addressOf(at)));
  if (startup !== undefined) writeFileSync(join(server.remoteHome, ".bashrc"), startup);
  const host = (alias: string, address: string, port: number) =>
    `Host ${alias}\n  HostName ${address}\n  Port ${port}\n  IdentityFile ${server.identity}`;
  server.configure(Array.from({ length: count }, (_, at) => host(name(at), addressOf(at), server.port)).join("\n"));
  mkdirSync(join(server.env.HOME, ".config/buddy"), { recursive: true });
  return {
    env: { ...(process.env as Record<string, string>), ...server.env, ANSIBLE_HOST_KEY_CHECKING: "False" },
    dir: server.dir,
    port: server.port,
    host,
    configure: server.configure,
    hosts(names) {
      const file = join(server.dir, `hosts-${names.length}-${names[0]}`);
      writeFileSync(file, `${names.join("\n")}\n`);
      return file;
    },
  };
}

/**
 * CPU time of everything below this process, the servers included, less its own: all machines share the cores here, so
 * that a clock shows how busy the computer is. Undefined where control groups do not count it.
 */
function cpuMeter(): (() => number) | undefined {
  const group = `/sys/fs/cgroup/cpuacct/buddy-bench-${process.pid}`;
  try {
    mkdirSync(group);
    writeFileSync(join(group, "cgroup.procs"), String(process.pid));
  } catch {
    return undefined;
  }
  process.on("exit", () => {
    writeFileSync("/sys/fs/cgroup/cpuacct/cgroup.procs", String(process.pid));
    try {
      rmdirSync(group);
    } catch {
      // A server of it still ends.
    }
  });
  return () => {
    const own = process.cpuUsage();
    return Number(readFileSync(join(group, "cpuacct.usage"), "utf8")) / 1e6 - (own.user + own.system) / 1000;
  };
}

const cpu = cpuMeter();

async function timed(argv: readonly string[], env: Record<string, string>): Promise<Timed> {
  const start = performance.now();
  const before = cpu?.() ?? Number.NaN;
  const child = Bun.spawn([...argv], { env, stdin: "ignore", stdout: "pipe", stderr: "pipe" });
  const [out] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  return { ms: performance.now() - start, cpuMs: (cpu?.() ?? Number.NaN) - before, out };
}

/** What earlier runs left behind has ended: it would be counted with the next one. */
async function rest(): Promise<void> {
  if (cpu === undefined) return;
  for (let before = -Infinity, now = cpu(), tries = 0; now - before > 5 && tries < 50; tries++) {
    before = now;
    await Bun.sleep(100);
    now = cpu();
  }
}

/** The least that any tool can do: one plain shell stays open on each machine and runs the command. */
class PlainShells {
  readonly #shells;

  constructor(env: Record<string, string>, names: readonly string[]) {
    this.#shells = names.map((one) => {
      const argv = ["ssh", "-T", "-S", "none", one, "exec sh"];
      const child = Bun.spawn(argv, { env, stdin: "pipe", stdout: "pipe", stderr: "ignore" });
      return { child, reader: child.stdout.getReader() };
    });
  }

  /** The command on all of them at once; ends with the last answer. */
  async run(command: string): Promise<Pick<Timed, "ms" | "cpuMs">> {
    const start = performance.now();
    const before = cpu?.() ?? Number.NaN;
    await Promise.all(
      this.#shells.map(async ({ child, reader }) => {
        child.stdin.write(`${command}; echo END\n`);
        void child.stdin.flush();
        for (let out = ""; !out.endsWith("END\n");) {
          const { value, done } = await reader.read();
          if (done) throw new Error("a plain shell has ended");
          out += new TextDecoder().decode(value);
        }
      }),
    );
    return { ms: performance.now() - start, cpuMs: (cpu?.() ?? Number.NaN) - before };
  }

  async close(): Promise<void> {
    await Promise.all(this.#shells.map(({ child }) => (void child.stdin.end(), child.exited)));
  }
}

/** Of several calls: CPU time is counted in steps that are longer than one of them. */
async function plainCalls(
  at: Lab,
  names: readonly string[],
  command = COMMAND,
): Promise<{ ms: number[]; cpuMs: number }> {
  const shells = new PlainShells(at.env, names);
  await shells.run(command);
  const timed: Pick<Timed, "ms" | "cpuMs">[] = [];
  for (let call = 0; call < 20; call++) timed.push(await shells.run(command));
  await shells.close();
  return { ms: timed.map(({ ms }) => ms), cpuMs: mean(timed.map(({ cpuMs }) => cpuMs)) };
}

/** One ssh for each machine, all at once, as a shell would do it. */
function plainLogins(names: readonly string[], flags: string, command: string): readonly string[] {
  return ["sh", "-c", `for h in ${names.join(" ")}; do ssh ${flags} $h ${command} & done; wait`];
}

interface Timed {
  readonly ms: number;
  readonly cpuMs: number;
  readonly out: string;
}

/** Each with the persistent connections that its manual recommends. */
function others(at: Lab, hosts: string): Readonly<Record<string, readonly string[]>> {
  const control = ["ControlMaster=auto", "ControlPersist=120"];
  const set = (tool: string, name = "%C") =>
    [...control, `ControlPath=${at.dir}/${tool}-${name}`].flatMap((one) => ["-o", one]);
  const ansible = `-o ControlMaster=auto -o ControlPersist=120s`;
  return {
    clush: ["clush", "-f", "64", "-o", set("clush", "%%C").join(" "), "--hostfile", hosts, "-b", COMMAND],
    pssh: [
      "parallel-ssh",
      "-p",
      "64",
      "-i",
      ...set("pssh").map((one) => (one === "-o" ? "-O" : one)),
      "-h",
      hosts,
      COMMAND,
    ],
    ansible: ["ansible", "-i", hosts, "all", "-f", "64", "-m", "raw", "-a", COMMAND, `--ssh-common-args=${ansible}`],
  };
}

interface Session {
  /** From the call to its result, for each call in order; the last with everything warm. */
  readonly calls: readonly number[];
  /** CPU time of each call, on all sides. */
  readonly cpuMs: readonly number[];
  /** When each machine answered the first call, since it began. */
  readonly answered: readonly number[];
  readonly memoryKb: number;
  readonly descriptors: number;
  readonly sockets: number;
  readonly processes: number;
}

/** `buddy exec` with a scripted model that runs the command so many times. */
async function session(at: Lab, hosts: string, calls: number, command = COMMAND): Promise<Session> {
  const model = startModel([
    ...Array.from({ length: calls }, (_, n) => shell(command, { why: `call ${n}` })),
    shell("sleep 2"),
    { text: "done" },
  ]);
  const config = join(at.dir, `buddy-${calls}-${Date.now()}.toml`);
  writeFileSync(
    config,
    `[agent]\nmodel = "test"\n[models.test]\napi_base_url = "${model.url}"\nmodel = "gpt-4o"\n[tmux]\nsocket = "bench"\n`,
  );
  const child = Bun.spawn(
    [BUDDY, "exec", "--config", config, "--json", "--approve", "all", "--on", `@${hosts}`, "go"],
    { env: at.env, cwd: at.dir, stdin: "ignore", stdout: "pipe", stderr: "pipe" },
  );
  const started = new Map<string, number>();
  const times: number[] = [];
  const cpuMs: number[] = [];
  let before = cpu?.() ?? Number.NaN;
  const answered: number[] = [];
  let figures = { memoryKb: 0, descriptors: 0, sockets: 0, processes: 0 };
  let rest = "";
  const decoder = new TextDecoder();
  for await (const chunk of child.stdout) {
    rest += decoder.decode(chunk, { stream: true });
    const lines = rest.split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      const event = JSON.parse(line) as { type: string; call: string; ts: string; machine?: string; ok?: boolean };
      const now = Date.parse(event.ts);
      if (event.type === "tool_started") started.set(event.call, now);
      const since = now - (started.get(event.call) ?? now);
      if (event.type === "machine_finished" && times.length === 0 && event.ok === true) answered.push(since);
      if (event.type === "tool_finished") {
        times.push(since);
        const now = cpu?.() ?? Number.NaN;
        cpuMs.push(now - before);
        before = now;
      }
      if (event.type === "tool_started" && times.length === calls) figures = look(child.pid);
    }
  }
  await Promise.all([child.stderr.text(), child.exited]);
  await model.server.close();
  return { calls: times.slice(0, calls), cpuMs: cpuMs.slice(0, calls), answered, ...figures };
}

function look(pid: number): Pick<Session, "memoryKb" | "descriptors" | "sockets" | "processes"> {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  const links = readdirSync(`/proc/${pid}/fd`).flatMap((fd) => {
    try {
      return [readlinkSync(`/proc/${pid}/fd/${fd}`)];
    } catch {
      return [];
    }
  });
  const children = Bun.spawnSync(["ps", "-o", "pid=", "--ppid", String(pid)])
    .stdout.toString()
    .trim()
    .split("\n").length;
  return {
    memoryKb: Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0),
    descriptors: links.length,
    sockets: links.filter((link) => link.startsWith("socket:")).length,
    processes: children,
  };
}

/** How many machines answered the command, in the words of each tool. */
function answers(out: string): number {
  return Math.max(out.match(/\[SUCCESS\]| \| CHANGED /g)?.length ?? 0, clushCount(out));
}

/** `web[001-050] (50)` above each block. */
function clushCount(out: string): number {
  return [...out.matchAll(/^-+\n(\S+?)(?: \((\d+)\))?\n-+$/gm)].reduce(
    (sum, [, , count]) => sum + Number(count ?? 1),
    0,
  );
}

/** Connections that were left standing would end, and cost time, while the next one is measured. */
function leave(at: Lab): void {
  const sockets = new Bun.Glob("{clush-*,pssh-*,home/.ansible/cp/*}").scanSync({
    cwd: at.dir,
    dot: true,
    onlyFiles: false,
  });
  for (const socket of sockets)
    Bun.spawnSync(["ssh", "-S", join(at.dir, socket), "-O", "exit", "all"], { env: at.env, stderr: "ignore" });
}

const mean = (values: readonly number[]): number => values.reduce((sum, one) => sum + one, 0) / values.length;
const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;

/** The tools beside each other; `startup` as for `lab`. */
async function compare(startup?: string): Promise<void> {
  const at = await lab(COUNT, startup);
  const shells = startup === undefined ? "" : ", start-up files";
  const names = Array.from({ length: COUNT }, (_, n) => name(n));
  const hosts = at.hosts(names);
  const commands = others(at, hosts);
  const cold = new Map<string, Timed>();
  const warm = new Map<string, Timed>();
  for (const [tool, argv] of Object.entries(commands)) {
    if (Bun.which(argv[0] ?? "") === null) {
      console.log(`${tool}: not installed`);
      continue;
    }
    await rest();
    const first = await timed(argv, at.env);
    const missing = COUNT - answers(first.out);
    if (missing > 0) {
      console.log(`${tool}: ${missing} of ${COUNT} machines did not answer`);
      continue;
    }
    const later = [await timed(argv, at.env), await timed(argv, at.env), await timed(argv, at.env)];
    const middle = later.toSorted((a, b) => a.cpuMs - b.cpuMs)[1]!;
    cold.set(tool, first);
    warm.set(tool, middle);
    costs(`${tool}, ${COUNT} machines${shells}: the first command`, first);
    costs("… a later command", middle);
    leave(at);
  }
  const least = (all: ReadonlyMap<string, Timed>, what: "ms" | "cpuMs") =>
    Math.min(...[...all.values()].map((one) => one[what]));
  // A goal that was met beside fewer tools says so.
  const missing = Object.keys(commands).filter((tool) => !cold.has(tool));
  const fastest = `the fastest of ${[...cold.keys()].join(", ")}${missing.length > 0 ? ` (without ${missing.join(", ")})` : ""}`;
  await rest();
  const logins = await timed(plainLogins(names, "-S none", COMMAND), at.env);
  costs(`plain ssh in a loop, ${COUNT} machines${shells}, connections included`, logins);
  await rest();
  const alone = await timed([BUDDY, "run", "-q", "--on", `@${hosts}`, COMMAND], at.env);
  costs(`\`buddy run\`, ${COUNT} machines${shells}, connections included`, alone);
  figure("… to plain ssh in a loop, by the clock", alone.ms / logins.ms, "×");
  figure("… to plain ssh in a loop, by CPU", alone.cpuMs / logins.cpuMs, "×");
  figure(`… to ${fastest}, by the clock`, alone.ms / least(cold, "ms"), "×", "≤ 1.2");
  figure(`… to ${fastest}, by CPU`, alone.cpuMs / least(cold, "cpuMs"), "×", "≤ 1.2");
  await rest();
  const plain = await plainCalls(at, names);
  costs(`a later command${shells}, in plain shells that stay open`, { ms: median(plain.ms), cpuMs: plain.cpuMs });
  // No tool can be faster than these.
  figure(`… ${fastest} to them, by the clock`, least(warm, "ms") / median(plain.ms), "×");
  figure(`… ${fastest} to them, by CPU`, least(warm, "cpuMs") / plain.cpuMs, "×");
  await rest();
  const run = await session(at, hosts, 20);
  // Events come in bursts: only over all calls the time between them is that of the calls.
  const later = { ms: median(run.calls.slice(1)), cpuMs: mean(run.cpuMs.slice(1)) };
  costs(`\`buddy exec\`${shells}, the first command`, { ms: run.calls[0] ?? 0, cpuMs: run.cpuMs[0] ?? 0 });
  costs("… a later command", later);
  figure("… to plain shells that stay open, by the clock", later.ms / median(plain.ms), "×");
  figure("… to plain shells that stay open, by CPU", later.cpuMs / plain.cpuMs, "×");
  figure(`… ${fastest} to it, by the clock`, least(warm, "ms") / later.ms, "×", "≥ 20");
  figure(`… ${fastest} to it, by CPU`, least(warm, "cpuMs") / later.cpuMs, "×", "≥ 20");
}

const parts: Record<string, () => Promise<void>> = {
  compare: () => compare(),

  /** Shells that start as those of this account do: each command over ssh reads the start-up file again. */
  async startup() {
    const file = join(homedir(), ".bashrc");
    if (!existsSync(file)) console.log(`no figures with start-up files: there is no ${file}`);
    else await compare(`HOME=${homedir()} . ${file} >/dev/null 2>&1`);
  },

  /** What the programs below cost that every tool needs: a login, and a command over a connection that stands. */
  async floor() {
    const at = await lab(COUNT);
    const names = Array.from({ length: COUNT }, (_, n) => name(n));
    const all = (flags: string, command: string) => plainLogins(names, flags, command);
    const share = `-o ControlPath=${at.dir}/floor-%C`;
    costs("a login that stays, without a command", await timed(all(`-M -N -f ${share}`, ""), at.env));
    costs("a command over it", await timed(all(share, COMMAND), at.env));
    const forks = ["sh", "-c", `for h in ${names.join(" ")}; do ${COMMAND} & done; wait`];
    costs("a fork and exec of it", await timed(forks, at.env));
    await timed(all(`-O exit ${share}`, ""), at.env);
  },

  async memory() {
    const at = await lab(COUNT);
    const one = await session(at, at.hosts([name(0), name(1)]), 3);
    const all = await session(at, at.hosts(Array.from({ length: COUNT }, (_, n) => name(n))), 3);
    const more = COUNT - 2;
    figure("memory of buddy, a machine", (all.memoryKb - one.memoryKb) / 1024 / more, "MB", "≤ 1.5");
    figure(`… with ${COUNT} machines`, all.memoryKb / 1024, "MB");
    figure("processes that buddy keeps, a machine", (all.processes - one.processes) / more, "");
    figure("descriptors of buddy, a machine", (all.descriptors - one.descriptors) / more, "");
    figure("… of which sockets", (all.sockets - one.sockets) / more, "");
  },

  async delay() {
    const at = await lab(COUNT);
    // With a longer way less of the time is the work of all machines, which this computer does.
    for (const delayMs of [DELAY_MS, 5 * DELAY_MS]) {
      await using proxy = await startDelayProxy(at.port, delayMs);
      const names = Array.from({ length: COUNT }, (_, n) => `far${delayMs}-${n}`);
      at.configure(names.map((one) => at.host(one, "127.0.0.1", proxy.port)).join("\n"));
      const trips = (ms: readonly number[]) => ms.map((one) => one / (2 * delayMs));
      for (const command of [BUILTIN, COMMAND]) {
        const what = `\`${command}\`, ${COUNT} machines, ${delayMs} ms each way`;
        figure(`${what}, plain shells`, trips((await plainCalls(at, names, command)).ms), "round trips");
        const run = await session(at, at.hosts(names), 20, command);
        const goal = command === BUILTIN ? "≤ 1.2" : undefined;
        figure(what, trips(run.calls.slice(1)), "round trips", goal);
      }
    }
  },

  async silent() {
    const at = await lab(COUNT);
    const hole = net.createServer(() => {}).listen(0, "127.0.0.1");
    await until(() => hole.listening, "the port listens");
    const { port } = hole.address() as net.AddressInfo;
    at.configure([0, 1, 2].map((n) => at.host(`hole${n}`, "127.0.0.1", port)).join("\n"));
    const well = await session(at, at.hosts(Array.from({ length: COUNT - 3 }, (_, n) => name(n))), 3);
    const names = Array.from({ length: COUNT }, (_, n) => (n < 3 ? `hole${n}` : name(n)));
    const holes = await session(at, at.hosts(names), 3);
    hole.close();
    figure(`${COUNT - 3} machines alone: the last has answered after`, Math.max(...well.answered) / 1000, "s");
    figure("… a later command", well.calls.slice(1), "ms");
    figure("… beside 3 that are silent: the last has answered after", Math.max(...holes.answered) / 1000, "s");
    figure("… the result is there after", (holes.calls[0] ?? 0) / 1000, "s");
    figure("… a later command", holes.calls.slice(1), "ms");
  },

  async many() {
    const at = await lab(200);
    const run = await session(at, at.hosts(Array.from({ length: 200 }, (_, n) => name(n))), 3);
    figure("of 200 machines have answered", run.answered.length, "", "≥ 200");
    figure("… the first command", (run.calls[0] ?? 0) / 1000, "s");
    figure("… a later command", run.calls.slice(1), "ms");
    figure("… memory of buddy", run.memoryKb / 1024, "MB");
    figure("… processes that buddy keeps", run.processes, "");
    figure("… descriptors of buddy", run.descriptors, "");
  },
};

for (const [part, measure] of Object.entries(parts)) if (wanted.length === 0 || wanted.includes(part)) await measure();
process.exit(0);
