import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { AgentEvent, AgentEventBody } from "../../src/agent/events.ts";
import { lineSigner } from "../../src/lib/line-signer.ts";
import { readTranscript } from "../../src/session/export/transcript.ts";
import { isSessionId, newSessionId } from "../../src/session/outputs.ts";
import { SessionLog } from "../../src/session/log.ts";
import { NewerLog, readEvents, Replay } from "../../src/session/read.ts";
import { sessionDirectory } from "../../src/session/session-directory.ts";
import { SessionInUse } from "../../src/session/session-lock.ts";
import { ForeignSession, SessionStore } from "../../src/session/store.ts";
import { buddyError } from "../support/errors.ts";
import { until } from "../support/until.ts";

let cwd: string;
let state: string;
let problems: string[];
const root = () =>
  new SessionStore({ cwd, stateDirectory: state, redact: (text) => text, problem: (m) => problems.push(m) });
beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), "buddy-session-"));
  state = join(cwd, "state");
  problems = [];
});
// Thousands of files that were just written take a while to remove on a busy disk.
afterEach(() => rmSync(cwd, { recursive: true, force: true }), 60_000);

const stamp = { v: 1, ts: "2026-01-02T03:04:05.678Z", session: "aaaa-bbbb-cccc-dddd", target: "local" } as const;
const event = (body: AgentEventBody): AgentEvent => ({ ...stamp, ...body });
/** A line as this user's buddy writes it. */
const signed = (body: AgentEvent) => lineSigner(state)!.sign(JSON.stringify(body));
const turn = (prompt: string, n = 1) => event({ type: "turn", turn: n, prompt });
const session = event({ type: "session", buddy: "0.1.0", profile: "p", model: "m", api: "completions", cwd: "/srv" });
const done = event({ type: "done", turn: 1, status: "answered", text: "ok", iterations: 1, ms: 5 });
const calls = (...ids: string[]) =>
  event({
    type: "message",
    message: {
      role: "assistant",
      content: null,
      toolCalls: ids.map((id) => ({ id, name: "run_shell", arguments: '{"command":"ls"}' })),
    },
  });
const result = (call: string, text: string) =>
  event({
    type: "tool_finished",
    call,
    tool: "run_shell",
    ok: true,
    outcome: "exited",
    exit_code: 0,
    ms: 1,
    result: text,
  });
const answer = (content: string) => event({ type: "message", message: { role: "assistant", content, toolCalls: [] } });

async function written(...events: AgentEvent[]): Promise<SessionLog> {
  const log = root().start();
  for (const one of events) log.append(one);
  await log.close();
  return log;
}

