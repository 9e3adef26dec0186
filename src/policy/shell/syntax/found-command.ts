/** What walking a text finds: the commands it would run, and what else it does. */
import type { Field } from "./field.ts";
import type { Write } from "./redirections.ts";
import type { Wrapped } from "../wrappers/wrapped.ts";

/** A command as the shell would start it. */
export interface FoundCommand {
  readonly argv: readonly Field[];
  /** Assignments in front of it, or through env and sudo. */
  readonly assigns: readonly { readonly name: string; readonly value: string }[];
  /** Directories it may run in. */
  readonly directories: readonly string[];
  readonly writes: readonly Write[];
  readonly wrapped: Wrapped | undefined;
  /** The wrapper that starts it, and where in that one's words it begins. */
  readonly by: { readonly command: FoundCommand; readonly at: number | undefined } | undefined;
  /** A function or alias of the same text: what it does is walked by itself. */
  readonly defined: boolean;
}

export interface Walked {
  readonly commands: readonly FoundCommand[];
  readonly uncertain: readonly string[];
  /** What the text does besides running commands: assignments, redirections without a command, definitions. */
  readonly effects: readonly string[];
  readonly writes: readonly Write[];
  readonly forkBomb: boolean;
}

/** What a list prints, where that is known. */
export type Printed = string | undefined;
