/** `buddy targets --check`: opens machines in parallel and reports what works and what does not. */
import { isatty } from "node:tty";
import type { LoadedConfig } from "../../../config/load.ts";
import { BuddyError, EXIT, type ExitCode } from "../../../lib/errors.ts";
import { jsonText, Output, print } from "../../../lib/output.ts";
import { wantsColor } from "../../../lib/terminal.ts";
import { atMost, unlessAborted } from "../../../lib/waiting.ts";
import { openTransport, type TransportOptions } from "../../../targets/connection/open-transport.ts";
import { machineReport, type MachineReport } from "../../../targets/machine-report.ts";
import { labelOfPath, type Place } from "../../../targets/place.ts";
import type { PlaceSources } from "../../../targets/names/resolve-places.ts";
import type { TargetOptions } from "../../../targets/target.ts";
import type { GlobalOptions } from "../../args/options.ts";
import { rulesOf } from "../../../app/machines/machine-rules.ts";
import { ruleWords } from "../../../app/repl/change-machines.ts";
import { ruleFacts } from "../policy/rule-facts.ts";
import { placeSources } from "../../../app/machines/places.ts";
import { checkLocks, clockWords, findingRows, isFull, isOff } from "../doctor/machine.ts";

/** The longest wait for a machine. */
const LONGEST_MS = 25_000;

interface CheckOptions {
  readonly json?: boolean | undefined;
}

interface Known {
  readonly rules: LoadedConfig["config"]["rules"];
  readonly sources: PlaceSources;
}

interface Checked {
  readonly name: string;
  readonly place: string;
  readonly ok: boolean;
  readonly user?: string;
  readonly host?: string;
  readonly machine?: string;
  readonly os?: string;
  readonly shell?: string;
  readonly tmux?: string;
  readonly sudo?: MachineReport["sudo"];
  readonly latency_ms?: number;
  /** What runs without a question, and the lock on it. */
  readonly auto?: string;
  /** The rules that hold on it, found by all its names. */
  readonly rules?: object;
  readonly rule_words?: string;
  /** Why it cannot be worked on. */
  readonly problems: readonly string[];
  /** What an operator should know anyway. */
  readonly warnings: readonly string[];
}

export async function checkPlaces(
  places: readonly Place[],
  loaded: LoadedConfig,
  globals: GlobalOptions,
  args: CheckOptions,
): Promise<ExitCode> {
  const out = new Output(1);
  const width = Math.min(24, Math.max(...places.map(({ name }) => name.length)));
  const color = wantsColor({ flag: globals.color, env: process.env, isTty: isatty(1) });
  const sources = placeSources(loaded);
  const checked = await atMost(loaded.config.fleet.parallel, places, async (place) => {
    const result = await check(place, optionsFor(place, loaded, globals), { rules: loaded.config.rules, sources });
    // As they come: one that hangs does not hold up the others.
    if (args.json !== true) await out.write(rows(result, width, color));
    return result;
  });
  const bad = checked.filter(({ ok }) => !ok).length;
  if (args.json === true) await print([jsonText({ ok: bad === 0, machines: checked }, 2)]);
  else if (checked.length > 1) await out.write(`\n${checked.length - bad} of ${checked.length} machines are ready\n`);
  await out.flush();
  return bad === 0 ? EXIT.ok : EXIT.failure;
}

type CheckedTarget = TransportOptions & Pick<TargetOptions, "tmux" | "secondLock">;

function optionsFor(place: Place, loaded: LoadedConfig, globals: GlobalOptions): CheckedTarget {
  const cwd = globals.cd ?? place.cd;
  return {
    place,
    tmux: globals.tmux === "auto" ? (place.tmux?.mode ?? "auto") : globals.tmux,
    ...(cwd === undefined ? {} : { cwd }),
    secondLock: loaded.config.safety.read_only_namespace,
    // Many at once cannot ask for passwords on one terminal.
    interactive: false,
  };
}

