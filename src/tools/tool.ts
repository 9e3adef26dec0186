/** The contract of a tool: a name, a schema, what it intends, and how it runs. */
import type { z } from "zod";
import type { Image } from "../lib/images.ts";
import type { AskPassword, ResolvedPath, ShellPlace, Target, Unasked } from "../targets/target.ts";
import type { BudgetKind } from "./bound-output.ts";
import { isRecord } from "../lib/values.ts";

export interface Tool<In = unknown> {
  readonly name: string;
  /** Short and precise: it is paid for in every request. {{label}}, {{wait}} and {{slow}} are filled in. */
  readonly description: string;
  readonly input: z.ZodType<In>;
  /** Works on a machine: with several, `on` says on which. */
  readonly onTarget?: true;
  /** What the target must have for the tool to be offered: managed tmux, or any pane that can be captured. */
  readonly needs?: "tmux" | "pane";
  /** Which of [limits] holds for it; `file` unless given. */
  readonly budget?: BudgetKind;
  /** Arguments in which the name of a secret (`‹secret-3: AWS key›`) becomes its value, after an approval. */
  readonly secretFields?: readonly string[] | "all";
  /** Pure; feeds policy, approval text, title and audit. */
  intent(input: In): Intent;
  /** For writes: finds out what would change before the operator is asked. */
  prepare?(input: In, context: ToolContext): Promise<Prepared>;
  run(input: In, context: ToolContext): Promise<ToolResult>;
}

/** What is known about the target when the tools are described to the model; it may still be opening. */
export interface TargetFacts {
  readonly label: string;
  readonly cwd?: string;
  /** user@host, once the machine has reported it. */
  readonly who?: string;
  /** System and shell there, once known: "Linux 6.1 x86_64, bash". */
  readonly system?: string;
  /** Undefined until the target has reported it. */
  readonly tmux: boolean | undefined;
  /** Without tmux of buddy's own: buddy was started in a pane of the operator's. */
  readonly ownPane?: boolean;
  /** Names of the machines, where there are several. */
  readonly machines?: readonly string[];
}

/** What the model declares with run_shell, send-keys and the tmux tools. */
export interface Declared {
  readonly risk: "low" | "medium" | "high";
  readonly mutation: boolean;
  readonly privesc: boolean;
  readonly why: string;
}

export type Intent =
  /** Changes nothing: no question, may run in parallel. */
  | {
      readonly kind: "read";
      readonly title: string;
      /** Of a file, which may be one of keys. */
      readonly path?: string;
      /** As root, where that is needed. */
      readonly sudo?: boolean;
    }
  /** Ends a background shell: one that this session started needs no question, but is not ended in a dry run. */
  | { readonly kind: "end-shell"; readonly title: string; readonly shell: string }
  | {
      readonly kind: "shell";
      readonly title: string;
      readonly command: string;
      readonly declared: Declared;
      /** Outlives the call, so it is never part of a dry run. */
      readonly detached?: boolean;
    }
  /** Typed into a pane: judged by what they enter there. */
  | { readonly kind: "keys"; readonly title: string; readonly declared: Declared }
  /** tmux objects: changes something that no parser can judge. */
  | { readonly kind: "control"; readonly title: string; readonly declared: Declared }
  | {
      readonly kind: "write";
      readonly title: string;
      readonly path: string;
      /** As root. */
      readonly sudo?: boolean;
      /** The operator undoes the change of this number. */
      readonly undoes?: number;
      readonly why?: string;
    }
  | {
      readonly kind: "fetch";
      readonly title: string;
      readonly url: string;
      /** A search at the operator's own search engine, not an address that a model chose. */
      readonly search?: boolean;
    }
  /** A tool of an MCP server; what the server says about it counts only where it is believed. */
  | {
      readonly kind: "server";
      readonly title: string;
      readonly server: string;
      /** It is a program on this machine, so the rules of this machine hold. */
      readonly local: boolean;
      readonly says: "reads" | "changes" | "destroys";
      /** It says that it only reads, and the operator trusts the server in this. */
      readonly believed: boolean;
      /** All that the server says about the tool: it may say something else next time. */
      readonly described: string;
    };

