/** What the operator does on the target without the model: their own commands, background shells, the pane, outputs. */
import type { RecordedEntry } from "../../agent/calls/call-record.ts";
import { RunTimes } from "../../agent/calls/run-times.ts";
import type { AgentEvent } from "../../agent/events.ts";
import type { LoadedConfig } from "../../config/load.ts";
import { BuddyError } from "../../lib/errors.ts";
import { words } from "../../lib/text.ts";
import { defined, jsonObject } from "../../lib/values.ts";
import { unlessAborted, within } from "../../lib/waiting.ts";
import { type ApprovalRequest, approvalRequest } from "../../policy/approvals.ts";
import type { RunResult, Target } from "../../targets/target.ts";
import { boundText, outputBudget } from "../../tools/bound-output.ts";
import { outcomeText } from "../../tools/outcome-text.ts";
import type { SudoState, WorkInFlight } from "../../ui/repl/host.ts";
import type { Run } from "../run.ts";

/** Background shells and what runs in the panes; nothing if the target is not open or does not answer soon. */
export async function workInFlight(run: Run): Promise<WorkInFlight> {
  const target = run.target.opened;
  if (target === undefined) return { shells: [], panes: [] };
  const looking = Promise.all([target.background.list(), target.panes?.list() ?? []]).catch(() => undefined);
  const found = await within(looking, LOOK_MS);
  if (found === undefined) return { shells: [], panes: [] };
  const [shells, panes] = found;
  return {
    shells: shells.map(({ id, command, status, startedAt, exitCode }) => ({
      id,
      command: run.secrets.redact(command),
      status,
      startedAt,
      ...defined({ exitCode }),
    })),
    panes: panes.map(({ pane, shared, command, running }) => {
      const shell = SHELLS.has(command);
      const what = shell && running ? run.secrets.redact(running) : command;
      return { name: pane, shared, command: what, idle: shell && running === undefined };
    }),
  };
}

export async function killShell(run: Run, id: string): Promise<string> {
  const target = opened(run);
  const { status } = await recorded(run, target, `end ${id}`, () => target.background.kill(id));
  return status;
}

/** Presses Ctrl-C in a pane. */
export async function interruptPane(run: Run, name: string | undefined): Promise<void> {
  const target = opened(run);
  const { panes } = target;
  if (panes === undefined)
    throw new BuddyError("usage", "the target has no shared pane to press Ctrl-C in", {
      hint: "Ctrl-C on an empty line stops the task and its command",
    });
  const pane = await panes.pane(name === undefined ? {} : { pane: name });
  await recorded(run, target, "press Ctrl-C in the pane", () => pane.keys({ keys: ["C-c"] }));
}

/** Records what the operator stops; it is done even if it cannot be recorded. */
async function recorded<T>(run: Run, target: Target, action: string, work: () => Promise<T>): Promise<T> {
  const about = { tool: "you", call: `operator-${crypto.randomUUID()}`, action };
  const began = performance.now();
  const add = (entry: RecordedEntry) => run.recorder.add(entry, target).catch(() => undefined);
  await add({ kind: "decision", ...about, verdict: "allow", decision: "approved", by: "operator" });
  const ended = (outcome: string) =>
    add({ kind: "effect", ...about, outcome, ms: Math.round(performance.now() - began) });
  try {
    const result = await work();
    await ended("done");
    return result;
  } catch (error) {
    await ended("failed");
    throw error;
  }
}

/** /adopt: the shell that the operator started in the shared pane. */
export async function adoptShell(run: Run): Promise<readonly string[]> {
  const target = await run.target.get();
  if (target.adopt === undefined)
    throw new BuddyError("usage", "there is no shared pane, so there is no shell to adopt", {
      hint: "It needs tmux and a single machine.",
    });
  const { user, host, os, shellName } = await target.adopt();
  await run.rules.of(target.now?.() ?? target, run.place);
  return [
    `commands now run in the pane's shell of ${user}@${host} (${os}, ${shellName}), with the rules of that machine`,
    "file tools and background shells cannot reach it unless it is the same machine and user; exit in the pane leaves it",
    ...run.askAgain(),
  ];
}

/** The full text of an earlier command, or of a background shell. */
export async function fullOutput(run: Run, id: string, signal: AbortSignal): Promise<string> {
  const target = opened(run);
  const shell = id.startsWith("sh-") ? (await target.background.list()).find((other) => other.id === id) : undefined;
  if (shell !== undefined) return (await target.files.read(shell.outputFile, { maxBytes: MOST_READ, signal })).text;
  let text = "";
  for (let offset = 0; offset < MOST_READ;) {
    const page = await target.shell.readOutput(id, { offset, limit: PAGE });
    text += page.text;
    if (page.done || page.nextOffset <= offset) break;
    offset = page.nextOffset;
  }
  return text;
}

