/** Requests: which proxy one goes through, and responses of bounded size. */
import { BuddyError } from "./errors.ts";
import type { Environment } from "./values.ts";

/** A base URL to append a path to. */
export function trimSlash(url: string): string {
  return url.endsWith("/") ? trimSlash(url.slice(0, -1)) : url;
}

type ProxyChoice =
  | { readonly kind: "none" }
  | { readonly kind: "proxy"; readonly proxy: URL }
  /** SOCKS, for example: fetch cannot use it and would silently connect directly. */
  | { readonly kind: "unusable"; readonly variable: string; readonly proxy: URL | null };

/** From the usual environment variables; callers switch off fetch's own reading of them. */
export function chooseProxy(target: URL, env: Environment): ProxyChoice {
  const own = target.protocol === "https:" ? ["https_proxy", "HTTPS_PROXY"] : ["http_proxy", "HTTP_PROXY"];
  const variable = [...own, "all_proxy", "ALL_PROXY"].find((name) => env[name]?.trim());
  if (variable === undefined || isExcluded(target, env["no_proxy"] || env["NO_PROXY"] || "")) return { kind: "none" };
  const value = env[variable]?.trim() ?? "";
  const proxy = URL.parse(/^[a-z][a-z0-9+.-]*:\/\//i.test(value) ? value : `http://${value}`);
  return proxy === null || !/^https?:$/.test(proxy.protocol)
    ? { kind: "unusable", variable, proxy }
    : { kind: "proxy", proxy };
}

/** The proxy's URL, or undefined for a direct connection; throws if a proxy is set that cannot be used. */
export function proxyFor(target: URL, env: Environment): string | undefined {
  const choice = chooseProxy(target, env);
  switch (choice.kind) {
    case "none":
      return undefined;
    case "proxy":
      return choice.proxy.href;
    case "unusable":
      throw unusable(choice.variable, choice.proxy, target);
  }
}

/** fetch applies NO_PROXY by its own rules even to a given proxy, and would silently bypass it. */
export function fetchVia(url: string | URL, init: BunFetchRequestInit): Promise<Response> {
  const kept = init.proxy
    ? NO_PROXY.map((name) => [name, process.env[name]] as const).filter(([, value]) => value)
    : [];
  for (const [name] of kept) delete process.env[name];
  try {
    return fetch(url, init);
  } finally {
    for (const [name, value] of kept) process.env[name] = value;
  }
}

const NO_PROXY = ["no_proxy", "NO_PROXY"];

/** For messages: the proxy without user and password. */
export function proxyLabel(proxy: string): string {
  const url = URL.parse(proxy);
  return url ? `${url.protocol}//${url.host}` : "the proxy";
}

function unusable(variable: string, proxy: URL | null, target: URL): BuddyError {
  if (proxy?.protocol.startsWith("socks")) {
    const label = `${proxy.protocol}//${proxy.host}`;
    return new BuddyError("config", `${variable} names a socks proxy (${label}), which buddy cannot use`, {
      hint: `Set ${variable} to an http:// proxy, add ${target.hostname} to NO_PROXY, or unset ${variable}. Over ssh, \`ssh -L\` to the endpoint also works.`,
    });
  }
  return new BuddyError("config", `${variable} is not the URL of an http proxy`, {
    hint: `Expected something like http://proxy.example:3128.`,
  });
}

function isExcluded(target: URL, list: string): boolean {
  const host = target.hostname.replace(/^\[|\]$/g, "").toLowerCase();
  const port = target.port || (target.protocol === "https:" ? "443" : "80");
  for (const raw of list.split(/[\s,]+/)) {
    let entry = raw.toLowerCase();
    if (entry === "") continue;
    if (entry === "*") return true;
    const withPort = /^(\[[^\]]+\]|[^:]+):(\d+)$/.exec(entry);
    if (withPort) {
      if (withPort[2] !== port) continue;
      entry = withPort[1] ?? "";
    }
    entry = entry.replace(/^\[|\]$/g, "").replace(/^\*?\./, "");
    if (host === entry || host.endsWith(`.${entry}`) || isInside(host, entry)) return true;
  }
  return false;
}

/** Whether an address is in a range such as "10.0.0.0/8". */
function isInside(host: string, range: string): boolean {
  const [net = "", bits] = range.split("/");
  const [address, start] = [numberOf(host), numberOf(net)];
  if (address === undefined || start === undefined || !/^\d+$/.test(bits ?? "")) return false;
  const size = 2 ** (32 - Number(bits));
  return Math.floor(address / size) === Math.floor(start / size);
}

function numberOf(address: string): number | undefined {
  const parts = /^(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(address)?.slice(1).map(Number);
  return parts?.reduce((sum, part) => sum * 256 + part, 0);
}

/** Whether the host of a URL is this machine, by its name. */
export function isLoopback(hostname: string): boolean {
  return /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/.test(hostname);
}

/** The text of a response up to a limit; also the beginning of a body that breaks off. */
export async function boundedText(response: Response, mostBytes: number): Promise<{ text: string; whole: boolean }> {
  const reader = response.body?.getReader();
  if (!reader) return { text: "", whole: true };
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return { text: text + decoder.decode(), whole: true };
      text += decoder.decode(value, { stream: true });
      bytes += value.byteLength;
      if (bytes > mostBytes) break;
    }
  } catch {
    return { text, whole: false };
  }
  await reader.cancel().catch(() => undefined);
  return { text, whole: false };
}
