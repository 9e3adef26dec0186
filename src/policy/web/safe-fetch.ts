/** GET without server-side request forgery: every redirect is judged, and it connects to the judged address. */
import { ADDRCONFIG } from "node:dns";
import { lookup } from "node:dns/promises";
import { VERSION } from "../../lib/version.ts";
import { parseAddress } from "./addresses.ts";
import { chooseProxy, fetchVia } from "../../lib/network.ts";
import { type Resolve, type UrlRules, type UrlVerdict, judgeUrl } from "./urls.ts";
import { unlessAborted } from "../../lib/waiting.ts";

export interface SafeFetchOptions {
  readonly rules: UrlRules;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** Decompressed bytes of the body to read; the rest is cut off. */
  readonly maxBytes?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly method?: string;
  readonly body?: NonNullable<RequestInit["body"]>;
  /** False: the body is not read. */
  readonly wants?: (headers: Headers) => boolean;
  /** For what the operator should know, such as a proxy that resolves names itself. */
  readonly onNotice?: (text: string) => void;
  /** Called before a redirect to another host is followed; false refuses it. */
  readonly mayVisit?: ((url: string) => Promise<boolean>) | undefined;
  readonly resolve?: Resolve;
  readonly environment?: Readonly<Record<string, string | undefined>>;
  /** Certificates to trust in addition to the system's. */
  readonly ca?: string;
}

export type FetchOutcome =
  | {
      readonly kind: "page";
      /** After redirects. */
      readonly url: string;
      readonly status: number;
      readonly headers: Headers;
      readonly body: Uint8Array;
      /** The body was longer than maxBytes, or not wanted. */
      readonly cut: boolean;
      readonly redirects: number;
    }
  | Refused
  | { readonly kind: "failed"; readonly url: string; readonly why: string };

interface Refused {
  readonly kind: "refused";
  readonly url: string;
  readonly why: string;
}

export type SafeFetch = (url: string, options: SafeFetchOptions) => Promise<FetchOutcome>;

/** Throws only if the caller's signal is aborted. */
export async function safeFetch(text: string, options: SafeFetchOptions): Promise<FetchOutcome> {
  const deadline = AbortSignal.timeout(options.timeoutMs);
  const signal = AbortSignal.any([options.signal, deadline]);
  let at = text;
  try {
    for (let redirects = 0; ; redirects++) {
      const response = await hop(at, options, signal);
      if ("kind" in response) return response;
      const location = REDIRECTS.has(response.status) ? response.headers.get("location") : null;
      if (location === null) return await page(at, response, redirects, options, signal);
      void response.body?.cancel().catch(ignore);
      if (redirects >= MAX_REDIRECTS)
        return {
          kind: "failed",
          url: at,
          why: `more than ${MAX_REDIRECTS} redirects; the last one led to ${location}`,
        };
      const next = URL.parse(location, at);
      if (next === null) return { kind: "failed", url: at, why: "it redirects to something that is not a URL" };
      if (next.host !== URL.parse(at)?.host && options.mayVisit !== undefined) {
        const judged = await judgeUrl(next.href, options.rules);
        if (judged.kind === "deny") return { kind: "refused", url: next.href, why: judged.why };
        if (!(await options.mayVisit(next.href)))
          return { kind: "refused", url: next.href, why: "the redirect to this host was not approved" };
      }
      at = next.href;
    }
  } catch (error) {
    options.signal.throwIfAborted();
    if (deadline.aborted)
      return { kind: "failed", url: at, why: `no complete answer within ${options.timeoutMs / 1000} s` };
    return { kind: "failed", url: at, why: reasonOf(error) };
  }
}

/** One request with any method, whose redirects are the caller's; `refused` if its address is. */
export function safeRequest(at: string, options: SafeFetchOptions): Promise<Response | Refused> {
  return hop(at, options, AbortSignal.any([options.signal, AbortSignal.timeout(options.timeoutMs)]));
}

