/** `buddy demo`: the guided run. Real pane, real commands, real policy; only the model is a script. */
import { closeSync, read } from "node:fs";
import { isatty, type WriteStream } from "node:tty";
import type { Front } from "../../../agent/calls/desk.ts";
import type { AgentEvent } from "../../../agent/events.ts";
import { composeRun, type Run } from "../../../app/run.ts";
import { createDemoClient } from "../../../demo/demo-client.ts";
import { TOUR_FILE } from "../../../demo/tour.ts";
import { currentDirectory } from "../../../lib/byte-names.ts";
import { BuddyError, EXIT, type ExitCode } from "../../../lib/errors.ts";
import { Output } from "../../../lib/output.ts";
import { openTerminal, wantsColor } from "../../../lib/terminal.ts";
import { pause } from "../../../lib/waiting.ts";
import { signOf } from "../../../ui/approval/question-text.ts";
import { type Theme, theme } from "../../../ui/theme.ts";
import { terminalFront } from "../../../ui/approval/terminal-front.ts";
import { Transcript } from "../../../ui/transcript/transcript.ts";
import type { GlobalOptions } from "../../args/options.ts";
import { watchSignals } from "../../signals-and-crashes.ts";

export async function demo(
  { yes }: { readonly yes: boolean },
  globals: GlobalOptions,
  out = new Output(1),
): Promise<ExitCode> {
  using signals = watchSignals();
  const { signal } = signals;
  const color = wantsColor({ flag: globals.color, env: process.env, isTty: isatty(out.fd) });
  const style = theme(color, "auto");
  const columns = Math.min(isatty(out.fd) ? ((process.stdout as WriteStream).columns ?? 80) : 80, 100);
  const transcript = new Transcript({
    style,
    links: false,
    markdown: true,
    showTokens: false,
    showToolCalls: true,
    showReasoning: false,
    redact: (text) => text,
    width: () => columns,
  });
  const say = (...lines: string[]) => out.write(lines.map((line) => `${line}\n`).join(""));
  const terminal = terminalFront({ color, theme: "auto", signal, interrupt: () => signals.interrupt() });
  const ask: Front["ask"] = async (request, until, behind) => {
    await say("");
    if (!yes) return terminal.ask(request, until, behind);
    const place = style.prompt(`${request.where}${signOf(request)}`);
    await say(`${place} ${request.action} -- approve? ${style.ok("y")} (--yes)`);
    return { kind: "yes" };
  };
  await using run = await composeDemo(globals, (message) => void say(`buddy: ${message}`));
  await greet(run, say, style, columns);
  const watching = isatty(0) && isatty(out.fd) && !yes;
  let failure: unknown;
  try {
    if (watching && run.target.opened?.panes !== undefined) await waitForEnter(style, signal);
    const show = async (event: AgentEvent): Promise<void> => {
      if (event.type === "turn" || event.type === "session" || event.type === "usage") return;
      transcript.event(event);
      if (event.type === "error") failure = new BuddyError("tool", event.message, { hint: event.hint });
      if (transcript.waiting > 0) await say(...transcript.take(transcript.waiting));
      // Read at the pace of a person; a script is not kept waiting.
      if (watching && (event.type === "message" || event.type === "tool_finished")) await pause(PACE_MS, signal);
    };
    const seat = run.desk.attach({ ...terminal, ask, show, setsPace: true });
    for await (const _ of run.agent.runTurn("show me around", signal));
    await seat.caughtUp();
  } finally {
    // A complete tour says how to remove its file; one that was stopped removes it.
    await Promise.all([out.flush(), closePane(run), signal.aborted && removeFile(run)]);
  }
  signal.throwIfAborted();
  if (failure !== undefined) throw failure;
  return EXIT.ok;
}

const PACE_MS = 700;
const AGENT_NAME = "demo";
const SOCKET = "buddy";

/**
 * Built-in defaults only: a configuration that is broken or switches tools off must not spoil the first impression.
 */
async function composeDemo(globals: GlobalOptions, problem: (message: string) => void): Promise<Run> {
  const { loadConfig } = await import("../../../config/load.ts");
  const loaded = await loadConfig({
    flags: { config: globals.config ?? "/dev/null" },
    env: process.env,
    cwd: currentDirectory(),
    create: false,
  });
  const { config } = loaded;
  const named = {
    ...loaded,
    config: { ...config, agent: { ...config.agent, name: AGENT_NAME }, tmux: { ...config.tmux, socket: SOCKET } },
  };
  return composeRun({
    globals,
    loaded: named,
    client: createDemoClient("tour"),
    record: false,
    problem,
  });
}

async function greet(
  run: Run,
  say: (...lines: string[]) => Promise<void>,
  style: Theme,
  columns: number,
): Promise<void> {
  const { identity, panes } = await run.target.get();
  const wrapped = (text: string) => Bun.wrapAnsi(text, columns);
  const where = `${identity.user}@${identity.host}`;
  await say(wrapped(`${style.bold("buddy demo")} on ${where}: no key, no network, about half a minute`));
  if (panes !== undefined && identity.attach !== undefined) {
    await say("Watch it at work in a second terminal:", "", `    ${style.bold(identity.attach)}`, "");
    return;
  }
  const { howToInstall } = await import("../doctor/machine.ts");
  const remedy = run.globals.tmux === "never" ? "leave out --no-tmux" : howToInstall("tmux");
  await say(wrapped(`There is no tmux pane to watch; everything else works. To get one: ${remedy}`), "");
}

/** Not a blocking read: a signal would have to wait for Enter. */
async function waitForEnter(style: Theme, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const terminal = openTerminal();
  if (terminal === undefined) return;
  await Bun.write(Bun.stdout, style.grey("Press Enter to begin. "));
  await new Promise<void>((resolve, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    read(terminal, Buffer.alloc(1024), 0, 1024, null, () => resolve());
  });
  closeSync(terminal);
}

async function removeFile(run: Run): Promise<void> {
  const child = run.target.opened?.transport.spawn(["rm", "-f", TOUR_FILE]);
  child?.stdin.end();
  await child?.exited;
}

/** Ends the tour's own session; the operator's have another name or another server. */
async function closePane(run: Run): Promise<void> {
  const target = run.target.opened;
  const session = target?.identity.tmuxSession;
  if (target === undefined || session === undefined || run.globals.tmuxSession !== undefined) return;
  const child = target.transport.spawn(["tmux", "-L", SOCKET, "kill-session", "-t", `=${session}`]);
  child.stdin.end();
  await child.exited;
}
