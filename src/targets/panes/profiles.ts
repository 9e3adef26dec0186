/** What is different about each shell, as data. */
export type ShellName = "bash" | "zsh" | "fish" | "posix";
/**
 * How the hooks got in: start-up files of a shell that buddy starts, or lines typed into one that the operator
 * started.
 */
export type Hooks = "files" | "typed";

export interface ShellProfile {
  readonly name: ShellName;
  readonly hooks: Hooks;
  /** A key that the line editor knows takes the command from a file; or a line is typed. */
  readonly takes: "key" | "line";
  /** A half-typed line: the shell keeps it for another key; what the screen shows is typed again; or it is lost. */
  readonly aside: "shell" | "retype" | "discard";
  /** A half-typed command of several lines is given up by buddy's key, which keeps it; or by Ctrl-C. */
  readonly unfinished: "key" | "interrupt";
  /** What abandons a line: fish ignores Ctrl-C at a line that it shows as empty. */
  readonly abandon: "interrupt" | "key";
  /** `hook`: the start of each line is marked. `line`: only buddy's own lines mark it. */
  readonly starts: "hook" | "line";
  /** An unclosed quote is known before anything is drawn, or by a second prompt. */
  readonly incomplete: "before" | "second-prompt";
  /** It draws the line again for every key, beginning with a carriage return. */
  readonly redraws: boolean;
  /** Another shell follows when it ends (the supervisor of a pane that buddy made). */
  readonly restarts: boolean;
  readonly mostTyped: number;
  /**
   * What is printed when a command ends the shell, which is not output: a line of the shell, and what the
   * supervisor adds.
   */
  readonly farewell: string;
  quote(word: string): string;
  /** May be given to the shell as a line; otherwise it is sourced from a file, and the pane shows its text. */
  isLine(text: string): boolean;
  source(path: string): string;
}

const plainQuote = (word: string) => `'${word.replaceAll("'", `'\\''`)}'`;
// oxlint-disable-next-line no-control-regex
const CONTROL = /[\0-\x1f\x7f]/;
const REPLACES_HOOKS = /(?:^|[\s;&|({`])(?:\.|source|eval)\s|PROMPT|\bPS[01]\b|precmd|preexec/;
const short = (text: string) => text.length <= 1000 && !CONTROL.test(text) && !text.startsWith(" ");

const bash: ShellProfile = {
  name: "bash",
  hooks: "files",
  takes: "key",
  aside: "shell",
  unfinished: "key",
  abandon: "interrupt",
  starts: "hook",
  incomplete: "second-prompt",
  redraws: false,
  restarts: true,
  mostTyped: Number.POSITIVE_INFINITY,
  farewell: "exit\r\n\u001b[?1049l\u001b[?25h\u001b[0m",
  quote: plainQuote,
  isLine: (text) => short(text) && !text.includes("!") && !REPLACES_HOOKS.test(text),
  source: (path) => ` \\builtin . ${plainQuote(path)}`,
};

const OWN: Readonly<Record<ShellName, ShellProfile>> = {
  bash,
  zsh: { ...bash, name: "zsh", farewell: "", isLine: (text) => bash.isLine(text) && !text.includes("#") },
  fish: {
    ...bash,
    name: "fish",
    farewell: "",
    abandon: "key",
    incomplete: "before",
    redraws: true,
    quote: (word) => `'${word.replace(/[\\']/g, "\\$&")}'`,
    isLine: short,
    source: (path) => ` builtin . '${path.replace(/[\\']/g, "\\$&")}'`,
  },
  posix: {
    ...bash,
    name: "posix",
    farewell: "",
    takes: "line",
    aside: "discard",
    unfinished: "interrupt",
    starts: "line",
    isLine: () => false,
    source: (path) => ` \\. ${plainQuote(path)}`,
  },
};

/** An adopted shell is the same shell with a smaller profile: nothing is bound or written there. */
export function profileOf(name: ShellName, hooks: Hooks): ShellProfile {
  const own = OWN[name];
  if (hooks === "files") return own;
  const aside = name === "posix" ? "discard" : "retype";
  return {
    ...own,
    hooks,
    takes: "line",
    aside,
    unfinished: "interrupt",
    starts: "line",
    restarts: false,
    mostTyped: 3500,
  };
}
