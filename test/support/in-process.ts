/**
 * buddy inside the test process: a home and directory of its own, a scripted model, a private tmux server, real
 * targets.
 */
import { spyOn } from "bun:test";
import { randomBytes } from "node:crypto";
import { closeSync, mkdirSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { AgentEvent } from "../../src/agent/events.ts";
import { composeRun, type Run, type RunOptions } from "../../src/app/run.ts";
import { type GlobalOptions, readGlobalOptions } from "../../src/cli/args/options.ts";
import type { Stdin } from "../../src/cli/commands/exec/exec-input.ts";
import { exec, type ExecOptions } from "../../src/cli/commands/exec/run-exec.ts";
import { loadConfig, type LoadedConfig } from "../../src/config/load.ts";
import { Output } from "../../src/lib/output.ts";
import * as controllingTerminal from "../../src/lib/terminal.ts";
import type { ApprovalAnswer, ApprovalRequest, Asker } from "../../src/policy/approvals.ts";
import { drain } from "./agent.ts";
import { endTmux, endTmuxIn } from "./end-tmux.ts";
import { startModel, type TestModel } from "./model.ts";
import type { Playbook, ScriptedReply, Turn } from "./scripted-model/playbook.ts";
import type { ScriptedRequest } from "./scripted-model/read-request.ts";
import { oddDirectory } from "./temporary.ts";

export type Flags = Readonly<Record<string, string | true>>;

export interface HereOptions {
  /** Lines of buddy.toml below the profile. */
  readonly config?: string;
  readonly api?: "completions" | "responses" | "anthropic";
  /** What the operator answers; without it nobody can be asked. */
  readonly answer?: (request: ApprovalRequest) => ApprovalAnswer | Promise<ApprovalAnswer>;
}

export class Here implements AsyncDisposable {
  readonly dir = oddDirectory();
  readonly home = join(this.dir, "home");
  readonly cwd = join(this.dir, "cwd");
  readonly config = join(this.home, ".config/buddy/buddy.toml");
  readonly socket = `buddy-test-${randomBytes(4).toString("hex")}`;
  readonly model: TestModel;
  /** Every question so far. */
  readonly asked: ApprovalRequest[] = [];
  /** What went wrong beside the work. */
  readonly problems: string[] = [];
  readonly #options: HereOptions;
  readonly #before = { env: { ...process.env }, cwd: process.cwd() };
  readonly #runs: Run[] = [];
  readonly #spies: { mockRestore(): void }[] = [];

  constructor(turns: readonly Turn[] | Playbook = [], options: HereOptions = {}) {
    this.#options = options;
    this.model = startModel(turns);
    mkdirSync(this.cwd);
    const { config = "", api = "completions" } = options;
    this.write(
      "home/.config/buddy/buddy.toml",
      `[agent]\nmodel = "test"\n[models.test]\napi_base_url = "${this.model.url}"\napi = "${api}"\nmodel = "gpt-4o"\n` +
        `[tmux]\nsocket = "${this.socket}"\n${config}\n`,
    );
    for (const name of Object.keys(process.env)) if (/^(BUDDY|AGENT|XDG)_|^TMUX/.test(name)) delete process.env[name];
    process.env.HOME = this.home;
    // Sockets, stores and background shells end up below the directory and go with it.
    process.env.TMPDIR = process.env.TMUX_TMPDIR = join(this.dir, "tmp");
    mkdirSync(process.env.TMPDIR);
    process.chdir(this.cwd);
  }

  /** Writes a file below the directory (`home/…`, `cwd/…`) and returns its path. */
  write(path: string, text: string | Uint8Array, mode = 0o600): string {
    const full = join(this.dir, path);
    mkdirSync(dirname(full), { recursive: true });
    writeFileSync(full, text, { mode });
    return full;
  }

  /** Programs that are found before those of the system, or instead of them. */
  programs(scripts: Readonly<Record<string, string>>, { only = false } = {}): void {
    const bin = join(this.dir, "bin");
    mkdirSync(bin, { recursive: true });
    for (const [name, script] of Object.entries(scripts)) this.write(`bin/${name}`, `#!/bin/sh\n${script}\n`, 0o755);
    process.env.PATH = only ? bin : `${bin}:${process.env.PATH}`;
    // Bun.which goes by the PATH that the process was started with.
    this.#spies.push(
      spyOn(Bun, "which").mockImplementation((name) => systemWhich(name, { PATH: process.env.PATH ?? "" })),
    );
  }

  read(path: string): string {
    return readFileSync(join(this.dir, path), "utf8");
  }

  globals(flags: Flags = {}): GlobalOptions {
    return readGlobalOptions(new Map(Object.entries(flags)));
  }

  loaded(flags: Flags = {}): Promise<LoadedConfig> {
    return loadConfig({ flags: this.globals(flags), env: { ...process.env }, cwd: this.cwd });
  }

  /** A run that is closed with the rest. */
  async compose(
    flags: Flags = { "no-tmux": true },
    { asker, ...more }: Partial<RunOptions> & { readonly asker?: Asker } = {},
  ): Promise<Run> {
    const { answer } = this.#options;
    const ask = async (request: ApprovalRequest): Promise<ApprovalAnswer> => {
      this.asked.push(request);
      return (await answer?.(request)) ?? { kind: "no-terminal" };
    };
    const run = await composeRun({
      globals: this.globals(flags),
      loaded: await this.loaded(flags),
      problem: (message) => void this.problems.push(message),
      ...more,
    });
    run.desk.attach({
      name: "the test",
      show: () => undefined,
      ask: asker === undefined ? ask : asker.ask.bind(asker),
    });
    this.#runs.push(run);
    return run;
  }

  /** One turn of a run of its own: the events, and what the model got for each call. */
  async turn(flags?: Flags): Promise<{ run: Run; events: AgentEvent[]; results: unknown[] }> {
    const run = await this.compose(flags);
    const events = await drain(run.agent.runTurn("do it", new AbortController().signal));
    return { run, events, results: this.results() };
  }

  /** `buddy exec` in this process, with stdout and stderr as files; asks on `terminal`, and nobody without one. */
  async exec(
    options: Partial<ExecOptions> & { stdin?: string; terminal?: () => number },
    flags: Flags = { "no-tmux": true },
  ): Promise<{ code: number; stdout: string; stderr: string }> {
    const { stdin, terminal, ...rest } = options;
    const spy = spyOn(controllingTerminal, "openTerminal").mockImplementation(() => terminal?.());
    const paths = ["stdout", "stderr"].map((name) => join(this.dir, name));
    const [out = -1, err = -1] = paths.map((path) => openSync(path, "w"));
    try {
      const code = await exec({ json: false, ...rest }, this.globals(flags), {
        out: new Output(out),
        err: new Output(err),
        stdin: textInput(stdin),
      });
      return { code, stdout: this.read("stdout"), stderr: this.read("stderr") };
    } finally {
      spy.mockRestore();
      closeSync(out);
      closeSync(err);
    }
  }

  /** The payloads of all tool results that the model has got, in order. */
  results(): unknown[] {
    return resultsOf(this.model.requests.at(-1));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const run of this.#runs) await run[Symbol.asyncDispose]();
    await this.model[Symbol.asyncDispose]();
    for (const spy of this.#spies.toReversed()) spy.mockRestore();
    process.chdir(this.#before.cwd);
    for (const name of Object.keys(process.env)) if (!(name in this.#before.env)) delete process.env[name];
    Object.assign(process.env, this.#before.env);
    endTmux(this.socket, join(this.dir, "tmp"));
    endTmuxIn(join(this.dir, "tmp"));
    rmSync(this.dir, { recursive: true, force: true });
  }
}

const systemWhich = Bun.which;

/** The payloads of the tool results in one request. */
export function resultsOf(request: Pick<ScriptedRequest, "messages"> | undefined): unknown[] {
  return (request?.messages ?? [])
    .filter((message) => message.role === "tool")
    .map((message) => (JSON.parse(message.content) as { result: unknown }).result);
}

/** A call whose arguments come from the result before it. */
export function from<T>(then: (last: T) => ScriptedReply): Turn {
  return (request) => then(resultsOf(request).at(-1) as T);
}

function textInput(text: string | undefined): Stdin {
  return {
    kind: text === undefined ? "none" : "stream",
    read: () => Promise.resolve(text === undefined ? undefined : Buffer.from(text)),
  };
}