/** `!command`: in the shared pane, as the operator; the policy's blocks hold, and the output joins the conversation. */
export function operatorCommand(
  run: Run,
  config: Config,
  command: string,
  signal: AbortSignal,
): AsyncIterable<AgentEvent> {
  if (run.fleet !== undefined) return commandOnMachines(run, command, signal);
  const call = `operator-${crypto.randomUUID()}`;
  return run.agent.operatorTurn(`!${command}`, signal, async (publish, inner) => {
    const opened = await unlessAborted(inner, run.target.get());
    // If an adopted shell ends meanwhile, the command must not run in another one.
    const target = opened.now?.() ?? opened;
    const { judgeShell } = await import("../../policy/shell/judge.ts");
    const { calledAt, shellRules } = await import("../run-tools.ts");
    const { outputKind } = await import("../../policy/privacy/output-kind.ts");
    const { user, home } = target.transport.facts;
    const rules = await run.rules.of(target, run.place);
    const { shell, identity, locks } = target;
    const where = { shell: locks.shell, pane: identity.shellName, cwd: shell.cwd, user, home };
    const judged = judgeShell(command, shellRules(config, rules), where);
    const { verdict, commands, readOnly, risk, mutation, privesc } = judged;
    const { privacy } = run.secrets;
    const output = outputKind(
      commands.map((one) => one.words),
      config.privacy.mask_output,
    );
    privacy.storing = output;
    const shown = privacy.mask(command, { from: "prompt" });
    const about = { tool: "you", call, action: shown, cwd: target.shell.cwd };
    const decision =
      verdict.kind === "deny"
        ? ({ verdict: "block", decision: "denied", by: "policy", why: verdict.why } as const)
        : ({ verdict: "allow", decision: "approved", by: "operator" } as const);
    await run.recorder.add({ kind: "decision", ...about, ...decision }, target);
    if (verdict.kind === "deny")
      throw new BuddyError("usage", `blocked: ${verdict.brief ?? verdict.why}`, {
        hint: "[safety], shell_denylist and shell_roots in buddy.toml decide this; use your own shell",
      });
    if (rules.mode === "read-only" && !readOnly)
      throw new BuddyError(
        "usage",
        `not allowed: ${calledAt(target, run.place)[0]} is read-only ([rules] in buddy.toml)`,
        { hint: "buddy makes no changes to it, not even for you; use your own shell" },
      );
    if (rules.mode === "guarded" && risk === "high")
      await typedName(run, target, { call, action: command, risk, mutation, privesc }, inner);
    publish({ type: "tool_started", call, tool: "you", title: command, args: {} });
    const budget = outputBudget("shell", run.agent.contextLimit, 0);
    const times = new RunTimes();
    const password = run.desk.passwords(() => Promise.resolve(target));
    // It has happened: a failure to record it changes nothing.
    const record = (outcome: string, exitCode?: number) =>
      run.recorder
        .add({ kind: "effect", ...about, outcome, ...defined({ exit_code: exitCode }), ms: times.ms }, target)
        .catch(() => undefined);
    const running = times.during(() =>
      target.shell.run(command, {
        signal: inner,
        ...defined({ password }),
        keep: budget,
        onOutput: ({ stream, text }) => {
          times.lines.note(text);
          publish({ type: "tool_output", call, stream, text });
        },
      }),
    );
    const result = await running.catch(async (error: unknown) => {
      await record("failed");
      throw error;
    });
    const ended = outcomeText(result, {
      waitMs: 0,
      shell: target.shell.kind,
      budget,
      attach: target.identity.attach,
      mask: (text, { start = false, end = false } = {}) =>
        privacy.mask(text, { from: `!${command}`, output, cutStart: start, cutEnd: end }),
    });
    const { outcome, exitCode } = ended;
    await record(outcome, exitCode);
    publish({
      type: "tool_finished",
      call,
      tool: "you",
      ok: ended.ok,
      outcome,
      ...defined({ exit_code: exitCode }),
      cwd: about.cwd,
      ...times.ended(),
      title: shown,
      result: JSON.stringify({ result: ended.result }),
      ...defined({ display: ended.display, output_cut: ended.displayCut, output_id: ended.outputId }),
      ...(ended.displayCut === true ? { output_lines: times.lines.count } : {}),
    });
    const text = boundText(String(ended.result), budget, () => "left out");
    return `I ran this command myself; there is nothing for you to do yet.\n\n$ ${command}\n${text}`;
  });
}

/** On several machines: as a call of the model would run, because what is allowed can differ between them. */
function commandOnMachines(run: Run, command: string, signal: AbortSignal): AsyncIterable<AgentEvent> {
  const declared = { risk: "low", mutation: false, privesc: false, why: "the operator runs it" };
  const call = {
    id: `operator-${crypto.randomUUID()}`,
    name: "run_shell",
    arguments: JSON.stringify({ command, ...declared }),
  };
  return run.agent.operatorTurn(`!${command}`, signal, async (publish, inner) => {
    const [message] = await run.calls.run([call], {
      signal: inner,
      contextLimit: run.agent.contextLimit,
      seesImages: false,
      operator: true,
      publish,
    });
    const result = jsonObject(message?.content ?? "")?.["result"];
    return `I ran this command myself; there is nothing for you to do yet.\n\n$ ${command}\n${String(result)}`;
  });
}

