/** fetch_url: one page of the web as readable text, within the URL policy. */
import { z } from "zod";
import type { FetchOutcome, SafeFetch } from "../policy/web/safe-fetch.ts";
import type { UrlRules } from "../policy/web/urls.ts";
import { boundText } from "./bound-output.ts";
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

type FetchUrlInput = z.infer<typeof input>;

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
  // The rest of a page comes from the same version of it.
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
    case "refused": {
      const why = `${outcome.why}${outcome.url === url ? "" : ` (redirected to ${outcome.url})`}`;
      return {
        ok: false,
        outcome: "denied",
        result: `Not fetched: ${why}. Other spellings of the address are refused too; the operator can list the host in fetch_allowed_domains.`,
        display: `not fetched: ${why}`,
      };
    }
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
  // The offset may point into a character, whose rest is dropped.
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

/** The last few pages, so that reading a cut page can continue. */
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

/** What a response contains: HTML, other text, or binary data; decoded with the charset that server or page declare. */
export function decodePage(body: Uint8Array, contentType: string): DecodedPage {
  const [type = ""] = contentType.toLowerCase().split(";", 1);
  const mime = type.trim();
  const kind = kindOf(mime, body, charsetOf(contentType));
  if (kind === "binary") return { kind, mime };
  const label =
    bomLabel(body) ?? charsetOf(contentType) ?? (kind === "html" || isXml(mime) ? declared(body) : undefined);
  return { kind, mime, text: decode(body, label) };
}

type DecodedPage =
  | { readonly kind: "html" | "text"; readonly mime: string; readonly text: string }
  | { readonly kind: "binary"; readonly mime: string };

/** False if the type alone says that it is not text. */
export function mayBeText(contentType: string): boolean {
  return !/^\s*(?:image\/(?!svg)|audio\/|video\/|font\/|application\/(?:pdf|zip|gzip|x-tar|x-7z|x-rar|java-archive|vnd\.(?:openxml|ms-|oasis|android|debian|rar)|x-(?:xz|bzip2?|debian|rpm|executable|iso9660)|wasm|msword))/i.test(
    contentType,
  );
}

function kindOf(mime: string, body: Uint8Array, charset: string | undefined): DecodedPage["kind"] {
  if (!mayBeText(mime)) return "binary";
  const start = Buffer.from(body.subarray(0, SNIFFED)).toString("latin1");
  // UTF-16 text is full of NULs: it needs a BOM, or the server must declare it.
  if (bomLabel(body) === undefined && looksBinary(body) && !/^utf-?16/i.test(charset ?? "")) return "binary";
  if (/^(?:text\/html|application\/xhtml\+xml)$/.test(mime)) return "html";
  if (mime === "" || mime === "application/octet-stream" || mime === "unknown/unknown")
    return /^\s*(?:<!--[\s\S]*?-->\s*)?<(?:!doctype\s+html|html|head|body)[\s>]/i.test(start) ? "html" : "text";
  return "text";
}

/** NUL bytes, or many control characters, near the start. */
function looksBinary(body: Uint8Array): boolean {
  const start = body.subarray(0, SNIFFED);
  let odd = 0;
  for (const byte of start) {
    if (byte === 0) return true;
    if (byte < 0x20 && byte !== 0x09 && byte !== 0x0a && byte !== 0x0c && byte !== 0x0d && byte !== 0x1b) odd++;
  }
  return odd > start.length / 20;
}

function isXml(mime: string): boolean {
  return /[/+]xml$/.test(mime);
}

function bomLabel(body: Uint8Array): string | undefined {
  if (body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf) return "utf-8";
  if (body[0] === 0xff && body[1] === 0xfe) return "utf-16le";
  if (body[0] === 0xfe && body[1] === 0xff) return "utf-16be";
  return undefined;
}

function charsetOf(text: string): string | undefined {
  return /charset\s*=\s*["']?\s*([^\s"';,>]+)/i.exec(text)?.[1];
}

/** <meta charset>, <meta http-equiv … charset=…>, <?xml encoding=…?>, near the start, like browsers. */
function declared(body: Uint8Array): string | undefined {
  const start = Buffer.from(body.subarray(0, SNIFFED)).toString("latin1");
  const xml = /^\s*<\?xml[^>]{0,200}encoding\s*=\s*["']([^"']{1,40})["']/i.exec(start)?.[1];
  if (xml !== undefined) return xml;
  for (const [tag] of start.matchAll(/<meta\b[^>]{0,500}>/gi)) {
    const label = charsetOf(tag);
    // A page that can be read up to here is not UTF-16.
    if (label !== undefined) return /^utf-?16/i.test(label) ? "utf-8" : label;
  }
  return undefined;
}

function decode(body: Uint8Array, label: string | undefined): string {
  if (label !== undefined) {
    try {
      return new TextDecoder(label as Bun.Encoding).decode(body);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
    }
  }
  try {
    // A body that was cut may end inside a character.
    return new TextDecoder("utf-8", { fatal: true }).decode(body, { stream: true });
  } catch {
    return new TextDecoder(label === undefined ? "windows-1252" : "utf-8").decode(body);
  }
}

const SNIFFED = 4096;
