/** The catalog's maker: facts from every source, contradictions resolved, nothing made of nothing. */
import { expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { consistent, readSource, type Fact } from "../../scripts/make-catalog.ts";

const HEADER =
  "provider\tid\tcontext_tokens\tmax_output_tokens\tusd_per_mtok_in\tusd_per_mtok_out\tusd_per_mtok_cached\treasoning\timages";

function sources(files: Readonly<Record<string, string>>) {
  const dir = mkdtempSync(join(tmpdir(), "buddy-catalog-"));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(dir, name)), { recursive: true });
    writeFileSync(join(dir, name), text);
  }
  return { dir, [Symbol.dispose]: () => rmSync(dir, { recursive: true, force: true }) };
}

const FACT = { provider: "openai", id: "gpt-x", context: 1000, output: 100, priceIn: 1, priceOut: 4, reasoning: true };

test("a table, the site's file and a checkout say the same", async () => {
  const entry = { limit: { context: 1000, output: 100 }, cost: { input: 1, output: 4 }, reasoning: true };
  using here = sources({
    "facts.tsv": `${HEADER}\nopenai\tgpt-x\t1000\t100\t1\t4\t\t1\t0\n`,
    "api.json": JSON.stringify({ openai: { models: { "gpt-x": entry } } }),
    "dev/providers/openai/models/gpt-x.toml":
      "reasoning = true\n[limit]\ncontext = 1000\noutput = 100\n[cost]\ninput = 1\noutput = 4\n",
  });
  for (const name of ["facts.tsv", "api.json", "dev"])
    expect(await readSource(join(here.dir, name))).toMatchObject([FACT]);
});

test.each([
  ["other.tsv", "nonsense\n"],
  ["empty.tsv", `${HEADER}\n`],
  ["empty.json", "{}"],
])("%s: a source without facts is refused", async (name, text) => {
  using here = sources({ [name]: text });
  await expect(readSource(join(here.dir, name))).rejects.toThrow("no facts");
});

const fact = (more: Partial<Fact>): Fact => ({ ...FACT, priceCached: undefined, images: false, ...more });

test("no output price beside an input price, and no free model that others sell", () => {
  const { kept, remarks } = consistent([
    fact({ priceOut: 0 }),
    fact({ provider: "openrouter", id: "openai/gpt-x" }),
    fact({ id: "gpt-y", priceIn: 0, priceOut: 0 }),
    fact({ provider: "openrouter", id: "openai/gpt-y" }),
    fact({ id: "gpt-z", priceOut: 0 }),
  ]);
  const prices = Object.fromEntries(kept.map(({ id, priceIn, priceOut }) => [id, [priceIn, priceOut]]));
  expect(prices).toMatchObject({ "gpt-x": [1, 4], "gpt-y": [undefined, undefined], "gpt-z": [undefined, undefined] });
  expect(remarks).toHaveLength(3);
});

test("whether a model reasons is the same wherever it runs", () => {
  const { kept } = consistent([fact({ reasoning: false }), fact({ provider: "openrouter", id: "openai/gpt-x" })]);
  expect(kept.map(({ reasoning }) => reasoning)).toEqual([true, true]);
});
