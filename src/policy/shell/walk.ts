/** Every command a text would run, found by walking its syntax tree the way a shell would execute it. */
import {
  forEachChild,
  type Assignment,
  type Command,
  type CommandNode,
  type CompoundList,
  type Function as FunctionNode,
  type Pipeline,
  type Script,
  type Statement,
  type SyntaxNode,
  type Word,
  type WordPart,
} from "unbash";
import { Arithmetic } from "./arithmetic.ts";
import { assignmentEffect, isScriptVariable } from "./assignments.ts";
import { type Field, field, HOME, isFixed, UNKNOWN } from "./field.ts";
import { applyBuiltin } from "./builtins.ts";
import { CallGraph } from "./fork-bomb.ts";
import { OutOfWork } from "./out-of-work.ts";
import { parseInner, parseText } from "./parse.ts";
import { printed } from "./printed.ts";
import { redirected, type Write } from "./redirections.ts";
import { type DefinedFunction, Scope, type Value } from "./scope.ts";
import { type Expansion, expandWord, type Outcome, wordValues } from "./words.ts";
import type { Input, InnerScript, Wrapped } from "./wrapped.ts";
import { unwrap } from "./wrappers.ts";
import { gitAliasRuns } from "./git.ts";

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

/** About a microsecond each: commands, words, and the characters of nested scripts, which are parsed again at every level. Past it the rest is uncertain. */
const MOST_WORK = 3_500;
const MOST_DEPTH = 40;
const MOST_COMBINATIONS = 48;
const INHERITED: Input = { kind: "inherited" };

export function walkText(text: string, context: { readonly home?: string; readonly user?: string } = {}): Walked {
  const walk = new Walk(context);
  const { script, source, uncertain } = parseText(text);
  for (const why of uncertain) walk.uncertain(why);
  try {
    if (script !== undefined) walk.text(script, source);
  } catch (error) {
    if (!(error instanceof OutOfWork) && !(error instanceof RangeError)) throw error;
    walk.uncertain("it is too complex to check in full");
  }
  return walk.result();
}

/** Output of a command that is only known when it runs. */
const NOT_KNOWN = `${UNKNOWN}\n`;

/** What a list prints, where that is known. */
type Printed = string | undefined;

class Walk implements Expansion {
  readonly scope: Scope;
  readonly #found = new Map<string, FoundCommand>();
  readonly #uncertain = new Set<string>();
  readonly #effects = new Set<string>();
  readonly #writes: Write[] = [];
  readonly #walked = new WeakSet<object>();
  readonly #calls = new CallGraph();
  /** Function bodies that are being walked. */
  readonly #active = new Set<object>();
  #work = 0;
  #depth = 0;
  #loops = 0;
  #input: Input = INHERITED;
  #source = "";
  readonly #arithmetic = new Arithmetic(this);

  readonly #home: string | undefined;

  constructor(context: { readonly home?: string; readonly user?: string }) {
    this.scope = new Scope(context.user);
    this.#home = context.home === undefined || context.home === "/" ? undefined : context.home.replace(/\/+$/, "");
  }

