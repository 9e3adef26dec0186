/** fetch_url: one page of the web as readable text, within the URL policy. */
import { z } from "zod";
import type { FetchOutcome, SafeFetch } from "../policy/safe-fetch.ts";
import type { UrlRules } from "../policy/urls.ts";
import { boundText } from "./bound-output.ts";
import { decodePage, mayBeText } from "./page/decode-page.ts";
import { htmlText } from "./page/html-text.ts";
import type { Tool, ToolContext, ToolResult } from "./tool.ts";

export interface FetchSettings {
  readonly fetch: SafeFetch;
  readonly rules: UrlRules;
  readonly timeoutMs: number;
}

const input = z.strictObject({
  url: z.string().min(1).describe("http or https"),
  offset: z.int().nonnegative().optional().describe("byte of the readable text to start at, to continue a cut page"),
});

export type FetchUrlInput = z.infer<typeof input>;

export function fetchUrlTool(settings: FetchSettings): Tool<FetchUrlInput> {
  const recent = new RecentPages();
  return {
    name: "fetch_url",
    description: "GET a web page as readable text (HTML converted, JSON and text as they are). Public addresses only.",
    input,
    budget: "page",
    intent: ({ url }) => ({ kind: "fetch", title: url, url }),
    run: (args, context) => run(args, context, settings, recent),
  };
}

async function run(
  { url, offset = 0 }: FetchUrlInput,
  context: ToolContext,
  settings: FetchSettings,
  recent: RecentPages,
): Promise<ToolResult> {
  // the rest of a page must not depend on whether it has changed meanwhile
  const known = offset > 0 ? recent.get(url) : undefined;
  if (known !== undefined) return present(known, url, offset, context);
  const outcome = await settings.fetch(url, {
    rules: settings.rules,
    timeoutMs: settings.timeoutMs,
    signal: context.signal,
    wants: (headers) => mayBeText(headers.get("content-type") ?? ""),
    onNotice: (text) => context.emit({ stream: "info", text }),
    mayVisit: context.mayVisit,
  });
  switch (outcome.kind) {
    case "refused":
      return {
        ok: false,
        outcome: "denied",
        result: `Not fetched: ${outcome.why}${outcome.url === url ? "" : ` (redirected to ${outcome.url})`}. Other spellings of the address are refused too; the operator can list the host in fetch_allowed_domains.`,
      };
    case "failed":
      return { ok: false, outcome: "failed", result: `Could not fetch ${outcome.url}: ${outcome.why}.` };
    case "page": {
      const page = await read(outcome);
      recent.set(url, page);
      return present(page, url, offset, context);
    }
  }
}

interface ReadPage {
  readonly heading: string;
  readonly text: string;
  readonly status: number;
  readonly binary: boolean;
}

async function read(page: FetchOutcome & { kind: "page" }): Promise<ReadPage> {
  const contentType = page.headers.get("content-type") ?? "";
  const decoded = decodePage(page.body, contentType);
  const { status } = page;
  const about = [`HTTP ${status}`, decoded.mime || "no content type"];
  if (decoded.kind === "binary") {
    const length = Number(page.headers.get("content-length") ?? (page.cut ? Number.NaN : page.body.length));
    about.push(Number.isNaN(length) ? "size unknown" : `${length} bytes`);
    const text = "This is not text, so it is not shown. To use it, download it on the target with run_shell.";
    return { heading: `${page.url} (${about.join(", ")})`, text, status, binary: true };
  }
  if (page.cut) about.push(`only the first ${page.body.length} bytes were read`);
  const { title, text } =
    decoded.kind === "html" ? await htmlText(decoded.text, page.url) : { title: "", text: decoded.text };
  const heading = `${page.url} (${about.join(", ")})${title === "" ? "" : `\nTitle: ${title}`}`;
  const nothing = decoded.kind === "html" ? "(no readable text; the page may need JavaScript)" : "(empty)";
  return { heading, text: text.trim() === "" ? nothing : text, status, binary: false };
}

function present(page: ReadPage, url: string, offset: number, { budget, mask }: ToolContext): ToolResult {
  const bytes = offset === 0 ? undefined : Buffer.from(page.text);
  if (bytes !== undefined && offset >= bytes.length)
    return { ok: false, outcome: "failed", result: `The readable text of ${url} has only ${bytes.length} bytes.` };
  // the offset may point into a character; what is left of it is dropped
  const rest =
    bytes === undefined
      ? page.text
      : bytes
          .subarray(offset)
          .toString()
          .replace(/^\ufffd+/, "");
  const room = Math.max(budget - page.heading.length, budget >> 1);
  const text = boundText(rest, room, (at) => `continue with fetch_url and offset=${offset + at}`, mask);
  return {
    ok: page.status < 400,
    outcome: page.status >= 400 ? `http-${page.status}` : page.binary ? "binary" : "fetched",
    result: `${page.heading}\n\n${text}`,
    display: page.heading,
  };
}

/** The last few pages, so that a cut one can be read on. */
class RecentPages {
  readonly #pages = new Map<string, ReadPage>();

  get(url: string): ReadPage | undefined {
    return this.#pages.get(url);
  }

  set(url: string, page: ReadPage): void {
    this.#pages.delete(url);
    this.#pages.set(url, page);
    const [oldest] = this.#pages.keys();
    if (this.#pages.size > KEPT && oldest !== undefined) this.#pages.delete(oldest);
  }
}

const KEPT = 4;
