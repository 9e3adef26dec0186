import { afterAll, beforeAll, expect, test } from "bun:test";
import { webSearchTool } from "../../src/tools/web-search.ts";
import type { ToolResult } from "../../src/tools/tool.ts";
import { safeFetch } from "../../src/policy/web/safe-fetch.ts";
import { localFetch, runTool } from "../support/web-tool.ts";

let engine: ReturnType<typeof Bun.serve>;
let reply: (request: Request) => Response;
let asked: { method: string; url: string; headers: Headers } | undefined;

beforeAll(() => {
  engine = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch(request) {
      asked = { method: request.method, url: request.url, headers: new Headers(request.headers) };
      return reply(request);
    },
  });
});
afterAll(() => engine.stop(true));

function row(title: string, href: string, snippet = "", extra = "web-result"): string {
  return `<div class="result results_links results_links_deep ${extra}"><div class="links_main links_deep result__body"><h2 class="result__title"><a rel="nofollow" class="result__a" href="${href}">${title}</a></h2><div class="result__extras"><a class="result__url" href="${href}">x</a></div><a class="result__snippet" href="${href}">${snippet}</a><div class="clear"></div></div></div>`;
}

const wrapped = (url: string): string => `//duckduckgo.com/l/?uddg=${encodeURIComponent(url)}&amp;rut=abc123`;
const page = (...rows: string[]): string =>
  `<!DOCTYPE html><html><body><div class="zci-wrapper"><div class="zci">Instant answer</div></div><div class="serp__results"><div id="links" class="results">${rows.join("\n")}</div></div></body></html>`;

async function search(body: string, status = 200, query = "bun runtime"): Promise<ToolResult> {
  reply = () => new Response(body, { status, headers: { "content-type": "text/html; charset=UTF-8" } });
  const tool = webSearchTool({
    fetch: localFetch,
    blockedDomains: [],
    timeoutMs: 5000,
    endpoint: `http://127.0.0.1:${engine.port}/html/`,
  });
  return runTool(tool, { query });
}

test("results: real addresses, titles and snippets as text; ads, doubles and dead links left out", async () => {
  const found = await search(
    page(
      row("Buy now", "https://duckduckgo.com/y.js?ad_domain=shop.example&amp;u3=x", "ad", "result--ad"),
      row("Hidden ad", "//duckduckgo.com/y.js?u3=1", "ad"),
      row("Bun &amp; <b>you</b>", wrapped("https://bun.example/docs?a=1&b=2#c"), "A <b>fast</b>\n runtime"),
      row("Direct", "https://direct.example/", "plain"),
      row("Again", wrapped("https://direct.example/"), "double"),
      row("Script", wrapped("javascript:alert(1)"), "bad"),
      row("Empty", "//duckduckgo.com/l/?rut=1", "bad"),
    ),
  );
  expect(found).toMatchObject({ ok: true, outcome: "found" });
  expect(found.result).toEqual({
    query: "bun runtime",
    results: [
      { title: "Bun & you", url: "https://bun.example/docs?a=1&b=2#c", snippet: "A fast runtime" },
      { title: "Direct", url: "https://direct.example/", snippet: "plain" },
    ],
  });
});

test("at most eight results, fewer when the budget is small", async () => {
  const rows = Array.from({ length: 10 }, (_, i) => row(`R${i}`, wrapped(`https://r${i}.example/`), "s".repeat(600)));
  const all = (await search(page(...rows))).result as { results: { snippet: string }[] };
  expect(all.results).toHaveLength(8);
  expect(all.results[0]?.snippet).toHaveLength(500);
  const tool = webSearchTool({
    fetch: localFetch,
    blockedDomains: [],
    timeoutMs: 5000,
    endpoint: `http://127.0.0.1:${engine.port}/`,
  });
  const few = (await runTool(tool, { query: "x" }, { budget: 1500 })).result as { results: unknown[] };
  expect(few.results).toHaveLength(2);
});

test("the query is sent as the page expects, by GET, looking like a browser", async () => {
  await search(page(row("x", "https://x.example/")), 200, "a & b=c ü");
  expect(asked?.method).toBe("GET");
  expect(new URL(asked?.url ?? "").searchParams.get("q")).toBe("a & b=c ü");
  expect(asked?.headers.get("user-agent")).toContain("Mozilla/5.0");
  expect(asked?.headers.get("cookie")).toBeNull();
});

