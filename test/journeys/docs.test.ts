import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import packageJson from "../../package.json";
import { COMMANDS, loadCommand } from "../../src/cli/command.ts";
import { GLOBAL_ARGS } from "../../src/cli/args/options.ts";
import { loadConfig } from "../../src/config/load.ts";
import { customCommands } from "../../src/extend/custom-commands.ts";
import { parseSkill } from "../../src/extend/skills/skill.ts";
import { builtinSchemas } from "../../src/tools/schemas.ts";
import { findCommands } from "../../src/ui/commands/slash-commands.ts";
import { sandbox } from "../support/buddy.ts";
import {
  anchors,
  blockCommands,
  blocks,
  type Found,
  helpCommands,
  links,
  PAGES,
  page,
  ROOT,
  spans,
} from "../support/documentation.ts";
import { documentedWorld, type Place, type World } from "../support/documented-world.ts";
import type { Pty } from "../support/pty.ts";
import { needs } from "../support/needs.ts";

const needed = await needs("linux", "podman", "sshd", "tmux", "zsh", "fish", "jq");

setDefaultTimeout(60_000);

/** What a test cannot do; each must still be in the documentation. */
const NOT_RUN: Readonly<Record<string, string>> = {
  "mkdir -p ~/.local/bin ~/.local/share/man/man1 && cp dist/buddy ~/.local/bin/ && cp docs/buddy.1 ~/.local/share/man/man1/":
    "writes to a home; the build and the man page have tests of their own",
  "scp ~/.local/bin/buddy jump: && ssh -t jump ./buddy":
    "writes to a home; test/journeys/jump-host.test.ts does the same",
  "buddy update": "replaces the binary; test/cli/commands/update.test.ts does that to another one",
  "buddy update --check": "needs a release",
  "buddy update --rollback": "needs an earlier version",
  "buddy login openrouter": "needs a browser; test/auth/openrouter.test.ts is one",
  "buddy mcp login tickets": "needs a browser; test/journeys/mcp.test.ts is one",
  "buddy run": "needs a command; test/journeys/fleet.test.ts runs it",
  "buddy demo --yes --no-tmux": "writes to /tmp; test/journeys/demo.test.ts runs it and cleans up",
  "tmux -L buddy attach -t buddy-3f9a17c20b5e":
    "the name of one machine's session; test/journeys/demo.test.ts attaches",
};

/**
 * Commands on the checkout itself: the test run has done them, or they change files of it. What they name must exist.
 */
const DEVELOPMENT = /^(?:npx --yes bun@\S+ |npm |bun |\.\/dist\/buddy\b)/;

/** Words in capitals that stand for a value. */
const PLACEHOLDERS: Readonly<Record<string, string>> = {
  ID: "7b2f",
  PROFILE: "demo",
  VALUE: "uptime",
  CMD: "uptime",
  WHAT: "prod",
};

/** The exit code of `buddy policy shell` by the verdict that it prints first. */
const VERDICT_CODES: Readonly<Record<string, number>> = { allow: 0, ask: 3, block: 4 };

/** The changelog tells of the past, too. */
const MANUALS = PAGES.filter((name) => name !== "CHANGELOG.md");
const found: Found[] = [
  ...MANUALS.flatMap((name) => blockCommands(name)),
  ...MANUALS.flatMap((name) => spans(name)).filter(({ text }) =>
    /^(?:buddy(?: |$)|brew |tmux -|(?:bun|npm) (?:run|test|install|scripts|bench)\b)/.test(text),
  ),
  ...(await helpCommands()),
];
const commands = [...new Map(found.map((one) => [one.text, one])).values()];
const development = commands.filter(({ text }) => DEVELOPMENT.test(text));
const runnable = commands.filter((one) => !development.includes(one) && !(one.text in NOT_RUN));

