/** `buddy demo`: the guided run. Real pane, real commands, real policy; only the model is a script. */
import { openSync, readSync } from "node:fs";
import { isatty, type WriteStream } from "node:tty";
import { wantsColor } from "../lib/color.ts";
import { BuddyError, EXIT, type ExitCode } from "../lib/errors.ts";
import { Output } from "../lib/output.ts";
import { pause } from "../lib/pause.ts";
import { createDemoClient } from "../model/demo-client.ts";
import type { Asker } from "../policy/approvals.ts";
import { theme, type Theme } from "../ui/theme.ts";
import { Transcript } from "../ui/transcript.ts";
import { composeRun, type Run } from "./compose.ts";
import type { GlobalOptions } from "./options.ts";
import { watchSignals } from "./signals.ts";

export async function demo(
  { yes }: { readonly yes: boolean },
  globals: GlobalOptions,
  out = new Output(1),
): Promise<ExitCode> {
  using signals = watchSignals();
  const { signal } = signals;
  const color = wantsColor({ flag: globals.color, env: process.env, isTty: isatty(out.fd) });
  const style = theme(color);
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
  // The loop runs ahead of what has been shown: a question waits until the reader has come to it.
  const shown = new Map<string, PromiseWithResolvers<void>>();
  const reached = (approval: string) => {
    const known = shown.get(approval) ?? Promise.withResolvers<void>();
    shown.set(approval, known);
    return known;
  };
  const asker: Asker = {
    ask: async (request, until) => {
      await reached(request.id).promise;
      await say("");
      if (yes) {
        await say(`${style.prompt(`${request.where}$`)} ${request.action} -- approve? ${style.ok("y")} (--yes)`);
        return { kind: "yes" };
      }
      const { askOnTerminal } = await import("../ui/tty-question.ts");
      return askOnTerminal(request, until, { color, interrupt: () => signals.interrupt() });
    },
  };
  await using run = await composeDemo(globals, asker, (message) => void say(`buddy: ${message}`));
  await greet(run, say, style);
  const watching = isatty(0) && isatty(out.fd) && !yes;
  if (watching && run.target.opened?.panes !== undefined) await waitForEnter(style);
  let failure: unknown;
  try {
    for await (const event of run.agent.runTurn("show me around", signal)) {
      if (event.type === "turn" || event.type === "session" || event.type === "usage") continue;
      transcript.event(event);
      if (event.type === "approval_asked") reached(event.approval).resolve();
      if (event.type === "error") failure = new BuddyError("tool", event.message, { hint: event.hint });
      if (transcript.waiting > 0) await say(...transcript.take(transcript.waiting));
      // Read at the pace of a person; a script is not kept waiting.
      if (watching && (event.type === "message" || event.type === "tool_finished")) await pause(PACE_MS, signal);
    }
  } finally {
    await Promise.all([out.flush(), closePane(run)]);
  }
  signal.throwIfAborted();
  if (failure !== undefined) throw failure;
  return EXIT.ok;
}

const PACE_MS = 700;
const AGENT_NAME = "demo";
const SOCKET = "buddy";

/** Built-in defaults only: a configuration that is broken, or that switches tools off, must not spoil the first look. */
async function composeDemo(globals: GlobalOptions, asker: Asker, problem: (message: string) => void): Promise<Run> {
  const { loadConfig } = await import("../config/load.ts");
  const loaded = await loadConfig({
    flags: { config: globals.config ?? "/dev/null" },
    env: process.env,
    cwd: process.cwd(),
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
    asker,
    client: createDemoClient({ playbook: "tour" }),
    record: false,
    problem,
  });
}

async function greet(run: Run, say: (...lines: string[]) => Promise<void>, style: Theme): Promise<void> {
  const { identity, panes } = await run.target.get();
  await say(
    `${style.bold("buddy demo")} on ${identity.user}@${identity.host}: no key, no network, about half a minute`,
  );
  if (panes !== undefined && identity.attach !== undefined) {
    await say("Watch it at work in a second terminal:", "", `    ${style.bold(identity.attach)}`, "");
    return;
  }
  const { howToInstall } = await import("./doctor/finding.ts");
  const remedy = run.globals.tmux === "never" ? "leave out --no-tmux" : howToInstall("tmux");
  await say(`There is no tmux here, so there is no pane to watch; the rest works. To have one: ${remedy}`, "");
}

async function waitForEnter(style: Theme): Promise<void> {
  await Bun.write(Bun.stdout, style.grey("Press Enter to begin. "));
  const terminal = openSync("/dev/tty", "r");
  readSync(terminal, Buffer.alloc(1024));
}

/** The tour's own session is taken away again; the operator's are on another name or another server. */
async function closePane(run: Run): Promise<void> {
  const target = run.target.opened;
  const session = target?.identity.tmuxSession;
  if (target === undefined || session === undefined || run.globals.tmuxSession !== undefined) return;
  const child = target.transport.spawn(["tmux", "-L", SOCKET, "kill-session", "-t", `=${session}`]);
  child.stdin.end();
  await child.exited;
}
