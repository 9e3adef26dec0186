/** The pane of the operator's tmux that buddy itself was started in: it can be captured and typed into, nothing runs in it. */
import { BuddyError } from "../../lib/errors.ts";
import { startChild } from "../../lib/start-child.ts";
import type { Pane } from "../target.ts";
import { borrowedPane } from "./borrowed-pane.ts";
import type { TmuxServer } from "./capture.ts";
import type { Reply } from "./control.ts";

/** Undefined where buddy was not started inside tmux. */
export function ownPane(env: Readonly<Record<string, string | undefined>> = process.env): Pane | undefined {
  const socket = env["TMUX"]?.split(",")[0];
  const id = env["TMUX_PANE"];
  if (!socket || !id || Bun.which("tmux") === null) return undefined;
  return borrowedPane({
    tmux: new TmuxCommands(socket),
    id,
    mayType: true,
    refusal: () =>
      new BuddyError("tool", "no command can run in the pane that buddy was started in", {
        hint: "Leave out session and pane.",
      }),
  });
}

/** One process a command: there is no control client on a server that is not buddy's. */
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
