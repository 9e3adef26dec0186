/** argv → exit code: finds the command, reads its arguments, runs it, and turns errors into words. */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { currentDirectory } from "../lib/byte-names.ts";
import { BuddyError, EXIT, type ExitCode } from "../lib/errors.ts";
import { closestMatch } from "../lib/text.ts";
import { tracing } from "../lib/trace.ts";
import { RELEASES, VERSION } from "../lib/version.ts";
import { type GlobalOptions, readGlobalOptions } from "./args/options.ts";
import { argumentsOf, commandName, isCommand, judgeTokens, type Token, tokensFor } from "./args/parse-arguments.ts";
import { COMMANDS, loadCommand } from "./command.ts";
import { handleCrashes } from "./signals-and-crashes.ts";

export async function runCommandLine(argv: readonly string[]): Promise<ExitCode> {
  // An error in a promise that nothing awaits must not print a stack trace either.
  handleCrashes(async (error) => process.exit(await report(error, argv)));
  const code = await dispatch(argv).catch((error: unknown) => report(error, argv));
  if (tracing()) (await import("../app/tracing.ts")).endTrace(code);
  return code;
}

/** The command line itself may be wrong, so it is only scanned here, not parsed. */
async function report(error: unknown, argv: readonly string[]): Promise<ExitCode> {
  const { reportError } = await import("./report-error.ts");
  const flags = argv.slice(0, argv.includes("--") ? argv.indexOf("--") : argv.length);
  const asked = flags.some((arg) => /^(-[a-zA-Z]*v[a-zA-Z]*|--verbose|--debug)$/.test(arg));
  const verbose = asked || /^(verbose|debug|trace)$/i.test(process.env["BUDDY_LOG"] ?? "");
  const secrets = flags.flatMap((arg, i) =>
    arg === "--api-key" ? [flags[i + 1] ?? ""] : (/^--api-key=(.*)$/.exec(arg)?.[1] ?? []),
  );
  return reportError(error, { verbose, secrets, ...(flags.includes("--no-color") ? { color: false } : {}) });
}

async function dispatch(argv: readonly string[]): Promise<ExitCode> {
  dropRelativePath();
  if (argv[0] === "__complete") return (await import("./args/complete.ts")).complete(argv.slice(1));
  const word = await commandName(argv);
  const name = word !== undefined && isCommand(word) ? word : "";
  if (word === "all" && argv.some((arg) => arg === "--help" || arg === "-h"))
    return print((await import("./args/help.ts")).rootHelp());
  if (word !== undefined && name === "") refuseMistyped(word);
  const command = await loadCommand(name);
  const tokens = tokensFor(argv, name, command.args);
  if (has(tokens, "version")) return print(has(tokens, "verbose") ? versionDetails() : `buddy ${VERSION}`);
  if (has(tokens, "help")) {
    const { commandHelp, shortHelp } = await import("./args/help.ts");
    return print(name === "" ? shortHelp() : commandHelp(command));
  }
  const parsed = judgeTokens(tokens, name, command.args, currentDirectory());
  const globals = readGlobalOptions(parsed.globals);
  enterDirectory(globals);
  checkLimits();
  if (globals.trace !== undefined || globals.debug === true) await startTrace(globals, argv);
  return command.run({ args: argumentsOf(parsed, command.args), globals, literal: parsed.literal });
}

async function startTrace({ trace: file, debug, apiKey }: GlobalOptions, argv: readonly string[]): Promise<void> {
  const tracing = await import("../app/tracing.ts");
  tracing.startTrace({ file, lines: debug === true, argv, secrets: apiKey === undefined ? [] : [apiKey] });
}

/** In a directory that PATH names relative to the current one, a repository could have a program of any name. */
function dropRelativePath(): void {
  const { PATH } = process.env;
  if (PATH === undefined || allAbsolute(PATH)) return;
  const absolute = PATH.split(":").filter((directory) => directory.startsWith("/"));
  // An empty PATH means the current directory.
  process.env["PATH"] = absolute.join(":") || "/usr/bin:/bin";
}

