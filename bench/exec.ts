/**
 * What a command costs on every transport and shell, beside a polling design: `bun bench/exec.ts [part…]`,
 * BENCH_SECONDS=60 for the flood.
 */
import { openTarget } from "../src/targets/open.ts";
import type { Pane, Target } from "../src/targets/target.ts";
import { proxyTo } from "../test/support/tcp-proxy.ts";
import { sshd } from "../test/support/sshd.ts";
import { type OpenedTarget, openTestTarget, temporaryHome } from "../test/support/tmux.ts";
import { placeOf } from "../src/targets/place.ts";
import { figure } from "./support/figures.ts";

const RTT_MS = 100;
const FLOOD_SECONDS = Number(process.env["BENCH_SECONDS"] ?? 60);
const wanted = process.argv.slice(2);

async function times(count: number, act: () => Promise<unknown>): Promise<number[]> {
  const measured: number[] = [];
  for (let i = 0; i < count; i++) {
    const start = performance.now();
    await act();
    measured.push(performance.now() - start);
  }
  return measured;
}

/**
 * The design buddy replaces: one tmux process a call, the visible prompt looked for on the captured screen every 50 ms.
 */
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
    const ours = figure("`true` in the local pane", pane, "ms", "≤ 1.5");
    const namespace = await place.target.locks.settled;
    const clean = await times(200, () => place.target.shell.run("true", { unasked: { inNamespace: false } }));
    figure("… unasked, in a clean child", clean, "ms");
    const locked = await times(200, () => place.target.shell.run("true", { unasked: { inNamespace: true } }));
    figure(`… unasked, behind both locks (namespace: ${namespace.kind})`, locked, "ms", "≤ 7");
    const id = (place.target.shell as Pane).id;
    const polling = await times(30, () => pollingTrue(place, id));
    const polled = figure("`true` with the polling design", polling, "ms");
    figure("… to ours", polled.value / ours.value, "×", "≥ 8");
    await using direct = await openTestTarget("local", { tmux: "never" });
    await times(50, () => direct.target.shell.run("true"));
    const plain = await times(500, () => direct.target.shell.run("true"));
    figure("`true` in a direct shell", plain, "ms", "≤ 0.5");
  },

  async open() {
    const opened: number[] = [];
    const beside: number[] = [];
    const again: number[] = [];
    for (let i = 0; i < 7; i++) {
      const start = performance.now();
      await using place = await openTestTarget("local", { shell: "bash" });
      opened.push(performance.now() - start);
      await place.target.shell.run("true");
      const timed = async (into: number[]): Promise<void> => {
        const from = performance.now();
        await using other: Target = await openTarget(place.options);
        into.push(performance.now() - from);
        await other.shell.run("true");
      };
      await timed(beside);
      await place.target[Symbol.asyncDispose]();
      await timed(again);
    }
    figure("opening the local pane", opened, "ms", "≤ 60");
    figure("a pane beside one in use", beside, "ms");
    figure("finding it again", again, "ms", "≤ 40");
  },

  async ssh() {
    await using proxy = await proxyTo((await sshd()).port, { delayMs: RTT_MS / 2 });
    await using place = await openTestTarget("ssh", {
      place: placeOf({ ssh: `127.0.0.1:${proxy.port}` }),
      shell: "bash",
    });
    const trips = async (count: number, act: () => Promise<unknown>) =>
      (await times(count, act)).map((ms) => ms / RTT_MS);
    await times(3, () => place.target.shell.run("true"));
    figure("`true` in a pane over ssh", await trips(20, () => place.target.shell.run("true")), "round trips", "≤ 1.1");
    const file = `/tmp/buddy-bench-${process.pid}`;
    await place.target.files.write(file, "x".repeat(1000));
    const write = () => place.target.files.write(file, "y".repeat(1000));
    figure("a file written over ssh", await trips(15, write), "round trips", "≤ 2.2");
    figure("a file read over ssh", await trips(15, () => place.target.files.read(file)), "round trips", "≤ 1.2");
    await place.target.shell.run(`rm ${file}`);
  },

  async container() {
    await using place = await openTestTarget("container", { shell: "bash" });
    await times(30, () => place.target.shell.run("true"));
    const one = await times(200, () => place.target.shell.run("true"));
    figure("`true` in a pane in a container", one, "ms", "≤ 3");
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
    if (result.output.totalBytes !== 6_888_896) throw new Error(`${result.output.totalBytes} bytes arrived`);
    figure("`seq 1 1000000` in the pane, exact to the byte", took / 1000, "s", "≤ 2.5");
    figure("… memory beyond before", (most - before) / 1e6, "MB", "≤ 64");
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
    if (outcome.kind !== "stopped") throw new Error(`yes ended as ${outcome.kind}`);
    figure(`\`yes\` for ${FLOOD_SECONDS} s: output shown`, bytes / 1e6, "MB");
    figure("… memory beyond before", (most - before) / 1e6, "MB", "≤ 100");
    figure("… longest wait of a key meanwhile", Math.max(...lags), "ms", "≤ 200");
    figure("… a command in another pane meanwhile", keys, "ms");
    figure("… cancelled after", gone, "ms", "≤ 1000");
  },
};

const home = temporaryHome();
for (const [name, part] of Object.entries(parts)) if (wanted.length === 0 || wanted.includes(name)) await part();
home[Symbol.dispose]();
process.exit(0);
