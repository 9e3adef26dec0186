/** Walks simple commands: their words, the wrappers, aliases and functions they call, and texts that these run. */
import type { Assignment, Command, Function as FunctionNode, Script } from "unbash";
import { inQuotes } from "../../../lib/quote.ts";
import { words } from "../../../lib/text.ts";
import { namesBuddy } from "../../files/secret-files.ts";
import { CallGraph } from "../dangers/fork-bomb.ts";
import { gitAliasRuns } from "../wrappers/git.ts";
import type { InnerScript, Input, Wrapped } from "../wrappers/wrapped.ts";
import { unwrap } from "../wrappers/wrappers.ts";
import { applyBuiltin } from "./builtins.ts";
import { type Field, field, HOME, isFixed, isUnknown, programName, UNKNOWN } from "./field.ts";
import { comparesNothing, type Findings, type FoundCommand, type Printed } from "./findings.ts";
import type { Lists } from "./lists.ts";
import { differsBetweenShells, isBash, outsideCommonGrammar, parseInner } from "./parse.ts";
import { perhaps, printed } from "./printed.ts";
import { redirected, type Write } from "./redirections.ts";
import { type DefinedFunction, flat } from "./scope.ts";
import { expandWord, type Expansion, type Outcome } from "./words.ts";

/** Programs that transform their input. */
const TRANSFORMS = new Set(
  words("tr sed gsed awk gawk mawk nawk cut rev base64 base32 basenc xxd od hexdump openssl jq bc dc iconv"),
);

const MOST_COMBINATIONS = 48;

export class SimpleCommands {
  /** Function bodies that are being walked. */
  readonly #active = new Set<object>();
  /** Aliases whose text is being walked. */
  readonly #expanding = new Set<string>();
  readonly #home: string | undefined;

  readonly by: Expansion;

  constructor(
    readonly lists: Lists,
    readonly found: Findings,
    home: string | undefined,
  ) {
    this.by = lists.by;
    this.#home = home === undefined || home === "/" ? undefined : home.replace(/\/+$/, "");
  }

  simple(node: Command, input: Input): Printed {
    this.#gaps(node);
    const assigns: { name: string; value: string }[] = [];
    const io = redirected(node.redirects, input, this.by);
    for (const item of node.prefix) {
      if (item.type !== "Assignment") continue;
      const { name, values } = this.by.assignment(item);
      assigns.push({ name, value: flat(values[0]) });
      const set = () => this.by.setVariable(name, values);
      if (node.name === undefined && io.mayFail) this.by.scope.maybe(set);
      else if (node.name === undefined) set();
    }
    if (node.name === undefined) {
      if (node.prefix.length === 0 && node.redirects.length === 0)
        this.found.uncertain("it cannot be parsed: an empty command");
      this.found.writes.push(...io.writes);
      // `$(< file)` prints the file.
      return node.redirects.length > 0 ? undefined : "";
    }
    if (node.name.parts?.some((part) => part.type === "ProcessSubstitution") === true)
      this.found.uncertain("a process substitution where a command name is expected");
    let outcomes: Field[][] = [[]];
    const { testsEmpty } = this.found;
    const isTest = node.name.text === "[" || node.name.text === "test";
    this.found.testsEmpty = isTest && comparesNothing(node.args.map(({ text }) => text).join(" "));
    for (const word of [node.name, ...node.args]) {
      this.found.spend(1);
      const ways = word.type === "Word" ? expandWord(word, this.by) : this.#declared(word);
      outcomes = this.#combined(outcomes, ways);
    }
    this.found.testsEmpty = testsEmpty;
    const outs = new Set<Printed>();
    const run = (argv: readonly Field[]) => {
      outs.add(this.run(argv, io.input, { assigns, writes: io.writes, by: undefined }));
    };
    // With several outcomes, or if it may not run: assignments are only possible values.
    if (outcomes.length === 1 && !io.mayFail) run(outcomes[0] as Field[]);
    else for (const argv of outcomes) this.by.scope.maybe(() => run(argv));
    const [out] = outs;
    return outs.size > 1 || io.moved ? undefined : io.mayFail ? perhaps(out) : out;
  }

