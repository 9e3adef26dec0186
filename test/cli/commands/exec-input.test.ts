/** The prompt of a one-shot run from real descriptors: files, pipes that are silent, closed or binary, terminals. */
import { beforeAll, describe, expect, test } from "bun:test";
import { closeSync, constants, openSync, readlinkSync, truncateSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { execInput, processStdin } from "../../../src/cli/commands/exec/exec-input.ts";
import { buddyError } from "../../support/errors.ts";
import { Pty } from "../../support/pty.ts";
import { temporaryDirectory } from "../../support/temporary.ts";

const dir = temporaryDirectory();
const fifo = join(dir, "fifo");
const never = new AbortController().signal;
const NO_PROMPT = buddyError("usage", "prompt");
beforeAll(() => void Bun.spawnSync(["mkfifo", fifo]));

/** Runs with a descriptor that is closed afterwards. */
async function withFd(fd: number, work: (fd: number) => Promise<void>): Promise<void> {
  try {
    await work(fd);
  } finally {
    closeSync(fd);
  }
}

function file(content: string | Uint8Array): number {
  const path = join(dir, "file");
  writeFileSync(path, content);
  return openSync(path, "r");
}

describe("standard input", () => {
  test("a file is the prompt, or is attached to one", async () => {
    await withFd(file("  what is this?\n"), async (fd) => {
      expect(processStdin(fd).kind).toBe("file");
      expect(await execInput(undefined, processStdin(fd), never)).toEqual({ prompt: "what is this?" });
    });
    await withFd(file("data\n"), async (fd) => {
      expect(await execInput("look", processStdin(fd), never)).toEqual({ prompt: "look", attached: "data\n" });
    });
    await withFd(file(" \n"), async (fd) => {
      expect(await execInput("look", processStdin(fd), never)).toEqual({ prompt: "look" });
    });
    await withFd(file("\n"), async (fd) => {
      expect(execInput("-", processStdin(fd), never)).rejects.toThrow(NO_PROMPT);
    });
  });

  test("a pipe that stays open and silent does not hold a prompt; one with data is read to its end", async () => {
    // Open for both: the pipe has a writer that never writes.
    await withFd(openSync(fifo, constants.O_RDWR), async (fd) => {
      expect(processStdin(fd).kind).toBe("stream");
      expect(await execInput("go on", processStdin(fd), never)).toEqual({ prompt: "go on" });
    });
    const reader = openSync(fifo, constants.O_RDONLY | constants.O_NONBLOCK);
    const writer = openSync(fifo, constants.O_WRONLY);
    writeSync(writer, "piped text");
    closeSync(writer);
    await withFd(reader, async (fd) => {
      expect(await execInput("look", processStdin(fd), never)).toEqual({ prompt: "look", attached: "piped text" });
    });
  });

  test("waiting for a prompt ends with the signal", async () => {
    await withFd(openSync(fifo, constants.O_RDWR), async (fd) => {
      const stop = new AbortController();
      const waiting = execInput(undefined, processStdin(fd), stop.signal);
      stop.abort(new Error("stopped"));
      expect(waiting).rejects.toThrow("stopped");
      await waiting.catch(() => undefined);
    });
  });

  test("binary data and more than 16 MiB are refused, with what to do", async () => {
    await withFd(file(new Uint8Array([0x7f, 0x45, 0, 1])), async (fd) => {
      expect(execInput("look", processStdin(fd), never)).rejects.toThrow(buddyError("usage", "binary", "4 bytes"));
    });
    await withFd(file(new Uint8Array(600).fill(0xe9)), async (fd) => {
      expect(execInput("look", processStdin(fd), never)).rejects.toThrow(buddyError("usage", "binary"));
    });
    const path = join(dir, "large");
    writeFileSync(path, "x");
    truncateSync(path, 17 * 1024 * 1024);
    await withFd(openSync(path, "r"), async (fd) => {
      expect(execInput("look", processStdin(fd), never)).rejects.toThrow(buddyError("usage", "16 MiB"));
    });
  });

  test("a terminal is not an attachment, and without a prompt there is none; /dev/null and a closed one are nothing", async () => {
    await using pty = new Pty(["sleep", "600"]);
    const tty = openSync(readlinkSync(`/proc/${pty.pid}/fd/0`), constants.O_RDWR | constants.O_NOCTTY);
    await withFd(tty, async (fd) => {
      expect(processStdin(fd).kind).toBe("terminal");
      expect(await execInput("hi", processStdin(fd), never)).toEqual({ prompt: "hi" });
      expect(execInput(undefined, processStdin(fd), never)).rejects.toThrow(NO_PROMPT);
    });
    expect(processStdin(tty).kind).toBe("none");
    await withFd(openSync("/dev/null", "r"), async (fd) => {
      expect(processStdin(fd).kind).toBe("none");
      expect(execInput("-", processStdin(fd), never)).rejects.toThrow(NO_PROMPT);
    });
  });
});
