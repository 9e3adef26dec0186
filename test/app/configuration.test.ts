/** The configuration as a command gets it: warnings on stderr, the profile, and every way out without one. */
import { afterAll, afterEach, beforeEach, expect, spyOn, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loadConfiguration, loadProfile } from "../../src/app/configuration.ts";
import type { GlobalOptions } from "../../src/cli/args/options.ts";
import { BuddyError } from "../../src/lib/errors.ts";
import { isTerminal } from "../../src/lib/terminal.ts";
import * as stderr from "../../src/lib/terminal.ts";

const root = mkdtempSync(join(tmpdir(), "buddy-configuration-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));
const said: string[] = [];
let spy: { mockRestore(): void };
beforeEach(() => {
  said.length = 0;
  spy = spyOn(stderr, "stderrLine").mockImplementation((text: string) => void said.push(text));
});
afterEach(() => spy.mockRestore());

function globals(toml: string, more: Partial<GlobalOptions> = {}): GlobalOptions {
  const config = join(root, "buddy.toml");
  writeFileSync(config, toml, { mode: 0o600 });
  return { config, tmux: "auto", dryRun: false, quiet: false, verbose: false, ...more };
}

const LOCAL = '[agent]\nmodel = "x"\n[models.x]\napi_base_url = "http://127.0.0.1:9/v1"\n';

test("warnings are printed once, made harmless, and not with --quiet", async () => {
  const toml = '[tools]\n"odd\\u001b[2J" = 1\n';
  const { config } = await loadConfiguration(globals(toml, { apiKey: "k" }));
  expect(config.tools.shell_confirm).toBe(true);
  expect(said).toHaveLength(2);
  expect(said[0]).toContain("warning: --api-key can be seen by every user of this machine");
  expect(said[1]).toContain("unknown key tools.");
  expect(said.join("")).not.toContain("\u001b");
  said.length = 0;
  await loadConfiguration(globals(toml, { quiet: true }));
  expect(said).toEqual([]);
});

test("the profile in effect", async () => {
  const { profile, loaded } = await loadProfile(globals(LOCAL));
  expect(profile).toMatchObject({ name: "x", baseUrl: "http://127.0.0.1:9/v1" });
  expect(loaded.files).toEqual([join(root, "buddy.toml")]);
});

test("without a key the error lists how to connect a model", async () => {
  const failing = loadProfile(globals(LOCAL.replace("127.0.0.1:9", "api.example.com")));
  const error = await failing.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(BuddyError);
  expect((error as BuddyError).code).toBe("auth");
  expect((error as BuddyError).hint).toContain("To connect a model:");
});

test("stderr lines arrive as they are written, whole", async () => {
  const script = `const { stderrLine } = await import(${JSON.stringify(join(import.meta.dir, "../../src/lib/terminal.ts"))}); stderrLine("x".repeat(300000)); stderrLine("end");`;
  const child = Bun.spawn([process.execPath, "-e", script], {
    stderr: "pipe",
    env: { ...process.env, FORCE_COLOR: "1" },
  });
  expect(await child.stderr.text()).toBe(`${"x".repeat(300_000)}\nend\n`);
  spy.mockRestore();
  stderr.stderrLine("");
  expect(isTerminal(1)).toBe(process.stdout.isTTY === true);
});