// sshd, containers and setsid as on Linux.
needed.describe("every command of the documentation", () => {
  let world: World;
  beforeAll(async () => {
    world = await documentedWorld();
  });
  afterAll(() => world[Symbol.asyncDispose]());

  test.each(runnable.flatMap(({ place, text }) => variants(text).map((line) => [line, place] as const)))(
    "%s (%s)",
    async (line) => {
      await using place = world.place({ configured: !/^buddy (?:init|login|logout)\b/.test(line) });
      if (line === "buddy login --check") await place.run("buddy login");
      if (/^buddy(?: --(?:ssh|container|on|model) \S+)*(?: resume\b.*| "[^"]*")?$/.test(line))
        await openAndLeave(place, line);
      else {
        const shell = /completion (zsh|fish)/.exec(line)?.[1];
        const { code, output } = await place.run(
          shell === "zsh" ? `autoload -U compinit; compinit -u; ${line}` : line,
          {
            ...(shell === undefined ? {} : { shell: [shell, "-c"] }),
            // A command that is only named in running text gets what it would read.
            stdin: "is nginx running?\n",
          },
        );
        const expected = line.startsWith("buddy policy shell")
          ? (VERDICT_CODES[/^\w+(?=: )/.exec(output)?.[0] ?? ""] ?? -1)
          : 0;
        expect({ code, output }).toEqual({ code: expected, output: expect.not.stringContaining("inside buddy") });
      }
    },
  );
});

describe("a command of the documentation", () => {
  test.each(development.map(({ text, place }) => [text, place] as const))("%s (%s)", (line) => {
    for (const part of line.split(" && ")) expect([part, missing(part)]).toEqual([part, undefined]);
  });

  test("the list of what is not run has no stale entry", () => {
    const known = new Set(commands.map(({ text }) => text));
    expect(Object.keys(NOT_RUN).filter((text) => !known.has(text))).toEqual([]);
  });

  test("stands in a block that says so", () => {
    const unmarked = PAGES.flatMap((name) => blocks(name)).filter(
      ({ language, text }) => language === "" && /^(?:\$ )?(?:buddy(?! \d)|bun|npm|npx|curl)\b/m.test(text),
    );
    expect(unmarked.map(({ place }) => place)).toEqual([]);
  });
});

/** `a|b [X]` written out: each alternative, with and without what may be left out, values for placeholders. */
function variants(text: string): string[] {
  if (/ \| |'|"/.test(text)) return [text];
  const optional = /\[([^\]]+)\]/.exec(text);
  if (optional !== null)
    return ["", optional[1] ?? ""].flatMap((part) => variants(text.replace(optional[0], part).trim()));
  const choice = /\S*\w\|\w\S*/.exec(text)?.[0];
  if (choice !== undefined) return choice.split("|").flatMap((one) => variants(text.replace(choice, one)));
  return [text.replace(/\b[A-Z]{2,}\b/g, (word) => PLACEHOLDERS[word] ?? word)];
}

async function openAndLeave(place: Place, line: string): Promise<void> {
  await using repl = place.terminal(line);
  await seen(repl, /% context (?:\([^)]*\))? ?>|Yes \/ /);
  // The directory brings skills, which have to be trusted first.
  if (repl.screen().includes("Yes / ")) repl.type("y");
  await seen(repl, /% context (?:\([^)]*\))? ?>/);
  // With a prompt of its own it has work to finish first.
  if (line.endsWith('"')) await seen(repl, /Everything is in order/);
  repl.type("/quit\r");
  expect(await repl.exited).toBe(0);
}

/** Waits for the words, or for an end that came before them. */
async function seen(pty: Pty, words: RegExp): Promise<void> {
  let code: number | undefined;
  void pty.exited.then((ended) => (code = ended));
  const screen = await pty.until((text) => words.test(text) || code !== undefined, 30_000);
  expect(screen).toMatch(words);
}

/** What a command on the checkout names that is not there. */
function missing(part: string): string | undefined {
  const words = part.replace(/^npx --yes bun@(\S+)/, (_, version: string) =>
    version === packageJson.devDependencies.bun ? "bun" : `the Bun of another version, ${version},`,
  );
  if (/^bun install --frozen-lockfile$/.test(words) || words.startsWith("./dist/buddy")) return undefined;
  if (/^npm test$/.test(words) || /^bun test$/.test(words)) return undefined;
  const script = /^(?:bun|npm) run (?:--silent )?([\w:-]+)/.exec(words)?.[1];
  if (script !== undefined) return script in packageJson.scripts ? undefined : `script ${script}`;
  const path = /^bun (?:test )?((?:test|bench|scripts)\/[^\s<]*)/.exec(words)?.[1];
  return path !== undefined && existsSync(join(ROOT, path)) ? undefined : part;
}

