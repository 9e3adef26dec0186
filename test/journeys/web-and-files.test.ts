/** The compiled binary with a model that asks for what it must not have. */
import { expect, test } from "bun:test";
import { existsSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import type { Turn } from "../support/scripted-model/playbook.ts";
import { startModel } from "../support/model.ts";
import { sandbox, type Sandbox } from "../support/buddy.ts";
import { RESULT } from "../support/wording.ts";

function call(name: string, args: unknown): Turn {
  return { toolCalls: [{ name, args }] };
}

async function exec(box: Sandbox, turns: Turn[], tools: string, env: Record<string, string> = {}) {
  await using model = startModel([...turns, { text: "done" }]);
  box.write(
    "home/.config/buddy/buddy.toml",
    `[agent]\nmodel = "t"\n[models.t]\napi_base_url = "${model.url}"\napi = "completions"\nauth = "api-key"\nmodel = "m"\napi_key = "test-key-0123456789"\n[tools]\n${tools}\n`,
  );
  const run = await box.run(["exec", "--no-tmux", "--approve", "all", "--json", "go"], { env });
  return { ...run, results: JSON.stringify(model.requests.at(-1)?.body) };
}

test("fetch_url reaches no forbidden address, whatever the spelling, and says why; listed ones it reads", async () => {
  using box = sandbox();
  let reached = 0;
  await using site = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch() {
      reached++;
      return new Response("<title>Inside</title><h1>Secret page</h1>", { headers: { "content-type": "text/html" } });
    },
  });
  const spellings = ["127.0.0.1", "localhost", "2130706433", "0x7f.1", "[::ffff:127.0.0.1]"];
  const turns = spellings.map((host) => call("fetch_url", { url: `http://${host}:${site.port}/` }));
  const refused = await exec(box, turns, "");
  expect(refused.code).toBe(0);
  expect(refused.results.split(RESULT.notFetched).length - 1).toBe(spellings.length);
  expect(reached).toBe(0);
  const read = await exec(
    box,
    [call("fetch_url", { url: `http://127.0.0.1:${site.port}/` })],
    'fetch_allowed_domains = ["127.0.0.1"]',
  );
  expect(read.results).toContain("# Secret page");
  expect(reached).toBe(1);
}, 60_000);

test("web_search reads the server of BUDDY_SEARCH_URL, and reports a blocked search as blocked", async () => {
  using box = sandbox();
  let blocked = false;
  await using engine = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: () =>
      blocked
        ? new Response('<div class="anomaly-modal__title">bots</div>', { status: 202 })
        : new Response(
            '<div class="result web-result"><a class="result__a" href="//duckduckgo.com/l/?uddg=https%3A%2F%2Fa.example%2F&amp;rut=1">A title</a></div>',
          ),
  });
  const env = { BUDDY_SEARCH_URL: `http://127.0.0.1:${engine.port}/html/` };
  expect((await exec(box, [call("web_search", { query: "x" })], "", env)).results).toContain("https://a.example/");
  blocked = true;
  expect((await exec(box, [call("web_search", { query: "x" })], "", env)).results).toContain("blocked this search");
}, 60_000);

test("write_file is refused where it matters, also through links, and writes below an allowed root that is a link", async () => {
  using box = sandbox();
  box.write("home/real/keep", "");
  symlinkSync(join(box.home, "real"), join(box.home, "alias"));
  symlinkSync(join(box.home, ".ssh"), join(box.cwd, "innocent"));
  const write = (path: string): Turn => call("write_file", { path, content: "x" });
  const refused = await exec(
    box,
    [
      write("~/.bashrc"),
      write("innocent/authorized_keys"),
      write("~/.config/buddy/buddy.toml"),
      write("/etc/buddy-test"),
    ],
    "",
  );
  expect(refused.results.split(RESULT.notAllowed).length - 1).toBe(4);
  for (const path of [".bashrc", ".ssh"]) expect(existsSync(join(box.home, path))).toBe(false);
  const allowed = await exec(box, [write("~/real/new"), write("notes")], 'files_allowed_paths = ["~/alias"]');
  expect(existsSync(join(box.home, "real/new"))).toBe(true);
  expect(existsSync(join(box.cwd, "notes"))).toBe(false);
  expect(allowed.results).toContain("outside the directories");
}, 60_000);