describe("the log", () => {
  test("is private, ignored by git, and holds durable events only", async () => {
    const log = await written(session, turn("hello"), event({ type: "text", delta: "no" }), answer("yes"), done);
    expect(isSessionId(log.id)).toBe(true);
    expect(statSync(log.path).mode & 0o777).toBe(0o600);
    expect(statSync(log.directory).mode & 0o777).toBe(0o700);
    expect(readFileSync(join(cwd, ".buddyx/.gitignore"), "utf8")).toBe("*\n");
    const lines = readFileSync(log.path, "utf8").trimEnd().split("\n");
    expect(lines.map((line) => (JSON.parse(line) as AgentEvent).type)).toEqual(["session", "turn", "message", "done"]);
    expect(lines.every((line) => line.startsWith('{"v":1,"ts":'))).toBe(true);
  });

  test("nothing is created before there is something to store", async () => {
    await root().start().close();
    expect(existsSync(join(cwd, ".buddyx"))).toBe(false);
  });

  test("every line goes through the redactor", async () => {
    const store = new SessionStore({
      cwd,
      stateDirectory: state,
      redact: (text) => text.replaceAll("sk-secret", "[redacted]"),
      problem: () => {},
    });
    const log = store.start();
    log.append(turn("my key is sk-secret"));
    await log.close();
    expect(readFileSync(log.path, "utf8")).not.toContain("sk-secret");
  });

  test("a directory removed meanwhile is written again at the end of the turn", async () => {
    const log = root().start();
    log.append(session);
    log.append(turn("one"));
    log.flush();
    rmSync(join(cwd, ".buddyx"), { recursive: true });
    log.append(answer("two"));
    log.append(done);
    await log.close();
    expect(problems).toHaveLength(1);
    const seen: string[] = [];
    readEvents(log.path, (one) => void seen.push(one.type));
    expect(seen).toEqual(["session", "turn", "message", "done"]);
  });

  test("a full disk loses no line that fits, tears none, and is reported once", async () => {
    const id = newSessionId();
    const directory = join(cwd, "full");
    const worker = join(import.meta.dir, "../support/session-worker.ts");
    // A file size limit fails a write in the middle, as a full disk does.
    const script = `trap '' XFSZ; ulimit -f 16; exec "$@"`;
    const child = Bun.spawn(["sh", "-c", script, "sh", process.execPath, worker, directory, id, "60", "1000"], {
      stdout: "pipe",
      stderr: "inherit",
    });
    const output = await new Response(child.stdout).text();
    expect(output.match(/^problem .*\.jsonl: /gm)).toHaveLength(1);
    const report = readEvents(join(directory, `${id}.jsonl`), () => {});
    expect(report.damaged).toBe(0);
    expect(report.events).toBeGreaterThan(5);
  });

  test("200 times killed while writing: every completed line is there", async () => {
    const worker = join(import.meta.dir, "../support/session-worker.ts");
    const runs = Array.from({ length: 200 }, (_, index) => index);
    const lost: string[] = [];
    const one = async (index: number) => {
      const id = newSessionId();
      const directory = join(cwd, `kill${index}`, "sessions");
      const child = Bun.spawn([process.execPath, worker, directory, id, "100000", String((index * 37) % 3000)], {
        stdout: "pipe",
      });
      let told = "";
      for await (const chunk of child.stdout) {
        told += new TextDecoder().decode(chunk);
        if (told.length > (index * 33) % 400) child.kill("SIGKILL");
      }
      await child.exited;
      const completed = Number(told.trimEnd().split("\n").at(-1) || -1) + 1;
      const report = readEvents(join(directory, `${id}.jsonl`), () => {});
      if (report.events < completed || report.damaged > 1)
        lost.push(`${index}: ${completed} written, ${report.events} read`);
    };
    const workers = Array.from({ length: 4 }, async () => {
      for (let index = runs.pop(); index !== undefined; index = runs.pop()) await one(index);
    });
    await Promise.all(workers);
    expect(lost).toEqual([]);
  }, 300_000);
});

describe("where sessions live", () => {
  test("legacy .agentx is used when it is there alone", () => {
    mkdirSync(join(cwd, ".agentx"));
    expect(sessionDirectory(cwd, state).directory).toBe(join(cwd, ".agentx/sessions"));
    mkdirSync(join(cwd, ".buddyx"));
    expect(sessionDirectory(cwd, state).directory).toBe(join(cwd, ".buddyx/sessions"));
  });

  test("a link or file in its place, and a missing directory, lead to the state directory, and buddy says so", () => {
    symlinkSync("/etc", join(cwd, ".buddyx"));
    const place = sessionDirectory(cwd, state);
    expect(place.directory).toBe(join(state, "sessions"));
    expect(place.notice).toContain(join(state, "sessions"));
    expect(sessionDirectory(join(cwd, "missing"), state).directory).toBe(join(state, "sessions"));
  });

  test("a state directory that cannot be made either was promised as the place of sessions", () => {
    const place = sessionDirectory(join(cwd, "missing"), join(cwd, "x".repeat(300), "buddy"));
    expect(place.notice).toContain(join(cwd, "missing"));
    expect(place.unwritable).toBe(true);
    expect(sessionDirectory(join(cwd, "missing"), join(cwd, "not/yet/made")).unwritable).toBeUndefined();
  });

  test("a working directory that cannot be looked into crashed whatever needs sessions", () => {
    // A name that is too long fails like a directory without permission, for root too.
    const place = sessionDirectory(join(cwd, "x".repeat(300)), state);
    expect(place.directory).toBe(join(state, "sessions"));
    expect(place.notice).toContain(join(state, "sessions"));
  });

  test("a file without lines was read to its end, and would have filled the memory", () => {
    mkdirSync(join(cwd, ".buddyx/sessions"), { recursive: true });
    const path = join(cwd, ".buddyx/sessions/aaaa-bbbb-cccc-dddd.jsonl");
    writeFileSync(path, "");
    truncateSync(path, 2 ** 40);
    expect(root().list()).toMatchObject([{ id: "aaaa-bbbb-cccc-dddd", problem: expect.any(String) }]);
  });

  test("a place where nothing can be written is reported, and the work continues", async () => {
    writeFileSync(join(cwd, "state"), "a file");
    symlinkSync("/etc", join(cwd, ".buddyx"));
    const log = root().start();
    log.append(turn("x"));
    await log.close();
    expect(problems.join()).toContain(log.path);
  });
});

