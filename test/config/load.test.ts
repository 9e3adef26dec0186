/** Layers, origins, search order, legacy names, and what is wrong with a file in words. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { explainSetting, type LoadedConfig, loadConfig, type LoadOptions } from "../../src/config/load.ts";
import { BuddyError } from "../../src/lib/errors.ts";
import { quote } from "../../src/lib/quote.ts";
import { buddyError, naming } from "../support/errors.ts";

let root = "";
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), "buddy-config-"));
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

let count = 0;
interface Place {
  readonly home: string;
  readonly cwd: string;
  load(options?: Partial<LoadOptions>): Promise<LoadedConfig>;
  write(path: string, text: string): string;
}
function place(files: Readonly<Record<string, string>> = {}): Place {
  const dir = join(root, String(count++));
  const home = join(dir, "home");
  const cwd = join(dir, "cwd");
  mkdirSync(home, { recursive: true });
  mkdirSync(cwd);
  const write = (path: string, text: string) => {
    const full = join(dir, path);
    mkdirSync(dirname(full), { recursive: true });
    writeFileSync(full, text);
    return full;
  };
  for (const [path, text] of Object.entries(files)) write(path, text);
  return {
    home,
    cwd,
    write,
    load: ({ env, ...options } = {}) => loadConfig({ cwd, create: false, ...options, env: { HOME: home, ...env } }),
  };
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

describe("search order", () => {
  const named = (name: string) => `[agent]\nname = "${name}"\n`;
  test("the operator's file: named, or the first one found below home", async () => {
    const { load, write, home } = place({ "home/.config/agent/agent.toml": named("legacy-home") });
    expect((await load()).config.agent.name).toBe("legacy-home");
    write("home/.config/buddy/buddy.toml", named("home"));
    expect((await load()).config.agent.name).toBe("home");
    const variable = write("variable.toml", named("variable"));
    expect((await load({ env: { BUDDY_CONFIG: variable } })).config.agent.name).toBe("variable");
    expect((await load({ env: { AGENT_CONFIG: variable } })).config.agent.name).toBe("variable");
    const flag = write("flag.toml", named("flag"));
    const loaded = await load({ flags: { config: flag }, env: { BUDDY_CONFIG: variable } });
    expect(loaded.config.agent.name).toBe("flag");
    expect(loaded.files).toEqual([flag]);
    expect(home).toBeTruthy();
  });

  test("a file of the working directory is merged over the operator's: buddy.toml, otherwise agent.toml", async () => {
    const turns = (n: number) => `[agent]\nmax_iterations = ${n}\n`;
    const { load, write } = place({
      "home/.config/buddy/buddy.toml": `${named("home")}max_iterations = 9\n`,
      "cwd/agent.toml": turns(8),
    });
    expect((await load()).config.agent).toMatchObject({ name: "home", max_iterations: 8 });
    const directory = write("cwd/buddy.toml", turns(7));
    const loaded = await load();
    expect(loaded.config.agent).toMatchObject({ name: "home", max_iterations: 7 });
    expect(loaded.origins.get("agent.max_iterations")).toMatchObject({ kind: "file", file: directory, line: 2 });
    expect(loaded.files).toHaveLength(2);
    const flag = write("flag.toml", named("flag"));
    expect((await load({ flags: { config: flag } })).config.agent).toMatchObject({ name: "flag", max_iterations: 50 });
  });

  test("XDG_CONFIG_HOME comes before ~/.config, unless it is relative", async () => {
    const { load, write, cwd } = place({ "home/.config/buddy/buddy.toml": named("home") });
    write("xdg/buddy/buddy.toml", named("xdg"));
    expect((await load({ env: { XDG_CONFIG_HOME: join(cwd, "../xdg") } })).config.agent.name).toBe("xdg");
    expect((await load({ env: { XDG_CONFIG_HOME: "../xdg" } })).config.agent.name).toBe("home");
  });

  test("a named file that is missing is an error", async () => {
    const { load, cwd } = place();
    const flag = await failure(load({ flags: { config: "nowhere.toml" } }));
    expect(flag).toEqual(buddyError("config", "--config", "./nowhere.toml"));
    const variable = await failure(load({ env: { BUDDY_CONFIG: join(cwd, "gone.toml") } }));
    expect(variable).toEqual(buddyError("config", "BUDDY_CONFIG", "./gone.toml"));
  });
});

describe("layers", () => {
  test("an empty file is a working configuration", async () => {
    const { load } = place({ "home/.config/buddy/buddy.toml": "" });
    const { config, warnings } = await load();
    expect(warnings).toEqual([]);
    expect(config.agent.model).toBe("gpt-codex");
    expect(config.models["gpt-codex"]).toMatchObject({ model: "gpt-5.3-codex", api: "responses", auth: "login" });
    expect(config.tools.shell_timeout).toBe(120_000);
    expect(config.tools.shell_confirm).toBe(true);
    expect(config.safety.git_add).toBe("block");
    expect(config.tmux).toEqual({ socket: "buddy", max_sessions: 1, max_panes: 5, idle: 86_400_000 });
    expect(config.agent.temperature).toBeUndefined();
    expect(config.model_rules).toEqual([]);
  });

  test("flag over environment over file over default, each with its origin", async () => {
    const { load, cwd } = place({
      "home/.config/buddy/buddy.toml":
        '[agent]\nmodel = "gpt-spark"\n\n[network]\napi_timeout = 30\nfetch_timeout = "5s"\n',
    });
    const explain = async (key: string, options: Partial<LoadOptions> = {}) => explainSetting(await load(options), key);
    expect(await explain("network.retries")).toBe("network.retries = 4 by default");
    expect(await explain("network.api_timeout")).toBe(
      'network.api_timeout = "30s" from ~/.config/buddy/buddy.toml line 5',
    );
    expect(await explain("network.api_timeout", { env: { BUDDY_API_TIMEOUT: "90" } })).toBe(
      'network.api_timeout = "1m30s" from BUDDY_API_TIMEOUT',
    );
    expect(await explain("network.fetch_timeout", { env: { AGENT_FETCH_TIMEOUT: "500ms" } })).toBe(
      'network.fetch_timeout = "500ms" from AGENT_FETCH_TIMEOUT',
    );
    expect(await explain("agent.model", { env: { BUDDY_MODEL: "a", AGENT_MODEL: "b" } })).toBe(
      'agent.model = "a" from BUDDY_MODEL',
    );
    expect(await explain("agent.model", { env: { BUDDY_MODEL: "", AGENT_MODEL: "b" } })).toBe(
      'agent.model = "b" from AGENT_MODEL',
    );
    expect(await explain("agent.model", { env: { BUDDY_MODEL: "a" }, flags: { model: "c" } })).toBe(
      'agent.model = "c" from --model',
    );
    expect(await explain("agent.temperature")).toBe("agent.temperature = (not set) by default");
    expect(await explain("tools.shell_allow")).toBe("tools.shell_allow = [] by default");
    const inCwd = await loadConfig({ env: { HOME: cwd }, cwd, create: false });
    expect(inCwd.files).toEqual([]);
  });

  test("lines are right after long strings, lists, inline tables, dotted and quoted keys", async () => {
    const { load } = place({
      "home/.config/buddy/buddy.toml": [
        "# first", // 1
        'tmux.socket = "x"', // 2
        "[agent]", // 3
        'system_prompt = """', // 4
        '[tools] shell_timeout = "9s" """ # no key: it is text', // 5: the string ends here
        "max_iterations = 7", // 6
        "[tools]", // 7
        "fetch_blocked_domains = [", // 8
        '  "a", # ]', // 9
        '  "b"', // 10
        "]", // 11
        '"shell_timeout" = "1h30m"', // 12
        "models = { x = 1 }", // 13: unknown key of [tools]
        '[models."with.dot"]', // 14
        'model = "m"', // 15
        "[[model_rules]]", // 16
        'prefix = "a"', // 17
        "[[model_rules]]", // 18
        'exact = "b"', // 19
        "context_limit = 2048", // 20
      ].join("\n"),
    });
    const loaded = await load();
    const line = (key: string) => {
      const origin = loaded.origins.get(key);
      return origin?.kind === "file" ? origin.line : undefined;
    };
    expect(line("tmux.socket")).toBe(2);
    expect(line("agent.system_prompt")).toBe(4);
    expect(line("agent.max_iterations")).toBe(6);
    expect(line("tools.fetch_blocked_domains")).toBe(8);
    expect(line("tools.shell_timeout")).toBe(12);
    expect(line("models.with.dot.model")).toBe(15);
    expect(loaded.warnings).toEqual([warning(13, "tools.models")]);
    expect(loaded.config.model_rules).toHaveLength(2);
    expect(loaded.config.model_rules[1]).toMatchObject({ exact: "b", context_limit: 2048 });
    expect(loaded.config.tools.shell_timeout).toBe(5_400_000);
  });

  test.each([
    ['second_lock = "off"', "off"],
    ['second_lock = "off"\nread_only_namespace = "required"', "required"],
    ['read_only_namespace = "required"\nsecond_lock = "off"', "required"],
  ])("a renamed key is read, with a notice of its new name: %s", async (lines, value) => {
    const loaded = await place({ "home/.config/buddy/buddy.toml": `[safety]\n${lines}\n` }).load();
    expect(loaded.config.safety.read_only_namespace).toBe(value as "off");
    const line = lines.split("\n").findIndex((text) => text.startsWith("second_lock")) + 2;
    expect(loaded.warnings).toEqual([warning(line, "safety.second_lock", "safety.read_only_namespace")]);
  });

  test("[model.<name>] is read like [models.<name>], and colour may be a boolean", async () => {
    const { load } = place({ "home/.config/buddy/buddy.toml": '[model.old]\nmodel = "m"\n[display]\ncolor = false\n' });
    const { config } = await load();
    expect(config.models.old?.model).toBe("m");
    expect(config.display.color).toBe("never");
  });

  test("Windows line ends and a byte order mark do no harm", async () => {
    const { load } = place({
      "home/.config/buddy/buddy.toml": '\uFEFF[agent]\r\nname = "x"\r\nmax_iterations = 3\r\n',
    });
    const loaded = await load();
    expect(loaded.config.agent.max_iterations).toBe(3);
    expect(loaded.origins.get("agent.max_iterations")).toMatchObject({ line: 3 });
  });
});

/** One about the user's own file. */
const warning = (line: number, ...names: readonly string[]) =>
  expect.stringMatching(naming("~/.config/buddy/buddy.toml", `line ${line}`, ...names));

