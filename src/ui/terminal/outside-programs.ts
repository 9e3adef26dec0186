/** The operator's own pager and editor, which take the terminal for a while. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { BuddyError } from "../../lib/errors.ts";
import { childEnv, startChild } from "../../lib/start-child.ts";

type Env = Readonly<Record<string, string | undefined>>;

/** $PAGER, unless it only prints, as cat does. */
export function pagerCommand(env: Env): string | undefined {
  const command = env.PAGER?.trim() ?? "";
  return command === "" || /^(\S*\/)?cat\b/.test(command) ? undefined : command;
}

/**
 * The text on stdin, as every pager takes it; keys it reads from the terminal. `terminal` is where it writes, when
 * that is not stdout.
 */
export async function runPager(command: string, lines: readonly string[], env: Env, terminal?: number): Promise<void> {
  await inTemporaryFile(`${lines.join("\n")}\n`, async (path) => {
    const code = await run(`{ ${command}\n} <"$1"`, path, { LESS: "-R", ...env }, terminal);
    if (code !== 0)
      throw new BuddyError("usage", `the pager failed: ${command} (exit code ${code})`, {
        hint: "PAGER sets it; without PAGER buddy uses its own viewer.",
      });
  });
}

/** The text as the operator left it; throws when there is no editor, or it failed. */
export async function runEditor(text: string, env: Env, terminal?: number): Promise<string> {
  const command = env.VISUAL?.trim() || env.EDITOR?.trim() || "vi";
  return await inTemporaryFile(text === "" ? "" : `${text}\n`, async (path) => {
    const code = await run(`${command} "$1"`, path, env, terminal);
    if (code !== 0)
      throw new BuddyError("usage", `the editor failed: ${command} (exit code ${code}); nothing was changed`, {
        hint: "VISUAL or EDITOR sets it.",
      });
    const edited = readFileSync(path, "utf8");
    if (edited.length > LONGEST) throw new BuddyError("usage", "the text is longer than 8 MB; nothing was changed");
    return edited.replace(/\r\n/g, "\n").replace(/\n+$/, "");
  });
}

/** The exit code of a shell command with the path as $1. */
async function run(command: string, path: string, env: Env, terminal: number | undefined): Promise<number> {
  const on = terminal ?? "inherit";
  const child = startChild(["sh", "-c", command, "sh", path], {
    stdin: on,
    stdout: on,
    stderr: on,
    env: childEnv({}, env),
  });
  return await child.exited;
}

/** In a directory for its owner alone: the text may be secret. */
async function inTemporaryFile<T>(text: string, use: (path: string) => Promise<T>): Promise<T> {
  const directory = mkdtempSync(join(tmpdir(), "buddy-text-"));
  try {
    const path = join(directory, "buddy.txt");
    writeFileSync(path, text, { mode: 0o600 });
    return await use(path);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

const LONGEST = 8 * 1024 * 1024;
