/** What a user of the binary sees when a model endpoint misbehaves, and of the model that needs none. */
import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import type { Turn } from "../support/scripted-model/playbook.ts";
import { sandbox } from "../support/buddy.ts";
import { startModel } from "../support/model.ts";

const KEY = "sk-proj-AbCdEfGh12345678ijklMNOP";

async function exec(turns: readonly Turn[], env: Record<string, string> = {}) {
  await using model = startModel(turns);
  using box = sandbox();
  const args = ["exec", "--no-tmux", "--base-url", model.url, "-m", "gpt-4o", "hi"];
  const run = await box.run(args, { env: { BUDDY_API_KEY: KEY, ...env } });
  expect(run.stdout + run.stderr).not.toContain("AbCdEfGh");
  return { ...run, host: new URL(model.url).host, requests: model.requests };
}

describe("buddy exec on an endpoint", () => {
  test("that refuses the key and echoes it", async () => {
    const body = { error: { message: `Incorrect API key provided: ${KEY}` } };
    const { code, stderr } = await exec([{ fault: { status: 401, body } }]);
    expect(code).toBe(4);
    expect(stderr).toContain("The key came from BUDDY_API_KEY");
  });

  test("that speaks another protocol", async () => {
    const { code, stderr } = await exec([{ fault: { status: 404 } }]);
    expect(code).toBe(1);
    expect(stderr).toContain('api = "responses"');
  });

  test("that is busy, then breaks off, then answers: waits are shown, the answer is clean", async () => {
    const text = "half of an answer that nobody should see in the end ".repeat(8);
    const { code, stdout, stderr, host } = await exec([
      { fault: { status: 503, headers: { "retry-after-ms": "5" } } },
      { text, fault: "reset-midway" },
      { text: "fine" },
    ]);
    expect(code).toBe(0);
    expect(stdout).toBe("fine\n");
    expect(stderr).toContain(`${host}: 503 unavailable`);
    expect(stderr).toMatch(/ \(2\/4\)/);
  });

  test("that is a web page", async () => {
    const { code, stderr } = await exec([{ fault: "html" }]);
    expect(code).toBe(1);
    expect(stderr).toContain("Welcome to nginx!");
  });

  test("behind a socks proxy: nothing is sent past it", async () => {
    const { code, stderr, requests } = await exec([{ text: "x" }], { ALL_PROXY: "socks5://127.0.0.1:1080" });
    expect(code).toBe(2);
    expect(stderr).toContain("socks proxy");
    expect(requests).toHaveLength(0);
  });

  test.each([
    ["", "contains no certificate"],
    ["0\u0082 DER", "contains no certificate"],
    ["-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "cannot be read"],
  ])("with the ca_file %j: an error of the configuration", async (pem, words) => {
    using box = sandbox();
    box.write("cwd/ca.pem", pem);
    const profile = `[models.t]\napi_base_url = "https://127.0.0.1:9/v1"\nmodel = "m"\nca_file = ${JSON.stringify(join(box.cwd, "ca.pem"))}\n`;
    box.write("home/.config/buddy/buddy.toml", `[agent]\nmodel = "t"\n${profile}`);
    const { code, stderr } = await box.run(["exec", "--no-tmux", "hi"], { env: { BUDDY_API_KEY: KEY } });
    expect([code, stderr.includes(words)]).toEqual([2, true]);
  });

  test("that calls tools wrongly: the model is informed, the run continues", async () => {
    const { code, stdout, requests } = await exec([
      {
        toolCalls: [
          { name: "run_shell", arguments: "{bad" },
          { name: "frobnicate", args: {} },
        ],
      },
      { text: "fine" },
    ]);
    expect(code).toBe(0);
    expect(stdout).toBe("fine\n");
    expect(requests[1]?.messages.filter((message) => message.role === "tool")).toHaveLength(2);
  });

  test("gets at most 12 kB of instructions and tools with the first request", async () => {
    const { requests } = await exec([{ text: "fine" }]);
    const { messages, tools } = requests[0]!.body as { messages: { role: string }[]; tools: unknown };
    const fixed = JSON.stringify(messages.filter((message) => message.role === "system")) + JSON.stringify(tools);
    expect(fixed.length).toBeLessThan(12_000);
  });
});

describe("the demo model in the binary", () => {
  test("answers from real results, past proxies, without key or configuration", async () => {
    using box = sandbox();
    const env = { HTTP_PROXY: "socks5://127.0.0.1:1", ALL_PROXY: "http://127.0.0.1:1" };
    const run = await box.run(["exec", "--no-tmux", "-m", "demo", "run: echo fox-$((6*7))"], { env });
    expect(run.code).toBe(0);
    expect(run.stdout).toContain("fox-42");
    expect((await box.run(["exec", "--no-tmux", "-m", "demo", "hello"])).stdout).toContain(
      "a script, not a language model",
    );
  });

  test("an approval no one can give ends with 3", async () => {
    using box = sandbox();
    const run = await box.run(["exec", "--no-tmux", "-m", "demo", "run: touch made-by-demo"]);
    expect(run.code).toBe(3);
    expect(run.stdout).toContain("was not run");
  });
});
