/** `buddy init` in this process: answers in the template, and an old file that is never lost. */
import { afterAll, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fillTemplate, initConfig } from "../../src/cli/init-config.ts";
import { CONFIG_TEMPLATE } from "../../src/config/create.ts";
import { loadConfig } from "../../src/config/load.ts";
import { BuddyError } from "../../src/lib/errors.ts";

const root = mkdtempSync(join(tmpdir(), "buddy-init-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));
let count = 0;
function home(): string {
  const dir = join(root, String(count++));
  mkdirSync(dir);
  return dir;
}

test.each([
  ["gpt-codex", "next: buddy login"],
  ["gpt-spark", "next: buddy login gpt-spark"],
  ["openai", "next: export OPENAI_API_KEY=…"],
  ["deepseek", "next: export OPENROUTER_API_KEY=…"],
  ["glm", "next: export OPENROUTER_API_KEY=…"],
  ["ollama", "next: ollama pull qwen3:8b"],
  ["demo", "next: buddy"],
])("profile %s is written and loads; then: %s", async (profile, next) => {
  const env = { HOME: home() };
  const ask = async () => ({ profile, autoApprove: "none" as const, name: "ops" });
  const { lines } = await initConfig({ force: false, env, cwd: root, ask });
  expect(lines).toEqual(["wrote ~/.config/buddy/buddy.toml", next]);
  const { config, warnings } = await loadConfig({ env, cwd: root });
  expect(warnings).toEqual([]);
  expect(config.agent).toMatchObject({ model: profile, name: "ops" });
  expect(config.tools.shell_auto_approve).toBe("none");
});

test("the answers that are defaults change nothing but the model's line", () => {
  const filled = fillTemplate({ profile: "gpt-codex", autoApprove: "read-only", name: "" });
  const differing = filled.split("\n").filter((line, i) => line !== CONFIG_TEMPLATE.split("\n")[i]);
  expect(differing).toEqual(['model = "gpt-codex"']);
});

test("when the new file cannot be written the old one is back in its place", async () => {
  const dir = home();
  const path = join(dir, "buddy.toml");
  writeFileSync(path, "# mine\n");
  const ask = async () => {
    throw new BuddyError("interrupted", "cancelled; nothing was written");
  };
  await expect(initConfig({ path, force: true, env: { HOME: dir }, cwd: dir, ask })).rejects.toThrow("cancelled");
  expect(readdirSync(dir)).toEqual(["buddy.toml"]);
  expect(readFileSync(path, "utf8")).toBe("# mine\n");
});