/** On a guarded machine, the operator's own commands need its name typed, too. */
async function typedName(
  run: Run,
  target: Target,
  what: Pick<ApprovalRequest, "call" | "action" | "risk" | "mutation" | "privesc">,
  signal: AbortSignal,
): Promise<void> {
  const { identity } = target;
  const { label } = run.rules.current;
  const [typed, ...alsoTyped] = (await import("../run-tools.ts")).calledAt(target, run.place);
  const decision = await run.approvals.decide(
    approvalRequest({
      ...what,
      tool: "run_shell",
      where: `${identity.user}@${identity.host}`,
      subject: { machine: identity.machine, user: identity.user, shell: identity.shellName },
      ...defined({ label }),
      policy: "high risk on a guarded machine",
      answer: "typed",
      typed: typed ?? identity.label,
      alsoTyped,
    }),
    signal,
  );
  if (decision.kind !== "approved")
    throw new BuddyError("usage", "not run: the name of the machine was not typed", {
      hint: "The machine is guarded ([rules] in buddy.toml)",
    });
}

function opened(run: Run): Target {
  const target = run.target.opened;
  if (target === undefined)
    throw new BuddyError("usage", "the target is still being opened", { hint: "Try again in a moment" });
  return target;
}

type Config = LoadedConfig["config"];

const SHELLS = new Set(words("bash zsh sh dash ash ksh mksh fish busybox"));
const LOOK_MS = 3000;
const PAGE = 1024 * 1024;
const MOST_READ = 16 * 1024 * 1024;

// ── /sudo: whether sudo works without a password in the target's shell, until when, and how to end that.

/** A ticket belongs to a terminal or a shell: only a command in that shell can see it. */
export async function sudoState(target: Target): Promise<SudoState> {
  const { uid } = target.transport.facts;
  if (uid === 0) return { kind: "root" };
  const { code, stdout } = await target.transport.run(
    "command -v sudo >/dev/null || exit 1; LC_ALL=C sudo -V | head -n 1",
  );
  if (code !== 0) return { kind: "missing" };
  // Before 1.9.12, this check renews the ticket.
  const renews = !atLeast(stdout.toString(), 1, 9, 12);
  const look = `command sudo -n ${renews ? "" : "-N "}/bin/sh -c '${LOOK}' 2>/dev/null`;
  const free = "command sudo -n -k true >/dev/null 2>&1 && echo sudo-free";
  const said = await run(target, `${free} || ${look} || echo sudo-none`);
  if (/^sudo-free$/m.test(said)) return { kind: "free" };
  if (/^sudo-none$/m.test(said)) return { kind: "none" };
  const [, timeout, used, now] = /timeout: (-?[\d.]+) minutes.*?^(\d+) (\d+) sudo-alive$/ms.exec(said) ?? [];
  const minutes = Number(timeout);
  if (now === undefined || !(minutes > 0)) return { kind: "alive", renews };
  return { kind: "alive", renews, leftMs: Math.max(0, (Number(used) + minutes * 60 - Number(now)) * 1000) };
}

export async function dropSudo(target: Target): Promise<void> {
  if (target.transport.facts.uid === 0) return;
  await run(target, "command sudo -k");
}

/** As root: how long tickets last, when the user's was last used, and what time it is. */
const LOOK =
  'LC_ALL=C sudo -V | grep "timestamp timeout"; ' +
  'for f in /run/sudo/ts /var/run/sudo/ts /var/lib/sudo/ts /var/db/sudo/ts; do [ -e "$f/$SUDO_USER" ] && break; done; ' +
  'echo "$(stat -c %Y "$f/$SUDO_USER" 2>/dev/null || stat -f %m "$f/$SUDO_USER") $(date +%s) sudo-alive"';

const WAIT_MS = 10_000;

async function run(target: Target, command: string): Promise<string> {
  const ran = await target.shell.run(command, { waitMs: WAIT_MS, keep: 4000 });
  if (ran.outcome.kind !== "exited") throw unclear(ran);
  return ran.output.head + ran.output.tail;
}

function unclear({ outcome, notes }: RunResult): BuddyError {
  const why = outcome.kind === "lost" ? outcome.why : "the shell of the target is busy";
  return new BuddyError("usage", `cannot check sudo: ${why}`, {
    hint: notes[0] ?? "Try again when the command in the pane has ended.",
  });
}

function atLeast(version: string, ...wanted: readonly number[]): boolean {
  const found = /(\d+)\.(\d+)\.(\d+)/.exec(version)?.slice(1).map(Number) ?? [];
  for (const [at, least] of wanted.entries()) if (found[at] !== least) return (found[at] ?? 0) > least;
  return true;
}
