import { expect, test } from "bun:test";
import { join } from "node:path";
import type { GlobalOptions } from "../../../../src/cli/args/options.ts";
import { explainer as pathExplainer } from "../../../../src/cli/commands/policy/path.ts";
import { explainText, explainer as textExplainer } from "../../../../src/cli/commands/policy/text.ts";
import { explainUrl, explainer as urlExplainer } from "../../../../src/cli/commands/policy/url.ts";
import { BuddyError } from "../../../../src/lib/errors.ts";
import { sandbox } from "../../../support/buddy.ts";

const OPEN = { allow: [], deny: [] };

test("a URL as a string: judged by its name, without a look-up", async () => {
  expect(await explainUrl("https://example.com/", OPEN)).toMatchObject({ verdict: "allow" });
  expect(await explainUrl("http://169.254.169.254/", OPEN)).toEqual({
    verdict: "block",
    why: "169.254.169.254 is a cloud metadata address",
  });
  expect(await explainUrl("https://example.com/", { allow: ["other.org"], deny: [] })).toMatchObject({
    verdict: "block",
  });
});

test("as if the name resolved to this", async () => {
  const ask = (question: object): Promise<{ verdict: string }> =>
    explainUrl({ url: "https://API.example.:8443/x", ...question }, OPEN);
  expect(await ask({ resolve: { "api.example": ["93.184.216.34"] } })).toMatchObject({ verdict: "allow" });
  expect(await ask({ resolve: { "API.EXAMPLE.": ["93.184.216.34", "10.0.0.1"] } })).toMatchObject({ verdict: "block" });
  expect(await ask({ resolve: { "api.example": "127.0.0.1" } })).toMatchObject({ verdict: "block" });
  expect(await ask({ resolve: { "api.example": [] } })).toMatchObject({ verdict: "block" });
  expect(await ask({ resolve: { "other.example": ["127.0.0.1"] } })).toMatchObject({ verdict: "allow" });
  expect(await ask({ resolve: { "api.example": ["10.0.0.1"] }, allow: ["example"] })).toMatchObject({
    verdict: "allow",
  });
  expect(await ask({ allow: ["example"], deny: ["api.example"] })).toMatchObject({ verdict: "block" });
  expect(await explainUrl({ url: "https://münchen.de/", resolve: { "München.DE": ["::1"] } }, OPEN)).toMatchObject({
    verdict: "block",
  });
});

test("questions that cannot be understood are usage errors", async () => {
  for (const value of [
    7,
    null,
    [],
    {},
    { url: 1 },
    { url: "http://x/", resolve: [] },
    { url: "http://x/", allow: [1] },
    { url: "http://x.y/", resolve: { "x.y": [1] } },
  ])
    await expect(explainUrl(value, OPEN)).rejects.toMatchObject({ code: "usage" });
  for (const value of [7, null, {}, { text: 1 }])
    expect(() => explainText(value, { color: false })).toThrow(BuddyError);
});

test("text: what reaches the terminal, with and without colour, and as a command to approve", () => {
  const text = "\x1b[31mred\x1b[0m\x1b]52;c;AA\x07 \u202e";
  expect(explainText(text, { color: false })).toEqual({ shown: "red \\u{202e}" });
  expect(explainText(text, { color: true })).toEqual({ shown: "\x1b[0;31mred\x1b[0m \\u{202e}" });
  expect(explainText({ text, color: false }, { color: true }).shown).toBe("red \\u{202e}");
  expect(explainText({ text: "a\rb\x1b", command: true }, { color: true }).shown).toBe("a\\rb\\u{1b}");
});

test("each kind answers with the configuration in effect, and in words", async () => {
  using box = sandbox();
  const config = box.write(
    "config.toml",
    `[tools]\nfetch_allowed_domains = ["intra.example"]\nfiles_allowed_paths = [${JSON.stringify(box.cwd)}]\n`,
  );
  const globals = { config, quiet: true } as unknown as GlobalOptions;
  const url = await urlExplainer(globals);
  expect(url.words(await url.explain("https://example.com/"))).toBe(
    "block: example.com is not in fetch_allowed_domains",
  );
  const text = await textExplainer(globals);
  expect(text.words(await text.explain("a\rb"))).toBe("a\nb");
  const path = await pathExplainer(globals);
  try {
    expect(path.words(await path.explain(join(box.cwd, "x\n")))).toEndWith(`resolved: ${box.cwd}/x\\n`);
    expect(path.words(await path.explain("/tmp/x"))).toContain("outside the directories");
    expect(path.words(await path.explain(config))).toContain("block");
  } finally {
    await path[Symbol.asyncDispose]?.();
  }
});
