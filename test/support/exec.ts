/** The compiled binary with a scripted model behind it, in a sandbox with a tmux server of its own. */
import { randomBytes } from "node:crypto";
import type { Playbook, Turn } from "./scripted-model/playbook.ts";
import type { ScriptedServer } from "./scripted-model/server.ts";
import { type BuddyOptions, type BuddyRun, buddyBinary, sandbox, type Sandbox } from "./buddy.ts";
import { endTmux } from "./end-tmux.ts";
import { eventsOf } from "./event-schema.ts";
import { startModel } from "./model.ts";
import { Pty } from "./pty.ts";

export { call, DECLARED, shell } from "./calls.ts";

export interface ExecRig extends AsyncDisposable {
  readonly box: Sandbox;
  readonly requests: ScriptedServer["requests"];
  readonly socket: string;
  /** `buddy exec …` without a controlling terminal. */
  exec(args: readonly string[], options?: BuddyOptions): Promise<BuddyRun>;
  /** The same with --json: the events, each held against the schema. */
  events(
    args: readonly string[],
    options?: BuddyOptions,
  ): Promise<{ code: number; events: ReturnType<typeof eventsOf>; stderr: string }>;
  /** The same in a terminal. `shell` runs a line with "$BUDDY" in it instead. */
  terminal(args: readonly string[], options?: { shell?: string; env?: Record<string, string> }): Promise<Pty>;
  /** The payloads of all tool results that the model has got, in order, without the note on machine and directory. */
  results(): unknown[];
  /** The last of them as text, as the model has it. */
  lastResult(): string;
}

export interface RigOptions {
  /** Lines of buddy.toml below the profile. */
  readonly config?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly api?: "completions" | "responses" | "anthropic";
}

/** Machine, directory and shell, where they are new to the model. */
const NOTES = /(?:\n\n\[(?:target|cwd|no tmux): [^\]]*\])+$/;

export function execRig(turns: readonly Turn[] | Playbook, options: RigOptions = {}): ExecRig {
  const box = sandbox();
  const model = startModel(turns);
  const socket = `buddy-test-${randomBytes(4).toString("hex")}`;
  const { config = "", env = {}, api = "completions" } = options;
  box.write(
    "home/.config/buddy/buddy.toml",
    `[agent]\nmodel = "test"\n[models.test]\napi_base_url = "${model.url}"\napi = "${api}"\nmodel = "gpt-4o"\n${config}\n${/^\[tmux\]/m.test(config) ? "" : `[tmux]\nsocket = "${socket}"\n`}`,
    0o600,
  );
  const run = async (args: readonly string[], own: BuddyOptions = {}): Promise<BuddyRun> => {
    // A terminal of the developer must not be asked: setsid takes it away.
    const child = Bun.spawn(["setsid", "-w", await buddyBinary(), "exec", ...args], {
      cwd: own.cwd ?? box.cwd,
      env: present({ ...box.env, ...env, ...own.env }),
      stdin:
        own.stdin === "open"
          ? "pipe"
          : own.stdin === undefined || own.stdin === null
            ? "ignore"
            : typeof own.stdin === "string"
              ? Buffer.from(own.stdin)
              : own.stdin,
      stdout: "pipe",
      stderr: "pipe",
    });
    const timer = setTimeout(() => child.kill("SIGKILL"), own.timeoutMs ?? 30_000);
    const [stdout, stderr, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
    clearTimeout(timer);
    if (child.signalCode === "SIGKILL")
      throw new Error(`buddy exec ${args.join(" ")} did not end\n${stdout}\n${stderr}`);
    return { code, stdout, stderr };
  };
  const allResults = () =>
    (model.requests.at(-1)?.messages ?? [])
      .filter((message) => message.role === "tool")
      .map((message) => (JSON.parse(message.content) as { result: unknown }).result);
  const results = () => allResults().map((one) => (typeof one === "string" ? one.replace(NOTES, "") : one));
  return {
    box,
    requests: model.requests,
    socket,
    exec: run,
    async events(args, own) {
      const { code, stdout, stderr } = await run(["--json", ...args], own);
      return { code, events: eventsOf(stdout), stderr };
    },
    async terminal(args, { shell, env: more = {} } = {}) {
      const binary = await buddyBinary();
      const argv = shell === undefined ? [binary, "exec", ...args] : ["sh", "-c", shell];
      return new Pty(argv, { cols: 120, rows: 40, cwd: box.cwd, env: { ...box.env, ...env, ...more, BUDDY: binary } });
    },
    results,
    lastResult: () => {
      const last = allResults().at(-1);
      return typeof last === "string" ? last : JSON.stringify(last);
    },
    async [Symbol.asyncDispose]() {
      await model.server.close();
      endTmux(socket, box.dir);
      box[Symbol.dispose]();
    },
  };
}

function present(env: Readonly<Record<string, string | undefined>>): Record<string, string> {
  return Object.fromEntries(Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined));
}
