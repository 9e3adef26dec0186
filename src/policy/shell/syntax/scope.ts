/** What the shell would know at one point: variables with all their possible values, functions, aliases, directory. */
import type { Function as FunctionNode } from "unbash";
import { HOME, UNKNOWN } from "./field.ts";

/** One possible value; a list is an array. */
export type Value = string | readonly string[];

/** A function's body, and the text that its positions refer to. */
export interface DefinedFunction {
  readonly body: FunctionNode["body"];
  readonly source: string;
}

/** With more possible values, the rest is unknown. */
const MOST_VALUES = 48;
const MOST_NAMES = 2_000;

export class Scope {
  readonly #functions = new Map<string, readonly DefinedFunction[]>();
  readonly #aliases = new Map<string, ReadonlySet<string>>();
  /** Absolute, below HOME, relative to where the text starts, or UNKNOWN. */
  cwd = ".";
  /** `$0`, if a shell was given one. */
  zeroth: string | undefined;
  /** Word splitting differs from the default. */
  ifsChanged = false;
  readonly #values = new Map<string, readonly Value[]>();
  /** Values that were replaced since a branch began, innermost branch last. */
  readonly #undo: Map<string, readonly Value[] | undefined>[] = [];

  constructor(user: string | undefined) {
    this.#values.set("HOME", [HOME]);
    this.#values.set("IFS", [" \t\n"]);
    if (user !== undefined) for (const name of ["USER", "LOGNAME"]) this.#values.set(name, [user]);
  }

  /** All possible values; undefined if only the running shell knows them. */
  get(name: string): readonly Value[] | undefined {
    if (name === "PWD") return [this.cwd];
    return this.#values.get(name);
  }

  set(name: string, values: readonly Value[]): void {
    if (name === "IFS") this.ifsChanged = true;
    if (!this.#values.has(name) && this.#values.size >= MOST_NAMES) return;
    const log = this.#undo.at(-1);
    if (log !== undefined && !log.has(name)) log.set(name, this.#values.get(name));
    this.#values.set(name, bounded(values));
  }

  /** All definitions that the name may have. */
  functions(name: string): readonly DefinedFunction[] {
    return this.#functions.get(name) ?? [];
  }

  define(name: string, defined: DefinedFunction): void {
    // A definition in a branch may not have been made.
    const before = this.#undo.length === 0 ? [] : this.functions(name).filter(({ body }) => body !== defined.body);
    this.#functions.set(name, [...before, defined]);
  }

  aliases(name: string): ReadonlySet<string> {
    return this.#aliases.get(name) ?? new Set();
  }

  /** A compound command is read as a whole, with the aliases from before it: the older ones stay possible. */
  alias(name: string, text: string): void {
    this.#aliases.set(name, new Set([...this.aliases(name), text]));
  }

  /** Runs `body` as code that may or may not run; returns whether it assigned anything. */
  maybe(body: () => void): boolean {
    const { cwd } = this;
    const log = new Map<string, readonly Value[] | undefined>();
    this.#undo.push(log);
    try {
      body();
    } finally {
      this.#undo.pop();
    }
    for (const [name, before] of log) this.set(name, joined(before, this.#values.get(name)));
    this.mayStillBeIn(cwd);
    return log.size > 0;
  }

  mayStillBeIn(cwd: string): void {
    if (this.cwd !== cwd && this.cwd !== UNKNOWN) this.set(MAYBE_CWD, joined(this.get(MAYBE_CWD) ?? [cwd], [this.cwd]));
  }

  /** Runs `body` with these values, as for a command with assignments before it. */
  during(assigns: readonly { readonly name: string; readonly value: string }[], body: () => void): void {
    const before = assigns.map(({ name }) => this.#values.get(name));
    for (const { name, value } of assigns) this.#values.set(name, [value]);
    try {
      body();
    } finally {
      for (const [index, { name }] of assigns.entries()) {
        const old = before[index];
        if (old === undefined) this.#values.delete(name);
        else this.#values.set(name, old);
      }
    }
  }

  /** All possible lists of `$@`; an unknown one is UNKNOWN. */
  get positional(): readonly Value[] {
    return this.#values.get(POSITIONAL) ?? [UNKNOWN];
  }

  set positional(lists: readonly Value[]) {
    this.set(POSITIONAL, lists);
  }

  /** All directories the shell may be in. */
  directories(): readonly string[] {
    const maybe = this.#values.get(MAYBE_CWD) as readonly string[] | undefined;
    return maybe === undefined ? [this.cwd] : [...new Set([this.cwd, ...maybe])];
  }
}

/** No variable can have these names. */
const MAYBE_CWD = " cwd";
const POSITIONAL = " @";

function joined(a: readonly Value[] | undefined, b: readonly Value[] | undefined): readonly Value[] {
  return bounded([...new Set([...(a ?? [UNKNOWN]), ...(b ?? [UNKNOWN])])]);
}

function bounded(values: readonly Value[]): readonly Value[] {
  return values.length <= MOST_VALUES ? values : [...values.slice(0, MOST_VALUES), UNKNOWN];
}

/** As one text. */
export function flat(value: Value | undefined): string {
  return typeof value === "string" ? value : (value?.join(" ") ?? "");
}
