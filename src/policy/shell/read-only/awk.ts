/** awk: proves, token by token, that its program does not write, run or connect to anything. */
import { isFixed, NUMBER, UNKNOWN } from "../syntax/field.ts";
import { bracketEnd } from "./sed.ts";

/** Why it is not proven, or undefined. awk reads no options after its program. */
export function awk(args: readonly string[]): string | undefined {
  let at = 0;
  for (; at < args.length; at++) {
    const word = args[at] as string;
    if (word === "--") {
      at++;
      break;
    }
    if (!word.startsWith("-") || word === "-") break;
    if (word === "--version") return args.length === 1 ? undefined : "with --version and more";
    const assigned = /^(?:-v|--assign=)([^]*)$/.exec(word)?.[1] ?? (word === "--assign" ? "" : undefined);
    if (assigned !== undefined) {
      if (!ASSIGNMENT.test(assigned === "" ? (args[++at] ?? "") : assigned)) return "with -v and no plain name";
    } else if (word === "-F" || word === "--field-separator") at++;
    else if (
      !/^(?:-F[^]+|--field-separator=[^]*|--re-interval|--posix|--traditional|--lint|--sandbox|-[cPrSt])$/.test(word)
    )
      return `with ${word}`;
  }
  const program = args[at];
  if (program === undefined) return "without a program";
  if (
    args
      .slice(0, at)
      .some((word) => word.startsWith(UNKNOWN) && !/^(?:-F|-v)$/.test(args[args.indexOf(word) - 1] ?? ""))
  )
    return "with an option that is only known when it runs";
  // gawk opens a connection for /inet; an unknown name may be one.
  const files = args.slice(at + 1).filter((word) => !ASSIGNMENT.test(word));
  if (files.some((word) => word.startsWith("/inet") || word.startsWith(UNKNOWN)))
    return "with a file that may be a connection";
  return isHarmlessProgram(program) ? undefined : "with a program that may write or run something";
}

const ASSIGNMENT = /^[A-Za-z_]\w*=/;

/** Words after which a slash starts a regular expression in every awk. */
const BEFORE_REGEXP = /^(?:print|printf|return|case|exit|else|do)$/;
/** After the parentheses of these words comes a statement, which may begin with a regular expression. */
const BEFORE_STATEMENT = /^(?:if|while|for|switch)$/;
/** Functions that run or read something, and names that give access to files, connections or functions. */
const REFUSED = /^(?:system|getline|extension|close|ARGV|ARGC|ARGIND|ENVIRON|PROCINFO|SYMTAB|FUNCTAB)$/;

export function isHarmlessProgram(program: string): boolean {
  // An unknown number may also be nothing, or negative.
  return program.includes(NUMBER)
    ? ["1", "", "-1"].every((number) => isHarmless(program.replaceAll(NUMBER, number)))
    : isHarmless(program);
}

function isHarmless(program: string): boolean {
  if (!isFixed(program)) return false;
  let at = 0;
  /** The meaning of the next slash: it divides, it begins a regular expression, or versions of awk differ. */
  let slash: "divides" | "begins" | "differs" = "begins";
  let printing = false;
  /** Parentheses that were open at `print`: inside of further ones, `>` compares. */
  let outer = 0;
  let word = "";
  /** For each open parenthesis whether a statement follows it. */
  const open: boolean[] = [];
  while (at < program.length) {
    const character = program[at] as string;
    if (character === "\n") {
      // A statement continues after an operator: in busybox after any of them, in other versions after a few.
      const continues = (slash === "begins" && !/^printf?$/.test(word)) || word === "in";
      if (!continues) printing = false;
      slash = "begins";
      at++;
      continue;
    }
    const before = word;
    if (!/[\s#]/.test(character)) word = "";
    if (character === ";" || character === "}" || character === "{") {
      slash = "begins";
      printing = false;
      at++;
    } else if (/\s/.test(character)) at++;
    else if (character === "\\" && program[at + 1] === "\n") at += 2;
    else if (character === "#") {
      while (at < program.length && program[at] !== "\n") at++;
    } else if (character === '"') {
      at = closing(program, at + 1);
      if (at < 0) return false;
      slash = "divides";
    } else if (character === "/") {
      if (slash === "differs") return false;
      if (slash === "divides") {
        slash = "begins";
        at++;
        continue;
      }
      at = closingRegExp(program, at + 1);
      if (at < 0) return false;
      slash = "divides";
    } else if (/[A-Za-z_]/.test(character)) {
      word = /^\w+/.exec(program.slice(at, at + 256))?.[0] ?? "";
      if (REFUSED.test(word)) return false;
      if (word === "print" || word === "printf") {
        printing = true;
        outer = open.length;
      }
      slash = BEFORE_REGEXP.test(word)
        ? "begins"
        : /^(?:length|in|next|nextfile|break|continue)$/.test(word)
          ? "differs"
          : "divides";
      at += word.length;
    } else if (/[0-9.]/.test(character)) {
      slash = "divides";
      at++;
    } else if (/[@`'\\]/.test(character)) return false;
    else if (character === "|") {
      if (program[at + 1] !== "|") return false;
      slash = "begins";
      at += 2;
    } else if (character === ">") {
      if (printing && open.length <= outer) return false;
      slash = "begins";
      at++;
    } else if (character === "(") {
      open.push(BEFORE_STATEMENT.test(before));
      slash = "begins";
      at++;
    } else if (character === ")") {
      slash = open.pop() === true ? "differs" : "divides";
      at++;
    } else if (character === "]") {
      slash = "divides";
      at++;
    } else if ((character === "+" || character === "-") && program[at + 1] === character) {
      slash = "differs";
      at += 2;
    } else {
      slash = "begins";
      at++;
    }
  }
  return true;
}

/** The index after the closing quote, or -1. */
function closing(text: string, from: number): number {
  for (let at = from; at < text.length; at++) {
    if (text[at] === "\n" || (text[at] === "\\" && text[at + 1] === "\n")) return -1;
    if (text[at] === "\\") at++;
    else if (text[at] === '"') return at + 1;
  }
  return -1;
}

/** The index after the closing slash, or -1. Versions of awk differ on a slash inside brackets: not proven then. */
function closingRegExp(text: string, from: number): number {
  for (let at = from; at < text.length; at++) {
    const character = text[at];
    if (character === "\n" || (character === "\\" && text[at + 1] === "\n")) return -1;
    if (character === "\\") at++;
    else if (character === "/") return at + 1;
    else if (character === "[") {
      const end = bracketEnd(text, at);
      if (end < 0 || /[/\n]/.test(text.slice(at, end))) return -1;
      at = end;
    }
  }
  return -1;
}
