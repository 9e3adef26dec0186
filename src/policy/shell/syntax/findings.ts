/** What walking a text finds: the commands it would run, its other effects, and the limit of work. */
import { CallGraph } from "../dangers/fork-bomb.ts";
import type { Field } from "./field.ts";
import type { Write } from "./redirections.ts";
import type { Wrapped } from "../wrappers/wrapped.ts";

/** Units of about a microsecond: for commands, words, and characters of nested scripts, which are parsed again. */
const MOST_WORK = 3_500;
const MOST_DEPTH = 40;

const MOST_REASONS = 20;

/** Thrown when a text takes too much work: what was found until then counts, the rest is uncertain. */
export class OutOfWork extends Error {}

export class Findings {
  readonly calls = new CallGraph();
  readonly writes: Write[] = [];
  readonly reads: Read[] = [];
  /** The text itself and texts that are passed to a shell. */
  readonly texts: string[] = [];
  /** A program transforms literal text, so that a file name may appear in another form. */
  computed = false;
  /** It uses a variable that it does not set and that may come from the environment. */
  environment = false;
  /** The name of such a variable, if it suggests a secret and its value is used for more than a test. */
  secretVariable: string | undefined;
  /** The current test only checks whether a value is empty. */
  testsEmpty = false;
  depth = 0;
  /** How many loops, and groups whose output goes into a pipe, the walk is in. */
  groups = 0;
  /** How many process substitutions the walk is in. */
  substitutions = 0;
  /** The shell may not be bash: only the grammar that all shells share is certain. */
  anyShell = false;
  /** Something was started that the shell does not wait for. */
  unwaited = false;
  readonly #commands = new Map<string, FoundCommand>();
  readonly #uncertain = new Set<string>();
  readonly #effects = new Set<string>();
  #work = 0;

  result(): Walked {
    return {
      commands: [...this.#commands.values()],
      uncertain: [...this.#uncertain],
      effects: [...this.#effects],
      writes: this.writes,
      reads: this.reads,
      computed: this.computed,
      environment: this.environment,
      secretVariable: this.secretVariable,
      texts: this.texts,
      forkBomb: this.calls.isBomb(),
      unwaited: this.unwaited,
      work: this.#work,
    };
  }

  readonly uncertain = (why: string): void => {
    if (this.#uncertain.size < MOST_REASONS) this.#uncertain.add(why);
  };

  background(why: string): void {
    this.unwaited = true;
    this.effect(why);
  }

  effect(why: string): void {
    if (this.#effects.size < MOST_REASONS) this.#effects.add(why);
  }

  add(command: FoundCommand): void {
    const { argv, directories, writes, assigns, by } = command;
    const key = [
      ...argv.map((word) => word.value),
      ...directories,
      writes.length,
      ...assigns.map((item) => `${item.name}=${item.value}`),
      by === undefined ? 0 : 1,
      command.grouped ? 1 : 0,
      command.unwaited ? 1 : 0,
      command.input ?? "",
    ].join("\0");
    if (!this.#commands.has(key)) this.#commands.set(key, command);
  }

  spend(cost: number): void {
    this.#work += cost;
    if (this.#work > MOST_WORK) throw new OutOfWork();
  }

  grouped<T>(body: () => T): T {
    this.groups++;
    try {
      return body();
    } finally {
      this.groups--;
    }
  }

  deeper<T>(body: () => T): T {
    if (++this.depth > MOST_DEPTH) {
      this.depth--;
      throw new OutOfWork();
    }
    try {
      return body();
    } finally {
      this.depth--;
    }
  }
}

/** A command as the shell would start it. */
export interface FoundCommand {
  readonly argv: readonly Field[];
  /** Assignments before it, or by env and sudo. */
  readonly assigns: readonly { readonly name: string; readonly value: string }[];
  /** Directories it may run in. */
  readonly directories: readonly string[];
  readonly writes: readonly Write[];
  readonly wrapped: Wrapped | undefined;
  /** The wrapper that starts it, and the index in the wrapper's words at which it begins. */
  readonly by: { readonly command: FoundCommand; readonly at: number | undefined } | undefined;
  /** Its standard input, if known from the text: a here-document, a here-string, the output of `echo`. */
  readonly input?: string;
  /** Its input is only known when it runs: a file, or the output of another program. */
  readonly fed?: boolean;
  /** A function or alias of the same text, whose body is walked separately. */
  readonly defined: boolean;
  /** It runs in a loop, or in a group whose output goes into a pipe. */
  readonly grouped: boolean;
  /** It runs in a process substitution: the shell does not wait for it. */
  readonly unwaited: boolean;
}

/** A file that a redirection reads, and the directories that its name may be relative to. */
export interface Read {
  readonly file: string;
  readonly directories: readonly string[];
}

export interface Walked {
  readonly commands: readonly FoundCommand[];
  readonly uncertain: readonly string[];
  /** Effects other than running commands: assignments, redirections without a command, definitions. */
  readonly effects: readonly string[];
  readonly writes: readonly Write[];
  readonly reads: readonly Read[];
  readonly texts: readonly string[];
  readonly computed: boolean;
  readonly environment: boolean;
  readonly secretVariable: string | undefined;
  readonly forkBomb: boolean;
  readonly unwaited: boolean;
  /** In units of about a microsecond. */
  readonly work: number;
}

/** What a list prints, if known. */
export type Printed = string | undefined;

/**
 * The test reveals only whether there is a value. A pattern could reveal a value letter by letter, and bash keeps what
 * `=~` matched.
 */
export function comparesNothing(test: string): boolean {
  const rest = test.replaceAll(/\s[!=]=?\s+(?:""|'')(?=\s|$)/g, " ");
  return !/[=<>~]|\s-(?:eq|ne|[lg][te]|ef|nt|ot)\s/.test(rest);
}
