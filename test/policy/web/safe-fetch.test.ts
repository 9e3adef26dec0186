import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { type FetchOutcome, type SafeFetchOptions, safeFetch } from "../../../src/policy/web/safe-fetch.ts";

/** Stands for every forbidden place: counts what reaches it, on IPv4 and on another loopback address. */
let forbidden: Bun.TCPSocketListener<undefined>;
let reached = 0;
let site: ReturnType<typeof Bun.serve>;
let secure: ReturnType<typeof Bun.serve>;
let proxy: Bun.TCPSocketListener<undefined>;
const proxied: string[] = [];
const seen: Request[] = [];
let directory: string;
let certificate: string;

beforeAll(async () => {
  forbidden = Bun.listen({
    hostname: "127.0.0.2",
    port: 0,
    socket: { open: () => void reached++, data: (socket) => void socket.end() },
  });
  site = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: answer });
  directory = await mkdtemp(join(tmpdir(), "buddy-fetch-"));
  const made = Bun.spawnSync(
    [
      "openssl",
      "req",
      "-x509",
      "-newkey",
      "ec",
      "-pkeyopt",
      "ec_paramgen_curve:prime256v1",
      "-nodes",
      "-days",
      "2",
      "-subj",
      "/CN=site.test",
      "-addext",
      "subjectAltName=DNS:site.test",
      "-keyout",
      "key.pem",
      "-out",
      "cert.pem",
    ],
    { cwd: directory, stderr: "ignore" },
  );
  expect(made.exitCode).toBe(0);
  certificate = await Bun.file(join(directory, "cert.pem")).text();
  secure = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    tls: { cert: certificate, key: Bun.file(join(directory, "key.pem")) },
    fetch: (request) => new Response(`secure ${request.headers.get("host")}`),
  });
  proxy = Bun.listen({
    hostname: "127.0.0.1",
    port: 0,
    socket: {
      data(socket, data) {
        proxied.push(data.toString().split("\r\n")[0] ?? "");
        socket.end(
          "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 9\r\nConnection: close\r\n\r\nvia proxy",
        );
      },
    },
  });
});

afterAll(async () => {
  forbidden.stop(true);
  proxy.stop(true);
  await site.stop(true);
  await secure.stop(true);
  await rm(directory, { recursive: true });
});

function answer(request: Request): Response {
  seen.push(request);
  const url = new URL(request.url);
  const to = url.searchParams.get("to");
  if (url.pathname === "/redirect")
    return new Response(null, {
      status: Number(url.searchParams.get("status") ?? 302),
      headers: { location: to ?? "" },
    });
  if (url.pathname === "/loop")
    return new Response(null, {
      status: 302,
      headers: { location: `/loop?n=${Number(url.searchParams.get("n")) + 1}` },
    });
  if (url.pathname === "/refresh")
    return new Response(`<meta http-equiv=refresh content="0;url=${to}"><script>location="${to}"</script>`, {
      headers: { refresh: `0;url=${to}`, "content-type": "text/html" },
    });
  if (url.pathname === "/bomb")
    return new Response(gzipSync(Buffer.alloc(64_000_000)), { headers: { "content-encoding": "gzip" } });
  if (url.pathname === "/endless") return new Response(endless("x".repeat(65_536)));
  if (url.pathname === "/silent")
    return new Response(new ReadableStream({ start: (controller) => controller.enqueue(new Uint8Array(3)) }));
  if (url.pathname === "/cookie")
    return new Response("c", { status: 302, headers: { "set-cookie": "a=b", location: "/echo" } });
  return new Response(JSON.stringify({ method: request.method, ...Object.fromEntries(request.headers) }), {
    headers: { "content-type": "application/json" },
  });
}

function endless(chunk: string): ReadableStream {
  return new ReadableStream({ pull: (controller) => controller.enqueue(new TextEncoder().encode(chunk)) });
}

function get(url: string, options: Partial<SafeFetchOptions> = {}): Promise<FetchOutcome> {
  return safeFetch(url, {
    rules: { allow: [], deny: [] },
    timeoutMs: 10_000,
    signal: new AbortController().signal,
    environment: {},
    ...options,
  });
}

/** The rules under which the test's own site may be reached, and nothing else. */
const here = { rules: { allow: ["site.test"], deny: [] }, resolve: () => Promise.resolve(["127.0.0.1"]) };
const at = (path: string): string => `http://site.test:${site.port}${path}`;
const trap = (host: string): string => `http://${host}:${forbidden.port}/`;

function text(outcome: FetchOutcome): string {
  return outcome.kind === "page" ? new TextDecoder().decode(outcome.body) : `${outcome.kind}: ${outcome.why}`;
}

