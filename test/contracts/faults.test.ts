/** A machine that fails while a command runs: every way to run it has one right end, in time, and leaves nothing. */
import { expect, setDefaultTimeout } from "bun:test";
import { openTarget } from "../../src/targets/open.ts";
import { placeOf } from "../../src/targets/place.ts";
import type { Target } from "../../src/targets/target.ts";
import { endTmux } from "../support/end-tmux.ts";
import { type Machine, startMachine } from "../support/lab.ts";
import { needs } from "../support/needs.ts";
import { processesWith, uniqueSeconds } from "../support/processes.ts";
import { targetOptions } from "../support/target-options.ts";
import { temporaryHome } from "../support/tmux.ts";
import { until } from "../support/until.ts";

setDefaultTimeout(60_000);

const { afterAll, beforeAll, describe, test } = await needs("linux", "root", "sshd", "ip", "tmux");

/** Longer than any of them may take. */
const MOST_MS = 25_000;
const SOCKET = `buddy-faults-${process.pid}`;

/** How it ended, in a word, with its code and what it printed. */
type Way = (target: Target, command: string, signal: AbortSignal) => Promise<string>;
const inShell =
  (more: object): Way =>
  async ({ shell }, command, signal) => {
    const { outcome, output } = await shell.run(command, { signal, waitMs: MOST_MS, ...more });
    const code = outcome.kind === "exited" ? ` ${outcome.code}` : "";
    return `${outcome.kind}${code}: ${output.head.trim().split("\n").join(" ")}`;
  };
const automatic = inShell({ unasked: { inNamespace: true } });
const WAYS: Readonly<Record<string, readonly ["required" | "never", Way]>> = {
  pane: ["required", inShell({})],
  direct: ["never", inShell({})],
  "automatic in a pane": ["required", automatic],
  automatic: ["never", automatic],
  script: [
    "never",
    async ({ transport }, command, signal) => {
      const { code, stdout } = await transport.run(command, { signal, timeoutMs: MOST_MS });
      return `exited ${code}: ${stdout.toString().trim().split("\n").join(" ")}`;
    },
  ],
  background: [
    "never",
    async ({ background }, command, signal) => {
      const { id } = await background.start(command);
      const look = () => background.output(id);
      let printed = "";
      await until(async () => {
        if (signal.aborted) await background.kill(id);
        const { status, stdout } = await look();
        printed += stdout;
        return status !== "running";
      }, "it ends");
      const { status, exitCode } = await look();
      return `${status === "killed" ? "stopped" : `exited ${exitCode}`}: ${printed.trim().split("\n").join(" ")}`;
    },
  ],
};

const isRunning = (seconds: string) => processesWith(`sleep ${seconds}`).length > 0;

interface Fault {
  readonly command: (seconds: string) => string;
  /** Once it runs. */
  readonly happens: (machine: Machine, seconds: string, abort: () => void) => void;
  /** How it ends, by way. */
  readonly ends: (way: string) => RegExp;
  readonly not?: readonly string[];
}

const FAULTS: Readonly<Record<string, Fault>> = {
  "ignores every signal but KILL, and is cancelled": {
    command: (seconds) => `sh -c 'trap "" INT TERM HUP QUIT; echo begun; sleep ${seconds}; sleep ${seconds}'`,
    happens: (_machine, _seconds, abort) => abort(),
    ends: () => /^stopped/,
    // No script of buddy's own ignores signals.
    not: ["script"],
  },
  "is stopped, and cancelled": {
    command: (seconds) => `sh -c 'echo begun; sleep ${seconds}'`,
    happens: (machine, seconds, abort) => {
      machine.run(`pkill -STOP -f '^sleep ${seconds}'`);
      abort();
    },
    ends: (way) => (way === "script" ? /^cancelled$/ : /^stopped/),
  },
  "is stopped and continued": {
    command: (seconds) => `sh -c 'echo begun; sleep ${seconds}; echo after'`,
    happens: (machine, seconds) => {
      machine.run(
        `pkill -STOP -f '^sleep ${seconds}'; pkill -CONT -f '^sleep ${seconds}'; pkill -f '^sleep ${seconds}'`,
      );
    },
    ends: () => /^exited 0: begun.* after$/s,
  },
  "loses its connection": {
    command: (seconds) => `sh -c 'echo begun; sleep ${seconds}'`,
    happens: (machine, seconds) => {
      machine.run("ss -tnpH state established sport = :22 | grep -o 'pid=[0-9]*' | cut -d= -f2 | xargs kill -KILL");
      machine.run(`pkill -f '^sleep ${seconds}'; :`);
    },
    // What belongs to no session goes on without one, and is found again.
    ends: (way) => (/pane|background/.test(way) ? /^exited 143: begun/ : /^lost: begun$/),
    // A script runs once more, and what is automatic in a pane waits for its session.
    not: ["script", "automatic in a pane"],
  },
};

let machine: Machine;
let home: Disposable;
const path = process.env["PATH"];
beforeAll(async () => {
  home = temporaryHome();
  machine = await startMachine({ name: "faulty" });
  process.env["PATH"] = machine.env.PATH;
});
afterAll(async () => {
  endTmux(SOCKET, machine.sockets);
  process.env["PATH"] = path;
  await machine[Symbol.asyncDispose]();
  home[Symbol.dispose]();
});

for (const [what, fault] of Object.entries(FAULTS))
  describe(`a command that ${what}`, () => {
    test.each(Object.keys(WAYS).filter((name) => fault.not?.includes(name) !== true))("%s", async (name) => {
      const [tmux, run] = WAYS[name]!;
      const target = await openTarget(
        targetOptions({ place: placeOf({ ssh: "faulty" }), tmux, tmuxSocket: SOCKET, interactive: false }),
      );
      const seconds = uniqueSeconds();
      try {
        await target.locks.settled;
        const cancel = new AbortController();
        const began = performance.now();
        const running = run(target, fault.command(seconds), cancel.signal).catch((error: unknown) =>
          cancel.signal.aborted ? "cancelled" : `failed: ${error}`,
        );
        await until(() => machine.run(`pgrep -f '^sleep ${seconds}' || :`) !== "", "it runs");
        fault.happens(machine, seconds, () => cancel.abort());
        const ended = await running;
        expect(ended).toMatch(fault.ends(name));
        if (name !== "script") await until(() => !isRunning(seconds), "nothing is left of it");
        expect(await run(target, "echo next", new AbortController().signal)).toBe("exited 0: next");
        expect(performance.now() - began).toBeLessThan(MOST_MS + 20_000);
      } finally {
        await target[Symbol.asyncDispose]();
      }
      await until(() => !isRunning(seconds), "nothing is left of it");
    });
  });
