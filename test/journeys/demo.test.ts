import { describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { buddyBinary, type Sandbox, sandbox } from "../support/buddy.ts";
import { until } from "../support/until.ts";
import { needs } from "../support/needs.ts";
import { DEMO, QUESTION } from "../support/wording.ts";

const pane = await needs("tmux");

/** A tmux server of its own, and a place for the demo's file. */
function surroundings(box: Sandbox): Record<string, string> {
  mkdirSync(join(box.dir, "tmp"), { recursive: true });
  return { TMUX_TMPDIR: box.dir, TMPDIR: join(box.dir, "tmp"), BUDDY_API_KEY: "" };
}

const sessions = (env: Record<string, string>) =>
  Bun.spawnSync(["tmux", "-L", "buddy", "ls"], {
    env: { ...env, PATH: process.env.PATH ?? "" },
    stderr: "ignore",
  }).stdout.toString();

/** What the tour wrote; taken away again. */
function takeFile(stdout: string): string {
  const file = /> (\S+buddy-demo\S*\.txt)/.exec(stdout)?.[1] ?? "";
  const text = readFileSync(file, "utf8");
  rmSync(file);
  return text;
}

describe("buddy demo", () => {
  pane.test("--yes: the whole tour, with real results, and nothing left but the file it says", async () => {
    using box = sandbox();
    const env = surroundings(box);
    const { code, stdout, stderr } = await box.run(["demo", "--yes"], { env });
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toContain("tmux -L buddy attach -t buddy-demo");
    expect(stdout).toContain(Bun.spawnSync(["uname", "-sr"]).stdout.toString().trim());
    expect(stdout).toMatch(/approve\? y \(--yes\)/);
    expect(stdout).toContain("blocked: ");
    expect(stdout).toMatch(/pid \d+/);
    expect(stdout).toContain(DEMO.end);
    expect(takeFile(stdout)).toBe("written by buddy demo\n");
    expect(sessions(env)).toBe("");
    expect(readdirSync(box.cwd)).toEqual([]);
    expect(existsSync(join(box.home, ".config/buddy"))).toBe(false);
  });

  pane.test("without a terminal to ask on the change is not made, the tour continues", async () => {
    using box = sandbox();
    const { code, stdout } = await box.run(["demo"], { env: surroundings(box) });
    expect(code).toBe(0);
    expect(stdout).toContain(DEMO.notWritten);
    expect(stdout).toContain(DEMO.end);
  });

  test("without tmux it says what is missing and does the rest", async () => {
    using box = sandbox();
    const bin = join(box.dir, "bin");
    mkdirSync(bin);
    for (const name of "sh bash uname df cat sleep rm mkdir id ls ps setsid stat mv chmod dd head tail wc env date mkfifo tr sed grep kill".split(
      " ",
    ))
      if (Bun.which(name) !== null) symlinkSync(Bun.which(name) ?? "", join(bin, name));
    const { code, stdout } = await box.run(["demo", "--yes"], { env: { ...surroundings(box), PATH: bin } });
    takeFile(stdout);
    expect(stdout).toMatch(/\btmux\b/);
    expect(stdout).not.toContain("tmux -L");
    expect(stdout).toContain(DEMO.end);
    expect(code).toBe(0);
  });

  test("a broken configuration does not spoil it", async () => {
    using box = sandbox();
    box.write("home/.config/buddy/buddy.toml", "not [ toml");
    box.write("cwd/buddy.toml", "[tools]\nshell_enabled = false\n");
    const { code, stdout } = await box.run(["demo", "--yes", "--no-tmux"], { env: surroundings(box) });
    takeFile(stdout);
    expect(code).toBe(0);
  });

  pane.test(
    "Ctrl-C was not heard before Enter; in the middle it takes away the pane and the file",
    async () => {
      using box = sandbox();
      const env = surroundings(box);
      for (const keys of [["\u0003"], ["\r", "y", "\u0003"]]) {
        let screen = "";
        const decoder = new TextDecoder();
        const child = Bun.spawn([await buddyBinary(), "demo"], {
          cwd: box.cwd,
          env: { ...box.env, ...env },
          terminal: {
            cols: 40,
            rows: 40,
            data: (_, bytes) => void (screen += decoder.decode(bytes, { stream: true })),
          },
        });
        const moments = [DEMO.begin, QUESTION.asked, DEMO.background];
        for (const [index, key] of keys.entries()) {
          await until(() => screen.includes(moments[index] ?? ""), `the screen shows ${moments[index]}`);
          child.terminal?.write(key);
        }
        expect(await child.exited).toBe(130);
        expect(screen).toContain("interrupted");
        expect(Bun.stringWidth(screen.split("\r\n")[0] ?? "")).toBeLessThanOrEqual(40);
        expect(sessions(env)).toBe("");
        expect(existsSync(`/tmp/buddy-demo-${child.pid}.txt`)).toBe(false);
      }
    },
    60_000,
  );

  pane.test(
    "on a terminal: Enter begins, the question comes when its text is shown, n declines, e is reported as it ran, Ctrl-C leaves",
    async () => {
      using box = sandbox();
      const env = surroundings(box);
      const start = async () => {
        let screen = "";
        const decoder = new TextDecoder();
        const child = Bun.spawn([await buddyBinary(), "demo"], {
          cwd: box.cwd,
          env: { ...box.env, ...env },
          terminal: {
            cols: 80,
            rows: 40,
            data: (_, bytes) => void (screen += decoder.decode(bytes, { stream: true })),
          },
        });
        const sees = (text: string) => until(() => screen.includes(text), `the screen shows ${text}`);
        await sees(DEMO.begin);
        child.terminal?.write("\r");
        await sees(QUESTION.asked);
        expect(screen.indexOf(DEMO.change)).toBeGreaterThan(0);
        expect(screen.indexOf(DEMO.change)).toBeLessThan(screen.indexOf(QUESTION.asked));
        return { child, sees };
      };
      const first = await start();
      first.child.terminal?.write("n");
      await first.sees(QUESTION.reason);
      first.child.terminal?.write("\r");
      await first.sees(DEMO.notWritten);
      await first.sees(DEMO.end);
      expect(await first.child.exited).toBe(0);
      const edited = await start();
      edited.child.terminal?.write("e");
      await edited.sees(QUESTION.edit);
      edited.child.terminal?.write("\u0015echo something else\r");
      await edited.sees("what ran was");
      expect(await edited.child.exited).toBe(0);
      const second = await start();
      second.child.terminal?.write("\u0003");
      expect(await second.child.exited).toBe(130);
      await until(() => sessions(env) === "", "no session is left");
    },
    60_000,
  );
});