test("a plain page: GET, the name in Host, no credentials, no cookies", async () => {
  const outcome = await get(at("/cookie"), here);
  const headers = JSON.parse(text(outcome));
  expect(headers).toMatchObject({ method: "GET", host: `site.test:${site.port}` });
  expect(headers.cookie).toBeUndefined();
  expect(headers.authorization).toBeUndefined();
  expect(outcome).toMatchObject({ kind: "page", status: 200, url: at("/echo"), cut: false, redirects: 1 });
});

test("no spelling of a forbidden address is connected to", async () => {
  const before = reached;
  for (const host of [
    "127.0.0.2",
    "127.2",
    "2130706434",
    "0x7f000002",
    "0177.0.0.2",
    "[::ffff:127.0.0.2]",
    "[::ffff:7f00:2]",
    "[::127.0.0.2]",
    "127.0.0.2.",
    "①②⑦.0.0.2",
    "%3127.0.0.2",
  ])
    expect([host, (await get(trap(host))).kind]).toEqual([host, "refused"]);
  expect((await get(trap("localhost"))).kind).toBe("refused");
  expect(reached).toBe(before);
});

test("a name that resolves to a forbidden address is not connected to, whatever else it resolves to", async () => {
  const before = reached;
  for (const addresses of [
    ["127.0.0.2"],
    ["93.184.216.34", "127.0.0.2"],
    ["::ffff:127.0.0.2"],
    ["127.0.0.2", "::1"],
    [],
  ])
    expect((await get(trap("rebound.example"), { resolve: () => Promise.resolve(addresses) })).kind).toBe("refused");
  expect(reached).toBe(before);
});

test("an answer that changes between look-ups has no effect: there is one look-up, and its address is used", async () => {
  const before = reached;
  let lookups = 0;
  const resolve = () => Promise.resolve(++lookups === 1 ? ["127.0.0.1"] : ["127.0.0.2"]);
  expect(text(await get(at("/echo"), { ...here, resolve }))).toContain("site.test");
  expect(lookups).toBe(1);
  expect(reached).toBe(before);
});

test("redirects to forbidden places are refused, each hop judged again", async () => {
  const before = reached;
  const places = [
    trap("127.0.0.2"),
    trap("[::ffff:127.0.0.2]"),
    `//127.0.0.2:${forbidden.port}/`,
    trap("localhost"),
    "file:///etc/passwd",
    "http://169.254.169.254/latest/",
    `http://u:p@site.test:${site.port}/`,
    trap("other.test"),
  ];
  for (const status of [301, 302, 303, 307, 308])
    for (const to of places) {
      const outcome = await get(at(`/redirect?status=${status}&to=${encodeURIComponent(to)}`), here);
      expect([to, outcome.kind]).toEqual([to, "refused"]);
    }
  const twice = encodeURIComponent(at(`/redirect?to=${encodeURIComponent(trap("127.0.0.2"))}`));
  expect((await get(at(`/redirect?to=${twice}`), here)).kind).toBe("refused");
  expect(reached).toBe(before);
});

test("a redirect to a name that resolves elsewhere on the second look-up is judged by that answer", async () => {
  const before = reached;
  let lookups = 0;
  const rules = { allow: ["127.0.0.1/32"], deny: [] };
  const resolve = () => Promise.resolve(++lookups === 1 ? ["127.0.0.1"] : ["127.0.0.2"]);
  const outcome = await get(at(`/redirect?to=${encodeURIComponent(trap("site.test"))}`), { rules, resolve });
  expect([outcome.kind, lookups]).toEqual(["refused", 2]);
  expect(reached).toBe(before);
});

test("Refresh, meta and scripts are never followed", async () => {
  const before = reached;
  const outcome = await get(at(`/refresh?to=${encodeURIComponent(trap("127.0.0.2"))}`), here);
  expect(outcome).toMatchObject({ kind: "page", redirects: 0 });
  expect(reached).toBe(before);
});

test("redirects end after five; what is not a URL is reported", async () => {
  const before = seen.length;
  expect(text(await get(at("/loop?n=0"), here))).toContain("more than 5 redirects");
  expect(seen.length - before).toBe(6);
  expect(text(await get(at("/redirect?to=http%3A%2F%2F%5B"), here))).toContain("not a URL");
});

test("the body is cut while it streams: endless ones and decompression bombs too", async () => {
  for (const path of ["/endless", "/bomb"]) {
    const outcome = await get(at(path), { ...here, maxBytes: 100_000 });
    expect(outcome).toMatchObject({ kind: "page", cut: true });
    expect(outcome.kind === "page" && outcome.body.length).toBe(100_000);
  }
  const skipped = await get(at("/endless"), { ...here, wants: () => false });
  expect(skipped).toMatchObject({ kind: "page", cut: true });
  expect(skipped.kind === "page" && skipped.body.length).toBe(0);
});

