/** The few styles of the screen, by theme; the sixteen base colours only, so that the operator's palette decides. */
export interface Theme extends Readonly<Record<StyleName, Style>> {
  /** The one in use. */
  readonly active: ThemeName;
  readonly color: boolean;
  /** From now on everything is painted like this. */
  use(name: ThemeName): void;
}

type Style = (text: string) => string;

export type ThemeName = "dark" | "light" | "high-contrast" | "none";

export const THEME_NAMES: readonly ThemeName[] = ["dark", "light", "high-contrast", "none"];

export function isThemeName(text: string): text is ThemeName {
  return (THEME_NAMES as readonly string[]).includes(text);
}

/** `auto` goes by the environment; only the REPL asks the terminal itself. */
export function theme(color: boolean, start: ThemeName | "auto" = "dark"): Theme {
  let name: ThemeName = !color ? "none" : start === "auto" ? (themeFromEnv(process.env) ?? "dark") : start;
  const style =
    (which: StyleName): Style =>
    (text) => {
      const [on, off] = name === "none" ? ["", ""] : (PALETTES[name][which] ?? ["", ""]);
      return on === "" || text === "" ? text : `\x1b[${on}m${text}\x1b[${off}m`;
    };
  const styles = Object.fromEntries(STYLE_NAMES.map((which) => [which, style(which)])) as Record<StyleName, Style>;
  return Object.defineProperties(
    { ...styles, use: (wanted: ThemeName) => void (name = wanted) },
    { active: { get: () => name }, color: { get: () => name !== "none" } },
  ) as unknown as Theme;
}

/** By the background, where the environment describes it. */
export function themeFromEnv(env: Readonly<Record<string, string | undefined>>): ThemeName | undefined {
  const background = env.COLORFGBG?.split(";").at(-1);
  if (background === undefined || !/^\d{1,2}$/.test(background)) return undefined;
  return background === "7" || background === "15" ? "light" : "dark";
}

type Palette = Readonly<Record<StyleName, readonly [on: string, off: string]>>;

const DARK = {
  prompt: ["1;32", "22;39"],
  toolName: ["33", "39"],
  // Arguments, results, hints: dim, because bright black vanishes on some palettes.
  grey: ["2", "22"],
  reasoning: ["2;3", "22;23"],
  error: ["1;31", "22;39"],
  warning: ["1;33", "22;39"],
  // What must not be overlooked: approvals that are not asked for.
  badge: ["1;97;41", "22;39;49"],
  ok: ["32", "39"],
  bold: ["1", "22"],
  italic: ["3", "23"],
  strike: ["9", "29"],
  heading: ["1;36", "22;39"],
  code: ["36", "39"],
  link: ["4;34", "24;39"],
  selected: ["7", "27"],
  added: ["32", "39"],
  removed: ["31", "39"],
  keyword: ["35", "39"],
  string: ["32", "39"],
  number: ["36", "39"],
  comment: ["2", "22"],
  name: ["34", "39"],
} as const;

type StyleName = keyof typeof DARK;

const STYLE_NAMES = Object.keys(DARK) as StyleName[];

const PALETTES: Readonly<Record<Exclude<ThemeName, "none">, Palette>> = {
  dark: DARK,
  // Yellow and cyan cannot be read on white.
  light: {
    ...DARK,
    toolName: ["35", "39"],
    warning: ["1;35", "22;39"],
    heading: ["1;34", "22;39"],
    code: ["34", "39"],
    number: ["34", "39"],
  },
  // Nothing dim, nothing dark; emphasis by weight and reverse as well as by colour.
  "high-contrast": {
    ...DARK,
    prompt: ["1;92", "22;39"],
    toolName: ["1;93", "22;39"],
    grey: ["", ""],
    reasoning: ["3", "23"],
    error: ["1;97;41", "22;39;49"],
    warning: ["1;30;103", "22;39;49"],
    ok: ["1;92", "22;39"],
    heading: ["1;4", "22;24"],
    code: ["1", "22"],
    link: ["1;4", "22;24"],
    added: ["1;92", "22;39"],
    removed: ["1;91", "22;39"],
    keyword: ["1", "22"],
    string: ["", ""],
    number: ["", ""],
    comment: ["3", "23"],
    name: ["1", "22"],
  },
};

/** Only for a terminal that opens OSC 8 links. */
export function hyperlink(text: string, url: string): string {
  return `\x1b]8;;${url}\x1b\\${text}\x1b]8;;\x1b\\`;
}

/** Terminals known to open OSC 8 links; inside tmux it depends on the outer terminal, which is not known. */
export function supportsLinks(env: Readonly<Record<string, string | undefined>>, color: boolean): boolean {
  if (!color || env.TERM === "dumb" || env.TERM === "linux" || env.TERM?.startsWith("screen")) return false;
  if (env.TMUX !== undefined) return false;
  if (env.KITTY_WINDOW_ID !== undefined || env.WT_SESSION !== undefined || env.KONSOLE_VERSION !== undefined)
    return true;
  if (Number(env.VTE_VERSION ?? 0) >= 5000) return true;
  if (["iTerm.app", "WezTerm", "vscode", "ghostty", "Hyper", "rio"].includes(env.TERM_PROGRAM ?? "")) return true;
  return /^(foot|alacritty|xterm-kitty|xterm-ghostty|contour)/.test(env.TERM ?? "");
}
