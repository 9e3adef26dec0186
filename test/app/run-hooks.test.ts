import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync, renameSync } from "node:fs";
import { dirname, join } from "node:path";
import { readRecord } from "../../src/audit/record-files.ts";
import { quote } from "../../src/lib/quote.ts";
import { isAlive } from "../../src/lib/processes.ts";
import { localMachine } from "../../src/targets/connection/identity.ts";
import { drain, ofType } from "../support/agent.ts";
import { call, shell } from "../support/calls.ts";
import { blocks } from "../support/documentation.ts";
import { Here } from "../support/in-process.ts";
import { needs } from "../support/needs.ts";
import { until } from "../support/until.ts";

const needed = await needs("jq", "curl");

const CHANGE = { risk: "medium", mutation: true };
const YES = { answer: () => ({ kind: "yes" }) as const };
const DONE = { text: "done" };

/** A [[hooks]] table whose program is this script. */
function hook(on: string, script: string, more = ""): string {
  return `[[hooks]]\non = "${on}"\ncommand = ["sh", "-c", ${JSON.stringify(script)}]\n${more}\n`;
}

function outcomes(events: Parameters<typeof ofType>[0]): string[] {
  return ofType(events, "tool_finished").map(({ outcome }) => outcome);
}

function events(here: Here, name: string): Record<string, unknown>[] {
  const path = join(here.dir, name);
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, "utf8").split("\n").slice(0, -1);
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
}

