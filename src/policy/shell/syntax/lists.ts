/** Walks scripts, lists, pipelines and compound commands in the order a shell would run them. */
import {
  type CommandNode,
  type CompoundList,
  forEachChild,
  type Pipeline,
  type Script,
  type Statement,
  type SyntaxNode,
} from "unbash";
import { INHERITED, type Input, inputOf } from "../wrappers/wrapped.ts";
import { Arithmetic } from "./arithmetic.ts";
import { areNames, areNumbers, NUMBER, SPLIT, UNKNOWN, WORD } from "./field.ts";
import { comparesNothing, type Findings, OutOfWork, type Printed } from "./findings.ts";
import { namesOfAll, perhaps } from "./printed.ts";
import { redirected } from "./redirections.ts";
import type { Value } from "./scope.ts";
import { SimpleCommands } from "./simple-commands.ts";
import { expandWord, type Expansion, wordValues } from "./words.ts";

export class Lists {
  /** The text that positions in the tree refer to. */
  source = "";
  input: Input = INHERITED;
  /** Substitutions that were walked. */
  readonly seen = new WeakSet<object>();
  readonly evaluation: Arithmetic;
  readonly commands: SimpleCommands;
  #loops = 0;

  constructor(
    readonly by: Expansion,
    readonly found: Findings,
    home: string | undefined,
  ) {
    this.evaluation = new Arithmetic(by);
    this.commands = new SimpleCommands(this, found, home);
  }

