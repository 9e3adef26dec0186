/** Exports a stored session: as a transcript, a script, a recording, a runbook. */
import { jsonText } from "../lib/output.ts";
import { BuddyError } from "../lib/errors.ts";
import {
  exportMarkdown,
  readTranscript,
  type ToolEntry,
  type Transcript,
  type TranscriptEntry,
} from "../session/export/transcript.ts";
import { outputsDirectory } from "../session/outputs.ts";
import type { SessionOutputs } from "../targets/output/session-outputs.ts";

export type ExportFormat = "markdown" | "html" | "json" | "script" | "cast" | "runbook";

/** In pieces, so that a long session is not in memory twice. */
export async function exportSession(
  session: { readonly path: string; readonly id: string },
  format: ExportFormat,
  stateDirectory: string | undefined,
): Promise<Iterable<string>> {
  const transcript = readTranscript(session.path, session.id);
  switch (format) {
    case "json":
      return exportJson(transcript);
    case "markdown":
      return exportMarkdown(await readable(transcript));
    case "html":
      return (await import("../session/export/html.ts")).exportHtml(await readable(transcript));
    case "script":
      return (await import("../session/export/script.ts")).exportScript(transcript);
    case "runbook":
      return [(await import("../session/export/runbook.ts")).exportRunbook(await readable(transcript))];
    case "cast": {
      const { exportCast } = await import("../session/export/cast.ts");
      const { showText } = await import("../policy/screen/terminal-text.ts");
      const output = await keptOutputs(session.id, stateDirectory);
      return exportCast(transcript, { show: (text) => showText(text, { color: true }), output });
    }
  }
}

/**
 * Safe to read in a terminal, an editor or a browser: in commands and names, invisible characters are written out as in
 * a question; other text loses its control sequences.
 */
async function readable(transcript: Transcript): Promise<Transcript> {
  const { showLine, showText } = await import("../policy/screen/terminal-text.ts");
  const unlessPlain = (text: string, show: (text: string) => string): string =>
    /[^\n\t\x20-\x7e]/.test(text) ? show(text) : text;
  const prose = (text: string) => unlessPlain(text, (one) => showText(one, { maxLine: Infinity }));
  const command = (text: string) => unlessPlain(text, (one) => showText(one, { mode: "command" }));
  const entry = (one: TranscriptEntry): TranscriptEntry => {
    if (one.kind === "answer") return { ...one, text: prose(one.text), reasoning: prose(one.reasoning) };
    if (one.kind !== "tool") return { ...one, text: prose(one.text) };
    const { tool } = one;
    const words = {
      name: showLine(tool.name),
      where: showLine(tool.where),
      outcome: showLine(tool.outcome),
      approval: showLine(tool.approval),
      title: command(tool.title),
      proposed: tool.proposed === undefined ? undefined : command(tool.proposed),
    };
    // Not a copy: its output is read when it is asked for.
    const shown: ToolEntry = Object.assign(Object.create(tool), words);
    return { ...one, tool: Object.defineProperty(shown, "output", { get: () => prose(tool.output) }) };
  };
  const { model, target, who, entries } = transcript;
  const about = { model: showLine(model), target: showLine(target), who: showLine(who) };
  const shown = {
    *[Symbol.iterator]() {
      for (const one of entries) yield entry(one);
    },
  };
  return { ...transcript, ...about, entries: shown };
}

function* exportJson({ entries, ...about }: Transcript): Generator<string> {
  yield `${jsonText(about, 2).slice(0, -"\n}\n".length)},\n  "entries": [`;
  let count = 0;
  for (const entry of entries)
    yield `${count++ === 0 ? "" : ","}\n${jsonText(entry, 2).trimEnd().replace(/^/gm, "    ")}`;
  yield `${count === 0 ? "" : "\n  "}]\n}\n`;
}

/** Reads the full outputs kept with a session. */
async function keptOutputs(id: string, state: string | undefined): Promise<(output: string) => string | undefined> {
  if (state === undefined) return () => undefined;
  const kept = await savedOutputs(state, id);
  return (output) => {
    const text = kept.find(output);
    if (text === undefined || text.totalBytes === 0) return undefined;
    return text.read({ offset: Math.max(0, text.totalBytes - MOST_READ), limit: MOST_READ }).text;
  };
}

const MOST_READ = 512 * 1024;

async function savedOutputs(state: string | undefined, session: string): Promise<SessionOutputs> {
  const { SessionOutputs } = await import("../targets/output/session-outputs.ts");
  return new SessionOutputs({
    directory: state === undefined ? undefined : outputsDirectory(state, session),
    prepare: () => {},
    temporary: () => "",
    hide: () => (text) => text,
    failed: () => {},
    segmentBytes: 1 << 30,
    maxBytes: Infinity,
  });
}

/** What a command of a session printed, in full; without an id: the ids there are, one per line. */
export async function storedOutputs(state: string | undefined, session: string, output?: string) {
  return outputPieces(await savedOutputs(state, session), session, output);
}

function* outputPieces(outputs: SessionOutputs, session: string, output?: string): Generator<string> {
  const ids = outputs.ids();
  if (output === undefined) {
    if (ids.length === 0) yield "no output of this session was kept\n";
    for (const id of ids) yield `${id}\n`;
    return;
  }
  if (!ids.includes(output))
    throw new BuddyError("usage", `session ${session} has no output "${output}"`, {
      hint: ids.length === 0 ? "none are kept" : `buddy sessions output ${session} lists them`,
    });
  try {
    for (let offset = 0; ;) {
      const page = outputs.find(output)?.read({ offset });
      if (page === undefined) return;
      yield page.text;
      if (page.done || page.nextOffset <= offset) return;
      offset = page.nextOffset;
    }
  } finally {
    outputs.close();
  }
}
