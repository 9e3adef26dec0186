/** Which proxy a request goes through, from the usual environment variables; a socks proxy is refused instead of being ignored. */
import { BuddyError } from "../lib/errors.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

/** The proxy's URL, or undefined for a direct connection. */
export function proxyFor(target: URL, env: Environment): string | undefined {
  const names = target.protocol === "https:" ? ["HTTPS_PROXY", "ALL_PROXY"] : ["HTTP_PROXY", "ALL_PROXY"];
  const found = names.flatMap((name) => [name.toLowerCase(), name]).find((name) => env[name]?.trim());
  if (found === undefined || isExcluded(target, env["no_proxy"] || env["NO_PROXY"] || "")) return undefined;
  const value = env[found]?.trim() ?? "";
  const url = URL.parse(/^[a-z][a-z0-9+.-]*:\/\//i.test(value) ? value : `http://${value}`);
  if (url?.protocol.startsWith("socks")) {
    throw new BuddyError(
      "config",
      `${found} names a socks proxy (${url.protocol}//${url.host}), which buddy cannot use`,
      {
        hint: `Set ${found} to an http:// proxy, add ${target.hostname} to NO_PROXY, or unset ${found}. Over ssh, \`ssh -L\` to the endpoint also works.`,
      },
    );
  }
  if (!url || !/^https?:$/.test(url.protocol)) {
    throw new BuddyError("config", `${found} is not the URL of an http proxy`, {
      hint: `Expected something like http://proxy.example:3128.`,
    });
  }
  return url.href;
}

/** For words: the proxy without user and password. */
export function proxyLabel(proxy: string): string {
  const url = URL.parse(proxy);
  return url ? `${url.protocol}//${url.host}` : "the proxy";
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
    if (host === entry || host.endsWith(`.${entry}`)) return true;
  }
  return false;
}
