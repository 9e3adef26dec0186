/**
 * What is known of a model by its name: rules in order, the user's first, then the embedded catalog, then a careful
 * default.
 */
import catalogText from "../../templates/models.toml" with { type: "text" };
import { once } from "../lib/values.ts";
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
  const mine = findRule(model, own.rules ?? []);
  const known = embeddedRule(model);
  const rule = (key: "context_limit" | "max_output" | "price_in" | "price_out" | "price_cached") =>
    mine?.[key] ?? known?.[key];
  const optional = {
    maxOutput: rule("max_output"),
    priceIn: rule("price_in"),
    priceOut: rule("price_out"),
    // The user's own price says nothing about the provider's discount.
    priceCached: mine?.price_cached ?? (mine?.price_in === undefined ? known?.price_cached : undefined),
    images: own.images ?? mine?.images ?? known?.images,
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
  const whole = model.trim().toLowerCase();
  const bare = whole.replace(/:[a-z][a-z-]*$/, "");
  return bare === whole ? [whole] : [whole, bare];
}

/** What a model of this family holds at least, whoever serves it and whatever its version is. */
function familyLimit(model: string): number {
  const name = model.trim().toLowerCase();
  return families().find(([pattern]) => pattern.test(name))?.[1] ?? UNKNOWN_CONTEXT_LIMIT;
}

/** The first that fits counts; older generations before newer ones. */
const families = (): readonly (readonly [RegExp, number])[] => [
  [/gpt-3\.5/, 16_385],
  [/gpt-4(?![.o])/, 128_000],
  [/gpt-oss/, 131_072],
  [/gpt-|chatgpt|codex|(^|\/)o[1-9](-|$)/, 200_000],
  [/claude/, 200_000],
  [/gemini/, 1_000_000],
  [/gemma-?2/, 8_192],
  [/gemma/, 32_768],
  [/grok/, 131_072],
  [/deepseek/, 65_536],
  [/kimi|moonshot/, 131_072],
  [/glm/, 128_000],
  [/minimax/, 196_608],
  [/qwen-?2(?!\.5)|qwen-?1/, 32_768],
  [/qwen|qwq/, 32_768],
  [/llama-?2/, 4_096],
  [/llama-?3(?![.\d])/, 8_192],
  [/llama/, 131_072],
  [/(mis|mix|pix|code|dev|mini|magis)s?tral/, 32_768],
  [/phi-?3/, 128_000],
  [/phi/, 16_384],
  [/command|cohere|aya/, 128_000],
  [/granite|nemotron|olmo|ernie|hunyuan|seed|step-|nova|jamba|sonar/, 32_768],
];

function freeName(model: string): string | undefined {
  const whole = model.trim().toLowerCase();
  return whole.endsWith(":free") ? whole.slice(0, -":free".length) : undefined;
}

/**
 * The same as `findRule` over all embedded rules, and only the one that fits is read: scripts/make-catalog.ts writes
 * one rule a line, strings as JSON writes them. Reading all of them takes 4 ms, a whole TOML parser 30.
 */
function embeddedRule(model: string): CatalogRule | undefined {
  // As it is written there: the usual case, and some names differ only in their capitals.
  const written = exactRule(catalogText, model);
  if (written !== undefined) return written;
  for (const name of namesOf(model)) {
    const rule =
      exactRule(inLowerCase(), name) ??
      firstRule("prefix", (word) => name.startsWith(word)) ??
      firstRule("contains", (word) => name.includes(word));
    if (rule) return name === freeName(model) ? { ...rule, price_in: 0, price_out: 0 } : rule;
  }
  return undefined;
}

const inLowerCase = once(() => catalogText.toLowerCase());

function exactRule(text: string, name: string): CatalogRule | undefined {
  const at = text.indexOf(`\n  { exact = ${JSON.stringify(name)}, `);
  return at < 0 ? undefined : ruleAt(at);
}

function firstRule(kind: "prefix" | "contains", fits: (word: string) => boolean): CatalogRule | undefined {
  const start = `\n  { ${kind} = "`;
  for (let at = catalogText.indexOf(start); at >= 0; at = catalogText.indexOf(start, at + 1)) {
    const from = at + start.length;
    if (fits(catalogText.slice(from, catalogText.indexOf('"', from)).toLowerCase())) return ruleAt(at);
  }
  return undefined;
}

/** `at` is the line break before it. */
function ruleAt(at: number): CatalogRule {
  const line = catalogText.slice(at + 1, catalogText.indexOf("\n", at + 1));
  return JSON.parse(line.slice(2, line.lastIndexOf("}") + 1).replace(/(^\{ |, )([a-z_]+) = /g, '$1"$2":'));
}
