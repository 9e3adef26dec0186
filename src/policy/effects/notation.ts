/** Reads the notation of the table of commands (templates/commands/README.md); rows are parsed when they are needed. */
import { words } from "../../lib/text.ts";
import { type Form, isGiven, type Operand, type Option, type Reading, type Shape } from "./argv.ts";
import { isPsqlRead, isSqlRead } from "../shell/read-only/sql-reads.ts";

/** The forms of some programs; a command line must match one of them. */
export interface Row {
  readonly programs: readonly string[];
  readonly calls: readonly Call[];
  readonly yes: readonly string[];
  readonly no: readonly string[];
  readonly rules: readonly Rule[];
  /** Commands, and the effects that they have. */
  readonly effects: readonly { readonly command: string; readonly gives: readonly string[] }[];
  /** The preset it belongs to; undefined if it applies in all. */
  readonly preset: string | undefined;
}

export interface Call {
  /** Options and operands without a subcommand, or before one. */
  readonly form: Form;
  /** Subcommands and their forms; the words of a nested one are joined by blanks. */
  readonly subcommands: ReadonlyMap<string, readonly Form[]> | undefined;
  /** The program may be called without a subcommand. */
  readonly bare: boolean;
}

/** An effect that depends on which options are given: `reaches * +-a,--all`. */
export interface Rule {
  readonly does: string;
  readonly what: string;
  /** Lists of options: one of each is given. */
  readonly only: readonly string[];
  /** Lists of options, of which none is. */
  readonly never: readonly string[];
}

export function holds({ only, never }: Rule, reading: Reading): boolean {
  return only.every((names) => isGiven(reading, names)) && !never.some((names) => isGiven(reading, names));
}

