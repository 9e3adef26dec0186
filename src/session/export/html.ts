/** A session as one self-contained HTML page: no script, nothing loaded, all text escaped. */
import { plural } from "../../lib/text.ts";
import { showText } from "../../policy/screen/terminal-text.ts";
import { isCommand, summaryOf, type ToolEntry, type Transcript, type TranscriptEntry } from "./transcript.ts";

/** In pieces, so that a long session is not in memory twice. */
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
      return `<section class="prompt">${time}<h2>${escape(firstLine(entry.text))}</h2>${rest(entry.text)}</section>`;
    case "answer": {
      const reasoning =
        entry.reasoning === ""
          ? ""
          : `<details class="reasoning"><summary>reasoning</summary><pre>${escape(entry.reasoning)}</pre></details>`;
      return `<section class="answer">${time}${reasoning}${markdown(showText(entry.text))}</section>`;
    }
    case "tool":
      return toolSection(entry.tool, time);
    case "note":
      return `<section class="note">${time}<pre>${escape(entry.text)}</pre></section>`;
  }
}

function firstLine(text: string): string {
  const line = text.trim().split("\n", 1)[0] ?? "";
  return line.length > HEADING ? `${line.slice(0, HEADING).replace(/\s+\S*$/, "")} …` : line;
}

/** The whole text, if the heading does not have all of it. */
function rest(text: string): string {
  return text.trim() === firstLine(text) ? "" : `<pre>${escape(text.trim())}</pre>`;
}

const HEADING = 120;

function toolSection(tool: ToolEntry, time: string): string {
  const approval = tool.approval === "" ? "" : `<span class="approval">${escape(tool.approval)}</span>`;
  const proposed =
    tool.proposed === undefined
      ? ""
      : `<details><summary>the model proposed something else</summary><pre>${escape(tool.proposed)}</pre></details>`;
  const command =
    tool.title === "" ? "" : `<pre class="command">${escape(isCommand(tool) ? `$ ${tool.title}` : tool.title)}</pre>`;
  const { output: text } = tool;
  const lines = text.split("\n").length;
  const output =
    text === ""
      ? ""
      : `<details${lines <= OPEN_LINES ? " open" : ""}><summary>output, ${plural(lines, "line")}</summary><pre>${escape(text)}</pre></details>`;
  return `<section class="tool${tool.ok ? "" : " failed"}">${time}<p><b>${escape(tool.name)}</b> on ${escape(tool.where)}
<span class="outcome">${escape(summaryOf(tool))}</span> ${approval}</p>
${command}${proposed}${output}</section>`;
}

const OPEN_LINES = 40;

/** Raw HTML in an answer is shown as text; links to anything but the web lead nowhere; images become links. */
function markdown(text: string): string {
  const html = Bun.markdown.html(text, { noHtmlBlocks: true, noHtmlSpans: true, tables: true, strikethrough: true });
  return (
    html
      // The page's own headings are h1 and h2: those of an answer begin at h3.
      .replace(
        /<(\/?)h([1-6])(?=[ >])/g,
        (_, end: string, level: string) => `<${end}h${Math.min(6, Number(level) + 2)}`,
      )
      .replace(/<img src="([^"]*)" alt="([^"]*)"[^>]*>/g, '<a href="$1">[image: $2]</a>')
      .replace(/<a href="(?!https?:|mailto:|#)[^"]*"/gi, '<a href="#"')
      .replaceAll("<a ", '<a rel="noreferrer" ')
  );
}

function escape(text: string): string {
  return Bun.escapeHTML(showText(text));
}

const STYLE = `
:root { color-scheme: light dark; --line: #8885; --soft: #8881; --good: #1a7f37; --bad: #cf222e; --quiet: #6b7280; }
@media (prefers-color-scheme: dark) { :root { --good: #56d364; --bad: #ff7b72; --quiet: #9ca3af; } }
body { font: 16px/1.55 system-ui, sans-serif; max-width: 58rem; margin: 0 auto; padding: 1.5rem 1rem 4rem; }
h1 { font-size: 1.4rem; margin: 0 0 .6rem; } h2 { font-size: 1.1rem; margin: 0; } h3, h4, h5, h6 { font-size: 1rem; margin: .8rem 0 .2rem; }
header { border-bottom: 2px solid var(--line); padding-bottom: .8rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem; margin: 0; } dt { color: var(--quiet); } dd { margin: 0; }
section { padding: .7rem 0; } time { float: right; margin-left: 1rem; font-size: .75rem; color: var(--quiet); }
p, li, dd, h2 { overflow-wrap: break-word; } pre, code { font: 14px/1.45 ui-monospace, SFMono-Regular, Menlo, monospace; }
pre { margin: .4rem 0; overflow-x: auto; white-space: pre-wrap; overflow-wrap: break-word; word-break: normal; }
.prompt { border-top: 1px solid var(--line); margin-top: 1rem; } .prompt h2::before { content: "> "; color: var(--good); }
.prompt pre, .command, details pre, .answer pre { background: var(--soft); padding: .5rem .7rem; border-radius: .4rem; }
.tool { border-left: 3px solid var(--good); padding: .3rem 0 .3rem .8rem; margin: .5rem 0; } .tool.failed { border-color: var(--bad); }
.tool p { margin: 0; color: var(--quiet); font-size: .85rem; } .tool b { font-weight: 500; } .command { font-weight: 600; }
.outcome, .approval { display: inline-block; border: 1px solid var(--line); border-radius: 1rem; padding: 0 .5rem; font-size: .8rem; }
.outcome { color: var(--good); } .failed .outcome { color: var(--bad); border-color: var(--bad); }
.note, .reasoning { color: var(--quiet); font-style: italic; } summary { cursor: pointer; color: var(--quiet); font-size: .85rem; }
table { border-collapse: collapse; display: block; overflow-x: auto; } td, th { border: 1px solid var(--line); padding: .2rem .6rem; }
th:not([align]) { text-align: left; }
@media print { details { display: block; } section { break-inside: avoid; } }
`;
