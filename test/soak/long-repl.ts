/**
 * One REPL for the whole soak: prompts, questions answered either way, interrupts and new sizes; its memory must not
 * grow.
 */
import { readdirSync, readFileSync } from "node:fs";
import { startScripted } from "../support/scripted-model/server.ts";
import { buddyBinary } from "../support/buddy.ts";
import { Pty } from "../support/pty.ts";
import { Seeded } from "../support/seeded.ts";
import { prose, randomScript, type Script } from "./answers.ts";
import { pause } from "./faults.ts";
import type { World } from "./world.ts";

export interface Talked {
  readonly prompts: number;
  readonly figures: string;
  readonly wrong: readonly string[];
}

const MOST_MB = 400;
const MORE_DESCRIPTORS = 24;

export async function longRepl(world: World, seed: number, more: () => boolean): Promise<Talked> {
  const random = new Seeded(seed * 10_007 - 1);
  const wrong: string[] = [];
  let current: Script | undefined;
  await using model = startScripted({
    reply: async (request) => (await current?.playbook.reply(request)) ?? { text: "nothing" },
  });
  const shell = world.has.tmux ? "--tmux" : "--no-tmux";
  const argv = [await buddyBinary(), "--base-url", model.url, shell, ...world.withServers];
  const [cwd = world.box.cwd] = world.directories;
  await using pty = new Pty(argv, { cols: 100, rows: 30, cwd, env: world.env });
  await pty.until(atPrompt, 30_000);
  const sizes: { mb: number; descriptors: number }[] = [];
  let prompts = 0;
  while (more()) {
    const token = `soak-${seed}-repl-${prompts++}`;
    current = randomScript(random, token, () => {});
    if (random.below(6) === 0) pty.type("/new\r");
    pty.type(`${token} ${prose(random).replace(/[^\p{L} $()-]/gu, "")}\r`);
    // Whatever it asks is answered either way; a turn that takes long is interrupted.
    const patience = performance.now() + 1000 + random.below(8000);
    while (!pty.screen().includes(`answer ${token}`) && performance.now() < patience) {
      if (random.below(10) === 0) pty.resize(60 + random.below(80), 15 + random.below(30));
      if (isAsking(pty.screen())) await answer(pty, random.of(["y", "n", "y", "\u001b"]));
      await pause(100);
    }
    if (!(await backToPrompt(pty))) {
      wrong.push(`the REPL did not come back to its prompt: ${token}\n${pty.screen()}`);
      break;
    }
    sizes.push(sizeOf(pty.pid));
  }
  pty.type("/exit\r");
  // While a turn still runs, the second one counts.
  const asksAgain = (screen: string) => screen.includes("quit again");
  void pty.until(asksAgain, 20_000).then(
    () => pty.type("/exit\r"),
    () => undefined,
  );
  const code = await Promise.race([pty.exited, pause(20_000)]);
  if (code !== 0) wrong.push(`the REPL ended with ${code ?? "nothing, 20 s after /exit"}\n${pty.screen()}`);
  const settled = sizes[Math.min(4, sizes.length - 1)];
  const last = sizes.at(-1);
  const peak = Math.max(0, ...sizes.map(({ mb }) => mb));
  if (peak > MOST_MB) wrong.push(`the REPL had ${peak.toFixed(0)} MB (bound: ${MOST_MB})`);
  if (settled !== undefined && last !== undefined && last.descriptors > settled.descriptors + MORE_DESCRIPTORS)
    wrong.push(
      `the REPL had ${settled.descriptors} descriptors after its first turns and ${last.descriptors} at the end`,
    );
  const figures = `${peak.toFixed(0)} MB at most, ${settled?.descriptors} descriptors after the first turns, ${last?.descriptors} at the end`;
  return { prompts, figures, wrong };
}

/** A key answers only alone, with a moment before and after it; after "n" comes a reason. */
async function answer(pty: Pty, key: string): Promise<void> {
  await pause(KEY_MS);
  pty.type(key);
  await pause(KEY_MS);
  if (key === "n") pty.type("\r");
}

const KEY_MS = 700;

/** Ctrl-C ends whatever runs or asks, and empties the line; queued prompts begin after what was stopped. */
async function backToPrompt(pty: Pty): Promise<boolean> {
  for (let tries = 0; tries < 10; tries++) {
    if (await idleWithin(pty, 500)) return true;
    // Once for each task: a second one on an empty line would leave.
    if (isBusy(pty.screen())) pty.type("\u0003");
    else pty.type("\u0015");
    if (await idleWithin(pty, 4000)) return true;
  }
  return false;
}

async function idleWithin(pty: Pty, ms: number): Promise<boolean> {
  const end = performance.now() + ms;
  while (performance.now() < end) {
    await pause(50);
    if (isIdle(pty.screen())) return true;
  }
  return false;
}

function isIdle(screen: string): boolean {
  return atPrompt(screen) && !isBusy(screen);
}

function isBusy(screen: string): boolean {
  return /task \d+ ·.*stop|queued \d+:/.test(lastLines(screen)) || isAsking(screen);
}

function isAsking(screen: string): boolean {
  return /approve\?[^\n]*\n[^\n]*y yes[^\n]*$/.test(lastLines(screen));
}

function lastLines(screen: string): string {
  return screen.trimEnd().split("\n").slice(-8).join("\n");
}

/** The prompt stands last, with nothing behind it. */
function atPrompt(screen: string): boolean {
  return /(?:^|\s)(?:\S+\))?> *$/.test(screen.trimEnd().split("\n").at(-1) ?? "");
}

function sizeOf(pid: number): { mb: number; descriptors: number } {
  try {
    const status = readFileSync(`/proc/${pid}/status`, "utf8");
    const mb = Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1000;
    return { mb, descriptors: readdirSync(`/proc/${pid}/fd`).length };
  } catch {
    return { mb: 0, descriptors: 0 };
  }
}
