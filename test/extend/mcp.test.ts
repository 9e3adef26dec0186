/**
 * MCP servers, good and hostile, over real processes and HTTP: what they may do to buddy, and what buddy keeps from
 * them.
 */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, mkdtempSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type McpSettings, mcpSettings } from "../../src/config/schema.ts";
import { connectServer, type ServerConnection } from "../../src/extend/mcp/connection.ts";
import { SignInStore } from "../../src/extend/mcp/oauth-sign-in.ts";
import { serverTool } from "../../src/extend/mcp/server-tool.ts";
import { McpServers, serverRows } from "../../src/extend/mcp/servers.ts";
import { ProgramTransport } from "../../src/extend/mcp/transports.ts";
import { inputSchema, offeredTools, rememberedLists } from "../../src/extend/mcp/tool-lists.ts";
import { hideFromChildren, isAlive } from "../../src/lib/processes.ts";
import type { ToolContext } from "../../src/tools/tool.ts";
import { buddyError } from "../support/errors.ts";
import { temporaryDirectory } from "../support/temporary.ts";
import { until } from "../support/until.ts";

setDefaultTimeout(120_000);

const root = temporaryDirectory();
let count = 0;

const never = new AbortController().signal;
const DEFAULTS = Object.fromEntries(Object.entries(mcpSettings()).map(([key, { fallback }]) => [key, fallback]));

function settings(part: Partial<McpSettings>): McpSettings {
  return { ...DEFAULTS, ...part } as McpSettings;
}

/** The server of the tests, behaving as `mode` says. */
function program(mode: string, part: Partial<McpSettings> = {}, file = ""): McpSettings {
  return settings({
    command: [process.execPath, join(import.meta.dir, "../support/mcp-server.ts"), mode, file],
    ...part,
  });
}

interface Rig extends AsyncDisposable {
  readonly servers: McpServers;
  readonly notices: string[];
  names(): string[];
}

function rig(servers: Record<string, McpSettings>, directory = join(root, String(count++))): Rig {
  const notices: string[] = [];
  const all = new McpServers({
    servers,
    memory: rememberedLists(directory),
    connect: (options, signal) =>
      connectServer({ ...options, cwd: root, env: process.env, signIns: new SignInStore(undefined) }, signal),
    notice: (text) => notices.push(text),
  });
  return {
    servers: all,
    notices,
    names: () => all.schemas.map(({ name }) => name),
    [Symbol.asyncDispose]: () => all[Symbol.asyncDispose](),
  };
}

function context(part: Partial<ToolContext> = {}): ToolContext {
  return {
    signal: never,
    target: () => Promise.reject(new Error("no target")),
    emit: () => undefined,
    mask: (one) => one,
    budget: 4000,
    ...part,
  };
}

async function call(
  servers: McpServers,
  name: string,
  args: Record<string, unknown> = {},
  part: Partial<ToolContext> = {},
) {
  const found = servers.find(name);
  if (found === undefined) throw new Error(`no tool ${name}`);
  return serverTool(servers, found).run(args, context(part));
}

async function connect(mode: string): Promise<ServerConnection> {
  return connectServer({
    name: "x",
    settings: program(mode),
    cwd: root,
    env: process.env,
    signIns: new SignInStore(undefined),
  });
}

