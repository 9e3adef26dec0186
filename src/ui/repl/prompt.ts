/** The words before the input line: where things happen, and how full the model's window is. */
import { clip } from "../../lib/text.ts";
import { showText } from "../../policy/terminal-text.ts";
import type { ApprovalMode } from "../../policy/approvals.ts";
import type { ReplFacts } from "./host.ts";
import { clock } from "../words.ts";

/** `> `, `(ssh user@host)> `, `4% context (container api)> `; shorter where the line is narrow. */
export function promptText(facts: ReplFacts, columns: number): string {
  const where = place(facts);
  const percent = facts.contextLimit > 0 ? Math.round((facts.contextUsed / facts.contextLimit) * 100) : 0;
  const used = percent > 0 ? `${Math.min(100, percent)}% context ` : "";
  const room = Math.max(4, Math.floor(columns * 0.6));
  const full = `${used}${where}> `;
  if (Bun.stringWidth(full) <= room) return full;
  const short = `${where}> `;
  return Bun.stringWidth(short) <= room ? short : `${clip(where, room - 3)}> `;
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

function place({ target }: ReplFacts): string {
  if (target.kind === "local") return "";
  if (target.kind === "container") return `(container ${showText(target.name, { mode: "line" })})`;
  if (target.kind === "via" || target.kind === "fleet") return `(${showText(target.name, { mode: "line" })})`;
  const who =
    target.user === undefined || target.host === undefined || target.name.includes("@")
      ? target.name
      : `${target.user}@${target.name}`;
  return `(ssh ${showText(who, { mode: "line" })})`;
}
