/** `buddy init` in this process: answers in the template, and an old file that is never lost. */
import { expect, spyOn, test } from "bun:test";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fillTemplate, initConfig } from "../../../src/cli/commands/init/command.ts";
import { runCommandLine } from "../../../src/cli/run-command-line.ts";
import { CONFIG_TEMPLATE, backUp } from "../../../src/config/create.ts";
import { loadConfig } from "../../../src/config/load.ts";
import { BuddyError } from "../../../src/lib/errors.ts";
import { isTerminal } from "../../../src/lib/terminal.ts";
import { temporaryDirectory } from "../../support/temporary.ts";

const root = temporaryDirectory();
let count = 0;
function home(): string {
  const dir = join(root, String(count++));
  mkdirSync(dir);
  return dir;
}

const DEMO = { model: { profile: "demo", label: "" }, answered: "", autoApprove: "read-only", name: "" } as const;

test.each([
  ["lm-studio", "http://127.0.0.1:1234/v1", 'odd "name" \\ here'],
  ["ollama", "http://127.0.0.1:11434/v1", "gemma4:12b"],
])("the answers are in the file, with the profile %s", async (profile, baseUrl, model) => {
  const env = { HOME: home() };
  const table = { api_base_url: baseUrl, api: "completions", model } as const;
  const ask = async () =>
    ({ ...DEMO, model: { profile, label: "", table }, autoApprove: "none", name: "ops" }) as const;
  const { lines } = await initConfig({ force: false, env, cwd: root, ask });
  expect(lines).toEqual(["wrote ~/.config/buddy/buddy.toml", "next: buddy"]);
  const { config, warnings } = await loadConfig({ env, cwd: root });
  expect(warnings).toEqual([]);
  expect(config.agent).toMatchObject({ model: profile, name: "ops" });
  expect(config.tools.shell_auto_approve).toBe("none");
  expect(config.models[profile]).toMatchObject({ api_base_url: baseUrl, api: "completions", model, auth: "api-key" });
  expect(config.models["glm"]?.model).toBe("z-ai/glm-5.3");
  expect(config.safety.git_add).toBe("block");
});

test("the answers that are defaults change nothing but the model's line", async () => {
  const filled = await fillTemplate(DEMO, {});
  const differing = filled.split("\n").filter((line, i) => line !== CONFIG_TEMPLATE.split("\n")[i]);
  expect(differing).toEqual(['model = "demo"']);
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

test("an existing file is refused, or kept beside the new one", async () => {
  const dir = home();
  const env = { HOME: dir };
  const ask = async () => DEMO;
  const path = (await initConfig({ force: false, env, cwd: root, ask })).path;
  expect(path).toBe(join(dir, ".config/buddy/buddy.toml"));
  await expect(initConfig({ force: false, env, cwd: root, ask })).rejects.toThrow(
    "~/.config/buddy/buddy.toml exists already",
  );
  const { lines } = await initConfig({ force: true, env, cwd: root, ask });
  expect(lines[0]).toMatch(/ ~\/\.config\/buddy\/buddy\.toml\.\d+\.bak$/);
  expect(readdirSync(join(dir, ".config/buddy"))).toHaveLength(3); // with the schema for editors
});

test("the file of a first start, untouched, does not get in the way and is not kept", async () => {
  const dir = home();
  const env = { HOME: dir };
  await loadConfig({ env, cwd: root });
  const ask = async () => DEMO;
  const { lines } = await initConfig({ force: false, env, cwd: root, ask });
  expect(lines).toEqual(["wrote ~/.config/buddy/buddy.toml", "next: buddy"]);
  expect((await loadConfig({ env, cwd: root })).config.agent.model).toBe("demo");
  expect(readdirSync(join(dir, ".config/buddy"))).toHaveLength(2);
});

test("the file of a first start of another version, whose comments were different, does not get in the way and is kept", async () => {
  const dir = home();
  const env = { HOME: dir };
  await loadConfig({ env, cwd: root });
  const path = join(dir, ".config/buddy/buddy.toml");
  writeFileSync(path, readFileSync(path, "utf8").replace(/^#.*$/m, "# other words"));
  const ask = async () => DEMO;
  const { lines } = await initConfig({ force: false, env, cwd: root, ask });
  expect(lines[0]).toMatch(/\.bak$/);
  expect((await loadConfig({ env, cwd: root })).config.agent.model).toBe("demo");
});

test("an old file that cannot be kept stays where it is", () => {
  const dir = home();
  expect(() => backUp(join(dir, "missing.toml"), { env: { HOME: dir }, cwd: dir })).toThrow(
    /\.\/missing\.toml\.\d+\.bak: it does not exist$/,
  );
});

test("a command line without a terminal gets the template", async () => {
  const path = join(home(), "own.toml");
  const said = spyOn(console, "log").mockImplementation(() => {});
  try {
    const ask = isTerminal(0) && isTerminal(1);
    if (!ask) {
      expect(await runCommandLine(["init", "--config", path])).toBe(0);
      expect(readFileSync(path, "utf8")).toBe(CONFIG_TEMPLATE);
    }
  } finally {
    said.mockRestore();
  }
});

test("what is not a regular file is never moved aside", async () => {
  const dir = home();
  const path = join(dir, "pipe");
  Bun.spawnSync(["mkfifo", path]);
  await expect(initConfig({ path, force: true, env: { HOME: dir }, cwd: dir })).rejects.toThrow(
    "./pipe is not a regular file",
  );
  expect(readdirSync(dir)).toEqual(["pipe"]);
});
