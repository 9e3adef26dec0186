/** A command runs once or not at all, and "it did not run" is true: whoever is slow, and whatever is typed meanwhile. */
import { expect } from "bun:test";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { quote } from "../../../src/lib/quote.ts";
import type { RunOutcome } from "../../../src/targets/target.ts";
import { available, needs } from "../../support/needs.ts";
import { openTestTarget, temporaryHome } from "../../support/tmux.ts";
import { until } from "../../support/until.ts";

const { test } = await needs("tmux");
const SHELLS: readonly string[] = await available("bash", "zsh", "fish", "dash", "mksh");

/** A prompt that takes as many seconds as the file says. */
const slowPrompt = (shell: string, file: string) => {
  const wait = `sleep "$(cat ${quote(file)})"`;
  switch (shell) {
    case "bash":
      return `PROMPT_COMMAND=${quote(wait)}`;
    case "zsh":
      return `slow() { ${wait} }; precmd_functions+=(slow)`;
    case "fish":
      return `functions -c fish_prompt slow; function fish_prompt; sleep (cat '${file}'); slow; end`;
    default:
      return `PS1="$PS1"'$(sleep "$(cat ${file})")'`;
  }
};

const isNotRun = (outcome: RunOutcome) =>
  (outcome.kind === "lost" && outcome.notRun === true) ||
  (outcome.kind === "stopped" && outcome.by === "deadline") ||
  (outcome.kind === "running" && outcome.why === "busy") ||
  (outcome.kind === "waiting" && outcome.earlier === true);

for (const shell of SHELLS) {
  test(`in ${shell} with a slow prompt and Enters typed ahead`, async () => {
    using home = temporaryHome();
    const delay = join(home.path, "delay");
    const ran = join(home.path, "ran");
    writeFileSync(delay, "0");
    await using place = await openTestTarget("local", { shell });
    const run = (command: string, waitMs = 30_000) => place.target.shell.run(command, { waitMs });
    await run(slowPrompt(shell, delay));
    for (const [round, seconds] of ["1.2", "3"].entries()) {
      const file = `${ran}-${round}`;
      writeFileSync(delay, seconds);
      const [result] = await Promise.all([run(`echo x >>'${file}'`), place.types("\n\n\n")]);
      writeFileSync(delay, "0");
      const times = () => (existsSync(file) ? readFileSync(file, "utf8").length / 2 : 0);
      // What is still on its way gets there before this answer.
      await until(async () => (await run("echo here")).output.head === "here\n", "the shell answers");
      const { outcome } = result;
      expect({ outcome, times: times() }).toEqual({ outcome, times: isNotRun(outcome) ? 0 : 1 });
    }
  });
}

test("a key that comes after the command was given up runs nothing", async () => {
  using home = temporaryHome();
  const ran = join(home.path, "ran");
  await using place = await openTestTarget("local", { shell: "bash" });
  const { shell } = place.target;
  await shell.run("PROMPT_COMMAND='sleep 4'", { waitMs: 300 });
  const result = await shell.run(`echo x >>'${ran}'`, { waitMs: 600 });
  expect(isNotRun(result.outcome) || result.outcome.kind === "running").toBe(true);
  await shell.run("PROMPT_COMMAND=", { waitMs: 30_000 });
  expect((await shell.run("echo here", { waitMs: 30_000 })).output.head).toBe("here\n");
  expect(existsSync(ran)).toBe(false);
});
