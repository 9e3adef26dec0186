/**
 * One step: a buddy at some place, with some model, disturbed by something at some moment; all drawn from seed and
 * number.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { startScripted } from "../support/scripted-model/server.ts";
import { buddyBinary } from "../support/buddy.ts";
import { eventProblem } from "../support/event-schema.ts";
import { Seeded } from "../support/seeded.ts";
import { prose, randomScript } from "./answers.ts";
import { FAULTS, pause } from "./faults.ts";
import type { World } from "./world.ts";

export interface StepReport {
  readonly step: number;
  readonly token: string;
  readonly place: string;
  readonly fault: string;
  readonly kinds: readonly string[];
  readonly argv: readonly string[];
  readonly code: number | string;
  readonly seconds: number;
  readonly peakMb: number;
  /** Everything that the model was sent. */
  readonly sent: string;
  /** Events of --json; undefined without it. */
  readonly events?: readonly Event[];
  readonly wrong: readonly string[];
}

export interface Event {
  readonly type: string;
  readonly ts: string;
  readonly session: string;
  readonly [field: string]: unknown;
}

/** Documented exit codes; a machine that could not be reached is 1 or 255. */
const CODES = new Set<number | string>([0, 1, 3, 4, 124, 129, 130, 143, 255]);
/** The run was stopped: what its reader does not take soon is given up. */
const STOPPED = new Set([124, 129, 130, 143]);
/** A step may take so much longer than its --timeout: the end of things on a far side, on a busy machine. */
const GRACE_S = 30;
const CRASH = /\n\s+at .*\.ts:\d|TypeError|RangeError|ReferenceError|panic|Segmentation|unhandled|is not a function/i;

