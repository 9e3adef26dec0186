/** Panes in which buddy runs no commands: panes that it does not manage, and the one that it was started in. */
import { BuddyError } from "../../lib/errors.ts";
import { askProgram, startChild } from "../../lib/start-child.ts";
import type { Pane } from "../target.ts";
import { capturePane, lineBeforeCursor, sendKeys, type TmuxServer } from "./capture.ts";
import { type Reply, tmuxQuote } from "./control.ts";
import type { Environment } from "../../lib/values.ts";
import { pause } from "../../lib/waiting.ts";
import { surroundingTmux } from "../../lib/terminal.ts";

export interface UnmanagedPaneOptions {
  readonly tmux: TmuxServer;
  readonly id: string;
  readonly mayType: boolean;
  /** The error for all other calls. */
  readonly refusal: () => BuddyError;
}

/** It can be captured, and typed into if allowed. */
export function unmanagedPane({ tmux, id, mayType, refusal }: UnmanagedPaneOptions): Pane {
  const refuse = () => Promise.reject(refusal());
  return {
    kind: "tmux",
    cwd: "",
    id,
    async where() {
      const [line = ""] = await tmux.ask(`display-message -p -t ${tmuxQuote(id)} ${tmuxQuote(PLACE)}`);
      const [program = "", ...cwd] = line.split("|");
      const row = await lineBeforeCursor(tmux, id).catch(() => "");
      return { cwd: cwd.join("|"), user: "", program, pane: id, typed: "", row };
    },
    capture: (options = {}) => capturePane(tmux, id, options),
    keys: mayType
      ? async (options) => {
          await pause(options.delayMs ?? 0, options.signal);
          await sendKeys(tmux, id, options);
        }
      : refuse,
    run: refuse,
    wait: refuse,
    readOutput: refuse,
  };
}

const PLACE = "#{pane_current_command}|#{pane_current_path}";

/** The pane of the operator's tmux that buddy was started in; undefined outside tmux. */
export function ownPane(): Pane | undefined {
  const socket = surroundingTmux();
  const id = process.env["TMUX_PANE"];
  if (!socket || !id || Bun.which("tmux") === null) return undefined;
  return unmanagedPane({
    tmux: new TmuxCommands(socket),
    id,
    mayType: true,
    refusal: () =>
      new BuddyError("tool", "no command can run in the pane that buddy was started in", {
        hint: "Leave out session and pane.",
      }),
  });
}

/** One process per command: buddy has no control client on the operator's server. */
class TmuxCommands implements TmuxServer {
  readonly #socket: string;

  constructor(socket: string) {
    this.#socket = socket;
  }

  async send(lines: readonly string[]): Promise<Reply[]> {
    const replies: Reply[] = [];
    for (const line of lines) replies.push(await this.#one(line));
    return replies;
  }

  async ask(line: string): Promise<readonly string[]> {
    const { ok, lines } = await this.#one(line);
    if (ok) return lines;
    throw new BuddyError("tool", `tmux: ${lines.join(" ")}`);
  }

  async #one(line: string): Promise<Reply> {
    const child = startChild(["tmux", "-u", "-S", this.#socket, "source-file", "-"], {
      stdin: Buffer.from(`${line}\n`),
      stdout: "pipe",
      stderr: "pipe",
    });
    const [out, err, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
    const text = code === 0 ? out : err || out;
    return { ok: code === 0, lines: text.replace(/\n$/, "").split("\n") };
  }
}

/** Throws if buddy was started inside a pane that it manages: it would type into itself. */
export async function insideManagedPane(env: Environment = process.env): Promise<void> {
  const socket = surroundingTmux(env);
  const pane = env["TMUX_PANE"];
  const tmux = Bun.which("tmux");
  if (!socket || !pane || tmux === null) return;
  const question = ["-S", socket, "display-message", "-p", "-t", pane, "#{@buddy_pane}"];
  // A server that does not answer must not prevent the start.
  if (askProgram([tmux, ...question], { timeoutMs: 2_000 }).stdout.trim() === "") return;
  throw new BuddyError("target", "buddy was started inside the pane that it works in", {
    hint: "Start it in another terminal or tmux pane, or use --no-tmux.",
  });
}
