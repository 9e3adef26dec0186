import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { OpenAiDevice } from "../../src/auth/openai-device.ts";
import { signIn, tokenSource } from "../../src/auth/sign-in.ts";
import { AuthStore, type SignIn } from "../../src/auth/store.ts";
import { BuddyError } from "../../src/lib/errors.ts";
import { buddyError } from "../support/errors.ts";
import { type LoginBehaviour, startLoginServer } from "../support/login-server.ts";
import { quote } from "../../src/lib/quote.ts";

let home: string;
let warnings: string[];
let store: AuthStore;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "buddy-auth-"));
  warnings = [];
  store = new AuthStore(join(home, "buddy", "auth.json"), (message) => warnings.push(message));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const never = new AbortController().signal;
const caught = (promise: Promise<unknown>) =>
  promise.then(
    () => undefined,
    (error: unknown) => error as BuddyError,
  );

const ageing = (current: SignIn | undefined): SignIn => ({
  ...(current as SignIn),
  issued_at: Date.now() - 3_540_000,
  expires_at: Date.now() + 60_000,
});

async function signInAt(behaviour: LoginBehaviour) {
  await using server = startLoginServer(behaviour);
  const device = new OpenAiDevice(server.url);
  const code = await device.begin(never);
  const lefts: number[] = [];
  const result = await device.finish(code, never, (left) => lefts.push(left));
  return { code, result, lefts, state: server.state };
}

describe("device code", () => {
  test("waits until the user has entered it, then has tokens and the account", async () => {
    const { code, result, lefts, state } = await signInAt({ pendingPolls: 3 });
    expect(code.userCode).toBe("ABCD-1234");
    expect(code.url).toEndWith("/codex/device");
    expect(state.polls).toBe(4);
    expect(result.account_id).toBe("acct-42");
    expect(result.refresh_token).toBe("refresh-1-secret");
    expect(lefts.every((left) => left > 0 && left <= 15 * 60_000)).toBe(true);
  });

  test("a connection that drops while the user is in the browser does not end the sign-in", async () => {
    await using server = startLoginServer({ pendingPolls: 3, dropPolls: 2 });
    const device = new OpenAiDevice(server.url);
    const result = await device.finish(await device.begin(never), never, () => {});
    expect(result.refresh_token).toBe("refresh-1-secret");
  });

  test("accepts the older field name", async () => {
    expect((await signInAt({ oldFieldName: true })).code.userCode).toBe("ABCD-1234");
  });

  test("a clock that is off by a day does not make the token look expired", async () => {
    for (const skew of [86_400, -86_400]) {
      const { result } = await signInAt({ skew });
      const left = result.expires_at - Date.now();
      expect(left).toBeGreaterThan(3_500_000);
      expect(left).toBeLessThanOrEqual(3_600_000);
    }
  });

  const failures: [string, LoginBehaviour, RegExp][] = [
    ["not enabled", { notEnabled: true }, /not enabled/],
    ["garbage instead of a code", { garbage: "usercode" }, /asking for a code failed \(HTTP 200\)/],
    ["declined", { answer: { status: 400, body: { error: "access_denied" } } }, /declined/],
    ["expired", { answer: { status: 400, body: { error: "expired_token" } } }, /15 minutes/],
    ["an unknown error", { answer: { status: 418, body: { error: { code: "teapot" } } } }, /HTTP 418: teapot/],
    ["a grant without a code", { answer: { status: 200, body: {} } }, /waiting for the code failed/],
    ["garbage instead of tokens", { garbage: "exchange" }, /exchanging the code failed/],
  ];
  test.each(failures)("%s ends with a clear error", async (_, behaviour, message) => {
    const error = await caught(signInAt(behaviour));
    expect(error).toBeInstanceOf(BuddyError);
    expect(error?.code).toBe("auth");
    expect(error?.message).toMatch(message);
  });

  test("slow_down and a server that is down for a moment are waited out", async () => {
    await using server = startLoginServer({ approved: false });
    const device = new OpenAiDevice(server.url);
    const code = await device.begin(never);
    const done = device.finish(code, never, () => {
      if (server.state.polls === 2) server.state.down = true;
      if (server.state.polls === 2) queueMicrotask(() => (server.state.approved = true));
      if (server.state.bodies.length > 5) server.state.down = false;
    });
    expect((await done).access_token).toContain(".sig");
  });

  test("Ctrl-C ends the waiting at once", async () => {
    await using server = startLoginServer({ approved: false, interval: "600" });
    const device = new OpenAiDevice(server.url);
    const abort = new AbortController();
    const code = await device.begin(abort.signal);
    const done = caught(
      device.finish(code, abort.signal, () => queueMicrotask(() => abort.abort(new Error("stopped")))),
    );
    expect((await done)?.message).toBe("stopped");
  });

  test("no listener and an address without TLS are distinguished", async () => {
    const error = await caught(new OpenAiDevice("http://127.0.0.1:1").begin(never));
    expect(error?.message).toMatch(/cannot reach 127\.0\.0\.1:1/);
    expect(() => new OpenAiDevice("http://auth.example.com")).toThrow(buddyError("auth", "http://auth.example.com"));
    expect(() => new OpenAiDevice("nonsense")).toThrow(buddyError("auth", "nonsense"));
  });
});

