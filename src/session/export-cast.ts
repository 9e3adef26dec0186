/**
 * A session as an asciicast (version 2), for asciinema: what the shared pane showed. The log holds when a command began
 * and ended and what it printed, but not when each line came: its output appears when it ended.
 */
import { isCommand, took, type ToolEntry, type Transcript } from "./transcript.ts";

export interface CastOptions {
  /** Makes text safe for a terminal; colours may stay. */
  readonly show: (text: string) => string;
  /** The whole output that is kept under an id; undefined where it is gone. */
  output(id: string): string | undefined;
}

export function* exportCast(transcript: Transcript, options: CastOptions): Generator<string> {
  const frames = [...castFrames(transcript, options)];
  const start = frames[0]?.at ?? (Date.parse(transcript.started) || 0);
  const width = Math.max(NARROWEST, Math.min(WIDEST, Math.max(0, ...frames.map(({ text }) => widest(text)))));
  const header = {
    version: 2,
    width,
    height: HEIGHT,
    timestamp: Math.floor(start / 1000),
    idle_time_limit: IDLE_SECONDS,
    title: `buddy session ${transcript.id} on ${transcript.target}`,
    env: { TERM: "xterm-256color", SHELL: "/bin/sh" },
  };
  yield `${JSON.stringify(header)}\n`;
  let last = 0;
  for (const { at, text } of frames) {
    // A clock that was set back must not turn the recording around.
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
  for (const entry of entries) {
    const at = Date.parse(entry.at) || 0;
    if (entry.kind === "prompt") yield { at, text: grey(`# ${show(entry.text).replaceAll("\n", "\n# ")}`) };
    if (entry.kind === "note") yield { at, text: grey(`# ${show(entry.text).replaceAll("\n", "\n# ")}`) };
    if (entry.kind !== "tool") continue;
    const { tool } = entry;
    const ended = tool.ended === undefined ? at : Date.parse(tool.ended) || at;
    if (!isCommand(tool) || !took(tool)) {
      yield { at: ended, text: grey(`# ${tool.name} (${tool.outcome}): ${show(tool.title).replaceAll("\n", "\n# ")}`) };
      continue;
    }
    const place = tool.machines.length > 0 ? tool.machines.join(",") : who || tool.where;
    const prompt = `\u001b[32m${show(place)}\u001b[0m:\u001b[34m${show(tool.cwd ?? "")}\u001b[0m$ `;
    const began = Math.max(at, ended - tool.ms);
    yield { at, text: prompt };
    yield { at: began, text: `${show(tool.title).replaceAll("\n", "\n> ")}\n` };
    const output = show(outputOf(tool, options));
    if (output !== "") yield { at: ended, text: output.endsWith("\n") ? output : `${output}\n` };
    if ((tool.exitCode ?? 0) !== 0) yield { at: ended, text: grey(`# exit code ${tool.exitCode}`) };
  }
}

/** The log keeps the beginning and the end of a long output; the whole one is stored beside it, for a while. */
function outputOf(tool: ToolEntry, { output }: CastOptions): string {
  if (tool.outputId === undefined || !tool.output.includes(`output ${tool.outputId}`)) return tool.output;
  const whole = output(tool.outputId);
  return whole === undefined ? tool.output : whole.slice(-MOST_OUTPUT);
}

function grey(text: string): string {
  return `\u001b[90m${text}\u001b[0m\n`;
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
