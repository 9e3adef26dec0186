/**
 * The approval broker: knows the mode, asks the operator one question at a time, and remembers what was allowed for the
 * session.
 */
import type { ApproveMode } from "../lib/durations.ts";
import { words } from "../lib/text.ts";
import { once } from "../lib/values.ts";
import { isSameSubject, type Subject } from "./subject.ts";
import type { RequiredAnswer, ShellJudgement } from "./verdict.ts";
import { isTimeout } from "../lib/waiting.ts";

export class Approvals {
  #mode: ApprovalMode = { kind: "ask" };
  /** When the mode was set, by the clock and by a monotonic time, which cannot be set back. */
  #since = 0;
  #sinceSteady = 0;
  readonly #asker: Asker | undefined;
  #remembered: { readonly subject: Subject; readonly prefix: CommandPrefix }[] = [];
  #line: Promise<unknown> = Promise.resolve();
  /** Questions that are open or wait for their turn. */
  #pending = 0;
  /** Later calls of the same model answer that may need a question. */
  following = 0;
  readonly #now: () => number;
  readonly #steady: () => number;

  constructor(
    options: {
      mode?: ApprovalMode | ApproveMode | undefined;
      asker?: Asker | undefined;
      now?: () => number;
      steady?: () => number;
    } = {},
  ) {
    this.#asker = options.asker;
    this.#now = options.now ?? Date.now;
    this.#steady = options.steady ?? options.now ?? (() => performance.now());
    this.setMode(options.mode ?? this.#mode);
  }

  /** The mode in force now: an expired duration is `ask`. */
  get mode(): ApprovalMode {
    this.#withoutSteps();
    if (this.#mode.kind === "until" && this.#now() >= this.#mode.at) this.#mode = { kind: "ask" };
    return this.#mode;
  }

  /** The mode on a machine whose rules limit how long approvals without a question are valid. */
  modeWithin(approveMaxMs: number | undefined): ApprovalMode {
    const { mode } = this;
    if (approveMaxMs === undefined || mode.kind === "ask" || mode.kind === "none") return mode;
    const at = Math.min(this.#since + approveMaxMs, mode.kind === "until" ? mode.at : Number.POSITIVE_INFINITY);
    return this.#now() >= at ? { kind: "ask" } : { kind: "until", at };
  }

  /** A clock that was set back must not prolong approvals. One that was set forward ends them early. */
  #withoutSteps(): void {
    const back = this.#steady() - this.#sinceSteady - (this.#now() - this.#since);
    if (back < MOST_DRIFT_MS) return;
    this.#since -= back;
    if (this.#mode.kind === "until") this.#mode = { kind: "until", at: this.#mode.at - back };
  }

  setMode(mode: ApprovalMode | ApproveMode): void {
    this.#since = this.#now();
    this.#sinceSteady = this.#steady();
    this.#mode = mode.kind === "duration" ? { kind: "until", at: this.#since + mode.ms } : mode;
  }

  /** For a new session: what `always` remembered was for the previous one. */
  forget(): void {
    this.#remembered = [];
  }

  /** Prefixes allowed for this session to that user on that machine, for /status. */
  remembered({ machine, user }: Pick<Subject, "machine" | "user">): readonly CommandPrefix[] {
    return this.#remembered
      .filter(({ subject }) => subject.machine === machine && subject.user === user)
      .map(({ prefix }) => prefix);
  }

  /** The audit log refused the answer: it is not in force. */
  withdraw({ subject, prefixes = [] }: Pick<ApprovalRequest, "subject" | "prefixes">): void {
    this.#remembered = this.#remembered.filter(
      (one) => !isSameSubject(one.subject, subject) || !prefixes.some((prefix) => Bun.deepEquals(prefix, one.prefix)),
    );
  }

  /** Decides without a question if the mode or a remembered prefix allows that. */
  settled(request: ApprovalRequest): Decision | undefined {
    const mode = this.modeWithin(request.approveMaxMs);
    if (request.answer !== undefined) return mode.kind === "none" ? { kind: "denied", by: "mode" } : undefined;
    switch (mode.kind) {
      case "all":
      case "until":
        return { kind: "approved", by: "mode" };
      case "none":
        return { kind: "denied", by: "mode" };
      case "ask":
        return this.#isRemembered(request) ? { kind: "approved", by: "prefix" } : undefined;
    }
  }

  #isRemembered(request: ApprovalRequest): boolean {
    const { prefixes = [] } = request;
    const isKnown = (about: Subject, wanted: CommandPrefix): boolean =>
      this.#remembered.some(({ subject, prefix }) => isSameSubject(subject, about) && coversPrefix(prefix, wanted));
    return (
      prefixes.length > 0 && subjectsOf(request).every((about) => prefixes.every((wanted) => isKnown(about, wanted)))
    );
  }

  /**
   * Asks if the mode does not decide. Just before the question, `place` reports where it would happen, which what was
   * remembered is compared with, and `onAsked` is called, also if there is no terminal to ask on.
   */
  async decide(
    asked: ApprovalRequest,
    signal: AbortSignal,
    onAsked?: (request: ApprovalRequest) => void,
    place?: () => Promise<RequestPlace>,
  ): Promise<Decision> {
    this.#pending++;
    return this.#oneAtATime(async (): Promise<Decision> => {
      if (signal.aborted) return stopped(signal);
      // In its turn: an earlier question may have been answered "always".
      const byMode = this.settled({ ...asked, prefixes: [] });
      if (byMode !== undefined) return byMode;
      const request = { ...asked, ...(await place?.()) };
      const settled = this.settled(request);
      if (settled !== undefined) return settled;
      onAsked?.(request);
      if (this.#asker === undefined) return noTerminal(request);
      const answer = await this.#asker.ask(request, signal, () => this.#pending - 1 + this.following);
      return this.#take(answer, request, signal);
    }).finally(() => this.#pending--);
  }

  #take(answer: ApprovalAnswer, request: ApprovalRequest, signal: AbortSignal): Decision {
    // "No" counts as the operator's even if it also stops the task.
    if (signal.aborted && answer.kind !== "no") return stopped(signal);
    switch (answer.kind) {
      case "yes":
        if (request.typed !== undefined && ![request.typed, ...(request.alsoTyped ?? [])].includes(answer.typed ?? ""))
          return { kind: "denied", by: "operator" };
        return { kind: "approved", by: "operator" };
      case "choose":
        return { kind: "approved", by: "operator", only: answer.only, ...(request.typed && { again: true }) };
      case "canary":
        if (request.machines === undefined || request.typed !== undefined) return { kind: "denied", by: "operator" };
        return { kind: "approved", by: "operator", canary: true };
      case "always":
        if (request.answer !== undefined) return { kind: "denied", by: "operator" };
        for (const subject of subjectsOf(request))
          for (const prefix of request.prefixes ?? []) this.#remembered.push({ subject, prefix });
        return { kind: "approved", by: "operator", always: true };
      case "edit":
        return { kind: "edited", command: answer.command };
      case "no":
        return { kind: "denied", by: "operator", ...(answer.reason ? { reason: answer.reason } : {}) };
      case "cancelled":
        return { kind: "denied", by: "cancelled" };
      case "no-terminal":
        return noTerminal(request);
    }
  }

