/** The import rules of the code base, checked from the sources. */
import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { basename, dirname } from "node:path";
import { importsOf, sourceFiles, sourceText, staticallyReachable } from "./support/imports.ts";

/** Folder of src → what its files may import. `types` are erased at build time and so bind less. */
const RULES: Record<string, { values: readonly string[]; types?: readonly string[] }> = {
  lib: { values: [] },
  policy: { values: ["lib"] },
  model: { values: ["lib"] },
  targets: { values: ["lib"] },
  config: { values: ["lib"] },
  auth: { values: ["lib"] },
  changes: { values: ["lib"] },
  demo: { values: ["lib", "model"] },
  tools: { values: ["lib", "targets"], types: ["policy"] },
  agent: { values: ["lib", "model", "tools", "policy"], types: ["targets", "audit"] },
  audit: { values: ["lib"] },
  session: { values: ["lib", "agent/events.ts", "policy/screen/terminal-text.ts"], types: ["agent", "model"] },
  extend: { values: ["lib", "tools", "config/toml.ts", "targets/connection/exit-cleanup.ts"], types: ["config"] },
  ui: {
    values: ["lib", "agent/events.ts", "policy/screen/terminal-text.ts"],
    types: ["agent", "policy", "model", "tools", "session", "targets"],
  },
};

/** Packages that cost time or memory at start-up: loaded by `import()` where they are used. */
const HEAVY = ["openai", "zod", "cheerio", "unbash", "@clack/prompts", "smol-toml", "@modelcontextprotocol/client"];

function isHeavy(specifier: string): boolean {
  return HEAVY.some((name) => specifier === name || specifier.startsWith(`${name}/`));
}

const files = sourceFiles("src/**/*.ts");

