/**
 * A session as an asciicast (version 2), for asciinema: what the shared pane showed, each line when it was printed.
 * Lines without a time in the log appear when their command ended.
 */
import { isCommand, ran, ranOn, stopped, type ToolEntry, type Transcript } from "./transcript.ts";

export interface CastOptions {
  /** Makes text safe for a terminal; may leave colours. */
  readonly show: (text: string) => string;
  /** The full output with this id; undefined when it is no longer stored. */
  output(id: string): string | undefined;
}

export function* exportCast(transcript: Transcript, options: CastOptions): Generator<string> {
  // Twice, so that they need not be in memory.
  let begin: number | undefined;
  let width = NARROWEST;
  for (const { at, text } of castFrames(transcript, options)) {
    begin ??= at;
    if (width < WIDEST) width = Math.min(WIDEST, Math.max(width, widest(text)));
  }
  const start = begin ?? (Date.parse(transcript.started) || 0);
  const header = {
    version: 2,
    width,
    height: HEIGHT,
    timestamp: Math.floor(start / 1000),
    idle_time_limit: IDLE_SECONDS,
    title: options.show(`buddy session ${transcript.id} on ${transcript.target}`),
    env: { TERM: "xterm-256color", SHELL: "/bin/sh" },
  };
  yield `${JSON.stringify(header)}\n`;
  let last = 0;
  for (const { at, text } of castFrames(transcript, options)) {
    // Times must not decrease, even if the clock was set back.
    last = Math.max(last, (at - start) / 1000);
    yield `${JSON.stringify([Number(last.toFixed(6)), "o", text.replaceAll(/\r?\n/g, "\r\n")])}\n`;
  }
}

interface Frame {
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly text: string;
}

function* castFrames({ entries, who }: Transcript, options: CastOptions): Generator<Frame> {
  const { show } = options;
  const comment = (text: string): string => `\u001b[90m# ${show(text).replaceAll("\n", "\n# ")}\u001b[0m\n`;
  for (const entry of entries) {
    const at = Date.parse(entry.at) || 0;
    if (entry.kind === "prompt" || entry.kind === "note") yield { at, text: comment(entry.text) };
    if (entry.kind !== "tool") continue;
    const { tool } = entry;
    const ended = tool.ended === undefined ? at : Date.parse(tool.ended) || at;
    if (!isCommand(tool) || !ran(tool)) {
      yield {
        at: ended,
        text: comment(`${tool.name} (${stopped(tool) ?? tool.outcome}): ${tool.title || tool.output}`),
      };
      continue;
    }
    const place = tool.machines.length > 0 ? ranOn(tool).join(",") : who || tool.where;
    const prompt = `\u001b[32m${show(place)}\u001b[0m:\u001b[34m${show(tool.cwd ?? "")}\u001b[0m$ `;
    yield { at, text: prompt };
    yield { at, text: `${show(tool.title).replaceAll("\n", "\n> ")}\n` };
    yield* timed(outputOf(tool, options), tool.lines, { began: at, ended }, show);
    if ((tool.exitCode ?? 0) !== 0) yield { at: ended, text: comment(`exit code ${tool.exitCode}`) };
  }
}

/** Lines that were printed at the same time are one frame; those without a time come at the end. */
function* timed(
  { text, from }: Output,
  times: ToolEntry["lines"],
  { began, ended }: { readonly began: number; readonly ended: number },
  show: CastOptions["show"],
): Generator<Frame> {
  if (text === "") return;
  const lines = show(text).split("\n");
  if (lines.at(-1) === "") lines.pop();
  let next = 0;
  for (const [before, count] of from === undefined ? [] : times) {
    const group = lines.slice(next, Math.max(next, count - (from ?? 0)));
    next += group.length;
    if (group.length > 0) yield { at: Math.max(began, ended - before), text: `${group.join("\n")}\n` };
  }
  if (next < lines.length) yield { at: ended, text: `${lines.slice(next).join("\n")}\n` };
}

interface Output {
  readonly text: string;
  /** How many lines precede it; undefined if lines in its middle are missing. */
  readonly from: number | undefined;
}

/** The log has the beginning and the end of a long output; the full text is stored for a while. */
function outputOf(tool: ToolEntry, { output }: CastOptions): Output {
  if (!tool.outputCut) return { text: tool.output, from: 0 };
  const whole = tool.outputId === undefined ? undefined : output(tool.outputId);
  if (whole === undefined) return { text: tool.output, from: undefined };
  const cut = Math.max(0, whole.length - MOST_OUTPUT);
  return { text: whole.slice(cut), from: whole.slice(0, cut).split("\n").length - 1 };
}

function widest(text: string): number {
  return Math.max(...text.split("\n").map((line) => Bun.stringWidth(line)));
}

const NARROWEST = 80;
const WIDEST = 200;
const HEIGHT = 24;
/** Players shorten longer pauses to this. */
const IDLE_SECONDS = 2;
const MOST_OUTPUT = 512 * 1024;
