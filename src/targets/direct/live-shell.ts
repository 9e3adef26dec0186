/** One process of a direct shell: reads its pipes, finds its marks and notices its end. */
import { floodTurns } from "../../lib/large-texts.ts";
import { within } from "../../lib/waiting.ts";
import type { Recording } from "../output/recording.ts";
import type { LentProcess, Process } from "../target.ts";
import { type Mark, MarkScanner } from "../tmux/markers.ts";
import { standingRequest } from "./direct-scripts.ts";

export interface Recordings {
  readonly stdout: Recording;
  readonly stderr: Recording;
}

type End =
  | { kind: "exited"; code: number; cwd: string }
  /** The clean shell has not run it. */
  | { kind: "not-taken" }
  | Gone;

/** A promise: no more is read before it is settled. */
type Reader = (chunk: Uint8Array) => Promise<void> | undefined;

export interface Gone {
  readonly kind: "gone";
  readonly code: number;
  readonly cwd: string;
  readonly lost: boolean;
}

const LATE_CHARACTERS = 2000;
/** From the report of a shell that it ends to its end. */
const EXIT_MS = 300;
/** Large output is read in pieces of this size: with up to 256 KB the allocator held 10 MB more. */
const PIECE = 16 * 1024;

/** The process and its current command. */
export class LiveShell {
  readonly process: Process | LentProcess;
  /** In the environment of every process started from this shell. */
  readonly job: string;
  ended: Gone | undefined;
  /** The definition of the clean shell that was sent. */
  #standing: string | undefined;
  #into: Recordings | undefined;
  #tag = 0;
  #code: { code: number; cwd: string } | undefined;
  #stderrDone = false;
  #late = "";
  #end = Promise.withResolvers<End>();
  #exit: { code: number; cwd: string } | undefined;
  #released = false;
  /** Printed before the loop began (by a start-up file in BASH_ENV, say): not output of a command. */
  #before = "";
  readonly #begun: Record<"stdout" | "stderr", boolean>;

  /** `announced`: the shell marks both streams when its loop begins. */
  constructor(
    process: Process | LentProcess,
    key: string,
    job: string,
    options: { remote: boolean; announced: boolean },
  ) {
    const { remote, announced } = options;
    this.#begun = { stdout: !announced, stderr: !announced };
    this.job = job;
    this.process = process;
    const stdout = this.#reader(
      new MarkScanner(
        key,
        (bytes) => this.#text("stdout", bytes),
        (mark) => this.#stdoutMark(mark),
      ),
    );
    const stderr = this.#reader(
      new MarkScanner(
        key,
        (bytes) => this.#text("stderr", bytes),
        (mark) => this.#stderrMark(mark),
      ),
    );
    if ("listen" in process) process.listen((stream, bytes) => (stream === "stdout" ? stdout : stderr)(bytes));
    else {
      void this.#pump(process.stdout, stdout);
      // If the process did not start, stderr is ssh's own message, which buddy reports in its words.
      process.pid.then(
        () => this.#pump(process.stderr, stderr),
        () => {},
      );
    }
    // A client reports 255 for a lost connection, and the end of a container like that of a killed shell.
    void process.exited.then((code) => this.#gone(code, remote && code > 128));
  }

  get finished(): Promise<End> {
    return this.#end.promise;
  }

  /** Returns what programs left behind by earlier commands have printed since. */
  begin(tag: number, into: Recordings): string {
    this.#tag = tag;
    this.#into = into;
    this.#code = undefined;
    this.#stderrDone = false;
    this.#end = Promise.withResolvers<End>();
    if (this.ended !== undefined) this.#end.resolve(this.ended);
    const late = this.#late;
    this.#late = "";
    return late;
  }

  /** Sends a command to the clean shell. */
  ask(command: string, tag: number, standing: string): void {
    this.process.stdin.write(standingRequest(command, tag, standing === this.#standing ? undefined : standing));
    this.#standing = standing;
  }

  release(): void {
    this.#into = undefined;
    this.#released = true;
  }

  #reader(scanner: MarkScanner): Reader {
    const turn = floodTurns();
    return (chunk) => {
      if (this.#released) return undefined;
      const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
      for (let at = 0; at < bytes.length; at += PIECE) scanner.feed(bytes.subarray(at, at + PIECE));
      return turn(chunk.length);
    };
  }

  async #pump(stream: ReadableStream<Uint8Array>, read: Reader): Promise<void> {
    try {
      for await (const chunk of stream) {
        const wait = read(chunk);
        if (wait !== undefined) await wait;
        if (this.#released) return;
      }
    } catch {
      // The exit of the process reports it.
    }
  }

  #text(stream: "stdout" | "stderr", bytes: Buffer): void {
    if (!this.#begun[stream]) {
      this.#before = (this.#before + bytes.toString("utf8")).slice(-LATE_CHARACTERS);
      return;
    }
    if (this.#into !== undefined) this.#into[stream].write(bytes);
    else if (this.#late.length < LATE_CHARACTERS) this.#late += bytes.toString("utf8").slice(0, LATE_CHARACTERS);
  }

  #stdoutMark(mark: Mark): void {
    if (mark.kind === "ready") this.#begun.stdout = true;
    else if (mark.kind === "prompt" && mark.tag === this.#tag) {
      this.#code = { code: mark.code, cwd: mark.cwd };
      this.#settle();
    } else if (mark.kind === "prompt" && mark.tag === 0 && mark.id === 0) {
      this.#exit = { code: mark.code, cwd: mark.cwd };
      // What it left behind can hold up the news of its end, over ssh.
      void within(this.process.exited, EXIT_MS).then(() => this.#gone(mark.code, false));
    } else if (mark.kind === "incomplete") this.#end.resolve({ kind: "not-taken" });
  }

  #stderrMark(mark: Mark): void {
    if (mark.kind === "ready") this.#begun.stderr = true;
    else if (mark.kind === "ended" && mark.tag === this.#tag) {
      this.#stderrDone = true;
      this.#settle();
    }
  }

  #settle(): void {
    if (this.#code === undefined || !this.#stderrDone) return;
    this.#into = undefined;
    this.#end.resolve({ kind: "exited", ...this.#code });
  }

  /**
   * Waits a moment for output still in the pipes, not for their end: programs left behind keep them open. If a signal
   * ended it, only the code of the process says so: the trap of bash gets the code of the last command.
   */
  async #gone(code: number, lost: boolean): Promise<void> {
    if (this.ended !== undefined) return;
    await Bun.sleep(10);
    if (!this.#begun.stdout || !this.#begun.stderr) this.#into?.stderr.write(Buffer.from(this.#before));
    const { code: reported, cwd } = this.#exit ?? { code, cwd: "" };
    this.ended ??= { kind: "gone", code: code > 128 ? code : reported, cwd, lost: lost && this.#exit?.code !== code };
    this.#end.resolve(this.ended);
  }
}