describe("what the documentation names is there", () => {
  test.each(PAGES)("links of %s", (name) => {
    const broken = links(name).filter(({ text }) => {
      if (/^https?:/.test(text)) return false;
      const [path = "", anchor] = text.split("#");
      const file = path === "" ? name : join(dirname(name), path);
      return !existsSync(join(ROOT, file)) || (anchor !== undefined && !anchors(file).has(anchor));
    });
    expect(broken).toEqual([]);
  });

  test("every page of docs/ is in its table of contents", () => {
    const listed = new Set(links("docs/README.md").map(({ text }) => `docs/${text}`));
    const pages = PAGES.filter((name) => name.startsWith("docs/") && name !== "docs/README.md");
    expect(pages.filter((name) => !listed.has(name))).toEqual([]);
  });

  test("files of the repository", () => {
    const named = MANUALS.flatMap((name) => spans(name)).filter(({ text }) =>
      /^(?:src|test|scripts|templates|bench|docs)\/[\w./-]+$/.test(text),
    );
    expect(named.filter(({ text }) => !existsSync(join(ROOT, text)))).toEqual([]);
  });

  test("tools and their arguments", () => {
    const text = page("docs/tools.md");
    const unnamed = builtinSchemas().flatMap(({ name, parameters }) =>
      [name, ...Object.keys((parameters["properties"] as object | undefined) ?? {})].filter(
        (word) => !new RegExp(`(?<![\\w-])${word}(?![\\w-])`).test(text),
      ),
    );
    expect(unnamed).toEqual([]);
  });

  test("messages of the troubleshooting index", () => {
    const sources = [...new Bun.Glob("src/**/*.ts").scanSync(ROOT)].map((file) => page(file)).join("\n");
    const rows =
      page("docs/troubleshooting.md")
        .split("## Where")[0]
        ?.matchAll(/^\| (`[^|]*`) \|/gm) ?? [];
    const messages = [...rows].flatMap(([, cell = ""]) =>
      [...cell.matchAll(/`([^`]+)`/g)].map(([, text = ""]) => text),
    );
    expect(messages.length).toBeGreaterThan(15);
    const unknown = messages.filter((text) => !text.split(/\s*…,?\s*/).every((part) => sources.includes(part)));
    expect(unknown).toEqual([]);
  });

  test("flags", async () => {
    const known = new Set(["--help", "--version", "--", ...Object.keys(GLOBAL_ARGS).map((name) => `--${name}`)]);
    for (const command of Object.keys(COMMANDS))
      for (const name of Object.keys((await loadCommand(command)).args)) known.add(`--${name}`);
    // The page on the policy talks of other programs' flags.
    const named = ["README.md", ...PAGES.filter((name) => /^docs\/(?!policy)/.test(name))]
      .flatMap((name) => spans(name))
      .filter(({ text }) => /^--[a-z]/.test(text));
    expect(named.filter(({ text }) => !known.has(text.split(/[ =[]/)[0] ?? ""))).toEqual([]);
  });

  test("slash commands", () => {
    const named = ["README.md", ...PAGES.filter((name) => name.endsWith("/repl.md"))]
      .flatMap((name) => spans(name))
      .filter(({ text }) => /^\/[a-z?]+(?: |$)/.test(text) && !existsSync(text));
    expect(named.filter(({ text }) => findCommands(text.slice(1).split(" ")[0] ?? "").length !== 1)).toEqual([]);
  });

  test("environment variables", () => {
    const sources = [...new Bun.Glob("src/**/*.ts").scanSync(ROOT), "install.sh"];
    const code = sources.map((name) => readFileSync(join(ROOT, name), "utf8")).join("\n");
    const named = new Set(PAGES.flatMap((name) => page(name).match(/\b(?:BUDDY|AGENT)_[A-Z_]+\b/g) ?? []));
    expect([...named].filter((name) => !code.includes(name) && !code.includes(name.replace("AGENT", "BUDDY")))).toEqual(
      [],
    );
  });
});

describe("every example of", () => {
  const ofLanguage = (language: string) =>
    PAGES.flatMap((name) => blocks(name))
      .filter((block) => block.language === language)
      .map(({ place, text }) => [place, text] as const);

  test.each(ofLanguage("toml"))("a configuration is read without a warning: %s", async (_, text) => {
    using box = sandbox();
    const config = join(box.dir, "example.toml");
    writeFileSync(config, text, { mode: 0o600 });
    const { warnings } = await loadConfig({ flags: { config }, env: { HOME: box.home }, cwd: box.cwd });
    expect(warnings).toEqual([]);
  });

  test.each(ofLanguage("markdown"))("a skill is valid, and a command of one's own is read: %s", (place, text) => {
    const { name } = Bun.YAML.parse(text.split("---")[1] ?? "") as { name?: string };
    if (name !== undefined) expect([place, ...parseSkill(text, name).problems]).toEqual([place]);
    else {
      using box = sandbox();
      box.write("cwd/example.md", text);
      expect(customCommands(box.cwd)).toMatchObject({ commands: [{ name: "example" }], problems: [] });
    }
  });

  test.each(ofLanguage("json"))("JSON is JSON: %s", (_, text) => {
    for (const line of text.startsWith("{\n") ? [text] : text.split("\n")) JSON.parse(line);
  });
});
