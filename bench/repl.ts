/** What the REPL costs a person: time to the prompt, key to screen, memory, idle CPU; on a real pseudo-terminal. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { compile, hostTarget } from "../scripts/build.ts";
import { buddyBinary } from "../test/support/buddy.ts";
import { endTmux } from "../test/support/end-tmux.ts";
import type { Pty } from "../test/support/pty.ts";
import { ReplBinary } from "../test/support/repl-binary.ts";
import { until } from "../test/support/until.ts";
import { within } from "../src/lib/waiting.ts";
import { figure } from "./support/figures.ts";

const ROUNDS = Number(process.argv[2] ?? 15);
const KEYS = "qzjvxkwbQZJVXKWBYHUPGCDM";

await startUp();
await keysAndMemory();
await flood();

/** Start to usable prompt beside a compiled hello-world, in turns; apart, because a start opens tmux behind the prompt. */
async function startUp(): Promise<void> {
  const dir = mkdtempSync(join(tmpdir(), "buddy-bench-"));
  try {
    const hello = join(dir, "hello");
    writeFileSync(join(dir, "hello.ts"), 'console.log("hello");\n');
    await compile(hostTarget(), process.execPath, hello, { entry: join(dir, "hello.ts") });
    await using repl = new ReplBinary([]);
    const env = { ...repl.box.env, TMUX_TMPDIR: dir };
    const times: { hello: number[]; buddy: number[] } = { hello: [], buddy: [] };
    await buddyBinary();
    for (let round = -2; round < ROUNDS; round++) {
      await quiet(300);
      const bare = await timed(async () => repl.spawn([hello]), "hello");
      const prompt = await timed(() => repl.start({ args: [], env }), "> ");
      if (round < 0) continue;
      times.hello.push(bare);
      times.buddy.push(prompt);
    }
    figure("start of a compiled hello-world", times.hello, "ms");
    figure("start to usable prompt", times.buddy, "ms", "≤ 30");
    endTmux("buddy", dir);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

async function timed(start: () => Promise<Pty>, wanted: string): Promise<number> {
  const began = performance.now();
  const pty = await start();
  await seen(pty, wanted);
  const took = performance.now() - began;
  await pty[Symbol.asyncDispose]();
  return took;
}

async function keysAndMemory(): Promise<void> {
  const text = `\`\`\`\n${Array.from({ length: 10_000 }, (_, i) => `line ${i} of what was streamed`).join("\n")}\n\`\`\``;
  await using repl = new ReplBinary([{ text, pieceChars: 60 }]);
  const pty = await repl.start({ args: ["--no-tmux"] });
  await pty.until(/> *$/);
  await until(() => rss(pty) > 0, "the process");
  // What a start leaves to do, such as opening the target, comes behind the prompt.
  await quiet(2000);
  const before = cpu(pty);
  await quiet(10_000);
  figure("CPU while idle, of one core", (cpu(pty) - before) / 10, "%", "≤ 0.4");
  figure("memory while idle", rss(pty), "MB", "≤ 70");
  const idle: number[] = [];
  for (const letter of KEYS) idle.push(await keyTime(pty, letter));
  figure("key to screen, idle", idle, "ms", "≤ 5");
  figure("… the longest", Math.max(...idle), "ms");
  pty.key("ctrl-u");
  pty.type("go\r");
  await pty.until((screen) => screen.includes("line 9999") && !screen.includes("task 1 ·"), 60_000);
  figure("memory after 10 000 streamed lines", rss(pty), "MB", "≤ 100");
}

/** Keys while 100 000 lines run over the screen; the model is a process of its own, or it would be measured too. */
async function flood(): Promise<void> {
  const lines = '"```\\n" + Array.from({ length: 100_000 }, (_, i) => `${i} `.repeat(5)).join("\\n") + "\\n```\\n"';
  const server = `const { startScripted } = await import(${JSON.stringify(join(import.meta.dir, "../test/support/scripted-model/server.ts"))});
    const model = startScripted({ reply: () => ({ text: ${lines}, pieceChars: 400 }) });
    console.log(model.url);
    setInterval(() => {}, 1000);`;
  const child = Bun.spawn([process.execPath, "-e", server], { stdout: "pipe" });
  await using repl = new ReplBinary([]);
  for await (const chunk of child.stdout) {
    repl.url = new TextDecoder().decode(chunk).trim();
    break;
  }
  try {
    const pty = await repl.start({ args: ["--no-tmux"] });
    await pty.until(/> *$/);
    pty.emulator.drawing = false;
    const began = performance.now();
    pty.type("go\r");
    await seen(pty, "99 99");
    const times: number[] = [];
    for (let i = 0; !pty.emulator.raw.includes("99999 99999"); i++) {
      times.push(await keyTime(pty, KEYS[i % KEYS.length]!));
      pty.key("backspace");
      await quiet(5);
    }
    figure("100 000 lines streamed in", (performance.now() - began) / 1000, "s");
    figure("key to screen meanwhile", times, "ms");
    figure("… the longest", Math.max(...times), "ms", "≤ 50");
    figure("memory after 100 000 streamed lines", rss(pty), "MB");
  } finally {
    child.kill();
  }
}

/** From writing a key to the first byte of it on the way back. */
async function keyTime(pty: Pty, letter: string): Promise<number> {
  pty.emulator.forgetRaw();
  const began = performance.now();
  pty.type(letter);
  await seen(pty, letter);
  return performance.now() - began;
}

/** Looks when bytes have come: polling would take a processor from what is measured. */
async function seen(pty: Pty, wanted: string): Promise<void> {
  const giveUp = performance.now() + 10_000;
  while (!pty.emulator.raw.includes(wanted)) {
    await within(pty.emulator.next(), giveUp - performance.now());
    if (performance.now() > giveUp) throw new Error(`never saw ${JSON.stringify(wanted)}:\n${pty.screen()}`);
  }
}

async function quiet(forMs: number): Promise<void> {
  const end = performance.now() + forMs;
  await until(() => performance.now() > end, "quiet", { timeoutMs: forMs + 1000, everyMs: Math.min(100, forMs) });
}

/** Hundredths of a second of CPU so far. */
function cpu(pty: Pty): number {
  const fields = readFileSync(`/proc/${pty.pid}/stat`, "utf8").split(") ")[1]!.split(" ");
  return Number(fields[11]) + Number(fields[12]);
}

function rss(pty: Pty): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pty.pid}/status`, "utf8"))?.[1] ?? 0) / 1024;
}
