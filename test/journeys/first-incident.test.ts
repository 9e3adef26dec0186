/**
 * docs/first-incident.md, step by step in one directory: shell commands, prompts of the REPL, and the key of the
 * question.
 */
import { expect, setDefaultTimeout } from "bun:test";
import { existsSync, mkdirSync, readFileSync, statSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { buddyBinary, sandbox } from "../support/buddy.ts";
import { blocks } from "../support/documentation.ts";
import { needs } from "../support/needs.ts";
import { Pty } from "../support/pty.ts";
import { QUESTION } from "../support/wording.ts";

setDefaultTimeout(60_000);
const { test } = await needs("linux", "tmux", "bash");

test("the first incident goes as the page says", async () => {
  using box = sandbox();
  const bin = join(box.dir, "bin");
  mkdirSync(bin);
  symlinkSync(await buddyBinary(), join(bin, "buddy"));
  const env = { ...box.env, PATH: `${bin}:${box.env["PATH"]}` };
  const log = join(box.cwd, "incident/app.log");
  let repl: Pty | undefined;
  let report = "";
  let answers = 0;
  const answered = () => repl?.until((screen) => screen.split("succeeded").length - 1 > answers, 30_000);
  for (const { language, text } of blocks("docs/first-incident.md")) {
    if (language === "repl") {
      for (const line of text.split("\n")) {
        repl?.type(`${line}\r`);
        if (line === "/quit") expect(await repl?.exited).toBe(0);
        else if (line.includes("truncate")) await repl?.until(QUESTION.asked, 30_000);
        else {
          await answered();
          answers++;
        }
      }
    } else if (language === "key") {
      expect(statSync(log).size).toBeGreaterThan(0);
      repl?.type(text);
      await answered();
      answers++;
      expect(statSync(log).size).toBe(0);
    } else if (text === "buddy --model demo") {
      repl = new Pty(["bash", "-c", text], { cols: 120, rows: 60, cwd: box.cwd, env });
      await repl.until(/% context/, 30_000);
    } else {
      const child = Bun.spawn(["setsid", "-w", "bash", "-c", text], {
        cwd: box.cwd,
        env,
        stdin: "ignore",
        stdout: "pipe",
        stderr: "pipe",
      });
      const [out, err, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
      expect({ text, code, out, err }).toMatchObject({ code: 0 });
      if (text.includes("export last")) report = readFileSync(join(box.cwd, "incident/report.md"), "utf8");
    }
  }
  await repl?.[Symbol.asyncDispose]();
  // The whole incident, not only what the script added.
  for (const command of ["tail -n 2 incident/app.log", "truncate -s 0 incident/app.log", "ls -l incident"])
    expect(report).toContain(`$ ${command}`);
  expect(existsSync(join(box.cwd, "incident"))).toBe(false);
});
