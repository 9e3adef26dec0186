/** xargs and parallel: commands whose arguments come from input or follow `:::`. */
import { words } from "../../../lib/text.ts";
import { type Field, field, SPLIT, UNKNOWN } from "../syntax/field.ts";
import { recursive } from "./find.ts";
import { type Input, leadingOptions, type Wrapped } from "./wrapped.ts";

/** Items that are checked one by one; the rest is unknown. */
const MOST_ITEMS = 64;

export function xargsRuns(argv: readonly Field[], input: Input): Wrapped {
  const options = leadingOptions(argv, 1, {
    flags: "0oprtx",
    values: "adEILnPsJRS",
    optional: "ile",
    longValues: "arg-file delimiter max-args max-procs max-chars process-slot-var",
    long: "null open-tty interactive no-run-if-empty verbose exit show-limits eof replace max-lines",
  });
  const { seen } = options;
  const command = argv.slice(options.at);
  const inner = command.length === 0 ? [field("echo")] : command;
  const byFile = seen.has("a") || seen.has("arg-file");
  const replace =
    seen.has("I") || seen.has("i") || seen.has("J") || seen.has("replace")
      ? ((seen.get("I") ?? seen.get("J") ?? seen.get("i") ?? seen.get("replace"))?.value ?? "{}")
      : undefined;
  const lines =
    seen.has("0") || seen.has("null")
      ? "\0"
      : seen.has("d") || seen.has("delimiter")
        ? (seen.get("d") ?? seen.get("delimiter"))?.value
        : undefined;
  const items =
    byFile || input.kind !== "known"
      ? [UNKNOWN]
      : lines === undefined && replace !== undefined
        ? itemsOf(input.text, "\n").map((line) => line.trimStart())
        : itemsOf(input.text, lines);
  // How items are grouped and what quotes do to them is not tracked: then an item may be any word.
  const sure =
    input.kind === "known" &&
    input.guessed !== true &&
    [...seen.keys()].every((name) => SIMPLE.has(name)) &&
    (lines === undefined ? !/['"\\\v\f\r]/.test(input.text) : lines === "\\n" || /^[^\\]$/.test(lines));
  if (!sure && !items.includes(UNKNOWN)) items.push(UNKNOWN);
  // The items list everything in a tree.
  const tree = items.some((item) => items.includes(`${item === "/" ? "" : item}/${UNKNOWN}`));
  // One item may be several words, unless -n 1 is given.
  const most = ["n", "max-args"].flatMap((name) => seen.get(name)?.value ?? []);
  const byLine = ["L", "l", "max-lines"].some((name) => seen.has(name));
  const alone = most.length > 0 && most.every((value) => value === "1") && !byLine;
  const severally = (item: string) => field(alone ? item : item.replace(/[\uFDD2\uFDD8\uFDDB]/g, `$&${SPLIT}`));
  const given = items.map(severally);
  const commands =
    replace === undefined
      ? [[...(tree ? recursive(inner) : inner), ...given], ...(sure ? [] : [[...inner, severally(UNKNOWN)]])]
      : items.map((item) =>
          (tree ? recursive(inner) : inner).map((word) => field(word.value.replaceAll(replace, item), word.source)),
        );
  return {
    harmless: !options.odd && !["p", "o", "interactive", "open-tty", "process-slot-var"].some((name) => seen.has(name)),
    commands,
    at: options.at,
    input: { kind: "inherited" },
    ...(options.odd ? { uncertain: "xargs with unknown options" } : {}),
    ...(byFile ? { uncertain: "xargs takes its words from a file" } : {}),
  };
}

/** Options that change neither the items nor how they are grouped. */
const SIMPLE = new Set(
  words("0 null d delimiter r no-run-if-empty t verbose I i replace P max-procs x exit a arg-file"),
);

function itemsOf(text: string, separator: string | undefined): string[] {
  const decoded = separator === "\\n" ? "\n" : separator === "\\0" ? "\0" : separator;
  const all = (decoded === undefined ? text.split(/[ \t\n]+/).map(unquoted) : text.split(decoded)).filter(
    (item) => item !== "" && item !== "\n",
  );
  return all.length > MOST_ITEMS ? [...all.slice(0, MOST_ITEMS), UNKNOWN] : all;
}

function unquoted(item: string): string {
  return item.replace(/'([^']*)'|"([^"]*)"|\\(.)/g, "$1$2$3");
}

/** GNU parallel joins the words and passes them to a shell. */
export function parallelRuns(argv: readonly Field[], input: Input): Wrapped {
  const options = leadingOptions(argv, 1, {
    flags: "0kmqtuvXhV",
    values: "jSaInNlLdEsPTC",
    longValues:
      "jobs sshlogin arg-file max-args delay timeout colsep joblog results retries delimiter tmpdir workdir halt load memfree nice",
    long: "tag null keep-order dry-run bar eta progress ungroup group line-buffer verbose quote shuf pipe will-cite no-notice xargs citation lb no-run-if-empty",
  });
  const parts = argv.slice(options.at).map((word) => word.value);
  const marks = parts.findIndex((word) => /^:::[:+]?\+?$/.test(word));
  const command = (marks < 0 ? parts : parts.slice(0, marks)).join(" ");
  const given = marks < 0 ? [] : parts.slice(marks + 1).filter((word) => !word.startsWith(":::"));
  const items =
    given.length > 0 ? given.slice(0, MOST_ITEMS) : input.kind === "known" ? itemsOf(input.text, "\n") : [UNKNOWN];
  if (command === "")
    return {
      harmless: false,
      scripts: items.map((text) => ({ text: text === UNKNOWN ? undefined : text, own: true })),
    };
  const texts = items.map((item) =>
    /\{[^}\s]*\}/.test(command) ? command.replace(/\{[^}\s]*\}/g, () => item) : `${command} ${item}`,
  );
  return { harmless: false, scripts: texts.map((text) => ({ text, own: true })) };
}
