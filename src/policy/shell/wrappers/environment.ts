/** Programs that start another one with a changed environment, priority or time limit, repeatedly, or under a lock. */
import { mayBeUnset } from "../syntax/assignments.ts";
import { type Field, field, NUMBER } from "../syntax/field.ts";
import { assignments, joined, leadingOptions, type OptionShape, plain, runs, script, type Wrapper } from "./wrapped.ts";

/** `env` with its assignments, its directory and the words that -S splits. */
export const env: Wrapper = (argv) => {
  const shape: OptionShape = {
    flags: "i0v",
    // -P is where BSD looks for the program.
    values: "uCSaP",
    long: "ignore-environment null debug list-signal-handling help version block-signal default-signal ignore-signal",
    longValues: "unset chdir split-string argv0",
  };
  const words = argv.map((word) => (word.value === "-" ? field("-i") : word));
  let uncertain: string | undefined;
  // -S is replaced by the words of its value, and options may follow them.
  for (let i = 1, rounds = 0; i < words.length && rounds < 4; i++) {
    const word = (words[i] as Field).value;
    const match = /^(-[i0v]*S|--split-string=)([^]*)$/.exec(word);
    const text = word === "--split-string" || match?.[2] === "" ? words[i + 1]?.value : match?.[2];
    if (text === undefined) {
      if (/^-[uCPa]$|^--(?:unset|chdir|argv0)$/.test(word)) i++;
      else if (!word.startsWith("-")) break;
      continue;
    }
    // env has its own syntax for quotes, escapes and variables.
    if (!/^[\w ./=,:@%+-]*$/.test(text)) uncertain = "how env -S splits its value";
    const split = text
      .split(/[ \t\n]+/)
      .filter((item) => item !== "")
      .map((item) => field(item.replace(/^(['"])(.*)\1$/, "$2").replaceAll("\\_", " ")));
    words.splice(i, match === null || match[2] === "" ? 2 : 1, ...split);
    i--;
    rounds++;
  }
  const options = leadingOptions(words, 1, shape);
  const { at, assigns } = assignments(words, options.at);
  const chdir = (options.seen.get("C") ?? options.seen.get("chdir"))?.value;
  const inner = words.slice(at);
  const { seen } = options;
  const unset = [...words.slice(1, at).entries()].flatMap(([index, { value }]) => {
    const [, joined] = /^(?:-[i0v]*u|--unset=)([^]*)$/.exec(value === "--unset" ? "-u" : value) ?? [];
    return joined === undefined ? [] : [joined === "" ? (words[index + 2]?.value ?? "") : joined];
  });
  // Without a PATH, older systems search the working directory first; programs such as systemctl and busybox behave
  // differently under another name.
  const odd =
    options.odd ||
    ["P", "a", "argv0"].some((name) => seen.has(name)) ||
    (inner.length > 0 && (seen.has("i") || seen.has("ignore-environment") || !unset.every((name) => mayBeUnset(name))));
  const same = argv.every((word, index) => word.value === words[index]?.value);
  return {
    harmless: true,
    assigns,
    ...(inner.length === 0 ? {} : { commands: [inner] }),
    ...(same ? { at } : {}),
    ...(chdir === undefined ? {} : { cwd: chdir }),
    ...(uncertain !== undefined || odd
      ? { uncertain: uncertain ?? "env with options that may change what the program does" }
      : {}),
  };
};

export const nice: Wrapper = (argv) => {
  const first = argv[1]?.value ?? "";
  if (/^-\d+$/.test(first) || /^--\d+$/.test(first)) return runs(argv, { at: 2, seen: new Map(), odd: false }, 2, true);
  return plain({ values: "n", longValues: "adjustment", long: "help version" }, 0, true)(argv, { kind: "inherited" });
};

export const timeout: Wrapper = (argv) => {
  const options = leadingOptions(argv, 1, {
    flags: "vfp",
    values: "ks",
    longValues: "kill-after signal",
    long: "preserve-status foreground verbose help version",
  });
  // busybox before 1.30 takes the time with -t: this word is then the program.
  const time = /^[\d.]+[smhd]?$/.test(argv[options.at]?.value.replaceAll(NUMBER, "1") ?? "");
  return runs(argv, options, options.at + 1, time);
};

/** With -p and the like these act on a running process; with a command they only start it differently. */
export function scheduler(shape: OptionShape, operands: number, onPid: string): Wrapper {
  return (argv) => {
    const options = leadingOptions(argv, 1, shape);
    if ([...options.seen.keys()].some((letter) => onPid.includes(letter) || letter === "pid")) return undefined;
    return runs(argv, options, options.at + operands, true);
  };
}

export const watch: Wrapper = (argv) => {
  const options = leadingOptions(argv, 1, {
    flags: "bcCegtwxdrpfv",
    values: "nqs",
    longValues: "interval equexit shotsdir",
    long: "beep color no-color differences errexit chgexit precise no-title no-wrap exec no-rerun",
  });
  if (options.seen.has("x") || options.seen.has("exec")) return runs(argv, options, options.at, false);
  return { harmless: false, scripts: [script(joined(argv.slice(options.at)))] };
};

export const scriptCommand: Wrapper = (argv) => {
  const options = leadingOptions(argv, 1, {
    flags: "aefqr",
    values: "cEIBOTmt",
    longValues: "command log-in log-out log-io log-timing echo output-limit logging-format",
    long: "append flush quiet return force timing",
  });
  const text =
    options.seen.get("c") ??
    options.seen.get("command") ??
    argv.slice(options.at).find((_, i, list) => list[i - 1]?.value === "-c");
  if (text !== undefined) return { harmless: false, scripts: [script(text.value)] };
  // BSD: the command follows the file.
  const inner = argv.slice(options.at + 1);
  return { harmless: false, ...(inner.length === 0 ? {} : { commands: [inner] }) };
};

export const flock: Wrapper = (argv) => {
  const options = leadingOptions(argv, 1, {
    flags: "sxenouFv",
    values: "wE",
    longValues: "timeout wait conflict-exit-code",
    long: "shared exclusive nonblock nb close unlock no-fork verbose",
  });
  const next = argv[options.at + 1]?.value;
  if (next === "-c" || next === "--command") return { harmless: false, scripts: [script(argv[options.at + 2]?.value)] };
  return runs(argv, options, options.at + 1, false);
};
