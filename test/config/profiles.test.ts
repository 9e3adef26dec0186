/** From a name to endpoint, protocol, model and key. */
import { describe, expect, test } from "bun:test";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isLocal } from "../../src/config/keys.ts";
import { type ConfigFlags, loadConfig } from "../../src/config/load.ts";
import { profileHeaders, profileNames, resolveProfile } from "../../src/config/profiles.ts";
import { BuddyError } from "../../src/lib/errors.ts";
import { temporaryDirectory } from "../support/temporary.ts";
import { buddyError, naming } from "../support/errors.ts";

const root = temporaryDirectory();
const cwd = join(root, "cwd");
mkdirSync(cwd);
const file = join(root, "buddy.toml");

async function load(
  toml: string,
  { flags = {}, env = {} }: { flags?: ConfigFlags; env?: Record<string, string> } = {},
) {
  writeFileSync(file, toml, { mode: 0o600 });
  return await loadConfig({ flags: { config: file, ...flags }, env: { HOME: root, ...env }, cwd });
}
async function resolve(toml: string, options?: Parameters<typeof load>[1], selector?: string) {
  return resolveProfile(await load(toml, options), selector);
}
async function failure(promise: Promise<unknown>): Promise<BuddyError> {
  try {
    await promise;
  } catch (error) {
    expect(error).toBeInstanceOf(BuddyError);
    return error as BuddyError;
  }
  throw new Error("expected it to fail");
}

const ROUTER = `
[agent]
model = "router"
[models.router]
api_base_url = "https://router.example/v1/"
model = "vendor/large"
api_key_env = "ROUTER_KEY"
context_limit = 9000
[models.local]
api_base_url = "http://127.0.0.1:11434/v1"
[models.plain]
api_base_url = "https://plain.example/v1"
api = "responses"
stream = false
`;
const env = { ROUTER_KEY: "rk-1" };

describe("selection", () => {
  test("the active profile", async () => {
    const { settings, ...profile } = await resolve(ROUTER, { env });
    expect(settings).toMatchObject({ model: "vendor/large", context_limit: 9000 });
    expect(profile).toEqual({
      name: "router",
      model: "vendor/large",
      api: "completions",
      auth: "api-key",
      baseUrl: "https://router.example/v1",
      stream: true,
      contextLimit: 9000,
      key: { value: "rk-1", source: "the variable ROUTER_KEY" },
    });
  });

  test("-m names a profile, PROFILE:MODEL, or a model id of the active endpoint", async () => {
    const pick = async (model: string) => {
      const { name, model: id, baseUrl } = await resolve(ROUTER, { env, flags: { model } });
      return `${name} ${id} ${baseUrl}`;
    };
    expect(await pick("local")).toBe("local local http://127.0.0.1:11434/v1");
    expect(await pick("local:mistral")).toBe("local mistral http://127.0.0.1:11434/v1");
    expect(await pick("local:qwen3:8b")).toBe("local qwen3:8b http://127.0.0.1:11434/v1");
    expect(await pick("vendor/small")).toBe("router vendor/small https://router.example/v1");
    expect(await pick("gpt-9.1")).toBe("router gpt-9.1 https://router.example/v1");
    expect(await pick("demo")).toBe("demo demo ");
    const limit = async (model: string) => (await resolve(ROUTER, { env, flags: { model } })).contextLimit;
    expect([await limit("vendor/small"), await limit("router:vendor/large")]).toEqual([undefined, 9000]);
  });

  test("BUDDY_MODEL says the same as -m, which is stronger", async () => {
    expect((await resolve(ROUTER, { env: { ...env, BUDDY_MODEL: "local" } })).name).toBe("local");
    expect((await resolve(ROUTER, { env: { ...env, BUDDY_MODEL: "local" }, flags: { model: "demo" } })).name).toBe(
      "demo",
    );
    expect((await resolve(ROUTER, { env: { ...env, BUDDY_MODEL: "vendor/x" } })).name).toBe("router");
  });

  test("a profile chosen later, as /model does", async () => {
    const loaded = await load(ROUTER, { env });
    expect(resolveProfile(loaded, "local").name).toBe("local");
    expect(resolveProfile(loaded, "vendor/x1")).toMatchObject({ name: "router", model: "vendor/x1" });
    expect(profileNames(loaded)).toEqual(["gpt-codex", "gpt-spark", "router", "local", "plain", "demo"]);
  });

  test("an unknown profile lists the known ones", async () => {
    const error = await failure(resolve(ROUTER, { env, flags: { model: "ruoter" } }));
    expect(error.code).toBe("config");
    expect(error.message).toMatch(naming('"ruoter"', "--model"));
    expect(error.hint).toContain("router?");
    expect(error.hint).toContain("gpt-codex, gpt-spark, router, local, plain, demo");
    const inFile = await failure(resolve('[agent]\nmodel = "gone1"\n'));
    expect(inFile.message).toMatch(naming('"gone1"', "~/buddy.toml line 2"));
    for (const name of ["constructor", "__proto__", "toString"]) {
      expect(await failure(resolve(ROUTER, { env, flags: { model: name } }))).toEqual(
        buddyError("config", `"${name}"`),
      );
    }
  });
});