  result(): Walked {
    return {
      commands: [...this.#found.values()],
      uncertain: [...this.#uncertain],
      effects: [...this.#effects],
      writes: this.#writes,
      forkBomb: this.#calls.isBomb(),
    };
  }

  readonly uncertain = (why: string): void => {
    if (this.#uncertain.size < 20) this.#uncertain.add(why);
  };

  runText(text: string): void {
    this.scope.maybe(() => void this.#inner({ text, own: true }, INHERITED));
  }

  computed(word: Word, values: readonly string[]): void {
    this.#arithmetic.computed(word, values);
  }

  arithmetic(part: WordPart): void {
    this.#arithmetic.part(part);
  }

  assign(name: string, values: readonly Value[]): void {
    this.#noted(name, values);
    this.#set(name, values);
  }

  reread(text: string): void {
    this.uncertain("text that is expanded once more");
    this.#inner({ text: `: ${text}`, own: true }, INHERITED);
  }

  #effect(why: string): void {
    if (this.#effects.size < 20) this.#effects.add(why);
  }

  spend(cost: number): void {
    this.#work += cost;
    if (this.#work > MOST_WORK) throw new OutOfWork();
  }

  #deeper<T>(body: () => T): T {
    if (++this.#depth > MOST_DEPTH) {
      this.#depth--;
      throw new OutOfWork();
    }
    try {
      return body();
    } finally {
      this.#depth--;
    }
  }

  #withInput<T>(input: Input, body: () => T): T {
    const before = this.#input;
    this.#input = input;
    try {
      return body();
    } finally {
      this.#input = before;
    }
  }

  // --- lists -------------------------------------------------------------------------------------------------------

  /** A parsed text of its own, as opposed to a part of one. */
  text(script: Script, source: string, input: Input = INHERITED): Printed {
    const before = this.#source;
    this.#source = source;
    try {
      // unbash 6.0.3 drops an opening parenthesis at the end of a command without a word.
      const end = script.commands.at(-1)?.end;
      if (end !== undefined && /^[ \t]*\(/.test(source.slice(end, end + 64)))
        this.uncertain("it cannot be parsed: an unexpected parenthesis");
      const out = this.script(script, input);
      this.#complete(script, 0);
      return out;
    } finally {
      this.#source = before;
    }
  }

  /** A second, plain pass over the tree: a substitution that was not walked is a construct this walk does not know. */
  #complete(node: SyntaxNode, depth: number): void {
    this.spend(0.1);
    if (depth > 400) throw new OutOfWork();
    if (
      (node.type === "CommandExpansion" ||
        node.type === "ProcessSubstitution" ||
        node.type === "ArithmeticCommandExpansion") &&
      node.script !== undefined &&
      !this.#walked.has(node.script)
    )
      this.uncertain("a substitution in a place that is not looked at");
    forEachChild(node, (child) => this.#complete(child, depth + 1));
  }

  script(script: Script, input: Input): Printed {
    // Backticks have their own, unescaped text.
    if (script.source !== undefined && script.source !== this.#source)
      return this.text({ ...script, source: script.source }, script.source, input);
    if ("errors" in script && Array.isArray(script.errors) && script.errors.length > 0)
      this.uncertain("a part of it cannot be parsed");
    return this.#deeper(() => this.#withInput(input, () => this.#list(script.commands)));
  }

  #list(statements: readonly Statement[]): Printed {
    let out: Printed = "";
    let known = false;
    let previous: Statement | undefined;
    for (const statement of statements) {
      let printed: Printed;
      // Two commands with nothing between them: the parser recovered from something.
      if (
        previous !== undefined &&
        previous.background !== true &&
        !/[;&\n]/.test(this.#source.slice(previous.end, statement.pos))
      )
        this.uncertain("it cannot be parsed: two commands without a separator");
      previous = statement;
      if (statement.background === true) {
        this.#effect("it starts something in the background");
        this.scope.maybe(() => {
          this.#calls.inBackground(() => {
            printed = this.#statement(statement);
          });
        });
      } else printed = this.#statement(statement);
      // What is known of the output stays known beside what is not.
      if (printed !== undefined || out !== undefined) out = (out ?? NOT_KNOWN) + (printed ?? NOT_KNOWN);
      known ||= printed !== undefined && printed !== "";
    }
    return known || statements.length === 0 || out === "" ? out : undefined;
  }

  #statement(statement: Statement): Printed {
    const { command } = statement;
    if (command.type !== "AndOr") return this.#node(command);
    const [first, ...others] = command.commands;
    if (first !== undefined) this.#node(first);
    this.#calls.conditionally(() =>
      this.scope.maybe(() => {
        for (const [index, item] of others.entries()) {
          if (command.operators[index] === "&&") this.#node(item);
          else this.scope.maybe(() => void this.#node(item));
        }
      }),
    );
    return undefined;
  }

  #node(node: CommandNode | Pipeline): Printed {
    this.spend(6);
    return node.type === "Pipeline" ? this.#pipeline(node) : this.#command(node, this.#input);
  }

  #pipeline(node: Pipeline): Printed {
    const { commands } = node;
    if (commands.length === 0) this.uncertain("it cannot be parsed: an empty command");
    if (commands.length === 1) return this.#command(commands[0] as CommandNode, this.#input);
    let input = this.#input;
    let out: Printed;
    this.#calls.forking(() => {
      for (const command of commands) {
        this.scope.maybe(() => {
          out = this.#withInput(input, () => this.#command(command, input));
        });
        input = out === undefined ? { kind: "unknown" } : { kind: "known", text: out };
      }
    });
    return out;
  }

  #command(node: CommandNode, input: Input): Printed {
    switch (node.type) {
      case "Command":
        return this.#simple(node, input);
      case "Redirected": {
        const io = redirected(node.redirects, input, this);
        this.#writes.push(...io.writes);
        const out = this.#withInput(io.input, () => this.#command(node.command, io.input));
        return io.writes.length > 0 || io.moved ? undefined : out;
      }
      case "Function":
        this.#define(node.name.value, node.body);
        return "";
      case "Coproc":
        this.#effect("it starts a coprocess");
        this.#calls.forking(() => {
          if (node.body.type === "CompoundList") this.#list(node.body.commands);
          else this.#command(node.body, { kind: "unknown" });
        });
        return undefined;
      case "Subshell":
        return this.#subshell(node.body);
      case "BraceGroup":
        return this.#list(node.body.commands);
      case "If":
        this.#list(node.clause.commands);
        this.#branches([
          node.then,
          ...node.elif.flatMap((branch) => [branch.clause, branch.then]),
          ...(node.else === undefined ? [] : [node.else]),
        ]);
        return undefined;
      case "While":
        this.#loop(() => {
          this.#list(node.clause.commands);
          this.#list(node.body.commands);
        });
        return undefined;
      case "For":
      case "Select": {
        const values: Value[] = [];
        for (const word of node.wordlist ?? [])
          for (const outcome of expandWord(word, this)) for (const item of outcome) values.push(item.value);
        if (node.wordlist === undefined)
          for (const given of this.scope.positional) values.push(...(typeof given === "string" ? [given] : given));
        const name = node.name.value;
        this.assign(name, values);
        this.#loop(() => {
          this.scope.set(name, values.length === 0 ? [UNKNOWN] : values);
          this.#list(node.body.commands);
        });
        return undefined;
      }
      case "ArithmeticFor":
        for (const part of [node.initialize, node.test, node.update])
          if (part !== undefined) this.#arithmetic.expression(part);
        this.#loop(() => void this.#list(node.body.commands));
        return undefined;
      case "Case":
        wordValues(node.word, this);
        for (const item of node.items) for (const pattern of item.pattern) wordValues(pattern, this);
        this.#branches(node.items.map((item) => item.body));
        return undefined;
      case "TestCommand":
        this.#arithmetic.test(node.expression);
        return "";
      case "ArithmeticCommand":
        if (node.expression !== undefined) this.#arithmetic.expression(node.expression);
        else if (node.body.trim() !== "") this.uncertain("arithmetic this parser does not know");
        // A shell without (( )) reads two subshells, and `>` as a redirection.
        if (/[^<>=!]>[^=>]|^\s*[A-Za-z_]\w*\s+[\w-]/.test(node.body))
          this.uncertain("(( )) that another shell would read as commands");
        return "";
    }
  }

  #subshell(body: CompoundList): Printed {
    const { cwd } = this.scope;
    let out: Printed;
    this.scope.maybe(() => {
      out = this.#list(body.commands);
    });
    this.scope.cwd = cwd;
    return out;
  }

  #branches(bodies: readonly CompoundList[]): void {
    this.#calls.conditionally(() => {
      for (const body of bodies) this.scope.maybe(() => void this.#list(body.commands));
    });
  }

  /** Twice, so that what the end of the body assigns is known at its start. */
  #loop(body: () => void): void {
    this.#loops++;
    this.#calls.conditionally(() => {
      const assigned = this.scope.maybe(body);
      if (assigned && this.#loops <= 3) this.scope.maybe(body);
    });
    this.#loops--;
  }

  // --- words -------------------------------------------------------------------------------------------------------

  substituted(script: Script | undefined, text: string): string {
    this.spend(10 + text.length / 2);
    if (script === undefined) {
      this.uncertain("a command substitution that cannot be parsed");
      return UNKNOWN;
    }
    this.#walked.add(script);
    let out: Printed;
    const { cwd } = this.scope;
    this.#calls.forking(() => {
      this.scope.maybe(() => {
        out = this.script(script, this.#input);
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
  #assignment(node: Assignment): { name: string; values: readonly Value[] } {
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

  #set(name: string, values: readonly Value[]): void {
    this.scope.set(name, values);
    const effect = assignmentEffect(name, flat(values[0]), "shell");
    if (effect !== undefined) this.#effect(effect);
  }

  /** Values that are commands themselves are walked, and text that arithmetic would run is remembered. */
  #noted(name: string, values: readonly Value[]): void {
    this.spend(2 + values.length);
    this.#arithmetic.assigned(name, values);
    for (const value of values) {
      for (const text of typeof value === "string" ? [value] : value) {
        if (isScriptVariable(name)) this.#inner({ text, own: true }, INHERITED);
        // Prompts are expanded like the text of a here-document.
        else if (/^(?:PS[0-4]|PROMPT|RPROMPT)$/.test(name) && /\$\(|`/.test(text))
          this.#inner({ text: `: <<END_OF_PROMPT\n${text}\nEND_OF_PROMPT\n`, own: true }, INHERITED);
      }
    }
  }

  // --- commands ----------------------------------------------------------------------------------------------------

  #simple(node: Command, input: Input): Printed {
    this.#gaps(node);
    const assigns: { name: string; value: string }[] = [];
    const io = redirected(node.redirects, input, this);
    for (const item of node.prefix) {
      if (item.type !== "Assignment") continue;
      const { name, values } = this.#assignment(item);
      assigns.push({ name, value: flat(values[0]) });
      if (node.name === undefined) this.#set(name, values);
    }
    if (node.name === undefined) {
      if (node.prefix.length === 0 && node.redirects.length === 0)
        this.uncertain("it cannot be parsed: an empty command");
      this.#writes.push(...io.writes);
      // `$(< file)` prints the file.
      return node.redirects.length > 0 ? undefined : "";
    }
    if (node.name.parts?.some((part) => part.type === "ProcessSubstitution") === true)
      this.uncertain("a process substitution where a command name is expected");
    let outcomes: Field[][] = [[]];
    for (const word of [node.name, ...node.args]) {
      this.spend(1);
      const ways = word.type === "Word" ? expandWord(word, this) : this.#declared(word);
      outcomes = this.#combined(outcomes, ways);
    }
    let out: Printed;
    for (const argv of outcomes) out = this.run(argv, io.input, { assigns, writes: io.writes, by: undefined });
    return outcomes.length > 1 || io.moved ? undefined : out;
  }

  /** Between the words of a command there are only blanks; anything else is something the parser dropped. */
  #gaps(node: Command): void {
    let end: number | undefined;
    const check = (item: { readonly pos: number; readonly end: number }) => {
      if (end !== undefined && item.pos > end + 1 && /[^\s\\]/.test(this.#source.slice(end, item.pos)))
        this.uncertain("it cannot be parsed: an unexpected character");
      end = item.end;
    };
    for (const item of node.prefix) check(item);
    if (node.name !== undefined) check(node.name);
    for (const item of node.suffix) check(item);
  }

  /** `declare a=b`, `alias a=b`: an argument that is an assignment. */
  #declared(node: Assignment): readonly Outcome[] {
    const { name, values } = this.#assignment(node);
    this.scope.set(name, values);
    return values.slice(0, 8).map((value) => [field(`${name}=${flat(value)}`, node.text)]);
  }

  #combined(outcomes: Field[][], ways: readonly Outcome[]): Field[][] {
    if (ways.length === 1) {
      const only = ways[0] as Outcome;
      for (const outcome of outcomes) outcome.push(...only);
      this.spend(only.length * outcomes.length);
      return outcomes;
    }
    if (outcomes.length * ways.length > MOST_COMBINATIONS) {
      this.uncertain("more combinations of values than are looked at");
      const plain = outcomes[0] as Field[];
      return ways.slice(0, MOST_COMBINATIONS).map((way) => [...plain, ...way]);
    }
    return outcomes.flatMap((outcome) => ways.map((way) => [...outcome, ...way]));
  }

  /** A command with its final words, as the shell or a wrapper would start it. */
  run(
    words: readonly Field[],
    input: Input,
    how: { assigns: FoundCommand["assigns"]; writes: readonly Write[]; by: FoundCommand["by"] },
  ): Printed {
    this.spend(8 + 2 * words.length);
    const argv = this.#home === undefined ? words : words.map((word) => this.#withHome(word));
    const first = argv[0];
    if (first === undefined) {
      this.#writes.push(...how.writes);
      return "";
    }
    const name = first.value;
    if (!isFixed(name)) {
      this.uncertain(`the command ${first.source} is only known when it runs`);
      this.#calls.called(first.source.replace(/["{}]/g, "") === "$0" ? CallGraph.ITSELF : name);
    } else this.#calls.called(name);
    const body =
      how.by === undefined || how.by.command.argv[0]?.value !== "command" ? this.scope.functions.get(name) : undefined;
    const alias = first.source === name ? this.scope.aliases.get(name) : undefined;
    const wrapped = body === undefined ? (unwrap(argv, input) ?? gitAliasRuns(argv)) : undefined;
    const command: FoundCommand = {
      argv,
      assigns: how.assigns,
      directories: this.scope.directories(),
      writes: how.writes,
      wrapped,
      by: how.by,
      defined: body !== undefined,
    };
    this.#add(command);
    if (alias !== undefined && this.#depth < 20)
      this.#inner(
        {
          text: `${alias} ${argv
            .slice(1)
            .map((word) => quoted(word.value))
            .join(" ")}`,
          own: false,
        },
        input,
      );
    if (body !== undefined) return this.#call(name, body, argv.slice(1), input);
    applyBuiltin(argv, input, this);
    if (wrapped !== undefined) return this.#wrapped(command, wrapped, input);
    return printed(argv, input, this.scope);
  }

  /** The home directory written out is a home directory too, wherever it lies. */
  #withHome(word: Field): Field {
    const home = this.#home as string;
    if (!word.value.startsWith(home) || (word.value.length > home.length && word.value[home.length] !== "/"))
      return word;
    return { ...word, value: HOME + word.value.slice(home.length) };
  }

  #add(command: FoundCommand): void {
    const key = `${command.argv.map((word) => word.value).join("\0")}\0${command.directories.join("\0")}\0${command.writes.length}\0${command.assigns.map((item) => `${item.name}=${item.value}`).join("\0")}\0${command.by === undefined ? 0 : 1}`;
    if (!this.#found.has(key)) this.#found.set(key, command);
  }

  #wrapped(command: FoundCommand, wrapped: Wrapped, input: Input): Printed {
    if (wrapped.uncertain !== undefined) this.uncertain(wrapped.uncertain);
    const assigns = wrapped.assigns ?? [];
    const inner = wrapped.input ?? input;
    const { cwd } = this.scope;
    if (wrapped.cwd !== undefined) this.scope.cwd = wrapped.cwd;
    let out: Printed;
    // What runs inside sees the assignments in front of the wrapper and those it makes itself.
    this.scope.during([...command.assigns, ...assigns], () =>
      this.#deeper(() => {
        for (const argv of wrapped.commands ?? [])
          out = this.run(argv, inner, { assigns, writes: [], by: { command, at: wrapped.at } });
        for (const script of wrapped.scripts ?? []) out = this.#inner(script, inner);
      }),
    );
    this.scope.cwd = cwd;
    return (wrapped.commands?.length ?? 0) + (wrapped.scripts?.length ?? 0) === 1 ? out : undefined;
  }

  #inner(script: InnerScript, input: Input): Printed {
    const { text } = script;
    if (text === undefined) {
      this.uncertain("it runs text that is only known when it runs");
      return undefined;
    }
    this.spend(10 + text.length / 2);
    if (text.includes(UNKNOWN)) this.uncertain("it runs text of which a part is only known when it runs");
    const parsed = parseInner(text);
    for (const why of parsed.uncertain) this.uncertain(why);
    if (parsed.script === undefined) return undefined;
    const { positional, zeroth, cwd } = this.scope;
    if (script.positional !== undefined) {
      this.scope.zeroth = script.positional[0];
      this.scope.positional = [script.positional.slice(1)];
    }
    let out: Printed;
    const body = () => {
      out = this.text(parsed.script as Script, parsed.source, input);
    };
    if (script.own) {
      this.scope.maybe(body);
      this.scope.cwd = cwd;
    } else body();
    if (script.own) this.scope.positional = positional;
    this.scope.zeroth = zeroth;
    return out;
  }

  #define(name: string, node: FunctionNode["body"]): void {
    this.#effect(`it defines the function ${name}`);
    const body = { body: node, source: this.#source };
    this.scope.functions.set(name, body);
    this.#call(name, body, undefined, { kind: "unknown" });
  }

  #call(name: string, { body, source }: DefinedFunction, args: readonly Field[] | undefined, input: Input): Printed {
    // A function of the same name may be another one: bodies are told apart, not names.
    if (this.#active.has(body)) return undefined;
    this.#active.add(body);
    const { positional } = this.scope;
    const before = this.#source;
    this.#source = source;
    this.scope.positional = args === undefined ? [UNKNOWN] : [args.map((word) => word.value)];
    let out: Printed;
    this.#deeper(() =>
      this.#calls.inside(name, () => {
        this.scope.maybe(() => {
          out = this.#withInput(input, () =>
            body.type === "CompoundList" ? this.#list(body.commands) : this.#command(body, input),
          );
        });
      }),
    );
    this.#active.delete(body);
    this.scope.positional = positional;
    this.#source = before;
    return out;
  }
}

function combined(old: Value, added: Value, element: boolean): Value {
  const list = (value: Value) => (typeof value === "string" ? [value] : value);
  if (element || typeof old !== "string" || typeof added !== "string") return [...list(old), ...list(added)];
  return old + added;
}

function flat(value: Value | undefined): string {
  return typeof value === "string" ? value : (value?.join(" ") ?? "");
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
