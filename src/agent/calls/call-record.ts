/** What the record keeps of one call: every decision about it, and its effect. */
import type { DecidedBy, DecisionEntry, EffectEntry } from "../../audit/entry.ts";
import type { ApprovalRequest, Decision } from "../../policy/approvals.ts";
import type { Target } from "../../targets/target.ts";
import type { Intent, ToolResult } from "../../tools/tool.ts";
import type { Permission } from "../permit/permission.ts";
import { messageOf } from "../../lib/errors.ts";
import { defined, sha256 } from "../../lib/values.ts";
import { diffSize } from "../../tools/bound-output.ts";

/** Where decisions and effects are recorded. */
export interface Recorder {
  /** `target`: the machine it is about. Rejects when the entry cannot be stored and must be ([audit] required). */
  add(entry: RecordedEntry, target?: Target, options?: RecordOptions): Promise<void>;
}

export interface RecordOptions {
  /** False: nothing depends on this line, and unless the record is required the call does not wait for the disk. */
  readonly awaited?: boolean;
}

/** Session, user and machine are filled in by the recorder. */
export type RecordedEntry = Omit<DecisionEntry, FilledIn> | Omit<EffectEntry, FilledIn>;
type FilledIn = "session" | "user" | "login_user" | "target" | "names" | "label" | "target_user" | "host" | "machine";

export class CallRecord {
  readonly #recorder: Recorder | undefined;
  readonly #call: { readonly tool: string; readonly call: string };
  readonly #intent: Intent;
  readonly #target: () => Promise<Target>;
  readonly #withdraw: ((request: ApprovalRequest) => void) | undefined;
  /** The answer to the last question about it. */
  #answer: Decision | undefined;
  /** The question that was answered with "always". */
  #always: ApprovalRequest | undefined;
  #byHook = false;
  #edited: string | undefined;
  /** It is running: a question that comes now (about a redirect) is about a part of it. */
  #running = false;
  #action: string;
  #cwd: string | undefined;
  #pending: Promise<void> = Promise.resolve();

  constructor(
    recorder: Recorder | undefined,
    call: { readonly tool: string; readonly call: string; readonly intent: Intent },
    target: () => Promise<Target>,
    withdraw?: (request: ApprovalRequest) => void,
  ) {
    this.#recorder = isRecorded(call.intent) ? recorder : undefined;
    this.#call = { tool: call.tool, call: call.call };
    this.#intent = call.intent;
    this.#target = target;
    this.#withdraw = withdraw;
    this.#action = actionOf(call.intent);
  }

