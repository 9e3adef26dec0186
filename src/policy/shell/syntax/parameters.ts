/** `${…}`: all possible values of a parameter expansion. */
import type { ParameterExpansionPart, ParameterOperation, Word } from "unbash";
import { isVariableName } from "./arithmetic.ts";
import { isFixed, NUMBER, UNKNOWN } from "./field.ts";
import { patternToRegExp } from "./glob.ts";
import type { Value } from "./scope.ts";
import { type Expansion, expandWord, simpleValues, wordValues } from "./words.ts";

export function parameterValues(part: ParameterExpansionPart, by: Expansion): readonly Value[] {
  const { prefix, operation } = part;
  if (part.index !== undefined && part.index.text !== "@" && part.index.text !== "*")
    by.computed(part.index, wordValues(part.index, by));
  if (prefix === "#") return [NUMBER];
  let values = plainValues(part, by);
  if (prefix === "!") {
    if (operation?.type === "Names") return [UNKNOWN];
    if (part.index !== undefined) {
      // The names of an array's elements, or the value of the variable that an element names.
      if (!/^[@*]$/.test(part.index.text)) by.uncertain("an element of an array is read as a name");
      return [UNKNOWN];
    }
    if (operation?.type === "Default" && operation.operator.endsWith("="))
      by.uncertain("a variable is set whose name is in another variable");
    values = values.flatMap((value) => {
      if (typeof value === "string" && isVariableName(value)) return simpleValues(value, by);
      // A value such as a[$(command)] is evaluated.
      by.uncertain("the value of a variable is read as a name, and its contents may run");
      return [UNKNOWN];
    });
  }
  return operation === undefined ? values : operated(values, operation, part, by);
}

function plainValues(part: ParameterExpansionPart, by: Expansion): readonly Value[] {
  const { parameter, index } = part;
  if (index === undefined || !/^[A-Za-z_]/.test(parameter)) return simpleValues(parameter, by);
  const values = by.scope.get(parameter);
  if (values === undefined) {
    by.fromEnvironment(parameter);
    return [UNKNOWN];
  }
  if (index.text === "@" || index.text === "*")
    return values.map((value) => (typeof value === "string" ? [value] : value));
  return values.flatMap((value) => {
    const items = typeof value === "string" ? [value] : value;
    const item = /^\d+$/.test(index.text) ? items[Number(index.text)] : undefined;
    return item === undefined ? [...items, UNKNOWN] : [item];
  });
}

