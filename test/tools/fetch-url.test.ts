import { afterAll, beforeAll, expect, test } from "bun:test";
import { safeFetch } from "../../src/policy/web/safe-fetch.ts";
import { fetchUrlTool } from "../../src/tools/fetch-url.ts";
import type { ToolResult } from "../../src/tools/tool.ts";
import { localFetch, runTool } from "../support/web-tool.ts";

let site: ReturnType<typeof Bun.serve>;
let requests = 0;
const LONG = Array.from({ length: 3000 }, (_, i) => `line ${i} é`).join("\n");

beforeAll(() => {
  site = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: answer });
});
afterAll(() => site.stop(true));

function answer(request: Request): Response {
  requests++;
  const { pathname } = new URL(request.url);
  const html = { headers: { "content-type": "text/html; charset=utf-8" } };
  if (pathname === "/page")
    return new Response("<title>A page</title><h1>Hi</h1><p>See <a href=/other>other</a></p>", html);
  if (pathname === "/json") return Response.json({ a: [1, 2], b: "<x>" });
  if (pathname === "/long") return new Response(LONG);
  if (pathname === "/png")
    return new Response(new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0]), { headers: { "content-type": "image/png" } });
  if (pathname === "/elf") return new Response(new Uint8Array([0x7f, 0x45, 0x4c, 0x46, 0, 1]));
  if (pathname === "/app") return new Response("<title>App</title><div id=root></div><script>run()</script>", html);
  if (pathname === "/moved") return new Response(null, { status: 301, headers: { location: "/page" } });
  if (pathname === "/inside")
    return new Response(null, { status: 302, headers: { location: "http://169.254.169.254/latest" } });
  if (pathname === "/empty") return new Response("", { headers: { "content-type": "text/plain" } });
  if (pathname === "/huge")
    return new Response("x".repeat(6 * 1024 * 1024), { headers: { "content-type": "text/plain" } });
  return new Response("<p>nothing here</p>", { status: 404, headers: { "content-type": "text/html" } });
}

const tool = fetchUrlTool({ fetch: localFetch, rules: { allow: ["site.test"], deny: [] }, timeoutMs: 10_000 });
const at = (path: string): string => `http://site.test:${site.port}${path}`;
const get = (path: string, offset?: number): Promise<ToolResult> =>
  runTool(tool, { url: at(path), ...(offset === undefined ? {} : { offset }) });

test("a page as readable text, with where it came from", async () => {
  expect(await get("/moved")).toMatchObject({
    ok: true,
    outcome: "fetched",
    result: `${at("/page")} (HTTP 200, text/html)\nTitle: A page\n\n# Hi\n\nSee [other](${at("/other")})`,
  });
});

test("JSON and text as they are", async () => {
  expect((await get("/json")).result).toEndWith('\n\n{"a":[1,2],"b":"<x>"}');
  expect((await get("/empty")).result).toEndWith("(empty)");
});

test("binary content is described, not dumped", async () => {
  const png = await get("/png");
  expect(png).toMatchObject({ ok: true, outcome: "binary" });
  expect(png.result).toContain("image/png, 5 bytes");
  expect((await get("/elf")).result).toContain("not text");
});

test("a page without text says why", async () => {
  expect((await get("/app")).result).toContain("may need JavaScript");
});

test("an HTTP error is reported, with the text of its page", async () => {
  const missing = await get("/none");
  expect(missing).toMatchObject({ ok: false, outcome: "http-404" });
  expect(missing.result).toContain("nothing here");
});

test("a long text is cut within the budget and can be read on without another request", async () => {
  const first = String((await get("/long")).result);
  expect(first.length).toBeLessThan(8200);
  const before = requests;
  let whole = first.slice(first.indexOf("\n\n") + 2).split("\n[")[0] ?? "";
  for (let cut = first; ;) {
    const [, offset] = /bytes left out here; continue with fetch_url and offset=(\d+)\]/.exec(cut) ?? [];
    if (offset === undefined) break;
    cut = String((await get("/long", Number(offset))).result);
    whole += cut.slice(cut.indexOf("\n\n") + 2).split("\n[")[0];
  }
  expect(whole).toBe(LONG);
  expect(requests).toBe(before);
  expect((await get("/long", 1_000_000)).result).toContain("has only");
});

test("a body over the limit says how much of it was read", async () => {
  expect((await get("/huge")).result).toContain("only the first 5242880 bytes were read");
});

test("what the policy refuses is a result that says so, redirects included", async () => {
  for (const url of ["http://127.0.0.1/", "file:///etc/passwd", "http://evil.test/", at("/inside")]) {
    const refused = await runTool(tool, { url });
    expect([url, refused.ok, refused.outcome]).toEqual([url, false, "denied"]);
  }
  expect((await runTool(tool, { url: at("/inside") })).result).toContain("redirected to http://169.254.169.254/latest");
});

test("what cannot be reached is a result; a stopped call throws", async () => {
  const nowhere = fetchUrlTool({
    fetch: (url, o) => safeFetch(url, { ...o, environment: {}, resolve: () => Promise.reject(new Error("ENOTFOUND")) }),
    rules: { allow: [], deny: [] },
    timeoutMs: 1000,
  });
  expect(await runTool(nowhere, { url: "https://example.com/" })).toMatchObject({ ok: false, outcome: "failed" });
  await expect(
    runTool(tool, { url: at("/page") }, { signal: AbortSignal.abort(new Error("stopped")) }),
  ).rejects.toThrow("stopped");
});

test("notices of the fetch reach the operator", async () => {
  const notices: string[] = [];
  const socks = fetchUrlTool({
    fetch: (url, o) => localFetch(url, o).then((page) => (o.onNotice?.("a proxy is used"), page)),
    rules: { allow: ["site.test"], deny: [] },
    timeoutMs: 1000,
  });
  await runTool(socks, { url: at("/page") }, { notices });
  expect(notices).toEqual(["a proxy is used"]);
});

test("the intent names the address; arguments are checked", () => {
  expect(tool.intent({ url: "https://x.test/" })).toEqual({
    kind: "fetch",
    title: "https://x.test/",
    url: "https://x.test/",
  });
  expect(tool.input.safeParse({ url: "" }).success).toBe(false);
  expect(tool.input.safeParse({ url: "https://x", offset: -1 }).success).toBe(false);
  expect(tool.input.safeParse({ url: "https://x", method: "POST" }).success).toBe(false);
});
