/** A tmux control-mode client on pipes: sends commands, receives replies and every byte of the panes. */
import { BuddyError } from "../../lib/errors.ts";
import { ConnectionLost, SessionGone, TmuxUnusable } from "../errors.ts";
import { floodTurns } from "../../lib/large-texts.ts";
import type { Process } from "../target.ts";
import { within } from "../../lib/waiting.ts";
import { shorten } from "../../lib/text.ts";

export interface Reply {
  readonly ok: boolean;
  readonly lines: readonly string[];
}

export interface ControlEvents {
  output(pane: string, bytes: Buffer): void;
  /** Every other notification, e.g. `%window-close @3`. */
  event(line: string): void;
  closed(why: string): void;
}

interface Pending {
  readonly resolve: (reply: Reply) => void;
  readonly reject: (error: unknown) => void;
}

const OUTPUT = Buffer.from("%output ");
const EXTENDED = Buffer.from("%extended-output ");
const PERCENT = 0x25;
const SPACE = 0x20;
const NEWLINE = 10;
const BACKSLASH = 0x5c;
const CLOSE_MS = 1000;
/** A line of the protocol is one read of a pane (some KiB); a reply is at most a pane with its whole history. */
const MAX_REPLY = 64 * 1024 * 1024;
/** Output of the start-up script. */
const MAX_PREAMBLE = 1024 * 1024;
/** What a line takes in memory beside its text. */
const LINE_BYTES = 64;
/** tmux writes a reply at once; a slow connection may need this long for a large one. */
const REPLY_MS = 120_000;
/** Requests without a reply: each event of tmux may cause one. */
const MAX_PENDING = 10_000;

export class ControlClient {
  /** Lines before the protocol began: the output of the start-up script. */
  readonly preamble: Promise<readonly string[]>;
  readonly #process: Process;
  readonly #events: ControlEvents;
  readonly #pending: Pending[] = [];
  readonly #before: string[] = [];
  readonly #gone = Promise.withResolvers<void>();
  readonly #ready = Promise.withResolvers<readonly string[]>();
  #reply: { readonly lines: string[]; readonly mark: string; readonly since: number } | undefined;
  /** Of the lines that are kept: of the reply, or of the preamble. */
  #kept = 0;
  #carry: Buffer[] = [];
  #carried = 0;
  #begun = false;
  #closed = false;
  /** tmux itself has ended, not just the connection to it. */
  #hasExited = false;
  #exitReason = "";
  #stderr = "";
  #broken = false;
  /** When anything last came from tmux. */
  lastHeard = performance.now();