describe("tool lists", () => {
  test("a server that was never seen is waited for; the next session does not wait", async () => {
    const directory = join(root, String(count++));
    {
      await using first = rig({ a: program("plain") }, directory);
      expect(first.names()).toEqual([]);
      expect(await first.servers.ready(never)).toBe(true);
      expect(first.names()).toEqual(["a__echo", "a__look"]);
    }
    await using second = rig({ a: program("hang") }, directory);
    // Another program of the same name is another server.
    expect(second.names()).toEqual([]);
    await using third = rig({ a: program("plain") }, directory);
    expect(third.names()).toEqual(["a__echo", "a__look"]);
    expect(await third.servers.ready(never)).toBe(false);
    expect(third.servers.status()[0]?.state).toBe("not started");
  });

  test("a server that hangs now, and was seen before, holds up nothing; only its own calls fail", async () => {
    const directory = join(root, String(count++));
    const hanging = program("hang", { timeout: 300 });
    const { tools } = offeredTools("a", [{ name: "echo", inputSchema: { type: "object" } }]);
    rememberedLists(directory).write("a", hanging, tools);
    await using all = rig({ a: hanging }, directory);
    all.servers.start();
    expect(await all.servers.ready(AbortSignal.timeout(1000))).toBe(false);
    expect(all.names()).toEqual(["a__echo"]);
    await expect(call(all.servers, "a__echo", {}, { signal: AbortSignal.timeout(300) })).rejects.toThrow();
  });

  test("a list that turned out different is taken once in a session, and said", async () => {
    await using all = rig({ a: program("changing") });
    const { servers, notices, names } = all;
    await servers.ready(never);
    const before = servers.schemas;
    await call(servers, "a__echo");
    await until(async () => await servers.ready(never), "the changed list");
    expect(names()).toEqual(["a__echo", "a__look", "a__new1"]);
    expect(servers.schemas).not.toBe(before);
    const once = servers.schemas;
    await call(servers, "a__echo");
    await until(async () => {
      await servers.ready(never);
      return notices.some((text) => text.includes("again"));
    }, "the second change");
    expect(servers.schemas).toBe(once);
    servers.newSession();
    expect(names()).toEqual(["a__echo", "a__look", "a__new2"]);
  });

  test("allow and deny choose by the server's names; a server that is off is never started", async () => {
    const tools = { allow: ["e*", "look"], deny: ["lo*"] };
    await using all = rig({ a: program("plain", { tools }), b: program("plain", { enabled: false }) });
    const { servers, names } = all;
    await servers.ready(never);
    expect(names()).toEqual(["a__echo"]);
    expect(servers.status()[1]?.state).toBe("off");
  });

  test("what lies is left out with a reason, the rest is bounded and takes every provider's names", async () => {
    await using all = rig({ a: program("liar") });
    const { servers, names } = all;
    await servers.ready(never);
    expect(names()).toHaveLength(4);
    expect(JSON.stringify(servers.schemas)).not.toMatch(/hunter2|AKIA/);
    for (const { name, description, parameters } of servers.schemas) {
      expect(name).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
      expect(description.length).toBeLessThan(1100);
      expect(description).not.toMatch(/[\p{C}]/u);
      expect(JSON.stringify(parameters).length).toBeLessThan(20_000);
      expect(JSON.stringify(parameters)).not.toContain("$ref");
      expect(parameters["type"]).toBe("object");
    }
    const rows = (await serverRows(servers)).join("\n");
    expect(rows).toContain("listed twice");
  });
});

describe("one bad server", () => {
  test.each([
    ["hang", "not answered"],
    ["hang-list", "not answered"],
    ["crash", "cannot open the database"],
    ["not-a-list", "no list of tools"],
    ["huge-line", "8 MB"],
    ["flood", ""],
  ])("%s: the others are offered and work, and nothing waits longer than it may", async (mode, why) => {
    await using all = rig({ bad: program(mode, { start_timeout: 300 }), good: program("plain") });
    const { servers, notices, names } = all;
    await servers.ready(AbortSignal.timeout(10_000));
    expect(names()).toContain("good__echo");
    expect((await call(servers, "good__echo", { text: "hi" })).result).toContain("echo: hi");
    if (why !== "") await until(() => notices.join("\n").includes(why), why);
    expect(notices.join("\n")).not.toMatch(/[\u001b]/);
  });

  test("a server that buddy gave up was reported as one that had ended by itself", async () => {
    await using all = rig({ bad: program("old") });
    await all.servers.ready(never);
    expect(all.notices.join("\n")).toContain("1999-01-01");
    expect(all.notices.join("\n")).not.toContain("ended");
  });

  test("a server that ended before it was asked anything: closing it then does not hide the reason", async () => {
    const read = () => ({}) as never;
    const argv = ["sh", "-c", "echo cannot open the database >&2; exit 3"];
    const one = new ProgramTransport({ argv, env: { PATH: process.env["PATH"]! }, cwd: root, read });
    await one.start();
    await one.over;
    await expect(one.send({ jsonrpc: "2.0", method: "x" })).rejects.toThrow("exit code 3");
    await one.close();
    expect(one.ended).toBe("exit code 3: cannot open the database");
  });

  test("a program that is missing is named", async () => {
    await using all = rig({ bad: settings({ command: ["no-such-program-of-buddy"] }) });
    const { servers, notices } = all;
    await servers.ready(never);
    expect(notices.join("\n")).toContain("no-such-program-of-buddy");
  });

  test.each(["garbage", "flood-stderr", "asks-back"])("%s is borne", async (mode) => {
    await using all = rig({ a: program(mode) });
    const { servers, names } = all;
    await servers.ready(never);
    expect(names()).toContain("a__echo");
    expect((await call(servers, "a__echo", { text: "x" })).ok).toBe(true);
  });

  test("a list of endless pages comes to an end", async () => {
    await using all = rig({ a: program("pages", { start_timeout: 60_000 }) });
    const { servers, names } = all;
    await servers.ready(never);
    expect(names()).toEqual(["a__echo", "a__look"]);
  });

  test("one that ends during a call fails that call, and is started again for the next; not for ever", async () => {
    await using all = rig({ a: program("crash-on-call") });
    const { servers, notices } = all;
    await servers.ready(never);
    for (let round = 0; round < 3; round++) await expect(call(servers, "a__echo")).rejects.toThrow();
    await until(() => notices.filter((text) => text.includes("exit code 7")).length >= 3, "three ends");
    await expect(call(servers, "a__echo")).rejects.toThrow(buddyError("tool", "MCP server a", "3"));
  });
});

