/** The template and the documentation say what the table of settings says. */
import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import Ajv2020 from "ajv/dist/2020.js";
import { CONFIG_SCHEMA, configurationPage, configurationSchema } from "../../scripts/make-config-docs.ts";
import { manPage } from "../../scripts/make-man.ts";
import { rootHelp } from "../../src/cli/args/help.ts";
import { BUILT_IN_PROFILES } from "../../src/config/schema.ts";
import { CONFIG_TEMPLATE } from "../../src/config/create.ts";
import { readSettings } from "../../src/config/read-settings.ts";
import { SETTINGS } from "../../src/config/schema.ts";
import type { Setting } from "../../src/config/setting.ts";
import { parseToml } from "../../src/config/toml.ts";

const everySetting = CONFIG_TEMPLATE.replace(/^# (\w+ = |\[)/gm, "$1");

test("docs/configuration.md is current (bun scripts/make-config-docs.ts)", () => {
  expect(readFileSync(join(import.meta.dir, "../../docs/configuration.md"), "utf8")).toBe(configurationPage());
});

test("docs/buddy.schema.json is current (bun scripts/make-config-docs.ts)", () => {
  expect(JSON.parse(readFileSync(CONFIG_SCHEMA, "utf8"))).toEqual(configurationSchema());
});

test("the variables of the page are those of --help and of the man page", async () => {
  const variables = (text: string, from: string, to: string) =>
    [...new Set((text.split(from)[1]?.split(to)[0] ?? "").match(/BUDDY_[A-Z_]+\b/g))].sort();
  const listed = variables(configurationPage(), "## Environment", "## The template");
  expect(listed).toContain("BUDDY_API_KEY");
  expect(variables(rootHelp(), "Environment:", "Examples:")).toEqual(listed);
  expect(variables(await manPage(), ".SH ENVIRONMENT", ".SH FILES")).toEqual(listed);
});

describe("docs/buddy.schema.json", () => {
  const validate = new Ajv2020({ allErrors: true, allowUnionTypes: true }).compile(configurationSchema());
  const problems = async (text: string) => {
    validate(parseToml(text, "test"));
    return (validate.errors ?? []).map(({ instancePath, params }) => `${instancePath} ${JSON.stringify(params)}`);
  };

  test("takes the template, with every setting written out", async () => {
    expect(await problems(CONFIG_TEMPLATE)).toEqual([]);
    expect(await problems(everySetting)).toEqual([]);
  });

  test.each([
    '[agent]\nmax_iterations = "many"',
    "[agent]\nmodle = 'x'",
    "[tools]\nshell_auto_approve = 'everything'",
    "[models.x]\napi_base_url = 'ftp://x'",
    "[[hooks]]\non = 'never'",
    "[nonsense]\nx = 1",
  ])("finds what buddy would complain about: %j", async (text) => {
    expect(await problems(text)).not.toEqual([]);
  });
});

test("the template names the schema for editors", () => {
  expect(CONFIG_TEMPLATE).toStartWith("#:schema ");
});

test("the template names every setting, commented ones with their default", async () => {
  const { values, warnings } = readSettings(everySetting, "template");
  expect(warnings).toEqual([]);
  const missing: string[] = [];
  for (const [section, table] of Object.entries(SETTINGS)) {
    for (const [key, setting] of Object.entries(table as Record<string, Setting<unknown>>)) {
      const found = values.get(`${section}.${key}`)?.value;
      if (found === undefined && setting.fallback !== undefined) missing.push(`${section}.${key}`);
      else if (setting.fallback !== undefined) expect({ key, found }).toEqual({ key, found: setting.fallback });
    }
  }
  expect(missing).toEqual([]);
});

test("the template's profiles: the built-in ones as they are, one key source at most, all complete", async () => {
  const { profiles } = readSettings(CONFIG_TEMPLATE, "template");
  expect([...profiles.keys()]).toEqual(["gpt-codex", "gpt-spark", "openai", "claude", "deepseek", "glm", "ollama"]);
  for (const [name, built] of Object.entries(BUILT_IN_PROFILES)) {
    for (const key of ["api_base_url", "api", "auth", "model"] as const) {
      expect(profiles.get(name)?.get(key)?.value).toBe(built[key]);
    }
  }
  expect(profiles.get("deepseek")?.get("model")?.value).toBe("deepseek/deepseek-v3.2");
});
