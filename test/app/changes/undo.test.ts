/** Changes of files, kept before they happen and taken back by the operator: the whole way, without a screen. */
import { afterAll, afterEach, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { AgentEvent } from "../../../src/agent/events.ts";
import { changeDiff, changeListing, storeOf, undo } from "../../../src/app/changes/undo.ts";
import type { Run } from "../../../src/app/run.ts";
import type { ApprovalAnswer, ApprovalRequest } from "../../../src/policy/approvals.ts";
import { drain, ofType } from "../../support/agent.ts";
import { call, shell } from "../../support/calls.ts";
import { type Flags, Here, type HereOptions } from "../../support/in-process.ts";
import type { Turn } from "../../support/scripted-model/playbook.ts";

setDefaultTimeout(60_000);

let here: Here;
let keep = false;
afterEach(async () => {
  if (!keep) await here?.[Symbol.asyncDispose]();
});

const CHANGES = { mutation: true, risk: "medium" };
const yes = (): ApprovalAnswer => ({ kind: "yes" });

function begin(turns: readonly Turn[], options: HereOptions = { answer: yes }): Here {
  return (here = new Here([...turns, { text: "done" }, { text: "later" }], options));
}

async function prompt(flags: Flags = { "no-tmux": true }): Promise<Run> {
  const run = await here.compose(flags);
  await drain(run.agent.runTurn("do it", new AbortController().signal));
  return run;
}

const undoing = (run: Run, which = ""): Promise<AgentEvent[]> => drain(undo(run, which, new AbortController().signal));
const outcomes = (events: readonly AgentEvent[]) => ofType(events, "tool_finished").map(({ outcome }) => outcome);
const listed = async (run: Run) => changeListing(await storeOf(run));

test("write_file: the question shows what comes back, and content and mode do", async () => {
  begin([call("write_file", { path: "app.conf", content: "new\n" })]);
  const path = here.write("cwd/app.conf", "old\n", 0o640);
  const run = await prompt();
  expect(readFileSync(path, "utf8")).toBe("new\n");
  chmodSync(path, 0o640);
  expect(outcomes(await undoing(run))).toEqual(["done"]);
  expect(readFileSync(path, "utf8")).toBe("old\n");
  expect(statSync(path).mode & 0o777).toBe(0o640);
  const asked = here.asked.at(-1) as ApprovalRequest;
  expect(asked).toMatchObject({ tool: "undo", write: { path, added: 1, removed: 1 } });
  expect(asked.diff).toContain("-new");
});

test("a created file is removed, and the question says so", async () => {
  begin([call("write_file", { path: "fresh", content: "" })]);
  const run = await prompt();
  // It had no difference because it is empty.
  expect(changeDiff(await storeOf(run)).join("\n")).toMatch(/no file → .* 0 bytes/);
  await undoing(run);
  expect(existsSync(join(here.cwd, "fresh"))).toBe(false);
  expect(here.asked.at(-1)?.write).toMatchObject({ removes: true });
});

test("an undo is a change itself: taking it back gives the new text again", async () => {
  begin([call("edit_file", { path: "f", old_text: "one", new_text: "two" })]);
  const path = here.write("cwd/f", "one\n");
  const run = await prompt();
  await undoing(run, "1");
  expect(readFileSync(path, "utf8")).toBe("one\n");
  expect(await listed(run)).toMatchObject([{ number: 1, undone: 2 }, { number: 2 }]);
  await undoing(run, "2");
  expect(readFileSync(path, "utf8")).toBe("two\n");
  const rows = await listed(run);
  expect(rows[0]?.undone).toBeUndefined();
  expect(rows[1]?.undone).toBe(3);
});

test("a file that changed since is left alone, and the result shows how it differs", async () => {
  begin([call("write_file", { path: "f", content: "by buddy\n" })]);
  const path = here.write("cwd/f", "before\n");
  const run = await prompt();
  writeFileSync(path, "by hand\n");
  const before = here.asked.length;
  const events = await undoing(run);
  expect(outcomes(events)).toEqual(["changed"]);
  expect(ofType(events, "tool_finished")[0]?.display).toContain("+by hand");
  expect(here.asked).toHaveLength(before);
  expect(readFileSync(path, "utf8")).toBe("by hand\n");
});

test("a changed mode alone counts as a change since", async () => {
  begin([call("write_file", { path: "f", content: "b" })]);
  const path = here.write("cwd/f", "a", 0o600);
  const run = await prompt();
  chmodSync(path, 0o644);
  expect(outcomes(await undoing(run))).toEqual(["changed"]);
});

describe("what was shown is what is written, or nothing, when the file changes while the question waits", () => {
  const edit = call("edit_file", { path: "f", old_text: "one", new_text: "two" });
  const write = call("write_file", { path: "f", content: "é new\n" });
  test.each([
    ["undo", [call("write_file", { path: "f", content: "b" })], "a", "meanwhile"],
    ["edit_file", [edit], "one\nsafe\n", "one\nmeanwhile\n"],
    ["write_file", [write], "old\n", "meanwhile\n"],
    ["write_file", [write], undefined, "meanwhile\n"],
    // The same text in another encoding.
    ["write_file", [write], "é\n", Buffer.from("é\n", "latin1")],
  ] as const)("%s %#", async (tool, turns, before, meanwhile) => {
    let path = "";
    begin(turns, {
      answer: (request) => {
        if (request.tool === tool) writeFileSync(path, meanwhile);
        return { kind: "yes" };
      },
    });
    path = before === undefined ? join(here.cwd, "f") : here.write("cwd/f", before);
    const { run, events } = await here.turn();
    expect(outcomes(tool === "undo" ? await undoing(run) : events)).toEqual(["changed"]);
    expect(readFileSync(path)).toEqual(Buffer.from(meanwhile as string));
  });
});

test("what an approved command changed where no tool may write is put back after a high-risk question", async () => {
  begin([shell("echo new >> ~/.bashrc", CHANGES)]);
  const path = here.write("home/.bashrc", "old\n");
  const run = await prompt();
  expect(outcomes(await undoing(run))).toEqual(["done"]);
  expect(here.asked.at(-1)).toMatchObject({ tool: "undo", risk: "high" });
  expect(readFileSync(path, "utf8")).toBe("old\n");
});

test("no is no: nothing is undone, and the model learns nothing of it", async () => {
  begin([call("write_file", { path: "f", content: "b" })], {
    answer: ({ tool }) => (tool === "undo" ? { kind: "no" } : { kind: "yes" }),
  });
  const path = here.write("cwd/f", "a");
  const run = await prompt();
  const messages = run.agent.history.messages.length;
  expect(outcomes(await undoing(run))).toEqual(["denied"]);
  expect(readFileSync(path, "utf8")).toBe("b");
  expect(run.agent.history.messages).toHaveLength(messages);
});

test("the model learns of an undo with the next prompt", async () => {
  begin([call("write_file", { path: "f", content: "b" })]);
  here.write("cwd/f", "a");
  const run = await prompt();
  await undoing(run);
  await drain(run.agent.runTurn("and now?", new AbortController().signal));
  const text = JSON.stringify(here.model.requests.at(-1)?.messages);
  expect(text).toContain("as it was before change 1");
});

test("all: every file as it was before the first change of it, in one go", async () => {
  begin([
    call("write_file", { path: "a", content: "2" }),
    call("write_file", { path: "a", content: "3" }),
    call("write_file", { path: "b", content: "new" }),
  ]);
  const path = here.write("cwd/a", "1");
  const run = await prompt();
  expect(outcomes(await undoing(run, "all"))).toEqual(["done", "done"]);
  expect(readFileSync(path, "utf8")).toBe("1");
  expect(existsSync(join(here.cwd, "b"))).toBe(false);
});

test("an earlier change of a file cannot be undone over a later one", async () => {
  begin([call("write_file", { path: "a", content: "2" }), call("write_file", { path: "a", content: "3" })]);
  here.write("cwd/a", "1");
  const run = await prompt();
  const events = await undoing(run, "1");
  expect(outcomes(events)).toEqual(["changed"]);
  expect(ofType(events, "tool_finished")[0]?.display).toContain("change 2");
});

describe("files that an approved command names", () => {
  const COMMANDS: readonly (readonly [string, string, string])[] = [
    ["sed -i", "sed -i s/old/new/ f", "changed"],
    ["tee", "echo new | tee f", "changed"],
    ["a redirection", "echo new > f", "changed"],
    ["an appending redirection", "echo new >> f", "changed"],
    ["rm", "rm f", "removed"],
    ["mv away", "mv f g", "removed"],
    ["truncate", "truncate -s 0 f", "changed"],
    ["cp over it", "cp other f", "changed"],
    ["install over it", "install -m 600 other f", "changed"],
    ["ln -sf over it", "ln -sf other f", "changed"],
    ["dd", "dd if=other of=f", "changed"],
    ["chmod", "chmod 777 f", "changed"],
    ["a command after cd", "cd .. && cd d12 && rm f", "removed"],
    ["a loop", "for x in f; do rm $x; done", "removed"],
    ["sh -c", "sh -c 'rm f'", "removed"],
    ["sort -o", "sort other -o f", "changed"],
    ["uniq", "uniq other f", "changed"],
    ["tar", "tar -cf f other", "changed"],
    ["gzip", "gzip f", "removed"],
    ["chmod without a number", "chmod -w f", "changed"],
    ["find -delete", "find f -delete", "removed"],
    ["cp -b", "cp -b other f; cp -b other f", "changed"],
    ["mv with a suffix", "mv --suffix=.was other f", "changed"],
  ];
  let rows: Awaited<ReturnType<typeof listed>>;
  let undone: readonly string[];
  const at = (index: number) => join(here.cwd, `d${index}`, "f");

  // One run for all of them: each in a directory of its own.
  beforeAll(async () => {
    begin(COMMANDS.map(([, command], index) => shell(`(cd d${index}; ${command})`, CHANGES)));
    for (const index of COMMANDS.keys()) {
      here.write(`cwd/d${index}/f`, "old\n", 0o640);
      here.write(`cwd/d${index}/other`, "other\n");
    }
    const run = await prompt();
    rows = await listed(run);
    undone = outcomes(await undoing(run, "all"));
    keep = true;
  });
  afterAll(async () => {
    keep = false;
    await here[Symbol.asyncDispose]();
  });

  test.each(COMMANDS.map(([name, , verb], index) => [name, verb, index] as const))("%s", (_name, verb, index) => {
    const own = rows.filter(({ path }) => path === at(index));
    expect(own.map(({ what }) => what.split(" ")[0])).toEqual([verb]);
    expect(readFileSync(at(index), "utf8")).toBe("old\n");
    expect(statSync(at(index)).mode & 0o777).toBe(0o640);
  });

  test("all of it is undone", () => {
    expect(new Set(undone)).toEqual(new Set(["done"]));
  });
});

describe("what is kept of a command", () => {
  test("in a directory: the file of the source's name", async () => {
    begin([shell("cp f sub", CHANGES)]);
    here.write("cwd/f", "new");
    const path = here.write("cwd/sub/f", "old");
    const run = await prompt();
    await undoing(run);
    expect(readFileSync(path, "utf8")).toBe("old");
  });

  test("what cannot be kept is named once in the result; the rest is kept", async () => {
    begin([shell("rm -r d *.bak $NONE f", CHANGES)]);
    mkdirSync(join(here.cwd, "d"));
    here.write("cwd/x.bak", "");
    const path = here.write("cwd/f", "old");
    const run = await prompt();
    const [result] = here.results();
    for (const name of ["/d (", "*.bak (", "$NONE ("]) expect(String(result).split(name)).toHaveLength(2);
    await undoing(run);
    expect(readFileSync(path, "utf8")).toBe("old");
  });

  test("a command that changes none of its files leaves no change", async () => {
    begin([shell("touch -c f; echo >/dev/null; false && rm f", CHANGES)]);
    here.write("cwd/f", "old");
    expect(await listed(await prompt())).toEqual([]);
  });

  test("through a link: the file that it leads to", async () => {
    begin([shell("echo new > link", CHANGES)]);
    const path = here.write("cwd/f", "old");
    symlinkSync("f", join(here.cwd, "link"));
    const run = await prompt();
    await undoing(run);
    expect(readFileSync(path, "utf8")).toBe("old");
    expect(readFileSync(join(here.cwd, "link"), "utf8")).toBe("old");
  });

  test("what runs unasked costs no look at files", async () => {
    begin([shell("cat f")]);
    here.write("cwd/f", "old");
    const run = await prompt();
    expect(await listed(run)).toEqual([]);
    expect(existsSync(join(here.home, ".local/state/buddy/changes"))).toBe(false);
  });
});

test("a file that was moved: one undo takes both names back, and loses nothing", async () => {
  begin([shell("mv f g", CHANGES)]);
  const path = here.write("cwd/f", "old");
  const run = await prompt();
  expect(outcomes(await undoing(run))).toEqual(["done", "done"]);
  expect(readFileSync(path, "utf8")).toBe("old");
  expect(existsSync(join(here.cwd, "g"))).toBe(false);
});

test("a moved file whose old name is taken by now: nothing is removed", async () => {
  begin([shell("mv f g", CHANGES)]);
  const path = here.write("cwd/f", "old");
  const run = await prompt();
  writeFileSync(path, "another");
  expect(outcomes(await undoing(run))).toEqual(["changed"]);
  expect(readFileSync(join(here.cwd, "g"), "utf8")).toBe("old");
});

test("what replaced a link is undone by its own name: what a link leads to is neither judged nor named", async () => {
  const asked: ApprovalRequest[] = [];
  begin([shell("ln -sf /etc/hostname f", CHANGES), shell("ln -s f made", CHANGES)], {
    answer: (request) => {
      asked.push(request);
      return { kind: "yes" };
    },
  });
  const path = here.write("cwd/f", "old");
  const run = await prompt();
  asked.length = 0;
  expect(outcomes(await undoing(run))).toEqual(["done"]);
  expect(outcomes(await undoing(run))).toEqual(["done"]);
  expect(asked.map(({ write }) => write)).toMatchObject([
    { path: join(here.cwd, "made"), removes: true, creates: false },
    { path, creates: false },
  ]);
  expect(readFileSync(path, "utf8")).toBe("old");
});

test("a directory that a command made is named in its result, and is not in the way of an undo", async () => {
  begin([shell("rm f", CHANGES), shell("cp -r d e", CHANGES)]);
  const path = here.write("cwd/f", "old");
  here.write("cwd/d/f", "");
  const run = await prompt();
  expect(String(here.results()[1])).toContain(`${join(here.cwd, "e")} (`);
  expect(outcomes(await undoing(run))).toEqual(["done"]);
  expect(readFileSync(path, "utf8")).toBe("old");
});

test("a dry run undoes nothing, and the model learns nothing", async () => {
  begin([call("write_file", { path: "f", content: "b" })]);
  const path = here.write("cwd/f", "a");
  const first = await prompt();
  await first[Symbol.asyncDispose]();
  const dry = await here.compose({ "no-tmux": true, "dry-run": true }, { resume: first.sessions.id });
  const messages = dry.agent.history.messages.length;
  expect(outcomes(await undoing(dry))).toEqual(["dry-run"]);
  expect(readFileSync(path, "utf8")).toBe("b");
  expect(dry.agent.history.messages).toHaveLength(messages);
});

test("a resumed session can undo what it did before", async () => {
  begin([call("write_file", { path: "f", content: "b" })]);
  const path = here.write("cwd/f", "a");
  const first = await prompt();
  const id = first.sessions.id;
  await first[Symbol.asyncDispose]();
  const again = await here.compose({ "no-tmux": true }, { resume: id });
  await undoing(again);
  expect(readFileSync(path, "utf8")).toBe("a");
});

test("a fork can undo it, too, and its own undo is not the original's", async () => {
  begin([call("write_file", { path: "f", content: "b" })]);
  const path = here.write("cwd/f", "a");
  const first = await prompt();
  const fork = await here.compose({ "no-tmux": true }, { resume: first.sessions.id, fork: true });
  await undoing(fork);
  expect(readFileSync(path, "utf8")).toBe("a");
  expect(await listed(first)).toHaveLength(1);
  expect(await listed(fork)).toHaveLength(2);
});

test("a store that cannot be written: the operator is asked again, and no means no change", async () => {
  let questions = 0;
  begin([call("write_file", { path: "f", content: "b" })], {
    answer: () => ({ kind: ++questions === 1 ? "yes" : "no" }),
  });
  here.write("home/.local/state/buddy/changes", "in the way");
  const path = here.write("cwd/f", "a");
  await prompt();
  expect(here.asked).toHaveLength(2);
  expect(readFileSync(path, "utf8")).toBe("a");
});

test("a store that cannot be written, and approvals for all: the result says that there is no undo", async () => {
  begin([shell("rm f", CHANGES)]);
  here.write("home/.local/state/buddy/changes", "in the way");
  const path = here.write("cwd/f", "a");
  await prompt({ "no-tmux": true, approve: "all" });
  expect(existsSync(path)).toBe(false);
  expect(String(here.results()[0])).toContain("not kept");
});

test("a diff of the session shows each file once, from first to last", async () => {
  begin([call("write_file", { path: "a", content: "2\n" }), call("write_file", { path: "a", content: "3\n" })]);
  here.write("cwd/a", "1\n");
  const store = await storeOf(await prompt());
  const all = changeDiff(store).join("\n");
  expect(all).toContain("-1\n+3");
  expect(all).not.toContain("2\n");
  expect(changeDiff(store, 2).join("\n")).toContain("-2\n+3");
});

test("contents that expired: the change is listed, and undo says why it cannot", async () => {
  begin([call("write_file", { path: "f", content: "b" })]);
  const path = here.write("cwd/f", "a");
  const run = await prompt();
  const directory = join(here.home, ".local/state/buddy/changes", run.sessions.id);
  for (const name of new Bun.Glob("????????????????????????????????*").scanSync(directory))
    rmSync(join(directory, name));
  const events = await undoing(run);
  expect(outcomes(events)).toEqual(["failed"]);
  expect(readFileSync(path, "utf8")).toBe("b");
  expect(await listed(run)).toHaveLength(1);
});
