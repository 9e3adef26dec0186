/** MCP servers over HTTP: headers, sign-in, redirects, outages. */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { statSync } from "node:fs";
import { join } from "node:path";
import { mcpSettings, type McpSettings } from "../../src/config/schema.ts";
import { connectServer, WaitingForBrowser } from "../../src/extend/mcp/connection.ts";
import { SignInStore } from "../../src/extend/mcp/oauth-sign-in.ts";
import { BuddyError } from "../../src/lib/errors.ts";
import { startWebServer } from "../support/mcp-web-server.ts";
import { temporaryDirectory } from "../support/temporary.ts";
import { until } from "../support/until.ts";

setDefaultTimeout(60_000);

const root = temporaryDirectory();
let count = 0;

const DEFAULTS = Object.fromEntries(Object.entries(mcpSettings()).map(([key, { fallback }]) => [key, fallback]));
const file = () => join(root, `auth-${count++}.json`);
const callOptions = { signal: new AbortController().signal, timeoutMs: 5000 };

function options(part: Partial<McpSettings>, path = file()) {
  const settings = { ...DEFAULTS, ...part } as McpSettings;
  return { name: "web", settings, cwd: root, env: { KEY: "k-123" }, signIns: new SignInStore(path) };
}

async function failure(promise: Promise<unknown>): Promise<BuddyError> {
  const error = await promise.then(
    () => undefined,
    (one: unknown) => one,
  );
  if (!(error instanceof BuddyError)) throw new Error(`not a BuddyError: ${String(error)}`);
  return error;
}

describe("a server without a sign-in", () => {
  test("gets the headers of its table, from the environment", async () => {
    using web = startWebServer({ signIn: false });
    await using connection = await connectServer(options({ url: web.url, headers: { "X-Key": "v ${KEY}" } }));
    expect(await connection.listTools()).toHaveLength(1);
    expect(await connection.call("ping", {}, callOptions)).toMatchObject({ content: [{ text: "pong" }] });
    expect(new Set(web.seen.map(({ key }) => key))).toEqual(new Set(["v k-123"]));
  });

  test("its headers never go to another host, and a redirect there is refused", async () => {
    using web = startWebServer({ signIn: false });
    using other = startWebServer({ signIn: false });
    web.answer = () => new Response(null, { status: 307, headers: { location: other.url } });
    const { message } = await failure(connectServer(options({ url: web.url, headers: { "X-Key": "${KEY}" } })));
    expect(message).toContain("redirects to");
    expect(other.seen).toEqual([]);
  });

  test.each([
    ["an error", () => new Response("no", { status: 500 })],
    ["a page", () => new Response("<html>", { headers: { "content-type": "text/html" } })],
    ["nonsense", () => new Response("{", { headers: { "content-type": "application/json" } })],
    [
      "an endless answer",
      () =>
        new Response(new ReadableStream({ pull: (to) => to.enqueue(new Uint8Array(1_000_000).fill(32)) }), {
          headers: { "content-type": "application/json" },
        }),
    ],
  ])("that answers with %s is an error that names it", async (_, answer) => {
    using web = startWebServer({ signIn: false });
    web.answer = answer;
    const { message } = await failure(connectServer(options({ url: web.url }), AbortSignal.timeout(10_000)));
    expect(message).toContain("MCP server web cannot be used");
  });

  test("that asks for no pause between requests for its messages is not asked again and again", async () => {
    using web = startWebServer({ signIn: false });
    const asked: number[] = [];
    web.answer = ({ method }) => {
      if (method !== "GET") return undefined;
      asked.push(performance.now());
      return new Response("retry: 0\nid: 1\ndata: \n\n", { headers: { "content-type": "text/event-stream" } });
    };
    await using _ = await connectServer(options({ url: web.url }));
    await until(() => asked.length > 1, "the next request");
    expect((asked[1] ?? 0) - (asked[0] ?? 0)).toBeGreaterThan(900);
  });

  test("that is not there is an error", async () => {
    const web = startWebServer({ signIn: false });
    web[Symbol.dispose]();
    expect((await failure(connectServer(options({ url: web.url })))).message).toContain("MCP server web");
  });
});

describe("a server that asks for a sign-in", () => {
  test("says how to sign in where no one can; the sign-in is kept for its owner, used, and renewed", async () => {
    using web = startWebServer({ signIn: true });
    const path = file();
    const before = await failure(connectServer(options({ url: web.url }, path)));
    expect(before).toMatchObject({ code: "auth", hint: "Run: buddy mcp login web" });
    let page: URL | undefined;
    const signIn = { redirectUri: "http://127.0.0.1:9/callback", state: "s1", onPage: (url: URL) => void (page = url) };
    const waiting = await connectServer({ ...options({ url: web.url }, path), signIn }).catch(
      (error: unknown) => error,
    );
    if (!(waiting instanceof WaitingForBrowser)) throw waiting;
    const back = await fetch(page!, { redirect: "manual" });
    const parameters = new URL(back.headers.get("location") ?? "").searchParams;
    expect(parameters.get("state")).toBe("s1");
    await waiting.finish(parameters);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    {
      await using connection = await connectServer(options({ url: web.url }, path));
      expect(connection.about).toBe("web 2");
    }
    // The server forgets the token: a new one is fetched without a person.
    web.tokens.push("another");
    await using again = await connectServer(options({ url: web.url }, path));
    expect(await again.listTools()).toHaveLength(1);
    expect(web.tokens.at(-1)).toBe("token-3");
  });

  test("a file of sign-ins that others can read is refused", async () => {
    using web = startWebServer({ signIn: true });
    const path = file();
    await Bun.write(path, "{}");
    Bun.spawnSync(["chmod", "644", path]);
    expect((await failure(connectServer(options({ url: web.url }, path)))).message).toContain("other users");
  });
});
