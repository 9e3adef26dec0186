import { expect, test } from "bun:test";
import { sandbox } from "../../../support/buddy.ts";

test("buddy policy url, path and text: words, JSON and batches, with the configuration in effect, creating nothing", async () => {
  using box = sandbox();
  const json = async (...args: string[]): Promise<unknown> =>
    JSON.parse((await box.run(["policy", ...args, "--json"])).stdout);
  expect(await json("url", "http://2130706433/")).toEqual({ verdict: "block", why: "127.0.0.1 is a loopback address" });
  expect(await json("path", "~/.ssh/config")).toMatchObject({ verdict: "block", resolved: `${box.home}/.ssh/config` });
  expect(await json("path", "notes.txt")).toMatchObject({ verdict: "allow", resolved: `${box.cwd}/notes.txt` });
  expect(await json("text", "a\x1b]0;t\x07b\u202e")).toEqual({ shown: "ab\\u{202e}" });
  expect((await box.run(["policy", "path", "/etc/x"])).stdout).toContain("resolved: /etc/x");
  expect((await box.run(["policy", "text"], { stdin: "x\ry\n", env: { FORCE_COLOR: "1" } })).stdout).toBe("x\ny\n");
  expect([...new Bun.Glob("**/*").scanSync({ cwd: box.home, dot: true })]).toEqual([]);
});

test("JSON is as visible as text: no character in it drives a terminal or turns the direction of others", async () => {
  using box = sandbox();
  const text = "echo \u009d52;c;eA\u009c \u202e \u200b \x7f";
  const one = await box.run(["policy", "shell", text, "--json"]);
  const many = await box.run(["policy", "shell", "--batch"], { stdin: `${JSON.stringify(text)}\n` });
  for (const { stdout } of [one, many]) {
    // oxlint-disable-next-line no-control-regex
    expect(stdout).not.toMatch(/[\u007f-\u009f\u200b\u202e]/);
    expect(JSON.parse(stdout)).toHaveProperty("verdict");
  }
});

test("batches answer line by line; settings of the configuration hold", async () => {
  using box = sandbox();
  box.write(
    "home/.config/buddy/buddy.toml",
    '[tools]\nfiles_allowed_paths = ["~/work"]\nfetch_allowed_domains = ["intra.example"]\nfetch_blocked_domains = ["bad.intra.example"]\n',
  );
  const batch = async (kind: string, lines: readonly unknown[]): Promise<Record<string, unknown>[]> => {
    const { stdout, code } = await box.run(["policy", kind, "--batch"], {
      stdin: lines.map((line) => `${JSON.stringify(line)}\n`).join(""),
    });
    expect(code).toBe(0);
    return stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
  };
  const urls = await batch("url", [
    "https://intra.example/",
    "https://bad.intra.example/",
    "https://example.com/",
    { url: "https://example.com/", allow: [] },
    7,
  ]);
  expect(urls.map((answer) => answer["verdict"] ?? "error")).toEqual(["allow", "block", "block", "allow", "error"]);
  const paths = await batch("path", ["~/work/x", "~/other", "~/work/.git/config", "~/.config/buddy/buddy.toml"]);
  expect(paths.map((answer) => answer["verdict"])).toEqual(["allow", "block", "ask", "block"]);
  const texts = await batch("text", [
    "\x1b[31mred",
    { text: "\x1b[31mred", color: true },
    { text: "a\u200bb\r", command: true },
  ]);
  expect(texts).toEqual([{ shown: "red" }, { shown: "\x1b[0;31mred\x1b[0m" }, { shown: "a\\u{200b}b\\r" }]);
});
