/** What is taken without asking zod is what zod takes. */
import { describe, expect, test } from "bun:test";
import { CONFIG_TEMPLATE } from "../../src/config/create.ts";
import {
  hookSettings,
  machineRuleSettings,
  mcpSettings,
  PROFILE_SETTINGS,
  ruleSettings,
  SETTINGS,
  targetSettings,
} from "../../src/config/schema.ts";
import { prepareSettings, type Setting } from "../../src/config/setting.ts";
import { parseToml } from "../../src/config/toml.ts";
import { zod } from "../../src/config/zod.ts";

await prepareSettings();

const TABLES: Record<string, Readonly<Record<string, Setting<unknown>>>> = {
  ...SETTINGS,
  models: PROFILE_SETTINGS,
  mcp: mcpSettings(),
  targets: targetSettings(),
  rules: machineRuleSettings(),
  model_rules: ruleSettings(),
  hooks: hookSettings(),
};
const settings = Object.entries(TABLES).flatMap(([section, table]) =>
  Object.entries(table).map(([key, setting]) => ({ name: `${section}.${key}`, setting })),
);

const texts = [
  "",
  " ",
  "x",
  "auto",
  "on",
  "block",
  "true",
  "0",
  "10s",
  "http://a/v1",
  "http://a@b",
  "a b",
  "é\n",
  "\u0000",
];
const numbers = [0, -0, 1, -1, 0.5, 1.5, 2, 3, 1024, 1e9, 2 ** 53, Number.MAX_VALUE, Infinity, -Infinity, NaN];
const scalars: unknown[] = [...texts, ...numbers, true, false, null, undefined, 1n];
const objects: unknown[] = [
  {},
  { a: "b" },
  { a: 1 },
  { allow: ["a"] },
  { allow: [""], deny: [] },
  { allow: [], other: [] },
  { constructor: "x" },
  JSON.parse('{"__proto__": "x"}'),
  Object.create(null),
  new Date(0),
  new Map(),
];
const everything: unknown[] = [
  ...scalars,
  ...objects,
  [],
  ...[...scalars, ...objects].flatMap((one) => [[one], ["a", one], [["a"], one], [[one]]]),
];

describe("every setting", () => {
  test.each(settings)("$name takes plainly only what its schema takes, and its default", ({ setting }) => {
    const schema = setting.schema(zod);
    const written = [...everything, setting.fallback, ...(Array.isArray(setting.fallback) ? setting.fallback : [])];
    const wrong = written.filter((raw) => setting.plain(raw) && !schema.safeParse(raw).success);
    expect(wrong).toEqual([]);
  });
});

test("the template with every setting written out is read without zod", async () => {
  const { data } = await parseToml(CONFIG_TEMPLATE.replace(/^# (\w+ = |\[)/gm, "$1"), "template");
  const tables = Object.entries(TABLES).flatMap(([section, known]) => {
    const written = data[section] ?? {};
    const several = section in SETTINGS ? [written] : Object.values(written);
    return several.flatMap((table) =>
      Object.entries(table as object).map(([key, raw]) => ({ section, key, raw, known })),
    );
  });
  expect(tables.length).toBeGreaterThan(60);
  const asked = tables.filter(({ known, key, raw }) => known[key]?.plain(raw) === false && raw !== "");
  expect(asked.map(({ section, key }) => `${section}.${key}`)).toEqual([]);
});
