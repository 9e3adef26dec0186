/** The grammar that dash, ash, mksh, zsh and fish read exactly as bash does: all that is auto-approved without bash. */
import { words } from "../../../lib/text.ts";
import { type Field, isFixed, programName } from "./field.ts";

/** Undefined means bash, too. */
export function isBash(shell: string | undefined): boolean {
  return shell === undefined || shell === "bash";
}

/** Why shells may read the text differently; undefined if all of them find the same commands and words. */
export function outsideCommonGrammar(text: string): string | undefined {
  let at = 0;
  /** Words of the current command, without redirections. */
  let count = 0;
  let separated = true;
  while (at < text.length) {
    const blank = BLANKS.exec(text.slice(at));
    if (blank !== null) {
      at += blank[0].length;
      separated = true;
      continue;
    }
    const operator = OPERATORS.exec(text.slice(at));
    if (operator !== null) {
      if (operator[0] !== "\n" && count === 0) return "a command is missing";
      at += operator[0].length;
      count = 0;
      separated = true;
      continue;
    }
    if (!separated) return DIFFERENT;
    const rest = text.slice(at);
    const redirection = REDIRECTION.exec(rest);
    // zsh runs $NULLCMD for a redirection without a command.
    if (redirection !== null && count === 0) return "a redirection comes before its command";
    const token = redirection ?? (count === 0 ? TEST : TEST_END).exec(rest) ?? WORD.exec(rest);
    if (token === null || token[0] === "") return DIFFERENT;
    if (redirection === null) {
      const why = differentWord(token[0], count === 0);
      if (why !== undefined) return why;
      count++;
    }
    at += token[0].length;
    separated = false;
  }
  return undefined;
}

const DIFFERENT = "it uses syntax that shells read differently";

const BLANKS = /^[ \t]+/;
const OPERATORS = /^(?:&&|\|\|(?!\|)|\|(?![|&])|;(?!;)|\n)/;
const REDIRECTION = /^(?:2>[ \t]*\/dev\/null|2>&1|<[ \t]*\/dev\/null)(?=[ \t\n;|&]|$)/;
/** `[` as a command, and its last word. */
const TEST = /^\[(?=[ \t])/;
const TEST_END = /^\](?=[ \t\n;|&]|$)/;
/** Plain characters, text in single quotes without escapes of fish, and text in double quotes without expansions. */
const WORD =
  /^(?:[A-Za-z0-9_./:,@%+=~*?-]+|'(?:[^'\\\uD800-\uF8FF\uFDD0-\uFDEF\uFFF0-\uFFFF]|\\(?![\\']))*'|"[^"$`\\!\uD800-\uF8FF\uFDD0-\uFDEF\uFFF0-\uFFFF]*")+/;

function differentWord(word: string, first: boolean): string | undefined {
  const plain = word.replace(/'[^']*'|"[^"]*"/g, "");
  if (/^[=%]/.test(word)) return `${word} is expanded by some shells`;
  if (plain.includes("~") && !/^~(?:\/[^~]*)?$/.test(plain)) return `${word} is another directory in some shells`;
  if (/[*?]/.test(plain)) {
    if (first) return "the command is a pattern";
    if (/^(?:['"]|[*?-])/.test(word)) return `${word} may become an option`;
  }
  if (!first) return undefined;
  if (plain.includes("=")) return `${word} is an assignment in some shells`;
  return KEYWORDS.has(word) ? `${word} is a keyword in some shells` : undefined;
}

const KEYWORDS = new Set(
  words(`if then else elif fi for while until do done case esac in function select time coproc repeat foreach end
    nocorrect noglob and or not begin switch always nameref - . return break continue`),
);

/** Builtins of any of these shells that differ between them. */
const BUILTINS = new Set(
  words(`alias argparse autoload bg bind bindkey block breakpoint builtin bye chdir clone commandline complete compgen
    contains count declare dirs disable disown domainname echotc echoti emit emulate enable eval exec exit export fc fg
    float functions getln getopts global hash help history integer isatty jobs kill let limit local log logout math
    mapfile mknod path popd print pushd pushln r random read readarray readonly rehash rename sched set setenv setopt
    shift source status string suspend times trap ttyctl type typeset ulimit umask unalias unfunction unhash unlimit
    unset unsetopt vared wait whence where zcompile zle zmodload zparseopts zpty zsocket zstyle ztcp abbr funced funcsave
    psub nextd prevd cdh dirh open`),
);

/** Why a command in such a text may still do something else in one of these shells. */
export function differsBetweenShells(argv: readonly Field[]): string | undefined {
  const name = argv[0]?.value ?? "";
  const args = argv.slice(1);
  if (BUILTINS.has(name)) return `${name} differs between shells`;
  // fish starts programs to show its help.
  if (/^(?:cd|command|pwd)$/.test(name) && args.some(({ value }) => /^(?:--help|-h)$/.test(value)))
    return `${name} differs between shells`;
  switch (programName(name)) {
    // zsh evaluates a number as arithmetic, and runs commands in a subscript.
    case "printf":
      return isPlainFormat(args[0]) ? undefined : "printf evaluates numbers in some shells";
    case "test":
    case "[":
      return args.every(isTestWord) && numbersOnly(args) ? undefined : "test evaluates numbers in some shells";
    case "cd":
      return args.length <= 1 && !/^[-+]/.test(args[0]?.value ?? "") ? undefined : "cd differs between shells";
    default:
      return undefined;
  }
}

function isPlainFormat(format: Field | undefined): boolean {
  return (
    format !== undefined &&
    isFixed(format.value) &&
    !format.value.startsWith("-") &&
    !/%(?!%|-?\d*[sbc])/.test(format.value.replaceAll("%%", ""))
  );
}

const isTestWord = ({ value }: Field) =>
  !value.startsWith("-") || /^-(?:[defrswxzLhn]|eq|ne|lt|le|gt|ge|\d+)$/.test(value);

function numbersOnly(args: readonly Field[]): boolean {
  return args.every(
    ({ value }, index) =>
      !/^-(?:eq|ne|lt|le|gt|ge)$/.test(value) ||
      [args[index - 1], args[index + 1]].every((side) => /^-?\d+$/.test(side?.value ?? "")),
  );
}
