/** `buddy`: the REPL on a terminal, or line by line where the terminal cannot do more. */
import { showLine } from "../../../policy/screen/terminal-text.ts";
import { isatty, type ReadStream, type WriteStream } from "node:tty";
import { loadConfiguration } from "../../../app/configuration.ts";
import { replHost } from "../../../app/repl/repl-host.ts";
import { composeRun, type Run } from "../../../app/run.ts";
import type { LoadedConfig } from "../../../config/load.ts";
import { buddyPaths, shownPath } from "../../../config/paths.ts";
import { resolveProfile } from "../../../config/profiles.ts";
import { BuddyError, EXIT, type ExitCode, exitCodeOf } from "../../../lib/errors.ts";
import { log } from "../../../lib/log.ts";
import { Output } from "../../../lib/output.ts";
import { wantsColor } from "../../../lib/terminal.ts";
import { unlessAborted, within } from "../../../lib/waiting.ts";
import { yesOnTerminal } from "../../../ui/questions/confirm-on-terminal.ts";
import type { Display, ReplHost } from "../../../ui/repl/host.ts";
import type { LineInput } from "../../../ui/repl/line-screen.ts";
import { themeFromEnv } from "../../../ui/theme.ts";
import type { GlobalOptions } from "../../args/options.ts";
import { handleCrashes, watchSignals } from "../../signals-and-crashes.ts";

interface ReplOptions {
  /** Id, unique start of one, or `last` of a saved session to continue. */
  readonly resume?: string | undefined;
  /** Continue in a copy of it. */
  readonly fork?: boolean;
  /** Sent as the first prompt. */
  readonly prompt?: string | undefined;
}

export async function repl(options: ReplOptions, globals: GlobalOptions): Promise<ExitCode> {
  if (!isatty(0)) {
    throw new BuddyError("usage", "stdin is not a terminal; use buddy exec", {
      hint: `For example: ${options.resume === undefined ? 'echo "…" | buddy exec' : `buddy exec --resume ${options.resume} "…"`}`,
    });
  }
  const connected = await withModel(globals);
  if (connected === undefined) return EXIT.ok;
  const { loaded } = connected;
  globals = connected.globals;
  const problems: string[] = [];
  let problem = (message: string): void => void problems.push(message);
  const compose = (resume: string | undefined, fork: boolean | undefined) =>
    composeRun({ globals, loaded, askOverBudget: true, resume, fork, problem: (message) => problem(message) });
  await using run = await compose(options.resume, options.fork).catch(async (error: unknown) => {
    const { SessionInUse } = await import("../../../session/session-lock.ts");
    if (error instanceof SessionInUse && (await yesOnTerminal(`${error.message}.\nContinue in a copy of it?`)))
      return compose(error.id, true);
    const { withNoModelHint } = await import("../../../app/model/first-model.ts");
    throw await withNoModelHint(error);
  });
  await requireSignIn(loaded, run);
  // ssh may ask for a password or about a host key: it needs the terminal before the REPL takes it.
  if (run.fleet === undefined && run.place.path[0]?.kind === "ssh") await openFirst(run);
  const { display } = loaded.config;
  const screen: Display = {
    color: wantsColor({ flag: globals.color, env: process.env, isTty: isatty(1), setting: display.color }),
    showTokens: display.show_tokens,
    showToolCalls: display.show_tool_calls,
    showReasoning: display.show_reasoning,
    markdown: display.markdown,
    ...chosenTheme(display.theme),
    notify: display.notify,
  };
  const host = replHost({ run, loaded, globals: run.globals, display: screen, resumed: options.resume !== undefined });
  const ui = await openUi(host);
  problem = (message) => ui.warn(message);
  for (const message of [...problems, ...run.notes]) ui.warn(message);
  if (globals.debug === true) (await import("../../../app/tracing.ts")).showTraceBy((line) => ui.say([line]));
  // By itself Bun prints an uncaught error and continues: a half-broken REPL on a terminal in raw mode.
  const crashes = handleCrashes((error) => ui.crash(error));
  const done = ui.run();
  if (options.resume !== undefined) ui.sayLastExchange();
  if (options.prompt !== undefined) ui.submit(options.prompt);
  // After the first frame: opening must not hold up the prompt.
  const opening = setTimeout(() => void openTarget(run, ui), 0);
  const code = await done.finally(() => {
    clearTimeout(opening);
    crashes[Symbol.dispose]();
  });
  problem = (message) => log.warn(message);
  if (code !== EXIT.ok) run.hurry();
  if (ui.stuck) {
    await run[Symbol.asyncDispose]();
    process.exit(code);
  }
  if (!globals.quiet) await new Output(1).write(await farewell(run, host));
  return code;
}