  async #oneAtATime<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#line.then(work);
    this.#line = turn.catch(() => undefined);
    return turn;
  }
}

const MOST_DRIFT_MS = 1000;

export type ApprovalMode =
  | { readonly kind: "ask" }
  | { readonly kind: "all" }
  | { readonly kind: "none" }
  /** Like `all` until that moment (ms since the epoch), then `ask`. */
  | { readonly kind: "until"; readonly at: number };

function subjectsOf({ subject, machines }: ApprovalRequest): readonly Subject[] {
  return machines === undefined ? [subject] : machines.map((one) => one.subject);
}

export type RequestPlace = Pick<ApprovalRequest, "where" | "cwd" | "pane"> & Partial<Pick<ApprovalRequest, "subject">>;

/** Everything a person needs to decide; texts are the model's and not yet safe for a terminal. */
export interface ApprovalRequest extends Stated {
  readonly id: string;
  readonly call: string;
  readonly tool: string;
  /** user@host of the machine it would happen on, and the directory there. */
  readonly where: string;
  readonly cwd?: string;
  readonly subject: Subject;
  /** For a question about several machines, which has no subject itself. */
  readonly machines?: readonly { readonly name: string; readonly subject: Subject }[];
  /** The command, or what would be done. */
  readonly action: string;
  /** The command that would revert it automatically, if the model wrote one. */
  readonly reverse?: string;
  /** The command outlives the call, out of sight. */
  readonly background?: boolean;
  /** For a file change: which file, and how many lines are added and removed. */
  readonly write?: {
    readonly path: string;
    readonly creates: boolean;
    readonly removes?: boolean;
    readonly added: number;
    readonly removed: number;
  };
  /** The change is made; it is reverted at this time (ms since the epoch) unless it is approved before. */
  readonly keep?: { readonly until: number };
  /** The whole diff. */
  readonly diff?: string;
  /** The pane, if it is not the shared one. */
  readonly pane?: string;
  /** From the rules of the machine: PROD. */
  readonly label?: string;
  /** The model's reason. */
  readonly why: string;
  /** What the policy derived. */
  readonly policy: string;
  /** The model declared much less than the policy found. */
  readonly understated: boolean;
  readonly declared?: Stated;
  readonly found?: Stated;
  /** The operator may edit the command, which is then judged again. */
  readonly editable: boolean;
  /** How long after it was set the mode may decide on that machine. */
  readonly approveMaxMs?: number;
  /** Only a person may answer; with `typed`, by typing that name of the machine. */
  readonly answer?: RequiredAnswer;
  readonly typed?: string;
  /** `typed` names a machine that the command reaches, not the one it runs on. */
  readonly reaches?: true;
  /** Other names of the machine that may be typed. */
  readonly alsoTyped?: readonly string[];
  /** What `always` would remember; absent if `always` is not offered. */
  readonly prefixes?: readonly CommandPrefix[];
}