describe("auth.json", () => {
  const entry: SignIn = { access_token: "a", refresh_token: "r", issued_at: 0, expires_at: Date.now() + 3_600_000 };

  test("is 0600 in a 0700 directory, and keeps other providers", async () => {
    await store.update("other", async () => entry);
    await store.update("openai", async () => entry);
    expect(statSync(store.path).mode & 0o777).toBe(0o600);
    expect(statSync(join(home, "buddy")).mode & 0o777).toBe(0o700);
    await store.update("openai", async () => undefined);
    expect(store.read("openai")).toBeUndefined();
    expect(store.read("other")).toEqual(entry);
  });

  test("is refused while others can read it, with the command that fixes it", async () => {
    await store.update("openai", async () => entry);
    chmodSync(store.path, 0o640);
    const error = await caught((async () => store.read("openai"))());
    expect(error?.message).toMatch(/mode 640/);
    expect(error?.hint).toContain(`chmod 600 ${quote(store.path)}`);
    chmodSync(store.path, 0o600);
    expect(store.read("openai")).toEqual(entry);
  });

  test("two damaged files within a second: the first was overwritten", async () => {
    for (const text of ["first", "second"]) {
      await store.update("openai", async () => entry);
      writeFileSync(store.path, text);
      expect(store.read("openai")).toBeUndefined();
    }
    const kept = readdirSync(join(home, "buddy")).filter((name) => name.includes("damaged"));
    expect(kept.map((name) => readFileSync(join(home, "buddy", name), "utf8")).sort()).toEqual(["first", "second"]);
  });

  test("where nothing can be written, no code is asked for and no token is used up", async () => {
    await using server = startLoginServer({});
    const device = new OpenAiDevice(server.url);
    await store.update("openai", async () => ({ ...ageing(entry), ...server.issue() }));
    const good = store.read("openai");
    rmSync(`${store.path}.lock`);
    mkdirSync(`${store.path}.lock`);
    const screen = { say: () => {}, progress: () => {} };
    const login = await caught(signIn({ device, store, provider: "openai" }, screen, never));
    expect(login).toEqual(buddyError("auth", store.path));
    const source = tokenSource(store, device);
    expect((await source.token({}, never)).accessToken).toBe(good?.access_token ?? "");
    expect(await caught(source.token({ refused: good?.access_token }, never))).toEqual(buddyError("auth", store.path));
    expect(server.state.bodies).toEqual([]);
  });

  test("a file that others can read was reported after the sign-in, which was thrown away", async () => {
    await using server = startLoginServer({});
    await store.update("openai", async () => entry);
    chmodSync(store.path, 0o644);
    const parts = { device: new OpenAiDevice(server.url), store, provider: "openai" };
    const error = await caught(signIn(parts, { say: () => {}, progress: () => {} }, never));
    expect(error).toEqual(buddyError("auth", "auth.json"));
    expect(server.state.bodies).toEqual([]);
  });

  const odd = (fields: object) => JSON.stringify({ version: 1, providers: { openai: { ...entry, ...fields } } });

  test.each([{ access_token: "a\nb" }, { access_token: "" }, { refresh_token: "ü" }, { expires_at: 1e300 }])(
    "%p failed in the middle of a request or in words; it is damage",
    async (fields) => {
      await store.update("openai", async () => entry);
      writeFileSync(store.path, odd(fields));
      expect(store.read("openai")).toBeUndefined();
      expect(warnings.join()).toMatch(/damaged/);
    },
  );

  test("a file of a newer buddy is left as it is", async () => {
    await store.update("openai", async () => entry);
    writeFileSync(store.path, odd({}).replace('"version":1', '"version":2'));
    expect(() => store.read("openai")).toThrow(buddyError("auth", "auth.json", "format"));
    expect(readFileSync(store.path, "utf8")).toContain('"version":2');
  });

  test.each(["", "{", "null", '{"providers":[]}', '{"providers":{"openai":{"access_token":1}}}', "\0\0\0"])(
    "damaged as %j it is kept aside and the user is told",
    async (text) => {
      await store.update("openai", async () => entry);
      writeFileSync(store.path, text);
      expect(store.read("openai")).toBeUndefined();
      expect(warnings.join()).toMatch(/damaged/);
      const aside = readdirSync(join(home, "buddy")).find((name) => name.includes("damaged")) ?? "";
      expect(readFileSync(join(home, "buddy", aside), "utf8")).toBe(text);
    },
  );

  test("that cannot be read is an error, not a signed-out state", async () => {
    rmSync(join(home, "buddy"), { recursive: true, force: true });
    writeFileSync(join(home, "buddy"), "a file where the directory should be");
    expect((await caught((async () => store.read("openai"))()))?.message).toMatch(/cannot read/);
  });
});

