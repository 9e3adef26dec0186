/**
 * What is known about a model by its name: rules in order, the user's first, then the embedded catalog, then a careful
 * default.
 */
import { readFileSync } from "node:fs";
// As a file: importing it as text loads `require`, 0.7 ms of a start.
import catalogFile from "../../templates/models.toml" with { type: "file" };
import type { ModelInfo } from "./types.ts";

/** For a model of no known family: small enough to fit nearly everywhere. */
const UNKNOWN_CONTEXT_LIMIT = 8192;

/** One rule: exactly one of exact, prefix, contains; prices in USD per million tokens. Names as in models.toml. */
export interface CatalogRule {
  readonly exact?: string | undefined;
  readonly prefix?: string | undefined;
  readonly contains?: string | undefined;
  readonly context_limit?: number | undefined;
  readonly max_output?: number | undefined;
  readonly price_in?: number | undefined;
  readonly price_out?: number | undefined;
  /** Of input that the provider has cached. */
  readonly price_cached?: number | undefined;
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
  const mine = own.rules === undefined || own.rules.length === 0 ? undefined : findRule(model, own.rules);
  const known = embeddedRule(model);
  const rule = (key: "context_limit" | "max_output" | "price_in" | "price_out" | "price_cached") =>
    mine?.[key] ?? known?.[key];
  const optional = {
    maxOutput: rule("max_output"),
    priceIn: rule("price_in"),
    priceOut: rule("price_out"),
    // The user's own price says nothing about the provider's discount.
    priceCached: mine?.price_cached ?? (mine?.price_in === undefined ? known?.price_cached : undefined),
    images: own.images ?? mine?.images ?? (known === undefined ? seesByFamily(model) : known.images),
    reasoning: mine?.reasoning ?? known?.reasoning,
  };
  const given = Object.fromEntries(Object.entries(optional).filter(([, value]) => value !== undefined));
  return {
    contextLimit: own.contextLimit ?? rule("context_limit") ?? familyLimit(model),
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

/** As it is, then without an OpenRouter variant (":free", ":nitro"); Ollama tags ("qwen3:8b") go by their family. */
function namesOf(model: string): string[] {
  const whole = model
    .trim()
    .toLowerCase()
    .replace(/^models\//, "");
  const bare = whole.replace(/:[a-z][a-z-]*$/, "");
  return bare === whole ? [whole] : [whole, bare];
}

/** What a model of this family holds at least, whoever serves it and whatever its version is. */
function familyLimit(model: string): number {
  const name = model.trim().toLowerCase();
  for (const [words, limit, pattern] of families())
    if (words.split(" ").some((word) => name.includes(word)) && pattern?.test(name) !== false) return limit;
  return UNKNOWN_CONTEXT_LIMIT;
}

/** Names that have one of the words, and fit the pattern if there is one; older generations before newer ones. */
const families = (): readonly (readonly [words: string, limit: number, pattern?: RegExp])[] => [
  ["gpt-3.5", 16_385],
  ["gpt-4", 128_000, /gpt-4(?![.o])/],
  ["gpt-oss", 131_072],
  ["gpt- chatgpt codex", 200_000],
  ["o", 200_000, /(^|\/)o[1-9](-|$)/],
  ["claude", 200_000],
  ["gemini", 1_000_000],
  ["gemma2 gemma-2", 8_192],
  ["gemma", 32_768],
  ["grok", 131_072],
  ["deepseek", 65_536],
  ["kimi moonshot", 131_072],
  ["glm", 128_000, /(^|chat|[^a-z])glm/],
  ["minimax", 196_608],
  ["qwen qwq", 32_768],
  ["codellama code-llama", 16_384],
  ["tinyllama", 2_048],
  ["llama2 llama-2", 4_096],
  ["llama3 llama-3", 8_192, /llama-?3(?![.\d])/],
  ["llama", 131_072],
  ["tral", 32_768, /(mis|mix|pix|code|dev|mini|magis)s?tral/],
  ["phi3 phi-3", 128_000],
  ["phi", 16_384, /(^|[^a-z])phi/],
  ["command cohere aya", 128_000],
  ["granite nemotron olmo ernie hunyuan seed step- nova jamba sonar", 32_768],
  ["mimo longcat exaone cogito trinity solar lfm", 32_768],
  ["yi- ling- ring-", 32_768, /(^|\/)(yi|ling|ring)-/],
];

/** Families and names that say so; undefined: not known. */
function seesByFamily(model: string): true | undefined {
  const name = model.trim().toLowerCase();
  return (
    /claude|gemini|gemma-?[3-9]|gpt-(4o|4\.1|[5-9])|llama-?4|pixtral|llava|moondream|minicpm-v|vision|[-\d]vl\b|omni/.test(
      name,
    ) || undefined
  );
}

function freeName(model: string): string | undefined {
  const whole = model.trim().toLowerCase();
  return whole.endsWith(":free") ? whole.slice(0, -":free".length) : undefined;
}

/**
 * The same as `findRule` over all embedded rules, and only the one that fits is read: scripts/make-catalog.ts writes
 * one rule a line, strings as JSON writes them. Reading all of them takes 4 ms, a TOML parser 30.
 */
function embeddedRule(model: string): CatalogRule | undefined {
  // As it is written there: the usual case, and some names differ only in their capitals.
  const written = exactRule(model);
  if (written !== undefined) return written;
  for (const name of namesOf(model)) {
    const rule =
      exactRule(name, true) ??
      firstRule("prefix", (word) => name.startsWith(word)) ??
      firstRule("contains", (word) => name.includes(word));
    if (rule) return name === freeName(model) ? { ...rule, price_in: 0, price_out: 0 } : rule;
  }
  return undefined;
}

let text: string | undefined;

function catalogText(): string {
  return (text ??= readFileSync(catalogFile, "utf8"));
}

function exactRule(name: string, anyCase = false): CatalogRule | undefined {
  const catalog = catalogText();
  const at = (anyCase ? catalog.toLowerCase() : catalog).indexOf(`\n  { exact = ${JSON.stringify(name)}, `);
  return at < 0 ? undefined : ruleAt(at);
}

function firstRule(kind: "prefix" | "contains", fits: (word: string) => boolean): CatalogRule | undefined {
  const catalog = catalogText();
  const start = `\n  { ${kind} = "`;
  for (let at = catalog.indexOf(start); at >= 0; at = catalog.indexOf(start, at + 1)) {
    const from = at + start.length;
    if (fits(catalog.slice(from, catalog.indexOf('"', from)).toLowerCase())) return ruleAt(at);
  }
  return undefined;
}

/** `at` is the line break before it. */
function ruleAt(at: number): CatalogRule {
  const catalog = catalogText();
  const line = catalog.slice(at + 1, catalog.indexOf("\n", at + 1));
  const rule = line.slice(line.indexOf("{ ") + 2, line.lastIndexOf(" }"));
  return JSON.parse(`{"${rule.replaceAll(", ", ',"').replaceAll(" = ", '":')}}`);
}