test("really no results", async () => {
  for (const body of [
    '<div class="no-results">No results.</div>',
    '<div class="result result--no-result"><div class="no-results__message">x</div></div>',
  ])
    expect(await search(page(body))).toMatchObject({ ok: true, outcome: "no-results", result: { results: [] } });
  expect(await search(page(row("Ad", "https://duckduckgo.com/y.js?x", "", "result--ad")))).toMatchObject({
    outcome: "no-results",
  });
});

test("blocked is reported as blocked, never as no results", async () => {
  const modal =
    '<div class="anomaly-modal__mask"><div class="anomaly-modal__title">Unfortunately, bots use DuckDuckGo too.</div></div>';
  const pages: [string, number][] = [
    [modal, 202],
    [modal, 200],
    ["", 202],
    ["<html></html>", 403],
    ['<form action="/wr.do?x=1"></form>', 200],
    [`${modal}<div class="no-results"></div>`, 200],
    ["slow down", 429],
  ];
  for (const [body, status] of pages) {
    const blocked = await search(body, status);
    expect(blocked).toMatchObject({ ok: false, outcome: "failed" });
    expect(String(blocked.result)).toContain("blocked");
    expect(String(blocked.result)).toContain("fetch_url");
  }
});

test("a redirect to the old anti-bot page is reported as blocked", async () => {
  reply = (request) =>
    request.url.includes("wr.do")
      ? new Response("checking")
      : new Response(null, { status: 302, headers: { location: "/wr.do?u=1" } });
  const tool = webSearchTool({
    fetch: localFetch,
    blockedDomains: [],
    timeoutMs: 5000,
    endpoint: `http://127.0.0.1:${engine.port}/html/`,
  });
  expect(String((await runTool(tool, { query: "x" })).result)).toContain("blocked");
});

test("a page that no longer parses and a failing server are reported as such", async () => {
  for (const body of [
    "",
    "<html><body><div class=new-design><a href=https://x.example/>x</a></div></body></html>",
    "{}",
    page(row("", "https://x.example/")),
  ])
    expect(String((await search(body)).result)).toContain("no longer parses");
  expect(String((await search("oops", 500)).result)).toContain("HTTP 500");
});

test("the endpoint obeys the URL policy unless the operator set it", async () => {
  const blocked = webSearchTool({ fetch: localFetch, blockedDomains: ["duckduckgo.com"], timeoutMs: 1000 });
  expect(String((await runTool(blocked, { query: "x" })).result)).toContain("fetch_blocked_domains");
  const rebound = webSearchTool({ fetch: localFetch, blockedDomains: [], timeoutMs: 1000 });
  expect(String((await runTool(rebound, { query: "x" })).result)).toContain("loopback");
  const offline = webSearchTool({
    fetch: (url, o) => safeFetch(url, { ...o, environment: {}, resolve: () => Promise.reject(new Error("EAI_AGAIN")) }),
    blockedDomains: [],
    timeoutMs: 1000,
  });
  expect(String((await runTool(offline, { query: "x" })).result)).toContain("EAI_AGAIN");
});

test("an address that is not a URL is reported; an empty one is the usual", async () => {
  const wrong = webSearchTool({ fetch: localFetch, blockedDomains: [], timeoutMs: 1000, endpoint: "not a url" });
  expect(wrong.intent({ query: "x" })).toMatchObject({ url: "not a url" });
  expect(String((await runTool(wrong, { query: "x" })).result)).toContain("not a URL");
  const empty = webSearchTool({ fetch: localFetch, blockedDomains: [], timeoutMs: 1000, endpoint: "" });
  expect(empty.intent({ query: "x" })).toMatchObject({ url: "https://html.duckduckgo.com/html/?q=x" });
});

test("arguments and intent", () => {
  const tool = webSearchTool({ fetch: localFetch, blockedDomains: [], timeoutMs: 1000 });
  expect(tool.intent({ query: "a b" })).toEqual({
    kind: "fetch",
    title: "a b",
    url: "https://html.duckduckgo.com/html/?q=a+b",
    search: true,
  });
  expect(tool.input.safeParse({ query: "  " }).success).toBe(false);
});