/** One request; the body is not read yet. */
async function hop(at: string, options: SafeFetchOptions, signal: AbortSignal): Promise<Response | Refused> {
  const url = URL.parse(at);
  const choice = url === null ? undefined : chooseProxy(url, options.environment ?? process.env);
  const proxied = choice?.kind === "proxy";
  const resolve = options.resolve ?? systemResolve;
  let unresolved = false;
  const verdict = await judgeUrl(at, options.rules, async (host) => {
    try {
      return await unlessAborted(signal, resolve(host));
    } catch (error) {
      signal.throwIfAborted();
      unresolved = true;
      if (!proxied) throw new Error(`cannot resolve ${host}: ${reasonOf(error)}`, { cause: error });
      return [];
    }
  });
  // Behind a proxy this machine often cannot resolve public names; then only the name is judged.
  const decided = proxied && unresolved ? await judgeUrl(at, options.rules) : verdict;
  if (decided.kind === "deny") return { kind: "refused", url: at, why: decided.why };
  if (choice?.kind === "unusable")
    options.onNotice?.(
      `${choice.variable} names ${choice.proxy === null ? "something that is not a proxy" : `a ${choice.proxy.protocol} proxy`}, which is not supported: connecting directly`,
    );
  if (choice?.kind !== "proxy") return connect(decided, options, signal);
  options.onNotice?.(`fetching through the proxy ${choice.proxy.host}, which resolves ${decided.host} itself`);
  return fetchVia(decided.url, { ...request(decided, options, signal), proxy: choice.proxy.href });
}

/** Connects by address, so that no second look-up can return another one; the certificate is checked by name. */
async function connect(allowed: Allowed, options: SafeFetchOptions, signal: AbortSignal): Promise<Response> {
  const candidates = allowed.addresses.slice(0, MAX_ADDRESSES);
  for (const [i, address] of candidates.entries()) {
    const numeric = new URL(allowed.url);
    numeric.hostname = parseAddress(address)?.family === 6 ? `[${address}]` : address;
    try {
      return await fetch(numeric, request(allowed, options, signal));
    } catch (error) {
      signal.throwIfAborted();
      if (i === candidates.length - 1) throw error;
    }
  }
  throw new Error(`${allowed.host} has no address`);
}

type Allowed = UrlVerdict & { readonly kind: "allow" };

function request({ url, host }: Allowed, options: SafeFetchOptions, signal: AbortSignal): BunFetchRequestInit {
  const headers = new Headers({
    "User-Agent": `buddy/${VERSION}`,
    Accept: "text/html,application/xhtml+xml,application/json,text/*;q=0.9,*/*;q=0.5",
  });
  for (const [name, value] of Object.entries(options.headers ?? {})) headers.set(name, value);
  headers.set("Host", url.host.replace(/\.+(?=:|$)/, ""));
  return {
    method: options.method ?? "GET",
    ...(options.body === undefined ? {} : { body: options.body }),
    redirect: "manual",
    credentials: "omit",
    // A pooled connection would skip the check of the certificate against this name.
    keepalive: false,
    signal,
    headers,
    tls: {
      rejectUnauthorized: true,
      ...(parseAddress(host) === undefined ? { serverName: host } : {}),
      ...(options.ca === undefined ? {} : { ca: options.ca }),
    },
    // "" would use the environment's proxy.
    ...({ proxy: false } as object),
  };
}

async function page(
  url: string,
  response: Response,
  redirects: number,
  options: SafeFetchOptions,
  signal: AbortSignal,
): Promise<FetchOutcome> {
  const { status, headers, body } = response;
  const wanted = options.wants?.(headers) !== false;
  const read = wanted && body !== null ? await readUpTo(body, options.maxBytes ?? MAX_BYTES, signal) : NOTHING;
  if (!wanted) void body?.cancel().catch(ignore);
  return { kind: "page", url, status, headers, body: read.bytes, cut: read.cut || !wanted, redirects };
}

async function readUpTo(
  body: ReadableStream<Uint8Array>,
  maxBytes: number,
  signal: AbortSignal,
): Promise<{ bytes: Uint8Array; cut: boolean }> {
  const reader = body.getReader();
  const chunks: Uint8Array[] = [];
  try {
    for (let room = maxBytes; ;) {
      // Measured: fetch decompresses on demand, so that a bomb costs no more than the bytes read here.
      const { done, value } = await unlessAborted(signal, reader.read());
      if (done) return { bytes: Buffer.concat(chunks), cut: false };
      chunks.push(value.subarray(0, room));
      if (value.length > room) return { bytes: Buffer.concat(chunks), cut: true };
      room -= value.length;
    }
  } finally {
    void reader.cancel().catch(ignore);
  }
}

const NOTHING = { bytes: new Uint8Array(), cut: false } as const;
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
const MAX_REDIRECTS = 5;
const MAX_ADDRESSES = 4;
const MAX_BYTES = 5 * 1024 * 1024;

async function systemResolve(host: string): Promise<readonly string[]> {
  const found = await lookup(host, { all: true, verbatim: true, hints: ADDRCONFIG });
  return found.map(({ address }) => address);
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const code = "code" in error && typeof error.code === "string" ? error.code : "";
  return code === "" || error.message.includes(code) ? error.message : `${error.message} (${code})`;
}

function ignore(): void {}
