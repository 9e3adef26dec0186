/** Writes templates/models.toml from a table of model facts: `bun scripts/make-models.ts models.tsv`. */
import { fileURLToPath } from "node:url";

interface Fact {
  provider: string;
  id: string;
  context: number;
  output: number | undefined;
  priceIn: number | undefined;
  priceOut: number | undefined;
  reasoning: boolean;
  images: boolean;
}

/** Makers whose names people see elsewhere too: with a date appended, or behind a gateway's prefix. */
const MAKERS = new Set(["openai", "anthropic", "google", "deepseek", "xai", "zai", "moonshotai", "minimax", "mistral"]);
/** Shorter names ("o3") turn up by chance inside others. */
const SHORTEST_CONTAINED = 6;

const source = process.argv[2];
if (!source) throw new Error("usage: bun scripts/make-models.ts FACTS.tsv");
const facts = readFacts(await Bun.file(source).text());
const target = fileURLToPath(new URL("../templates/models.toml", import.meta.url));
await Bun.write(target, render(facts));
console.log(`${target}: ${facts.length} facts`);

function readFacts(text: string): Fact[] {
  const [header = "", ...lines] = text.trimEnd().split("\n");
  const columns = header.split("\t");
  const cell = (cells: string[], name: string) => cells[columns.indexOf(name)] ?? "";
  return lines.flatMap((line) => {
    const cells = line.split("\t");
    const context = number(cell(cells, "context_tokens"));
    if (context === undefined || context <= 0) return [];
    return {
      provider: cell(cells, "provider"),
      id: cell(cells, "id"),
      context,
      output: number(cell(cells, "max_output_tokens")),
      priceIn: number(cell(cells, "usd_per_mtok_in")),
      priceOut: number(cell(cells, "usd_per_mtok_out")),
      reasoning: cell(cells, "reasoning") === "1",
      images: cell(cells, "images") === "1",
    };
  });
}

function number(value: string): number | undefined {
  return value === "" || Number.isNaN(Number(value)) ? undefined : Number(value);
}

function render(all: Fact[]): string {
  const exact = new Map<string, Fact>();
  for (const fact of all) if (!exact.has(fact.id)) exact.set(fact.id, fact);
  const made = [...exact.values()].filter((fact) => MAKERS.has(fact.provider) && !fact.id.includes("/"));
  const longestFirst = made.toSorted((a, b) => b.id.length - a.id.length || (a.id < b.id ? -1 : 1));
  const contained = longestFirst
    .filter((fact) => fact.id.length >= SHORTEST_CONTAINED)
    .map((fact) => careful(fact, all));
  return [
    "# What buddy knows of models by their names. Made by scripts/make-models.ts: correct the facts, not this file.",
    "# Exact names are tried first, then prefixes, then parts of a name, each in the order of this file; prices are",
    "# USD per million tokens. A name that nothing matches gets a context limit of 8192. Rules of your own go into",
    "# your configuration and are asked before these.",
    "rules = [",
    ...[...exact.values()].map((fact) => rule("exact", fact)),
    ...longestFirst.map((fact) => rule("prefix", fact)),
    ...contained.map((fact) => rule("contains", fact)),
    "]",
    "",
  ].join("\n");
}

/** Behind an unknown gateway the smallest known window of that name is the safe one, and its price is anybody's guess. */
function careful(fact: Fact, all: Fact[]): Fact {
  const same = all.filter((other) => other.id.toLowerCase().replace(/.*\//, "") === fact.id.toLowerCase());
  return { ...fact, context: Math.min(...same.map((other) => other.context)), priceIn: undefined, priceOut: undefined };
}

function rule(kind: string, fact: Fact): string {
  const fields = [`${kind} = ${JSON.stringify(fact.id)}`, `context_limit = ${fact.context}`];
  if (fact.output !== undefined) fields.push(`max_output = ${fact.output}`);
  if (fact.priceIn !== undefined && fact.priceOut !== undefined) {
    fields.push(`price_in = ${fact.priceIn}`, `price_out = ${fact.priceOut}`);
  }
  if (fact.images) fields.push("images = true");
  fields.push(`reasoning = ${fact.reasoning}`);
  return `  { ${fields.join(", ")} },`;
}
