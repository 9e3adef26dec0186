/** How the REPL begins: with a prompt, with a session chosen from a list, in ASCII. */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { buddyBinary } from "../support/buddy.ts";
import { ReplBinary } from "../support/repl-binary.ts";
import { until } from "../support/until.ts";
import { REPL } from "../support/wording.ts";

setDefaultTimeout(60_000);

describe("buddy PROMPT", () => {
  test("starts the REPL with it", async () => {
    await using repl = new ReplBinary([{ text: "forty-two" }]);
    const pty = await repl.start({ args: ["--no-tmux", "what is the answer?"] });
    await pty.until("forty-two");
    expect(repl.prompts).toEqual(["what is the answer?"]);
  });

  test("a mistyped command is not a prompt", async () => {
    await using repl = new ReplBinary([]);
    const pty = await repl.start({ args: ["--no-tmux", "docter"] });
    await pty.until("did you mean doctor?");
  });
});

describe("saved sessions", () => {
  test("buddy resume without an id is a list; the last exchange is printed; sessions --all knows the directory", async () => {
    await using repl = new ReplBinary([{ text: "the first answer" }, { text: "the second answer" }]);
    const first = await repl.start();
    await first.until(/> *$/);
    first.type("first question\r");
    await first.until("the first answer");
    first.key("ctrl-d");
    await first.until(/buddy resume [0-9a-f]{4}-/);
    const again = await repl.start({ args: ["--no-tmux", "resume"] });
    const list = await again.until(REPL.whichSession);
    expect(list).toContain("first question");
    again.key("enter");
    const resumed = await again.until("the first answer");
    expect(resumed).toContain("> first question");
    again.type("more\r");
    await again.until("the second answer");
    again.key("ctrl-d");
    await again.exited;
    const elsewhere = join(repl.box.cwd, "elsewhere");
    mkdirSync(elsewhere);
    await until(async () => {
      const child = Bun.spawn([await buddyBinary(), "sessions", "--all"], {
        cwd: elsewhere,
        env: repl.box.env,
        stdout: "pipe",
      });
      return (await child.stdout.text()).includes("first question");
    }, "the session of the other directory");
  });
});

test("LC_ALL=C draws in ASCII only", async () => {
  await using repl = new ReplBinary([{ text: "| a | b |\n|---|---|\n| 1 | 2 |\n\n- one “quoted”\n" }]);
  const pty = await repl.start({ env: { LC_ALL: "C" } });
  await pty.until(/> *$/);
  pty.type("go\r");
  const screen = await pty.until('"quoted"');
  // oxlint-disable-next-line no-control-regex
  expect(screen).toMatch(/^[\x00-\x7f]*$/);
});
