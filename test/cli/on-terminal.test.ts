/** What is asked on a terminal before anything else: whether to trust a file, and the questions of init. */
import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { buddyBinary, type Sandbox, sandbox } from "../support/buddy.ts";
import { onTerminal } from "../support/terminal.ts";
import { until } from "../support/until.ts";
import { INIT, TRUST } from "../support/wording.ts";

async function start(box: Sandbox, args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  return onTerminal([await buddyBinary(), ...args], { ...box.env, ...env }, box.cwd);
}

describe("a configuration file of the working directory", () => {
  const TOML = '[tools]\nshell_confirm = false\n[agent]\nname = "\\u001b]0;x"\n';
  const run = ["exec", "-m", "no-such-profile", "hi"];

  test("is asked about once, with every setting that needs trust; yes is remembered", async () => {
    using box = sandbox();
    box.write("cwd/buddy.toml", TOML.replace(/name.*\n/, ""));
    const first = await start(box, run);
    await first.sees(TRUST.asked);
    expect(first.text()).toContain("tools.shell_confirm = false (line 2): ");
    first.type("y");
    expect(await first.child.exited).toBe(2);
    expect(first.text()).not.toContain(TRUST.ignored);
    const second = await start(box, run);
    expect(await second.child.exited).toBe(2);
    expect(second.text()).not.toContain(TRUST.asked);
    expect(readFileSync(join(box.home, ".config/buddy/trust.json"), "utf8")).toContain('"trusted": true');
    expect((await box.run(run)).stderr).not.toContain(TRUST.ignored);
  });

  test("Enter means no, and what it would have changed is named", async () => {
    using box = sandbox();
    box.write("cwd/buddy.toml", TOML.replace(/name.*\n/, ""));
    const asked = await start(box, run);
    await asked.sees(TRUST.asked);
    asked.type("\r");
    expect(await asked.child.exited).toBe(2);
    expect(asked.text()).toContain(`tools.shell_confirm = false ${TRUST.ignored}`);
  });

  test.each(["yes", "y\r", "y\ry\r", "\x1b[200~y\x1b[201~"])("%j at once does not answer it", async (burst) => {
    using box = sandbox();
    box.write("cwd/buddy.toml", TOML.replace(/name.*\n/, ""));
    const asked = await start(box, run);
    await asked.sees(TRUST.asked);
    asked.type(burst);
    // The first Enter may still be read together with it.
    let ended = false;
    void asked.child.exited.then(() => (ended = true));
    await until(() => ended || (asked.type("\r"), false), "Enter answers it", { everyMs: 150 });
    expect(asked.text()).toContain(`tools.shell_confirm = false ${TRUST.ignored}`);
  });

  test("Ctrl-C at the question ends it; nothing is remembered", async () => {
    using box = sandbox();
    box.write("cwd/buddy.toml", TOML.replace(/name.*\n/, ""));
    const asked = await start(box, run);
    await asked.sees(TRUST.asked);
    asked.type("\u0003");
    expect(await asked.child.exited).toBe(130);
    expect(existsSync(join(box.home, ".config/buddy/trust.json"))).toBe(false);
  });

  test("after the answer the keys are the REPL's", async () => {
    using box = sandbox();
    box.write("cwd/buddy.toml", TOML.replace(/name.*\n/, ""));
    const repl = await start(box, ["-m", "demo", "--no-tmux"]);
    await repl.sees(TRUST.asked);
    repl.type("y");
    await repl.sees("% context >");
    repl.type("/help\r");
    await repl.sees("/quit");
    repl.type("/quit\r");
    expect(await repl.child.exited).toBe(0);
  });

  test("a yes typed before the question answered it where stdout is a pipe", async () => {
    using box = sandbox();
    box.write("cwd/buddy.toml", TOML.replace(/name.*\n/, ""));
    const line = 'echo ready; read -r first; "$BUDDY" exec -m no-such-profile hi | cat';
    const asked = onTerminal(["sh", "-c", line], { ...box.env, BUDDY: await buddyBinary() }, box.cwd);
    await asked.sees("ready");
    asked.type("go\ry\r");
    await asked.sees(TRUST.asked);
    asked.type("n\r");
    await asked.child.exited;
    expect(readFileSync(join(box.home, ".config/buddy/trust.json"), "utf8")).toContain('"trusted": false');
  });

  test("what stands in the file cannot reach the terminal as an escape sequence", async () => {
    using box = sandbox();
    box.write("cwd/buddy.toml", TOML);
    const shown = await start(box, run);
    expect(await shown.child.exited).toBe(2);
    expect(shown.text()).toContain("agent.name ");
    expect(shown.text()).not.toContain("\u001b]0;x");
  });
});

describe("init", () => {
  const file = (box: Sandbox) => join(box.home, ".config/buddy/buddy.toml");

  test.each([
    ["\r", "\r", {}],
    ["\u001b[B\r", "web\r", { shell_auto_approve: '"developer"', name: '"web"' }],
  ])("answers %j and %j are written where the template has its defaults", async (approve, name, differing) => {
    using box = sandbox();
    const asked = await start(box, ["init"]);
    await asked.sees(INIT.model);
    asked.type("\u001b[A\r");
    await asked.sees(INIT.approve);
    asked.type(approve);
    await asked.sees(INIT.session);
    asked.type(name);
    expect(await asked.child.exited).toBe(0);
    using plain = sandbox();
    await plain.run(["init"]);
    const before = readFileSync(file(plain), "utf8").split("\n");
    const changed = readFileSync(file(box), "utf8")
      .split("\n")
      .filter((line, at) => line !== before[at]);
    const expected = Object.entries({ ...differing, model: '"demo"' }).map(([key, value]) => `${key} = ${value}`);
    expect(changed.toSorted()).toEqual(expected.toSorted());
  });

  test("Ctrl-C leaves everything as it was", async () => {
    using box = sandbox();
    const asked = await start(box, ["init"]);
    await asked.sees(INIT.model);
    asked.type("\u0003");
    expect(await asked.child.exited).toBe(130);
    expect(existsSync(file(box))).toBe(false);
  });
});

describe("a page of the documentation", () => {
  test("was printed to its end, and its beginning had scrolled away", async () => {
    using box = sandbox();
    const shown = await start(box, ["help", "keys"], { PAGER: "sed -n 1p" });
    expect(await shown.child.exited).toBe(0);
    expect(shown.text()).toContain("The REPL");
    expect(shown.text()).not.toContain("Ctrl-Z");
  });

  test("with a PAGER that only prints, all of it is printed", async () => {
    using box = sandbox();
    const shown = await start(box, ["help", "undo"], { PAGER: "cat" });
    expect(await shown.child.exited).toBe(0);
    expect(shown.text()).toContain("as with commands");
  });
});
