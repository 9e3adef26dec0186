/** Writes docs/reliability.md: faults by kind, what buddy does, and the tests that show it, by their own names. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const ROOT = join(import.meta.dir, "..");
const PAGE = join(ROOT, "docs/reliability.md");

interface Kind {
  readonly title: string;
  /** One sentence: what buddy does. */
  readonly does: string;
  /** By file below test/: beginnings of the names of tests. */
  readonly shown: Readonly<Record<string, readonly string[]>>;
}

const INTRO = `# Reliability

Faults, what buddy does about them, and the tests that show it. The tests cause real faults: they kill processes, cut
connections, fill disks and stop servers, or leave behind what a crash does (half a line, a lock). This page is made from the names of the
tests (\`bun scripts/make-reliability.ts\`), and a test checks that it is current.

\`bun run soak\` causes all of them at once, in random order, for as long as you like: it prints its seed, its steps, and each property that
did not hold.
`;

const KINDS: readonly Kind[] = [
  {
    title: "Connections",
    does: "A lost connection is noticed at once or by a heartbeat, restored to the same machine only, and the running command is found again. A command is never run twice.",
    shown: {
      "targets/connection/reconnect.test.ts": [
        "a reset connection:",
        "a black hole",
        "no client of the lost",
        "a silent command",
      ],
      "targets/connection/ssh.test.ts": [
        "a reset is noticed",
        "several who notice it",
        "a black hole is found",
        "another machine behind",
        "what a dead buddy left",
      ],
      "targets/files/files.test.ts": ["a connection that dies in the middle"],
      "journeys/reconnect.test.ts": ["after a drop /reconnect"],
    },
  },
  {
    title: "buddy is stopped or killed",
    does: "A signal ends the run and the processes it started. After `kill -9`, session, record and changes are intact, and the pane is free for the next buddy.",
    shown: {
      "journeys/exec-signals.test.ts": [
        "%s ends it on the target",
        "%s while the model thinks",
        "the cancelled call",
        "kill -9 at the first line",
        "Ctrl-C in the terminal",
      ],
      "journeys/kept-output.test.ts": ["kill -9 while the command runs"],
      "journeys/record.test.ts": ["a run that is killed"],
      "journeys/stuck-reader.test.ts": ["a reader that does not read"],
      "session/session.test.ts": ["200 times killed", "a torn last line"],
      "audit/audit-log.test.ts": [
        "a process killed between",
        "half a line that a killed process",
        "processes that write at once",
      ],
      "changes/change-store.test.ts": ["kill -9 after a file was kept", "a line that a crash cut off"],
      "targets/tmux/several-buddies.test.ts": ["the session of a buddy that was killed"],
      "app/changes/guard-lockout.test.ts": ["kill -9 of buddy after the revert"],
      "lib/atomic-file.test.ts": ["the temporary file of a write that was killed"],
    },
  },
  {
    title: "Panes, shells and programs on the target",
    does: "Killed programs are started again or replaced, hanging ones are given up, and files of a killed tmux server are removed by a later start.",
    shown: {
      "targets/tmux/panes.test.ts": ["that are killed are made again"],
      "targets/tmux/leftovers.test.ts": [
        "only directories whose servers",
        "a server that answers stays",
        "a server that was killed",
      ],
      "targets/connection/local.test.ts": ["a script runner that was killed"],
      "targets/connection/transports.test.ts": ["what ignores TERM", "a script that hangs"],
      "targets/background/background.test.ts": [
        "kill ends the whole tree",
        "one that was killed behind our back",
        "a shell continues when",
      ],
      "targets/connection/container.test.ts": ["stopped and started again"],
    },
  },
  {
    title: "Disks",
    does: "A full or read-only disk leaves no incomplete line or file: buddy reports once what cannot be written, and writes it when there is space again.",
    shown: {
      "session/session.test.ts": ["a full disk loses no line", "a directory removed meanwhile"],
      "audit/audit-log.test.ts": ["a full disk tears no line"],
      "changes/change-store.test.ts": ["a full disk: what cannot be kept"],
      "targets/files/files.test.ts": [
        "a full disk leaves",
        "a write in place on a nearly full disk",
        "a read-only file system",
      ],
      "targets/connection/lab.test.ts": ["it has its own name, and nothing is lost"],
      "targets/output/output-store.test.ts": ["a directory that was removed meanwhile", "a file that was cut"],
      "journeys/unusable-programs.test.ts": ["a limit of the file size"],
      "journeys/flood.test.ts": ["a flood that no one reads"],
      "journeys/no-file-locks.test.ts": ["what a process left that was killed"],
    },
  },
  {
    title: "The model",
    does: "A broken or endless answer is refused or requested again, and none of its tool calls run; silence has a limit, and time in which buddy itself did not run does not count.",
    shown: {
      "model/mangled.test.ts": ["an answer that breaks off"],
      "model/faults.test.ts": [
        "%s is retried",
        "an answer of more tool calls",
        "a page without end",
        "a server that never begins",
        "cancelling reaches the socket",
        "a slow reader is not taken",
        "an error whose words never end",
      ],
      "journeys/model.test.ts": ["that is busy, then breaks off", "that calls tools wrongly"],
      "model/http/watchdog.test.ts": ["time in which this process"],
      "auth/login.test.ts": ["survives a sign-in server that is down"],
    },
  },
  {
    title: "Several buddies at once",
    does: "Each has its own pane; a session belongs to one process; all write one chain of the record.",
    shown: {
      "targets/tmux/several-buddies.test.ts": ["the second gets its own session", "five that start in the same moment"],
      "session/session.test.ts": ["a second process learns", "the key is private"],
      "auth/login.test.ts": ["8 processes × 50 refreshes"],
    },
  },
  {
    title: "One machine of many, one server of several",
    does: "A machine or server that hangs or fails is named; the others are not held up.",
    shown: {
      "journeys/fleet.test.ts": [
        "a run on thirteen machines",
        "twelve machines of different content",
        "a machine that never answers",
      ],
      "extend/mcp.test.ts": [
        "a server that hangs now",
        "one that ends during a call",
        "that gets no answer",
        "that floods",
      ],
    },
  },
  {
    title: "A change that locks you out",
    does: "It is reverted on the target automatically, unless a new connection works and you keep it.",
    shown: {
      "app/changes/guard-lockout.test.ts": [
        "rules that cut the connection",
        "rules that only keep new",
        "no answer in time",
      ],
    },
  },
  {
    title: "Everything at once",
    does: "No orphaned process, session, socket or file; no lost or duplicate entry; an intact record; bounded memory and descriptors.",
    shown: { "soak/soak.test.ts": ["two minutes of everything"] },
  },
];

