/** The shape every subcommand file exports as `command`; argument definitions are citty's. */
import type { ArgDef, ParsedArgs } from "citty";
import type { ExitCode } from "../lib/errors.ts";
import type { GlobalOptions } from "./args/options.ts";

/** citty's definition of an argument, and what the strict parser in front of it needs in addition. */
export type Arg = ArgDef & {
  /** Its letter. */
  readonly alias?: string;
  /** The value is a file name: made absolute against the directory buddy was started in (not that of --cd). */
  readonly path?: boolean;
  /** The last positional, where it takes every word that is left; with the name of a flag, only when that is given. */
  readonly rest?: true | string;
  /** The only words a positional may be. */
  readonly choices?: readonly string[];
  /** Throws a usage error when the value is wrong; `flag` is how the user wrote its name. */
  readonly check?: (value: string, flag: string) => unknown;
  /** The flag it stands for when given twice: `-vv`. */
  readonly twice?: string;
  /** May be given several times: the values come as one text with a NUL between them, which no argument can hold. */
  readonly repeats?: true;
  /** The value may be left out: `--tmux`, `--tmux=NAME`. */
  readonly optionalValue?: boolean;
  /** With `rest: true`: from its first word on everything belongs to it, also what looks like an option. */
  readonly verbatim?: true;
};
export type Args = Record<string, Arg>;

export interface Command<T extends Args = Args> {
  readonly name: string;
  /** Positionals in order, then flags. */
  readonly args: T;
  /** Command line and what it does. */
  readonly examples: readonly (readonly [line: string, text: string])[];
  /** Paragraphs below the options; lines of at most 80 columns. */
  readonly notes?: string;
  run(call: Call<T>): Promise<ExitCode>;
}

export interface Call<T extends Args = Args> {
  readonly args: ParsedArgs<T>;
  readonly globals: GlobalOptions;
  /** How many of the words, counted from the last, stood after --. */
  readonly literal: number;
}

/** Keeps the literal types of `args`, so that `call.args` is typed. */
export function defineCommand<const T extends Args>(command: Command<T>): Command<T> {
  return command;
}