  /** A whole parsed text, as opposed to a part of one. */
  text(script: Script, source: string, input: Input = INHERITED): Printed {
    const before = this.source;
    this.source = source;
    try {
      // unbash 6.0.3 drops an opening parenthesis at the end of a command without a word.
      const end = script.commands.at(-1)?.end;
      if (end !== undefined && /^[ \t]*\(/.test(source.slice(end, end + 64)))
        this.found.uncertain("it cannot be parsed: an unexpected parenthesis");
      const out = this.script(script, input);
      this.#complete(script, 0);
      return out;
    } finally {
      this.source = before;
    }
  }

  /** A second pass over the tree: a substitution that was not walked is in a construct that the walk does not know. */
  #complete(node: SyntaxNode, depth: number): void {
    this.found.spend(0.1);
    if (depth > 400) throw new OutOfWork();
    if (
      (node.type === "CommandExpansion" ||
        node.type === "ProcessSubstitution" ||
        node.type === "ArithmeticCommandExpansion") &&
      node.script !== undefined &&
      !this.seen.has(node.script)
    )
      this.found.uncertain("a substitution in a place that is not checked");
    forEachChild(node, (child) => this.#complete(child, depth + 1));
  }

  script(script: Script, input: Input): Printed {
    // The content of backticks is unescaped text of its own.
    if (script.source !== undefined && script.source !== this.source)
      return this.text({ ...script, source: script.source }, script.source, input);
    if ("errors" in script && Array.isArray(script.errors) && script.errors.length > 0)
      this.found.uncertain("a part of it cannot be parsed");
    return this.found.deeper(() => this.withInput(input, () => this.list(script.commands)));
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

  list(statements: readonly Statement[]): Printed {
    let out: Printed = "";
    let known = false;
    let previous: Statement | undefined;
    for (const statement of statements) {
      let printed: Printed;
      const { cwd } = this.by.scope;
      // Two commands without a separator: the parser recovered from an error.
      if (
        previous !== undefined &&
        previous.background !== true &&
        !/[;&\n]/.test(this.source.slice(previous.end, statement.pos))
      )
        this.found.uncertain("it cannot be parsed: two commands without a separator");
      previous = statement;
      if (statement.background === true) {
        this.found.background("it starts something in the background");
        this.by.scope.maybe(() => {
          this.found.calls.inBackground(() => {
            printed = this.#statement(statement);
          });
        });
      } else printed = this.#statement(statement);
      // If `cd` fails, what follows runs in the old directory.
      this.by.scope.mayStillBeIn(cwd);
      // Known output stays known even next to unknown output.
      if (printed !== undefined || out !== undefined) out = (out ?? NOT_KNOWN) + (printed ?? NOT_KNOWN);
      known ||= printed !== undefined && printed !== "";
    }
    return known || statements.length === 0 || out === "" ? out : undefined;
  }

  #statement(statement: Statement): Printed {
    const { command } = statement;
    if (command.type !== "AndOr") return this.#node(command);
    const [first, ...others] = command.commands;
    const outs = first === undefined ? [] : [this.#node(first)];
    this.found.calls.conditionally(() =>
      this.by.scope.maybe(() => {
        for (const [index, item] of others.entries()) {
          if (command.operators[index] === "&&") outs.push(this.#node(item));
          else this.by.scope.maybe(() => void outs.push(this.#node(item)));
        }
      }),
    );
    return namesOfAll(outs);
  }

  #node(node: CommandNode | Pipeline): Printed {
    this.found.spend(6);
    return node.type === "Pipeline" ? this.#pipeline(node) : this.command(node, this.input);
  }

  #pipeline(node: Pipeline): Printed {
    const { commands } = node;
    if (commands.length === 0) this.found.uncertain("it cannot be parsed: an empty command");
    if (commands.length === 1) return this.command(commands[0] as CommandNode, this.input);
    let input = this.input;
    let out: Printed;
    this.found.calls.forking(() => {
      for (const command of commands) {
        this.by.scope.maybe(() => {
          const run = () => this.withInput(input, () => this.command(command, input));
          out = command.type === "Command" ? run() : this.found.grouped(run);
        });
        input = inputOf(out);
      }
    });
    return out;
  }

  command(node: CommandNode, input: Input): Printed {
    switch (node.type) {
      case "Command":
        return this.commands.simple(node, input);
      case "Redirected": {
        const io = redirected(node.redirects, input, this.by);
        this.found.writes.push(...io.writes);
        let out: Printed;
        const run = () => {
          out = this.withInput(io.input, () => this.command(node.command, io.input));
        };
        if (io.mayFail) this.by.scope.maybe(run);
        else run();
        return io.writes.length > 0 || io.moved ? undefined : io.mayFail ? perhaps(out) : out;
      }
      case "Function":
        this.commands.define(node.name.value, node.body);
        return "";
      case "Coproc":
        this.found.background("it starts a coprocess");
        this.found.calls.forking(() => {
          if (node.body.type === "CompoundList") this.list(node.body.commands);
          else this.command(node.body, { kind: "unknown" });
        });
        return undefined;
      case "Subshell":
        return this.#subshell(node.body);
      case "BraceGroup":
        return this.list(node.body.commands);
      case "If":
        this.list(node.clause.commands);
        this.#branches([
          node.then,
          ...node.elif.flatMap((branch) => [branch.clause, branch.then]),
          ...(node.else === undefined ? [] : [node.else]),
        ]);
        return undefined;
      case "While":
        if (ENDLESS.test(`${node.kind} ${this.source.slice(node.clause.pos, node.clause.end)}`))
          this.#forever(node.body);
        this.#loop(() => {
          this.list(node.clause.commands);
          this.list(node.body.commands);
        });
        return undefined;
      case "For":
      case "Select": {
        const values: Value[] = [];
        // The variable gets one word at a time.
        for (const word of node.wordlist ?? [])
          for (const outcome of expandWord(word, this.by)) for (const item of outcome) values.push(oneOf(item.value));
        if (node.wordlist === undefined)
          for (const given of this.by.scope.positional) values.push(...(typeof given === "string" ? [given] : given));
        const name = node.name.value;
        this.by.assign(name, values);
        let out: Printed;
        this.#loop(() => {
          this.by.scope.set(name, values.length === 0 ? [UNKNOWN] : values);
          out = this.list(node.body.commands);
        });
        return out === undefined || out === "" ? undefined : out + NOT_KNOWN;
      }
      case "ArithmeticFor":
        for (const part of [node.initialize, node.test, node.update])
          if (part !== undefined) this.evaluation.expression(part);
        if (node.test === undefined) this.#forever(node.body);
        this.#loop(() => void this.list(node.body.commands));
        return undefined;
      case "Case":
        wordValues(node.word, this.by);
        for (const item of node.items) for (const pattern of item.pattern) wordValues(pattern, this.by);
        this.#branches(node.items.map((item) => item.body));
        return undefined;
      case "TestCommand":
        this.found.testsEmpty = comparesNothing(this.source.slice(node.pos, node.end));
        this.evaluation.test(node.expression);
        this.found.testsEmpty = false;
        return "";
      case "ArithmeticCommand":
        if (node.expression !== undefined) this.evaluation.expression(node.expression);
        else if (node.body.trim() !== "") this.found.uncertain("arithmetic this parser does not know");
        return "";
    }
  }

  #subshell(body: CompoundList): Printed {
    const { cwd } = this.by.scope;
    let out: Printed;
    this.by.scope.maybe(() => {
      out = this.list(body.commands);
    });
    this.by.scope.cwd = cwd;
    return out;
  }

  #branches(bodies: readonly CompoundList[]): void {
    this.found.calls.conditionally(() => {
      for (const body of bodies) this.by.scope.maybe(() => void this.list(body.commands));
    });
  }

  #forever({ commands }: CompoundList): void {
    if (commands.length > 0 && commands.every(({ background }) => background === true))
      this.found.calls.startsForever();
  }

  /** Walks the body twice, so that assignments at its end are known at its start. */
  #loop(body: () => void): void {
    this.#loops++;
    const run = () => this.found.grouped(body);
    this.found.calls.conditionally(() => {
      const assigned = this.by.scope.maybe(run);
      if (assigned && this.#loops <= 3) this.by.scope.maybe(run);
    });
    this.#loops--;
  }
}

/** A single one of the words that this may be. */
function oneOf(value: string): string {
  if (areNumbers(value)) return NUMBER;
  return areNames(value) ? WORD : value.replaceAll(SPLIT, "");
}

const ENDLESS = /^(?:while (?:true|:|\[ 1 \]|\(\( ?1 ?\)\))|until false)[\s;]*$/;

/** Output that is only known when it runs. */
const NOT_KNOWN = `${UNKNOWN}\n`;