describe("the access token", () => {
  const signedIn = async (behaviour: LoginBehaviour) => {
    const server = startLoginServer(behaviour);
    const issued = server.issue();
    const lifetime = (behaviour.lifetime ?? 3600) * 1000;
    await store.update("openai", async () => ({ ...issued, issued_at: Date.now(), expires_at: Date.now() + lifetime }));
    return { server, source: tokenSource(store, new OpenAiDevice(server.url)), issued };
  };

  test("is used as it is while it lasts", async () => {
    const { server, source, issued } = await signedIn({});
    await using _ = server;
    expect((await source.token()).accessToken).toBe(issued.access_token);
    expect(server.state.refreshes).toBe(0);
  });

  test("is refreshed ahead of expiry, once for all that wait", async () => {
    const { server, source, issued } = await signedIn({ lifetime: 3600 });
    await using _ = server;
    await store.update("openai", async (current) => ageing(current));
    const tokens = await Promise.all([source.token(), source.token(), source.token()]);
    expect(new Set(tokens.map((token) => token.accessToken)).size).toBe(1);
    expect(tokens[0]?.accessToken).not.toBe(issued.access_token);
    expect(server.state.refreshes).toBe(1);
    expect(store.read("openai")?.refresh_token).toBe(server.state.refreshToken);
  });

  test("survives a sign-in server that is down while it is still valid", async () => {
    const { server, source, issued } = await signedIn({});
    await using _ = server;
    await store.update("openai", async (current) => ageing(current));
    server.state.down = true;
    expect((await source.token()).accessToken).toBe(issued.access_token);
    expect((await caught(source.token({ refused: issued.access_token })))?.message).toMatch(
      /refreshing the sign-in failed \(HTTP 502\)/,
    );
  });

  test("keeps the old refresh token where the server sends none", async () => {
    const { server, source, issued } = await signedIn({ keepRefreshToken: true });
    await using _ = server;
    await source.token({ refused: issued.access_token });
    expect(store.read("openai")?.refresh_token).toBe(issued.refresh_token);
    expect(store.read("openai")?.id_token).toBe(issued.id_token);
  });

  test("refused or missing leads to: buddy login", async () => {
    const { server, source, issued } = await signedIn({});
    await using _ = server;
    server.state.refreshToken = "another";
    expect((await caught(source.token({ refused: issued.access_token })))?.hint).toContain("buddy login");
    await store.update("openai", async () => undefined);
    expect(await caught(source.token())).toEqual(buddyError("auth"));
  });

  test("8 processes × 50 refreshes with rotating refresh tokens: no one is signed out", async () => {
    const { server } = await signedIn({});
    await using _ = server;
    const worker = join(import.meta.dir, "../support/refresh-worker.ts");
    const workers = Array.from({ length: 8 }, () =>
      Bun.spawn([process.execPath, worker, store.path, server.url, "50"], { stdout: "pipe", stderr: "inherit" }),
    );
    const outputs = await Promise.all(workers.map((child) => new Response(child.stdout).text()));
    expect(outputs).toEqual(Array.from({ length: 8 }, () => "50 refreshed\n"));
    expect(server.state.reused).toBe(0);
    expect(server.state.refreshes).toBeGreaterThanOrEqual(50);
    expect(store.read("openai")?.refresh_token).toBe(server.state.refreshToken);
  }, 60_000);
});

test.each(["auth.json", "auth.json.lock"])(
  "a link in place of %s was followed; it is refused, and nothing is created",
  async (name) => {
    const directory = join(home, "buddy");
    mkdirSync(directory);
    const victim = join(home, "victim");
    writeFileSync(victim, "precious", { mode: 0o644 });
    symlinkSync(victim, join(directory, name));
    const error = await caught(store.checkWritable());
    expect(error).toEqual(buddyError("auth", name, "link"));
    expect(readFileSync(victim, "utf8")).toBe("precious");
    expect(statSync(victim).mode & 0o777).toBe(0o644);
    expect(readdirSync(directory)).toEqual([name]);
  },
);

describe("the browser of this machine", () => {
  const withBrowser = async (behaviour: LoginBehaviour, signal = never) => {
    await using server = startLoginServer(behaviour);
    const device = new OpenAiDevice(server.url);
    const visits: Promise<Response>[] = [];
    const result = await device.browser(signal, (url) => visits.push(fetch(url)), [0]);
    return { result, page: await (await visits[0])?.text() };
  };

  test("comes back with a code that only this process can use", async () => {
    const { result, page } = await withBrowser({});
    expect(result).toMatchObject({ refresh_token: "refresh-1-secret", account_id: "acct-42" });
    expect(page).toContain("Signed in");
  });

  test("declined is an error of the sign-in", async () => {
    const error = await caught(withBrowser({ declines: true }));
    expect(error).toMatchObject({ code: "auth", message: expect.stringContaining("declined") });
  });

  test("a page that does not know the state is not listened to", async () => {
    const abort = new AbortController();
    await using server = startLoginServer({ foreignState: true });
    const signIn = new OpenAiDevice(server.url).browser(
      abort.signal,
      (url) => {
        void fetch(url).then(({ status }) => abort.abort(new Error(`answered ${status}`)));
      },
      [0],
    );
    await expect(signIn).rejects.toThrow("answered 400");
  });
});