describe("unknown keys", () => {
  test("are warnings with the closest known key", async () => {
    const { load } = place({
      "home/.config/buddy/buddy.toml":
        '[tools]\nshell_comfirm = true\n[toools]\nx = 1\n[models.x]\napi_key_evn = "A"\n[extra]\n',
    });
    expect((await load()).warnings).toEqual([
      warning(2, "tools.shell_comfirm", "tools.shell_confirm?"),
      warning(3, "toools", "tools?"),
      warning(6, "models.x.api_key_evn", "models.x.api_key_env?"),
      warning(7, "extra"),
    ]);
  });

  test("the warning about a key above its section says where it belongs", async () => {
    const { load } = place({ "home/.config/buddy/buddy.toml": "shell_confirm = false\n" });
    expect((await load()).warnings).toEqual([warning(1, "shell_confirm", "[tools]")]);
  });
});

describe("wrong files", () => {
  const wrong = async (text: string) => {
    const { load } = place({ "home/.config/buddy/buddy.toml": text });
    const error = await failure(load());
    expect(error.code).toBe("config");
    return error;
  };

  test.each([
    ["[tools]\nshell_confirm = 'yes'", ["line 2", "tools.shell_confirm", "true", "false", '"yes"']],
    ["[agent]\nname = 'x'\nmax_iterations = 0", ["line 3", "agent.max_iterations", 1, 10000, 0]],
    ["[agent]\nmax_iterations = 1.5", ["agent.max_iterations", "1.5"]],
    ["[agent]\nname = 'a b'", ["agent.name", 32, '"a b"']],
    ["[tools]\nshell_timeout = 'soon'", ["tools.shell_timeout", "500ms", "1d", '"soon"']],
    ["[tools]\nshell_timeout = -5", ["tools.shell_timeout", "-5"]],
    ["[tools]\nshell_timeout = 0", ["tools.shell_timeout", 0]],
    ["[tools]\nshell_timeout = '30d'", ["tools.shell_timeout", '"30d"']],
    ["[tools]\nshell_auto_approve = 'all'", ['"none"', '"read-only"', '"operator"', '"developer"', '"all"']],
    ["[tools]\nshell_allow = 'ls'", ["tools.shell_allow", '"ls"']],
    ["[tools]\nshell_allow = [1]", ["tools.shell_allow", "[1]"]],
    ["[tools]\nshell_allow = ['ls', '']", ["tools.shell_allow", '["ls",""]']],
    ["[tools]\nshell_denylist = ['/(/']", ["/slashes/", '["/(/"]']],
    ["[mcp.a]\nenabled = true", ["mcp.a", "command", "url"]],
    ['[mcp.a]\ncommand = ["x"]\nurl = "http://x"', ["mcp.a", "command", "url"]],
    ['[mcp.a]\ncommand = ["x"]\nheaders = { A = "b" }', ["mcp.a.headers", "url"]],
    ['[mcp."a__b"]\ncommand = ["x"]', ["mcp.a__b"]],
    ['[mcp.a]\ncommand = ["x"]\ntools = { only = ["y"] }', ["mcp.a.tools"]],
    ["[safety]\ndisk = true", ["safety.disk", '"block"', '"ask"', '"off"', "true"]],
    ["[limits]\nshell = 200000", ["limits.shell", 0, 131072, 200000]],
    ["tools = 5", ["line 1", "tools", 5]],
    ["models = 5", ["models", 5]],
    ["[models]\nx = 5", ["line 2", "models.x", 5]],
    ["[models.x]\napi_base_url = 'ftp://a'", ["models.x.api_base_url", "http", "https"]],
    ["[models.x]\napi_base_url = 'https://u:p@a'", ["models.x.api_base_url", "password"]],
    ["[models.x]\napi_base_url = 'http://[bad'", ["models.x.api_base_url", '"http://[bad"']],
    ["[models.x]\napi = 'chat'", ["models.x.api", '"completions"', '"responses"', '"anthropic"', '"chat"']],
    ["[models.demo]\nmodel = 'x'", ["demo"]],
    ["[models.x]\n[model.x]", ["profile x"]],
    ["[model_rules]\nexact = 'x'", ["model_rules", "[[model_rules]]"]],
    ["[[model_rules]]\ncontext_limit = 4096", ["line 1", "[[model_rules]]"]],
    ["[[model_rules]]\nexact = 'x'\n[[model_rules]]\nexact = 'y'\ncontext_limit = 'z'", ["line 5", "context_limit"]],
    ["[[hooks]]\non = 'approval'\ncommand = ['x']\n\n[[hooks]]\non = 'approval'", ["line 5", "[[hooks]]"]],
    ["[agent]\ntemperature = nan", ["agent.temperature", 0, 2]],
    ["[agent]\nsystem_prompt = 2026-01-01", ["agent.system_prompt"]],
  ])("%p", async (text, names) =>
    expect((await wrong(text)).message).toMatch(naming("~/.config/buddy/buddy.toml", ...names)),
  );

  test("a broken file names line and column and shows the line", async () => {
    const error = await wrong('[agent]\nname = "x"\nmodel = gpt\n');
    expect(error.message).toMatch(/^~\/\.config\/buddy\/buddy\.toml line 3, column \d+: /);
    expect(error.hint).toContain("model = gpt");
  });

  test("two key sources are named with their lines", async () => {
    const error = await wrong('[models.x]\napi_key_env = "A"\nmodel = "m"\napi_key = "secret-key"\n');
    expect(error.message).toMatch(/line 4: .*\bx\b.*api_key_env .*line 2.*api_key .*line 4/);
    expect(`${error.message} ${error.hint}`).not.toContain("secret-key");
  });

  test("a key of the wrong type is not repeated in the message", async () => {
    const error = await wrong('[models.x]\napi_key = ["secret-key"]\n');
    expect(error.message).toMatch(naming("line 2", "models.x.api_key"));
    expect(`${error.message} ${error.hint}`).not.toContain("secret-key");
  });

  test("all wrong lines are reported at once", async () => {
    const error = await wrong("[tools]\nshell_confirm = 1\nfetch_confirm = 2\n");
    expect(error.message).toContain("line 2");
    expect(error.hint).toContain("line 3");
  });

  test("what is not TOML is reported in words, together with wrong values and unknown keys", async () => {
    const lines = [
      "[agent]",
      'name = "abc',
      "modle = 3",
      "max_iterations = 0",
      "[tools",
      "[models.x]",
      "api_key = sk-1",
    ];
    const { message, hint } = await wrong(lines.join("\n"));
    expect(message).toMatch(naming("line 2", "string", "not closed"));
    expect(hint).toMatch(naming("line 3", "agent.model?", "line 4", "max_iterations", "line 5", "]", "line 7"));
    expect(hint).not.toContain("sk-1");
  });

  test.each([
    "[[hooks]]\non = 'never'\ncommand = ['x']",
    "[targets.x]\nssh = 3",
    "[[model_rules]]\nprefix = 3\ncontext_limit = 4096",
  ])("a key with a wrong value was also reported as missing: %j", async (text) => {
    expect((await wrong(text)).hint).not.toContain("line 1");
  });

  test("a file that is not text, cannot be read or is a directory", async () => {
    const { load, cwd } = place();
    writeFileSync(join(cwd, "buddy.toml"), new Uint8Array([0xff, 0xfe, 0x00]));
    expect((await failure(load())).message).toMatch(naming("./buddy.toml", "UTF-8"));
    rmSync(join(cwd, "buddy.toml"));
    mkdirSync(join(cwd, "buddy.toml"));
    const directory = await failure(load());
    expect(directory.message).toMatch(naming("./buddy.toml", "directory"));
    expect(directory.hint).not.toContain("permissions");
  });

  test("a section written as a list is reported with its line", async () => {
    expect((await wrong('\n[[agent]]\nname = "x"\n')).message).toMatch(naming("line 2", "agent"));
  });

  test("a dangling link was skipped, and in the home replaced by the defaults", async () => {
    const { load, cwd, home, write } = place();
    symlinkSync("../dotfiles/buddy.toml", join(cwd, "buddy.toml"));
    const here = await failure(load({ create: true }));
    expect(here).toEqual(buddyError("config", "./buddy.toml", "../dotfiles/buddy.toml"));
    rmSync(join(cwd, "buddy.toml"));
    mkdirSync(join(home, ".config/buddy"), { recursive: true });
    const own = join(home, ".config/buddy/buddy.toml");
    symlinkSync("buddy.toml", own);
    expect(await failure(load({ create: true }))).toEqual(buddyError("config", "buddy.toml", "link"));
    rmSync(own);
    symlinkSync(write("dotfiles/buddy.toml", '[agent]\nname = "linked"\n'), own);
    expect((await load({ create: true })).config.agent.name).toBe("linked");
  });

  test("environment variables of the wrong form", async () => {
    const { load } = place();
    const { message } = await failure(load({ env: { BUDDY_API_TIMEOUT: "soon" } }));
    expect(message).toMatch(naming("BUDDY_API_TIMEOUT", "500ms", '"soon"'));
    for (const url of ["localhost", "http://[", "https://u:p@h/v1", "ftp://h"]) {
      expect((await failure(load({ env: { BUDDY_BASE_URL: url } }))).message).toMatch(naming("BUDDY_BASE_URL"));
    }
  });
});