export async function runStep(world: World, seed: number, step: number): Promise<StepReport> {
  const random = new Seeded(seed * 10_007 + step);
  const token = `soak-${seed}-${step}`;
  const place = random.of(placesOf(world));
  const names = Object.keys(FAULTS).filter((name) => {
    const { on, possible } = FAULTS[name]!;
    return (on?.(place) ?? true) && (possible?.(world) ?? true);
  });
  // One in three is left alone: it must answer.
  const fault = random.below(3) === 0 ? "nothing" : random.of(names);
  const timeout = 3 + random.below(fault === "nothing" ? 15 : 8);
  const at = random.below(4);
  const wait = random.below(400);
  let act = async (): Promise<void> => {};
  const disturbed: Promise<void>[] = [];
  const script = randomScript(random, token, (request) => {
    if (request === at) disturbed.push(pause(wait).then(() => act()));
  });
  await using model = startScripted(script.playbook);
  const json = random.below(3) > 0;
  const resumes = random.below(8) === 0;
  const argv = [
    "exec",
    ...(json ? ["--json"] : []),
    ...(resumes ? ["--resume", "last"] : []),
    `--base-url=${model.url}`,
    `--timeout=${timeout}s`,
    `--approve=${random.of(["all", "all", "all", "all", "none", "ask"])}`,
    ...(random.below(5) === 0 ? world.withServers : []),
    ...argumentsOf(world, place, random),
  ];
  const prompt = `${token} ${prose(random)}`;
  const small = place === "small disk" ? world.smallDisk : undefined;
  const cwd = small === undefined ? random.of(world.directories) : join(small.path, "cwd");
  const home = small === undefined ? world.box.home : join(small.path, "home");
  writeFileSync(join(cwd, "notes.txt"), "notes of the soak\n", { flag: "w" });
  const started = performance.now();
  const child = Bun.spawn(["setsid", "-w", await buddyBinary(), ...argv, "-"], {
    cwd,
    env: { ...world.env, HOME: home },
    stdin: Buffer.from(prompt),
    stdout: "pipe",
    stderr: "pipe",
  });
  const misbehaves = place === "fleet" ? misbehave(world, random) : () => {};
  act = async () => FAULTS[fault]!.act({ world, pid: leaderOf(child.pid), random, place });
  let late = false;
  const timer = setTimeout(
    () => {
      late = true;
      Bun.spawnSync(["kill", "-9", String(leaderOf(child.pid)), String(child.pid)]);
    },
    (timeout + GRACE_S) * 1000,
  );
  let peakKb = 0;
  const sampling = setInterval(() => (peakKb = Math.max(peakKb, peakOf(leaderOf(child.pid)))), 100);
  const [stdout, stderr, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  clearTimeout(timer);
  clearInterval(sampling);
  await Promise.all(disturbed);
  misbehaves();
  const killed = FAULTS[fault]!.kills === true && code === 137;
  const wrong: string[] = [];
  if (late) wrong.push(`it did not end within ${GRACE_S} s after its --timeout of ${timeout} s`);
  else if (!killed && !CODES.has(code) && !(resumes && code === 2))
    wrong.push(`exit code ${code}: ${stderr.slice(-500)}`);
  if (CRASH.test(stderr))
    wrong.push(`an error in words of the runtime: ${CRASH.exec(stderr)?.[0]} in ${stderr.slice(-800)}`);
  // eslint-disable-next-line no-control-regex
  if (/\u001b[^[]|\u009b|\u0007/.test(stderr)) wrong.push("stderr has control sequences that no colour needs");
  const events = json ? readEvents(stdout, wrong, killed || late || STOPPED.has(code)) : undefined;
  if (code === 0 && events !== undefined && events.at(-1)?.type !== "done")
    wrong.push(`it ended well with ${events.at(-1)?.type}, not with done`);
  return {
    step,
    token,
    place,
    fault,
    kinds: script.kinds,
    argv: [...argv, `<<< ${JSON.stringify(prompt)}`],
    code,
    seconds: (performance.now() - started) / 1000,
    peakMb: peakKb / 1000,
    sent: model.requests.map((request) => JSON.stringify(request.messages)).join("\n"),
    ...(events === undefined ? {} : { events }),
    wrong,
  };
}

/** `setsid` forks only where it leads its group already: then buddy is its child. */
function leaderOf(pid: number): number {
  try {
    if (readFileSync(`/proc/${pid}/comm`, "utf8").trim() !== "setsid") return pid;
    const [child = ""] = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ");
    return child === "" ? pid : Number(child);
  } catch {
    return pid;
  }
}

/** Of the program alone: what wait4 reports includes what this process had when it was forked. */
function peakOf(pid: number): number {
  try {
    if (readFileSync(`/proc/${pid}/comm`, "utf8").trim() !== "buddy") return 0;
    return Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0);
  } catch {
    return 0;
  }
}

function placesOf(world: World): string[] {
  const shells = world.has.tmux ? ["direct", "pane"] : ["direct"];
  return [
    ...shells,
    ...shells.map((shell) => `here, ${shell}`),
    ...(world.fleet === undefined
      ? []
      : ["fleet", ...shells.flatMap((shell) => [`ssh m1 ${shell}`, `ssh m2 ${shell}`])]),
    ...(world.container === undefined ? [] : shells.map((shell) => `container ${shell}`)),
    ...(world.smallDisk === undefined ? [] : ["small disk"]),
  ];
}

function argumentsOf(world: World, place: string, random: Seeded): string[] {
  const how = place.endsWith("direct") || place === "small disk" ? ["--no-tmux"] : [];
  if (place === "fleet") return ["--on", "m*", ...(random.below(2) === 0 ? ["--no-tmux"] : [])];
  if (place.startsWith("ssh")) return [...how, "--ssh", place.split(" ")[1] as string];
  if (place.startsWith("container")) return [...how, "--container", world.container?.name ?? ""];
  return how;
}

/** The last machine takes connections and says nothing, resets them, or is as the others. */
function misbehave(world: World, random: Seeded): () => void {
  const proxy = world.fleet?.proxy;
  const how = random.of(["swallow", "refuse", "well"] as const);
  if (how === "swallow") proxy?.swallow(true);
  if (how === "refuse") proxy?.refuse(true);
  return () => {
    proxy?.swallow(false);
    proxy?.refuse(false);
    if (how === "swallow") proxy?.cut();
  };
}

function readEvents(stdout: string, wrong: string[], torn: boolean): Event[] {
  const lines = stdout.split("\n");
  if (lines.pop() !== "" && !torn) wrong.push("the last event has no end of line");
  return lines.flatMap((line) => {
    try {
      const event = JSON.parse(line) as Event;
      const problem = eventProblem(event);
      if (problem !== undefined) wrong.push(`an event against its schema: ${problem.slice(0, 300)}`);
      return [event];
    } catch {
      wrong.push(`a line that is not an event: ${line.slice(0, 200)}`);
      return [];
    }
  });
}
