/** sed: proves that no command of its script reads or writes another file or runs a program. */
import { isFixed, maybeOption, NUMBER } from "../syntax/field.ts";

const LONG = /^--(?:quiet|silent|regexp-extended|separate|unbuffered|null-data|zero-terminated|posix|debug|sandbox)$/;

/** Why it is not proven, or undefined. Only GNU sed accepts options after operands: both readings must be harmless. */
export function sed(args: readonly string[]): string | undefined {
  if (args.length === 1 && /^--(?:version|help)$/.test(args[0] as string)) return undefined;
  const scripts: string[] = [];
  const operands: string[] = [];
  let options = true;
  let scriptFirst = false;
  for (let i = 0; i < args.length; i++) {
    const word = args[i] as string;
    if (operands.length === 0 && scripts.length > 0) scriptFirst = true;
    if (!options) operands.push(word);
    else if (word === "--") options = false;
    else if (word.startsWith("--")) {
      if (word.startsWith("--expression=")) scripts.push(word.slice(13));
      else if (word === "--expression") scripts.push(args[++i] ?? "");
      else if (!LONG.test(word)) return `with ${word.replace(/=[^]*/, "")}`;
    } else if (word.startsWith("-") && word !== "-") {
      const match = /^-[nErsuz]*(?:e([^]*))?$/.exec(word);
      if (match === null) return "with an option that may write";
      if (match[1] !== undefined) scripts.push(match[1] === "" ? (args[++i] ?? "") : match[1]);
    } else if (maybeOption(word)) return "with a word that may be an option";
    else operands.push(word);
  }
  // Without -e before it, the first operand is the script; only some versions accept a later -e.
  if (operands[0] === undefined ? scripts.length === 0 : !scriptFirst) {
    if (operands[0] === undefined) return "without a script";
    scripts.push(operands[0]);
  }
  // Several scripts are joined line by line; each one alone must be harmless as well.
  return [...scripts, scripts.join("\n")].every(isHarmlessScript)
    ? undefined
    : "with a script that may write or run something";
}

/** Reads the script by sed's grammar; anything unexpected is not harmless. */
export function isHarmlessScript(text: string): boolean {
  const script = text.replaceAll(NUMBER, "1");
  if (!isFixed(script)) return false;
  let at = 0;
  const skip = (set: string) => {
    while (at < script.length && set.includes(script[at] as string)) at++;
  };
  /** Skips to the next unescaped delimiter outside brackets; false if there is none. */
  const delimited = (end: string, brackets: boolean): boolean => {
    for (; at < script.length; at++) {
      const character = script[at] as string;
      if (character === "\\") at++;
      else if (character === "\n" && end !== "\n") return false;
      else if (brackets && character === "[" && end !== "[") {
        const close = bracketEnd(script, at);
        // Versions of sed differ on a delimiter inside brackets.
        if (close < 0 || script.slice(at, close).includes(end)) return false;
        at = close;
      } else if (character === end) {
        at++;
        return true;
      }
    }
    return false;
  };
  const address = (): boolean => {
    const character = script[at] ?? "";
    if (/[0-9$]/.test(character)) {
      at++;
      skip("0123456789~");
      return true;
    }
    if (character !== "/" && character !== "\\") return true;
    const end = character === "/" ? "/" : (script[at + 1] ?? "\n");
    if (end === "\n") return false;
    at += character === "/" ? 1 : 2;
    if (!delimited(end, true)) return false;
    skip("IM");
    return true;
  };
  while (at < script.length) {
    skip(" \t\n;}");
    if (at >= script.length) return true;
    if (!address()) return false;
    skip(" \t");
    if (script[at] === ",") {
      at++;
      skip(" \t+~");
      if (!address()) return false;
      skip(" \t");
    }
    skip("! \t");
    const command = script[at++] ?? "";
    if ("{}=dDgGhHnNpPxzF".includes(command)) continue;
    if ("lqQL".includes(command)) skip(" 0123456789");
    else if ("bTt:".includes(command)) {
      // GNU sed ends a label at a blank; busybox takes a brace for a part of it.
      const label = /^[ \t]*[\w.-]*[ \t]*(?=\}*(?:[;\s]|$))/.exec(script.slice(at, at + 256))?.[0];
      if (label === undefined) return false;
      at += label.length;
      if (at < script.length && !";\n}".includes(script[at] as string)) return false;
    } else if (command === "#" || "aic".includes(command)) {
      // Skips to the end of the line; text, unlike a comment, continues after a backslash. In busybox a carriage return
      // ends a comment.
      for (; at < script.length && script[at] !== "\n"; at++) {
        if (script[at] === "\r") return false;
        if (script[at] === "\\" && command !== "#") at++;
      }
    } else if (command === "s" || command === "y") {
      const end = script[at++] ?? "\n";
      if (end === "\n" || end === "\\" || !delimited(end, command === "s") || !delimited(end, false)) return false;
      const flags = /^[a-zA-Z0-9]*/.exec(script.slice(at, at + 64))?.[0] ?? "";
      if (!/^[gpIiMm0-9]*$/.test(flags)) return false;
      at += flags.length;
    } else return false;
  }
  return true;
}

/** The index of the `]` that ends a bracket expression, or -1. A backslash escapes, which is the longer reading. */
export function bracketEnd(text: string, start: number): number {
  let at = start + 1;
  if (text[at] === "^") at++;
  if (text[at] === "]") at++;
  for (; at < text.length; at++) {
    const character = text[at];
    if (character === "]") return at;
    if (character === "\\") at++;
    else if (character === "[" && /[:.=]/.test(text[at + 1] ?? "")) {
      const close = text.indexOf(`${text[at + 1]}]`, at + 2);
      if (close < 0) return -1;
      at = close + 1;
    }
  }
  return -1;
}
