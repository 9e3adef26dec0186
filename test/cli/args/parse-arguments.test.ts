/** The strict parser: what reaches a command, and what is refused. */
import { describe, expect, test } from "bun:test";
import { GLOBAL_ARGS, type GlobalOptions, readGlobalOptions } from "../../../src/cli/args/options.ts";
import { judgeTokens, takeCommand, tokenize } from "../../../src/cli/args/parse-arguments.ts";
import type { Args } from "../../../src/cli/command.ts";
import { command as exec } from "../../../src/cli/commands/exec/command.ts";
import { BuddyError } from "../../../src/lib/errors.ts";
import { naming } from "../../support/errors.ts";

interface Parsed {
  readonly globals: GlobalOptions;
  readonly own: Record<string, string | true>;
  readonly positionals: readonly string[];
}

function parse(line: readonly string[], command = "exec", args: Args = exec.args): Parsed {
  const tokens = tokenize(line, { ...GLOBAL_ARGS, ...args });
  const taken = takeCommand(tokens);
  expect(taken.name ?? "").toBe(command);
  const judged = judgeTokens(taken.rest, command, args, "/start");
  return {
    globals: readGlobalOptions(judged.globals),
    own: Object.fromEntries(judged.own),
    positionals: judged.positionals,
  };
}

function refusal(line: readonly string[], command = "exec", args: Args = exec.args): string {
  try {
    parse(line, command, args);
  } catch (error) {
    expect(error).toBeInstanceOf(BuddyError);
    expect((error as BuddyError).code).toBe("usage");
    return (error as BuddyError).message;
  }
  throw new Error(`accepted: ${line.join(" ")}`);
}

describe("flags", () => {
  test("every global option has its place in GlobalOptions", () => {
    const line =
      "exec --config a.toml -m x --base-url http://h/v1 --api-key k --ssh u@h:22 --container c --tmux=s " +
      "-C /srv --dry-run --approve 10m --no-color -v";
    const { globals } = parse(line.split(" "));
    expect(globals).toEqual({
      config: "/start/a.toml",
      model: "x",
      baseUrl: "http://h/v1",
      apiKey: "k",
      ssh: "u@h:22",
      container: "c",
      tmux: "required",
      tmuxSession: "s",
      cd: "/srv",
      dryRun: true,
      approve: { kind: "duration", ms: 600_000 },
      color: false,
      quiet: false,
      verbose: true,
    });
    expect(parse(["exec"]).globals).toEqual({ tmux: "auto", dryRun: false, quiet: false, verbose: false });
    expect(parse(["exec", "--no-tmux"]).globals.tmux).toBe("never");
  });

  test("before or after the command, with = or a space, bundled or not", () => {
    for (const line of [
      ["-q", "-m", "x", "exec", "hi"],
      ["exec", "hi", "-q", "-mx"],
      ["-qm", "x", "exec", "hi"],
      ["exec", "-qm=x", "hi"],
      ["exec", "--quiet", "--model=x", "hi"],
      ["--model", "x", "exec", "--quiet", "--", "hi"],
    ]) {
      const { globals, positionals } = parse(line);
      expect({ line, quiet: globals.quiet, model: globals.model, positionals }).toEqual({
        line,
        quiet: true,
        model: "x",
        positionals: ["hi"],
      });
    }
  });

  test("the command's own flags; file names are made absolute where buddy was started", () => {
    const { own } = parse(["--json", "exec", "--output-schema", "s.json", "--timeout=5m", "--max-iterations", "3"]);
    expect(own).toEqual({ json: true, "output-schema": "/start/s.json", timeout: "5m", "max-iterations": "3" });
  });

  test("-- ends the options, - is a word", () => {
    expect(parse(["exec", "--", "--json"]).positionals).toEqual(["--json"]);
    expect(parse(["exec", "-"]).positionals).toEqual(["-"]);
    expect(parse(["exec", "--", "--"]).positionals).toEqual(["--"]);
    expect(parse(["exec", ""]).positionals).toEqual([""]);
  });

  test("a switch may be repeated", () => {
    expect(parse(["-v", "exec", "-vv", "--verbose"]).globals.verbose).toBe(true);
  });

  test.each([
    [
      ["exec", "--modle", "x"],
      ["--modle", "--model?"],
    ],
    [
      ["exec", "--jsno"],
      ["--jsno", "--json?"],
    ],
    [["exec", "--zzzzzz"], ["--zzzzzz"]],
    [["exec", "-z"], ["-z"]],
    [["exec", "-qz"], ["-z"]],
    [["exec", "--model"], ["--model PROFILE-OR-MODEL"]],
    [["exec", "-m"], ["-m PROFILE-OR-MODEL"]],
    [["exec", "--model", "--json"], ["--model PROFILE-OR-MODEL"]],
    [["exec", "--model="], ["--model PROFILE-OR-MODEL"]],
    [["exec", "--config", ""], ["--config PATH"]],
    [["exec", "--dry-run=false"], ["--dry-run"]],
    [["exec", "-m", "a", "--model", "b"], ["--model"]],
    [["exec", "--tmux=a", "--tmux"], ["--tmux"]],
    [
      ["exec", "--tmux", "--no-tmux"],
      ["--tmux", "--no-tmux"],
    ],
    [
      ["exec", "-qv"],
      ["--quiet", "--verbose"],
    ],
    [["exec", "a", "b"], ['"b"']],
    [
      ["exec", "--timeout", "0"],
      ["--timeout", "500ms", "24d", '"0"'],
    ],
    [
      ["exec", "--timeout", "soon"],
      ["--timeout", '"soon"'],
    ],
    [
      ["exec", "--timeout", "-5"],
      ["--timeout", '"-5"'],
    ],
    [
      ["exec", "--timeout", "100d"],
      ["--timeout", "24d", '"100d"'],
    ],
    [
      ["exec", "--max-iterations", "0"],
      ["--max-iterations", "1", '"0"'],
    ],
    [
      ["exec", "--max-iterations", "1.5"],
      ["--max-iterations", '"1.5"'],
    ],
    [
      ["exec", "--max-iterations", "ten"],
      ["--max-iterations", '"ten"'],
    ],
    [
      ["exec", "--approve", "maybe"],
      ["--approve", "ask", "all", "none"],
    ],
    [
      ["exec", "--approve", "0s"],
      ["--approve", "ask", "all", "none"],
    ],
    [
      ["exec", "--base-url", "localhost:80"],
      ["--base-url", '"localhost:80"'],
    ],
    [
      ["exec", "--base-url", "https://u:p@h"],
      ["--base-url", "password"],
    ],
    [
      ["exec", "--ssh", "a b"],
      ["--ssh", '"a b"'],
    ],
    [
      ["exec", "--ssh", "web1:99999"],
      ['"web1:99999"', '"99999"'],
    ],
    [
      ["exec", "--ssh", "web1:"],
      ['"web1:"', '""'],
    ],
    [
      ["exec", "--ssh=-oProxyCommand=x"],
      ["--ssh", '"-oProxyCommand=x"'],
    ],
    [
      ["exec", "--ssh", "user@"],
      ["--ssh", '"user@"'],
    ],
    [
      ["exec", "--ssh", "u@-oProxyCommand=x"],
      ["--ssh", '"u@-oProxyCommand=x"'],
    ],
    [
      ["exec", "--container=--privileged"],
      ["--container", '"--privileged"'],
    ],
    [
      ["exec", "--tmux=a.b"],
      ["--tmux", '"a.b"'],
    ],
    [
      ["exec", "--tmux=-x"],
      ["--tmux", '"-x"'],
    ],
  ])("%p is refused", (line, names) => expect(refusal(line)).toMatch(naming(...names)));
});

