/** Commands that run without buddy: detached on the target, recorded in a private directory, found again later. */
import { randomBytes } from "node:crypto";
import { shownName } from "../../lib/byte-names.ts";
import { BuddyError } from "../../lib/errors.ts";
import { LineFilter, LONGEST_SEARCHED } from "../../lib/line-filter.ts";
import { unlessAborted } from "../../lib/waiting.ts";
import { wholeCharacters } from "../../lib/text.ts";
import { KILL, LIST, LOOK, SEEN, START } from "./background-scripts.ts";
import { bareFunction } from "../read-only/clean-environment.ts";
import { type CleanScript, withVariables } from "../read-only/clean-script.ts";
import type { BackgroundOutput, BackgroundShell, BackgroundShells, ScriptResult, Transport } from "../target.ts";

const LOOK_BYTES = 1024 * 1024;
const STATE_FIELDS = 6;

export interface BackgroundOptions {
  readonly cwd: () => string;
  /** File on the target with the exported variables and the umask of the shell. */
  readonly environment?: () => string | undefined;
  /** Lines of sh that run a command without approval, as a clean child. */
  readonly clean: CleanScript;
  /** Enforced on the target itself. */
  readonly timeoutMs: number;
  /** Id of the current session: each session has its own shells, and its own position in the output of any shell. */
  readonly session?: (() => string) | undefined;
}

interface Seen {
  readonly stdout: number;
  readonly stderr: number;
}

export function backgroundShells(transport: Transport, options: BackgroundOptions): BackgroundShells {
  const folder = () => (options.session?.() ?? "").replaceAll(/[^A-Za-z0-9_-]/g, "-") || "shared";
  const seen = new Map<string, Seen>();
  /** How far each filter has read; a call without a filter still gets what a filter left out. */
  const filtered = new Map<string, Seen>();
  /** One call at a time for each shell: two at once would get the same text. */
  const looking = new Map<string, Promise<void>>();
  let base = "";
  const learnBase = (directory: string) => {
    base = directory.split("/").slice(0, -2).join("/");
  };

  const ask = async (script: string, id: string, args: readonly string[] = [], slow = false) => {
    if (!/^[A-Za-z0-9_-]+$/.test(id)) throw unknown(id);
    const result = await transport.run(script, { args: [base, id, ...args], slow });
    if (result.code === 42) throw unknown(id);
    if (result.code !== 0) throw failure(result);
    return result;
  };

  const lookAt = async (id: string, limit: number, filter: string | undefined) => {
    const known = filter === undefined ? seen.get(id) : later(seen.get(id), filtered.get(`${id} ${filter}`));
    const from = known === undefined ? [] : [String(known.stdout), String(known.stderr)];
    const result = await ask(LOOK, id, [folder(), String(limit), ...from]);
    const { look, next } = readLook(result.stdout, limit);
    learnBase(look.outputFile.slice(0, -"/output".length));
    if (filter !== undefined) {
      filtered.set(`${id} ${filter}`, next);
      return await matching(look, filter);
    }
    seen.set(id, next);
    // Stored on the target for a resumed session; if that fails, text is shown twice rather than never.
    ask(SEEN, id, [folder(), String(next.stdout), String(next.stderr)]).catch(noop);
    return look;
  };

  return {
    async start(command, { signal, unasked, shown, cwd = options.cwd() } = {}) {
      if (command.trim() === "") throw new BuddyError("target", "the command is empty");
      if (command.includes("\0")) throw new BuddyError("target", "a command cannot contain a NUL byte");
      const id = `sh-${randomBytes(4).toString("hex")}`;
      const startedAt = Date.now();
      const cap = String(Math.max(1, Math.ceil(options.timeoutMs / 1000)));
      signal?.throwIfAborted();
      const script =
        unasked === undefined
          ? command
          : asCleanChild(options.clean(withVariables(command, unasked), unasked, BEGUN, true));
      const starting = transport.run(START, {
        args: [
          base,
          folder(),
          id,
          cwd,
          cap,
          String(startedAt),
          unasked === undefined ? (options.environment?.() ?? "") : "",
          unasked === undefined ? "" : "1",
          shown ?? (unasked === undefined ? "" : command),
        ],
        input: script.endsWith("\n") ? script : `${script}\n`,
      });
      const result = await unlessAborted(signal, starting).catch((error: unknown) => {
        // The caller will never know its id, so it must not keep running.
        if (signal?.aborted) starting.then(() => ask(KILL, id, [], true)).catch(noop);
        throw error;
      });
      const [directory, pid] = result.stdout.toString().split("\0");
      if (result.code === 7)
        throw new BuddyError("target", `the working directory ${shownName(cwd)} is gone, renamed or removed`, {
          hint: "Change the directory first.",
        });
      if (result.code !== 0 || !directory || !pid) throw failure(result);
      learnBase(directory);
      return { id, pid: Number(pid), command, outputFile: `${directory}/output`, status: "running", startedAt };
    },

    async output(id, { filter, limit = LOOK_BYTES } = {}) {
      if (filter !== undefined) new LineFilter(filter)[Symbol.dispose]();
      const before = looking.get(id) ?? Promise.resolve();
      const look = before.then(() => lookAt(id, Math.max(4, Math.trunc(limit)), filter));
      const settled = look.then(noop, noop);
      looking.set(id, settled);
      void settled.then(() => looking.get(id) === settled && looking.delete(id));
      return await look;
    },

    async kill(id) {
      const result = await ask(KILL, id, [], true);
      const fields = result.stdout.toString().split("\0");
      const left = (fields[STATE_FIELDS] ?? "").split(" ").filter(Boolean).map(Number);
      return { ...shellOf(fields), ...(left.length === 0 ? {} : { leftRunning: left }) };
    },

    async list() {
      const result = await transport.run(LIST, { args: [base] });
      if (result.code !== 0) throw failure(result);
      const fields = result.stdout.toString().split("\0").slice(0, -1);
      const shells: BackgroundShell[] = [];
      for (let at = 0; at < fields.length; at += STATE_FIELDS)
        shells.push(shellOf(fields.slice(at, at + STATE_FIELDS)));
      const isOwn = ({ outputFile }: BackgroundShell) => outputFile.split("/").at(-3) === folder();
      return shells.map((shell) => ({ ...shell, own: isOwn(shell) })).sort((a, b) => a.startedAt - b.startedAt);
    },
  };
}