describe("a before-tool hook", () => {
  test("denies with its words, and nothing runs", async () => {
    await using here = new Here([shell("touch a", CHANGE), DONE], {
      ...YES,
      config: hook("before-tool", "echo no ticket; exit 2"),
    });
    const { events, results } = await here.turn();
    expect(outcomes(events)).toEqual(["denied"]);
    expect(results[0]).toContain("no ticket");
    expect(here.asked).toEqual([]);
    expect(existsSync(join(here.cwd, "a"))).toBe(false);
    const decisions = [...readRecord(join(here.home, ".local/state/buddy"))];
    expect(decisions).toMatchObject([{ decision: "denied", by: "hook", action: "touch a" }]);
  });

  test("sees an edited command also where the shell has moved meanwhile; the model hears of the edit", async () => {
    let moved = 0;
    const script = `case $(cat) in *'"touch b"'*) echo not b; exit 2 ;; esac`;
    const edited = (command: string) => ({ kind: "edit", command }) as const;
    await using here = new Here([shell("touch a", CHANGE), shell("touch a", CHANGE), DONE], {
      answer: ({ action, cwd = "" }) => {
        if (action !== "touch a") return { kind: "yes" };
        renameSync(cwd, `${cwd}${++moved}`);
        return edited(moved === 1 ? "touch b" : "touch c");
      },
      config: hook("before-tool", script),
    });
    const sub = here.write("cwd/sub/x", "");
    const run = await here.compose();
    const direct = (await run.target.get()).shell;
    await direct.run(`cd ${quote(dirname(sub))}`);
    const ended = await drain(run.agent.runTurn("do it", new AbortController().signal));
    expect(here.asked.map(({ action }) => action)).toEqual(["touch a", "touch b", "touch a", "touch c"]);
    expect(outcomes(ended)).toEqual(["denied", "exited"]);
    expect(here.results()[0]).toContain("not b");
    expect(here.results()[1]).toContain("touch c");
    const recorded = [...readRecord(join(here.home, ".local/state/buddy"))];
    expect(recorded.at(-2)).toMatchObject({ decision: "approved" });
  });

  test("has no objection with exit code 0, and approves nothing by it", async () => {
    await using here = new Here([shell("touch a", CHANGE), shell("rm -rf /", CHANGE), DONE], {
      answer: () => ({ kind: "no" }),
      config: hook("before-tool", 'echo \'{"decision":"approve"}\'; exit 0'),
    });
    const { events } = await here.turn();
    expect(outcomes(events)).toEqual(["denied", "denied"]);
    expect(here.asked).toHaveLength(1);
  });

  test("adds a question to what would run without one", async () => {
    await using here = new Here([shell("pwd"), shell("pwd"), DONE], {
      answer: () => (here.asked.length === 1 ? { kind: "yes" } : { kind: "no" }),
      config: hook("before-tool", "echo is the change window open?; exit 3"),
    });
    const { events } = await here.turn();
    expect(outcomes(events)).toEqual(["exited", "denied"]);
    expect(here.asked[0]?.policy).toContain("is the change window open?");
  });

  test("its question is part of the one that is asked anyway, and no approval mode answers it", async () => {
    await using here = new Here([shell("touch a", CHANGE), DONE], {
      ...YES,
      config: hook("before-tool", "echo sure?; exit 3"),
    });
    await here.turn({ "no-tmux": true, approve: "all" });
    expect(here.asked).toHaveLength(1);
    expect(here.asked[0]).toMatchObject({ policy: expect.stringContaining("sure?"), answer: "in-person" });
    expect(existsSync(join(here.cwd, "a"))).toBe(true);
  });

  test.each([
    ["fails", "echo broken >&2; exit 1", "broken"],
    ["hangs", "sleep 1000", "did not end within"],
    ["kills itself", "kill -9 $$", "SIGKILL"],
  ])("that %s denies the call, and that is shown", async (_, script, words) => {
    await using here = new Here([shell("pwd"), DONE], { config: hook("before-tool", script, 'timeout = "300ms"') });
    const { events, results } = await here.turn();
    expect(outcomes(events)).toEqual(["denied"]);
    expect(results[0]).toContain(words);
    expect(ofType(events, "warning").map(({ message }) => message)).toEqual([expect.stringContaining(words)]);
  });

  test("that does not exist denies the call", async () => {
    const config = '[[hooks]]\non = "before-tool"\ncommand = ["/nowhere/at-all"]';
    await using here = new Here([shell("pwd"), DONE], { config });
    const { events, results } = await here.turn();
    expect(outcomes(events)).toEqual(["denied"]);
    expect(results[0]).toContain("at-all cannot be started: it does not exist");
  });

  test("that hangs ends with all it has started", async () => {
    const script = "sleep 1000 & echo $! > $HOME/../pid; wait";
    await using here = new Here([shell("pwd"), DONE], { config: hook("before-tool", script, 'timeout = "300ms"') });
    await here.turn();
    const pid = Number(here.read("pid"));
    await until(() => !isAlive(pid), "the end of what the hook started");
  });

  test("that prints without end is cut off, not waited for", async () => {
    const script = "yes no | head -c 3000000; exit 2";
    await using here = new Here([shell("pwd"), DONE], { config: hook("before-tool", script) });
    const { results } = await here.turn();
    expect(String(results[0]).length).toBeLessThan(2000);
  });

  test("whose child holds its output open does not hold up the call", async () => {
    const script = "(sleep 1000 & echo $! > $HOME/../pid) ; exit 0";
    await using here = new Here([shell("pwd"), DONE], { config: hook("before-tool", script, 'timeout = "60s"') });
    const { events } = await here.turn();
    expect(outcomes(events)).toEqual(["exited"]);
    process.kill(Number(here.read("pid")));
  });

  test("learns of the call and the machine, without values of secrets", async () => {
    const key = ["AKIA", "QX7ZLM2TPN4RWB6D"].join("");
    const config = hook("before-tool", "cat >> $HOME/../heard");
    await using here = new Here([shell(`touch a # ${key}`, CHANGE), DONE], { ...YES, config });
    const { run } = await here.turn();
    const [heard] = events(here, "heard");
    const { identity } = run.target.opened!;
    expect(heard).toMatchObject({
      event: "before-tool",
      session: run.sessions.id,
      tool: "run_shell",
      machine: { target: "local", user: identity.user, host: identity.host, id: identity.machine },
      input: { risk: "medium", mutation: true },
    });
    expect(here.read("heard")).not.toContain(key);
  });

  test("learns of the command as the operator changed it, too", async () => {
    await using here = new Here([shell("touch a", CHANGE), DONE], {
      answer: () => ({ kind: "edit", command: "touch forbidden" }),
      config: hook("before-tool", "! grep -q forbidden || { echo not that; exit 2; }"),
    });
    const { events, results } = await here.turn();
    expect(outcomes(events)).toEqual(["denied"]);
    expect(results[0]).toContain("not that");
    expect(existsSync(join(here.cwd, "forbidden"))).toBe(false);
  });

  test("is for the tools and machines it names", async () => {
    await using here = new Here([call("write_file", { path: "a", content: "x" }), shell("pwd"), DONE], {
      ...YES,
      config:
        hook("before-tool", "exit 2", 'match = "*_file"') +
        hook("before-tool", "exit 2", 'machine = ["prod*", "PROD"]'),
    });
    const { events } = await here.turn();
    expect(outcomes(events)).toEqual(["denied", "exited"]);
  });

  test("denies the call on one machine of several, and the others run it", async () => {
    const targets = '[targets.a]\nvia = ["env", "A=1"]\n[targets.b]\nvia = ["env", "B=1"]\n';
    const config = `${targets}${hook("before-tool", "echo not there; exit 2", 'machine = "a"')}`;
    await using here = new Here([shell("touch made", CHANGE), DONE], { ...YES, config });
    const { events } = await here.turn({ "no-tmux": true, on: "a,b" });
    const [finished] = ofType(events, "tool_finished");
    expect(finished?.machines?.map(({ machine, outcome }) => [machine, outcome])).toEqual([
      ["a", "denied"],
      ["b", "exited"],
    ]);
    expect(existsSync(join(here.cwd, "made"))).toBe(true);
  });

  test("is for a label that hangs on what only the machine reports", async () => {
    const config = `${hook("before-tool", "exit 2", 'machine = "PROD"')}[rules."${localMachine()}"]\nlabel = "PROD"`;
    await using here = new Here([shell("pwd"), DONE], { config });
    expect(outcomes((await here.turn()).events)).toEqual(["denied"]);
  });

  test("that is named by a relative path is beside the configuration, and not in the working directory", async () => {
    const config = '[[hooks]]\non = "before-tool"\ncommand = ["./deny"]';
    await using here = new Here([shell("pwd"), DONE], { config });
    here.write("cwd/deny", "#!/bin/sh\nexit 0\n", 0o755);
    here.write("home/.config/buddy/deny", "#!/bin/sh\nexit 2\n", 0o755);
    expect(outcomes((await here.turn()).events)).toEqual(["denied"]);
  });

  test("gets no key of buddy's", async () => {
    const config = hook("before-tool", "env > $HOME/../env");
    await using here = new Here([shell("pwd"), DONE], { config });
    process.env.BUDDY_API_KEY = "key-of-buddy";
    await here.turn();
    expect(here.read("env")).toContain("HOME=");
    expect(here.read("env")).not.toContain("key-of-buddy");
  });
});

