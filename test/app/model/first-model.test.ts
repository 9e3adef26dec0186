/** A first start: what the machine already has is offered once and written down. */
import { afterAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { firstModels, offerFirstModel, withProfile } from "../../../src/app/model/first-model.ts";
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

let homes = 0;
async function start(env: Record<string, string>) {
  const home = join(root, String(++homes));
  mkdirSync(home);
  const own = { HOME: home, ...env };
  // The sign-in is looked for where the process would look.
  process.env["XDG_CONFIG_HOME"] = join(home, ".config");
  const load = () => loadConfig({ env: own, cwd: home });
  return { load, file: join(home, ".config/buddy/buddy.toml") };
}

const yes = async () => true;

describe("a key in the environment", () => {
  test.each([
    ["OPENAI_API_KEY", "openai", "responses"],
    ["ANTHROPIC_API_KEY", "claude", "anthropic"],
    ["OPENROUTER_API_KEY", "openrouter", "completions"],
    ["GEMINI_API_KEY", "gemini", "completions"],
    ["GOOGLE_API_KEY", "gemini", "completions"],
  ])("%s is used after one question", async (variable, name, api) => {
    const { load } = await start({ [variable]: "k-123" });
    const questions: string[] = [];
    const asked = async (question: string) => questions.push(question) > 0;
    expect(await offerFirstModel(await load(), asked, [])).toBe(true);
    expect(questions).toHaveLength(1);
    expect(resolveProfile(await load())).toMatchObject({ name, api, key: { value: "k-123" } });
    expect(await offerFirstModel(await load(), asked, [])).toBe(false);
  });

  test.each([
    ["OPENAI", "openai-gateway", "completions"],
    ["ANTHROPIC", "claude-gateway", "anthropic"],
  ])("%s_API_KEY goes to the gateway that %s_BASE_URL names", async (variable, name, api) => {
    await using model = startModel([], {}, { models: ["text-embedding-3", "m1"] });
    const { load } = await start({ [`${variable}_API_KEY`]: "k-123", [`${variable}_BASE_URL`]: `${model.url}/` });
    expect(await offerFirstModel(await load(), yes, [])).toBe(true);
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

  test("no means no, and nothing is written", async () => {
    const { load, file } = await start({ OPENAI_API_KEY: "k" });
    const loaded = await load();
    const before = readFileSync(file, "utf8");
    expect(await offerFirstModel(loaded, async () => false, [])).toBe(false);
    expect(readFileSync(file, "utf8")).toBe(before);
  });

  test("whoever chose a profile is not asked", async () => {
    const { load } = await start({ OPENAI_API_KEY: "k", BUDDY_MODEL: "glm" });
    expect(await offerFirstModel(await load(), yes, [])).toBe(false);
  });
});

test("a server of this machine is offered", async () => {
  await using model = startModel([], {}, { models: ["nomic-embed-text", "m1"] });
  const [first] = await firstModels({}, [{ name: "Ollama", baseUrl: model.url }]);
  expect(first).toMatchObject({ profile: "ollama-here", text: "Ollama on this machine with m1" });
});

test("nothing to offer, nothing asked", async () => {
  const { load } = await start({});
  expect(await offerFirstModel(await load(), yes, [])).toBe(false);
});

test("the file keeps everything else", () => {
  const first = { profile: "x", text: "", lines: ["[models.x]", 'model = "m"'] };
  expect(withProfile("# mine\n[tools]\nshell_confirm = true\n", first)).toBe(
    '[agent]\nmodel = "x"\n\n# mine\n[tools]\nshell_confirm = true\n\n[models.x]\nmodel = "m"\n',
  );
  expect(withProfile('[agent]\nmodel = "a" # c\nname = "n"\n[models.x]\nmodel = "k"\n', first)).toBe(
    '[agent]\nmodel = "x"\nname = "n"\n[models.x]\nmodel = "k"\n',
  );
});
