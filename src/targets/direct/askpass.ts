/**
 * Passwords for `sudo` in a direct shell, which has no terminal: sudo starts a program that asks a helper of buddy
 * through pipes that only this user can open. Both exist only while the command runs.
 */
import askpass from "../../../templates/target/askpass.sh" with { type: "text" };
import askpassRemove from "../../../templates/target/askpass-remove.sh" with { type: "text" };
import { script } from "../../lib/script.ts";
import { createInterface } from "node:readline";
import { Readable } from "node:stream";
import type { AskPassword, Process, Transport } from "../target.ts";
import { OWN_DIRECTORY } from "../script-line.ts";
import { quote } from "../../lib/quote.ts";
import { within } from "../../lib/waiting.ts";

const HELPER = script(askpass, { ownDirectory: OWN_DIRECTORY });

const REMOVE = script(askpassRemove);

/** How long the helper may take to start: a container engine is slow. */
const START_MS = 5000;

/** Whether a command may need it. */
export function mentionsSudo(command: string): boolean {
  return /\bsudo\b/.test(command);
}

export class Askpass implements AsyncDisposable {
  readonly #transport: Transport;
  readonly #process: Process;
  readonly #directory: string;
  readonly #ended = new AbortController();

  private constructor(transport: Transport, process: Process, directory: string) {
    this.#transport = transport;
    this.#process = process;
    this.#directory = directory;
  }

  /** Undefined if it does not work: no named pipes, or a file system mounted noexec. */
  static async start(transport: Transport, below: string, ask: Ask): Promise<Askpass | undefined> {
    const directory = `${below}/askpass`;
    const process = transport.spawn(["sh"], { script: { name: "buddy-askpass", text: HELPER, args: [directory] } });
    const helper = new Askpass(transport, process, directory);
    const ready = Promise.withResolvers<boolean>();
    void helper.#follow(ask, () => ready.resolve(true)).finally(() => ready.resolve(false));
    if ((await within(ready.promise, START_MS)) === true) return helper;
    await helper[Symbol.asyncDispose]();
    return undefined;
  }

  /** Lines of sh that make `sudo` use the program while it exists, except with `-S`. */
  get prelude(): string {
    const program = quote(`${this.#directory}/program`);
    return `sudo() {
  [ -x ${program} ] || { command sudo "$@"; return; }
  for __buddy_word; do case $__buddy_word in --) break ;; --stdin | -S | -[A-Za-z]*S) command sudo "$@"; return ;; esac; done
  SUDO_ASKPASS=${program} command sudo -A "$@"
}
`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ended.abort();
    this.#process.stdin.end();
    this.#process.kill();
    await this.#transport.run(REMOVE, { args: [this.#directory], quick: true }).catch(() => undefined);
  }

  async #follow(ask: Ask, ready: () => void): Promise<void> {
    void this.#process.stderr.cancel().catch(() => undefined);
    const lines = createInterface({ input: Readable.fromWeb(this.#process.stdout as never) });
    let first = true;
    for await (const line of lines) {
      if (first) {
        first = false;
        if (line === "ready") ready();
        continue;
      }
      const given = await ask(line, this.#ended.signal).catch(() => undefined);
      if (this.#ended.signal.aborted || given === undefined) this.#process.stdin.write("n\n");
      else {
        const answer = Buffer.concat([Buffer.from("y\n"), given, Buffer.from("\n")]);
        this.#process.stdin.write(answer);
        // The pipe has its own copy after this turn of the event loop.
        setTimeout(() => answer.fill(0), 0);
      }
      given?.fill(0);
    }
  }
}

type Ask = (prompt: string, signal: AbortSignal) => Promise<Uint8Array | undefined>;

export function askForSudo(password: AskPassword): Ask {
  return (prompt, signal) => password({ program: "sudo", prompt, into: "shell", signal });
}
