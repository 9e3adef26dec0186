/** `buddy mcp add` and `remove`: the operator's file keeps everything else, or is not touched at all. */
import { describe, expect, test } from "bun:test";
import { withoutServer, withServer } from "../../src/extend/mcp/edit-config.ts";

const FILE = "buddy.toml";

describe("adding", () => {
  test.each(["", "# mine\n[agent]\nname = 'x'", "[agent]\nname = 'x'\n\n"])("to %j keeps the text", async (text) => {
    const next = await withServer(text, FILE, "files", { command: ["a b", 'c"d', "e\\f"], env: { "X Y": "z" } });
    expect(next.startsWith(text)).toBe(true);
    expect(Bun.TOML.parse(next)).toMatchObject({
      mcp: { files: { command: ["a b", 'c"d', "e\\f"], env: { "X Y": "z" } } },
    });
  });

  test("a second one of that name is refused", async () => {
    const text = await withServer("", FILE, "files", { url: "http://x/" });
    await expect(withServer(text, FILE, "files", { url: "http://y/" })).rejects.toMatchObject({ code: "usage" });
  });
});

describe("removing", () => {
  const AROUND = "# before\n[agent]\nname = 'x'\n\n";
  const AFTER = "# about the display\n[display]\nmarkdown = true\n";
  test.each([
    ["a plain table", '[mcp.files]\ncommand = ["a"]\n'],
    ["quoted names and spaces", '[ mcp . "files" ] # why\ncommand = ["a"]\n'],
    ["a list over several lines", '[mcp.files]\ncommand = [\n  "a",\n  "b",\n]\ntimeout = "5s" # short\n'],
    ["sub-tables", '[mcp.files]\ncommand = ["a"]\n[mcp.files.env]\nA = "b"\n'],
    ["comments inside", '[mcp.files]\n# what it is\ncommand = ["a"]\n\n'],
  ])("%s leaves what is around it", async (_, table) => {
    expect(await withoutServer(`${AROUND}${table}${AFTER}`, FILE, "files")).toBe(`${AROUND}${AFTER}`);
    expect(await withoutServer(`${AROUND}${table}`, FILE, "files")).toBe(`${AROUND.trimEnd()}\n`);
  });

  test("a comment at the end of the file stays", async () => {
    const text = '[mcp.files]\nurl = "http://a/"\n# inside\n\n# the end\n';
    expect(await withoutServer(`[agent]\n${text}`, FILE, "files")).toBe("[agent]\n\n# the end\n");
  });

  test("another server whose name begins alike stays", async () => {
    const text = '[mcp.files]\nurl = "http://a/"\n[mcp.files-2]\nurl = "http://b/"\n';
    expect(await withoutServer(text, FILE, "files")).toBe('[mcp.files-2]\nurl = "http://b/"\n');
  });

  test.each([
    ['mcp = { files = { url = "http://a/" } }\n', "config"],
    ['[mcp]\nfiles = { url = "http://a/" }\n', "config"],
    ['mcp.files.url = "http://a/"\n', "config"],
    ["[agent]\n", "usage"],
  ])("%j is an error, and nothing is changed", async (text, code) => {
    await expect(withoutServer(text, FILE, "files")).rejects.toMatchObject({ code });
  });
});