test("a server that stops talking meets the time-out; the caller's own signal throws", async () => {
  expect(text(await get(at("/silent"), { ...here, timeoutMs: 200 }))).toContain("within 0.2 s");
  expect(text(await get(at("/x"), { ...here, timeoutMs: 100, resolve: () => new Promise(() => {}) }))).toContain(
    "within 0.1 s",
  );
  const controller = new AbortController();
  const running = get(at("/silent"), { ...here, signal: controller.signal });
  controller.abort(new Error("stopped by the operator"));
  await expect(running).rejects.toThrow("stopped by the operator");
});

test("TLS: connected by number, checked by name", async () => {
  const url = `https://site.test:${secure.port}/`;
  expect(text(await get(url, { ...here, ca: certificate }))).toBe(`secure site.test:${secure.port}`);
  expect((await get(url, here)).kind).toBe("failed");
  const wrong = await get(`https://other.test:${secure.port}/`, {
    ...here,
    rules: { allow: ["other.test"], deny: [] },
    ca: certificate,
  });
  expect(wrong.kind).toBe("failed");
});

test("the next checked address is tried when one does not answer", async () => {
  const resolve = () => Promise.resolve(["127.0.0.3", "127.0.0.1"]);
  expect(text(await get(at("/echo"), { ...here, resolve }))).toContain("site.test");
  const none = await get(at("/echo"), { ...here, resolve: () => Promise.resolve(["127.0.0.3"]) });
  expect(none.kind).toBe("failed");
});

test("a name that cannot be resolved is a failure with its reason", async () => {
  const outcome = await get("http://nowhere.example/", { resolve: () => Promise.reject(new Error("ENOTFOUND")) });
  expect(outcome).toMatchObject({ kind: "failed", why: "cannot resolve nowhere.example: ENOTFOUND" });
});

test("through a proxy: the name is judged the same way, and the operator is informed", async () => {
  const notices: string[] = [];
  const environment = { http_proxy: `http://127.0.0.1:${proxy.port}` };
  const options = { environment, onNotice: (notice: string) => void notices.push(notice) };
  const resolve = () => Promise.resolve(["93.184.216.34"]);
  expect(text(await get("http://public.example/x", { ...options, resolve }))).toBe("via proxy");
  expect(proxied.at(-1)).toBe("GET http://public.example/x HTTP/1.1");
  expect(notices.join()).toContain("resolves public.example");
  const before = proxied.length;
  expect((await get("http://public.example/", { ...options, resolve: () => Promise.resolve(["10.0.0.1"]) })).kind).toBe(
    "refused",
  );
  expect((await get("http://127.0.0.2/", options)).kind).toBe("refused");
  expect(
    (await get("http://localhost/", { ...options, resolve: () => Promise.reject(new Error("no DNS here")) })).kind,
  ).toBe("refused");
  expect(proxied.length).toBe(before);
  expect(
    text(await get("http://public.example/y", { ...options, resolve: () => Promise.reject(new Error("no DNS here")) })),
  ).toBe("via proxy");
});

test("NO_PROXY is honoured, and a proxy that cannot be used is named", async () => {
  const before = proxied.length;
  const proxyUrl = `http://127.0.0.1:${proxy.port}`;
  for (const NO_PROXY of ["site.test", ".test", "*", `other,site.test:${site.port}`])
    expect(text(await get(at("/echo"), { ...here, environment: { HTTP_PROXY: proxyUrl, NO_PROXY } }))).toContain(
      "site.test",
    );
  expect(proxied.length).toBe(before);
  const notices: string[] = [];
  await get(at("/echo"), {
    ...here,
    environment: { ALL_PROXY: "socks5://127.0.0.1:1" },
    onNotice: (notice) => void notices.push(notice),
  });
  expect(notices.join()).toContain("socks5: proxy");
  await get(at("/echo"), { ...here, environment: { HTTP_PROXY: `127.0.0.1:${proxy.port}` } });
  expect(proxied.length).toBe(before + 1);
});

test("IPv6: connected by number in brackets; where there is none, a failure", async () => {
  let six: ReturnType<typeof Bun.serve> | undefined;
  try {
    six = Bun.serve({ hostname: "::1", port: 0, fetch: (request) => new Response(request.headers.get("host")) });
  } catch {
    six = undefined;
  }
  const port = six?.port ?? site.port;
  const outcome = await get(`http://site.test:${port}/`, { ...here, resolve: () => Promise.resolve(["::1"]) });
  await six?.stop(true);
  if (six === undefined) expect(outcome.kind).toBe("failed");
  else expect(text(outcome)).toBe(`site.test:${port}`);
});

test("the system's own look-up, for a name that is listed", async () => {
  const outcome = await get(`http://localhost:${site.port}/echo`, { rules: { allow: ["localhost"], deny: [] } });
  expect(JSON.parse(text(outcome)).host).toBe(`localhost:${site.port}`);
});

test("nothing in this file has reached the forbidden listener", () => {
  expect(reached).toBe(0);
});
