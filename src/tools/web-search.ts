/** web_search: DuckDuckGo's HTML page, read into results, or the reason why there are none. */
import { z } from "zod";
import type { FetchOutcome, SafeFetch } from "../policy/web/safe-fetch.ts";
import type { Tool, ToolContext, ToolResult } from "./tool.ts";
import { clip, collapseSpaces } from "../lib/text.ts";
import { limitNesting } from "./page/html-shape.ts";

export interface SearchSettings {
  readonly fetch: SafeFetch;
  /** fetch_blocked_domains; the allowlist does not apply, because the model does not choose this address. */
  readonly blockedDomains: readonly string[];
  readonly timeoutMs: number;
  /** The operator's own server that answers like DuckDuckGo's HTML page; its address may be private. */
  readonly endpoint?: string;
}

const input = z.strictObject({ query: z.string().trim().min(1).max(500) });

export type WebSearchInput = z.infer<typeof input>;

export function webSearchTool(settings: SearchSettings): Tool<WebSearchInput> {
  const base = URL.parse(settings.endpoint || ENDPOINT);
  const address = (query: string): string => {
    if (base === null) return settings.endpoint ?? ENDPOINT;
    const url = new URL(base);
    url.searchParams.set("q", query);
    return url.href;
  };
  return {
    name: "web_search",
    description: `Search the web (DuckDuckGo): up to ${MOST} results with title, url, snippet. Read one with fetch_url.`,
    input,
    budget: "search",
    intent: ({ query }) => ({ kind: "fetch", title: query, url: address(query), search: true }),
    run: async ({ query }, context) =>
      base === null
        ? failed(`The search address that the operator set is not a URL: ${settings.endpoint}.`)
        : run(query, address(query), context, settings, base),
  };
}

async function run(
  query: string,
  url: string,
  context: ToolContext,
  settings: SearchSettings,
  base: URL,
): Promise<ToolResult> {
  const own = settings.endpoint ? [base.hostname] : [];
  const outcome = await settings.fetch(url, {
    rules: { allow: own, deny: settings.blockedDomains },
    timeoutMs: settings.timeoutMs,
    signal: context.signal,
    maxBytes: MAX_BYTES,
    headers: BROWSER,
    onNotice: (text) => context.emit({ stream: "info", text }),
  });
  if (outcome.kind !== "page") return failed(`The search failed: ${outcome.why}.`);
  return read(query, outcome, context.budget);
}

async function read(query: string, page: FetchOutcome & { kind: "page" }, budget: number): Promise<ToolResult> {
  const found = await searchResults(new TextDecoder().decode(page.body), page.url);
  if (found.kind === "results" || found.kind === "none") {
    const results = within(found.kind === "results" ? found.results.slice(0, MOST) : [], budget);
    return {
      ok: true,
      outcome: results.length === 0 ? "no-results" : "found",
      result: {
        query,
        results,
        ...(results.length === 0 ? { note: "DuckDuckGo has no results for this query." } : {}),
      },
      display: results.length === 0 ? "no results" : results.map((each) => `${each.title} ${each.url}`).join("\n"),
    };
  }
  if (found.kind === "blocked" || BLOCKED_STATUS.has(page.status))
    return failed(
      `DuckDuckGo blocked this search as automated (HTTP ${page.status}); this does not mean that there are no results.`,
      "Wait a few minutes before searching again. ",
    );
  if (page.status >= 400) return failed(`DuckDuckGo answered with HTTP ${page.status}.`);
  return failed(
    `DuckDuckGo's page no longer parses: neither results nor its "no results" note were found, so nothing is known about the results.`,
  );
}

function within(results: readonly SearchResult[], budget: number): readonly SearchResult[] {
  const kept = [...results];
  while (kept.length > 1 && JSON.stringify(kept).length > budget) kept.pop();
  return kept;
}

function failed(display: string, advice = ""): ToolResult {
  return { ok: false, outcome: "failed", result: `${display} ${advice}${ELSEWHERE}`, display };
}

const ENDPOINT = "https://html.duckduckgo.com/html/";
const MOST = 8;
const MAX_BYTES = 2 * 1024 * 1024;
/** 202 is the anti-bot page, 403 its older form. */
const BLOCKED_STATUS: ReadonlySet<number> = new Set([202, 403, 418, 429]);
const ELSEWHERE = "Meanwhile fetch_url can read a page whose address you know.";
/** The server refuses what does not look like a browser. */
const BROWSER = {
  "User-Agent": "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0",
  Accept: "text/html,application/xhtml+xml;q=0.9,*/*;q=0.5",
  "Accept-Language": "en-US,en;q=0.8",
};

// Reads DuckDuckGo's HTML page: results without ads, with their real addresses, or why there are none.

export type SearchPage =
  | { readonly kind: "results"; readonly results: readonly SearchResult[] }
  /** The page says that there are no results. */
  | { readonly kind: "none" }
  /** The anti-bot page. */
  | { readonly kind: "blocked" }
  /** The page has changed. */
  | { readonly kind: "unknown" };

export interface SearchResult {
  readonly title: string;
  readonly url: string;
  readonly snippet: string;
}

async function searchResults(html: string, url: string): Promise<SearchPage> {
  const { load } = await import("cheerio/slim");
  const $ = load(`<page>${limitNesting(html)}`);
  const results = new Map<string, SearchResult>();
  let rows = 0;
  for (const link of $("a.result__a").toArray()) {
    rows++;
    const row = $(link).closest(".result");
    if (row.is(".result--ad, .result--sponsored")) continue;
    const target = realAddress($(link).attr("href") ?? "");
    const title = clip(collapseSpaces($(link).text()), 200);
    if (target === undefined || title === "" || results.has(target)) continue;
    results.set(target, {
      title,
      url: target,
      snippet: clip(collapseSpaces(row.find(".result__snippet").first().text()), 500),
    });
  }
  if (results.size > 0) return { kind: "results", results: [...results.values()] };
  if ($("[class*=anomaly-modal], [class*=anomaly_modal], form[action*='wr.do'], #challenge-form").length > 0)
    return { kind: "blocked" };
  if (/\/wr\.do\b/.test(url) || $("meta[http-equiv=refresh][content*='wr.do']").length > 0) return { kind: "blocked" };
  if ($(".no-results, .result--no-result").length > 0) return { kind: "none" };
  // Only advertisements: no results. Rows without usable links: the page has changed.
  return rows > 0 && $(".result--ad a.result__a").length === rows ? { kind: "none" } : { kind: "unknown" };
}

/** Unwraps `/l/?uddg=`; undefined for advertisements (`/y.js`) and what is not a web address. */
function realAddress(href: string): string | undefined {
  let url = URL.parse(href, "https://duckduckgo.com/");
  for (
    let wrapped = 0;
    wrapped < 3 && url !== null && isOwn(url) && url.pathname.replace(/\/+$/, "") === "/l";
    wrapped++
  )
    url = URL.parse(url.searchParams.get("uddg") ?? "");
  if (url === null || !/^https?:$/.test(url.protocol) || (isOwn(url) && /^\/(?:y\.js|l\/?$)/.test(url.pathname)))
    return undefined;
  return url.href;
}

function isOwn(url: URL): boolean {
  return url.hostname === "duckduckgo.com" || url.hostname.endsWith(".duckduckgo.com");
}