export type Prepared =
  | { readonly kind: "ready"; readonly path: ResolvedPath; readonly diff: string; readonly removes?: boolean }
  /** Cannot work as asked; this is the result. */
  | { readonly kind: "failed"; readonly result: ToolResult };

export interface ToolContext {
  readonly signal: AbortSignal;
  /** Opened on first use; opening overlaps the first model request. */
  target(): Promise<Target>;
  /** Live events for the UI. */
  emit(event: { stream: "stdout" | "stderr" | "info"; text: string }): void;
  /** Characters this tool may put into the conversation. */
  readonly budget: number;
  readonly dryRun: boolean;
  /** The model reads images. */
  readonly seesImages?: boolean;
  /** Asks the operator for a password that a program on the target wants; absent where there is no terminal. */
  readonly password?: AskPassword;
  /**
   * Names for the secrets in what was printed or read; `cut` says where text is missing, so that half a secret may
   * remain there.
   */
  mask(text: string, cut?: { readonly start?: boolean; readonly end?: boolean }): string;
  /** The command as people may see it, where the one that runs has secrets in it. */
  readonly shown?: string;
  /** Before a redirect is followed; false: the operator, or the lack of one, says no. */
  mayVisit?(url: string): Promise<boolean>;
  /** For writes: the resolved path that was judged and approved; nothing may be written elsewhere. */
  readonly onlyAt?: string;
  /** For commands: the directory they were approved for. */
  readonly onlyIn?: string;
  /** For keys: what they were approved for. */
  readonly onlyWhere?: ShellPlace;
  /** For commands: no question was asked, because the policy proved that the text only reads. */
  readonly unasked?: Unasked;
}

export interface ToolResult {
  /** Payload of the envelope: text or a JSON value. */
  readonly result: unknown;
  readonly ok: boolean;
  /** exited, running, waiting, lost, failed, ... ; for events. */
  readonly outcome: string;
  readonly exitCode?: number;
  /** Where the shell was when a command began. */
  readonly cwd?: string;
  /** Pictures that go with the result, for a model that sees. */
  readonly images?: readonly Image[];
  /** For people, where it differs from what the model gets: never advice to the model. */
  readonly display?: string;
  /** Ids under which more of the same output can be read later. */
  readonly outputs?: readonly string[];
  /** Under which the full output is stored. */
  readonly outputId?: string;
  /** What a command printed, without words about it; cut like the result. */
  readonly printed?: string;
  /** The result holds only parts of what was printed. */
  readonly cut?: boolean;
  /** How it went on each of several machines. */
  readonly machines?: readonly {
    readonly machine: string;
    readonly ok: boolean;
    readonly outcome: string;
    readonly exit_code?: number;
    readonly ms: number;
    readonly output_id?: string;
  }[];
}

/** The form in which every tool result reaches the model; with the time where that says something new. */
export function envelope(result: unknown, unixMillis?: number): string {
  const stamp = unixMillis === undefined ? {} : { harness_timestamp: { source: "harness", unix_millis: unixMillis } };
  return JSON.stringify({ ...stamp, result: result ?? null });
}

/** Of a command that succeeded in silence; a remark takes its place. */
export const NO_OUTPUT = "(no output)";

/** Adds a remark to a payload of whatever shape. */
export function withNote(result: unknown, note: string): unknown {
  if (result === NO_OUTPUT) return `[${note}]`;
  if (typeof result === "string") return `${result}\n\n[${note}]`;
  if (isRecord(result)) return { ...result, note };
  return { value: result, note };
}

/** The same for the model and for people. */
export function noted(result: ToolResult, note: string): ToolResult {
  const text = typeof result.result === "string" ? result.result : JSON.stringify(result.result);
  const shown = result.display ?? (text === NO_OUTPUT ? "" : text);
  return { ...result, result: withNote(result.result, note), display: `${shown === "" ? "" : `${shown}\n`}[${note}]` };
}
