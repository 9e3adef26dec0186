/** What is known of a model by its name: rules in order, the user's first, then the embedded catalog, then a careful default. */
import catalogText from "../../templates/models.toml" with { type: "text" };
import type { ModelInfo } from "./types.ts";

/** For a model nobody knows: small enough to fit nearly everywhere. */
export const UNKNOWN_CONTEXT_LIMIT = 8192;

/** One rule: exactly one of exact, prefix, contains; prices in USD per million tokens. Names as in models.toml. */
export interface CatalogRule {
  readonly exact?: string | undefined;
  readonly prefix?: string | undefined;
  readonly contains?: string | undefined;
  readonly context_limit?: number | undefined;
  readonly max_output?: number | undefined;
  readonly price_in?: number | undefined;
  readonly price_out?: number | undefined;
  readonly images?: boolean | undefined;
  readonly reasoning?: boolean | undefined;
}

/** `contextLimit` of the profile beats every rule; a rule of the user's may say only a part, the catalog the rest. */
export function infoFor(
  model: string,
  own: {
    readonly rules?: readonly CatalogRule[] | undefined;
    readonly contextLimit?: number | undefined;
    readonly images?: boolean | undefined;
  } = {},
): ModelInfo {
  const mine = findRule(model, own.rules ?? []);
  const known = exactRule(model) ?? findRule(model, embeddedRules());
  const rule = (key: "context_limit" | "max_output" | "price_in" | "price_out") => mine?.[key] ?? known?.[key];
  const optional = {
    maxOutput: rule("max_output"),
    priceIn: rule("price_in"),
    priceOut: rule("price_out"),
    images: own.images ?? mine?.images ?? known?.images,
    reasoning: mine?.reasoning ?? known?.reasoning,
  };
  const given = Object.fromEntries(Object.entries(optional).filter(([, value]) => value !== undefined));
  return {
    contextLimit: own.contextLimit ?? rule("context_limit") ?? UNKNOWN_CONTEXT_LIMIT,
    known: mine !== undefined || known !== undefined,
    ...given,
  };
}

/** All exact rules are tried before prefixes, and those before contains; within a kind the order given counts. */
function findRule(model: string, rules: readonly CatalogRule[]): CatalogRule | undefined {
  for (const name of namesOf(model)) {
    const rule =
      rules.find((one) => one.exact?.toLowerCase() === name) ??
      rules.find((one) => one.prefix !== undefined && name.startsWith(one.prefix.toLowerCase())) ??
      rules.find((one) => one.contains !== undefined && name.includes(one.contains.toLowerCase()));
    if (rule) return name === freeName(model) ? { ...rule, price_in: 0, price_out: 0 } : rule;
  }
  return undefined;
}

/** As it is, then without an OpenRouter variant (":free", ":nitro"); Ollama tags ("qwen3:8b") are only tried as they are. */
function namesOf(model: string): string[] {
  const whole = model.trim().toLowerCase();
  const bare = whole.replace(/:[a-z][a-z-]*$/, "");
  return bare === whole ? [whole] : [whole, bare];
}

function freeName(model: string): string | undefined {
  const whole = model.trim().toLowerCase();
  return whole.endsWith(":free") ? whole.slice(0, -":free".length) : undefined;
}

/** The usual case without reading the other 900 rules: 4 ms less before the first request. */
function exactRule(model: string): CatalogRule | undefined {
  const at = catalogText.indexOf(`\n  { exact = ${JSON.stringify(model)}, `);
  return at < 0 ? undefined : ruleIn(catalogText.slice(at + 1, catalogText.indexOf("\n", at + 1)));
}

function ruleIn(line: string): CatalogRule {
  return JSON.parse(line.slice(2, line.lastIndexOf("}") + 1).replace(/(^\{ |, )([a-z_]+) = /g, '$1"$2":'));
}

let rules: readonly CatalogRule[] | undefined;

/**
 * The embedded rules, read line by line: scripts/make-models.ts writes one rule a line, strings as JSON writes them, so
 * this takes 1 ms where a whole TOML parser takes 30 (a test holds the two against each other).
 */
export function embeddedRules(): readonly CatalogRule[] {
  if (rules) return rules;
  const list: CatalogRule[] = [];
  for (const line of catalogText.split("\n")) {
    if (line.startsWith("  { ")) list.push(ruleIn(line));
  }
  return (rules = list);
}