function operated(
  values: readonly Value[],
  operation: ParameterOperation,
  part: ParameterExpansionPart,
  by: Expansion,
): readonly Value[] {
  switch (operation.type) {
    case "Default":
      return withDefault(values, operation.operator, operation.operand, part.parameter, by);
    case "Remove": {
      const [pattern] = operandValues(operation.operand, by);
      return each(values, (value) => removed(value, operation.operator, pattern));
    }
    case "Replace": {
      // unbash 6.0.3 ends the pattern at a slash inside a substitution: commands in it are read again, as a whole.
      const operands = part.text.slice(operation.operatorEnd - part.pos, -1);
      if (/\$\(|[`]|[<>]\(/.test(operands)) by.reread(operands);
      const [pattern] = operandValues(operation.pattern, by);
      const [replacement = UNKNOWN] = wordValues(operation.replacement, by);
      return each(values, (value) => replaced(value, operation.operator, pattern, replacement));
    }
    case "Slice": {
      const offsets = wordValues(operation.offset, by);
      const lengths = operation.length === undefined ? [] : wordValues(operation.length, by);
      by.computed(operation.offset, offsets);
      if (operation.length !== undefined) by.computed(operation.length, lengths);
      const offset = offsets[0]?.trim() ?? "";
      const length = operation.length === undefined ? undefined : (lengths[0]?.trim() ?? "");
      // A slice of an array has elements, not characters.
      return values.map((value) =>
        typeof value === "string" && isFixed(value) ? (sliced(value, offset, length) ?? UNKNOWN) : UNKNOWN,
      );
    }
    case "CaseModification":
      if (operation.operand !== undefined && operation.operand.text !== "") {
        wordValues(operation.operand, by);
        return [UNKNOWN];
      }
      return each(values, (value) => recased(value, operation.operator));
    case "Transform":
      // @P expands prompt escapes, and with them command substitutions in the value.
      wordValues(operation.operand, by);
      if (!/^[QELUuKk]$/.test(operation.operand.text)) {
        by.uncertain("the value of a variable is expanded again (@P)");
        for (const value of values.flat())
          if (/\$\(|`/.test(value)) by.runText(`: <<END_OF_PROMPT\n${value}\nEND_OF_PROMPT\n`);
      }
      return [UNKNOWN];
    case "Names":
      return [UNKNOWN];
    case "Unknown":
      by.uncertain("an expansion this parser does not know");
      return [UNKNOWN];
  }
}

function withDefault(
  values: readonly Value[],
  operator: string,
  operand: Word,
  name: string,
  by: Expansion,
): readonly Value[] {
  const other = operandValues(operand, by);
  if (operator.endsWith("?")) return values;
  if (operator.endsWith("+")) return values.every((value) => value === "") && values.length > 0 ? [""] : [...other, ""];
  const out: Value[] = [];
  const known = values.length > 0 && values.every((value) => value !== UNKNOWN && value !== "");
  for (const value of values) if (value !== "" || !operator.startsWith(":")) out.push(value);
  const all = known ? out : [...out, ...other];
  if (operator.endsWith("=") && !known) by.assign(name, all);
  return all;
}

function each(values: readonly Value[], change: (value: string) => string | undefined): readonly Value[] {
  return values.map((value) => {
    if (typeof value === "string") return isFixed(value) ? (change(value) ?? UNKNOWN) : UNKNOWN;
    return value.map((item) => (isFixed(item) ? (change(item) ?? UNKNOWN) : UNKNOWN));
  });
}

function operandValues(word: Word, by: Expansion): readonly string[] {
  return expandWord(word, by).map((fields) => fields.map((item) => item.value).join(" "));
}

function removed(value: string, operator: string, pattern: string | undefined): string | undefined {
  if (pattern === undefined || value.length > 4096) return undefined;
  const greedy = operator.length === 2;
  const source = patternToRegExp(pattern, operator.startsWith("#") ? greedy : true);
  if (source === undefined) return undefined;
  if (operator.startsWith("#")) return value.replace(new RegExp(`^${source}`), "");
  const whole = new RegExp(`^${source}$`);
  const starts = Array.from({ length: value.length + 1 }, (_, i) => (greedy ? i : value.length - i));
  const at = value.length > 512 ? undefined : starts.find((i) => whole.test(value.slice(i)));
  return value.length > 512 ? undefined : at === undefined ? value : value.slice(0, at);
}

function replaced(
  value: string,
  operator: string,
  pattern: string | undefined,
  replacement: string,
): string | undefined {
  if (pattern === undefined || value.length > 4096) return undefined;
  const source = patternToRegExp(pattern, true);
  if (source === undefined || source === "") return source === "" ? value : undefined;
  const anchored = operator === "/#" ? `^${source}` : operator === "/%" ? `${source}$` : source;
  return value.replace(new RegExp(anchored, operator === "//" ? "g" : ""), () => replacement);
}

function sliced(value: string, offset: string, length: string | undefined): string | undefined {
  if (!/^-?\d+$/.test(offset) || (length !== undefined && !/^-?\d+$/.test(length))) return undefined;
  const from = Number(offset) < 0 ? value.length + Number(offset) : Number(offset);
  if (from < 0) return "";
  if (length === undefined) return value.slice(from);
  return Number(length) < 0
    ? value.slice(from, value.length + Number(length))
    : value.slice(from, from + Number(length));
}

function recased(value: string, operator: string): string {
  const change = (text: string) => (operator.startsWith("^") ? text.toUpperCase() : text.toLowerCase());
  return operator.length === 2 ? change(value) : change(value.slice(0, 1)) + value.slice(1);
}
