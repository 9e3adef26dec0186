/** What earlier calls printed, for calls that look at it again: an output by its id, a running command, a screen. */
import { isListing, type OutputKind } from "../policy/output-kind.ts";
import type { Privacy } from "../policy/privacy.ts";
import type { Shell, Target } from "../targets/target.ts";
import { paneFor, shellFor } from "../tools/select-shell.ts";
import type { Tool, ToolResult } from "../tools/tool.ts";

export class PrintedKinds {
  readonly #privacy: Privacy;
  readonly #outputs = new Map<string, OutputKind>();
  /** By the shell itself: a pane has more than one name. */
  #running = new WeakMap<Shell, OutputKind>();

  constructor(privacy: Privacy) {
    this.#privacy = privacy;
  }

  forget(): void {
    this.#outputs.clear();
    this.#running = new WeakMap();
  }

  /** What a call is going to read; undefined: it looks at nothing that was printed. */
  async read(tool: Tool, input: unknown, target: () => Promise<Target>): Promise<OutputKind | undefined> {
    if (tool.budget === "capture") return this.#privacy.screen;
    if (tool.name !== "shell_output") return undefined;
    const { shell_id, output_id, ...place } = input as Looked;
    const id = output_id ?? shell_id;
    return id === undefined ? this.#running.get(await shellFor(await target(), place)) : this.#outputs.get(id);
  }

  /** What was printed where. Ids of several machines may be the same: none becomes harmless again. */
  async printed(tool: Tool, input: unknown, target: Target, output: OutputKind, ran: ToolResult): Promise<void> {
    for (const id of ran.outputs ?? []) if (!isListing(this.#outputs.get(id))) this.#outputs.set(id, output);
    if (tool.name !== "run_shell" && tool.name !== "send-keys") return;
    const find = tool.name === "send-keys" ? paneFor : shellFor;
    const shell = await find(target, input as Looked).catch(() => undefined);
    if (shell !== undefined) this.#running.set(shell, output);
  }
}

interface Looked {
  readonly shell_id?: string;
  readonly output_id?: string;
  readonly session?: string;
  readonly pane?: string;
  readonly target?: string;
}
