/** A refresh among several processes, with servers that fail and processes that are killed. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { OpenAiDevice } from "../../src/auth/openai-device.ts";
import { AuthStore, type SignIn } from "../../src/auth/store.ts";
import { tokenSource } from "../../src/auth/sign-in.ts";
import type { BuddyError } from "../../src/lib/errors.ts";
import { type LoginBehaviour, startLoginServer } from "../support/login-server.ts";
import { until } from "../support/until.ts";

let home: string;
let store: AuthStore;

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "buddy-refresh-"));
  store = new AuthStore(join(home, "buddy/auth.json"), () => undefined);
});
afterEach(() => rmSync(home, { recursive: true }));

async function signedIn(behaviour: LoginBehaviour) {
  const server = startLoginServer(behaviour);
  const tokens = server.issue();
  await store.update("openai", async () => ({ ...tokens, issued_at: Date.now(), expires_at: Date.now() + 60_000 }));
  return { server, source: tokenSource(store, new OpenAiDevice(server.url)), refused: tokens.access_token };
}

const caught = (promise: Promise<unknown>) =>
  promise.then(
    () => undefined,
    (error: unknown) => error as BuddyError,
  );

test.each([undefined, "cut"] as const)(
  "a server error, or a connection that is cut (%p), is tried again",
  async (failure) => {
    const { server, source, refused } = await signedIn(failure === undefined ? {} : { failure });
    await using _ = server;
    server.state.failures = 2;
    await source.token({ refused });
    expect(server.state.refreshes).toBe(1);
  },
);

test.each([
  [200, {}, false],
  [403, {}, false],
  [400, { error: "invalid_request" }, false],
  [400, { error: "invalid_grant" }, true],
  [401, {}, true],
])("HTTP %d %j ends the sign-in: %p", async (status, body, ends) => {
  const { server, source, refused } = await signedIn({ failure: { status, body } });
  await using _ = server;
  server.state.failures = 9;
  const error = await caught(source.token({ refused }));
  expect([error?.code, error?.constructor.name === "SignInEnded"]).toEqual(["auth", ends]);
});

describe("a token that another process renewed", () => {
  const other: SignIn = {
    access_token: "newer",
    refresh_token: "r2",
    issued_at: Date.now(),
    expires_at: Date.now() + 3.6e6,
  };

  test("in another process is used, not renewed again", async () => {
    const { server, source, refused } = await signedIn({});
    await using _ = server;
    await store.update("openai", async () => other);
    expect(await source.token({ refused })).toEqual({ accessToken: "newer" });
    expect(server.state.refreshes).toBe(0);
  });

  test("for another request of this process was renewed again", async () => {
    const { server, source, refused } = await signedIn({});
    await using _ = server;
    const first = await source.token({ refused });
    expect(await source.token({ refused })).toEqual(first);
    expect(server.state.refreshes).toBe(1);
  });

  test("without a lock, while the server refuses the old one, is used", async () => {
    const { server, refused } = await signedIn({});
    await using _ = server;
    server.state.refreshToken = "another";
    const device = new OpenAiDevice(server.url);
    const refresh = device.refresh.bind(device);
    device.refresh = (current) => {
      writeFileSync(store.path, JSON.stringify({ version: 1, providers: { openai: other } }));
      return refresh(current);
    };
    expect(await tokenSource(store, device).token({ refused })).toEqual({ accessToken: "newer" });
  });
});

describe("a refresh that the server has answered", () => {
  const held = async () => {
    const found = await signedIn({ forgives: true });
    const { promise, resolve } = Promise.withResolvers<void>();
    found.server.state.answering = promise;
    return { ...found, answer: resolve };
  };

  test("is stored although Ctrl-C came before the answer", async () => {
    const { server, source, refused, answer } = await held();
    await using _ = server;
    const stop = new AbortController();
    const left = caught(source.token({ refused }, stop.signal));
    await until(() => server.state.refreshes === 1, "the server has it");
    stop.abort(new Error("interrupted"));
    answer();
    expect((await left)?.message).toBe("interrupted");
    expect(store.read("openai")?.refresh_token).toBe(server.state.refreshToken);
  });

  test("is good for others that wait, when the first of them leaves", async () => {
    const { server, source, refused, answer } = await held();
    await using _ = server;
    const stop = new AbortController();
    const left = caught(source.token({ refused }, stop.signal));
    const stays = source.token({ refused });
    stop.abort(new Error("interrupted"));
    expect((await left)?.message).toBe("interrupted");
    answer();
    expect((await stays).accessToken).not.toBe(refused);
    expect(server.state.refreshes).toBe(1);
  });

  test("and whose process was killed needs no new sign-in where the server takes the token once more", async () => {
    const { server, source, refused, answer } = await held();
    await using _ = server;
    const worker = join(import.meta.dir, "../support/refresh-worker.ts");
    const child = Bun.spawn([process.execPath, worker, store.path, server.url, "1"], { stdout: "ignore" });
    await until(() => server.state.refreshes === 1, "the server has it");
    child.kill("SIGKILL");
    await child.exited;
    answer();
    expect((await source.token({ refused })).accessToken).not.toBe(refused);
    expect(store.read("openai")?.refresh_token).toBe(server.state.refreshToken);
  });

  test("is not asked for where it could not be stored: that would invalidate the stored one", async () => {
    const { server } = await signedIn({ forgives: false });
    await using _ = server;
    const worker = join(import.meta.dir, "../support/refresh-worker.ts");
    // As on a full disk: no file can get a byte.
    const full = `trap "" XFSZ; ulimit -f 0; exec "$@"`;
    const argv = ["sh", "-c", full, "sh", process.execPath, worker, store.path, server.url, "1"];
    const child = Bun.spawn(argv, { stdout: "ignore", stderr: "pipe" });
    expect([await child.stderr.text(), await child.exited]).toEqual([expect.stringContaining("cannot be stored"), 1]);
    expect(server.state.refreshes).toBe(0);
    expect(store.read("openai")?.refresh_token).toBe(server.state.refreshToken);
  });
});
