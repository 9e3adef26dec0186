/** The words before the input line: where things happen, and how full the model's window is. */
import { clip } from "../../lib/graphemes.ts";
import { showText } from "../../policy/terminal-text.ts";
import type { ReplFacts } from "./host.ts";

/** `> `, `(ssh user@host)> `, `(4% used) (container api)> `; shorter where the line is narrow. */
export function promptText(facts: ReplFacts, columns: number): string {
  const where = place(facts);
  const percent = facts.contextLimit > 0 ? Math.round((facts.contextUsed / facts.contextLimit) * 100) : 0;
  const used = percent > 0 ? `(${Math.min(100, percent)}% used) ` : "";
  const room = Math.max(4, Math.floor(columns * 0.6));
  const full = `${used}${where}> `;
  if (Bun.stringWidth(full) <= room) return full;
  const short = `${where}> `;
  return Bun.stringWidth(short) <= room ? short : `${clip(where, room - 3)}> `;
}

function place({ target }: ReplFacts): string {
  if (target.kind === "local") return "";
  if (target.kind === "container") return `(container ${showText(target.name, { mode: "line" })})`;
  const who =
    target.user === undefined || target.host === undefined || target.name.includes("@")
      ? target.name
      : `${target.user}@${target.name}`;
  return `(ssh ${showText(who, { mode: "line" })})`;
}
