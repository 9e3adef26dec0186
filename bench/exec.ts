/** What a command costs on every transport and shell, beside a polling design: `bun bench/exec.ts [part…]`, BENCH_SECONDS=60 for the flood. */
import { openTarget } from "../src/targets/open.ts";
import type { Pane, Target } from "../src/targets/target.ts";
import { proxyTo } from "../test/support/proxy.ts";
import { sshd } from "../test/support/sshd.ts";
import { type OpenedTarget, openTestTarget, temporaryHome } from "../test/support/tmux.ts";
import { placeOf } from "../src/targets/place.ts";

const RTT_MS = 100;
const FLOOD_SECONDS = Number(process.env["BENCH_SECONDS"] ?? 60);
const wanted = process.argv.slice(2);

function row(figure: string, measured: string, goal = ""): void {
  console.log(`${figure.padEnd(44)} ${measured.padEnd(34)} ${goal}`);
}

async function times(count: number, act: () => Promise<unknown>): Promise<{ p50: number; p90: number }> {
  const measured: number[] = [];
  for (let i = 0; i < count; i++) {
    const start = performance.now();
    await act();
    measured.push(performance.now() - start);
  }
  measured.sort((a, b) => a - b);
  return { p50: measured[Math.floor(count / 2)] ?? 0, p90: measured[Math.floor(count * 0.9)] ?? 0 };
}

const ms = (value: number) => `${value.toFixed(2)} ms`;

/** The design buddy replaces: one tmux process a call, the visible prompt looked for on the captured screen every 50 ms. */
async function pollingTrue(place: OpenedTarget, pane: string): Promise<void> {
  const tmux = async (...args: string[]) => {
    const child = Bun.spawn(["tmux", "-L", place.options.tmuxSocket, ...args], {
      stdin: "ignore",
      stdout: "pipe",
      stderr: "ignore",
    });
    return await new Response(child.stdout).text();
  };
  const id = async () => {
    const text = await tmux("capture-pane", "-p", "-J", "-t", pane, "-S", "-", "-E", "-");
    return Number([...text.matchAll(/\[buddy (\d+): \d+\]/g)].at(-1)?.[1] ?? 0);
  };
  const before = await id();
  await tmux("send-keys", "-t", pane, "-l", "true");
  await tmux("send-keys", "-t", pane, "Enter");
  while ((await id()) === before) await Bun.sleep(50);
}

