/** What walking a text finds: the commands it would run, what else it does, and how much may be spent on finding it. */
import { CallGraph } from "../dangers/fork-bomb.ts";
import type { Field } from "./field.ts";
import type { Write } from "./redirections.ts";
import type { Wrapped } from "../wrappers/wrapped.ts";

/**
 * About a microsecond each: commands, words, and the characters of nested scripts, which are parsed again at every
 * level.
 */
const MOST_WORK = 3_500;
const MOST_DEPTH = 40;
/** Reasons that are kept. */
const MOST_REASONS = 20;

/** Thrown where a text costs more to look at than it may: what was found until then counts, the rest is uncertain. */
export class OutOfWork extends Error {}

export class Findings {
  readonly calls = new CallGraph();
  readonly writes: Write[] = [];
  readonly reads: Read[] = [];
  /** Texts that a shell would be given. */
  readonly texts: string[] = [];
  /** Some program makes other text out of text that is written out: a name need not look like what it is. */
  computed = false;
  /** It uses a variable that it does not set and that an environment may have. */
  environment = false;
  /** The name of such a variable, if it says that the value is a secret and something but a test gets it. */
  secretVariable: string | undefined;
  /** Of what is expanded only counts whether there is any. */
  testsEmpty = false;
  depth = 0;
  /** Loops, and groups whose output goes into a pipe, that the walk is in. */
  groups = 0;
  /** The shell at hand need not be bash: only what all shells read alike is certain. */
  anyShell = false;
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
      work: this.#work,
    };
  }

  readonly uncertain = (why: string): void => {
    if (this.#uncertain.size < MOST_REASONS) this.#uncertain.add(why);
  };

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
  /** Assignments in front of it, or through env and sudo. */
  readonly assigns: readonly { readonly name: string; readonly value: string }[];
  /** Directories it may run in. */
  readonly directories: readonly string[];
  readonly writes: readonly Write[];
  readonly wrapped: Wrapped | undefined;
  /** The wrapper that starts it, and where in that one's words it begins. */
  readonly by: { readonly command: FoundCommand; readonly at: number | undefined } | undefined;
  /** Its standard input, where the text itself holds it: a here-document, a here-string, what `echo` prints into it. */
  readonly input?: string;
  /** It gets something that only the running shell knows: a file, or what another program prints. */
  readonly fed?: boolean;
  /** A function or alias of the same text: what it does is walked by itself. */
  readonly defined: boolean;
  /** It runs in a loop, or in a group whose output goes into a pipe. */
  readonly grouped: boolean;
}

/** A file that a redirection reads, and the directories its name may count from. */
export interface Read {
  readonly file: string;
  readonly directories: readonly string[];
}

export interface Walked {
  readonly commands: readonly FoundCommand[];
  readonly uncertain: readonly string[];
  /** What the text does besides running commands: assignments, redirections without a command, definitions. */
  readonly effects: readonly string[];
  readonly writes: readonly Write[];
  readonly reads: readonly Read[];
  /** The text itself and those it gives to a shell. */
  readonly texts: readonly string[];
  /** Text is made out of text that is written out. */
  readonly computed: boolean;
  /** It uses a variable of its environment. */
  readonly environment: boolean;
  /** The name of one that holds a secret. */
  readonly secretVariable: string | undefined;
  readonly forkBomb: boolean;
  /** What it cost to look at, in microseconds or so. */
  readonly work: number;
}

/** What a list prints, where that is known. */
export type Printed = string | undefined;

/**
 * Of a test: whether there is a value, and nothing of what it is. A pattern reveals a value letter by letter, and bash
 * keeps what `=~` matched.
 */
export function comparesNothing(test: string): boolean {
  const rest = test.replaceAll(/\s[!=]=?\s+(?:""|'')(?=\s|$)/g, " ");
  return !/[=<>~]|\s-(?:eq|ne|[lg][te]|ef|nt|ot)\s/.test(rest);
}
