/**
 * `buddy policy url`: may this address be fetched? Nothing is looked up: a name is judged by itself, or with the
 * addresses given.
 */
import { BuddyError } from "../../../lib/errors.ts";
import { judgeUrl, type UrlRules } from "../../../policy/web/urls.ts";
import { loadConfiguration } from "../../../app/configuration.ts";
import type { GlobalOptions } from "../../args/options.ts";
import type { Explainer } from "./command.ts";

export async function explainer(globals: GlobalOptions): Promise<Explainer> {
  const { config } = await loadConfiguration(globals, { create: false });
  const rules = { allow: config.tools.fetch_allowed_domains, deny: config.tools.fetch_blocked_domains };
  return {
    explain: (value) => explainUrl(value, rules),
    words(answer) {
      const { verdict, why } = answer as UrlExplanation;
      return `${verdict}: ${why}`;
    },
  };
}

interface UrlExplanation {
  readonly verdict: "allow" | "block";
  readonly why: string;
}

/**
 * `value`: a URL, or `{url, resolve: {host: [address]}, allow: […], deny: […]}`; its lists replace the configured ones.
 */
export async function explainUrl(value: unknown, rules: UrlRules): Promise<UrlExplanation> {
  const { url, resolve, allow, deny } = readQuestion(value);
  const answers = new Map(
    Object.entries(resolve ?? {}).map(([host, addresses]) => [plainName(host), texts(addresses, "resolve")]),
  );
  const host = plainName(URL.parse(url)?.hostname ?? "");
  const addresses = answers.get(host);
  const verdict = await judgeUrl(
    url,
    { allow: allow ?? rules.allow, deny: deny ?? rules.deny },
    addresses === undefined ? undefined : () => Promise.resolve(addresses),
  );
  return { verdict: verdict.kind === "allow" ? "allow" : "block", why: verdict.why };
}

interface UrlQuestion {
  readonly url: string;
  readonly resolve?: Readonly<Record<string, unknown>>;
  readonly allow?: readonly string[];
  readonly deny?: readonly string[];
}

function readQuestion(value: unknown): UrlQuestion {
  if (typeof value === "string") return { url: value };
  if (typeof value !== "object" || value === null || !("url" in value) || typeof value.url !== "string")
    throw new BuddyError("usage", 'give a URL as a JSON string or as {"url": "…"}');
  const { url, resolve, allow, deny } = value as Record<string, unknown>;
  if (resolve !== undefined && (typeof resolve !== "object" || resolve === null || Array.isArray(resolve)))
    throw new BuddyError("usage", '"resolve" must be an object of names and lists of addresses');
  return {
    url: url as string,
    ...(resolve === undefined ? {} : { resolve: resolve as Record<string, unknown> }),
    ...(allow === undefined ? {} : { allow: texts(allow, "allow") }),
    ...(deny === undefined ? {} : { deny: texts(deny, "deny") }),
  };
}

function texts(value: unknown, key: string): readonly string[] {
  const list: readonly unknown[] = Array.isArray(value) ? value : [value];
  if (list.every((item) => typeof item === "string")) return list;
  throw new BuddyError("usage", `"${key}" must hold strings`);
}

/** As the URL parser writes a name, without final dots. */
function plainName(host: string): string {
  const name = host.toLowerCase().replace(/\.+$/, "");
  return (URL.parse(`http://${name}/`)?.hostname ?? name).replace(/\.+$/, "");
}