describe("a call", () => {
  test("that gets no answer ends with its time-out, or with the operator's signal", async () => {
    await using all = rig({ a: program("no-answer", { timeout: 300 }) });
    const { servers } = all;
    await servers.ready(never);
    await expect(call(servers, "a__echo")).rejects.toThrow();
    const stop = new AbortController();
    const running = call(servers, "a__echo", {}, { signal: stop.signal });
    stop.abort(new DOMException("stop", "AbortError"));
    await expect(running).rejects.toThrow();
  });

  test("reports progress, not all of it, and without control characters", async () => {
    await using all = rig({ a: program("progress") });
    const { servers } = all;
    await servers.ready(never);
    const seen: string[] = [];
    await call(servers, "a__echo", {}, { emit: ({ text }) => seen.push(text) });
    expect(seen.length).toBeGreaterThan(0);
    expect(seen.length).toBeLessThan(50);
    expect(seen.join("")).not.toContain("\u001b");
  });

  test("that floods is cut off, and buddy stays responsive", async () => {
    await using all = rig({ a: program("flood-on-call") });
    const { servers, notices } = all;
    await servers.ready(never);
    let turns = 0;
    const clock = setInterval(() => turns++, 10);
    await expect(call(servers, "a__echo")).rejects.toThrow();
    clearInterval(clock);
    expect(turns).toBeGreaterThan(3);
    await until(() => notices.join("\n").includes("too much in a short time"), "the reason");
  });

  test("with a huge result keeps to its budget; one without sense is still a result", async () => {
    await using all = rig({
      huge: program("huge-result"),
      deep: program("deep-result"),
      bad: program("bad-result"),
      err: program("error"),
    });
    const { servers } = all;
    await servers.ready(never);
    const { result } = await call(servers, "huge__echo");
    expect(String(result).length).toBeLessThan(4500);
    expect(String(result)).toContain("tail");
    expect(String((await call(servers, "deep__echo")).result)).toContain("too deeply");
    expect((await call(servers, "bad__echo")).ok).toBe(true);
    expect(await call(servers, "err__echo")).toMatchObject({ ok: false, outcome: "failed" });
  });

  test("the server gets none of buddy's secrets, and the variables that its table names", async () => {
    hideFromChildren(["BUDDY_TEST_SECRET"]);
    process.env["BUDDY_TEST_SECRET"] = "hidden-value";
    process.env["BUDDY_API_KEY"] = "hidden-key";
    try {
      await using all = rig({ a: program("env", { env: { OWN: "v-${HOME}" } }) });
      const { servers } = all;
      await servers.ready(never);
      const { result } = await call(servers, "a__echo", {}, { budget: 100_000 });
      expect(String(result)).not.toContain("hidden-");
      expect(String(result)).toContain(`v-${process.env["HOME"]}`);
    } finally {
      delete process.env["BUDDY_TEST_SECRET"];
      delete process.env["BUDDY_API_KEY"];
    }
  });

  test("a variable that is not set is named", async () => {
    await using all = rig({ a: program("plain", { env: { A: "${BUDDY_TEST_UNSET}" } }) });
    const { servers, notices } = all;
    await servers.ready(never);
    expect(notices.join("\n")).toContain("BUDDY_TEST_UNSET");
  });
});

describe("the end", () => {
  test.each(["plain", "stubborn", "hang"])("no process of %s is left, nor of what it started", async (mode) => {
    const file = join(root, `pids-${count++}`);
    {
      await using one = rig({ a: program(mode, { start_timeout: 500 }, file) });
      await one.servers.ready(never);
      await until(() => existsSync(file) && readFileSync(file, "utf8").includes(" "), "its pids");
    }
    const pids = readFileSync(file, "utf8").split(" ").map(Number);
    await until(() => pids.every((pid) => !isAlive(pid)), "the end of its processes");
  });
});