describe("another endpoint", () => {
  test("--base-url replaces the address of the chosen profile, and BUDDY_BASE_URL is weaker", async () => {
    const options = { env: { ...env, BUDDY_BASE_URL: "http://env.example/v1" } };
    expect((await resolve(ROUTER, options)).baseUrl).toBe("http://env.example/v1");
    const flags = { baseUrl: "http://flag.example/v1/" };
    expect((await resolve(ROUTER, { ...options, flags })).baseUrl).toBe("http://flag.example/v1");
  });

  test("a profile switched to later keeps its own address", async () => {
    const loaded = await load(ROUTER, { env, flags: { baseUrl: "http://flag.example/v1" } });
    expect(resolveProfile(loaded).baseUrl).toBe("http://flag.example/v1");
    expect(resolveProfile(loaded, "local").baseUrl).toBe("http://127.0.0.1:11434/v1");
  });

  test("a sign-in never goes to another host", async () => {
    const elsewhere = await resolve("", { flags: { baseUrl: "http://localhost:8080/v1", model: "llama3" } });
    expect(elsewhere).toMatchObject({ auth: "api-key", api: "completions", model: "llama3" });
    expect(elsewhere.key).toBeUndefined();
    const bare = await resolve("", { flags: { baseUrl: "http://localhost:8080/v1", model: "mistral" } });
    expect(bare).toMatchObject({ name: "gpt-codex", model: "mistral", baseUrl: "http://localhost:8080/v1" });
    const same = await resolve("", { flags: { baseUrl: "https://api.openai.com/v2" } });
    expect(same).toMatchObject({ auth: "login", api: "responses", baseUrl: "https://api.openai.com/v2" });
  });
});

describe("keys", () => {
  test("the order: --api-key, BUDDY_API_KEY, AGENT_API_KEY, the profile's own", async () => {
    const all = { ...env, BUDDY_API_KEY: "b", AGENT_API_KEY: "a" };
    const source = async (options: Parameters<typeof load>[1]) => (await resolve(ROUTER, options)).key;
    expect(await source({ env: all, flags: { apiKey: "f" } })).toEqual({ value: "f", source: "--api-key" });
    expect(await source({ env: all })).toEqual({ value: "b", source: "BUDDY_API_KEY" });
    expect(await source({ env: { ...all, BUDDY_API_KEY: "" } })).toEqual({ value: "a", source: "AGENT_API_KEY" });
    expect(await source({ env })).toEqual({ value: "rk-1", source: "the variable ROUTER_KEY" });
  });

  test("from a file, relative to the configuration or to home, without the line break at its end", async () => {
    writeFileSync(join(root, "key.txt"), "sk-file\n");
    const profile = (path: string) => `[agent]\nmodel = "x"\n[models.x]\napi_key_file = "${path}"\n`;
    expect((await resolve(profile("key.txt"))).key).toEqual({ value: "sk-file", source: "the file ~/key.txt" });
    expect((await resolve(profile("~/key.txt"))).key?.value).toBe("sk-file");
  });

  test("from the file itself", async () => {
    const key = (await resolve('[agent]\nmodel = "x"\n[models.x]\napi_key = "sk-literal"\n')).key;
    expect(key).toEqual({ value: "sk-literal", source: "api_key from ~/buddy.toml line 4" });
  });

  test.each([
    ['api_key_file = "missing.txt"', {}, ["~/missing.txt"]],
    ['api_key_file = "empty.txt"', {}, ["~/empty.txt"]],
    ['api_key_file = "."', {}, ["directory"]],
    ['api_key_file = "/dev/zero"', {}, ["/dev/zero"]],
    ['api_key_file = "large.txt"', {}, ["~/large.txt", 65536]],
    ['api_key_file = "two.txt"', {}, ["~/two.txt"]],
    ['api_key_env = "NOT_SET"', {}, ["profile x", "NOT_SET"]],
    ['api_key_env = "BLANK"', { BLANK: "  " }, ["profile x", "BLANK"]],
    ['api_key = "a b"', {}, ["api_key"]],
    ["", {}, ["profile x", "api.openai.com"]],
    ["", { BUDDY_API_KEY: "kéy" }, ["BUDDY_API_KEY"]],
  ])("%p is an error of sign-in", async (line, variables, names) => {
    writeFileSync(join(root, "empty.txt"), "\n");
    writeFileSync(join(root, "large.txt"), "x".repeat(70_000));
    writeFileSync(join(root, "two.txt"), "one\ntwo\n");
    const error = await failure(resolve(`[agent]\nmodel = "x"\n[models.x]\n${line}\n`, { env: variables }));
    expect(error.code).toBe("auth");
    expect(error.message).toMatch(naming(...names));
    expect(error.hint).toBeTruthy();
  });

  test("a local server needs none, a sign-in profile waits for the sign-in", async () => {
    expect((await resolve(ROUTER, { env }, "local")).key).toBeUndefined();
    expect((await resolve("", {})).key).toBeUndefined();
    const unset = '[models.gpt-codex]\nauth = "login"\napi_key_env = "NOT_SET"\n';
    expect((await resolve(unset)).key).toBeUndefined();
    expect((await failure(resolve(ROUTER, { env }, "plain"))).hint).toContain(" ~/buddy.toml line ");
  });

  test("what is local", () => {
    const local = [
      "http://localhost:1/v1",
      "http://127.1.2.3",
      "http://[::1]:80",
      "http://10.0.0.1",
      "http://gpu-box/v1",
    ];
    const remote = [
      "https://api.openai.com",
      "http://8.8.8.8",
      "https://localhost.example.com",
      "http://172.32.0.1",
      "https://10.example.com",
      "https://1e1.a.example.com",
    ];
    expect(
      [...local, "http://192.168.1.5", "http://nas.local", "http://[fd00::1]"].filter((url) => !isLocal(url)),
    ).toEqual([]);
    expect([...remote, "http://[2001:db8::1]"].filter((url) => isLocal(url))).toEqual([]);
  });

  test("variables that hold keys are known, so that children never see them", async () => {
    expect((await load(ROUTER)).keyVariables).toEqual(["ROUTER_KEY"]);
  });
});

