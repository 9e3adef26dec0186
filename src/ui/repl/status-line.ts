/** The live line above the input (which task, what it is doing, for how long, its tokens), and the prompt. */
import type { AgentEvent } from "../../agent/events.ts";
import type { Task } from "../../agent/tasks.ts";
import { clip } from "../../lib/text.ts";
import type { ApprovalMode } from "../../policy/approvals.ts";
import { showLine } from "../../policy/screen/terminal-text.ts";
import type { Theme } from "../theme.ts";
import { clock, compactNumber, oneLine, spinnerFrame } from "../words.ts";
import type { ReplFacts } from "./host.ts";

/** What a task is doing now, kept up to date from its events. */
export class Activity {
  #tools = new Map<string, string>();
  #doing = "thinking";
  #retryAt = 0;
  #input = 0;
  #output = 0;
  /** Characters streamed since the last usage report; about four make a token. */
  #streamed = 0;
  #asking = 0;
  /** While the connection to the target is down. */
  #lostAt: number | undefined;

  event(event: AgentEvent): void {
    switch (event.type) {
      case "text":
        this.#doing = "writing";
        this.#streamed += event.delta.length;
        return;
      case "reasoning":
        this.#doing = "thinking";
        this.#streamed += event.delta.length;
        return;
      case "tool_started":
        this.#tools.set(event.call, event.tool);
        return;
      case "tool_finished":
        this.#tools.delete(event.call);
        this.#doing = "thinking";
        return;
      case "approval_asked":
        this.#asking++;
        return;
      case "approval_answered":
        this.#asking = Math.max(0, this.#asking - 1);
        return;
      case "usage":
        this.#input += event.input;
        this.#output += event.output;
        this.#streamed = 0;
        return;
      case "notice":
        if (event.machine !== undefined) return;
        if (event.kind === "reconnecting") this.#lostAt = Date.now();
        else if (event.kind === "reconnected" || event.kind === "warning") this.#lostAt = undefined;
        return;
      case "retry":
        this.#retryAt = Date.now() + event.wait_ms;
        return;
      default:
    }
  }

  state(now: number): string {
    if (this.#asking > 0) return "waiting for approval";
    if (now < this.#retryAt) return `retrying in ${Math.ceil((this.#retryAt - now) / 1000)}s`;
    if (this.#lostAt !== undefined && this.#tools.size > 0)
      return `reconnecting for ${clock(now - this.#lostAt)}, what runs there continues`;
    const tools = [...this.#tools.values()].map(oneLine);
    if (tools.length === 1) return `running ${tools[0] === "you" ? "your command" : tools[0]}`;
    return tools.length > 1 ? `running ${tools.length} tools` : this.#doing;
  }

  get asking(): boolean {
    return this.#asking > 0;
  }

  tokens(): string {
    const output = this.#output + Math.round(this.#streamed / 4);
    if (this.#input + output === 0) return "";
    return `${this.#input > 0 ? `↑${compactNumber(this.#input)} ` : ""}↓${compactNumber(output)}`;
  }
}

interface StatusLineParts {
  readonly task: Task;
  readonly activity: Activity;
  readonly queued: number;
  /** What the rules call the machine. */
  readonly label?: string | undefined;
}

export function statusLine(
  { task, activity, queued, label }: StatusLineParts,
  columns: number,
  now: number,
  style: Theme,
): string {
  const startedAt = task.state.kind === "running" || task.state.kind === "stopping" ? task.state.startedAt : now;
  const state = task.state.kind === "stopping" ? "stopping" : activity.state(now);
  const elapsed = now - startedAt;
  const frame = activity.asking ? "?" : spinnerFrame(now);
  const left = task.deadline === undefined ? "" : `limit in ${clock(Math.max(0, task.deadline - now))}`;
  const waiting = queued === 0 ? "" : `${queued} queued`;
  // In the order in which they are left out when the line is narrow: the last one first.
  const machine = label === undefined ? "" : oneLine(label);
  const parts = [machine, `task ${task.id}`, state, clock(elapsed), waiting, left, activity.tokens(), "Ctrl-C stops"];
  let shown = parts.filter((part) => part !== "");
  while (shown.length > 3 && Bun.stringWidth(shown.join(" · ")) + 2 > columns) shown = shown.slice(0, -1);
  return clip(`${style.toolName(frame)} ${style.grey(shown.join(" · "))}`, columns);
}

/** `> `, `(ssh user@host)> `, `4% context (container api PROD)> `; shorter where the line is narrow. */
export function promptText(facts: ReplFacts, columns: number): string {
  const lost = facts.target.lostAt === undefined ? "" : "reconnecting ";
  const [name, label] = [`${lost}${showLine(placeName(facts.target))}`, showLine(facts.target.label ?? "")];
  const inside = (text: string): string => {
    const words = [text, label].filter((part) => part !== "").join(" ");
    return words === "" ? "" : `(${words})`;
  };
  const where = inside(name);
  const percent = facts.contextLimit > 0 ? Math.round((facts.contextUsed / facts.contextLimit) * 100) : 0;
  const used = percent > 0 ? `${Math.min(100, percent)}% context ` : "";
  const room = Math.max(4, Math.floor(columns * 0.6));
  const full = `${used}${where}> `;
  if (Bun.stringWidth(full) <= room) return full;
  const short = `${where}> `;
  if (Bun.stringWidth(short) <= room) return short;
  // The label is the last thing to go.
  const left = room - Bun.stringWidth(label) - 5;
  return label !== "" && left >= 4
    ? `${inside(clip(name, left))}> `
    : `${clip(label === "" ? where : inside(""), room - 3)}> `;
}

/** How approvals are decided, where buddy does not ask: `[auto 4m32s]`, `[auto]`, `[deny]`. */
export function approvalBadge(mode: ApprovalMode, now: number): string {
  switch (mode.kind) {
    case "ask":
      return "";
    case "all":
      return "[auto]";
    case "none":
      return "[deny]";
    case "until":
      return `[auto ${clock(Math.max(0, mode.at - now))}]`;
  }
}

function placeName(target: ReplFacts["target"]): string {
  switch (target.kind) {
    case "local":
      return target.label === undefined ? "" : "local";
    case "container":
      return `container ${target.name}`;
    case "via":
    case "fleet":
      return target.name;
    case "ssh":
      return target.user === undefined || target.host === undefined || target.name.includes("@")
        ? `ssh ${target.name}`
        : `ssh ${target.user}@${target.name}`;
  }
}
