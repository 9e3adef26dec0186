/** Finds every command a text would run, by walking its syntax tree as a shell would execute it. */
import type { Assignment, Script, Word, WordPart } from "unbash";
import { isSecretVariable } from "../../privacy/listed-secrets.ts";
import { INHERITED } from "../wrappers/wrapped.ts";
import { assignmentEffect, isFromEnvironment, isScriptVariable } from "./assignments.ts";
import { outputs, UNKNOWN } from "./field.ts";
import { Findings, OutOfWork, type Printed, type Walked } from "./findings.ts";
import { Lists } from "./lists.ts";
import { isBash, outsideCommonGrammar, parseText } from "./parse.ts";
import { flat, Scope, type Value } from "./scope.ts";
import { expandWord, type Expansion, wordValues } from "./words.ts";

export interface WalkContext {
  /** `bash` by default; with any other, only the grammar that all shells share is certain. */
  readonly shell?: string;
  readonly home?: string;
  readonly user?: string;
}

/** The last text: after it is judged, it is walked again for the files it changes. */
let last: { readonly key: string; readonly walked: Walked } | undefined;

export function walkText(text: string, context: WalkContext = {}): Walked {
  const key = `${context.shell}\0${context.home}\0${context.user}\0${text}`;
  if (last?.key !== key) last = { key, walked: walk(text, context) };
  return last.walked;
}

function walk(text: string, context: WalkContext): Walked {
  const found = new Findings();
  const { script, source, uncertain } = parseText(text);
  for (const why of uncertain) found.uncertain(why);
  found.texts.push(text);
  found.anyShell = !isBash(context.shell);
  const different = found.anyShell ? outsideCommonGrammar(text) : undefined;
  if (different !== undefined) found.uncertain(different);
  try {
    if (script !== undefined) new Walk(found, context).lists.text(script, source);
  } catch (error) {
    if (!(error instanceof OutOfWork) && !(error instanceof RangeError)) throw error;
    found.uncertain("it is too complex to check in full");
  }
  return found.result();
}

/** The state of one walk, and the effects of expanding words. */
class Walk implements Expansion {
  readonly scope: Scope;
  readonly lists: Lists;
  readonly uncertain: (why: string) => void;

  constructor(
    readonly found: Findings,
    context: WalkContext,
  ) {
    this.uncertain = found.uncertain;
    this.scope = new Scope(context.user);
    this.lists = new Lists(this, found, context.home);
  }

  spend(cost: number): void {
    this.found.spend(cost);
  }

  reads(file: string): void {
    this.found.reads.push({ file, directories: this.scope.directories() });
  }

  fromEnvironment(name: string): void {
    this.found.environment ||= isFromEnvironment(name);
    if (!this.found.testsEmpty && isSecretVariable(name)) this.found.secretVariable ??= name;
  }

  runText(text: string): void {
    this.scope.maybe(() => this.#run(text));
  }

  computed(word: Word, values: readonly string[]): void {
    this.lists.evaluation.computed(word, values);
  }

  arithmetic(part: WordPart): void {
    this.lists.evaluation.part(part);
  }

  assign(name: string, values: readonly Value[]): void {
    this.#noted(name, values);
    this.setVariable(name, values);
  }

  reread(text: string): void {
    this.uncertain("text that is expanded once more");
    this.#run(`: ${text}`);
  }

  substituted(script: Script | undefined, text: string): readonly string[] {
    return outputs(this.#printed(script, text));
  }

  process(script: Script | undefined, text: string): string | undefined {
    this.found.substitutions++;
    try {
      return this.#printed(script, text);
    } finally {
      this.found.substitutions--;
    }
  }

  #printed(script: Script | undefined, text: string): string | undefined {
    this.found.spend(10 + text.length / 2);
    if (script === undefined) {
      this.uncertain("a command substitution that cannot be parsed");
      return undefined;
    }
    this.lists.seen.add(script);
    let out: Printed;
    const { cwd } = this.scope;
    this.found.calls.forking(() => {
      this.scope.maybe(() => {
        out = this.lists.script(script, this.lists.input);
      });
    });
    this.scope.cwd = cwd;
    return out === undefined || out === UNKNOWN ? undefined : out.replace(/\n+$/, "");
  }

  assignment(node: Assignment): { name: string; values: readonly Value[] } {
    const { name, value } = node;
    if (node.index !== undefined) this.computed(node.index, wordValues(node.index, this));
    let values: Value[];
    // `x=(1)word`: a text in bash, an array and a command in zsh.
    if (value.type === "Word" && value.text.startsWith("(")) this.uncertain("a value that shells read differently");
    if (value.type === "ArrayValue") {
      const elements: string[] = [];
      for (const element of value.elements) {
        // `([n]=x)`: the subscript is evaluated.
        const subscript = /^\[([^]*?)\]\+?=/.exec(element.text);
        if (subscript !== null) this.computed({ ...element, text: subscript[1] as string }, []);
        for (const item of expandWord(element, this)[0] ?? []) elements.push(item.value.replace(/^\[[^]*?\]\+?=/, ""));
      }
      // With subscripts, the order of the elements is unknown.
      values = value.elements.some((element) => element.text.startsWith("[")) ? [elements, UNKNOWN] : [elements];
    } else values = [...wordValues(value, this)];
    if (node.index !== undefined || node.append === true) {
      const before = this.scope.get(name) ?? [node.index === undefined ? UNKNOWN : []];
      values = before.flatMap((old) => values.map((added) => combined(old, added, node.index !== undefined)));
      if (node.index !== undefined) values.push(UNKNOWN);
    }
    this.#noted(name, values);
    return { name, values };
  }

  setVariable(name: string, values: readonly Value[]): void {
    this.scope.set(name, values);
    const effect = assignmentEffect(name, flat(values[0]), "shell");
    if (effect !== undefined) this.found.effect(effect);
  }

  /** Walks values that are commands themselves. */
  #noted(name: string, values: readonly Value[]): void {
    this.found.spend(2 + values.length);
    for (const value of values) {
      for (const text of typeof value === "string" ? [value] : value) {
        if (isScriptVariable(name)) this.#run(text);
        // Prompts are expanded like the text of a here-document.
        else if (/^(?:PS[0-4]|PROMPT|RPROMPT)$/.test(name) && /\$\(|`/.test(text))
          this.#run(`: <<END_OF_PROMPT\n${text}\nEND_OF_PROMPT\n`);
      }
    }
  }

  #run(text: string): void {
    this.lists.commands.inner({ text, own: true }, INHERITED);
  }
}

function combined(old: Value, added: Value, element: boolean): Value {
  const list = (value: Value) => (typeof value === "string" ? [value] : value);
  if (element || typeof old !== "string" || typeof added !== "string") return [...list(old), ...list(added)];
  return old + added;
}