export class Rows {
  readonly #lines = new Map<string, string[][]>();
  readonly #blocks: string[][] = [];
  readonly #parsed = new Map<string[], Row>();
  readonly #sets = new Map<string, string>();
  readonly #shapes = new Map<string, Shape>([
    ["FILE", shapeOf("FILE", undefined, { contents: true })],
    ["PATH", shapeOf("PATH", undefined)],
    ["TEXT", shapeOf("TEXT", undefined)],
    ["SQL", shapeOf("SQL", { test: isSqlRead })],
    ["PSQL", shapeOf("PSQL", { test: isPsqlRead })],
    ["RUN", shapeOf("RUN", undefined, { rest: true })],
    ["SHELL", shapeOf("SHELL", undefined, { rest: true })],
  ]);
  readonly #preset = new Map<string[], string>();

  /** `roles`: shapes that name what a word stands for. */
  constructor(texts: readonly string[], roles: readonly string[] = []) {
    for (const name of roles) this.#shapes.set(name, shapeOf(name, undefined));
    for (const text of texts) this.#index(text);
  }

  of(program: string): Row[] {
    return (this.#lines.get(program) ?? []).map((block) => this.#row(block));
  }

  has(program: string): boolean {
    return this.#lines.has(program);
  }

  programs(): string[] {
    return [...this.#lines.keys()];
  }

  all(): Row[] {
    return this.#blocks.map((block) => this.#row(block));
  }

  #index(content: string): void {
    let block: string[] | undefined;
    let preset: string | undefined;
    let set: string | undefined;
    for (const line of content.split("\n")) {
      if (line === "" || line.startsWith("#")) continue;
      if (set !== undefined && line.startsWith("    ")) {
        this.#sets.set(set, `${this.#sets.get(set)} ${line.trim()}`);
        continue;
      }
      if (/^(?: {2}|[-+=] )/.test(line)) {
        if (block === undefined) throw new SyntaxError(`a line outside a row: ${line}`);
        block.push(line);
        continue;
      }
      const declared = /^(?:\$(\w+) = |([A-Z]+) ~ |\[(\w+)\]$)/.exec(line);
      const [front = "", named, shape, section] = declared ?? [];
      const text = line.slice(front.length);
      set = named;
      if (this.#sets.has(named ?? "") || this.#shapes.has(shape ?? ""))
        throw new SyntaxError(`declared twice: ${front}`);
      if (named !== undefined) this.#sets.set(named, text);
      else if (shape !== undefined)
        this.#shapes.set(shape, shapeOf(shape, new RegExp(text), { contents: shape.endsWith("FILE") }));
      else if (section !== undefined) preset = section;
      else {
        block = [line];
        this.#blocks.push(block);
        if (preset !== undefined) this.#preset.set(block, preset);
        for (const program of line.split(/\s+/)) {
          const known = this.#lines.get(program);
          if (known === undefined) this.#lines.set(program, [block]);
          else known.push(block);
        }
      }
    }
  }

  #row(block: string[]): Row {
    const known = this.#parsed.get(block);
    if (known !== undefined) return known;
    const [head = "", ...lines] = block;
    const yes: string[] = [];
    const no: string[] = [];
    const rules: Rule[] = [];
    const effects: Row["effects"][number][] = [];
    const calls: CallLines[] = [];
    for (const line of lines) {
      if (line.startsWith("+ ")) yes.push(...examples(line));
      else if (line.startsWith("- ")) no.push(...examples(line));
      else if (line.startsWith("= ")) effects.push(...examples(line).map(effectsOfExample));
      else if (line.startsWith("  > ")) rules.push(...line.slice(4).split("; ").map(ruleOf));
      else if (line.startsWith("    ")) calls.at(-1)?.more(line.trim());
      else if (line.startsWith("  or ")) calls.push(new CallLines(line.slice(5)));
      else if (calls.length === 0) calls.push(new CallLines(line.trim()));
      else calls.at(-1)?.add(line.trim());
    }
    const row: Row = {
      programs: head.split(/\s+/),
      calls: (calls.length === 0 ? [new CallLines("")] : calls).map((call) => this.#call(call)),
      yes,
      no,
      rules,
      effects,
      preset: this.#preset.get(block),
    };
    this.#parsed.set(block, row);
    return row;
  }

  #call({ lines }: CallLines): Call {
    let global = "";
    let subcommands: Map<string, Form[]> | undefined;
    for (const line of lines) {
      const match = /^([a-z][\w.|-]*(?:,? [\w.|-]+)*):(?: (.*))?$/.exec(line);
      if (match === null) {
        global += ` ${line}`;
        continue;
      }
      subcommands ??= new Map();
      const form = this.#form(match[2] ?? "");
      for (const path of paths(match[1] as string)) subcommands.set(path, [...(subcommands.get(path) ?? []), form]);
    }
    return {
      form: this.#form(global),
      subcommands,
      bare: this.#words(global).includes("bare"),
    };
  }

  #words(text: string): string[] {
    return text
      .split(/\s+/)
      .filter((word) => word !== "")
      .flatMap((word) => {
        if (!word.startsWith("$")) return [word];
        const set = this.#sets.get(word.slice(1));
        if (set === undefined) throw new SyntaxError(`no set is called ${word}`);
        return this.#words(set);
      });
  }

  #form(text: string): Form {
    const options = new Map<string, Option>();
    const operands: Operand[] = [];
    const words = this.#words(text);
    const flags = new Set(words);
    const whole = flags.has("words");
    for (const word of words) {
      if (word.startsWith("-")) for (const [name, option] of this.#options(word, whole)) options.set(name, option);
      else if (/^[A-Z<]/.test(word)) operands.push(this.#operand(word));
      else if (!/^(?:open|words|reorders|partial|joined|old|at|alone|first|bare|none|reader:[\w-]+)$/.test(word))
        throw new SyntaxError(`unknown word in the table: ${word}`);
    }
    return {
      options,
      operands,
      groups: new Set([...options.values()].map(({ group }) => group).filter((group) => group > 0)),
      open: flags.has("open"),
      words: whole,
      reorders: flags.has("reorders"),
      partial: flags.has("partial"),
      joined: flags.has("joined"),
      old: flags.has("old"),
      at: flags.has("at"),
      alone: flags.has("alone"),
      first: flags.has("first"),
      reader: words.find((word) => word.startsWith("reader:"))?.slice(7),
    };
  }

  #options(word: string, whole: boolean): [string, Option][] {
    const match = /^(--?[^=[:!]+|-[:[!=])(\[=([^\]]*)\]|=2|=(\S*?)|:(\S*?))?(!*)$/.exec(word);
    if (match === null) throw new SyntaxError(`invalid option in the table: ${word}`);
    const [, name = "", value, inner, after, apart, marks = ""] = match;
    const shape = inner || after || apart;
    const option: Option = {
      values: value === undefined || value.startsWith("[") ? 0 : value === "=2" ? 2 : 1,
      optional: value?.startsWith("[") === true,
      apart: value?.startsWith(":") === true,
      shape: shape === undefined || shape === "" ? undefined : this.#shape(shape),
      group: marks.length,
    };
    if (name.startsWith("--") || whole || name === "-#") return [[name, option]];
    return Array.from(name.slice(1), (letter): [string, Option] => [`-${letter}`, option]);
  }

  #operand(word: string): Operand {
    const match = /^(\w+|<[^>]+>)([?*+]?)$/.exec(word);
    if (match === null) throw new SyntaxError(`invalid operand in the table: ${word}`);
    const [, name = "", times] = match;
    return {
      shape: this.#shape(name),
      least: times === "?" || times === "*" ? 0 : 1,
      most: times === "*" || times === "+" ? Number.POSITIVE_INFINITY : 1,
    };
  }

  #shape(name: string): Shape {
    const known = this.#shapes.get(name);
    if (known !== undefined) return known;
    const literal = /^<([^>]+)>$/.exec(name)?.[1] ?? (/^[a-z0-9|.-]+$/.test(name) ? name : undefined);
    if (literal === undefined) throw new SyntaxError(`no shape is called ${name}`);
    const shape = shapeOf(name, new RegExp(`^(?:${literal})$`));
    this.#shapes.set(name, shape);
    return shape;
  }
}

