/** Keeps the record of a run: fills in user, machine and session, and copies it to the target's system log. */
import { readFileSync } from "node:fs";
import type { AuditLog } from "../audit/audit-log.ts";
import type { AuditEntry } from "../audit/entry.ts";
import type { RecordedEntry, Recorder, RecordOptions } from "../agent/calls/call-record.ts";
import type { Settings } from "../config/schema.ts";
import { within } from "../lib/waiting.ts";
import type { Target } from "../targets/target.ts";
import { messageOf } from "../lib/errors.ts";

export interface AuditRecorderOptions {
  readonly settings: Settings["audit"];
  /** False: nothing is recorded. */
  readonly record: boolean;
  readonly stateDirectory: string | undefined;
  /** Id of the current session. */
  session(): string;
  /** The operator's names for a machine. */
  known(target: Target | undefined): Promise<KnownMachine>;
  /** The operator's own commands and no model: `buddy run`. */
  readonly own: boolean;
  readonly redact: (text: string) => string;
  readonly problem: (message: string) => void;
}

/** Opens the log with the first decision: a run without one pays nothing. */
export class AuditRecorder implements Recorder {
  readonly #options: AuditRecorderOptions;
  #log: Promise<AuditLog> | undefined;
  #user: Promise<Person> | undefined;
  readonly #journals = new Map<Target, Promise<void>>();
  #reported = false;

  constructor(options: AuditRecorderOptions) {
    this.#options = options;
  }

  async add(entry: RecordedEntry, target?: Target, { awaited = true }: RecordOptions = {}): Promise<void> {
    if (!this.#options.record) return;
    const whole: AuditEntry = {
      ...entry,
      session: this.#options.session(),
      ...(await (this.#user ??= whoRuns())),
      ...machineOf(target),
      ...(target === undefined ? {} : await this.#options.known(target)),
      ...(this.#options.own ? { tool: "you" } : {}),
    };
    if (target !== undefined && this.#options.settings.journal) this.#journal(whole, target);
    const { required } = this.#options.settings;
    try {
      const log = await this.#open();
      if (awaited || required) await log.append(whole);
      else log.appendSoon(whole);
    } catch (error) {
      // Reported already; the caller needs to know only where the record is required.
      if (required) throw error;
    }
  }

  /** Resolves when everything is written, or was reported as missing. */
  async close(): Promise<void> {
    if (this.#log !== undefined) await (await this.#log.catch(() => undefined))?.close();
    if (this.#journals.size > 0) await within(Promise.all(this.#journals.values()), LEAVE_MS);
  }

  #open(): Promise<AuditLog> {
    return (this.#log ??= (async () => {
      const { settings, stateDirectory, redact, problem } = this.#options;
      if (stateDirectory === undefined) {
        const why = "the record cannot be written: there is no home directory for it";
        problem(why);
        throw new Error(why);
      }
      const { AuditLog } = await import("../audit/audit-log.ts");
      const rotateBytes = settings.rotate_mb * 1024 * 1024;
      return new AuditLog({ directory: stateDirectory, redact, problem, rotateBytes, durable: settings.required });
    })());
  }

  /** One entry after the other for each machine; no call waits for it. */
  #journal(entry: AuditEntry, target: Target): void {
    const before = this.#journals.get(target) ?? Promise.resolve();
    const next = before.then(async () => {
      const { journalLine, JOURNAL_SCRIPT } = await import("../audit/audit-log.ts");
      const text = this.#options.redact(journalLine(entry));
      try {
        const { code } = await target.transport.run(JOURNAL_SCRIPT, { args: [text], timeoutMs: JOURNAL_MS });
        if (code !== 0) this.#report(target, "logger is not installed");
      } catch (error) {
        this.#report(target, messageOf(error));
      }
    });
    this.#journals.set(target, next);
  }

  #report(target: Target, why: string): void {
    if (!this.#reported)
      this.#options.problem(`buddy cannot write to the system log of ${target.identity.label}: ${why}`);
    this.#reported = true;
  }
}

export interface KnownMachine {
  /** Its own name first, then those of its groups. */
  readonly names: readonly string[];
  readonly label?: string;
}

interface Person {
  readonly user: string;
  readonly login_user?: string;
}

/** From the system: variables such as USER can be set to anything. */
async function whoRuns(): Promise<Person> {
  const { lookUpEnv, runProgram } = await import("../lib/start-child.ts");
  // A directory service that does not answer must not hold up everything else.
  const nameOf = async (id: string): Promise<string> => {
    const end = await runProgram(["id", "-un", "--", id], { timeoutMs: ID_MS, env: lookUpEnv() });
    return (end.kind === "ended" && end.code === 0 && end.stdout.trim()) || id;
  };
  const id = String(process.getuid?.() ?? "");
  let login = id;
  try {
    // Who logged in, also through sudo and su.
    login = readFileSync("/proc/self/loginuid", "utf8").trim();
  } catch {
    // Only Linux has it.
  }
  const other = /^\d+$/.test(login) && login !== id && login !== NO_LOGIN;
  const [user, login_user] = await Promise.all([nameOf(id), other ? nameOf(login) : undefined]);
  return { user, ...(login_user === undefined ? {} : { login_user }) };
}

/** -1 as the kernel writes it. */
const NO_LOGIN = "4294967295";
const ID_MS = 2000;

function machineOf(target: Target | undefined) {
  if (target === undefined) return { target: "local" };
  const { label, user, host, machine } = target.identity;
  return { target: label, target_user: user, host, ...(machine === "" ? {} : { machine }) };
}

const JOURNAL_MS = 5000;
const LEAVE_MS = 1000;
