/** One spelling for each IP address. */

/** Undefined for a name. Not `0:0:0:0:0:0:0:1`, brackets, zones, `10.7`, or IPv4 inside IPv6. */
export function addressOf(text: string): string | undefined {
  const bare = text.replace(/^\[([^\]]+)\]$/, "$1").replace(/%.*$/, "");
  if (!/^(?:[\da-f.]*:[\da-f.:]*|[\dx][\da-fx.]*)$/.test(bare)) return undefined;
  const host = URL.parse(`http://${bare.includes(":") ? `[${bare}]` : bare}/`)?.hostname;
  const [, high, low] = /^\[::ffff:([\da-f]+):([\da-f]+)\]$/.exec(host ?? "") ?? [];
  if (high === undefined || low === undefined) return host;
  const value = Number.parseInt(high, 16) * 65536 + Number.parseInt(low, 16);
  return URL.parse(`http://${value}/`)?.hostname;
}