describe("creation", () => {
  test("the template is written once, private, and loads without warnings", async () => {
    const { load, home } = place();
    const path = join(home, ".config/buddy/buddy.toml");
    const first = await load({ create: true });
    expect(first.created).toBe(true);
    expect(first.warnings).toEqual([]);
    expect(first.files).toEqual([path]);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(statSync(dirname(path)).mode & 0o777).toBe(0o700);
    const again = await load({ create: true });
    expect(again.created).toBe(false);
    expect(again.config).toEqual(first.config);
  });

  test("without HOME the template counts, and nothing is written", async () => {
    const { cwd } = place();
    const loaded = await loadConfig({ env: {}, cwd });
    expect(loaded).toMatchObject({ files: [], created: false, warnings: [] });
    expect(loaded.config.models.ollama).toBeDefined();
    expect((await loadConfig({ env: {}, cwd, create: false })).files).toEqual([]);
  });

  test("a home that does not exist is not made", async () => {
    const { cwd, home } = place();
    const loaded = await loadConfig({ env: { HOME: join(home, "absent") }, cwd });
    expect(loaded).toMatchObject({ files: [], created: false });
    expect(loaded.warnings[0]).toContain("absent");
    expect(existsSync(join(home, "absent"))).toBe(false);
  });

  test("a home that cannot be written leaves nothing behind, and the template counts", async () => {
    const { cwd, home, write } = place();
    write("home/.config", "a file where the directory should be");
    const loaded = await loadConfig({ env: { HOME: home }, cwd });
    expect(loaded.config.models.ollama).toBeDefined();
    expect(loaded.warnings[0]).toContain(`${home}/.config/buddy/buddy.toml:`);
    expect(readFileSync(join(home, ".config"), "utf8")).toContain("a file");
  });
});

