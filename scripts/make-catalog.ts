/**
 * Writes templates/models.toml from facts of models: `bun scripts/make-catalog.ts SOURCE...`. A source is a checkout of
 * models.dev, its api.json, or a table (.tsv) of the same facts; where two know a model, the earlier one counts.
 */
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { words } from "../src/lib/text.ts";

export interface Fact {
  readonly provider: string;
  readonly id: string;
  readonly context: number;
  readonly output: number | undefined;
  readonly priceIn: number | undefined;
  readonly priceOut: number | undefined;
  readonly priceCached: number | undefined;
  readonly reasoning: boolean;
  readonly images: boolean;
}

/** Makers whose names people see elsewhere too: with a date appended, or behind a gateway's prefix. */
const MAKERS = wordSet(
  "openai anthropic google deepseek xai zai moonshotai minimax mistral alibaba cohere llama stepfun xiaomi upstage",
);
/** Places where people have accounts; the rest resell these. */
const GATEWAYS = wordSet(`
  openai-codex openrouter groq cerebras togetherai together fireworks-ai fireworks deepinfra huggingface github-copilot
  github-models amazon-bedrock azure google-vertex google-vertex-anthropic nvidia ollama-cloud cloudflare-workers-ai
  kimi-for-coding`);
function wordSet(text: string): ReadonlySet<string> {
  return new Set(words(text));
}

/** Shorter names ("o3") turn up by chance inside others. */
const SHORTEST_CONTAINED = 6;

if (import.meta.main) {
  const sources = process.argv.slice(2);
  if (sources.length === 0) throw new Error("usage: bun scripts/make-catalog.ts CHECKOUT|api.json|FACTS.tsv...");
  const facts = (await Promise.all(sources.map(readSource))).flat();
  const { kept, remarks } = consistent(facts.filter(({ provider }) => MAKERS.has(provider) || GATEWAYS.has(provider)));
  for (const remark of remarks) console.log(remark);
  const target = fileURLToPath(new URL("../templates/models.toml", import.meta.url));
  await Bun.write(target, render(kept));
  console.log(`${target}: ${kept.length} facts, ${remarks.length} contradictions resolved`);
}

export async function readSource(path: string): Promise<Fact[]> {
  const facts = await factsIn(path);
  if (facts.length === 0) throw new Error(`${path} has no facts of models`);
  return facts;
}

async function factsIn(path: string): Promise<Fact[]> {
  if (statSync(path).isDirectory()) return readCheckout(join(path, "providers"));
  const text = await Bun.file(path).text();
  return path.endsWith(".json") ? readApi(JSON.parse(text) as Api) : readTable(text);
}

/** models.dev as its site serves it. */
type Api = Readonly<Record<string, { readonly models?: Readonly<Record<string, Entry>> }>>;

interface Entry {
  readonly limit?: { readonly context?: number; readonly output?: number };
  readonly cost?: { readonly input?: number; readonly output?: number; readonly cache_read?: number };
  readonly reasoning?: boolean;
  readonly modalities?: { readonly input?: readonly string[] };
}

function readApi(api: Api): Fact[] {
  return Object.entries(api).flatMap(([provider, { models = {} }]) =>
    Object.entries(models).flatMap(([id, entry]) => factOf(provider, id, entry)),
  );
}

/** A checkout has one TOML file a model: providers/NAME/models/ID.toml; ids may have slashes. */
function readCheckout(root: string): Fact[] {
  return readdirSync(root).flatMap((provider) => {
    const models = join(root, provider, "models");
    return [...new Bun.Glob("**/*.toml").scanSync(models)].flatMap((file) => {
      const entry = Bun.TOML.parse(readFileSync(join(models, file), "utf8")) as Entry;
      return factOf(provider, file.replace(/\.toml$/, ""), entry);
    });
  });
}

function factOf(provider: string, id: string, { limit, cost, reasoning, modalities }: Entry): Fact[] {
  if (limit?.context === undefined || limit.context <= 0) return [];
  return [
    {
      provider,
      id,
      context: limit.context,
      output: limit.output,
      priceIn: cost?.input,
      priceOut: cost?.output,
      priceCached: cost?.cache_read,
      reasoning: reasoning ?? false,
      images: modalities?.input?.includes("image") ?? false,
    },
  ];
}

function readTable(text: string): Fact[] {
  const [header = "", ...lines] = text.trimEnd().split("\n");
  const columns = header.split("\t");
  return lines.flatMap((line) => {
    const cells = line.split("\t");
    const cell = (name: string) => cells[columns.indexOf(name)] ?? "";
    const number = (name: string) => (cell(name) === "" ? undefined : Number(cell(name)));
    return factOf(cell("provider"), cell("id"), {
      limit: { context: number("context_tokens") ?? 0, output: number("max_output_tokens") },
      cost: {
        input: number("usd_per_mtok_in"),
        output: number("usd_per_mtok_out"),
        cache_read: number("usd_per_mtok_cached"),
      },
      reasoning: cell("reasoning") === "1",
      modalities: { input: cell("images") === "1" ? ["image"] : [] },
    } as Entry);
  });
}