describe("imports", () => {
  test("every folder of src imports only what its rule allows", () => {
    const wrong: string[] = [];
    for (const file of files) {
      const folder = file.split("/")[1] ?? "";
      const rule = RULES[folder];
      if (rule === undefined) continue;
      for (const { to, kind } of importsOf(file)) {
        if (!to.startsWith("src/")) continue;
        const allowed = [folder, ...rule.values, ...(kind === "type" ? (rule.types ?? []) : [])];
        if (!allowed.some((part) => to === `src/${part}` || to.startsWith(`src/${part}/`))) {
          wrong.push(`${file} imports ${to} (${kind}); ${folder} may import: ${allowed.join(", ")}`);
        }
      }
    }
    expect(wrong).toEqual([]);
  });

  test("a folder without a rule is the command line, what it is composed in, or the entry", () => {
    const folders = new Set(files.map((file) => file.split("/")[1] ?? ""));
    const unknown = [...folders].filter((folder) => !(folder in RULES) && !["app", "cli", "main.ts"].includes(folder));
    expect(unknown).toEqual([]);
  });

  test("relative imports carry their extension and resolve", () => {
    const known = new Set([...files, ...sourceFiles("{templates,docs,test,scripts,bench}/**/*"), "package.json"]);
    const wrong: string[] = [];
    for (const file of files) {
      for (const { to, specifier } of importsOf(file)) {
        if (specifier.startsWith(".") && !known.has(to)) wrong.push(`${file} imports ${specifier}`);
      }
    }
    expect(wrong).toEqual([]);
  });

  test("product code imports nothing from test, scripts or bench", () => {
    const wrong = files.flatMap((file) =>
      importsOf(file)
        .filter(({ to }) => /^(test|scripts|bench)\//.test(to))
        .map(({ to }) => `${file} imports ${to}`),
    );
    expect(wrong).toEqual([]);
  });
});

// The three rules of AGENTS.md, “Start-up”.

describe("start-up 1: an answer loads no package, and of the runtime only node:fs and node:path", () => {
  test.each(["src/main.ts", "src/cli/run-command-line.ts", "src/cli/commands/exec/run-exec.ts", "src/session/log.ts"])(
    "%s",
    (file) => {
      const loaded = [...staticallyReachable(file)].filter(
        ([to, path]) =>
          !/^(src|templates)\/|^package\.json$|^node:(fs|path)$/.test(to) &&
          // Run while the program is bundled.
          !path.includes("src/tools/schemas.ts"),
      );
      expect(loaded.map(([, path]) => path.join(" → "))).toEqual([]);
    },
  );
});

test("start-up 2: what is loaded with src/main.ts does not touch process.stdout or process.stdin", () => {
  const touching = [...staticallyReachable("src/main.ts").keys()].filter(
    (file) =>
      file.startsWith("src/") &&
      file.endsWith(".ts") &&
      /process\.std(out|in)\b/.test(sourceText(file).replace(/\/\/.*$/gm, "")),
  );
  expect(touching).toEqual([]);
});

/** What an answer of `buddy exec` does not need before its request leaves, by the moment at which it is loaded. */
const LATER: Readonly<Record<string, readonly string[]>> = {
  "with the first request, the one that is spoken": [
    "src/model/protocols/anthropic.ts",
    "src/model/protocols/completions.ts",
    "src/model/protocols/responses.ts",
  ],
  "with an error": [
    "src/model/adjustments.ts",
    "src/model/error-rows.ts",
    "src/model/explain.ts",
    "src/model/http/retry.ts",
    "src/app/model/first-model.ts",
    "src/cli/report-error.ts",
  ],
  "with a configuration file": [
    "src/config/create.ts",
    "src/config/read-settings.ts",
    "src/config/toml.ts",
    "src/config/trust.ts",
    "src/config/value-schemas.ts",
  ],
  "while the answer is awaited": [
    "src/model/http/answer.ts",
    "src/model/list-models.ts",
    "src/session/log.ts",
    "src/session/session-lock.ts",
    "src/session/store.ts",
    "src/ui/exec-output/print.ts",
  ],
  "with a call of a tool": [
    "src/agent/calls/begin-call.ts",
    "src/agent/permit/permit.ts",
    "src/audit/audit-log.ts",
    "src/changes/change-store.ts",
    "src/policy/shell/judge.ts",
    "src/targets/open.ts",
    "src/tools/builtin.ts",
  ],
  "when the window is full": ["src/agent/compact.ts"],
  "where there are several machines": ["src/app/machines/lazy-fleet.ts", "src/agent/fleet/run-on-machines.ts"],
};

describe("start-up 3: only what the request needs is loaded before it leaves", () => {
  const linked = new Map(
    ["src/cli/run-command-line.ts", "src/cli/commands/exec/command.ts", "src/cli/commands/exec/run-exec.ts"]
      .flatMap((entry) => [...staticallyReachable(entry)])
      // Run while the program is bundled.
      .filter(([, path]) => !path.includes("src/tools/schemas.ts")),
  );

  test.each(Object.entries(LATER))("loaded later: %s", (_, modules) => {
    expect(modules.filter((file) => !files.includes(file))).toEqual([]);
    expect(modules.flatMap((file) => linked.get(file)?.join(" → ") ?? [])).toEqual([]);
  });

  test("what prints the bare answer links nothing that only a terminal or a note needs", () => {
    const printing = [...staticallyReachable("src/ui/exec-output/print.ts").keys()].filter((file) =>
      /^src\/(ui|policy)\//.test(file),
    );
    expect(printing).toEqual(["src/ui/exec-output/print.ts"]);
  });

  test("the code that is linked does not grow unseen", () => {
    const own = [...linked.keys()].filter((file) => file.startsWith("src/"));
    const bytes = own.reduce((sum, file) => sum + sourceText(file).length, 0);
    // What a start does not use is imported where it is used.
    expect(Math.round(bytes / 1000)).toBeLessThanOrEqual(680);
  });
});

describe("commands", () => {
  for (const file of sourceFiles("src/cli/commands/*/command.ts")) {
    test(`${basename(dirname(file))} can be asked for its help without loading a heavy package`, () => {
      const loaded = [...staticallyReachable(file)].filter(([to]) => isHeavy(to));
      expect(loaded.map(([, path]) => path.join(" → "))).toEqual([]);
    });
  }
});

describe("house style", () => {
  test("stderr gets its lines through lib/log.ts: console.error paints them red", () => {
    expect(files.filter((file) => /\bconsole\.(error|warn)\b[^ ]/.test(sourceText(file)))).toEqual([]);
    const past = files.filter((file) => /\bstderrLine\b/.test(sourceText(file)));
    expect(past).toEqual(["src/lib/log.ts", "src/lib/terminal.ts"]);
  });

  test("each file opens with a sentence that says what it is for", () => {
    const silent = files.filter((file) => !/^(#!.*\n)?\/\*\*\s/.test(sourceText(file)));
    expect(silent).toEqual([]);
  });

  test("the map of a folder names each of its files", () => {
    const unnamed = [...files, ...sourceFiles("test/support/*.ts")].filter((file) => {
      const map = `${dirname(file)}/README.md`;
      return existsSync(map) && !readFileSync(map, "utf8").includes(basename(file, ".ts"));
    });
    expect(unnamed).toEqual([]);
  });

  test("a folder of more than a dozen files has a map", () => {
    const folders = Map.groupBy([...files, ...sourceFiles("test/support/*.ts")], (file) => dirname(file));
    const without = [...folders].filter(([folder, held]) => held.length > 12 && !existsSync(`${folder}/README.md`));
    expect(without.map(([folder]) => folder)).toEqual([]);
  });

  test("comments stay within 120 columns", () => {
    const wide = files.flatMap((file) =>
      sourceText(file)
        .split("\n")
        .filter((line) => line.length > 120 && /^\s*(\/\/|\/?\*)/.test(line))
        .map((line) => `${file}: ${line}`),
    );
    expect(wide).toEqual([]);
  });

  test("every child is started by lib/start-child.ts, which keeps buddy's keys from it", () => {
    const elsewhere = files.filter(
      (file) => file !== "src/lib/start-child.ts" && /\bBun\.(spawn|\$)|child_process/.test(sourceText(file)),
    );
    expect(elsewhere).toEqual([]);
  });

  test("files are in kebab-case", () => {
    const odd = files.filter((file) => !/^[a-z0-9]+(-[a-z0-9]+)*(\.d)?\.ts$/.test(basename(file)));
    expect(odd).toEqual([]);
  });
});