describe("--tmux takes a word only when the command has no use for it", () => {
  test.each([
    [["exec", "--tmux", "uptime"], undefined, ["uptime"]],
    [["exec", "--tmux", "work", "list files"], "work", ["list files"]],
    [["exec", "list files", "--tmux", "work"], "work", ["list files"]],
    [["exec", "--tmux", "list files"], undefined, ["list files"]],
    [["exec", "--tmux=work"], "work", []],
    [["exec", "--tmux=", "hi"], undefined, ["hi"]],
    [["exec", "--tmux", "--", "work"], undefined, ["work"]],
    [["exec", "--tmux", "-q", "work"], undefined, ["work"]],
    [["exec", "--tmux"], undefined, []],
    [["--tmux", "work", "exec"], "work", []],
    [["--tmux", "work", "exec", "hi"], "work", ["hi"]],
    [["--tmux", "exec", "hi"], undefined, ["hi"]],
  ])("%p → session %p, words %p", (line, session, words) => {
    const { globals, positionals } = parse(line);
    expect(globals.tmux).toBe("required");
    expect(globals.tmuxSession).toBe(session);
    expect(positionals).toEqual(words);
  });

  test("in the REPL every word after it is the session", () => {
    expect(parse(["--tmux", "work"], "", {}).globals.tmuxSession).toBe("work");
    expect(parse(["--tmux"], "", {}).globals.tmuxSession).toBeUndefined();
  });
});

describe("positionals", () => {
  const args: Args = {
    kind: { type: "positional", choices: ["bash", "zsh"] },
    value: { type: "positional", required: false },
  };
  test("are counted, and checked where only some words are meant", () => {
    expect(parse(["policy", "bash", "x"], "policy", args).positionals).toEqual(["bash", "x"]);
    expect(refusal(["policy"], "policy", args)).toMatch(naming("buddy policy", "bash|zsh"));
    expect(refusal(["policy", "bsah"], "policy", args)).toMatch(naming('"bsah"', "bash", "zsh"));
    expect(refusal(["init", "x"], "init", {})).toMatch(naming('"x"'));
    expect(refusal(["resume"], "resume", { id: { type: "positional" } })).toMatch(naming("buddy resume", "ID"));
  });
});
