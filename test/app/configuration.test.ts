/** The configuration as a command gets it, with its warnings on stderr. */
import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { loadConfiguration } from "../../src/app/configuration.ts";
import type { GlobalOptions } from "../../src/cli/args/options.ts";
import { captureOutput } from "../support/stdout.ts";
import { temporaryDirectory } from "../support/temporary.ts";

const root = temporaryDirectory();
function globals(toml: string, more: Partial<GlobalOptions> = {}): GlobalOptions {
  const config = join(root, "buddy.toml");
  writeFileSync(config, toml, { mode: 0o600 });
  return { config, tmux: "auto", dryRun: false, quiet: false, verbose: false, ...more };
}

test("warnings are printed once, made harmless, and not with --quiet", async () => {
  const toml = '[tools]\n"odd\\u001b[2J" = 1\n';
  using written = captureOutput();
  const said = written.err;
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

test("stderr lines arrive as they are written, whole", async () => {
  const script = `const { stderrLine } = await import(${JSON.stringify(join(import.meta.dir, "../../src/lib/terminal.ts"))}); stderrLine("x".repeat(300000)); stderrLine("end");`;
  const child = Bun.spawn([process.execPath, "-e", script], {
    stderr: "pipe",
    env: { ...process.env, FORCE_COLOR: "1" },
  });
  expect(await child.stderr.text()).toBe(`${"x".repeat(300_000)}\nend\n`);
});
