/** The contract of a tool: a name, a schema, what it intends, and how it runs. */
import type { z } from "zod";
import type { Target } from "../targets/target.ts";

export interface Tool<In = unknown> {
  readonly name: string;
  /** Short and precise: it is paid for in every request. */
  readonly description: string;
  readonly input: z.ZodType<In>;
  /** Pure; feeds policy, approval text, title and audit. */
  intent(input: In): Intent;
  run(input: In, context: ToolContext): Promise<ToolResult>;
}

/** What the model declares with run_shell, send-keys and the tmux tools. */
export interface Declared {
  readonly risk: "low" | "medium" | "high";
  readonly mutation: boolean;
  readonly privesc: boolean;
  readonly why: string;
}

export type Intent =
  /** Changes nothing: no question, may run beside others. */
  | { readonly kind: "read"; readonly title: string }
  | { readonly kind: "shell"; readonly title: string; readonly command: string; readonly declared: Declared }
  /** Keys or tmux objects: changes something that no parser can judge. */
  | { readonly kind: "control"; readonly title: string; readonly declared: Declared }
  | { readonly kind: "write"; readonly title: string; readonly path: string }
  | { readonly kind: "fetch"; readonly title: string; readonly url: string };

export interface ToolContext {
  readonly signal: AbortSignal;
  /** Opened on first use; opening overlaps the first model request. */
  target(): Promise<Target>;
  /** Live events for the UI. */
  emit(event: { stream: "stdout" | "stderr" | "info"; text: string }): void;
  /** Characters this tool may put into the conversation. */
  readonly budget: number;
  readonly dryRun: boolean;
}

export interface ToolResult {
  /** Payload of the envelope: text or a JSON value. */
  readonly result: unknown;
  readonly ok: boolean;
  /** exited, running, waiting, lost, failed, ... ; for events. */
  readonly outcome: string;
  readonly exitCode?: number;
  /** For people, where it differs from what the model gets. */
  readonly display?: string;
}
