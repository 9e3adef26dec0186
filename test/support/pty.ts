/** A program on a real pseudo-terminal with a real emulator behind it. */
import { Emulator } from "./emulator.ts";

export interface PtyOptions {
  readonly cols?: number;
  readonly rows?: number;
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly cwd?: string;
}

export class Pty implements AsyncDisposable {
  readonly emulator: Emulator;
  readonly #child: Bun.Subprocess;
  readonly exited: Promise<number>;

  constructor(argv: readonly string[], { cols = 80, rows = 24, env, cwd }: PtyOptions = {}) {
    this.emulator = new Emulator(cols, rows);
    const child = Bun.spawn([...argv], {
      ...(env === undefined ? {} : { env: Object.fromEntries(Object.entries(env).filter(([, v]) => v !== undefined)) }),
      ...(cwd === undefined ? {} : { cwd }),
      terminal: { cols, rows, data: (_terminal: unknown, data: Uint8Array) => this.emulator.write(data) },
    } as Bun.SpawnOptions.OptionsObject<"ignore", "ignore", "ignore">);
    this.#child = child as unknown as Bun.Subprocess;
    this.exited = this.#child.exited;
    this.emulator.onAnswer((text) => this.type(text));
  }

  get pid(): number {
    return this.#child.pid;
  }

  screen(): string {
    return this.emulator.screen();
  }

  type(text: string): void {
    if (this.#child.exitCode === null) this.#terminal().write(text);
  }

  /** A key by name: "up", "ctrl-r", "alt-enter", or a character. */
  key(...names: string[]): void {
    for (const name of names) this.type(encode(name));
  }

  paste(text: string): void {
    this.type(`\x1b[200~${text}\x1b[201~`);
  }

  resize(cols: number, rows: number): void {
    this.emulator.resize(cols, rows);
    this.#terminal().resize(cols, rows);
  }

  until(wanted: string | RegExp | ((screen: string) => boolean), timeoutMs?: number): Promise<string> {
    return this.emulator.until(wanted, timeoutMs);
  }

  signal(name: NodeJS.Signals): void {
    this.#child.kill(name);
  }

  /** Hangs up, as closing the window does. */
  close(): void {
    this.#terminal().close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) {
      this.#child.kill("SIGTERM");
      const timer = setTimeout(() => this.#child.kill("SIGKILL"), 5000);
      await this.exited;
      clearTimeout(timer);
    }
    this.emulator.dispose();
  }

  #terminal(): PtyTerminal {
    return (this.#child as unknown as { terminal: PtyTerminal }).terminal;
  }
}

interface PtyTerminal {
  write(text: string): void;
  resize(cols: number, rows: number): void;
  close(): void;
}

/** The bytes an xterm sends for a key. */
export function encode(name: string): string {
  const named = KEYS[name];
  if (named !== undefined) return named;
  const ctrl = /^ctrl-(.)$/.exec(name);
  if (ctrl !== null) return String.fromCharCode(ctrl[1]!.toUpperCase().charCodeAt(0) & 0x1f);
  const alt = /^alt-(.+)$/.exec(name);
  return alt === null ? name : `\x1b${encode(alt[1]!)}`;
}

const KEYS: Record<string, string> = {
  enter: "\r",
  tab: "\t",
  "shift-tab": "\x1b[Z",
  escape: "\x1b",
  backspace: "\x7f",
  delete: "\x1b[3~",
  up: "\x1b[A",
  down: "\x1b[B",
  right: "\x1b[C",
  left: "\x1b[D",
  home: "\x1b[H",
  end: "\x1b[F",
  "ctrl-left": "\x1b[1;5D",
  "ctrl-right": "\x1b[1;5C",
  "ctrl-_": "\x1f",
};
