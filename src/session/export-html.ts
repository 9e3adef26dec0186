/** A session as one self-contained HTML page: no script, nothing loaded from anywhere, everything foreign escaped. */
import { summaryOf } from "./export-markdown.ts";
import type { ToolEntry, Transcript, TranscriptEntry } from "./transcript.ts";

/** In pieces: a long session must not stand in memory twice. */
export function* exportHtml(transcript: Transcript): Generator<string> {
  const { id, started, model, target, damaged, entries } = transcript;
  const facts = [
    ["started", `${started.slice(0, 19).replace("T", " ")} UTC`],
    ["model", model],
    ["target", target],
    ...(damaged > 0 ? [["damaged lines skipped", String(damaged)]] : []),
  ];
  yield `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>buddy session ${escape(id)}</title>
<style>${STYLE}</style>
</head>
<body>
<header>
<h1>buddy session <code>${escape(id)}</code></h1>
<dl>${facts.map(([name = "", value = ""]) => `<dt>${escape(name)}</dt><dd>${escape(value)}</dd>`).join("")}</dl>
</header>
<main>
`;
  for (const entry of entries) yield `${section(entry)}\n`;
  yield "</main>\n</body>\n</html>\n";
}

function section(entry: TranscriptEntry): string {
  const time = `<time datetime="${escape(entry.at)}">${escape(entry.at.slice(0, 19).replace("T", " "))}</time>`;
  switch (entry.kind) {
    case "prompt":
      return `<section class="prompt">${time}<pre>${escape(entry.text)}</pre></section>`;
    case "answer": {
      const reasoning =
        entry.reasoning === ""
          ? ""
          : `<details class="reasoning"><summary>reasoning</summary><pre>${escape(entry.reasoning)}</pre></details>`;
      return `<section class="answer">${time}${reasoning}${markdown(entry.text)}</section>`;
    }
    case "tool":
      return toolSection(entry.tool, time);
    case "note":
      return `<section class="note">${time}<pre>${escape(entry.text)}</pre></section>`;
  }
}

function toolSection(tool: ToolEntry, time: string): string {
  const approval = tool.approval === "" ? "" : `<span class="approval">${escape(tool.approval)}</span>`;
  const lines = tool.output.split("\n").length;
  const output =
    tool.output === ""
      ? ""
      : `<details${lines <= OPEN_LINES ? " open" : ""}><summary>output, ${lines} line${lines === 1 ? "" : "s"}</summary><pre>${escape(tool.output)}</pre></details>`;
  return `<section class="tool${tool.ok ? "" : " failed"}">${time}<p><b>${escape(tool.name)}</b> on ${escape(tool.where)}
<span class="outcome">${escape(summaryOf(tool))}</span> ${approval}</p>
<pre class="command">${escape(tool.name === "run_shell" ? `$ ${tool.title}` : tool.title)}</pre>${output}</section>`;
}

const OPEN_LINES = 40;

/** Raw HTML in an answer is shown as text; a link leads to the web or nowhere; pictures would be loaded, so they become links. */
function markdown(text: string): string {
  const html = Bun.markdown.html(text, { noHtmlBlocks: true, noHtmlSpans: true, tables: true, strikethrough: true });
  return html
    .replace(/<img src="([^"]*)" alt="([^"]*)"[^>]*>/g, '<a href="$1">[picture: $2]</a>')
    .replace(/<a href="(?!https?:|mailto:|#)[^"]*"/gi, '<a href="#"')
    .replaceAll("<a ", '<a rel="noreferrer" ');
}

function escape(text: string): string {
  return Bun.escapeHTML(text.replace(/[^\P{Cc}\n\t]/gu, "\u{fffd}"));
}

const STYLE = `
:root { color-scheme: light dark; --line: #8884; --soft: #8881; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 0 auto; padding: 1rem; }
h1 { font-size: 1.3rem; } dl { display: grid; grid-template-columns: max-content 1fr; gap: 0 1rem; } dt { opacity: .7; } dd { margin: 0; }
section { border-top: 1px solid var(--line); padding: .6rem 0; overflow-wrap: anywhere; } time { float: right; font-size: .75rem; opacity: .6; }
pre, code { font: 14px/1.45 ui-monospace, monospace; } pre { white-space: pre-wrap; margin: .3rem 0; }
.prompt pre { font: inherit; font-weight: 600; } .prompt pre::before { content: "> "; color: #2a2; }
.command, details pre, .answer pre { background: var(--soft); padding: .5rem; border-radius: .3rem; }
.tool p { margin: 0; } .outcome, .approval { border: 1px solid var(--line); border-radius: .3rem; padding: 0 .3rem; font-size: .85rem; }
.failed .outcome { color: #c22; border-color: #c22; } .note, .reasoning { opacity: .8; font-style: italic; }
table { border-collapse: collapse; } td, th { border: 1px solid var(--line); padding: .2rem .5rem; }
`;
