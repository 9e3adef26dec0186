/** A first start: what the machine already has, and how it is written down. */
import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { firstModels, needsModel, withProfile } from "../../../src/app/model/first-model.ts";
import { CONFIG_TEMPLATE } from "../../../src/config/create.ts";
import { loadConfig } from "../../../src/config/load.ts";
import { resolveProfile } from "../../../src/config/profiles.ts";
import { startModel } from "../../support/model.ts";

const root = mkdtempSync(join(tmpdir(), "buddy-first-"));
const before = process.env["XDG_CONFIG_HOME"];
afterAll(() => {
  rmSync(root, { recursive: true, force: true });
  if (before === undefined) delete process.env["XDG_CONFIG_HOME"];
  else process.env["XDG_CONFIG_HOME"] = before;
});

async function start(env: Record<string, string>) {
  const home = mkdtempSync(join(root, "home-"));
  const own = { HOME: home, ...env };
  // The sign-in is looked for where the process would look.
  process.env["XDG_CONFIG_HOME"] = join(home, ".config");
  return { file: join(home, ".config/buddy/buddy.toml"), load: () => loadConfig({ env: own, cwd: home }), env: own };
}

describe("a key in the environment", () => {
  test.each([
    ["OPENAI_API_KEY", "openai", "responses"],
    ["ANTHROPIC_API_KEY", "claude", "anthropic"],
    ["OPENROUTER_API_KEY", "openrouter", "completions"],
    ["GEMINI_API_KEY", "gemini", "completions"],
    ["GOOGLE_API_KEY", "gemini", "completions"],
  ])("%s gives a profile that works", async (variable, name, api) => {
    const { load, file, env } = await start({ [variable]: "k-123" });
    expect(await needsModel(await load())).toBe(true);
    const [first] = await firstModels(env, []);
    writeFileSync(file, withProfile(readFileSync(file, "utf8"), first!).text);
    expect(resolveProfile(await load())).toMatchObject({ name, api, key: { value: "k-123" } });
    expect(await needsModel(await load())).toBe(false);
  });

  test.each([
    ["OPENAI", "openai-gateway", "completions"],
    ["ANTHROPIC", "claude-gateway", "anthropic"],
  ])("%s_API_KEY goes to the gateway that %s_BASE_URL names", async (variable, name, api) => {
    await using model = startModel([], {}, { models: ["text-embedding-3", "m1"] });
    const { load, file, env } = await start({
      [`${variable}_API_KEY`]: "k-123",
      [`${variable}_BASE_URL`]: `${model.url}/`,
    });
    await load();
    const [first] = await firstModels(env, []);
    writeFileSync(file, withProfile(readFileSync(file, "utf8"), first!).text);
    expect(resolveProfile(await load())).toMatchObject({
      name,
      api,
      model: "m1",
      baseUrl: model.url,
      key: { value: "k-123" },
    });
  });

  test("a gateway that does not answer gets no profile, and its key goes nowhere else", async () => {
    const env = { OPENAI_API_KEY: "k-secret-1", OPENAI_BASE_URL: "http://127.0.0.1:1/v1" };
    const failed: string[] = [];
    expect(await firstModels(env, [], (words) => failed.push(words))).toEqual([]);
    expect(failed).toEqual([expect.stringMatching(/^OPENAI_API_KEY is set, but cannot connect to 127.0.0.1:1/)]);
  });

  test("whoever chose a profile is not asked", async () => {
    const { load } = await start({ OPENAI_API_KEY: "k", BUDDY_MODEL: "glm" });
    expect(await needsModel(await load())).toBe(false);
  });
});

test("a server of this machine is offered", async () => {
  await using model = startModel([], {}, { models: ["nomic-embed-text", "m1", "m2"] });
  const [first] = await firstModels({}, [{ name: "Ollama", baseUrl: model.url }]);
  expect(first).toMatchObject({ profile: "ollama", table: { model: "m1", api_base_url: model.url }, others: ["m2"] });
});

describe("the file", () => {
  const table = { api_base_url: "http://127.0.0.1:9/v1", api: "completions", model: "m" } as const;
  const parsed = (text: string) =>
    Bun.TOML.parse(text) as { agent: { model: string }; models: Record<string, Record<string, string>> };

  test.each([
    ["empty", "", "x"],
    ["with comments and other settings", "# mine\n[tools]\nshell_confirm = true # here\n", "x"],
    ["with a model", '[agent]\nmodel = "a" # c\nname = "n"\n\n[models.a]\nmodel = "k"\n', "x"],
    ["with dotted keys", 'agent.name = "n"\nagent.model = "a"\n[models.a]\nmodel = "k"\n', "x"],
    ["with a profile of the user under this name", '[agent]\nname = "n"\n[models.x]\nmodel = "k"\n', "x-2"],
    ["where the profile is written otherwise", 'models.x = { model = "k" }\n[tools]\nshell_confirm = true\n', "x-2"],
  ])("%s keeps everything else", (_, text, name) => {
    const { text: changed, profile } = withProfile(text, { profile: "x", label: "", table });
    expect(profile).toBe(name);
    const { agent, models, ...others } = parsed(changed);
    const before = parsed(text);
    expect(agent).toEqual({ ...before.agent, model: name });
    expect(models).toEqual({ ...before.models, [name]: { ...table } });
    expect(others).toEqual(expect.objectContaining("tools" in before ? { tools: { shell_confirm: true } } : {}));
    for (const comment of text.match(/# (?:mine|here)/g) ?? []) expect(changed).toContain(comment);
  });

  test.each(["openai", "claude", "ollama", "glm"])(
    "of the template: profile %s is changed in its place",
    async (name) => {
      const { text, profile } = withProfile(CONFIG_TEMPLATE, { profile: name, label: "", table });
      expect(profile).toBe(name);
      const [now, before] = [parsed(text), parsed(CONFIG_TEMPLATE)];
      expect(now).toEqual({
        ...before,
        agent: { ...before.agent, model: name },
        models: { ...before.models, [name]: { ...table } },
      });
    },
  );

  test("a pasted key takes the place of the variable, and never that of another profile's key", () => {
    const keyed = { ...table, api_key_env: "K" };
    const file = (profile: string) => `/keys/${profile}`;
    const first = withProfile("", { profile: "x", label: "", table: keyed }, file);
    expect(parsed(first.text).models).toEqual({ x: { ...table, api_key_file: "/keys/x" } });
    const other = { ...keyed, model: "m2" };
    const second = withProfile(first.text, { profile: "x", label: "", table: other }, file);
    expect(parsed(second.text).models["x-2"]).toEqual({ ...table, model: "m2", api_key_file: "/keys/x-2" });
  });
});
