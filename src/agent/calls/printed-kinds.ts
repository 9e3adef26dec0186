/** What kind of output earlier calls printed, for calls that show it again: by its id, by its shell, or on a screen. */
import { isListing, outputKind, type OutputKind } from "../../policy/privacy/output-kind.ts";
import type { Privacy } from "../../policy/privacy/privacy.ts";
import type { Shell, Target } from "../../targets/target.ts";
import { paneFor, shellFor } from "../../tools/select-shell.ts";
import type { Tool, ToolResult } from "../../tools/tool.ts";
import type { PermitParts } from "../permit/permission.ts";
import { printing } from "../permit/permit-shell.ts";

export class PrintedKinds {
  readonly #privacy: Privacy;
  readonly #outputs = new Map<string, OutputKind>();
  /** By shell, not by name: a pane has more than one. */
  #running = new WeakMap<Shell, OutputKind>();

  constructor(privacy: Privacy) {
    this.#privacy = privacy;
  }

  forget(): void {
    this.#outputs.clear();
    this.#running = new WeakMap();
  }

  /** What a call is about to show; undefined: nothing that was printed before. */
  async kindOf(tool: Tool, input: unknown, { target, ...judging }: Parts): Promise<OutputKind | undefined> {
    if (tool.budget === "capture") return this.#privacy.screen;
    if (tool.name !== "shell_output") return undefined;
    const { shell_id, output_id, ...place } = input as Place;
    const id = output_id ?? shell_id;
    if (id === undefined) return this.#running.get(await shellFor(await target(), place));
    return this.#outputs.get(id) ?? (id === shell_id ? startedEarlier(id, await target(), judging) : undefined);
  }

  /** Machines may use the same ids: one that stood for secrets once is never ordinary again. */
  async remember(tool: Tool, input: unknown, target: Target, output: OutputKind, ran: ToolResult): Promise<void> {
    for (const id of ran.outputs ?? []) if (!isListing(this.#outputs.get(id))) this.#outputs.set(id, output);
    if (tool.name !== "run_shell" && tool.name !== "send-keys") return;
    const find = tool.name === "send-keys" ? paneFor : shellFor;
    const shell = await find(target, input as Place).catch(() => undefined);
    if (shell !== undefined) this.#running.set(shell, output);
  }
}

type Parts = Pick<PermitParts, "target" | "rules" | "judgeShell" | "maskOutput">;

/** For a background shell of another session, or from before a resume: judged by its command. */
async function startedEarlier(
  id: string,
  target: Target,
  { rules, judgeShell, maskOutput }: Omit<Parts, "target">,
): Promise<OutputKind | undefined> {
  const command = (await target.background.list()).find((shell) => shell.id === id)?.command;
  if (command === undefined) return undefined;
  const judged = await judgeShell(command, target.shell.cwd, await rules(target));
  return outputKind(printing(judged, command), maskOutput);
}

interface Place {
  readonly shell_id?: string;
  readonly output_id?: string;
  readonly session?: string;
  readonly pane?: string;
  readonly target?: string;
}