/** Fails when a test that the page names is gone. */
export function reliabilityPage(): string {
  const parts = KINDS.map(({ title, does, shown }) => {
    const rows = Object.entries(shown).flatMap(([file, starts]) => {
      const tests = testsOf(readFileSync(join(ROOT, "test", file), "utf8"));
      return starts.map((start) => {
        const found = tests.find(({ name }) => name.startsWith(start));
        if (found === undefined)
          throw new Error(`test/${file} has no test whose name begins with ${JSON.stringify(start)}`);
        const name = [...found.within, found.name].join(" › ");
        return `| ${name.replaceAll("|", "\\|").replace(/%[sdij]/g, "…")} | \`test/${file}\` |`;
      });
    });
    return `## ${title}\n\n${does}\n\n| test | in |\n| --- | --- |\n${rows.join("\n")}\n`;
  });
  return [INTRO, ...parts].join("\n");
}

/** The names of its tests, and of the blocks around each: `describe` is closed at its own indentation. */
function testsOf(text: string): { readonly within: readonly string[]; readonly name: string }[] {
  const open: { readonly indent: string; readonly name: string }[] = [];
  const tests = [];
  const line = /^( *)(?:\}\);?$|(?:\w+\.)?(describe|test)\b(?:\.each\([^"]*\))?\(\s*"((?:[^"\\]|\\.)*)")/gm;
  for (const [, indent = "", kind, name = ""] of text.matchAll(line)) {
    if (kind === "describe") open.push({ indent, name: name === "%s" ? "" : name });
    else if (kind === "test") tests.push({ within: open.map((one) => one.name).filter(Boolean), name });
    else if (open.at(-1)?.indent === indent) open.pop();
  }
  return tests;
}

if (import.meta.main) writeFileSync(PAGE, reliabilityPage());
