/** Passwords that programs on a target ask for: only the person at the terminal gives them, one at a time. */
import type { AskPassword, Target } from "../../targets/target.ts";

export class Passwords {
  #asker: PasswordAsker | undefined;
  #queue: Promise<unknown> = Promise.resolve();
  readonly #hide: (password: string) => void;

  /** `hide` keeps it out of what the program prints: some repeat what they were given. */
  constructor(hide: (password: string) => void) {
    this.#hide = hide;
  }

  /** Who is asked; undefined: there is no terminal. */
  setAsker(asker: PasswordAsker | undefined): void {
    this.#asker = asker;
  }

  /**
   * For programs on that target; `machine`: its name, if there are several. Undefined: there is no terminal to ask on.
   */
  for(target: () => Promise<Pick<Target, "identity">>, machine?: string): AskPassword | undefined {
    if (this.#asker === undefined) return undefined;
    return async ({ program, prompt, into, signal }) => {
      const { user, host } = (await target()).identity;
      const where = `${user}@${machine ?? host}`;
      const turn = this.#queue.then(async () => {
        if (signal.aborted) return undefined;
        const given = await this.#asker?.password({ where, program, prompt, into }, signal);
        if (given !== undefined) this.#hide(new TextDecoder().decode(given));
        return given;
      });
      this.#queue = turn.catch(() => undefined);
      return turn;
    };
  }
}

export interface PasswordQuestion {
  /** user@host. */
  readonly where: string;
  readonly program: string;
  /** In the program's own words, not yet safe for a terminal. */
  readonly prompt: string;
  readonly into: "pane" | "shell";
}

export interface PasswordAsker {
  /** Undefined: not given, or the signal came first. The receiver overwrites the bytes with zeros. */
  password(question: PasswordQuestion, signal: AbortSignal): Promise<Uint8Array | undefined>;
}
