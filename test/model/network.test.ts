/** Proxies and certificates, on real sockets. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { proxyFor, proxyLabel } from "../../src/lib/network.ts";
import { buddyError } from "../support/errors.ts";
import { collect, done, modelOptions, startModel } from "../support/model.ts";
import { createModelClient } from "../../src/model/client.ts";
import { explainNetworkError } from "../../src/model/explain.ts";
import { httpProxy } from "../support/http-proxy.ts";

describe("what this machine refuses", () => {
  // As Bun words whatever it has no words for.
  const said = (code: string) =>
    explainNetworkError(Object.assign(new Error(`${code}: Was there a typo in the url or port?`), { code }), {
      host: "model.example",
      profile: "test",
      model: "m",
      api: "completions",
      auth: "api-key",
      baseUrl: "https://model.example/v1",
      hasKey: true,
      keySource: undefined,
      proxy: undefined,
      redact: (text) => text,
    }).message;

  test.each(["EAGAIN", "EMFILE", "EPERM"])("%s was called a typo in the address", (code) => {
    expect(said(code)).toContain("model.example");
    expect(said(code)).not.toContain("typo");
  });
});

describe("which proxy", () => {
  const https = "https://api.example.org/v1";
  const http = "http://127.0.0.1:11434/v1";
  test.each([
    [https, {}, undefined],
    [https, { HTTPS_PROXY: "http://p:3128" }, "http://p:3128/"],
    [https, { https_proxy: "p:3128" }, "http://p:3128/"],
    [https, { HTTP_PROXY: "http://p:3128" }, undefined],
    [https, { ALL_PROXY: "http://u:pw@p:3128" }, "http://u:pw@p:3128/"],
    [https, { HTTPS_PROXY: "  " }, undefined],
    [http, { HTTP_PROXY: "http://p:1" }, "http://p:1/"],
    [http, { HTTP_PROXY: "http://p:1", NO_PROXY: "localhost,127.0.0.1" }, undefined],
    [https, { HTTPS_PROXY: "http://p:1", NO_PROXY: "example.org" }, undefined],
    [https, { HTTPS_PROXY: "http://p:1", NO_PROXY: ".example.org:443" }, undefined],
    [https, { HTTPS_PROXY: "http://p:1", NO_PROXY: "api.example.org:8443" }, "http://p:1/"],
    [https, { HTTPS_PROXY: "http://p:1", NO_PROXY: "ample.org" }, "http://p:1/"],
    [https, { HTTPS_PROXY: "http://p:1", no_proxy: "*" }, undefined],
    [http, { HTTP_PROXY: "http://p:1", NO_PROXY: "10.0.0.0/8, 127.0.0.0/8" }, undefined],
    [http, { HTTP_PROXY: "http://p:1", NO_PROXY: "127.0.0.2/31,127.0.0.1/x,::1/8" }, "http://p:1/"],
    [https, { HTTPS_PROXY: "http://p:1", NO_PROXY: "0.0.0.0/0" }, "http://p:1/"],
  ])("%p with %j: %p", (target, env, expected) => expect(proxyFor(new URL(target), env)).toBe(expected));

  test.each(["socks5://127.0.0.1:1080", "socks5h://u:pw@h:1", "socks4://h:1"])("%s is refused in words", (value) => {
    expect(() => proxyFor(new URL(https), { ALL_PROXY: value })).toThrow(buddyError("config", "ALL_PROXY", "socks"));
    expect(() => proxyFor(new URL(https), { HTTPS_PROXY: value, NO_PROXY: "example.org" })).not.toThrow();
    expect(proxyLabel("http://u:pw@p:3128/")).toBe("http://p:3128");
  });

  test("something else altogether too", () =>
    expect(() => proxyFor(new URL(https), { HTTPS_PROXY: "ftp://x" })).toThrow(buddyError("config", "HTTPS_PROXY")));

  test("a socks proxy stops the turn before anything is sent", async () => {
    await using model = startModel([], { env: { ALL_PROXY: "socks5://127.0.0.1:9" } });
    await expect(collect(model.client)).rejects.toMatchObject({
      code: "config",
      message: expect.stringContaining("socks"),
    });
    expect(model.requests).toHaveLength(0);
  });
});

describe("through a proxy", () => {
  test("plain http, with credentials, streaming", async () => {
    await using model = startModel([{ text: "through", pieceChars: 2 }]);
    const proxy = await httpProxy(() => Number(new URL(model.url).port));
    const env = { HTTP_PROXY: `http://user:pw@127.0.0.1:${proxy.port}` };
    const client = createModelClient(modelOptions("http://model.invalid/v1", { env }));
    expect((await done(client)).message.content).toBe("through");
    expect(proxy.seen[0]).toContain("http://model.invalid/v1/chat/completions");
    expect(proxy.seen).toContain("with credentials");
    proxy.server.close();
  });

  test("a proxy that was chosen is used, whatever NO_PROXY says to fetch", async () => {
    await using model = startModel([{ text: "through" }]);
    const proxy = await httpProxy(() => Number(new URL(model.url).port));
    const source = join(import.meta.dir, "../../src/model/client.ts");
    const program = `
      const { createModelClient } = await import(${JSON.stringify(source)});
      const client = createModelClient({ name: "t", baseUrl: "http://model.invalid/v1", api: "completions", auth: "api-key", model: "m", env: process.env, retries: 0, proxy: process.env.VIA });
      for await (const event of client.stream({ messages: [{ role: "user", content: "x" }], tools: [] }, new AbortController().signal))
        if (event.type === "done") console.log(event.message.content, process.env.NO_PROXY);`;
    const env = { PATH: process.env["PATH"], NO_PROXY: "model.invalid", VIA: `http://127.0.0.1:${proxy.port}` };
    const child = Bun.spawn([process.execPath, "-e", program], { env, stdout: "pipe", stderr: "pipe" });
    const [out, err] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
    expect(`${out}${err}`).toBe("through model.invalid\n");
    proxy.server.close();
  });

  test.each(["http", "https"])("a proxy that wants a password is reported as such, for %s", async (scheme) => {
    const answer = "HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    const proxy = createServer((socket) => socket.once("data", () => socket.end(answer)).on("error", () => {}));
    const { promise, resolve } = Promise.withResolvers<void>();
    proxy.listen(0, "127.0.0.1", resolve);
    await promise;
    const env = { ALL_PROXY: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}` };
    const client = createModelClient(modelOptions(`${scheme}://model.invalid/v1`, { env }));
    await expect(collect(client)).rejects.toMatchObject({
      retryable: false,
      message: expect.stringContaining("407"),
      hint: expect.stringContaining("password"),
    });
    proxy.close();
  });

  test("a proxy that is down is named, without its password", async () => {
    await using gone = startModel([]);
    const port = new URL(gone.url).port;
    await gone.server.close();
    const client = createModelClient(
      modelOptions("http://model.invalid/v1", {
        env: { HTTP_PROXY: `http://user:hush-hush@127.0.0.1:${port}` },
        retries: 0,
      }),
    );
    const error: unknown = await collect(client).catch((caught: unknown) => caught);
    expect(error).toMatchObject({
      reason: "network",
      message: expect.stringContaining(`http://127.0.0.1:${port}`),
    });
    expect(Bun.inspect(error)).not.toContain("hush-hush");
  });
});

describe("certificates", () => {
  let directory: string;
  let https: ReturnType<typeof Bun.serve>;

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), "buddy-ca-"));
    const made = Bun.spawnSync(
      [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-days",
        "2",
        "-subj",
        "/CN=localhost",
        "-addext",
        "subjectAltName=DNS:localhost,IP:127.0.0.1",
        "-keyout",
        "key.pem",
        "-out",
        "cert.pem",
      ],
      { cwd: directory },
    );
    expect(made.exitCode).toBe(0);
    https = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      tls: { key: Bun.file(join(directory, "key.pem")), cert: Bun.file(join(directory, "cert.pem")) },
      fetch: () =>
        Response.json({ choices: [{ message: { role: "assistant", content: "over tls" }, finish_reason: "stop" }] }),
    });
  });
  afterAll(async () => {
    await https.stop(true);
    await rm(directory, { recursive: true });
  });

  test("one that is not trusted is not retried, and the way out is named", async () => {
    const client = createModelClient(modelOptions(`https://127.0.0.1:${https.port}/v1`));
    await expect(collect(client)).rejects.toMatchObject({
      reason: "network",
      retryable: false,
      hint: expect.stringContaining("NODE_EXTRA_CA_CERTS"),
    });
  });

  test("one that another CA signed, of another name, or out of date, is reported as such", async () => {
    const sh = (script: string) => {
      const { exitCode, stderr } = Bun.spawnSync(["sh", "-ec", script], { cwd: directory });
      if (exitCode !== 0) throw new Error(stderr.toString());
    };
    const read = (name: string) => Bun.file(join(directory, name));
    const words = async (port: number | undefined, ca?: string) => {
      const client = createModelClient(modelOptions(`https://127.0.0.1:${port}/v1`, { ca }));
      return collect(client).then(String, (error: Error) => error.message);
    };
    const shown = async (key: string, cert: string, ca?: string) => {
      const fetch = () => new Response("never");
      const server = Bun.serve({ port: 0, hostname: "127.0.0.1", tls: { key: read(key), cert: read(cert) }, fetch });
      const said = await words(server.port, ca);
      await server.stop(true);
      return said;
    };
    sh(
      "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=other -addext subjectAltName=DNS:other.example -keyout other.key -out other.pem",
    );
    const other = await read("other.pem").text();
    expect(await words(https.port, other)).toContain("ca_file");
    expect(await shown("other.key", "other.pem", other)).toContain("another name");
    sh(`: >index.txt; echo 01 >serial
      printf '[ca]\\ndefault_ca=x\\n[x]\\ndatabase=index.txt\\nnew_certs_dir=.\\nserial=serial\\ndefault_md=sha256\\npolicy=p\\n[p]\\ncommonName=supplied\\n' >ca.cnf
      openssl req -new -key key.pem -subj /CN=localhost -out old.csr
      openssl ca -batch -config ca.cnf -selfsign -keyfile key.pem -in old.csr -out old.pem -startdate 20200101000000Z -enddate 20200201000000Z -notext`);
    expect(await shown("key.pem", "old.pem")).toContain("has expired");
  });

  test.each([false, true])("a CA of one's own works; through a CONNECT proxy: %p", async (proxied) => {
    const proxy = await httpProxy(() => https.port ?? 0);
    const source = join(import.meta.dir, "../../src/model/client.ts");
    const program = `
      const { createModelClient } = await import(${JSON.stringify(source)});
      const client = createModelClient({ name: "t", baseUrl: process.env.BASE, api: "completions", auth: "api-key", model: "m", env: process.env, retries: 0 });
      for await (const event of client.stream({ messages: [{ role: "user", content: "x" }], tools: [] }, new AbortController().signal))
        if (event.type === "done") console.log(event.message.content);`;
    const child = Bun.spawn([process.execPath, "-e", program], {
      env: {
        PATH: process.env["PATH"],
        NODE_EXTRA_CA_CERTS: join(directory, "cert.pem"),
        BASE: proxied ? "https://localhost:4433/v1" : `https://127.0.0.1:${https.port}/v1`,
        ...(proxied && { HTTPS_PROXY: `http://127.0.0.1:${proxy.port}` }),
      },
      stdout: "pipe",
      stderr: "pipe",
    });
    const [out, err] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
    expect(`${out}${err}`).toBe("over tls\n");
    expect(proxy.seen).toEqual(proxied ? ["CONNECT localhost:4433 HTTP/1.1"] : []);
    proxy.server.close();
  });
});
