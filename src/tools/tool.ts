/** The contract of a tool: a name, a schema, what it intends, and how it runs. */
import type { z } from "zod";
import type { Image } from "../lib/images.ts";
import type { AskPassword, Shell, ShellPlace, Target, Unasked } from "../targets/target.ts";
import type { BudgetKind } from "./bound-output.ts";
import { isRecord } from "../lib/values.ts";

export interface Tool<In = unknown> {
  readonly name: string;
  /** Short: every request pays for it. {{label}}, {{wait}} and {{slow}} are filled in. */
  readonly description: string;
  readonly input: z.ZodType<In>;
  /** It works on a machine; with several, `on` says on which. */
  readonly onTarget?: true;
  /** What the target must have for the tool to be offered: managed tmux, or any pane that can be captured. */
  readonly needs?: "tmux" | "pane";
  /** Which of [limits] applies; `file` unless given. */
  readonly budget?: BudgetKind;
  /** Arguments in which the name of a secret (`‹secret-3: AWS key›`) becomes its value, after an approval. */
  readonly secretFields?: readonly string[] | "all";
  /** A person may change the command in its arguments before it runs. */
  readonly editable?: true;
  /** Pure; for policy, approval, title and record. */
  intent(input: In): Intent;
  /** The shell whose output its calls print. */
  shell?(input: In, target: Target): Promise<Shell>;
  /** It shows what was printed earlier: in that output, by that background shell, or, without an id, in its `shell`. */
  shows?(input: In): { readonly id?: string | undefined; readonly background?: boolean };
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
  /** System and shell, once known: "Linux 6.1 x86_64, bash". */
  readonly system?: string;
  /** Undefined until the target has reported it. */
  readonly tmux: boolean | undefined;
  /** buddy was started in a pane of the operator's, without tmux of its own. */
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
      /** The file to read, which may contain keys. */
      readonly path?: string;
      /** As root, if needed. */
      readonly sudo?: boolean;
    }
  /** Ends a background shell: one that this session started needs no question, but is not ended in a dry run. */
  | { readonly kind: "end-shell"; readonly title: string; readonly shell: string }
  | {
      readonly kind: "shell";
      readonly title: string;
      readonly command: string;
      readonly declared: Declared;
      /** It outlives the call, so it never runs in a dry run. */
      readonly detached?: boolean;
    }
  /** Typed into a pane; judged by the lines they enter. */
  | { readonly kind: "keys"; readonly title: string; readonly declared: Declared }
  /** tmux sessions and panes: a change that no parser can judge. */
  | { readonly kind: "control"; readonly title: string; readonly declared: Declared }
  | {
      readonly kind: "write";
      readonly title: string;
      readonly path: string;
      /** As root. */
      readonly sudo?: boolean;
      /** The number of the change that the operator undoes. */
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
  /** A tool of an MCP server. */
  | {
      readonly kind: "server";
      readonly title: string;
      readonly server: string;
      /** It is a program on this machine, so the rules of this machine hold. */
      readonly local: boolean;
      readonly says: "reads" | "changes" | "destroys";
      /** It claims to only read, and the operator trusts the server in this. */
      readonly believed: boolean;
      /** It is described differently than when it was first used. */
      readonly changed?: boolean;
      /** All that the server says about the tool now. */
      readonly described: string;
    };

export type Prepared =
  | { readonly kind: "ready"; readonly diff: string; readonly removes?: boolean }
  /** It cannot work; this is the result. */
  | { readonly kind: "failed"; readonly result: ToolResult };

export interface ToolContext {
  readonly signal: AbortSignal;
  /** Opened on first use; opening overlaps the first model request. */
  target(): Promise<Target>;
  /** Live events for the UI. */
  emit(event: { stream: "stdout" | "stderr" | "info"; text: string }): void;
  /** Characters this tool may put into the conversation. */
  readonly budget: number;
  /** The model reads images. */
  readonly seesImages?: boolean;
  /** The call runs on several machines. */
  readonly several?: boolean;
  /** Asks the operator for a password that a program on the target needs; absent without a terminal. */
  readonly password?: AskPassword;
  /** Replaces secrets by their names; `cut` says where text is missing, so that half a secret may be there. */
  mask(text: string, cut?: { readonly start?: boolean; readonly end?: boolean }): string;
  /** The command for people, if the one that runs contains secrets. */
  readonly shown?: string;
  /** Before a redirect is followed; false: it was not approved. */
  mayVisit?(url: string): Promise<boolean>;
  /** For writes: the resolved path that was judged and approved; nothing may be written elsewhere. */
  readonly onlyAt?: string;
  /** For commands: the directory they were approved for. */
  readonly onlyIn?: string;
  /** For keys: the place and program they were approved for. */
  readonly onlyWhere?: ShellPlace;
  /** For commands: run without a question, because the policy proved that they only read. */
  readonly unasked?: Unasked;
  /** For commands: a revert waits for the end, so what has not ended in time is stopped. */
  readonly mustEnd?: boolean;
}

export interface ToolResult {
  /** Payload of the envelope: text or a JSON value. */
  readonly result: unknown;
  readonly ok: boolean;
  /** exited, running, waiting, lost, failed, ... ; for events. */
  readonly outcome: string;
  readonly exitCode?: number;
  /** Nothing of the command has run. */
  readonly notRun?: true;
  /** Where the shell was when a command began. */
  readonly cwd?: string;
  /** For a model that reads images. */
  readonly images?: readonly Image[];
  /** For people, if it differs from what the model gets: without advice to the model. */
  readonly display?: string;
  /** Ids under which more of the same output can be read later. */
  readonly outputs?: readonly string[];
  /** What people see has only parts of what was printed. */
  readonly displayCut?: boolean;
  /** The id of the stored full output. */
  readonly outputId?: string;
  /** What a command printed, without buddy's words; cut like the result. */
  readonly printed?: string;
  /** The result has only parts of what was printed. */
  readonly cut?: boolean;
  /** How it went on each of several machines. */
  readonly machines?: readonly MachineOutcome[];
  /** What buddy adds for the model and for people: that the operator changed the command, that it was reverted. */
  readonly notes?: readonly string[];
}

export interface MachineOutcome {
  readonly machine: string;
  readonly ok: boolean;
  /** As of a ToolResult; `unreachable`, `still-running`, `left-out`, `not-run`. */
  readonly outcome: string;
  readonly exit_code?: number;
  readonly ms: number;
  readonly output_id?: string;
}

/** The form in which every result reaches the model. */
export function envelope(result: unknown, unixMillis?: number): string {
  const harness_timestamp = unixMillis === undefined ? undefined : { source: "harness", unix_millis: unixMillis };
  return JSON.stringify({ harness_timestamp, result: result ?? null });
}

/** For a command that succeeded without output; a note replaces it. */
export const NO_OUTPUT = "(no output)";

/** Adds a note to any payload. */
export function withNote(result: unknown, note: string): unknown {
  if (result === NO_OUTPUT) return `[${note}]`;
  if (typeof result === "string") return `${result}\n\n[${note}]`;
  if (isRecord(result)) return { ...result, note };
  return { value: result, note };
}
