/** Reads of files whose names only the running shell knows: whether such a name may be that of any file. */
import { words } from "../../lib/text.ts";
import { once } from "../../lib/values.ts";
import { mayNameSecret } from "../files/secret-files.ts";
import { readOnlyRows } from "./read-only/table.ts";
import { type Field, programName, UNKNOWN } from "./syntax/field.ts";
import type { FoundCommand, Walked } from "./syntax/findings.ts";

/**
 * Whether the text may read any file at all: a program opens a file named by an environment variable or by the contents
 * of another file. Names listed by find, ls or git ls-files are judged with those commands.
 */
export function readsAnyFile(walked: Walked): boolean {
  // Text that is printed may also lead out of a known directory.
  const anyText = walked.commands.some(printsGivenText);
  const readers = walked.commands.filter((found) =>
    filesOf(found).some((path) => isAnyFile(path) || (anyText && path.includes(UNKNOWN))),
  );
  if (readers.length === 0) return false;
  if (walked.environment || walked.reads.some(({ file }) => file !== "/dev/null")) return true;
  return walked.commands.some((found) => !readers.includes(found) && !onlyNames(found));
}

/** Unknown at its start, and its end is unknown or may be the name of a file with keys. */
function isAnyFile(path: string): boolean {
  if (!path.startsWith(UNKNOWN)) return false;
  const name = path.slice(path.lastIndexOf("/") + 1);
  return name.includes(UNKNOWN) || mayNameSecret(name);
}

/** Programs whose first operand is not a file. */
const SCRIPT_FIRST = new Set(words("grep egrep fgrep ggrep zgrep rg jq gojq yq awk gawk mawk nawk sed gsed"));
/** These read files but do not print their contents. */
const PRINT_FACTS = new Set(
  words("wc md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum cksum sum shasum md5 file cmp ls stat du"),
);
/** Options of jq that are followed by a name and a file. */
const JQ_FILES = /^--(?:rawfile|slurpfile)$/;

/** The files that a command prints. */
function filesOf(found: FoundCommand): readonly string[] {
  return PRINT_FACTS.has(programName(found.argv[0]?.value ?? "")) ? [] : openedBy(found);
}

/** The files that a command opens. */
export function openedBy({ argv }: FoundCommand): readonly string[] {
  const program = programName(argv[0]?.value ?? "");
  const valued = new Set<string>();
  let reads = /^(?:[gmn]?awk|g?sed|yq)$/.test(program);
  for (const row of readOnlyRows().of(program))
    for (const { form } of row.calls) {
      if (form.operands.some(({ shape }) => shape?.contents === true)) reads = true;
      for (const [name, { values }] of form.options) if (values > 0) valued.add(name);
    }
  if (!reads) return [];
  const files: string[] = [];
  let script = SCRIPT_FIRST.has(program) && !argv.some(({ value }) => /^-[a-zA-Z]*[ef]|^--(?:regexp|file)/.test(value));
  for (let at = 1; at < argv.length; at++) {
    const { value } = argv[at] as Field;
    const last = value.startsWith("--") ? value : `-${value.at(-1)}`;
    if (JQ_FILES.test(value)) files.push(argv[(at += 2)]?.value ?? "");
    else if (value.startsWith("-") && value !== "-")
      at += valued.has(last) ? (/^--arg(?:json)?$/.test(value) ? 2 : 1) : 0;
    else if (script) script = false;
    else files.push(value);
  }
  return files;
}

/** Programs that print names of files, numbers, or text from their arguments. */
const LISTS = new Set(
  words(`ls stat du find gfind fd fdfind test [ [[ tree file realpath readlink dirname basename cd pushd popd echo printf pwd which
    type whereis namei lsattr getfacl dpkg rpm apk systemctl service pgrep pidof ps id groups whoami hostname
    uname nproc date seq true false : sleep read mapfile readarray command xargs wc uptime free df lsof docker podman`),
);
/** Programs that only drop or reorder lines, if they read no file. */
const FILTERS = new Set(words("head tail sort uniq tac cat grep egrep fgrep column nl"));
const NAMES_OF_GIT = /^(?:ls-files|ls-tree|rev-parse|status|branch|tag|remote|rev-list|merge-base|describe)$/;