/** Next to the command file. The namespace that the command enters ends with buddy, so START waits for this file. */
const BEGUN = '"${0%/*}/begun"';

/** The lines of a clean child expect stderr as 9. */
function asCleanChild(lines: string): string {
  return `${bareFunction("")}{ ${lines}\n} 9>&2 2>/dev/null\nexit $__buddy_code\n`;
}

function later(one: Seen | undefined, other: Seen | undefined): Seen | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return { stdout: Math.max(one.stdout, other.stdout), stderr: Math.max(one.stderr, other.stderr) };
}

function shellOf(fields: readonly string[]): BackgroundShell {
  const [directory = "", pid, status, code, started, command = ""] = fields;
  if (status !== "running" && status !== "completed" && status !== "failed" && status !== "killed") {
    throw new BuddyError("internal", `unexpected state of a background shell: ${status}`);
  }
  return {
    id: directory.slice(directory.lastIndexOf("/") + 1),
    pid: Number(pid),
    command: command.trimEnd(),
    outputFile: `${directory}/output`,
    status,
    startedAt: Number(started),
    ...(code ? { exitCode: Number(code) } : {}),
  };
}

function readLook(answer: Buffer, limit: number): { look: BackgroundOutput; next: Seen } {
  let at = 0;
  const field = () => {
    const end = answer.indexOf(0, at);
    const text = answer.toString("utf8", at, end);
    at = end + 1;
    return text;
  };
  const shell = shellOf(Array.from({ length: STATE_FIELDS }, field));
  const [outFrom, outSize, outSent, errFrom, errSize, errSent] = Array.from({ length: 6 }, () => Number(field())) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  const out = answer.subarray(at, at + outSent);
  const err = answer.subarray(at + outSent, at + outSent + errSent);
  const ended = shell.status !== "running";
  // Both together stay within the limit; one may use what the other does not need.
  const errShare = Math.min(err.length, Math.max(Math.floor(limit / 2), limit - out.length));
  const outShare = Math.min(out.length, limit - errShare);
  const stdout = whole(out.subarray(0, outShare), outShare < outSize - outFrom, ended);
  const stderr = whole(err.subarray(0, errShare), errShare < errSize - errFrom, ended);
  const next = { stdout: outFrom + stdout.length, stderr: errFrom + stderr.length };
  const moreBytes = outSize - next.stdout + (errSize - next.stderr);
  return { look: { ...shell, stdout: stdout.toString(), stderr: stderr.toString(), moreBytes }, next };
}

/**
 * Without half a line or half a private key at the end: a secret in two pieces would not be recognised, and a filter
 * would miss it. A line that is too long, and the last output, are returned as they are.
 */
function whole(bytes: Buffer, cut: boolean, ended: boolean): Buffer {
  if (ended && !cut) return bytes;
  const end = bytes.lastIndexOf(10) + 1;
  if (end === 0)
    return cut || bytes.length >= LONGEST_SEARCHED ? bytes.subarray(0, wholeCharacters(bytes)) : bytes.subarray(0, 0);
  const key = bytes.lastIndexOf("-----BEGIN ");
  const open = key >= 0 && end - key < LONGEST_KEY && bytes.indexOf("-----END ", key) < 0;
  const before = open ? bytes.lastIndexOf(10, key) + 1 : end;
  return bytes.subarray(0, before === 0 && cut ? end : before);
}

const LONGEST_KEY = 16_384;

/** The same output with only the lines that match. */
async function matching(look: BackgroundOutput, filter: string): Promise<BackgroundOutput> {
  using lines = new LineFilter(filter);
  let gaveUp = false;
  const keep = async (text: string): Promise<string> => {
    const all = text.split(/(?<=\n)/);
    const tested = await lines.test(all.map((line) => line.replace(/\r?\n$/, "").slice(0, LONGEST_SEARCHED)));
    gaveUp ||= tested.gaveUp;
    return all.filter((_, index) => tested.matches[index]).join("");
  };
  const [stdout, stderr] = [await keep(look.stdout), await keep(look.stderr)];
  const note = "the filter took too long and was stopped; leave it out, or use a simpler one";
  return { ...look, stdout, stderr, ...(gaveUp ? { note } : {}) };
}

function unknown(id: string): BuddyError {
  return new BuddyError("target", `no background shell has the id ${JSON.stringify(id)}`, {
    hint: "Finished ones are removed after a day.",
    advice: "list_shells lists them.",
  });
}

function failure(result: ScriptResult): BuddyError {
  const said = result.stderr.trim();
  return new BuddyError(
    "target",
    `background shells do not work on this target: ${said || `exit code ${result.code}`}`,
  );
}

function noop(): void {}
