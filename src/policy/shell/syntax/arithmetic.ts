/** Arithmetic and [[ ]], where a shell evaluates text, including commands in subscripts, even in a variable's value. */
import { forEachChild, type SyntaxNode, type TestExpression, type Word, type WordPart } from "unbash";
import { words } from "../../../lib/text.ts";
import { NUMBER } from "./field.ts";
import { OutOfWork } from "./findings.ts";
import { type Expansion, simpleValues, wordValues } from "./words.ts";

const DEEPEST = 200;
/** An integer, several, or nothing: not a name, which would be evaluated. */
const NUMERIC = /^\s*-?(?:\d|[\uFDD4\uFDD8\uFDD9])*\s*$/;

/** Variables that are numbers in every bash, whatever the environment has. */
const ALWAYS_NUMBERS = new Set(words("RANDOM SRANDOM SECONDS LINENO PPID BASHPID EPOCHSECONDS BASH_SUBSHELL"));

/** Only numbers, variables, substitutions and operators. */
function isPlain(text: string): boolean {
  let left = text.slice(3, -2);
  // Innermost substitutions first.
  for (let before = ""; before !== left;) {
    before = left;
    left = left.replace(/\$\((?:[^()`\\'"#]|'[^'()`\\]*'|"[^"()`\\]*")+\)/g, "1");
  }
  return /^[-+*/%<>=!&|,\d\s()$\w]+$/.test(left) && !/(?<!\$\w*)[A-Za-z_]/.test(left) && isBalanced(left);
}

function isBalanced(text: string): boolean {
  let open = 0;
  for (const character of text) {
    if (character === "(") open++;
    else if (character === ")" && --open < 0) return false;
  }
  return open === 0;
}

export class Arithmetic {
  /** Every shell reads the current expression as arithmetic. */
  #plain = false;

  constructor(readonly by: Expansion) {}

  /** A subscript, an offset or a length. */
  computed(word: Word, values: readonly string[]): void {
    if (this.#evaluates(word.text) || values.some((value) => this.#evaluates(value)))
      this.by.uncertain("a subscript or offset that may run text in a variable");
  }

  /** `$(( ))` in a word. */
  part(part: WordPart): void {
    this.by.spend(4 + part.text.length / 2);
    this.#plain = isPlain(part.text);
    if (part.type === "ArithmeticExpansion" && part.expression === undefined && part.text.length > 5)
      this.by.uncertain("arithmetic this parser does not know");
    const plain = this.#plain;
    forEachChild(part, (child) => {
      this.#plain = plain;
      this.expression(child);
    });
    this.#plain = false;
  }

  /**
   * bash 5.2 reads some `$((cmd $(…)))` as a command substitution and runs cmd: commands inside are certain only if no
   * word could be one, and if they print numbers.
   */
  expression(node: SyntaxNode, depth = 0): void {
    const { by } = this;
    by.spend(1);
    if (depth > DEEPEST) throw new OutOfWork();
    switch (node.type) {
      case "ArithmeticCommandExpansion":
      case "CommandExpansion":
      case "ProcessSubstitution": {
        const plain = this.#plain && node.type !== "ProcessSubstitution";
        const values = by.substituted(node.script, node.text);
        this.#plain = plain;
        if (!plain || !values.every((value) => NUMERIC.test(value))) by.uncertain("a command inside arithmetic");
        return;
      }
      case "ArithmeticBinary":
        if (!/^(?:[-+*/%&|^]|<<|>>)?=$/.test(node.operator)) break;
        // `x = 1` does not evaluate x, `x += 1` does.
        if (node.operator !== "=" || !isPlainName(node.left)) this.expression(node.left, depth + 1);
        this.expression(node.right, depth + 1);
        this.#sets(node.left);
        return;
      case "ArithmeticUnary":
        this.expression(node.operand, depth + 1);
        if (node.operator === "++" || node.operator === "--") this.#sets(node.operand);
        return;
      case "ArithmeticWord":
        if (this.#evaluates(node.value)) by.uncertain("arithmetic that may run text in a variable");
        break;
    }
    forEachChild(node, (child) => this.expression(child, depth + 1));
  }

  /** `[[ … ]]`. */
  test(expression: TestExpression, depth = 0): void {
    const { by } = this;
    by.spend(2);
    if (depth > DEEPEST) throw new OutOfWork();
    switch (expression.type) {
      case "TestUnary": {
        const values = wordValues(expression.operand, by);
        if (/^-[vR]$/.test(expression.operator) && !values.every(isVariableName))
          by.uncertain("a subscript that is evaluated");
        return;
      }
      case "TestBinary": {
        const { left, right, operator } = expression;
        const values = [...wordValues(left, by), ...wordValues(right, by)];
        if (
          /^-(?:eq|ne|lt|le|gt|ge)$/.test(operator) &&
          ([left, right].some((word) => !isCommand(word) && this.#evaluates(word.text)) ||
            values.some((text) => this.#evaluates(text)))
        )
          by.uncertain("a comparison that may run text in a variable");
        // A shell without [[ ]] reads these as redirections.
        if (operator === ">" || operator === "<") by.uncertain("[[ ]] that another shell would read as a redirection");
        return;
      }
      case "TestLogical":
        for (const operand of expression.operands) this.test(operand, depth + 1);
        return;
      case "TestNot":
        return this.test(expression.operand, depth + 1);
      case "TestGroup":
        return this.test(expression.expression, depth + 1);
    }
  }

  #sets(target: SyntaxNode): void {
    const name = target.type === "ArithmeticWord" ? /^[A-Za-z_]\w*/.exec(target.value)?.[0] : undefined;
    if (name !== undefined) this.by.assign(name, [NUMBER]);
  }

  /** A variable that the text does not set to a number may contain a subscript with a command. */
  #evaluates(text: string): boolean {
    if (/[`[]|\$\(|\uFDD2/.test(text)) return true;
    if (/\$\{?[@*!-]/.test(text)) return true;
    for (const [, position, name] of text.matchAll(/\$\{?(\d+)|((?<![\w#]|\d[xX]?)[A-Za-z_]\w*)/g))
      if (!this.#isNumber(position ?? (name as string))) return true;
    return false;
  }

  #isNumber(name: string): boolean {
    const values = /^\d/.test(name) ? simpleValues(name, this.by) : this.by.scope.get(name);
    if (values === undefined) return ALWAYS_NUMBERS.has(name);
    return values.every((value) => (typeof value === "string" ? [value] : value).every((text) => NUMERIC.test(text)));
  }
}

/** Only a command substitution: its output is checked instead. */
function isCommand({ parts }: Word): boolean {
  const [part] = parts ?? [];
  const inside = part?.type === "DoubleQuoted" && part.parts.length === 1 ? part.parts[0] : part;
  return parts?.length === 1 && inside?.type === "CommandExpansion";
}

function isPlainName(node: SyntaxNode): boolean {
  return node.type === "ArithmeticWord" && isVariableName(node.value);
}

/** A plain name: nothing in it is evaluated. */
export function isVariableName(text: string): boolean {
  return /^[A-Za-z_]\w*$/.test(text);
}
