/** A session as a shell script to review: what ran, where and how it ended; what did not run is a comment. */
import { inQuotes } from "../../lib/quote.ts";
import {
  isCommand,
  ran,
  ranOn,
  stopped,
  summaryOf,
  type ToolEntry,
  type Transcript,
  type TranscriptEntry,
} from "./transcript.ts";

export function* exportScript(transcript: Transcript): Generator<string> {
  const { id, started, model, target, damaged, entries } = transcript;
  const head = [
    `buddy session ${id}`,
    `started ${started}, model ${model}, target ${target}`,
    ...(damaged > 0 ? [`damaged lines skipped: ${damaged}`] : []),
    "",
    "For review: read it before you run any of it. Commands are listed as they ran, each below its machine,",
    "directory and exit code. What was refused, failed to start or was stopped is a comment.",
    "Names such as ‹secret-1: password› stand for secrets, which buddy does not export.",
  ];
  yield `#!/usr/bin/env bash\n${comment(head.join("\n"))}\n`;
  const place = { machine: "", cwd: "" };
  for (const entry of entries) {
    const text = section(entry, place, transcript.who);
    if (text !== "") yield `\n${text}\n`;
  }
}

interface Place {
  machine: string;
  cwd: string;
}

function section(entry: TranscriptEntry, place: Place, who: string): string {
  switch (entry.kind) {
    case "prompt":
      return `# ── ${entry.at}\n${comment(`prompt: ${entry.text}`)}`;
    case "tool":
      return toolSection(entry.at, entry.tool, place, who);
    case "answer":
    case "note":
      return "";
  }
}

function toolSection(at: string, tool: ToolEntry, place: Place, who: string): string {
  const script = scriptOf(tool);
  if (script === undefined) return "";
  const machine = tool.machines.length > 0 ? ranOn(tool).join(", ") : [tool.where, who].filter(Boolean).join(", ");
  const facts = [at, machine, tool.cwd ?? "", summaryOf(tool), tool.approval].filter((fact) => fact !== "");
  const lines = [comment(facts.join(" · "))];
  if (tool.proposed !== undefined) lines.push(comment(`the model proposed: ${tool.proposed}`));
  const early = stopped(tool);
  if (early !== undefined && !ran(tool))
    return [...lines, comment(`${early.toUpperCase()}, so it may have had a part of its effects:\n${script}`)].join(
      "\n",
    );
  if (!ran(tool)) return [...lines, comment(`NOT RUN (${tool.outcome}):\n${script}`)].join("\n");
  if (HIDDEN.test(script)) lines.push(comment(`it contains control characters, written out here:\n${script}`));
  else {
    const moved = tool.cwd !== undefined && (tool.cwd !== place.cwd || machine !== place.machine);
    if (moved) lines.push(`cd -- ${inQuotes(tool.cwd ?? "")}`);
    if (tool.cwd !== undefined) Object.assign(place, { machine, cwd: tool.cwd });
    lines.push(script);
  }
  return lines.join("\n");
}

/** Undefined for tools that a script cannot or need not repeat. */
function scriptOf(tool: ToolEntry): string | undefined {
  if (isCommand(tool)) return tool.args["mode"] === "background" ? `{ ${tool.title}\n} &` : tool.title;
  if (tool.name === "write_file" && typeof tool.args["content"] === "string")
    return hereDocument(tool.title, tool.args["content"], tool.args["sudo"] === true);
  if (tool.name === "edit_file") return comment(`edit ${tool.title}\n${tool.output}`);
  if (tool.name === "undo") return comment(`undo of ${tool.title}\n${tool.output}`);
  if (tool.name === "send-keys") return comment(`keys typed into a pane: ${tool.title}`);
  return undefined;
}

/** Ends with a word that is not a line of the text. */
function hereDocument(path: string, content: string, sudo: boolean): string {
  let end = "EOF";
  while (content.split("\n").includes(end)) end += "_";
  const to = sudo ? `sudo tee -- ${inQuotes(path)} >/dev/null` : `cat > ${inQuotes(path)}`;
  const text = content.endsWith("\n") || content === "" ? content : `${content}\n`;
  return `${to} <<'${end}'\n${text}${end}`;
}

/** Each line as a comment, with hidden characters escaped. */
function comment(text: string): string {
  return text
    .split("\n")
    .map((line) => `# ${line.replace(EACH_HIDDEN, escaped)}`.trimEnd())
    .join("\n");
}

function escaped(char: string): string {
  return `\\u${(char.codePointAt(0) ?? 0).toString(16).padStart(4, "0")}`;
}

/** Characters that a reviewer would not see: control characters except tab and newline, and bidi controls. */
const HIDDEN = /[[\p{Cc}\p{Bidi_Control}\p{DI}\u2028\u2029\u2800]--[\t\n]]/v;
const EACH_HIDDEN = new RegExp(HIDDEN, "gv");
