/** Runs one command on the machines of `--on`, asks where the policy asks, and prints what they answered. */
import type { AgentEvent } from "../../../agent/events.ts";
import { loadConfiguration } from "../../../app/configuration.ts";
import { composeRun } from "../../../app/compose-run.ts";
import type { Run, RunOptions } from "../../../app/run.ts";
import type { LoadedConfig } from "../../../config/load.ts";
import { BuddyError, EXIT, type ExitCode } from "../../../lib/errors.ts";
import type { ModelClient } from "../../../model/types.ts";
import { quoteAll } from "../../../lib/quote.ts";
import type { MachineResult } from "../../../tools/group-results.ts";
import { JsonLines } from "../../../ui/exec-output/jsonl.ts";
import type { GlobalOptions } from "../../args/options.ts";
import { approvalNeeded, colorOf, oneShot, type OneShot } from "../../one-shot.ts";
import { RunPrinter } from "./run-printer.ts";

interface RunCommandOptions {
  readonly words: readonly string[];
  /** They stood after --: each reaches the command unchanged. */
  readonly literal: boolean;
  readonly json: boolean;
  readonly diff: boolean;
  readonly fleet: RunOptions["fleet"];
  readonly timeoutMs: number | undefined;
}

export async function runCommand(options: RunCommandOptions, globals: GlobalOptions): Promise<ExitCode> {
  return oneShot({ globals, timeoutMs: options.timeoutMs }, (around) => onMachines(options, globals, around));
}

async function onMachines(options: RunCommandOptions, globals: GlobalOptions, around: OneShot): Promise<ExitCode> {
  const { signal, out, err } = around;
  const loaded = withoutMasking(await loadConfiguration(globals, { create: false }));
  const color = colorOf(globals, err, loaded.config.display.color);
  const printer = new RunPrinter({ out, err, quiet: globals.quiet, json: options.json, diff: options.diff });
  await using run = await composeRun({
    globals,
    loaded,
    client: NO_MODEL,
    record: false,
    audit: true,
    // An operator sees which machines are missing, and can stop.
    fleet: { patient: true, patience: { connect: CONNECT_MS, run: CONNECT_MS }, always: true, ...options.fleet },
    asker: {
      async ask(request, until, behind) {
        printer.pause();
        const { askOnTerminal } = await import("../../../ui/approval/tty-question.ts");
        return askOnTerminal(request, until, {
          color,
          theme: loaded.config.display.theme,
          behind,
          env: process.env,
          interrupt: around.interrupt,
        });
      },
    },
    problem: (message) => printer.warn(message),
    // For a list of machines; the command on the target gets none of it.
    stdin: () => Bun.stdin.text(),
  });
  signal.addEventListener("abort", () => void run.target.leaveIfSilent());
  const lines = options.json ? new JsonLines(out, run.secrets.redact, run.secrets.redactedStream) : undefined;
  const show = (event: AgentEvent): void => {
    if (lines !== undefined) void lines.show(event);
    printer.show(event);
  };
  const stop = run.agent.onEvent(show);
  const { results, refused } = await perform(run, commandText(options), signal);
  stop();
  printer.pause();
  if (signal.aborted && results.length === 0) throw around.stopped();
  // One machine whose command was refused or stopped: the error below says so.
  const [only] = results.length === 1 ? results : [];
  const said = only !== undefined && (refused.length > 0 || (signal.aborted && STOPPED.has(only.result.outcome)));
  if (!said) await printer.results(results, (id) => fullText(run, id));
  if (signal.aborted) throw around.stopped();
  if (refused.length > 0) throw approvalNeeded(run.calls.turn, run.approvals.mode);
  return worst(results);
}

async function perform(
  run: Run,
  command: string,
  signal: AbortSignal,
): Promise<{ results: readonly MachineResult[]; refused: readonly string[] }> {
  let results: readonly MachineResult[] = [];
  const declared = { risk: "low", mutation: false, privesc: false, why: "the operator runs it" };
  const call = { id: "run-1", name: "run_shell", arguments: JSON.stringify({ command, wait: "24h", ...declared }) };
  run.calls.beginTurn(command);
  const turn = run.agent.operatorTurn(command, signal, async (publish, inner) => {
    await run.calls.run([call], {
      signal: inner,
      contextLimit: NO_MODEL.info.contextLimit,
      seesImages: false,
      operator: true,
      publish,
      onMachines: (all) => (results = all),
    });
    // The reason is the operator's own.
    const changes = run.calls.turn.proposed.map(({ why: _why, ...change }) => change);
    if (changes.length > 0) publish({ type: "proposed", changes });
    return undefined;
  });
  for await (const _ of turn);
  return { results, refused: run.calls.turn.unapproved };
}

/** Joined as ssh does it; after -- each word unchanged. */
function commandText({ words, literal }: RunCommandOptions): string {
  return literal && words.length > 1 ? quoteAll(words) : words.join(" ");
}

/** The operator may read secrets in the output; only for a model are they replaced by names. */
function withoutMasking(loaded: LoadedConfig): LoadedConfig {
  const { config } = loaded;
  return { ...loaded, config: { ...config, privacy: { ...config.privacy, to_model: "off" } } };
}

async function fullText(run: Run, id: string): Promise<string> {
  const shell = run.fleet?.machines.find(({ opened }) => opened !== undefined)?.opened?.shell;
  if (shell === undefined) return "";
  let text = "";
  for (let offset = 0; ;) {
    const page = await shell.readOutput(id, { offset, limit: PAGE });
    text += page.text;
    if (page.done || page.nextOffset <= offset) break;
    offset = page.nextOffset;
  }
  return text;
}

/**
 * The highest exit code; a machine where the command did not start counts as 1, one without an exit code as 255, as
 * with ssh.
 */
function worst(results: readonly MachineResult[]): ExitCode {
  const codes = results.map(({ result }) => {
    if (result.exitCode !== undefined) return result.exitCode;
    if (result.ok) return EXIT.ok;
    return NOT_STARTED.has(result.outcome) ? EXIT.failure : UNREACHED;
  });
  return Math.max(0, ...codes) as ExitCode;
}

const NO_MODEL: ModelClient = {
  profile: { name: "none", model: "none", api: "completions", auth: "api-key", baseUrl: "" },
  info: { contextLimit: 1_000_000, known: true },
  // oxlint-disable-next-line require-yield
  async *stream() {
    throw new BuddyError("internal", "buddy run has no model");
  },
};

/** How long to wait for a machine that is not connected yet when all others are done. */
const CONNECT_MS = 10_000;
const UNREACHED = 255;
const NOT_STARTED: ReadonlySet<string> = new Set(["denied", "invalid", "not-run"]);
const STOPPED: ReadonlySet<string> = new Set(["stopped", "cancelled", "timeout"]);
const PAGE = 1024 * 1024;
