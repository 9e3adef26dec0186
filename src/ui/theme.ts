/** The few styles of the screen: the sixteen base colours only, so that dark and light backgrounds both stay readable. */
export interface Theme {
  readonly color: boolean;
  readonly prompt: Style;
  readonly toolName: Style;
  /** Arguments, results, hints: dim, because bright black vanishes on some palettes. */
  readonly grey: Style;
  readonly reasoning: Style;
  readonly error: Style;
  readonly warning: Style;
  /** What must not be overlooked: approvals that are not asked for. */
  readonly badge: Style;
  readonly ok: Style;
  readonly bold: Style;
  readonly italic: Style;
  readonly strike: Style;
  readonly heading: Style;
  readonly code: Style;
  readonly link: Style;
  readonly selected: Style;
  readonly added: Style;
  readonly removed: Style;
  readonly keyword: Style;
  readonly string: Style;
  readonly number: Style;
  readonly comment: Style;
  readonly name: Style;
}

export type Style = (text: string) => string;

export function theme(color: boolean): Theme {
  const sgr = (on: string, off: string): Style =>
    color ? (text) => (text === "" ? "" : `\x1b[${on}m${text}\x1b[${off}m`) : (text) => text;
  return {
    color,
    prompt: sgr("1;32", "22;39"),
    toolName: sgr("33", "39"),
    grey: sgr("2", "22"),
    reasoning: sgr("2;3", "22;23"),
    error: sgr("1;31", "22;39"),
    warning: sgr("1;33", "22;39"),
    badge: sgr("1;97;41", "22;39;49"),
    ok: sgr("32", "39"),
    bold: sgr("1", "22"),
    italic: sgr("3", "23"),
    strike: sgr("9", "29"),
    heading: sgr("1;36", "22;39"),
    code: sgr("36", "39"),
    link: sgr("4;34", "24;39"),
    selected: sgr("7", "27"),
    added: sgr("32", "39"),
    removed: sgr("31", "39"),
    keyword: sgr("35", "39"),
    string: sgr("32", "39"),
    number: sgr("36", "39"),
    comment: sgr("2", "22"),
    name: sgr("34", "39"),
  };
}

/** A link where the terminal can open it, the text and the address where it cannot. */
export function hyperlink(text: string, url: string, supported: boolean): string {
  return supported ? `\x1b]8;;${url}\x1b\\${text}\x1b]8;;\x1b\\` : text;
}

/** Terminals known to open OSC 8 links; inside tmux only where it was told that the outer terminal can. */
export function supportsLinks(env: Readonly<Record<string, string | undefined>>, color: boolean): boolean {
  if (!color || env.TERM === "dumb" || env.TERM === "linux" || env.TERM?.startsWith("screen")) return false;
  if (env.TMUX !== undefined) return false;
  if (env.KITTY_WINDOW_ID !== undefined || env.WT_SESSION !== undefined || env.KONSOLE_VERSION !== undefined)
    return true;
  if (Number(env.VTE_VERSION ?? 0) >= 5000) return true;
  if (["iTerm.app", "WezTerm", "vscode", "ghostty", "Hyper", "rio"].includes(env.TERM_PROGRAM ?? "")) return true;
  return /^(foot|alacritty|xterm-kitty|xterm-ghostty|contour)/.test(env.TERM ?? "");
}
