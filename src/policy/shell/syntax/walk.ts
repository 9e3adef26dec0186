/** Every command a text would run, found by walking its syntax tree the way a shell would execute it. */
import type { Assignment, Script, Word, WordPart } from "unbash";
import { Arithmetic } from "./arithmetic.ts";
import { assignmentEffect, isScriptVariable } from "./assignments.ts";
import { UNKNOWN } from "./field.ts";
import { CallGraph } from "../dangers/fork-bomb.ts";
import type { FoundCommand, Printed, Walked } from "./found-command.ts";
import { OutOfWork } from "./out-of-work.ts";
import { parseText } from "./parse.ts";
import type { Write } from "./redirections.ts";
import { flat, Scope, type Value } from "./scope.ts";
import { Commands } from "./walk-commands.ts";
import { Lists } from "./walk-lists.ts";
import { type Expansion, expandWord, wordValues } from "./words.ts";
import { INHERITED, type Input } from "../wrappers/wrapped.ts";

export function walkText(text: string, context: { readonly home?: string; readonly user?: string } = {}): Walked {
  const walk = new Walk(context);
  const { script, source, uncertain } = parseText(text);
  for (const why of uncertain) walk.uncertain(why);
  try {
    if (script !== undefined) walk.lists.text(script, source);
  } catch (error) {
    if (!(error instanceof OutOfWork) && !(error instanceof RangeError)) throw error;
    walk.uncertain("it is too complex to check in full");
  }
  return walk.result();
}

/** About a microsecond each: commands, words, and the characters of nested scripts, which are parsed again at every level. Past it the rest is uncertain. */
const MOST_WORK = 3_500;
const MOST_DEPTH = 40;

/** What is known at one point of the walk; lists and commands take turns with it. */
export class Walk implements Expansion {
  readonly scope: Scope;
  readonly lists: Lists;
  readonly commands: Commands;
  readonly calls = new CallGraph();
  readonly writes: Write[] = [];
  /** Substitutions that were walked. */
  readonly seen = new WeakSet<object>();
  readonly evaluation = new Arithmetic(this);
  depth = 0;
  input: Input = INHERITED;
  /** The text that positions in the tree refer to. */
  source = "";
  readonly #found = new Map<string, FoundCommand>();
  readonly #uncertain = new Set<string>();
  readonly #effects = new Set<string>();
  #work = 0;

  constructor(context: { readonly home?: string; readonly user?: string }) {
    this.scope = new Scope(context.user);
    this.lists = new Lists(this);
    this.commands = new Commands(this, context.home);
  }

  result(): Walked {
    return {
      commands: [...this.#found.values()],
      uncertain: [...this.#uncertain],
      effects: [...this.#effects],
      writes: this.writes,
      forkBomb: this.calls.isBomb(),
    };
  }

  readonly uncertain = (why: string): void => {
    if (this.#uncertain.size < 20) this.#uncertain.add(why);
  };

  runText(text: string): void {
    this.scope.maybe(() => void this.commands.inner({ text, own: true }, INHERITED));
  }

  computed(word: Word, values: readonly string[]): void {
    this.evaluation.computed(word, values);
  }

  arithmetic(part: WordPart): void {
    this.evaluation.part(part);
  }

  assign(name: string, values: readonly Value[]): void {
    this.#noted(name, values);
    this.setVariable(name, values);
  }

  reread(text: string): void {
    this.uncertain("text that is expanded once more");
    this.commands.inner({ text: `: ${text}`, own: true }, INHERITED);
  }

  effect(why: string): void {
    if (this.#effects.size < 20) this.#effects.add(why);
  }

  spend(cost: number): void {
    this.#work += cost;
    if (this.#work > MOST_WORK) throw new OutOfWork();
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

  withInput<T>(input: Input, body: () => T): T {
    const before = this.input;
    this.input = input;
    try {
      return body();
    } finally {
      this.input = before;
    }
  }

  substituted(script: Script | undefined, text: string): string {
    this.spend(10 + text.length / 2);
    if (script === undefined) {
      this.uncertain("a command substitution that cannot be parsed");
      return UNKNOWN;
    }
    this.seen.add(script);
    let out: Printed;
    const { cwd } = this.scope;
    this.calls.forking(() => {
      this.scope.maybe(() => {
        out = this.lists.script(script, this.input);
      });
    });
    this.scope.cwd = cwd;
    return out === undefined ? UNKNOWN : out.replace(/\n+$/, "");
  }

  process(script: Script | undefined, text: string): string | undefined {
    const out = this.substituted(script, text);
    return out === UNKNOWN ? undefined : out;
  }

  /** Name and possible values of an assignment; whoever runs it decides whether the scope gets them. */
  assignment(node: Assignment): { name: string; values: readonly Value[] } {
    const { name, value } = node;
    if (node.index !== undefined) wordValues(node.index, this);
    let values: Value[];
    if (value.type === "ArrayValue") {
      const elements: string[] = [];
      for (const element of value.elements)
        for (const item of expandWord(element, this)[0] ?? []) elements.push(item.value.replace(/^\[[^\]]*\]=/, ""));
      values = [elements];
    } else values = [...wordValues(value, this)];
    if (node.index !== undefined || node.append === true) {
      const before = this.scope.get(name) ?? [node.index === undefined ? UNKNOWN : []];
      values = before.flatMap((old) => values.map((added) => combined(old, added, node.index !== undefined)));
    }
    this.#noted(name, values);
    return { name, values };
  }

  setVariable(name: string, values: readonly Value[]): void {
    this.scope.set(name, values);
    const effect = assignmentEffect(name, flat(values[0]), "shell");
    if (effect !== undefined) this.effect(effect);
  }

  /** Values that are commands themselves are walked, and text that arithmetic would run is remembered. */
  #noted(name: string, values: readonly Value[]): void {
    this.spend(2 + values.length);
    this.evaluation.assigned(name, values);
    for (const value of values) {
      for (const text of typeof value === "string" ? [value] : value) {
        if (isScriptVariable(name)) this.commands.inner({ text, own: true }, INHERITED);
        // Prompts are expanded like the text of a here-document.
        else if (/^(?:PS[0-4]|PROMPT|RPROMPT)$/.test(name) && /\$\(|`/.test(text))
          this.commands.inner({ text: `: <<END_OF_PROMPT\n${text}\nEND_OF_PROMPT\n`, own: true }, INHERITED);
      }
    }
  }

  add(command: FoundCommand): void {
    const key = `${command.argv.map((word) => word.value).join("\0")}\0${command.directories.join("\0")}\0${command.writes.length}\0${command.assigns.map((item) => `${item.name}=${item.value}`).join("\0")}\0${command.by === undefined ? 0 : 1}`;
    if (!this.#found.has(key)) this.#found.set(key, command);
  }
}

function combined(old: Value, added: Value, element: boolean): Value {
  const list = (value: Value) => (typeof value === "string" ? [value] : value);
  if (element || typeof old !== "string" || typeof added !== "string") return [...list(old), ...list(added)];
  return old + added;
}