  constructor(process: Process, events: ControlEvents) {
    this.#process = process;
    this.#events = events;
    this.preamble = this.#ready.promise;
    this.preamble.catch(() => {});
    void this.#pump();
    void this.#pumpErrors();
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** It was given up because what came is not tmux's protocol: another connection would not help. */
  get broken(): boolean {
    return this.#broken;
  }

  /**
   * Sends the lines in one write and returns a reply for each; `taken` gets the replies before anything that tmux sends
   * after the last of them is processed.
   */
  async send(lines: readonly string[], taken?: (replies: readonly Reply[]) => void): Promise<Reply[]> {
    if (this.#closed) throw lostError(this.#exitReason);
    if (this.#pending.length > MAX_PENDING) this.#breakOff("tmux does not answer its commands");
    if (this.#closed) throw lostError(this.#exitReason);
    const got: Reply[] = [];
    const take = (reply: Reply) => {
      if (got.push(reply) === lines.length) taken?.(got);
      return reply;
    };
    const replies = lines.map(
      () =>
        new Promise<Reply>((resolve, reject) =>
          this.#pending.push({
            resolve: (reply) => {
              try {
                resolve(take(reply));
              } catch (error) {
                reject(error);
              }
            },
            reject,
          }),
        ),
    );
    this.#process.stdin.write(`${lines.join("\n")}\n`);
    return Promise.all(replies);
  }

  /** One command that must succeed; returns the lines of its reply. */
  async ask(line: string): Promise<readonly string[]> {
    const [reply] = await this.send([line]);
    if (reply?.ok === true) return reply.lines;
    throw new BuddyError("target", `a tmux command failed: ${reply?.lines.join(" ") ?? "no reply"}`, {
      hint: `The tmux command was: ${line.slice(0, 200)}`,
    });
  }

  /** Detaches; the session stays. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#process.stdin.end();
    await within(this.#gone.promise, CLOSE_MS);
    this.#process.kill();
    this.#end("closed");
  }

  /** Gives up on a connection that does not answer. */
  abandon(why: string): void {
    this.#exitReason = why;
    this.#process.kill();
    this.#end(why);
  }

  #breakOff(why: string): void {
    this.#broken = true;
    this.abandon(why);
  }

  /** Keeps a line, and gives up if all together are too long. */
  #keep(lines: string[], text: string, limit: number): void {
    this.#kept += text.length + LINE_BYTES;
    if (this.#kept > limit) this.#breakOff("tmux sent an answer without end");
    else lines.push(text);
  }

  #end(why: string): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#reply = undefined;
    this.#carry = [];
    this.#gone.resolve();
    this.#exitReason ||= why;
    const error = lostError(why);
    for (const pending of this.#pending.splice(0)) pending.reject(error);
    this.#ready.reject(this.#refusal(why) ?? error);
    this.#events.closed(why);
  }

  /** The protocol never began, because the start-up script or tmux failed. */
  #refusal(why: string): TmuxUnusable | undefined {
    const said = this.#before.find((line) => line.startsWith("buddy-error "))?.slice("buddy-error ".length);
    if (said === undefined && (!this.#hasExited || SESSION_GONE.test(why))) return undefined;
    return new TmuxUnusable("target", `tmux cannot be used: ${inPlainWords(firstLine(said ?? why))}`, {
      hint: "Use --no-tmux to work without a pane.",
    });
  }

  async #pump(): Promise<void> {
    const turn = floodTurns();
    try {
      for await (const chunk of this.#process.stdout) {
        // What comes after it was given up belongs to the client that replaced it.
        if (this.#closed) return;
        this.lastHeard = performance.now();
        this.#take(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength));
        if (this.#closed) return;
        const wait = turn(chunk.length);
        if (wait !== undefined) await wait;
      }
    } catch (error) {
      this.#exitReason ||= String(error);
    }
    if (this.#closed) return;
    const code = await within(this.#process.exited, 200);
    this.#end(this.#exitReason || this.#stderr.trim() || `tmux client ended${code === undefined ? "" : ` (${code})`}`);
  }

  /** The start-up script reports that tmux has ended; with the key, since a captured screen could show such a line. */
  #exited(text: string): void {
    const code = text.split(" ")[2];
    this.#hasExited = true;
    this.#process.stdin.end();
    // Wait for what tmux printed on stderr, which is another pipe.
    setTimeout(() => {
      this.#end(this.#exitReason || this.#stderr.trim() || `tmux client ended (${code})`);
      this.#process.kill();
    }, 5);
  }

  async #pumpErrors(): Promise<void> {
    const decoder = new TextDecoder();
    try {
      for await (const chunk of this.#process.stderr) {
        this.#stderr = (this.#stderr + decoder.decode(chunk, { stream: true })).slice(-4096);
      }
    } catch {
      // The end of stdout is reported instead.
    }
  }

  #take(chunk: Buffer): void {
    let from = 0;
    while (!this.#closed) {
      const end = chunk.indexOf(NEWLINE, from);
      if (end < 0) break;
      if (this.#carried > 0) {
        this.#carry.push(chunk.subarray(from, end));
        const line = Buffer.concat(this.#carry);
        this.#carry = [];
        this.#carried = 0;
        this.#line(line);
      } else this.#line(chunk.subarray(from, end));
      from = end + 1;
    }
    if (from >= chunk.length || this.#closed) return;
    this.#carry.push(Buffer.from(chunk.subarray(from)));
    this.#carried += chunk.length - from;
    if (this.#carried > MAX_REPLY) this.#breakOff("tmux sent a line without end");
  }

  #line(line: Buffer): void {
    // Output stays bytes: a UTF-8 character may be split over two lines.
    if (this.#reply === undefined && line[0] === PERCENT && this.#begun) {
      if (startsWith(line, OUTPUT)) {
        const end = line.indexOf(SPACE, OUTPUT.length);
        return this.#events.output(line.toString("latin1", OUTPUT.length, end), unescape(line, end + 1));
      }
      if (startsWith(line, EXTENDED)) {
        const end = line.indexOf(SPACE, EXTENDED.length);
        const data = line.indexOf(" : ", end);
        return this.#events.output(line.toString("latin1", EXTENDED.length, end), unescape(line, data + 3));
      }
    }
    this.#text(line.toString("utf8"));
  }

  #text(text: string): void {
    if (text.startsWith("buddy-exit ") && this.#before.some((line) => line.split(" ")[1] === text.split(" ")[1])) {
      return this.#exited(text);
    }
    if (this.#reply !== undefined) {
      const end = /^%(end|error) (.*)$/.exec(text);
      if (end === null || end[2] !== this.#reply.mark) {
        this.#keep(this.#reply.lines, text, MAX_REPLY);
        if (performance.now() - this.#reply!.since > REPLY_MS) this.#breakOff("tmux sent an answer without end");
        return;
      }
      const { lines, mark } = this.#reply;
      this.#reply = undefined;
      // Flag 1: a reply to one of our commands; otherwise to the command that tmux was started with.
      if (mark.endsWith(" 1")) this.#pending.shift()?.resolve({ ok: end[1] === "end", lines });
      else if (end[1] === "error") this.#exitReason = lines.join(" ");
      else this.#ready.resolve(this.#before);
      return;
    }
    if (text.startsWith("%begin ")) {
      this.#begun = true;
      this.#kept = 0;
      this.#reply = { lines: [], mark: text.slice("%begin ".length), since: performance.now() };
    } else if (!this.#begun) this.#keep(this.#before, text, MAX_PREAMBLE);
    else {
      if (text.startsWith("%exit")) this.#exitReason ||= text.slice("%exit".length).trim() || "detached";
      this.#events.event(text);
    }
  }
}

function firstLine(text: string): string {
  const line = text.split("\n").find((one) => one.trim() !== "") ?? "it gave no reason";
  return shorten(line.trim(), 200);
}

function lostError(why: string): BuddyError {
  const Kind = SESSION_GONE.test(why) ? SessionGone : ConnectionLost;
  return new Kind("target", `the connection to tmux is gone${why === "" ? "" : `: ${why}`}`);
}

/** tmux has no error codes, only messages: this is the only place that reads them. */
const SESSION_GONE = /no (server|sessions?)|can't find session|error connecting|server exited/;

function startsWith(line: Buffer, prefix: Buffer): boolean {
  return line.length > prefix.length && line.compare(prefix, 0, prefix.length, 0, prefix.length) === 0;
}

/** `\ooo` becomes a byte; everything else is unchanged. */
function unescape(line: Buffer, from: number): Buffer {
  const first = line.indexOf(BACKSLASH, from);
  if (first < 0) return Buffer.from(line.subarray(from));
  const out = Buffer.allocUnsafe(line.length - from);
  let size = line.copy(out, 0, from, first);
  for (let at = first; at < line.length; at++) {
    const byte = line[at] as number;
    if (byte !== BACKSLASH || at + 3 >= line.length) out[size++] = byte;
    else {
      out[size++] =
        (((line[at + 1] as number) - 48) << 6) |
        (((line[at + 2] as number) - 48) << 3) |
        ((line[at + 3] as number) - 48);
      at += 3;
    }
  }
  return out.subarray(0, size);
}

/** Quotes a word for tmux's command parser, on one line. */
export function tmuxQuote(word: string): string {
  const escaped = word
    .replace(/[\\"$]/g, (char) => `\\${char}`)
    // oxlint-disable-next-line no-control-regex
    .replace(/[\0-\x1f\x7f]/g, (char) => `\\${char.charCodeAt(0).toString(8).padStart(3, "0")}`);
  return `"${escaped}"`;
}

/** A server of another version disconnects the client, which reports that the server exited. */
function inPlainWords(said: string): string {
  return /server exited unexpectedly|protocol version mismatch/.test(said)
    ? "the running server is a different version, or ended at once"
    : said;
}