describe("keys of a profile", () => {
  const GATEWAY = `
[agent]
model = "gateway"
[models.gateway]
api_base_url = "https://gateway.example/v1"
api = "anthropic"
provider = "anthropic"
api_key_header = "api-key"
api_key_command = ["print-token", "--now"]
headers = { "x-team" = "\${TEAM}", "x-fixed" = "1" }
query = { "api-version" = "2026-01-01" }
max_tokens = 4096
temperature = 0.1
top_p = 0.9
reasoning_effort = "max"
extra_body = { store = true, nested = { list = [1] } }
images = true
proxy = "http://proxy:3128"
ca_file = "ca.pem"
`;

  test("all of them are read", async () => {
    const { settings, api, key } = await resolve(GATEWAY);
    expect(api).toBe("anthropic");
    expect(key).toBeUndefined();
    expect(settings).toMatchObject({
      api_key_header: "api-key",
      api_key_command: ["print-token", "--now"],
      query: { "api-version": "2026-01-01" },
      max_tokens: 4096,
      reasoning_effort: "max",
      extra_body: { store: true, nested: { list: [1] } },
      proxy: "http://proxy:3128",
    });
  });

  test("headers take variables, which no child sees", async () => {
    const loaded = await load(GATEWAY, { env: { TEAM: "blue" } });
    expect(profileHeaders(loaded, resolveProfile(loaded))).toEqual({ "x-team": "blue", "x-fixed": "1" });
    expect(loaded.keyVariables).toContain("TEAM");
  });

  test("a variable of a header that is not set is an error that names it", async () => {
    const loaded = await load(GATEWAY);
    expect(() => profileHeaders(loaded, resolveProfile(loaded))).toThrow(buddyError("auth", "TEAM", "x-team"));
  });

  test.each(["a\nb", "a\r\nx-evil: 1", "schlüssel…"])("a header with %j is an error that names it", async (TEAM) => {
    const loaded = await load(GATEWAY, { env: { TEAM } });
    expect(() => profileHeaders(loaded, resolveProfile(loaded))).toThrow(buddyError("config", "x-team"));
  });

  test("a command counts as a key source", async () => {
    const error = await failure(load(GATEWAY.replace("api_key_header", 'api_key = "k"\napi_key_header')));
    expect(error).toEqual(buddyError("config", "gateway", "2 "));
  });

  test("a file of the working directory cannot run a program for its key", async () => {
    writeFileSync(join(cwd, "buddy.toml"), GATEWAY);
    try {
      const loaded = await loadConfig({ env: { HOME: root, XDG_CONFIG_HOME: join(root, "xdg") }, cwd });
      expect(profileNames(loaded)).not.toContain("gateway");
    } finally {
      rmSync(join(cwd, "buddy.toml"));
    }
  });
});

describe("files of earlier versions", () => {
  const OLD = `
[api]
base_url = "https://old.example/v1"
api_key = "ok-1"
model = "old/model"
[network]
api_timeout_secs = 90
fetch_timeout_secs = 7
[display]
color = true
`;

  test("[api] is the active profile, timeouts are seconds", async () => {
    const loaded = await load(OLD);
    expect(loaded.warnings).toEqual([]);
    expect(resolveProfile(loaded)).toMatchObject({
      name: "api",
      baseUrl: "https://old.example/v1",
      model: "old/model",
      key: { value: "ok-1" },
    });
    expect(loaded.config.network).toMatchObject({ api_timeout: 90_000, fetch_timeout: 7_000 });
  });

  test("BUDDY_API_TIMEOUT_SECS and its older twin", async () => {
    const loaded = await load(OLD, { env: { BUDDY_API_TIMEOUT_SECS: "9", AGENT_FETCH_TIMEOUT_SECS: "3" } });
    expect(loaded.config.network).toMatchObject({ api_timeout: 9_000, fetch_timeout: 3_000 });
  });
});
