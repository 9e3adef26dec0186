/**
 * Shell text in arguments that are programs of another language: enough to find dangers, not to prove that there are
 * none.
 */
import { inQuotes } from "../../../lib/quote.ts";
import { type Field, programName } from "../syntax/field.ts";
import { isHarmlessProgram } from "../read-only/awk.ts";
import { isHarmlessScript } from "../read-only/sed.ts";
import { type Input, script, type Wrapper } from "./wrapped.ts";

const TEXT = String.raw`(?:"(?:[^"\\]|\\[^])*"|'(?:[^'\\]|\\[^])*')`;
/** `os.system("…")`, `subprocess.run(["rm", "-rf"])`, `system "rm", "-rf"`, `execSync('…')`. */
const CALL = new RegExp(
  String.raw`\b(?:system|popen|exec\w*|spawn\w*|shell_exec|passthru|run|call|check_(?:call|output)|get(?:status)?output` +
    String.raw`|(?:async-)?shell-command(?:-to-string)?|do shell script)` +
    String.raw`[\s([]*(${TEXT}(?:\s*,[\s[]*${TEXT})*)`,
  "gi",
);
/** `shutil.rmtree("…")`, `FileUtils.rm_rf("…")`, `fs.rmSync("…")`. */
const REMOVAL = new RegExp(
  String.raw`\b(?:rm|rm_rf?|rm(?:dir)?Sync|rmtree|remove_(?:tree|dir)|rimraf|removeAll)[\s([]*(${TEXT})`,
  "g",
);
/** `open("/dev/sda", "wb")`, `open F, ">/dev/sda"`, `writeFileSync("/dev/sda", …)`. */
const OVERWRITING = new RegExp(
  String.raw`\b(?:f?open(?:Sync)?[\s(]*(?:\w+\s*,\s*)?(?:["']\s*\+?>+\s*|["'](?=[^"']*["']\s*,\s*["'][^"'r]))` +
    String.raw`|(?:writeFile(?:Sync)?|createWriteStream|file_put_contents)[\s(]*["'])(\/dev\/[^"']+)`,
  "g",
);
/** `qx{…}` runs it; so does `system q{…}`. */
const QX = /\b(?:qx|(?:system|exec)[\s(]*%?q[qQ]?)\s*(?:\(([^)]*)\)|\{([^}]*)\}|\[([^\]]*)\]|!([^!]*)!|\|([^|]*)\|)/g;
/** An endless loop that forks. */
const FORKS =
  /\bfork\b[\s()]*(?:while|until)\b|\bfork\(\) for _\b|\b(?:while\s*\(?\s*(?:1|true)\b|for\s*\(;;\)|loop\b)[^]*\bfork\b(?!["'])/i;
const FORK_BOMB = ":(){ :|:& };:";
const LONGEST = 4_096;
const MOST_TEXTS = 24;

/** Backticks run their content; in JavaScript they are quotes, and only with `$` in front do they run it. */
const BACKTICKS = /`([^`]+)`/g;
const SHELL_TEMPLATES = /\$`([^`]+)`/g;

function shellTexts(program: string, ticks = BACKTICKS): string[] {
  const source = program.slice(0, LONGEST);
  return [
    ...[...source.matchAll(CALL)].map(([, texts = ""]) =>
      (texts.match(new RegExp(TEXT, "g")) ?? []).map(inner).join(" "),
    ),
    ...[...source.matchAll(ticks)].map(([, text = ""]) => text),
    ...[...source.matchAll(QX)].map(([, ...texts]) => texts.join("")),
    ...[...source.matchAll(REMOVAL)].map(([, path = ""]) => `rm -rf -- ${inQuotes(inner(path))}`),
    ...[...source.matchAll(OVERWRITING)].map(([, path = ""]) => `: > ${inQuotes(path)}`),
    ...(FORKS.test(source) && !/wait/i.test(source) ? [FORK_BOMB] : []),
  ];
}

const inner = (text: string) => text.slice(1, -1).replace(/\\(["'\\])/g, "$1");

const scripts = (texts: readonly string[]) =>
  texts.length === 0 ? undefined : { harmless: false, scripts: texts.slice(0, MOST_TEXTS).map((text) => script(text)) };

/** The program is an argument or the input. */
const programs = (argv: readonly Field[], input: Input) => [
  ...argv.slice(1).map(({ value }) => value),
  ...(input.kind === "known" ? [input.text] : []),
];

export const otherLanguage: Wrapper = (argv, input) =>
  scripts(programs(argv, input).flatMap((text) => shellTexts(text)));

export const javaScript: Wrapper = (argv, input) =>
  scripts(programs(argv, input).flatMap((text) => shellTexts(text, SHELL_TEMPLATES)));

/** `-ex 'shell command'` of gdb, `-o 'platform shell command'` of lldb. */
export const debuggerRuns: Wrapper = (argv, input) =>
  scripts(
    programs(argv, input).flatMap((text) =>
      [...text.slice(0, LONGEST).matchAll(/(?:^|\n)\s*(?:(?:platform\s+)?shell\b|!)\s*([^\n]+)/g)].map(
        ([, command = ""]) => command,
      ),
    ),
  );

/** `-f -`: the recipes in the input of make. */
export const makeRuns: Wrapper = (argv, input) =>
  input.kind === "known" && argv.some(({ value }) => /^(?:-f|--file=|--makefile=)?(?:-|\/dev\/stdin)$/.test(value))
    ? scripts(
        [...input.text.slice(0, LONGEST).matchAll(/^(?:\t|[^\n=]*?:[^=\n][^\n]*;)[-@+]*([^\n]+)/gm)].map(
          ([, line = ""]) => line.replaceAll("$$", "$"),
        ),
      )
    : undefined;

/** `"…" | getline`, `print "…" | "sh"`, `print | "…"`. */
const PIPED = new RegExp(
  String.raw`(${TEXT})\s*\|&?\s*getline|\bprintf?[\s(]*(${TEXT})[\s)]*\|&?\s*"\S*sh"|\|&?\s*(${TEXT})`,
  "g",
);

export const awkRuns: Wrapper = (argv) =>
  scripts(
    argv.slice(1).flatMap(({ value }) => {
      const piped = [...value.slice(0, LONGEST).matchAll(PIPED)].map(([, ...texts]) => inner(texts.join("")));
      const texts = [...shellTexts(value), ...piped];
      return texts.length === 0 || isHarmlessProgram(value) ? [] : texts;
    }),
  );

/** `e command` and `s/…/command/e` of GNU sed. */
const REPLACED_AND_RUN = /(?:^|[;{}\n\d$/])[ \t]*s([^\w\s\\])(?:\\.|(?!\1)[^])*\1((?:\\.|(?!\1)[^])*)\1[gpiImM\d]*e/;
export const sedRuns: Wrapper = (argv) =>
  scripts(
    argv.slice(1).flatMap(({ value }) => {
      const text = value.slice(0, LONGEST);
      const command =
        /(?:^|[;{}\n\d$/])[ \t]*e[ \t]+([^\n]+)/.exec(text)?.[1] ??
        REPLACED_AND_RUN.exec(text)?.[2]?.replaceAll(/\\(.)/g, "$1");
      return command === undefined || isHarmlessScript(value) ? [] : [command];
    }),
  );

/** `vim -c ':!command'`, `+!command`. */
export const editorRuns: Wrapper = (argv) =>
  scripts(argv.slice(1).flatMap(({ value }) => /^\+?:?[ \t]*!([^]+)$/.exec(value)?.[1] ?? []));

/** `\! command` of psql and mysql, `.shell command` of sqlite3, `spawn command` of expect. */
export const clientRuns: Wrapper = (argv, input) =>
  scripts(
    programs(argv, input).flatMap((text) =>
      [
        ...text.slice(0, LONGEST).matchAll(/(?:^|[\n;])\s*(?:\\!|\.(?:shell|system)\b|system\b|spawn\b)\s*([^\n;]+)/g),
      ].map(([, command = ""]) => command.replaceAll(/\{([^{}]*)\}/g, (_, braced: string) => inQuotes(braced))),
    ),
  );

/** Options of tar whose value is a command. */
export const tarRuns: Wrapper = (argv) =>
  scripts(
    argv.flatMap(({ value }, index) => {
      const glued =
        /^--(?:checkpoint-ac\w*=exec|to-c\w*|use-c[\w-]*|info-s[\w-]*|new-vol[\w-]*|rsh-c[\w-]*)=([^]+)$/.exec(value);
      if (glued !== null) return [glued[1] as string];
      return programName(argv[index - 1]?.value ?? "") === "-I" ? [value] : [];
    }),
  );
