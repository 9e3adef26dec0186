/** The compiled binary's REPL on a pseudo-terminal, with a scripted model behind it. */
import type { Playbook, ScriptedReply, Turn } from "./scripted-model/playbook.ts";
import { type Sandbox, buddyBinary, sandbox } from "./buddy.ts";
import { startModel, type TestModel } from "./model.ts";
import { Pty, type PtyOptions } from "./pty.ts";

export interface BinaryOptions extends PtyOptions {
  readonly args?: readonly string[];
  /** Added to the configuration file. */
  readonly config?: string;
}

export class ReplBinary implements AsyncDisposable {
  readonly box: Sandbox;
  readonly model: TestModel;
  /** Where the model is; a test may have one elsewhere. */
  url: string;
  readonly #ptys: Pty[] = [];

  constructor(turns: readonly Turn[] | Playbook) {
    this.box = sandbox();
    this.model = startModel(turns);
    this.url = this.model.url;
  }

  /** Starts a REPL; may be called again for a second one in the same home. */
  async start(options: BinaryOptions = {}): Promise<Pty> {
    this.configure(options.config);
    const argv = [await buddyBinary(), ...(options.args ?? ["--no-tmux"])];
    return this.spawn(argv, options);
  }

  spawn(argv: readonly string[], options: PtyOptions = {}): Pty {
    const pty = new Pty(argv, { ...options, cwd: this.box.cwd, env: { ...this.box.env, ...options.env } });
    this.#ptys.push(pty);
    return pty;
  }

  configure(more = ""): void {
    this.box.write(
      "home/.config/buddy/buddy.toml",
      `[agent]\nmodel = "test"\n[models.test]\napi_base_url = "${this.url}"\napi = "completions"\n` +
        `model = "scripted-model"\napi_key = "k"\ncontext_limit = 200000\n${more}`,
      0o600,
    );
  }

  /** The operator's words as the model got them with the last request. */
  get prompts(): string[] {
    const messages = this.model.requests.at(-1)?.messages ?? [];
    return messages.filter(({ role }) => role === "user").map(({ content }) => content);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const pty of this.#ptys) await pty[Symbol.asyncDispose]();
    await this.model[Symbol.asyncDispose]();
    this.box[Symbol.dispose]();
  }
}

/** A tool call as the model would write it. */
export function shellCall(command: string): Turn {
  return shellReply(command);
}

export function shellReply(command: string): ScriptedReply {
  const args = { command, risk: "low", mutation: false, privesc: false, why: "the test wants it" };
  return { toolCalls: [{ name: "run_shell", args }] };
}