describe("hooks that get events", () => {
  test("after-tool: what came of each call, also of one that was denied", async () => {
    await using here = new Here([shell("(exit 3)", CHANGE), shell("rm -rf /", CHANGE), DONE], {
      ...YES,
      config: hook("after-tool", "cat >> $HOME/../heard"),
    });
    const { run } = await here.turn();
    await run.hooks?.close();
    const heard = events(here, "heard").toSorted((a, b) => String(b.outcome).localeCompare(String(a.outcome)));
    expect(heard).toMatchObject([
      { event: "after-tool", tool: "run_shell", outcome: "exited", exit_code: 3, input: { command: "(exit 3)" } },
      { event: "after-tool", outcome: "denied" },
    ]);
  });

  test("approval, session-start and session-end", async () => {
    const names = ["approval", "session-start", "session-end"];
    const config = names.map((name) => hook(name, `cat >> $HOME/../${name}`)).join("");
    await using here = new Here([shell("touch a", CHANGE), DONE], { ...YES, config });
    const { run } = await here.turn();
    await run.hooks?.close();
    expect(events(here, "session-start")).toMatchObject([{ session: run.sessions.id, prompt: "do it" }]);
    expect(events(here, "approval")).toMatchObject([{ action: "touch a", tool: "run_shell", risk: "medium" }]);
    expect(events(here, "session-end")).toMatchObject([{ session: run.sessions.id }]);
  });

  test("one that fails is a warning, and stops nothing", async () => {
    const config = hook("after-tool", "echo no network >&2; exit 7");
    await using here = new Here([shell("pwd"), DONE], { config });
    const run = await here.compose();
    const seen: string[] = [];
    run.agent.onEvent((event) => event.type === "warning" && seen.push(event.message));
    for await (const event of run.agent.runTurn("go", new AbortController().signal))
      if (event.type === "done") expect(event.status).toBe("answered");
    await run.hooks?.close();
    expect(seen).toEqual([expect.stringContaining("failed with exit code 7: no network")]);
  });
});