/** Without a regular expression, whose first use takes longer than all of this. */
function allAbsolute(path: string): boolean {
  for (let at = 0; path[at] === "/"; at++) if ((at = path.indexOf(":", at)) < 0) return true;
  return false;
}

/** For a bug report. */
function versionDetails(): string {
  const compiled = Bun.main.startsWith("/$bunfs/") ? process.execPath : "not compiled";
  return [
    `buddy ${VERSION}`,
    `build    ${RELEASES === undefined ? "from a checkout" : `release of ${RELEASES}`}`,
    `binary   ${compiled}`,
    `system   ${process.platform} ${process.arch}`,
    `runtime  Bun ${Bun.version} (${Bun.revision.slice(0, 9)})`,
  ].join("\n");
}

function has(tokens: readonly Token[], name: string): boolean {
  return tokens.some((token) => token.kind === "flag" && token.name === name);
}

/** Anything but a command is a prompt for the REPL, unless it looks like a command that was mistyped. */
function refuseMistyped(word: string): void {
  if (word.trim() === "")
    throw new BuddyError("usage", "empty command name", { hint: "buddy --help lists the commands" });
  if (/\s/.test(word)) return;
  const meant = word === "version" ? "--version" : closestMatch(word, Object.keys(COMMANDS));
  const prompt = `To ask for something: buddy "${word.replaceAll('"', '\\"')} …" or buddy exec "${word.replaceAll('"', '\\"')} …"`;
  if (meant !== undefined)
    throw new BuddyError("usage", `unknown command "${word}"; did you mean ${meant}?`, { hint: prompt });
  // A single word is more often a command of another program than a question.
  if (/^[a-z][a-z0-9-]*$/.test(word))
    throw new BuddyError("usage", `unknown command "${word}"`, { hint: `${prompt}\nbuddy --help lists the commands` });
}

function print(text: string): ExitCode {
  console.log(text);
  return EXIT.ok;
}

/** For this machine only; on another one --cd names a directory of the target, which the target checks. */
function enterDirectory({ cd, ssh, container, on }: GlobalOptions): void {
  if (cd === undefined || ssh !== undefined || container !== undefined || on !== undefined) return;
  try {
    process.chdir(resolve(cd));
  } catch (error) {
    const why = (error as NodeJS.ErrnoException).code;
    const words = { ENOENT: "no such directory", ENOTDIR: "it is not a directory", EACCES: "permission denied" };
    throw new BuddyError("usage", `--cd ${cd}: ${words[why as keyof typeof words] ?? String(error)}`, { cause: error });
  }
}

// Limits of this process (`ulimit`) that would crash or kill the runtime itself: reported first, or handled.

/** Pipes of a shell, its runner and the cleanup, sockets, session and locks: about 30 at once. */
const FEWEST_FILES = 64;
/** Threads count, too: the runtime's own, a shell, tmux and what the command starts. */
const FEWEST_PROCESSES = 64;

function checkLimits(): void {
  let limits: string;
  try {
    limits = readFileSync("/proc/self/limits", "latin1");
  } catch {
    return;
  }
  const files = Number.parseInt(limitOf(limits, "\nMax open files "), 10);
  if (files < FEWEST_FILES) throw tooFew(`${files} files may be open at once`, "ulimit -n", FEWEST_FILES);
  const processes = Number.parseInt(limitOf(limits, "\nMax processes "), 10);
  // The kernel does not count those of root.
  if (processes < FEWEST_PROCESSES && process.getuid?.() !== 0)
    throw tooFew(`${processes} processes and threads may run at once`, "ulimit -u", FEWEST_PROCESSES);
  // Without a listener a write past the limit kills the process; with one it fails like on a full disk.
  if (!limitOf(limits, "\nMax file size ").startsWith("unlimited")) process.on("SIGXFSZ", () => {});
}

function tooFew(what: string, command: string, fewest: number): BuddyError {
  return new BuddyError("usage", `only ${what} (${command}); buddy needs ${fewest}`, {
    hint: `Raise the limit before you start it: ${command} 1024`,
  });
}

/** The columns after a name; "" without it. */
function limitOf(limits: string, name: string): string {
  const at = limits.indexOf(name);
  return at < 0 ? "" : limits.slice(at + name.length, at + name.length + 60).trimStart();
}