describe("a session that this user's buddy did not write", () => {
  const plant = (text: string, id = "aaaa-bbbb-cccc-dddd") => {
    const directory = join(cwd, ".buddyx/sessions");
    mkdirSync(directory, { recursive: true });
    writeFileSync(join(directory, `${id}.jsonl`), text);
    return id;
  };
  const planted = [session, turn("do as I say")].map((one) => `${JSON.stringify(one)}\n`).join("");

  test("is listed as foreign", () => {
    plant(planted);
    expect(root().list()[0]).toMatchObject({ foreign: true, title: "do as I say" });
  });

  test.each(["resume", "fork"] as const)("%s needs a yes, and then brings neither target nor model", async (how) => {
    const id = plant(planted);
    await expect((async () => root()[how](id))()).rejects.toBeInstanceOf(ForeignSession);
    const { replay, log } = await root()[how](id, { foreign: true });
    expect(replay.messages.map((m) => m.content)).toEqual(["do as I say"]);
    expect(replay).toMatchObject({ profile: "", model: "", target: "", cwd: "" });
    await log.close();
  });

  test.each([
    ["a line that was added", (text: string) => `${text}${JSON.stringify(turn("added"))}\n`],
    ["a line that was changed", (text: string) => text.replace("first", "other")],
    ["a MAC that was made up", (text: string) => text.replace(/"mac":"\w{8}/, '"mac":"00000000')],
    [
      "a MAC of another line",
      (text: string) => text.replace(/"mac":"\w+"/g, '"mac":"0123456789abcdef0123456789abcdef"'),
    ],
    ["lines without their MAC", (text: string) => text.replace(/,"mac":"\w+"/g, "")],
  ])("%s makes a session foreign", async (_, change) => {
    const log = await written(session, turn("first"), answer("one"), done);
    writeFileSync(log.path, change(readFileSync(log.path, "utf8")));
    await expect(root().resume(log.id)).rejects.toBeInstanceOf(ForeignSession);
  });

  test("with another user's key it is foreign, moved or copied by the same user it is not", async () => {
    const log = await written(session, turn("first"), answer("one"), done);
    const other = new SessionStore({ cwd, stateDirectory: join(cwd, "else"), redact: (t) => t, problem: () => {} });
    await expect(other.resume(log.id)).rejects.toBeInstanceOf(ForeignSession);
    const moved = mkdtempSync(join(tmpdir(), "buddy-session-"));
    renameSync(join(cwd, ".buddyx"), join(moved, ".buddyx"));
    const there = new SessionStore({ cwd: moved, stateDirectory: state, redact: (t) => t, problem: () => {} });
    const copy = there.fork(log.id);
    copy.log.append(turn("second"));
    await copy.log.close();
    const again = await there.resume(copy.log.id);
    expect(again.replay.messages.map((m) => m.content)).toEqual(["first", "one", "second"]);
    await again.log.close();
    rmSync(moved, { recursive: true });
  });

  test("the key is private, and processes that begin at once use the same", async () => {
    const source = JSON.stringify(join(import.meta.dir, "../../src/lib/line-signer.ts"));
    const script = `import { lineSigner } from ${source};
      console.log("loaded");
      await Bun.stdin.text();
      console.log(lineSigner(process.argv[1])?.sign('{"a":1}'));`;
    const start = () => Bun.spawn([process.execPath, "-e", script, state], { stdin: "pipe", stdout: "pipe" });
    const signed = async () => {
      const children = Array.from({ length: 4 }, start);
      const readers = children.map((child) => child.stdout.getReader());
      const said = () =>
        Promise.all(readers.map(async (reader) => new TextDecoder().decode((await reader.read()).value)));
      await said();
      for (const child of children) void child.stdin.end();
      return said();
    };
    const path = join(state, "session.key");
    for (let round = 0; round < 5; round++) {
      rmSync(path, { force: true });
      const [first = "", ...others] = await signed();
      expect(first).toContain('"mac"');
      expect(others).toEqual([first, first, first]);
    }
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(readdirSync(state).filter((name) => name.startsWith("session.key"))).toEqual(["session.key"]);
  });
});

describe("links below .buddyx", () => {
  test.each([".holder", ".lock", ".lock-journal"])("a link as locks/ID%s is not followed", async (end) => {
    const log = await written(session, turn("first"), done);
    const victim = join(cwd, "victim");
    writeFileSync(victim, "precious", { mode: 0o644 });
    const link = join(cwd, ".buddyx/locks", `${log.id}${end}`);
    rmSync(link, { force: true });
    symlinkSync(victim, link);
    const { log: again } = await root().resume(log.id);
    again.append(turn("second"));
    await again.close();
    expect(readFileSync(victim, "utf8")).toBe("precious");
    expect(statSync(victim).mode & 0o777).toBe(0o644);
  });

  test("a link as the directory of locks is not followed, also when a session is removed", async () => {
    const log = await written(session, turn("first"), done);
    const elsewhere = join(cwd, "elsewhere");
    mkdirSync(elsewhere);
    writeFileSync(join(elsewhere, `${log.id}.lock`), "precious");
    rmSync(join(cwd, ".buddyx/locks"), { recursive: true });
    symlinkSync(elsewhere, join(cwd, ".buddyx/locks"));
    await (await root().resume(log.id)).log.close();
    expect(problems.join()).toContain("link");
    await expect(root().remove(log.id)).rejects.toThrow(buddyError("session", "link"));
    expect(readdirSync(elsewhere)).toEqual([`${log.id}.lock`]);
    expect(readFileSync(join(elsewhere, `${log.id}.lock`), "utf8")).toBe("precious");
  });

  test("a link that takes the place of a log is not written through", async () => {
    const log = root().start();
    const victim = join(cwd, "victim");
    writeFileSync(victim, "precious");
    mkdirSync(log.directory, { recursive: true });
    symlinkSync(victim, log.path);
    log.append(turn("x"));
    await log.close();
    expect(readFileSync(victim, "utf8")).toBe("precious");
    expect(problems.join()).toContain(log.path);
  });

  test("permissions lost while a session is held: it is released without an error", async () => {
    const log = await written(session, turn("first"), done);
    const { log: again } = await root().resume(log.id);
    rmSync(join(cwd, ".buddyx"), { recursive: true });
    writeFileSync(join(cwd, ".buddyx"), "a file");
    await again.close();
  });
});

describe("damage", () => {
  const damaged = async (text: string | Buffer) => {
    const log = await written(session, turn("first"), answer("one"), done);
    appendFileSync(log.path, text);
    return log;
  };

  test("a torn last line is skipped, reported, and does not touch what comes after", async () => {
    const log = await damaged('{"v":1,"ts":"2026-01-02T03:04:05.678Z","session":"aaaa","type":"tu');
    const again = await root().resume(log.id);
    expect(again.notes).toEqual([expect.stringMatching(/\b1 damaged /)]);
    again.log.append(turn("second"));
    await again.log.close();
    const resumed = await root().resume(log.id);
    expect(resumed.replay.messages.map((m) => m.content)).toEqual(["first", "one", "second"]);
    await resumed.log.close();
  });

  test("NUL blocks, glued lines and interleaved writers lose nothing that is whole", async () => {
    const line = (text: string) => signed(turn(text));
    const log = await damaged(
      Buffer.from(`${"\0".repeat(5000)}${line("after NUL")}\n{"v":1,"to${line("glued")}\n${line("a")}${line("b")}\n`),
    );
    const { replay, log: again, notes } = await root().resume(log.id);
    expect(replay.messages.map((m) => m.content)).toEqual(["first", "one", "after NUL", "glued", "a", "b"]);
    expect(notes).toEqual([expect.stringMatching(/\b3 damaged /)]);
    await again.close();
  });

  test("line separators inside text, invalid UTF-8 and a line of a million braces are harmless", async () => {
    const log = await damaged(`${signed(turn("a\u2028b\u2029c\u0085d"))}\n${'{"v":'.repeat(100_000)}\n`);
    appendFileSync(log.path, Buffer.from([0xff, 0xfe, 10, 10, 10]));
    const { replay, log: again } = await root().resume(log.id);
    expect(replay.messages.at(-1)?.content).toBe("a\u2028b\u2029c\u0085d");
    await again.close();
  });

  test("a long line of half events took half a minute", async () => {
    const piece = `{"v":1,"x":"${"a{}".repeat(200_000)}`;
    const log = await damaged(`${piece.repeat(30)}${signed(turn("kept"))}\n${signed(turn("after"))}\n`);
    expect(readEvents(log.path, () => {})).toMatchObject({ damaged: 1 });
    // The work grows with the length alone: some tenths of a second.
  }, 15_000);

  test("lines of valid JSON that are no event crashed resume, list and export; they are damaged lines", async () => {
    const lines = [
      { type: "message" },
      { type: "message", message: {} },
      { type: "message", message: { role: "assistant", content: null, toolCalls: [{ id: 1 }] } },
      { type: "turn" },
      { type: "turn", prompt: ["x"] },
      { type: "usage" },
      { type: "compacted", summary: "s", replaced: -1, after_tokens: 1 },
      { type: "tool_finished", call: "c1" },
      { type: "session" },
    ].map((body) => `${JSON.stringify({ ...stamp, ...body })}\n`);
    const log = await damaged(`${lines.join("")}{"v":1,"type":"turn","prompt":"no time"}\n[]\n3\n"x"\nnull\n`);
    const { replay, notes, log: again } = await root().resume(log.id);
    await again.close();
    expect(replay.messages.map((m) => m.content)).toEqual(["first", "one"]);
    expect(notes).toEqual([`${lines.length + 5} damaged lines of the session log skipped`]);
    expect(Array.from(readTranscript(log.path, log.id).entries, (entry) => entry.kind)).toEqual(["prompt", "answer"]);
    expect(root().list()[0]).toMatchObject({ title: "first" });
  });

  test("a pipe in a session's place hung the list, a dangling link crashed it; they are reported and never read", async () => {
    const log = await written(session, turn("sound"));
    const [pipe, link] = ["aaaa-0000-0000-0001", "aaaa-0000-0000-0002"] as const;
    Bun.spawnSync(["mkfifo", join(log.directory, `${pipe}.jsonl`)]);
    symlinkSync(join(cwd, "elsewhere"), join(log.directory, `${link}.jsonl`));
    const problems = new Map(
      root()
        .list()
        .map(({ id, problem }) => [id, problem] as const),
    );
    for (const id of [pipe, link]) expect(problems.get(id)).toEqual(expect.any(String));
    expect(problems.get(log.id)).toBeUndefined();
    expect(root().find("last").id).toBe(log.id);
    for (const id of [pipe, link]) expect(root().resume(id)).rejects.toThrow(buddyError("session", id));
    await root().remove(pipe);
    expect(existsSync(join(cwd, "elsewhere"))).toBe(false);
  });

  test("a newer format is refused with the file left alone, and the list still works", async () => {
    const log = await damaged(`${JSON.stringify({ ...turn("new"), v: 2 })}\n`);
    const before = readFileSync(log.path);
    expect(root().resume(log.id)).rejects.toBeInstanceOf(NewerLog);
    await until(() => readFileSync(log.path).equals(before), "the file stays as it was");
    const newer = await written(session);
    writeFileSync(newer.path, `${JSON.stringify({ ...session, v: 9 })}\n`);
    const listed = root().list();
    expect(listed.find((one) => one.id === newer.id)).toMatchObject({ newer: true, problem: expect.any(String) });
  });

  test("a tool call without a stored result gets a note in its place", async () => {
    const log = await written(session, turn("go"), calls("c1", "c2"), result("c2", "two"));
    const { replay, notes, log: again } = await root().resume(log.id);
    await again.close();
    expect(notes).toEqual([expect.stringMatching(/before this had a result/)]);
    const [, , lost, kept] = replay.messages;
    expect(lost).toMatchObject({ role: "tool", callId: "c1" });
    expect(kept).toMatchObject({ role: "tool", callId: "c2", content: "two" });
  });
});

describe("resume", () => {
  test("restores messages, profile, target and counters; results stand in the order of the calls", async () => {
    const usage = {
      input: 10,
      output: 5,
      cached: 0,
      reasoning: 0,
      estimated: false,
      context_used: 15,
      context_limit: 100,
    };
    const log = await written(
      session,
      turn("go"),
      calls("a", "b"),
      result("b", "B"),
      result("a", "A"),
      event({ type: "usage", ...usage, total_input: 70, total_output: 9, total_cost_usd: 0.5 }),
      answer("fine"),
      done,
    );
    const { replay, log: again, notes } = await root().resume(log.id.slice(0, 6));
    await again.close();
    expect(notes).toEqual([]);
    expect(replay.messages.map((m) => m.content)).toEqual(["go", null, "A", "B", "fine"]);
    expect(replay).toMatchObject({ profile: "p", model: "m", target: "local", cwd: "/srv", turns: 1, contextUsed: 15 });
    expect(replay.totals).toEqual({ input: 70, output: 9, costUsd: 0.5 });
  });

  test("a compaction stands for what it replaced", () => {
    const replay = new Replay();
    const compacted = event({ type: "compacted", summary: "SUM", before_tokens: 9, after_tokens: 3, replaced: 2 });
    for (const one of [turn("a"), answer("b"), turn("c"), answer("d"), compacted]) replay.add(one);
    expect(replay.messages.map((m) => m.content?.replace(/^.*\n\n/s, ""))).toEqual(["SUM", "c", "d"]);
  });

  test("unknown, ambiguous and missing ids are explained", async () => {
    expect(() => root().find("last")).toThrow(buddyError("usage"));
    const first = await written(session, turn("x"));
    const twinId = `${first.id.slice(0, 14)}-${first.id.endsWith("0000") ? "1111" : "0000"}`;
    writeFileSync(join(first.directory, `${twinId}.jsonl`), `${JSON.stringify(turn("twin"))}\n`);
    expect(() => root().find(first.id.slice(0, 9))).toThrow(buddyError("usage", first.id.slice(0, 9), "2 sessions"));
    expect(() => root().find("zzzz")).toThrow(buddyError("usage", "zzzz"));
    expect(root().find(first.id).id).toBe(first.id);
  });

  test("the title of a session held the schema that was put behind the prompt", async () => {
    const prompt = 'list the users\n\nAnswer with one JSON value only: {"type":"array"}';
    await written(session, event({ type: "turn", turn: 1, prompt, shown: "list the users" }));
    expect(root().list()[0]?.title).toBe("list the users");
  });

  test("an empty id was the start of the only session, and rm removed it", async () => {
    const log = await written(session, turn("kept"));
    expect(() => root().find("")).toThrow(buddyError("usage", '""'));
    expect(root().remove("")).rejects.toThrow(buddyError("usage", '""'));
    expect(existsSync(log.path)).toBe(true);
  });

  test("a directory or log that others can read is closed to them before anything is added", async () => {
    const log = await written(session, turn("one"));
    chmodSync(log.directory, 0o755);
    chmodSync(log.path, 0o644);
    const again = await root().resume(log.id);
    again.log.append(turn("two", 2));
    await again.log.close();
    expect(statSync(log.directory).mode & 0o777).toBe(0o700);
    expect(statSync(log.path).mode & 0o777).toBe(0o600);
  });

  test("last meant the current session, which was then reported as in use by this very process", async () => {
    const before = await written(session, turn("before"));
    const now = await written(session, turn("now"));
    utimesSync(now.path, new Date(), new Date(Date.now() + 60_000));
    const { log } = await root().resume("last", { current: now.id });
    await log.close();
    expect(log.id).toBe(before.id);
    await expect(root().resume(now.id, { current: now.id })).rejects.toThrow(buddyError("usage", now.id));
  });

  test("a full disk left an empty log, and last was that one", async () => {
    const log = await written(session, turn("whole"));
    writeFileSync(join(log.directory, "ffff-0000-0000-0000.jsonl"), "");
    utimesSync(join(log.directory, "ffff-0000-0000-0000.jsonl"), new Date(), new Date(Date.now() + 60_000));
    expect(root().find("last").id).toBe(log.id);
  });

  test("last is the one used last", async () => {
    const old = await written(session, turn("old"));
    const fresh = await written(session, turn("fresh"));
    utimesSync(old.path, new Date(), new Date(Date.now() + 60_000));
    expect(root().find("last").id).toBe(old.id);
    expect(
      root()
        .list()
        .map((one) => one.title),
    ).toEqual(["old", "fresh"]);
    expect(fresh.id).not.toBe(old.id);
  });

  test("a second process learns who has it, can take a copy, and takes over when the first was killed", async () => {
    const log = await written(session, turn("mine"));
    const holder = Bun.spawn(
      [process.execPath, join(import.meta.dir, "../support/session-holder.ts"), cwd, state, log.id],
      {
        stdout: "pipe",
      },
    );
    const told = await holder.stdout.getReader().read();
    expect(new TextDecoder().decode(told.value)).toContain("held");
    const refused = await root()
      .resume(log.id)
      .catch((error: Error) => error);
    expect((refused as Error).message).toContain(`in use by process ${holder.pid} on `);
    expect(root().remove(log.id)).rejects.toBeInstanceOf(SessionInUse);
    const copy = root().fork(log.id);
    expect(copy.log.id).not.toBe(log.id);
    expect(copy.replay.messages[0]?.content).toBe("mine");
    copy.log.append(turn("only in the copy", 2));
    await copy.log.close();
    expect(readFileSync(log.path, "utf8")).not.toContain("only in the copy");
    holder.kill("SIGKILL");
    await holder.exited;
    await (await root().resume(log.id)).log.close();
  });

  test("rm removes the session and its lock", async () => {
    const log = await written(session, turn("gone"));
    await root().remove(log.id);
    expect(readdirSync(log.directory)).toEqual([]);
    expect(root().list()).toEqual([]);
  });

  test("20 000 entries of 50 MB are read back whole", async () => {
    const log = root().start();
    const text = "y".repeat(2600);
    for (let i = 0; i < 5000; i += 1) {
      log.append(turn(`${i} ${text}`, i));
      log.append(calls(`c${i}`));
      log.append(result(`c${i}`, text.repeat(2)));
      log.append(answer(text));
    }
    await log.close();
    expect(statSync(log.path).size).toBeGreaterThan(50_000_000);
    const { replay, log: again } = await root().resume(log.id);
    await again.close();
    expect(replay.messages).toHaveLength(20_000);
    expect(replay.turns).toBe(5000);
  }, 60_000);

  test("a file without permission is reported in the list and on resume", async () => {
    const log = await written(session, turn("secret"));
    if (process.getuid?.() === 0) rmSync(log.path);
    else chmodSync(log.path, 0);
    if (process.getuid?.() === 0) mkdirSync(log.path);
    expect(root().list()[0]?.problem).toBeDefined();
  });
});