/**
 * One fact a name, without contradictions: a price of nothing beside a real one is unknown; whether a model reasons
 * does not depend on where it runs, so most places are right.
 */
export function consistent(all: readonly Fact[]): { kept: Fact[]; remarks: string[] } {
  const byId = new Map<string, Fact>();
  for (const fact of all) if (!byId.has(fact.id)) byId.set(fact.id, fact);
  const relatives = Map.groupBy(all, ({ id }) => bareName(id));
  const remarks: string[] = [];
  const kept = [...byId.values()].map((fact) => {
    let { priceIn, priceOut, priceCached, reasoning, output } = fact;
    const same = relatives.get(bareName(fact.id)) ?? [];
    const better = same.find((other) => other.priceIn === priceIn && (other.priceOut ?? 0) > 0);
    if (priceIn !== undefined && priceIn > 0 && !priceOut) {
      remarks.push(`${fact.provider}/${fact.id}: an input price of ${priceIn} and no output price`);
      if (better !== undefined) ({ priceIn, priceOut, priceCached } = better);
      else priceIn = priceOut = priceCached = undefined;
    }
    const free = fact.id.endsWith(":free") || same.every((other) => !other.priceIn);
    if (priceIn === 0 && !free) {
      remarks.push(`${fact.provider}/${fact.id}: free here, sold elsewhere`);
      priceIn = priceOut = priceCached = undefined;
    }
    const reasons = same.filter((other) => other.reasoning).length * 2 >= same.length;
    if (reasoning !== reasons) {
      remarks.push(`${fact.provider}/${fact.id}: ${reasons ? "reasons" : "does not reason"} elsewhere`);
      reasoning = reasons;
    }
    const cached = same.filter((other) => other.priceIn === priceIn && other.priceCached !== undefined);
    priceCached ??= (cached.find((other) => other.provider === fact.provider) ?? cached[0])?.priceCached;
    output ??= same.find((other) => other.output !== undefined)?.output;
    return { ...fact, priceIn, priceOut, priceCached, reasoning, output };
  });
  return { kept, remarks };
}

/**
 * "anthropic/claude-x:batch" and "claude-x" are the same weights; dots and dashes in versions differ between places.
 */
function bareName(id: string): string {
  return id
    .toLowerCase()
    .replace(/.*\//, "")
    .replace(/:.*$/, "")
    .replace(/(\d)[.p](\d)/g, "$1-$2");
}

function render(all: readonly Fact[]): string {
  const made = all.filter((fact) => MAKERS.has(fact.provider) && !fact.id.includes("/"));
  const longestFirst = made.toSorted((a, b) => b.id.length - a.id.length || (a.id < b.id ? -1 : 1));
  const contained = longestFirst
    .filter((fact) => fact.id.length >= SHORTEST_CONTAINED)
    .map((fact) => careful(fact, all));
  return [
    "# What buddy knows of models by their names. Made by scripts/make-catalog.ts: correct the facts, not this file.",
    "# Exact names are tried first, then prefixes, then parts of a name, each in the order of this file; prices are",
    "# USD per million tokens. A name that nothing matches gets the window of its family, or 8192. Rules of your own go",
    "# into your configuration and are asked before these.",
    "rules = [",
    ...all.map((fact) => rule("exact", fact)),
    ...longestFirst.map((fact) => rule("prefix", fact)),
    ...contained.map((fact) => rule("contains", fact)),
    "]",
    "",
  ].join("\n");
}

/**
 * Behind an unknown gateway the smallest known window of that name is the safe one, and its price is anyone's guess.
 */
function careful(fact: Fact, all: readonly Fact[]): Fact {
  const same = all.filter((other) => bareName(other.id) === bareName(fact.id));
  return {
    ...fact,
    context: Math.min(...same.map((other) => other.context)),
    priceIn: undefined,
    priceOut: undefined,
    priceCached: undefined,
  };
}

function rule(kind: string, fact: Fact): string {
  const fields = [`${kind} = ${JSON.stringify(fact.id)}`, `context_limit = ${fact.context}`];
  if (fact.output !== undefined) fields.push(`max_output = ${fact.output}`);
  if (fact.priceIn !== undefined && fact.priceOut !== undefined) {
    fields.push(`price_in = ${fact.priceIn}`, `price_out = ${fact.priceOut}`);
    if (fact.priceCached !== undefined) fields.push(`price_cached = ${fact.priceCached}`);
  }
  if (fact.images) fields.push("images = true");
  fields.push(`reasoning = ${fact.reasoning}`);
  return `  { ${fields.join(", ")} },`;
}
