/** OpenRouter's sign-in on a server that checks what the real one checks. */
import { expect, test } from "bun:test";
import { openRouterKey } from "../../src/auth/openrouter.ts";

const never = new AbortController().signal;

function startOpenRouter(answer: object = { key: "sk-or-v1-abc" }, status = 200) {
  let challenge = "";
  return Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    async fetch(request) {
      const url = new URL(request.url);
      if (url.pathname === "/auth") {
        challenge = url.searchParams.get("code_challenge") ?? "";
        return Response.redirect(`${url.searchParams.get("callback_url")}?code=c-1`, 302);
      }
      const { code, code_verifier: verifier } = (await request.json()) as Record<string, string>;
      const proof = new Bun.CryptoHasher("sha256").update(verifier ?? "").digest("base64url");
      return code === "c-1" && proof === challenge
        ? Response.json(answer, { status })
        : new Response("", { status: 403 });
    },
  });
}

const get = (home: string) =>
  openRouterKey({ say: () => {}, open: (url) => void fetch(url) }, never, { home, ports: [0] });

test("the browser grants a key", async () => {
  const server = startOpenRouter();
  expect(await get(server.url.origin)).toBe("sk-or-v1-abc");
  await server.stop(true);
});

test("no key is an error with another way", async () => {
  const server = startOpenRouter({ error: "no" }, 400);
  await expect(get(server.url.origin)).rejects.toMatchObject({
    code: "auth",
    hint: expect.stringContaining("OPENROUTER_API_KEY"),
  });
  await server.stop(true);
});

test("a port that is taken, and a browser that never comes back, end with another way", async () => {
  const taken = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response("") });
  const screen = { say: () => {}, open: () => {} };
  const other = { code: "auth", hint: expect.stringContaining("OPENROUTER_API_KEY") };
  const home = taken.url.origin;
  await expect(openRouterKey(screen, never, { home, ports: [taken.port ?? 0] })).rejects.toMatchObject(other);
  await expect(openRouterKey(screen, never, { home, ports: [0], waitMs: 1 })).rejects.toMatchObject(other);
  await taken.stop(true);
});

test("something else that looks at the port does not end the sign-in", async () => {
  const server = startOpenRouter();
  const open = async (url: string) => {
    const back = new URL(url).searchParams.get("callback_url")!;
    for (const other of [back, new URL("/", back).href]) expect((await fetch(other)).ok).toBe(false);
    await fetch(url);
  };
  const screen = { say: () => {}, open: (url: string) => void open(url) };
  expect(await openRouterKey(screen, never, { home: server.url.origin, ports: [0] })).toBe("sk-or-v1-abc");
  await server.stop(true);
});

test("a sign-in address without TLS is refused", async () => {
  await expect(get("http://example.org")).rejects.toMatchObject({ code: "auth" });
});
