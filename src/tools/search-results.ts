/** Reads DuckDuckGo's HTML page: results without ads and with their real addresses, or what the page is instead. */
import { clip } from "../lib/graphemes.ts";
import { limitNesting } from "./page/limit-nesting.ts";

export type SearchPage =
  | { readonly kind: "results"; readonly results: readonly SearchResult[] }
  /** The page itself says so. */
  | { readonly kind: "none" }
  /** The anti-bot page. */
  | { readonly kind: "blocked" }
  /** Neither: the page has changed. */
  | { readonly kind: "unknown" };

export interface SearchResult {
  readonly title: string;
  readonly url: string;
  readonly snippet: string;
}

export async function searchResults(html: string, url: string): Promise<SearchPage> {
  const { load } = await import("cheerio/slim");
  const $ = load(`<page>${limitNesting(html)}`);
  const results = new Map<string, SearchResult>();
  let rows = 0;
  for (const link of $("a.result__a").toArray()) {
    rows++;
    const row = $(link).closest(".result");
    if (row.is(".result--ad, .result--sponsored")) continue;
    const target = realAddress($(link).attr("href") ?? "");
    const title = clip(squeeze($(link).text()), 200);
    if (target === undefined || title === "" || results.has(target)) continue;
    results.set(target, {
      title,
      url: target,
      snippet: clip(squeeze(row.find(".result__snippet").first().text()), 500),
    });
  }
  if (results.size > 0) return { kind: "results", results: [...results.values()] };
  if ($("[class*=anomaly-modal], [class*=anomaly_modal], form[action*='wr.do'], #challenge-form").length > 0)
    return { kind: "blocked" };
  if (/\/wr\.do\b/.test(url) || $("meta[http-equiv=refresh][content*='wr.do']").length > 0) return { kind: "blocked" };
  if ($(".no-results, .result--no-result").length > 0) return { kind: "none" };
  // rows that are all advertisements are an answer; rows that lead nowhere are not
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

function squeeze(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}