  /** Anything but blanks between the words of a command was dropped by the parser. */
  #gaps(node: Command): void {
    let end: number | undefined;
    const check = (item: { readonly pos: number; readonly end: number }) => {
      if (end !== undefined && item.pos > end + 1 && /[^\s\\]/.test(this.lists.source.slice(end, item.pos)))
        this.found.uncertain("it cannot be parsed: an unexpected character");
      end = item.end;
    };
    for (const item of node.prefix) check(item);
    if (node.name !== undefined) check(node.name);
    for (const item of node.suffix) check(item);
  }

  /** `declare a=b`, `alias a=b`: an argument that is an assignment. */
  #declared(node: Assignment): readonly Outcome[] {
    const { name, values } = this.by.assignment(node);
    this.by.scope.set(name, values);
    return values.slice(0, 8).map((value) => [field(`${name}=${flat(value)}`, node.text)]);
  }

  #combined(outcomes: Field[][], ways: readonly Outcome[]): Field[][] {
    if (ways.length === 1) {
      const only = ways[0] as Outcome;
      for (const outcome of outcomes) outcome.push(...only);
      this.found.spend(only.length * outcomes.length);
      return outcomes;
    }
    if (outcomes.length * ways.length > MOST_COMBINATIONS) {
      this.found.uncertain("more combinations of values than are checked");
      const plain = outcomes[0] as Field[];
      return ways.slice(0, MOST_COMBINATIONS).map((way) => [...plain, ...way]);
    }
    return outcomes.flatMap((outcome) => ways.map((way) => [...outcome, ...way]));
  }

  /** A command with its final words, started by the shell or a wrapper. */
  run(
    words: readonly Field[],
    input: Input,
    how: { assigns: FoundCommand["assigns"]; writes: readonly Write[]; by: FoundCommand["by"] },
  ): Printed {
    this.found.spend(8 + 2 * words.length);
    const argv = this.#home === undefined ? words : words.map((word) => this.#withHome(word));
    const first = argv[0];
    if (first === undefined) {
      this.found.writes.push(...how.writes);
      return "";
    }
    const name = first.value;
    if (!isFixed(name)) {
      this.found.uncertain(`the command ${first.source} is only known when it runs`);
      const source = first.source.replace(/["{}]|\[0\]/g, "");
      if (source === "$FUNCNAME") this.found.calls.calledAgain();
      else this.found.calls.called(source === "$0" ? CallGraph.ITSELF : name);
      this.#withoutUnknown(argv, input, how);
    } else this.found.calls.called(name);
    const bodies =
      how.by === undefined || how.by.command.argv[0]?.value !== "command" ? this.by.scope.functions(name) : [];
    const aliases = first.source === name && !this.#expanding.has(name) ? this.by.scope.aliases(name) : [];
    const wrapped = bodies.length === 0 ? (unwrap(argv, input) ?? gitAliasRuns(argv)) : undefined;
    const command: FoundCommand = {
      argv,
      assigns: how.assigns,
      directories: this.by.scope.directories(),
      writes: how.writes,
      wrapped,
      by: how.by,
      defined: bodies.length > 0,
      grouped: this.found.groups > 0,
      unwaited: this.found.substitutions > 0,
      ...(input.kind === "known" ? { input: input.text } : {}),
      fed: input.kind === "unknown" || (input.kind === "known" && (input.guessed === true || !isFixed(input.text))),
    };
    this.found.add(command);
    const different = this.found.anyShell ? differsBetweenShells(argv) : undefined;
    if (different !== undefined) this.found.uncertain(different);
    if (argv.some(({ value }) => namesBuddy(value))) this.found.uncertain("it touches buddy's own variables or marks");
    for (const alias of this.found.depth < 20 ? aliases : []) {
      // An alias is not expanded in its own text.
      this.#expanding.add(name);
      const rest = argv.slice(1).map((word) => inQuotes(word.value));
      this.inner({ text: `${alias} ${rest.join(" ")}`, own: false }, input);
      this.#expanding.delete(name);
    }
    if (bodies.length > 0) {
      let out: Printed;
      this.by.scope.during(how.assigns, () => {
        for (const body of bodies) out = this.#call(name, body, argv.slice(1), input);
      });
      return bodies.length === 1 ? out : undefined;
    }
    applyBuiltin(argv, input, this.by, how.assigns);
    if (wrapped !== undefined) return this.#wrapped(command, wrapped, input);
    const out = printed(argv, input, this.by.scope, this.found.anyShell);
    if (out === undefined && input.kind === "known" && input.text.trim() !== "" && TRANSFORMS.has(programName(name)))
      this.found.computed = true;
    return out;
  }

  /** `$SUDO rm`, `r$@m`: the command if the unknown part is empty, or is sudo. The text is already uncertain. */
  #withoutUnknown(argv: readonly Field[], input: Input, how: Parameters<SimpleCommands["run"]>[2]): void {
    const first = argv[0] as Field;
    if (!isUnknown(first.value) || this.found.depth > 20) return;
    const left = first.value.replace(/[\uFDD2\uFDD4\uFDD5\uFDD8-\uFDDB]/g, "");
    if (left === "" ? !/sudo|doas/i.test(first.source) : !isFixed(left)) return;
    const words = left === "" ? argv.slice(1) : [{ ...first, value: left }, ...argv.slice(1)];
    if (words.length > 0) this.found.deeper(() => void this.run(words, input, { ...how, by: undefined }));
  }

  /** Replaces the home directory where it is written out. */
  #withHome(word: Field): Field {
    const home = this.#home as string;
    if (!word.value.startsWith(home) || (word.value.length > home.length && word.value[home.length] !== "/"))
      return word;
    return { ...word, value: HOME + word.value.slice(home.length), written: true };
  }

  #wrapped(command: FoundCommand, wrapped: Wrapped, input: Input): Printed {
    if (wrapped.uncertain !== undefined) this.found.uncertain(wrapped.uncertain);
    const assigns = wrapped.assigns ?? [];
    const inner = wrapped.input ?? input;
    const { cwd } = this.by.scope;
    if (wrapped.cwd !== undefined) this.by.scope.cwd = wrapped.cwd;
    let out: Printed;
    // The inner command sees the assignments before the wrapper and those of the wrapper.
    this.by.scope.during([...command.assigns, ...assigns], () =>
      this.found.deeper(() => {
        for (const argv of wrapped.commands ?? [])
          out = this.run(argv, inner, { assigns, writes: [], by: { command, at: wrapped.at } });
        for (const script of wrapped.scripts ?? []) out = this.inner(script, inner);
      }),
    );
    this.by.scope.cwd = cwd;
    return (wrapped.commands?.length ?? 0) + (wrapped.scripts?.length ?? 0) === 1 ? out : undefined;
  }

  inner(script: InnerScript, input: Input): Printed {
    const { text } = script;
    if (text === undefined) {
      this.found.uncertain("it runs text that is only known when it runs");
      return undefined;
    }
    this.found.spend(10 + text.length / 2);
    if (!isFixed(text)) this.found.uncertain("it runs text that is partly only known when it runs");
    const { anyShell } = this.found;
    if (script.shell !== undefined) this.found.anyShell = !isBash(script.shell);
    const different = this.found.anyShell ? outsideCommonGrammar(text) : undefined;
    if (different !== undefined) this.found.uncertain(different);
    const parsed = parseInner(text);
    for (const why of parsed.uncertain) this.found.uncertain(why);
    this.found.texts.push(text);
    if (parsed.script === undefined) {
      this.found.anyShell = anyShell;
      return undefined;
    }
    const { positional, zeroth, cwd } = this.by.scope;
    if (script.positional !== undefined) {
      this.by.scope.zeroth = script.positional[0];
      this.by.scope.positional = [script.positional.slice(1)];
    }
    let out: Printed;
    const body = () => {
      out = this.lists.text(parsed.script as Script, parsed.source, input);
    };
    if (script.own) {
      this.by.scope.maybe(body);
      this.by.scope.cwd = cwd;
    } else body();
    this.found.anyShell = anyShell;
    if (script.own) this.by.scope.positional = positional;
    this.by.scope.zeroth = zeroth;
    return out;
  }

  define(name: string, node: FunctionNode["body"]): void {
    this.found.effect(`it defines the function ${name}`);
    const body = { body: node, source: this.lists.source };
    this.by.scope.define(name, body);
    this.#call(name, body, undefined, { kind: "unknown" });
  }

  #call(name: string, { body, source }: DefinedFunction, args: readonly Field[] | undefined, input: Input): Printed {
    // Bodies are compared, not names: another function may have the same name.
    if (this.#active.has(body)) return undefined;
    this.#active.add(body);
    const { positional } = this.by.scope;
    const before = this.lists.source;
    this.lists.source = source;
    this.by.scope.positional = args === undefined ? [UNKNOWN] : [args.map((word) => word.value)];
    let out: Printed;
    this.found.deeper(() =>
      this.found.calls.inside(name, () => {
        this.by.scope.maybe(() => {
          out = this.lists.withInput(input, () =>
            body.type === "CompoundList" ? this.lists.list(body.commands) : this.lists.command(body, input),
          );
        });
      }),
    );
    this.#active.delete(body);
    this.by.scope.positional = positional;
    this.lists.source = before;
    return out;
  }
}
