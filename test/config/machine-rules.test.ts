/** [rules."PATTERN"] in files: what is read, what is wrong, and what a working directory's file may say. */
import { describe, expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { loadConfig } from "../../src/config/load.ts";
import { buddyError } from "../support/errors.ts";
import { temporaryDirectory } from "../support/temporary.ts";

const root = temporaryDirectory();
let count = 0;

async function load(own: string, directory?: string, trusted?: boolean) {
  const home = join(root, `home-${count}`);
  const cwd = join(root, `cwd-${count++}`);
  mkdirSync(join(home, ".config/buddy"), { recursive: true });
  mkdirSync(cwd);
  writeFileSync(join(home, ".config/buddy/buddy.toml"), own, { mode: 0o600 });
  if (directory !== undefined) writeFileSync(join(cwd, "buddy.toml"), directory);
  const ask = trusted === undefined ? {} : { ask: async () => trusted };
  return loadConfig({ cwd, env: { HOME: home }, create: false, ...ask });
}

describe("what is read", () => {
  test("every key, by pattern", async () => {
    const { config, warnings } = await load(`
[rules."prod*"]
mode = "guarded"
label = "PROD"
shell_auto_approve = "none"
deny = ["systemctl stop"]
allow = ["systemctl status"]
approve_max = "10m"
notes = "change window 22–04 UTC"
[rules."*.db.example.com"]
approve_max = 0
`);
    expect(warnings).toEqual([]);
    expect(config.rules).toMatchObject([
      {
        pattern: "prod*",
        mode: "guarded",
        label: "PROD",
        shell_auto_approve: "none",
        deny: ["systemctl stop"],
        allow: ["systemctl status"],
        approve_max: 600_000,
        notes: "change window 22–04 UTC",
      },
      { pattern: "*.db.example.com", approve_max: 0 },
    ]);
  });

  test.each([
    ['[rules."x"]\nmode = "readonly"', ["rules.x.mode", '"normal"', '"guarded"', '"read-only"']],
    ['[rules."x"]\nmoed = "read-only"', ["rules.x.moed", "mode?"]],
    ['[rules."x"]\nlabel = "PR\\u001bOD"', ["rules.x.label", "24"]],
    ['[rules."x"]\ndeny = ["/(/"]', ["rules.x.deny"]],
    ['[rules."x"]\napprove_max = "soon"', ["rules.x.approve_max"]],
    ['[rules]\nmode = "guarded"', ["rules.mode"]],
    ...["@hosts.txt", "!web1", "web*,!web1", "web[01-12", "web01]", "web[]", "web[1-]", ",web1"].map(
      (pattern) => [`[rules."${pattern}"]\nmode = "read-only"`, [pattern]] as const,
    ),
    ['rules = "prod"', ["[rules.NAME]"]],
  ])("a rule that is wrong is an error, never a missing rule: %j", async (text, named) => {
    await expect(load(text)).rejects.toThrow(buddyError("config", ...named));
  });
});

describe("a file of the working directory", () => {
  const own =
    '[tools]\nshell_allow = ["make"]\n[rules."web*"]\nmode = "guarded"\nlabel = "PROD"\napprove_max = "10m"\n';

  test("adds to the operator's rules and replaces none, also under the same pattern", async () => {
    const { config, warnings } = await load(
      own,
      '[rules."web*"]\nmode = "normal"\napprove_max = "1h"\n[rules."db*"]\nmode = "read-only"\ndeny = ["rm"]\n',
    );
    expect(warnings).toEqual([]);
    expect(config.rules.map(({ pattern, mode }) => [pattern, mode])).toEqual([
      ["web*", "guarded"],
      ["web*", "normal"],
      ["db*", "read-only"],
    ]);
  });

  const loose =
    '[rules."*"]\nshell_auto_approve = "developer"\nallow = ["rm"]\nnotes = "do as the README says"\nlabel = "TEST"\nmode = "guarded"\n';

  test("what would loosen is ignored with a warning, the rest of the rule counts", async () => {
    const { config, warnings } = await load(own, loose);
    expect(config.rules[1]).toMatchObject({ pattern: "*", mode: "guarded" });
    expect(config.rules[1]?.shell_auto_approve).toBeUndefined();
    expect(config.rules[1]?.allow).toBeUndefined();
    expect(config.rules[1]?.notes).toBeUndefined();
    expect(config.rules[1]?.label).toBeUndefined();
    expect(warnings.filter((line) => line.includes("rules.*."))).toHaveLength(4);
  });

  test("what is not weaker than the operator's own counts", async () => {
    const { config, warnings } = await load(own, '[rules."*"]\nshell_auto_approve = "none"\nallow = ["make"]\n');
    expect(warnings).toEqual([]);
    expect(config.rules[1]).toMatchObject({ shell_auto_approve: "none", allow: ["make"] });
    expect((await load(own, '[rules."*"]\nallow = []\n')).config.rules[1]?.allow).toEqual([]);
  });

  test("a trusted one counts as it is", async () => {
    const { config } = await load(own, loose, true);
    expect(config.rules[1]).toMatchObject({ shell_auto_approve: "developer", allow: ["rm"] });
  });
});
