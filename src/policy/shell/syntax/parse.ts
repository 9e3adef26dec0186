/** From text to syntax tree, within limits that keep parsing linear: what exceeds them is reported as uncertain. */
import { parse, type ParsedScript } from "unbash";
import { words } from "../../../lib/text.ts";
import { cleaned, type Field, isFixed, programName } from "./field.ts";

interface Parsed {
  readonly script: ParsedScript | undefined;
  /** The text that positions in the tree refer to. */
  readonly source: string;
  /** Why a shell may run something else. */
  readonly uncertain: readonly string[];
}

/** unbash 6.0.3 needs about 0.1 ms for a kilobyte of commands, and is quadratic in the constructs counted below. */
const MOST_TEXT = 8_192;
const MOST_COMMANDS = 400;
const MOST_HEREDOCS = 48;
const DEEPEST = 20;
const MOST_OLD_ARITHMETIC = 8;

/** For the text that is judged: stand-in characters are removed first. */
export function parseText(text: string): Parsed {
  const uncertain: string[] = [];
  let source = cleaned(text);
  if (source !== text) uncertain.push("it contains characters no shell text should contain");
  if (/\r(?:\n|$)/.test(source)) {
    uncertain.push("its lines end in carriage returns");
    source = source.replace(/\r+(?=\n|$)/g, "");
  }
  if (source.includes("\0")) {
    uncertain.push("it contains a NUL character");
    source = source.replaceAll("\0", "");
  }
  // oxlint-disable-next-line no-control-regex
  if (/[\x01-\x08\x0b\x0c\x0e-\x1f\x7f]/.test(source)) uncertain.push("it contains control characters");
  if (/(?<!\\)(?:\\\\)*\\$/.test(source.slice(-64))) uncertain.push("it ends in a backslash");
  if (source.length > MOST_TEXT) {
    uncertain.push(`it is too long (${text.length} characters)`);
    source = shortened(source);
  }
  return parseInner(source, uncertain);
}

/** For text that results from expanding words: stand-ins for unknown parts stay in it. */
export function parseInner(text: string, before: readonly string[] = []): Parsed {
  const uncertain = [...before];
  const { limit, end } = measured(text);
  const refused = (why: string): Parsed => ({ script: undefined, source: text, uncertain: [...uncertain, why] });
  if (text.length > MOST_TEXT) return refused("it is too long");
  if (limit !== undefined) return refused(limit);
  let source = end < text.length ? text.slice(0, end) : text;
  if (end < text.length) uncertain.push("it has more commands than are checked");
  // Old arithmetic and ${ command; }: unbash accepts them unclosed, and shells read them differently.
  if (/\$\[|\$\{[\s|]/.test(source)) uncertain.push("it uses $[ ] or ${ }, which shells read differently");
  // fish and mksh accept `a | ! b`: the command after the mark is checked, too.
  const positive = source.replace(/'[^']*'|(\|(?:\s|\\\n)*)!(?=\s)/g, (found, pipe?: string) =>
    pipe === undefined ? found : `${pipe} `,
  );
  if (positive !== source) uncertain.push("it cannot be parsed: ! after a pipe");
  source = positive;
  // bash reads a number or {name} directly before <( ) as a word; unbash takes it for a redirection and drops the
  // command.
  const apart = source.replace(/(?:\d|\{[A-Za-z_]\w*\})(?=[<>]\()/g, (word) => `${word}''`);
  if (apart !== source) uncertain.push("a number comes directly before a process substitution");
  source = apart;
  try {
    const script = parse(source);
    const error = script.errors?.[0];
    if (error !== undefined) uncertain.push(`it cannot be parsed: ${error.message}`);
    return { script, source, uncertain };
  } catch {
    // Deeply nested constructs exhaust the parser's stack.
    return refused("it is nested too deeply to check");
  }
}

/** One pass over the characters, deliberately ignoring quotes: so many of these are worth a question. */
function measured(source: string): { readonly limit: string | undefined; readonly end: number } {
  let heredocs = 0;
  let open = 0;
  let deepest = 0;
  let old = 0;
  let separators = 0;
  let end = source.length;
  for (let i = 0; i < source.length; i++) {
    switch (source.charCodeAt(i)) {
      case 0x3c: // <
        if (source.charCodeAt(i + 1) === 0x3c) heredocs++;
        break;
      case 0x28: // (
      case 0x7b: // {
        deepest = Math.max(deepest, ++open);
        break;
      case 0x29: // )
      case 0x7d: // }
        open = Math.max(0, open - 1);
        break;
      case 0x5b: // [
        if (source.charCodeAt(i - 1) === 0x24) old++;
        break;
      case 0x0a: // newline
      case 0x3b: // ;
      case 0x7c: // |
      case 0x26: // &
        if (++separators === MOST_COMMANDS) end = i;
        break;
    }
  }
  if (heredocs > MOST_HEREDOCS) return { limit: "it has more here-documents than are checked", end };
  return {
    limit: deepest > DEEPEST || old > MOST_OLD_ARITHMETIC ? "it is nested too deeply to check" : undefined,
    end,
  };
}

/** Only to find dangers in a text that is never auto-approved: cuts data and long runs of characters, then the end. */
function shortened(source: string): string {
  const cut = withoutData(source)
    .replace(/[A-Za-z0-9 ]{256,}/g, (run) => `${run.slice(0, 64)}${run.slice(-64)}`)
    .replace(/(.)\1{255,}/g, (run) => run.slice(0, 64));
  if (cut.length <= MOST_TEXT) return cut;
  const end = Math.max(cut.lastIndexOf("\n", MOST_TEXT), cut.lastIndexOf(";", MOST_TEXT));
  return cut.slice(0, end > MOST_TEXT / 2 ? end : MOST_TEXT);
}

/** Keeps only the beginning and end of long here-documents with a quoted delimiter. */
function withoutData(source: string): string {
  let out = "";
  let at = 0;
  let count = 0;
  for (const match of source.matchAll(/<<-?[ \t]*(['"])(\w+)\1/g)) {
    if (match.index < at || ++count > MOST_HEREDOCS) continue;
    const start = source.indexOf("\n", match.index);
    const close = start < 0 ? -1 : source.indexOf(`\n${match[2]}\n`, start);
    if (close - start < 2_048) continue;
    out += `${source.slice(at, start + 512)}\n${source.slice(close - 512, close)}`;
    at = close;
  }
  return out + source.slice(at);
}

// ── The grammar that dash, ash, mksh, zsh and fish read exactly as bash does: all that is auto-approved without
// bash.

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
/** Into a file whose name no shell expands. */
const REDIRECTION =
  /^(?:[12]?>>?[ \t]*(?:[A-Za-z0-9_./][A-Za-z0-9_./:,@%+-]*|'[^'\\]+')|2>&1|<[ \t]*\/dev\/null)(?=[ \t\n;|&]|$)/;
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