/**
 * Arguments that make a program print text of the caller: formats, separators, suffixes to remove. Formats with only
 * directives, digits and punctuation do not.
 */
const FORMATS: readonly (readonly [programs: string, words: RegExp])[] = [
  ["date", /^\+(?!(?:%[-_0^#]?[a-zA-Z]|[-_.:, 0-9T])*$)/],
  ["ls du tree", /^--time-?[sf]/],
  ["echo", /\\/],
  ["stat find gfind", /^(?!(?:--\w+=|-c)?(?:%[-0-9.]*[ACT]?[a-zA-Z@]|\\[nt0]|[\s,:])*$)[^]*[%\\]/],
  ["docker podman", /^(?!(?:--format=|-f)?(?:\{\{ ?\.[\w.]+ ?\}\}|\\t|[\s,:])*$)[^]*\{\{/],
  ["rpm dpkg", /^-f|^--(?:qf|queryformat|showformat)/],
  ["seq column nl tac", /^-[a-zA-Z]*[fosNH]|^--(?:f|o|s|number-s|table|header)/],
  ["pgrep", /^-[a-zA-Z]*d|^--d/],
  ["grep egrep fgrep", /^--label/],
  ["rg", /^-[a-zA-Z]*r|^--(?:re|field|context-s|path-s)/],
  ["fd fdfind", /^--format/],
  ["cut", /^--output-d/],
];
const formats = once(() => new Map(FORMATS.flatMap(([programs, text]) => words(programs).map((name) => [name, text]))));
/** A format that prints its arguments unchanged, or numbers. */
const PLAIN_FORMAT = /^(?:(?:%s|%%|\\[nt]|\\0+|[^%\\])*|(?:%0?\d*[dix]|\\n|[-_.:, 0-9])*)$/;

function printsGivenText({ argv }: FoundCommand): boolean {
  const program = programName(argv[0]?.value ?? "");
  const args = argv.slice(1).map(({ value }) => value);
  if (program === "printf") return !PLAIN_FORMAT.test(args.find((word) => word !== "--") ?? "");
  if (program === "basename")
    return (
      args.length > 1 && (!/^-(?:a|-multiple)$/.test(args[0] ?? "") || args.some((word) => /^-\w*s|^--s/.test(word)))
    );
  const text = formats().get(program);
  return text !== undefined && args.some((word) => text.test(word));
}

/** It prints only names that it lists, not text from a file or a script. */
function onlyNames(found: FoundCommand): boolean {
  const { argv, wrapped } = found;
  const program = programName(argv[0]?.value ?? "");
  const args = argv.slice(1).map(({ value }) => value);
  if (found.defined || (wrapped !== undefined && program !== "xargs")) return program !== "xargs";
  if (program === "xargs") return !args.some((word) => /^-[a-zA-Z0-9]*a|^--arg-file/.test(word));
  if (printsGivenText(found)) return false;
  if (program === "git") {
    const call = args.find((word) => !word.startsWith("-")) ?? "";
    return NAMES_OF_GIT.test(call) || args.some((word) => /^--name-(?:only|status)$|^-l$|^--files-with/.test(word));
  }
  if (LISTS.has(program) || PRINT_FACTS.has(program)) return true;
  const names = args.some((word) => /^-[a-zA-Z]*[lLcq]|^--(?:files|count|quiet)/.test(word));
  if (/^(?:[ef]?grep|rg)$/.test(program) && names) return true;
  if (filesOf(found).length > 0) return false;
  if (/^[gmn]?awk$/.test(program)) return args.some((word) => /^[^{}"]*\{\s*print \$(?:\d+|NF)\s*\}$/.test(word));
  if (program === "cut") return !args.some((word) => /^-[bc]|^--(?:bytes|characters)/.test(word));
  if (program === "tr") return args.every((word) => /^(?:-[ds]+|\\[n0t]|\\000|[ \n\t,:])$/.test(word));
  return FILTERS.has(program) && !args.some((word) => /^-[a-zA-Z]*o|^--only/.test(word));
}
