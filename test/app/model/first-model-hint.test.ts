/** Without a usable model the error lists what can be done, local servers that answer included. */
import { afterAll, expect, test } from "bun:test";
import { withNoModelHint } from "../../../src/app/model/first-model.ts";
import { BuddyError } from "../../../src/lib/errors.ts";

const server = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  fetch(request) {
    const { pathname } = new URL(request.url);
    if (pathname === "/v1/models") return Response.json({ data: [{ id: "qwen3:8b" }, { id: 5 }, {}] });
    return new Response("no", { status: 404 });
  },
});
afterAll(() => server.stop(true));
const at = (path: string) => `http://127.0.0.1:${server.port}/${path}`;

test("the error keeps its sentence and gets the list", async () => {
  const error = new BuddyError("auth", "no key", { hint: "set it" });
  const better = (await withNoModelHint(error, [{ name: "Ollama", baseUrl: at("v1") }], 30_000)) as BuddyError;
  expect(better.code).toBe("auth");
  expect(better.message).toBe("no key");
  for (const text of ["set it", "buddy login", "BUDDY_API_KEY", "--model demo", `--base-url ${at("v1")} -m qwen3:8b`]) {
    expect(better.hint).toContain(text);
  }
});

test("other errors stay as they are", async () => {
  const other = new BuddyError("config", "x");
  expect(await withNoModelHint(other, [])).toBe(other);
  expect(await withNoModelHint("text", [])).toBe("text");
});
