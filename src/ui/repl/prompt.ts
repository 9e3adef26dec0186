/** The words before the input line: where things happen, and how full the model's window is. */
import { clip } from "../../lib/text.ts";
import { showLine } from "../../policy/terminal-text.ts";
import type { ApprovalMode } from "../../policy/approvals.ts";
import type { ReplFacts } from "./host.ts";
import { clock } from "../words.ts";

/** `> `, `(ssh user@host)> `, `4% context (container api PROD)> `; shorter where the line is narrow. */
export function promptText(facts: ReplFacts, columns: number): string {
  const { name, label } = place(facts);
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

/** What is in the parentheses: the name, and what the rules call the machine. */
function place({ target }: ReplFacts): { readonly name: string; readonly label: string } {
  const label = showLine(target.label ?? "");
  return { name: showLine(placeName(target)), label };
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
