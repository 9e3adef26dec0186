/**
 * Shell text that a program in another language, given as an argument, hands to a shell: enough to see what it must not
 * do, never a proof.
 */
import { programName } from "../syntax/field.ts";
import { isHarmlessProgram } from "../read-only/awk.ts";
import { isHarmlessScript } from "../read-only/sed.ts";
import { script, type Wrapper } from "./wrapped.ts";

const TEXT = String.raw`(?:"(?:[^"\\]|\\[^])*"|'(?:[^'\\]|\\[^])*')`;
/** `os.system("…")`, `subprocess.run(["rm", "-rf"])`, `system "rm", "-rf"`, `execSync('…')`. */
const CALL = new RegExp(
  String.raw`\b(?:system|popen|exec\w*|spawn\w*|shell_exec|passthru|run|call|check_(?:call|output)|get(?:status)?output)` +
    String.raw`[\s([]*(${TEXT}(?:\s*,[\s[]*${TEXT})*)`,
  "gi",
);
const LONGEST = 4_096;
const MOST_TEXTS = 24;

/** Backticks run what is in them, but are quotes in JavaScript, where `$` in front of them makes them run it. */
const BACKTICKS = /`([^`]+)`/g;
const SHELL_TEMPLATES = /\$`([^`]+)`/g;

function handedOver(program: string, ticks = BACKTICKS): string[] {
  const source = program.slice(0, LONGEST);
  return [
    ...[...source.matchAll(CALL)].map(([, texts = ""]) =>
      (texts.match(new RegExp(TEXT, "g")) ?? []).map(inner).join(" "),
    ),
    ...[...source.matchAll(ticks)].map(([, text = ""]) => text),
  ];
}

const inner = (text: string) => text.slice(1, -1).replace(/\\(["'\\])/g, "$1");

const scripts = (texts: readonly string[]) =>
  texts.length === 0 ? undefined : { harmless: false, scripts: texts.slice(0, MOST_TEXTS).map((text) => script(text)) };

export const otherLanguage: Wrapper = (argv) => scripts(argv.slice(1).flatMap(({ value }) => handedOver(value)));

export const javaScript: Wrapper = (argv) =>
  scripts(argv.slice(1).flatMap(({ value }) => handedOver(value, SHELL_TEMPLATES)));

export const awkRuns: Wrapper = (argv) =>
  scripts(
    argv.slice(1).flatMap(({ value }) => {
      const texts = handedOver(value);
      return texts.length === 0 || isHarmlessProgram(value) ? [] : texts;
    }),
  );

/** `e command` of GNU sed. */
export const sedRuns: Wrapper = (argv) =>
  scripts(
    argv.slice(1).flatMap(({ value }) => {
      const command = /(?:^|[;{}\n\d$/])[ \t]*e[ \t]+([^\n]+)/.exec(value.slice(0, LONGEST))?.[1];
      return command === undefined || isHarmlessScript(value) ? [] : [command];
    }),
  );

/** `vim -c ':!command'`, `+!command`. */
export const editorRuns: Wrapper = (argv) =>
  scripts(argv.slice(1).flatMap(({ value }) => /^\+?:?[ \t]*!([^]+)$/.exec(value)?.[1] ?? []));

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