describe("[[hooks]] of a file in the working directory", () => {
  test("are ignored with a warning until the file is trusted", async () => {
    await using here = new Here([shell("pwd"), DONE]);
    here.write("cwd/buddy.toml", hook("before-tool", "touch $HOME/../ran; exit 2"));
    const { config, warnings } = await here.loaded();
    expect(config.hooks).toEqual([]);
    expect(warnings.join()).toContain("hooks");
    const { events } = await here.turn();
    expect(outcomes(events)).toEqual(["exited"]);
    expect(existsSync(join(here.dir, "ran"))).toBe(false);
  });
});

describe("the examples of docs/extending.md", () => {
  /** Written out as the page has them, and named in the configuration. */
  function examples(on: string, name: string, more = ""): { config: string; put(here: Here): void } {
    const found = blocks("docs/extending.md").find((block) => block.info === `sh hook=${name}`);
    return {
      config: `[[hooks]]\non = "${on}"\ncommand = ["~/${name}"]\n${more}\n`,
      put: (here) => void here.write(`home/${name}`, found?.text ?? "", 0o755),
    };
  }

  needed.test("notify-chat posts the question", async () => {
    const posted: unknown[] = [];
    await using server = {
      http: Bun.serve({ port: 0, fetch: async (request) => (posted.push(await request.json()), new Response("ok")) }),
      [Symbol.asyncDispose]: () => server.http.stop(true),
    };
    const { config, put } = examples("approval", "notify-chat");
    await using here = new Here([shell("touch a", CHANGE), DONE], { ...YES, config });
    put(here);
    process.env.CHAT_WEBHOOK = `http://127.0.0.1:${server.http.port}/hook`;
    const { run, events } = await here.turn();
    await run.hooks?.close();
    expect(ofType(events, "warning")).toEqual([]);
    expect(posted).toEqual([{ text: expect.stringContaining("touch a") }]);
  });

  needed.test(
    "require-ticket denies a change without one, lets reading and one with a ticket through, and asks",
    async () => {
      const { config, put } = examples("before-tool", "require-ticket");
      const turns = [
        shell("touch a", CHANGE),
        shell("touch b", { ...CHANGE, why: "OPS-42 wants it" }),
        shell("pwd"),
        call("write_file", { path: "c", content: "x" }),
        DONE,
      ];
      await using here = new Here(turns, { ...YES, config });
      put(here);
      const { events } = await here.turn();
      expect(outcomes(events).map((outcome) => outcome === "denied")).toEqual([true, false, false, false]);
      expect(here.asked.map(({ action, answer }) => [action, answer])).toEqual([
        ["touch b", undefined],
        [`write ${here.cwd}/c`, "in-person"],
      ]);
    },
  );

  needed.test("ship-record writes a line for each call", async () => {
    const { config, put } = examples("after-tool", "ship-record");
    await using here = new Here([shell("pwd"), DONE], { config });
    put(here);
    process.env.AUDIT_FILE = join(here.dir, "shipped");
    const { run } = await here.turn();
    await run.hooks?.close();
    expect(events(here, "shipped")).toMatchObject([{ tool: "run_shell", title: "pwd", exit_code: 0 }]);
  });
});
