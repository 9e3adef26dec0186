/**
 * What must hold when everything has ended: sessions, the record, effects, secrets; then processes, sockets and files.
 */
import { existsSync, lstatSync, readdirSync, readFileSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { leaks } from "../support/leaks.ts";
import { until } from "../support/until.ts";
import { type Found, processesOf } from "./processes-of.ts";
import type { Event, StepReport } from "./steps.ts";
import { PLANTED, type World } from "./world.ts";

/** Everything that is wrong, in words. */
export async function checkAll(world: World, steps: readonly StepReport[]): Promise<string[]> {
  const checks = [checkSessions, checkEffects, checkSecrets, checkRecord, checkSizes, checkNothingLeft];
  const wrong: string[] = [];
  for (const check of checks) wrong.push(...(await check(world, steps)));
  return wrong;
}

const PEAK_MB = 400;

async function checkSizes(_world: World, steps: readonly StepReport[]): Promise<string[]> {
  return steps
    .filter(({ peakMb }) => peakMb > PEAK_MB)
    .map(({ step, peakMb }) => `step ${step}: ${peakMb.toFixed(0)} MB of memory (bound: ${PEAK_MB})`);
}

/** Written to the log, in the order of events; the others are deltas and live output. */
const KEPT = new Set(
  "session turn message tool_finished approval_asked approval_answered usage warning notice compacted error done".split(
    " ",
  ),
);

/** A session without any of these never reached a model, and is not kept. */
const ANSWERED = new Set(["text", "reasoning", "message", "tool_started", "tool_finished", "usage"]);

async function checkSessions(world: World, steps: readonly StepReport[]): Promise<string[]> {
  const wrong: string[] = [];
  const logs = new Map<string, Event[]>();
  for (const path of [...filesBelow(world.box.dir)].filter((path) => /\/sessions\/[^/]+\.jsonl$/.test(path)))
    logs.set(path, readLog(path, wrong));
  const keyOf = ({ type, ts, call = "", session }: Event): string => `${session} ${ts} ${type} ${String(call)}`;
  const kept = counted([...logs.values()].flat().map(keyOf));
  for (const { step, events, place, token, code } of steps) {
    // A full disk is reported, and the lines that had no room come later or never.
    if (place === "small disk") continue;
    if (events?.some(({ type }) => ANSWERED.has(type)) === true) {
      const printed = counted(events.filter(({ type }) => KEPT.has(type)).map(keyOf));
      for (const [key, count] of printed)
        if (kept.get(key) !== count)
          wrong.push(`step ${step}: ${key} printed ${count}×, in the log ${kept.get(key) ?? 0}×`);
    }
    const turns = [...logs.values()]
      .flat()
      .filter((one) => one.type === "turn" && String(one["prompt"]).split(/\s/)[0] === token);
    if (turns.length > 1) wrong.push(`step ${step}: its prompt is in the logs ${turns.length}×`);
    if (turns.length === 0 && code === 0 && events?.some(({ type }) => ANSWERED.has(type)) !== false)
      wrong.push(`step ${step}: its prompt is in no log`);
  }
  for (const [path, events] of logs) {
    const ended = counted(events.filter(({ type }) => type === "tool_finished").map(({ call }) => String(call)));
    for (const [call, count] of ended) if (count > 1) wrong.push(`${path}: ${call} has ${count} results`);
  }
  return wrong;
}

function readLog(path: string, wrong: string[]): Event[] {
  const lines = readFileSync(path, "utf8").split("\n");
  return lines.flatMap((line, at) => {
    if (line === "") return [];
    try {
      return [JSON.parse(line) as Event];
    } catch {
      // kill -9 may leave half a line, and only as the last one of its writer.
      if (at !== lines.length - 1) wrong.push(`${path}:${at + 1} is not JSON: ${line.slice(0, 80)}`);
      return [];
    }
  });
}

/** A command that succeeded has run once; no command has run twice. */
async function checkEffects(world: World, steps: readonly StepReport[]): Promise<string[]> {
  const homes = [
    world.box.home,
    ...(world.smallDisk === undefined ? [] : [join(world.smallDisk.path, "home")]),
    ...(world.fleet?.names.map((name) => world.fleet!.machines.home(name)) ?? []),
  ];
  const files = homes.map((home) => join(home, "effects")).filter((path) => existsSync(path));
  const texts = files.map((path) => readFileSync(path, "utf8"));
  if (world.container !== undefined)
    texts.push(
      await world.container.engine("exec", world.container.name, "sh", "-c", "cat ~/effects 2>/dev/null || :"),
    );
  const wrong: string[] = [];
  const all = new Set<string>();
  for (const text of texts)
    for (const [token, count] of counted(text.split("\n").filter((line) => line !== ""))) {
      all.add(token);
      if (count > 1) wrong.push(`${token} ran ${count}× on one machine`);
    }
  for (const { step, events = [], place } of steps) {
    const commands = new Map<unknown, string>();
    for (const event of events) {
      const command = (event["args"] as { command?: unknown } | undefined)?.command;
      const token = /^(?:sleep [0-9.]+; )?echo (soak-\S+) >>~\/effects$/.exec(String(command))?.[1];
      if (event.type === "tool_started" && token !== undefined) commands.set(event["call"], token);
      const ran = commands.get(event["call"]);
      if (event.type !== "tool_finished" || ran === undefined || event["outcome"] !== "exited") continue;
      if (event["ok"] === true && event["exit_code"] === 0 && !all.has(ran))
        wrong.push(`step ${step} (${place}): ${ran} succeeded, and its effect is nowhere`);
    }
  }
  return wrong;
}

async function checkSecrets(world: World, steps: readonly StepReport[]): Promise<string[]> {
  const texts = Object.fromEntries(steps.map(({ step, sent }) => [`what step ${step} sent to the model`, sent]));
  const directories = [join(world.box.home, ".local"), ...world.directories].filter((path) => existsSync(path));
  // By design the values behind the names are kept for a resume, in files of their own.
  return leaks(PLANTED, { texts, directories })
    .filter((where) => !where.includes("/.local/state/buddy/secrets/"))
    .map((where) => `a secret is in ${where}`);
}

async function checkRecord(world: World): Promise<string[]> {
  const wrong: string[] = [];
  const homes = [world.box.home, ...(world.smallDisk === undefined ? [] : [join(world.smallDisk.path, "home")])];
  for (const HOME of homes) {
    if (!existsSync(join(HOME, ".local/state/buddy/audit.jsonl"))) continue;
    const { code, stdout, stderr } = await world.box.run(["audit", "verify"], { env: { ...world.env, HOME } });
    if (code !== 0) wrong.push(`audit verify: exit code ${code}: ${stdout}${stderr}`);
  }
  for (const cwd of world.directories) {
    const { code, stderr } = await world.box.run(["sessions"], { env: world.env, cwd });
    if (code !== 0) wrong.push(`buddy sessions: exit code ${code}: ${stderr}`);
  }
  return wrong;
}

/** Ends the panes that stay by design, then looks for what should not be there. */
async function checkNothingLeft(world: World): Promise<string[]> {
  const wrong: string[] = [];
  const roots = [world.box.dir, ...(world.fleet === undefined ? [] : [world.fleet.dir])];
  const places = [[], ...(world.fleet?.names.map((name) => ["--ssh", name]) ?? [])];
  const container = world.container?.name;
  if (container !== undefined) places.push(["--container", container]);
  if (world.has.tmux)
    for (const place of places) {
      // A start sweeps what killed servers left; programs of the last steps may still run in a pane for a moment.
      await world.box.run(["run", ...place, "true"], { env: world.env });
      let listed = "";
      await until(
        async () => {
          await world.box.run(["targets", "--sessions", "--end", "--yes", ...place], { env: world.env });
          const { stdout, stderr } = await world.box.run(["targets", "--sessions", "--json", ...place], {
            env: world.env,
          });
          listed = stdout + stderr;
          return (JSON.parse(stdout) as unknown[]).length === 0;
        },
        `sessions of tmux at ${place.join(" ") || "this machine"} can be ended`,
        { timeoutMs: 15_000, everyMs: 500 },
      ).catch((error: Error) => wrong.push(`${error.message}\n${listed}`));
    }
  const left = (): Found[] => processesOf(roots).filter(({ pid, command }) => pid !== process.pid && !isOurs(command));
  await until(() => left().length === 0, "no process is left", { timeoutMs: 20_000, everyMs: 200 }).catch(() => {
    const all = left();
    const about = Bun.spawnSync(["ps", "-o", "pid,ppid,stat,tty,args", "-p", all.map(({ pid }) => pid).join(",")]);
    const terminals = [...new Set(about.stdout.toString().match(/pts\/\d+/g) ?? [])];
    const there = Bun.spawnSync(["ps", "-o", "pid,ppid,stat,tty,args", "-t", terminals.join(",")]).stdout.toString();
    for (const { pid, command } of all) wrong.push(`process ${pid} is left: ${command.slice(0, 200)}`);
    if (terminals.length > 0) wrong.push(`on their terminals:\n${there}`);
  });
  if (container !== undefined) {
    let inside: string[] = [];
    const isLeft = (line: string) => /sleep [0-9]|tmux|seq |buddy/.test(line) && !/sleep 1000000|^ *\d+ +Z/.test(line);
    await until(
      async () => {
        const listed = await world.container?.engine("exec", container, "ps", "-o", "pid,stat,args");
        inside = listed?.split("\n").filter(isLeft) ?? [];
        return inside.length === 0;
      },
      // `timeout` of busybox is there for a second after the program that it watched.
      "nothing is left in the container",
      { timeoutMs: 10_000, everyMs: 200 },
    ).catch(() => {});
    for (const line of inside) wrong.push(`in the container: ${line}`);
  }
  for (const path of filesBelow(join(world.box.dir, "tmp"))) wrong.push(`a temporary file is left: ${path}`);
  for (const path of filesBelow(join(world.box.dir, "run")))
    if (lstatSync(path).isSocket()) wrong.push(`a socket is left: ${path}`);
  // Files of killed servers are removed by a start that comes later than a minute, a second after it.
  const hourAgo = Date.now() / 1000 - 3600;
  for (const state of stateDirectories(roots)) utimesSync(join(state, "opened"), hourAgo, hourAgo);
  if (world.has.tmux)
    await until(
      async () => {
        await world.box.run(["run", "--approve", "all", "sleep 2"], { env: world.env });
        await world.box.run(["targets", "--sessions", "--end", "--yes"], { env: world.env });
        return stateDirectories(roots).length === 0;
      },
      "the files of killed servers are removed",
      { timeoutMs: 20_000 },
    ).catch(() => {});
  for (const state of stateDirectories(roots)) wrong.push(`the files of a pane are left: ${state}`);
  return wrong;
}

/** What the soak itself started: sshd, and the shells that end it when this process ends. */
function isOurs(command: string): boolean {
  return /sshd/.test(command) || /buddy-exit-cleanup/.test(command);
}

function stateDirectories(roots: readonly string[]): string[] {
  const uid = process.getuid?.() ?? 0;
  const base = `/tmp/buddy-${uid}`;
  if (!existsSync(base)) return [];
  return readdirSync(base)
    .map((name) => join(base, name))
    .filter((path) => existsSync(join(path, "servers")))
    .filter((path) => roots.some((root) => readFileSync(join(path, "servers"), "utf8").includes(`${root}/`)));
}

function* filesBelow(directory: string): Generator<string> {
  if (!existsSync(directory)) return;
  for (const name of readdirSync(directory)) {
    const path = join(directory, name);
    if (lstatSync(path).isDirectory()) yield* filesBelow(path);
    else yield path;
  }
}

function counted(items: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const item of items) counts.set(item, (counts.get(item) ?? 0) + 1);
  return counts;
}