  /** A question was settled: by a person, by the approval mode, or for lack of a terminal. */
  answered(request: ApprovalRequest, decision: Decision): void {
    this.#answer = decision;
    if (decision.kind === "approved" && decision.always === true) this.#always = request;
    const edited = decision.kind === "edited" ? decision.command : undefined;
    this.#edited = edited ?? this.#edited;
    const { action, policy, risk, cwd, diff } = request;
    if (!this.#running) {
      this.#action = edited ?? action;
      this.#cwd = cwd ?? this.#cwd;
    }
    this.#decision({
      action: clipped(edited ?? action),
      verdict: "ask",
      decision: decision.kind === "denied" ? "denied" : "approved",
      by: deciderOf(decision),
      ...(policy === "" ? {} : { why: policy }),
      ...(decision.kind === "denied" && decision.reason !== undefined ? { reason: decision.reason } : {}),
      risk,
      ...(edited === undefined ? {} : { proposed: clipped(action) }),
      ...digestOf(diff),
    });
  }

  /** The command as the operator changed it. */
  get edited(): string | undefined {
    return this.#edited;
  }

  /** Where the shell was when it was decided; commands only. */
  get cwd(): string | undefined {
    return this.#intent.kind === "shell" ? this.#cwd : undefined;
  }

  async deniedByHook(reason: string): Promise<void> {
    this.#byHook = true;
    this.#decision({ verdict: "block", decision: "denied", by: "hook", reason });
    await this.#pending.catch(() => undefined);
  }

  /**
   * Records what was decided without a question, or after it. Returns why the call must not run: a change that could
   * not be recorded where the record is required.
   */
  async permitted(permission: Permission): Promise<string | undefined> {
    if (this.#answer === undefined && !this.#byHook) this.#settled(permission);
    // It was approved, and does not run all the same.
    else if (permission.kind === "result" && this.#answer?.kind !== "denied" && !this.#byHook)
      this.#ended(permission.result, 0);
    try {
      await this.#pending;
      this.#running = permission.kind === "run";
      return undefined;
    } catch (error) {
      if (this.#always !== undefined) this.#withdraw?.(this.#always);
      const { kind } = this.#intent;
      const reads = kind === "read" || kind === "fetch";
      const harmless = permission.kind === "result" || permission.unasked !== undefined || reads;
      return harmless ? undefined : messageOf(error);
    }
  }

  /** Records the outcome; a failure to do so cannot undo the call. */
  async finished({ outcome, exitCode }: Pick<ToolResult, "outcome" | "exitCode">, ms: number): Promise<void> {
    this.#ended({ outcome, ...defined({ exitCode }) }, ms);
    await this.#pending.catch(() => undefined);
  }

  #ended({ outcome, exitCode }: Pick<ToolResult, "outcome" | "exitCode">, ms: number): void {
    const ended = { outcome, ...defined({ exit_code: exitCode }), ms: Math.round(ms) };
    this.#add({ kind: "effect", ...this.#about(), ...ended }, { awaited: false });
  }

  #settled(permission: Permission): void {
    if (permission.kind === "result") {
      const { outcome, display, result } = permission.result;
      const why = display ?? String(result);
      if (outcome === "denied") this.#decision({ verdict: "block", decision: "denied", by: "policy", why });
      if (outcome === "dry-run") this.#decision({ verdict: "ask", decision: "denied", by: "dry-run" });
      return;
    }
    const by = permission.unasked !== undefined || this.#intent.kind === "read" ? "auto" : "rule";
    const entry = { verdict: "allow", decision: "approved", by, ...digestOf(permission.diff) } as const;
    // A command that is proven to only read changes nothing: its line may be written while it runs.
    this.#decision(entry, { awaited: by !== "auto" });
  }

  #decision(
    entry: Omit<DecisionEntry, FilledIn | "kind" | "tool" | "call" | "action" | "cwd"> & { action?: string },
    options?: RecordOptions,
  ): void {
    this.#add({ kind: "decision", ...this.#about(), ...entry }, options);
  }

  #about() {
    return { ...this.#call, action: clipped(this.#action) };
  }

  #add(entry: RecordedEntry, options?: RecordOptions): void {
    const recorder = this.#recorder;
    if (recorder === undefined) return;
    const before = this.#pending;
    this.#pending = (async () => {
      const target = isOnTarget(this.#intent) ? await this.#target().catch(() => undefined) : undefined;
      // Looked up once: the command itself may change the directory.
      if (this.#intent.kind === "shell") this.#cwd ??= target?.shell.cwd;
      await Promise.all([before, recorder.add({ ...entry, ...defined({ cwd: this.#cwd }) }, target, options)]);
    })();
    this.#pending.catch(() => undefined);
  }
}

/** Whether a call is about the target, and not about this machine or a server. */
export function isOnTarget({ kind }: Pick<Intent, "kind">): boolean {
  return ON_TARGET.has(kind);
}

const ON_TARGET: ReadonlySet<string> = new Set(["read", "end-shell", "shell", "keys", "control", "write"]);

/** Reading buddy's own state is not recorded. */
function isRecorded(intent: Intent): boolean {
  return intent.kind !== "read" || intent.path !== undefined;
}

function actionOf(intent: Intent): string {
  switch (intent.kind) {
    case "shell":
      return intent.command;
    case "write":
      return `write ${intent.path}`;
    case "read":
      return `read ${intent.path ?? ""}`;
    case "fetch":
      return `${intent.search === true ? "search" : "fetch"} ${intent.url}`;
    default:
      return intent.title;
  }
}

function deciderOf(decision: Decision): DecidedBy {
  if (decision.kind === "edited") return "operator";
  return decision.kind === "approved" && decision.always === true ? "always" : decision.by;
}

function digestOf(diff: string | undefined): Pick<DecisionEntry, "diff_sha256" | "added" | "removed"> {
  if (diff === undefined || diff === "") return {};
  return { diff_sha256: sha256(diff), ...diffSize(diff) };
}

/** Of a long text: its beginning, its length and its digest. */
function clipped(text: string): string {
  if (text.length <= MOST_ACTION) return text;
  return `${text.slice(0, MOST_ACTION)}… (${text.length} characters, sha256 ${sha256(text)})`;
}

const MOST_ACTION = 16_000;