type Asked = "call" | "tool" | "where" | "subject" | "action" | "risk" | "policy";

/** A question; what is not given is harmless: nothing changes, no other user, nothing to edit. */
export function approvalRequest(given: Pick<ApprovalRequest, Asked> & Partial<ApprovalRequest>): ApprovalRequest {
  return {
    id: crypto.randomUUID(),
    mutation: false,
    privesc: false,
    why: "",
    understated: false,
    editable: false,
    ...given,
  };
}

/** What a command does, according to the model or the policy. */
export interface Stated {
  readonly risk: ShellJudgement["risk"];
  readonly mutation: boolean;
  /** Nothing is known to be changed; a change just cannot be ruled out. */
  readonly unsure?: boolean;
  readonly privesc: boolean;
}

export type ApprovalAnswer =
  /** `typed`: the name of the machine, if it had to be typed. */
  | { readonly kind: "yes"; readonly typed?: string }
  /** Only these of several machines; if a name must be typed, the question is asked again for them. */
  | { readonly kind: "choose"; readonly only: readonly string[] }
  /** On one machine first; then the question is asked again for the others. */
  | { readonly kind: "canary" }
  /** `stop`: also stops the whole task. */
  | { readonly kind: "no"; readonly reason?: string; readonly stop?: boolean }
  | { readonly kind: "always" }
  | { readonly kind: "edit"; readonly command: string }
  /** The question was withdrawn (signal), or the terminal was closed. */
  | { readonly kind: "cancelled" }
  | { readonly kind: "no-terminal" };

/** Whether the question offers this answer. A name that is typed is compared later: a wrong one refuses. */
export function isOffered(request: ApprovalRequest, answer: ApprovalAnswer): boolean {
  const { machines, typed, prefixes = [], editable } = request;
  switch (answer.kind) {
    case "yes":
      return typed === undefined || answer.typed !== undefined;
    case "choose":
      return answer.only.length > 0 && answer.only.every((name) => machines?.some((one) => one.name === name) === true);
    case "canary":
      return machines !== undefined && typed === undefined;
    case "always":
      return prefixes.length > 0 && request.answer === undefined;
    case "edit":
      return editable && answer.command.trim() !== "";
    case "no":
    case "cancelled":
    case "no-terminal":
      return true;
  }
}

export interface Asker {
  /** Resolves `cancelled` when the signal aborts. `behind` returns how many questions wait after this one. */
  ask(request: ApprovalRequest, signal: AbortSignal, behind: () => number): Promise<ApprovalAnswer>;
}

export type Decision =
  | {
      readonly kind: "approved";
      readonly by: "operator" | "mode" | "prefix";
      /** Remembered for the session. */
      readonly always?: true;
      /** The chosen ones of several machines; `again`: the question must be asked again for them. */
      readonly only?: readonly string[];
      readonly again?: true;
      /** On one of them first. */
      readonly canary?: true;
    }
  | { readonly kind: "edited"; readonly command: string }
  | {
      readonly kind: "denied";
      readonly by: "operator" | "mode" | "timeout" | "cancelled" | "no-terminal";
      readonly reason?: string;
      /** No mode approves it, either. */
      readonly onlyByPerson?: true;
    };

function noTerminal({ answer }: ApprovalRequest): Decision {
  return { kind: "denied", by: "no-terminal", ...(answer === undefined ? {} : { onlyByPerson: true }) };
}

function stopped(signal: AbortSignal): Decision {
  return { kind: "denied", by: isTimeout(signal.reason) ? "timeout" : "cancelled" };
}

/** What "always" remembers of a command. */
export interface CommandPrefix {
  readonly words: readonly string[];
  /** False: exactly these words; true: these words and any operands that follow. */
  readonly open: boolean;
  /** With `open`: the options, with values that may name a program or a file, and operands that are places. */
  readonly options?: readonly string[];
  /** The description of an MCP tool when it was allowed: with another description it is asked about again. */
  readonly described?: string;
}

/** Options for a dry run: a command allowed with one of these is not allowed without it. */
const dryRunOptions = once(
  () => new Set(words("-n --dry-run --just-print --check --simulate --no-run --list --collect-only --co")),
);

export function describePrefix({ words, options = [], open }: CommandPrefix): string {
  return [...words, ...options].join(" ") + (open ? " …" : "");
}

/** Whether `known` covers `wanted`: the same program and subcommand, and no other options. */
export function coversPrefix(known: CommandPrefix, wanted: CommandPrefix): boolean {
  const dryRun = known.options?.filter((option) => dryRunOptions().has(option)) ?? [];
  if (!dryRun.every((option) => wanted.options?.includes(option) === true)) return false;
  return (
    known.open === wanted.open &&
    known.described === wanted.described &&
    known.words.length === wanted.words.length &&
    known.words.every((word, i) => word === wanted.words[i]) &&
    (wanted.options ?? []).every((option) => known.options?.includes(option) === true)
  );
}