describe("a server says", () => {
  test("what it is, and what it has beside tools", async () => {
    await using connection = await connect("plain");
    expect(connection.about).toBe("test [31m 1");
    expect(await connection.resources()).toEqual([{ name: "demo://one", about: "" }]);
    expect(await connection.prompts()).toEqual([{ name: "ask", about: "" }]);
  });
});

describe("real servers", () => {
  const bin = (name: string) => join(import.meta.dir, "../../node_modules/.bin", name);

  test("@modelcontextprotocol/server-everything and server-filesystem", async () => {
    const directory = mkdtempSync(join(root, "served-"));
    await Bun.write(join(directory, "note.txt"), "hello from a file\n");
    await using all = rig({
      everything: settings({ command: [process.execPath, bin("mcp-server-everything")] }),
      files: settings({ command: [process.execPath, bin("mcp-server-filesystem"), directory] }),
    });
    const { servers, names } = all;
    await servers.ready(never);
    expect(names()).toContain("everything__get-sum");
    expect((await call(servers, "everything__get-sum", { a: 2, b: 40 })).result).toContain("42");
    const image = await call(servers, "everything__get-tiny-image", {}, { seesImages: true });
    expect(image.images?.[0]?.type).toBe("image/png");
    const read = await call(servers, "files__read_text_file", { path: join(directory, "note.txt") });
    expect(read.result).toContain("hello from a file");
    const outside = await call(servers, "files__read_text_file", { path: "/etc/hostname" });
    expect(outside.ok).toBe(false);
    expect(servers.find("files__read_text_file")?.tool.readOnly).toBe(true);
    expect(servers.find("files__write_file")?.tool.readOnly).toBe(false);
  });

  test("server-everything over streamable HTTP", async () => {
    const port = freePort();
    const child = Bun.spawn([process.execPath, bin("mcp-server-everything"), "streamableHttp"], {
      env: { ...process.env, PORT: String(port) },
      stdout: "ignore",
      stderr: "ignore",
    });
    try {
      const url = `http://127.0.0.1:${port}/mcp`;
      await until(async () => (await fetch(url).catch(() => undefined)) !== undefined, "the server");
      await using all = rig({ web: settings({ url }) });
      const { servers, notices } = all;
      await servers.ready(never);
      expect(notices.slice(1)).toEqual([]);
      expect((await call(servers, "web__echo", { message: "over http" })).result).toContain("over http");
    } finally {
      child.kill();
      await child.exited;
    }
  });
});

function freePort(): number {
  const server = Bun.serve({ port: 0, fetch: () => new Response() });
  const { port } = server;
  server.stop(true);
  return port ?? 0;
}

describe("schemas", () => {
  test.each([
    [undefined, { type: "object", properties: {} }],
    [
      { type: "object", $schema: "x", additionalProperties: false },
      { type: "object", properties: {} },
    ],
    [
      { type: "object", properties: { a: { type: ["string", "null"] } }, required: ["a", "zz"] },
      { type: "object", properties: { a: { type: "string" } }, required: ["a"] },
    ],
    [
      { type: "object", properties: { a: { $ref: "#/$defs/A" } }, $defs: { A: { const: "x", title: "T" } } },
      { type: "object", properties: { a: { description: "T", enum: ["x"], type: "string" } } },
    ],
    [
      { type: "object", properties: { a: { oneOf: [{ type: "string" }, { type: "null" }] } } },
      { type: "object", properties: { a: { type: "string" } } },
    ],
    [
      { type: "object", properties: { a: { oneOf: [{ type: "string" }, { type: "integer" }] } } },
      { type: "object", properties: { a: { anyOf: [{ type: "string" }, { type: "integer" }] } } },
    ],
    [
      { allOf: [{ properties: { a: { type: "string" } }, required: ["a"] }], properties: { b: { type: "array" } } },
      { type: "object", properties: { b: { type: "array", items: {} }, a: { type: "string" } }, required: ["a"] },
    ],
    [{ anyOf: [{ type: "object" }] }, { type: "object", properties: {} }],
    [
      { type: "object", properties: { "bad name": {}, ok: true } },
      { type: "object", properties: { ok: {} } },
    ],
  ])("%j", (raw, expected) => {
    expect(inputSchema(raw)).toEqual(expected);
  });

  test("names that differ only in what cannot be offered stay apart", () => {
    const raw = ["a.b", "a/b", "a_b"].map((name) => ({ name, inputSchema: {} }));
    const { tools, problems } = offeredTools("s", raw);
    expect(new Set(tools.map(({ offered }) => offered)).size).toBe(3);
    expect(problems).toEqual([]);
  });
});