const parts: Record<string, () => Promise<void>> = {
  async local() {
    await using place = await openTestTarget("local", { shell: "bash" });
    await times(50, () => place.target.shell.run("true"));
    const pane = await times(300, () => place.target.shell.run("true"));
    row("local tmux, true", `p50 ${ms(pane.p50)}, p90 ${ms(pane.p90)}`, "≤ 1.5 ms");
    const room = await place.target.locks.settled;
    const clean = await times(200, () => place.target.shell.run("true", { unasked: { inRoom: false } }));
    row("  unasked: clean child", `p50 ${ms(clean.p50)}, p90 ${ms(clean.p90)}`);
    const locked = await times(200, () => place.target.shell.run("true", { unasked: { inRoom: true } }));
    row(`  unasked: both locks (room: ${room.kind})`, `p50 ${ms(locked.p50)}, p90 ${ms(locked.p90)}`, "≤ 7 ms");
    const id = (place.target.shell as Pane).id;
    const polling = await times(30, () => pollingTrue(place, id));
    row("polling design, true", `p50 ${ms(polling.p50)}`);
    row("  faster than polling", `${(polling.p50 / pane.p50).toFixed(1)} ×`, "≥ 8 ×");
    await using direct = await openTestTarget("local", { tmux: "never" });
    await times(50, () => direct.target.shell.run("true"));
    const plain = await times(500, () => direct.target.shell.run("true"));
    row("local direct, true", `p50 ${ms(plain.p50)}, p90 ${ms(plain.p90)}`, "≤ 0.5 ms");
  },

  async open() {
    const opened: number[] = [];
    const again: number[] = [];
    for (let i = 0; i < 7; i++) {
      const start = performance.now();
      await using place = await openTestTarget("local", { shell: "bash" });
      opened.push(performance.now() - start);
      await place.target.shell.run("true");
      const restart = performance.now();
      await using second: Target = await openTarget(place.options);
      again.push(performance.now() - restart);
      await second.shell.run("true");
    }
    const median = (all: number[]) => all.toSorted((a, b) => a - b)[Math.floor(all.length / 2)] ?? 0;
    row("opening local tmux", ms(median(opened)), "≤ 60 ms");
    row("reattaching", ms(median(again)), "≤ 40 ms");
  },

  async ssh() {
    await using proxy = await proxyTo((await sshd()).port, { delayMs: RTT_MS / 2 });
    await using place = await openTestTarget("ssh", {
      place: placeOf({ ssh: `127.0.0.1:${proxy.port}` }),
      shell: "bash",
    });
    const rtt = (one: { p50: number }) => `${(one.p50 / RTT_MS).toFixed(2)} RTT`;
    await times(3, () => place.target.shell.run("true"));
    row("ssh + tmux, true", rtt(await times(20, () => place.target.shell.run("true"))), "≤ 1.1 RTT");
    const file = `/tmp/buddy-bench-${process.pid}`;
    await place.target.files.write(file, "x".repeat(1000));
    row("ssh, file written", rtt(await times(15, () => place.target.files.write(file, "y".repeat(1000)))), "≤ 2.2 RTT");
    row("ssh, file read", rtt(await times(15, () => place.target.files.read(file))), "≤ 1.2 RTT");
    await place.target.shell.run(`rm ${file}`);
  },

  async container() {
    await using place = await openTestTarget("container", { shell: "bash" });
    await times(30, () => place.target.shell.run("true"));
    const one = await times(200, () => place.target.shell.run("true"));
    row("container + tmux, true", `p50 ${ms(one.p50)}, p90 ${ms(one.p90)}`, "≤ 3 ms");
  },

  async large() {
    await using place = await openTestTarget("local", { shell: "bash" });
    await place.target.shell.run("seq 1 1000");
    Bun.gc(true);
    const before = process.memoryUsage.rss();
    let most = 0;
    const watch = setInterval(() => (most = Math.max(most, process.memoryUsage.rss())), 20);
    const start = performance.now();
    const result = await place.target.shell.run("seq 1 1000000");
    const took = performance.now() - start;
    clearInterval(watch);
    row("seq 1 1000000", `${(took / 1000).toFixed(2)} s, exact: ${result.output.totalBytes === 6_888_896}`, "≤ 2.5 s");
    row("  memory growth", `${((most - before) / 1e6).toFixed(0)} MB`, "< 64 MB");
  },

  async flood() {
    await using place = await openTestTarget("local", { shell: "bash" });
    await place.target.panes?.createPane("beside");
    const beside = await place.target.panes?.pane({ pane: "beside" });
    Bun.gc(true);
    const before = process.memoryUsage.rss();
    let most = 0;
    const stop = new AbortController();
    let bytes = 0;
    const running = place.target.shell.run("yes", {
      signal: stop.signal,
      onOutput: ({ text }) => (bytes += text.length),
    });
    const lags: number[] = [];
    const keys: number[] = [];
    const end = performance.now() + FLOOD_SECONDS * 1000;
    while (performance.now() < end) {
      const asked = performance.now();
      await Bun.sleep(50);
      lags.push(performance.now() - asked - 50);
      most = Math.max(most, process.memoryUsage.rss());
      const pressed = performance.now();
      await beside?.run("true");
      keys.push(performance.now() - pressed);
    }
    const cancelled = performance.now();
    stop.abort();
    const { outcome } = await running;
    const gone = performance.now() - cancelled;
    const worst = (all: number[]) => ms(Math.max(...all));
    const middle = (all: number[]) => ms(all.toSorted((a, b) => a - b)[Math.floor(all.length / 2)] ?? 0);
    row(
      `yes for ${FLOOD_SECONDS} s, memory growth`,
      `${((most - before) / 1e6).toFixed(0)} MB (${(bytes / 1e6).toFixed(0)} MB shown)`,
      "< 100 MB",
    );
    row("  a keystroke meanwhile (event loop)", `median ${middle(lags)}, worst ${worst(lags)}`, "≤ 200 ms");
    row("  a command in another pane meanwhile", `median ${middle(keys)}, worst ${worst(keys)}`);
    row("  cancelled in", `${ms(gone)} (${outcome.kind})`, "≤ 1 s");
  },
};

const home = temporaryHome();
for (const [name, part] of Object.entries(parts)) if (wanted.length === 0 || wanted.includes(name)) await part();
home[Symbol.dispose]();
process.exit(0);
