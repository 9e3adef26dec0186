/** Alerts an operator who looks elsewhere: a bell, or a notification where the terminal shows them. */
export class Notifier {
  readonly #how: "bell" | "osc9" | "off";
  readonly #write: (text: string) => void;
  /** Undefined until the terminal has reported it. */
  #focused: boolean | undefined;
  #lastKey = Date.now();

  constructor(
    how: "auto" | "bell" | "osc9" | "off",
    env: Readonly<Record<string, string | undefined>>,
    write: (text: string) => void,
  ) {
    this.#how = how === "auto" ? best(env) : how;
    this.#write = write;
  }

  focus(focused: boolean): void {
    this.#focused = focused;
  }

  key(): void {
    this.#lastKey = Date.now();
    this.#focused = this.#focused === undefined ? undefined : true;
  }

  taskEnded(id: number, elapsedMs: number, words: string): void {
    if (elapsedMs >= LONG_TASK_MS) this.#call(`buddy: task ${id} ${words}`);
  }

  approvalWaits(what: string): void {
    this.#call(`buddy asks: ${what}`);
  }

  #call(message: string): void {
    if (this.#how === "off" || !this.#away()) return;
    if (this.#how === "bell") this.#write("\x07");
    // A leading digit would be read as a ConEmu command by some terminals: the message begins with a letter.
    else this.#write(`\x1b]9;${message.replace(/[\x00-\x1f\x7f-\x9f;]/g, " ").slice(0, 200)}\x07`);
  }

  /** Terminals that do not report focus: no key for a while. */
  #away(): boolean {
    return this.#focused === undefined ? Date.now() - this.#lastKey >= LONG_TASK_MS : !this.#focused;
  }
}

function best(env: Readonly<Record<string, string | undefined>>): "bell" | "osc9" {
  if (env.TMUX !== undefined || env.STY !== undefined) return "bell";
  const known = ["iTerm.app", "WezTerm", "ghostty"].includes(env.TERM_PROGRAM ?? "");
  return known || env.KITTY_WINDOW_ID !== undefined || env.WT_SESSION !== undefined || env.TERM?.startsWith("foot")
    ? "osc9"
    : "bell";
}

const LONG_TASK_MS = 20_000;
