/** A session as one Markdown document. */
import { codeBlock } from "../../lib/text.ts";
import { isCommand, type ToolEntry, type Transcript, type TranscriptEntry } from "./transcript.ts";

/** In pieces, so that a long session is not in memory twice. */
export function* exportMarkdown(transcript: Transcript): Generator<string> {
  const { id, started, model, target, damaged, entries } = transcript;
  const head = [`# buddy session ${id}`, "", `- started: ${started}`, `- model: ${model}`, `- target: ${target}`];
  if (damaged > 0) head.push(`- damaged lines skipped: ${damaged}`);
  yield `${head.join("\n")}\n\n`;
  for (const entry of entries) yield `${section(entry)}\n`;
}

function section(entry: TranscriptEntry): string {
  switch (entry.kind) {
    case "prompt":
      return `## ${entry.at}: prompt\n\n${quote(entry.text)}\n`;
    case "answer":
      return [entry.reasoning && `${quote(`(reasoning) ${entry.reasoning}`)}\n`, entry.text && `${entry.text}\n`]
        .filter(Boolean)
        .join("\n");
    case "tool":
      return toolSection(entry.tool);
    case "note":
      return `${quote(`note: ${entry.text}`)}\n`;
  }
}

function toolSection(tool: ToolEntry): string {
  const facts = [tool.name, `on ${tool.where}`, summaryOf(tool), tool.approval].filter(Boolean).join(" · ");
  const proposed = tool.proposed === undefined ? "" : `# the model proposed: ${tool.proposed}\n`;
  const command = `${proposed}${isCommand(tool) ? `$ ${tool.title}` : tool.title}`;
  return `**${facts}**\n\n${codeBlock([command, tool.output].filter(Boolean).join("\n"), "text")}\n`;
}

export function summaryOf(tool: ToolEntry): string {
  return tool.exitCode === undefined ? tool.outcome : `exit code ${tool.exitCode}`;
}

function quote(text: string): string {
  return text
    .split("\n")
    .map((line) => `> ${line}`.trimEnd())
    .join("\n");
}