describe("a key in a file that others can read", () => {
  test("is a warning until it is private", async () => {
    const { load, write } = place();
    const path = write("home/.config/buddy/buddy.toml", '[models.x]\napi_key = "k"\n');
    chmodSync(path, 0o644);
    expect((await load()).warnings).toEqual([expect.stringMatching(naming("profile x", `chmod 600 ${quote(path)}`))]);
    chmodSync(path, 0o600);
    expect((await load()).warnings).toEqual([]);
  });
});

describe("hostile files", () => {
  const warningsOf = async (toml: string) => (await place({ "home/.config/buddy/buddy.toml": toml }).load()).warnings;

  test("an endless dotted key, thousands of unknown keys", async () => {
    expect((await warningsOf(`${Array(100_000).fill("a").join(".")} = 1\n`)).length).toBe(1);
    const many = Array.from({ length: 12_000 }, (_, i) => `k${i} = ${i}`).join("\n");
    const warnings = await warningsOf(`[tools]\n${many}\n`);
    expect(warnings).toHaveLength(11);
    expect(warnings.at(-1)).toMatch(naming("~/.config/buddy/buddy.toml", 11990));
  });

  test.each(["[".repeat(100_000), `${"[".repeat(100_000)}${"]".repeat(100_000)}`, `${"{a=".repeat(50_000)}1`])(
    "deep nesting is an error, not a crash",
    async (value) => {
      const error = await failure(place({ "home/.config/buddy/buddy.toml": `a = ${value}\n` }).load());
      expect(error.message).toContain("line 1");
    },
  );

  test("names that every object has are names like any other", async () => {
    const { config } = await place({
      "home/.config/buddy/buddy.toml":
        '[models.__proto__]\nmodel = "x"\n[models.constructor]\nmodel = "y"\n[__proto__]\nz = 1\n',
    }).load();
    expect(Object.hasOwn(config.models, "__proto__")).toBe(true);
    expect(Object.entries(config.models).find(([name]) => name === "constructor")?.[1].model).toBe("y");
    expect(({} as Record<string, unknown>).z).toBeUndefined();
  });

  test("a pipe in the working directory is not waited for, a huge file not read", async () => {
    const { load, cwd } = place();
    Bun.spawnSync(["mkfifo", join(cwd, "buddy.toml")]);
    expect(await failure(load())).toEqual(buddyError("config", "./buddy.toml"));
    rmSync(join(cwd, "buddy.toml"));
    writeFileSync(join(cwd, "buddy.toml"), "#".repeat(256 * 1024 + 1));
    expect(await failure(load())).toEqual(buddyError("config", "./buddy.toml"));
  });
});

test("a key in a line that is not TOML was quoted, by buddy and in the details of the parser", async () => {
  for (const text of [
    '[models.x]\napi_key = "wordsonlysecret\n',
    '[models.x]\napi_key = "wordsonlysecret"\nmodel = \n',
  ]) {
    const error = await failure(place({ "home/.config/buddy/buddy.toml": text }).load());
    expect(`${error.message} ${error.hint} ${Bun.inspect(error.cause)}`).not.toContain("wordsonlysecret");
    expect(error.message).toMatch(/line \d/);
  }
});
