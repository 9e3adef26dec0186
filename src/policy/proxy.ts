/** Which proxy the environment names for a URL; fetch's own reading of it is switched off, so this is the only one. */
export function proxyFor(url: URL, environment: Readonly<Record<string, string | undefined>>): ProxyChoice {
  const read = (name: string): string => environment[name.toLowerCase()] ?? environment[name] ?? "";
  const text = (read(url.protocol === "https:" ? "HTTPS_PROXY" : "HTTP_PROXY") || read("ALL_PROXY")).trim();
  if (text === "" || excluded(url, read("NO_PROXY"))) return { kind: "none" };
  const proxy = URL.parse(/^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `http://${text}`);
  if (proxy === null || (proxy.protocol !== "http:" && proxy.protocol !== "https:"))
    return { kind: "unusable", name: proxy === null ? "the proxy of the environment" : `a ${proxy.protocol} proxy` };
  return { kind: "proxy", proxy };
}

export type ProxyChoice =
  | { readonly kind: "none" }
  | { readonly kind: "proxy"; readonly proxy: URL }
  /** socks and the like: there is no support for them, and the connection would silently be direct. */
  | { readonly kind: "unusable"; readonly name: string };

function excluded(url: URL, list: string): boolean {
  const host = url.hostname.toLowerCase();
  return list
    .toLowerCase()
    .split(/[\s,]+/)
    .filter((entry) => entry !== "")
    .some((entry) => {
      if (entry === "*") return true;
      const [, name = "", port] = /^(.*?)(?::(\d+))?$/.exec(entry) ?? [];
      if (port !== undefined && port !== (url.port || (url.protocol === "https:" ? "443" : "80"))) return false;
      const bare = name.replace(/^\*?\./, "");
      return host === bare || host.endsWith(`.${bare}`);
    });
}