function shapeOf(name: string, pattern: Shape["pattern"], more: Partial<Shape> = {}): Shape {
  return { name, pattern, contents: false, rest: false, ...more };
}

/** The lines of one way to call a program. */
class CallLines {
  readonly lines: string[];

  constructor(first: string) {
    this.lines = [first];
  }

  add(line: string): void {
    this.lines.push(line);
  }

  more(text: string): void {
    this.lines.push(`${this.lines.pop() ?? ""} ${text}`);
  }
}

const examples = (line: string) =>
  line
    .slice(2)
    .split(" ¦ ")
    .map((text) => text.trim());

function effectsOfExample(text: string): Row["effects"][number] {
  const [command = "", gives = ""] = text.split(" → ");
  return { command, gives: gives === "nothing" ? [] : gives.split(", ") };
}

const VERBS = new Set(words("reaches removes empties writes replaces links mode directory fills"));

function ruleOf(text: string): Rule {
  const [does = "", what = "", ...conditions] = text.trim().split(/\s+/);
  const of = (sign: string) => conditions.filter((one) => one.startsWith(sign)).map((one) => one.slice(1));
  if (!VERBS.has(does)) throw new SyntaxError(`unknown effect in the table: ${text}`);
  return { does, what, only: of("+"), never: of("!") };
}

/** `images, image ls|list` → `images`, `image ls`, `image list`. */
function paths(heading: string): string[] {
  return heading.split(", ").flatMap((path) => {
    let all = [""];
    for (const part of path.split(" "))
      all = all.flatMap((before) => part.split("|").map((word) => (before === "" ? word : `${before} ${word}`)));
    return all;
  });
}
