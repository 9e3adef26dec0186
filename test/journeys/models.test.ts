/** `buddy models`: what the endpoint of a profile offers. */
import { expect, test } from "bun:test";
import { sandbox } from "../support/buddy.ts";
import { startModel } from "../support/model.ts";

function place(models: readonly string[]) {
  const model = startModel([], {}, { models });
  const box = sandbox();
  box.write(
    "home/.config/buddy/buddy.toml",
    `[agent]\nmodel = "here"\n[models.here]\napi_base_url = "${model.url}"\nmodel = "gpt-4o"\n[models.off]\napi_base_url = "http://127.0.0.1:9/v1"\n`,
    0o600,
  );
  return {
    run: (...args: readonly string[]) => box.run(args),
    async [Symbol.asyncDispose]() {
      await model.server.close();
      box[Symbol.dispose]();
    },
  };
}

test("a list with windows and prices, the profile's model marked", async () => {
  await using here = place(["gpt-4o", "unheard-of"]);
  const { code, stdout } = await here.run("models");
  expect(code).toBe(0);
  expect(stdout).toMatch(/^\* gpt-4o +128k +\$2\.5 \/ \$10 +images$/m);
  expect(stdout).toMatch(/^ {2}unheard-of$/m);
});

test("a profile's model that the endpoint does not list is named", async () => {
  await using here = place(["other"]);
  expect((await here.run("models")).stdout).toContain("gpt-4o, the profile's model, is not in this list");
});

test("as JSON", async () => {
  await using here = place(["gpt-4o"]);
  const [row] = JSON.parse((await here.run("models", "--json")).stdout);
  expect(row).toMatchObject({ id: "gpt-4o", current: true, context: 128_000, price_in: 2.5, price_out: 10 });
});

test("an endpoint that does not answer is an error that names it", async () => {
  await using here = place([]);
  const { code, stderr } = await here.run("models", "off");
  expect([code, stderr.includes("127.0.0.1:9")]).toEqual([1, true]);
});

test("demo has nothing to list", async () => {
  await using here = place([]);
  expect((await here.run("models", "demo")).code).toBe(2);
});
