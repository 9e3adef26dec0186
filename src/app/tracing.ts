/** Keeps the trace of a run: JSON lines in a file (--trace), short lines on stderr (-vv), both without secrets. */
import { closeSync, fstatSync, openSync, writeSync } from "node:fs";
import { formatDuration } from "../lib/durations.ts";
import { BuddyError } from "../lib/errors.ts";
import { fileError, writeError } from "../lib/files.ts";
import { redactor } from "../lib/secrets/redact.ts";
import { gathered, jsonPieces } from "../lib/large-texts.ts";
import { log } from "../lib/log.ts";
import { clip, printable } from "../lib/text.ts";
import { type TraceData, type TraceKind, traceTo } from "../lib/trace.ts";
import { isRecord, mapTexts } from "../lib/values.ts";
import { VERSION } from "../lib/version.ts";

export interface TraceOptions {
  readonly file?: string | undefined;
  /** -vv */
  readonly lines: boolean;
  readonly argv: readonly string[];
  /** Texts of the command line that must never be shown. */
  readonly secrets?: readonly string[];
}

/** Version of the format of a trace file. */
export const TRACE_VERSION = 1;

let current: Trace | undefined;

/** Throws a usage error where the file cannot be written, before anything else happens. */
export function startTrace(options: TraceOptions): void {
  const trace = (current = new Trace(options));
  traceTo((kind, data) => trace.record(kind, data));
  // Also after process.exit and signals.
  process.once("exit", (code) => endTrace(code));
  trace.record("start", {
    buddy: VERSION,
    bun: Bun.version,
    system: `${process.platform} ${process.arch}`,
    argv: options.argv,
  });
}

/** Uses this filter from now on: the run knows more secrets. */
export function redactTrace(redact: (text: string) => string): void {
  current?.redactWith(redact);
}

/** Shows the lines of -vv in this way from now on: a screen with a live line writes them itself. */
export function showTraceBy(show: (line: string) => void): void {
  current?.showBy(show);
}

export function endTrace(code: number): void {
  current?.record("end", { code });
  current?.close();
  traceTo(undefined);
  current = undefined;
}

class Trace {
  readonly #file: number | undefined;
  readonly #path: string;
  readonly #lines: boolean;
  readonly #run = `${process.pid}-${Date.now().toString(36)}`;
  readonly #own: (text: string) => string;
  #redact: (text: string) => string;
  #show: (line: string) => void = (line) => log.info(line);
  #broken = false;

  constructor({ file, lines, secrets = [] }: TraceOptions) {
    const { BUDDY_API_KEY, AGENT_API_KEY } = process.env;
    this.#own = this.#redact = redactor([...secrets, BUDDY_API_KEY ?? "", AGENT_API_KEY ?? ""]);
    this.#lines = lines;
    this.#path = file ?? "";
    this.#file = file === undefined ? undefined : openForAppending(file);
  }

  redactWith(redact: (text: string) => string): void {
    this.#redact = (text) => redact(this.#own(text));
  }

  showBy(show: (line: string) => void): void {
    this.#show = show;
  }

  record(kind: TraceKind, data: TraceData): void {
    const ms = Math.round(performance.now() * 10) / 10;
    const clean = mapTexts(data, this.#redact) as TraceData;
    if (this.#lines) {
      const line = traceLine(kind, clean);
      if (line !== undefined) this.#show(`${(ms / 1000).toFixed(3).padStart(8)} ${line}`);
    }
    if (this.#file === undefined || this.#broken) return;
    const row = { v: TRACE_VERSION, ts: new Date().toISOString(), ms, run: this.#run, kind, ...clean };
    try {
      for (const piece of gathered(jsonPieces(row), ["\n"])) {
        const bytes = Buffer.from(piece);
        for (let at = 0; at < bytes.length;) at += writeSync(this.#file, bytes, at);
      }
    } catch (error) {
      // The work continues without its trace.
      this.#broken = true;
      this.#show(`buddy: warning: the trace stops here: cannot write to ${printable(this.#path)}: ${fileError(error)}`);
    }
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file);
  }
}

/** For its owner alone. Appended to: two runs may share one BUDDY_TRACE_FILE. */
function openForAppending(path: string): number {
  let file: number | undefined;
  try {
    file = openSync(path, "a", 0o600);
    if ((fstatSync(file).mode & 0o077) !== 0 && fstatSync(file).isFile() && fstatSync(file).size > 0)
      log.warn(`other users can read the trace ${printable(path)}: chmod 600 it`);
    return file;
  } catch (error) {
    throw new BuddyError("usage", `cannot write the trace to ${path}: ${writeError(error)}`, {
      hint: "Name another file with --trace or BUDDY_TRACE_FILE",
      cause: error,
    });
  }
}

/** One line of -vv; undefined for what the screen shows anyway. */
function traceLine(kind: TraceKind, data: TraceData): string | undefined {
  const text = (key: string) => printable(String(data[key] ?? ""));
  switch (kind) {
    case "start":
      return `buddy ${text("buddy")}, ${text("system")}, Bun ${text("bun")}`;
    case "request":
      return `request ${text("request")}: ${text("url")} ${text("model")}, ${text("bytes")} bytes`;
    case "headers":
      return `answer begins: status ${text("status")}${data["request_id"] ? `, request id ${text("request_id")}` : ""}`;
    case "response":
      return `response ${text("request")}: ${text("finish")}, first piece ${took(data["first_ms"])}, whole ${took(data["whole_ms"])}${tokens(data["usage"])}`;
    case "failure":
      return `failure ${text("request")}: ${text("message")}`;
    case "decision":
      return `decision: ${text("decision")} ${text("tool")} ${clip(text("title").replaceAll("\n", " "), 60)}${data["why"] ? ` (${text("why")})` : ""}`;
    case "event":
      return undefined;
    case "end":
      return `exit code ${text("code")}`;
  }
}

function took(ms: unknown): string {
  return typeof ms === "number" ? formatDuration(ms) : "?";
}

function tokens(usage: unknown): string {
  return isRecord(usage) ? `, ${String(usage["input"] ?? "?")} tokens in, ${String(usage["output"] ?? "?")} out` : "";
}