async function check(place: Place, options: CheckedTarget, known: Known): Promise<Checked> {
  const base = { name: place.name, place: labelOfPath(place.path) };
  const late = AbortSignal.timeout(LONGEST_MS);
  try {
    return await unlessAborted(late, examine(base, { ...options, signal: late }, known));
  } catch (error) {
    const cause = late.aborted ? noAnswer() : error;
    if (!(cause instanceof BuddyError)) throw cause;
    const problem = cause.hint === undefined ? cause.message : `${cause.message}\n${cause.hint}`;
    return { ...base, ok: false, problems: [problem], warnings: [] };
  }
}

function noAnswer(): BuddyError {
  const hint = "Is it up, and reachable from this machine?";
  return new BuddyError("target", `no answer within ${LONGEST_MS / 1000} s`, { hint });
}

async function examine(
  base: Pick<Checked, "name" | "place">,
  options: CheckedTarget,
  { rules: written, sources }: Known,
): Promise<Checked> {
  await using transport = await openTransport(options);
  const report = await machineReport(transport);
  const locks = await checkLocks(transport, options.secondLock);
  const latency = await latencyOf(transport);
  const rules = await rulesOf({ rules: written }, options.place, transport, sources);
  const { user, host, machine, os, loginShell, tmuxVersion, tmuxProblem = "tmux is not installed" } = transport.facts;
  const problems = options.tmux === "required" && tmuxVersion === undefined ? [`tmux is required: ${tmuxProblem}`] : [];
  const warnings = [
    ...(report.disk !== undefined && isFull(report.disk) ? [`the disk is ${report.disk.used} full`] : []),
    ...(isOff(report.clockOffMs) ? [`the clock is ${clockWords(report.clockOffMs)}`] : []),
    ...(locks.status === "warning" ? [locks.text] : []),
  ];
  return {
    ...base,
    ok: problems.length === 0,
    user,
    host,
    machine,
    os,
    shell: loginShell.split("/").at(-1) || (report.hasBash ? "bash" : "sh"),
    ...(tmuxVersion === undefined ? {} : { tmux: tmuxVersion }),
    sudo: report.sudo,
    latency_ms: latency,
    auto: locks.text,
    ...(ruleWords(rules) === "" ? {} : { rule_words: ruleWords(rules) }),
    ...ruleFacts(rules),
    problems,
    warnings,
  };
}

const ROUNDS = 3;

/** The best of a few round trips. */
async function latencyOf(transport: Awaited<ReturnType<typeof openTransport>>): Promise<number> {
  let best = Infinity;
  for (let round = 0; round < ROUNDS; round++) {
    const before = performance.now();
    await transport.run(":");
    best = Math.min(best, performance.now() - before);
  }
  return Math.round(best * 10) / 10;
}

const SUDO: Readonly<Record<MachineReport["sudo"], string>> = {
  root: "root",
  none: "no sudo",
  free: "sudo without a password",
  password: "sudo with a password",
  unknown: "sudo unknown",
};

function rows(one: Checked, width: number, color: boolean): string {
  const status = one.ok ? (one.warnings.length > 0 ? "warning" : "ok") : "broken";
  const facts =
    one.user === undefined
      ? []
      : [
          identity(one),
          `read-only commands run ${one.auto ?? ""}`,
          ...(one.rule_words === undefined ? [] : [`rules: ${one.rule_words}`]),
        ];
  const text = [...one.problems, ...facts, ...one.warnings].join("\n");
  return `${findingRows({ check: one.name, status, text }, width, color)}\n`;
}

function identity({ user, host, os = "", shell, tmux, sudo = "unknown", latency_ms }: Checked): string {
  const system = os.split(", ")[0] ?? os;
  const pane = tmux === undefined ? "no tmux" : `tmux ${tmux}`;
  return `${user}@${host}, ${system}, ${shell}, ${pane}, ${SUDO[sudo]}, ${latency_ms} ms`;
}