/** The configuration, after the user chose a model if there was none; undefined if they left. */
async function withModel(
  globals: GlobalOptions,
): Promise<{ readonly loaded: LoadedConfig; readonly globals: GlobalOptions } | undefined> {
  const loaded = await loadConfiguration(globals, { create: false });
  const { needsModel } = await import("../../../app/model/first-model.ts");
  const own = globals.config ?? buddyPaths(process.env)?.config;
  if (own === undefined || !(await needsModel(loaded)))
    return { loaded: loaded.files.includes(own ?? "") ? loaded : await loadConfiguration(globals), globals };
  const [{ setupQuestions }, { connectModel, saveModel }] = await Promise.all([
    import("../../../ui/questions/setup-questions.ts"),
    import("../init/connect-model.ts"),
  ]);
  const questions = setupQuestions();
  if (questions === undefined) return { loaded, globals };
  const chosen = await connectModel(process.env, questions);
  if (chosen === undefined) return undefined;
  const { style } = questions;
  if (chosen.model.table === undefined) globals = { ...globals, model: chosen.model.profile };
  else {
    saveModel(own, chosen, process.env);
    const answered = chosen.answered === "" ? "" : `${chosen.answered}. `;
    questions.say(
      `${style.ok("●")} ${answered}Saved in ${style.code(shownPath(own, loaded))} ${style.grey("(only you can read it)")}`,
    );
  }
  questions.say(
    "",
    `Say what you need. Read-only commands run automatically; buddy asks before any change. ${style.code("/help")} has the rest.`,
    "",
  );
  return { loaded: await loadConfiguration(globals), globals };
}

/** As configured, or as the environment describes the background; without either, the terminal is asked. */
function chosenTheme(setting: LoadedConfig["config"]["display"]["theme"]): Pick<Display, "theme"> {
  if (setting !== "auto") return { theme: setting };
  const known = themeFromEnv(process.env);
  return known === undefined ? {} : { theme: known };
}

/** How to come back, and what keeps running. */
async function farewell(run: Run, host: ReplHost): Promise<string> {
  const { shells } = (await within(host.work(), FAREWELL_MS)) ?? { shells: [] };
  const stay = shells
    .filter(({ status }) => status === "running")
    .map(({ id, command }) => `still running: ${id}  ${showLine(command)}\n`);
  return `${stay.join("")}${run.sessions.isKept ? `session ${run.sessions.id}: buddy resume ${run.sessions.id}\n` : ""}`;
}

const FAREWELL_MS = 1000;

/** Before the first prompt, so that no prompt is typed in vain. */
async function requireSignIn(loaded: LoadedConfig, run: Run): Promise<void> {
  const { name, auth } = run.agent.client.profile;
  if (auth !== "login" || resolveProfile(loaded, name).key !== undefined) return;
  const { PROVIDER, signInParts } = await import("../../../app/model/sign-in.ts");
  const { store } = await signInParts();
  if (store.read(PROVIDER) !== undefined) return;
  const { withNoModelHint } = await import("../../../app/model/first-model.ts");
  throw await withNoModelHint(
    new BuddyError("auth", `not signed in for profile ${name}`, { hint: `Sign in with: buddy login ${name}` }),
  );
}

/** Ctrl-C ends the attempt and what it has started. */
async function openFirst(run: Run): Promise<void> {
  using signals = watchSignals();
  await unlessAborted(signals.signal, run.target.get());
}

type Ui = Awaited<ReturnType<typeof openUi>>;

/** A machine that cannot be reached ends the REPL: nothing may run on another one instead. */
async function openTarget(run: Run, ui: Ui): Promise<void> {
  run.extensions.mcp?.servers.start();
  // With several machines, one that cannot be reached is reported when it is used.
  if (run.fleet !== undefined) return run.fleet.start();
  const first = run.target;
  try {
    await first.get();
    if (run.target === first) ui.targetOpened();
  } catch (error) {
    // The operator may have left it with /on while it was being opened.
    if (run.target === first) ui.fatal(error, exitCodeOf(error));
  }
}

async function openUi(host: ReplHost) {
  const [{ Repl }, { terminalEncoder }] = await Promise.all([
    import("../../../ui/repl/repl.ts"),
    import("../../../ui/terminal/ascii.ts"),
  ]);
  const encode = terminalEncoder(process.env);
  if (!isatty(1) || process.env.TERM === "dumb" || plainWanted(process.env.BUDDY_PLAIN)) {
    const { LineScreen } = await import("../../../ui/repl/line-screen.ts");
    const columns = isatty(1) ? ((process.stdout as WriteStream).columns ?? 80) : 80;
    const out = new Output(1);
    const repl = new Repl(host, new LineScreen(lineInput(process.stdin), (text) => out.write(encode(text)), columns));
    // `buddy | head`: the reader is gone.
    out.onBroken(() => repl.leave(EXIT.ok));
    return repl;
  }
  const [{ TerminalScreen }, { Terminal, standardOutput }] = await Promise.all([
    import("../../../ui/repl/terminal-screen.ts"),
    import("../../../ui/terminal/terminal.ts"),
  ]);
  const terminal = new Terminal(process.stdin as ReadStream, standardOutput(process.stdout as WriteStream, encode));
  return new Repl(host, new TerminalScreen(terminal, process.env));
}

function plainWanted(value: string | undefined): boolean {
  return value !== undefined && value !== "" && value !== "0";
}

function lineInput(stdin: NodeJS.ReadStream): LineInput {
  return {
    start(line, end) {
      const decoder = new TextDecoder();
      let rest = "";
      stdin.on("data", (chunk: Uint8Array) => {
        const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
        rest = lines.pop() ?? "";
        for (const text of lines) line(text.replace(/\r$/, ""));
      });
      stdin.on("end", () => {
        if (rest !== "") line(rest);
        end();
      });
      stdin.on("error", () => end(true));
    },
    stop: () => void stdin.pause(),
  };
}
