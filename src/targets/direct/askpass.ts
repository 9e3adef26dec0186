/**
 * Passwords for `sudo` in a direct shell, which has no terminal: sudo starts a program that asks a helper of buddy
 * through pipes that only this user can open. Both exist only while the command runs.
 */
import { createInterface } from "node:readline";
import { Readable } from "node:stream";
import type { AskPassword, Process, Transport } from "../target.ts";
import { OWN_DIRECTORY } from "../script-line.ts";
import { quote } from "../../lib/quote.ts";
import { within } from "../../lib/waiting.ts";

/**
 * $1 directory. Prints "ready" if the program can run; then prints a line for each prompt and reads "y" and a line with
 * the password, or any other line for none. The password is in no variable: where printf is a program, everyone would
 * see it among its arguments. Only sudo is answered, which runs as root: a process of this user could show it.
 */
const HELPER = `
d=$1
umask 077
${OWN_DIRECTORY}
for b in "\${d%/*/*}" "\${d%/*}"; do
  [ -d "$b" ] || mkdir "$b"
  __buddy_own "$b" || exit 1
done
rm -rf "$d" && mkdir "$d" || exit 1
asks=
trap 'if [ -n "$asks" ]; then kill "$asks"; fi; rm -rf "$d"; rmdir "\${d%/*}" 2>/dev/null' EXIT
trap 'exit 1' HUP INT TERM
mkfifo "$d/ask" "$d/answer" "$d/next" && cat >"$d/program" <<'BUDDY_ASKPASS' && chmod 700 "$d/program" && "$d/program" || exit 1
#!/bin/sh
[ $# -gt 0 ] || exit 0
if [ -O "/proc/$PPID" ]; then exit 1; fi
d=\${0%/*}
p=$(printf %s "$1" | tr -d '\\000-\\037\\177')
printf '%s\\n' "$p" >"$d/ask" || exit 1
{ IFS= read -r p && head -n 1; } <"$d/answer"
BUDDY_ASKPASS
echo ready
# A shell that waits for a prompt would not notice that buddy is gone. The next prompt is read after the answer.
while IFS= read -r p <"$d/ask"; do printf '%s\\n' "$p"; read -r p <"$d/next"; done &
asks=$!
while IFS= read -r p; do
  case $p in y) { echo y; head -n 1; } >"$d/answer" ;; *) : >"$d/answer" ;; esac
  echo >"$d/next"
done
`;

/** $1 directory. A helper that waits for a program that is gone ends: the pipe has both ends while it is removed. */
const REMOVE = `
if [ -p "$1/answer" ]; then { rm -rf -- "$1"; } 3<>"$1/answer"; fi
rm -rf -- "$1"; rmdir -- "\${1%/*}"
`;

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
