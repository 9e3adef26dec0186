/** What completion offers, inside this process; the shells' side of it is in the journeys. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync, utimesSync } from "node:fs";
import { dirname, join } from "node:path";
import { Here } from "../../support/in-process.ts";
import { runHere } from "../../support/stdout.ts";
import { quote } from "../../../src/lib/quote.ts";

async function offered(...words: string[]): Promise<string[]> {
  const { code, stdout, stderr } = await runHere("__complete", ...words);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  return stdout.split("\n").flatMap((line) => (line === "" ? [] : [line.split("\t")[0] ?? ""]));
}

describe("with machines, profiles, containers and a session", () => {
  let here: Here;
  beforeAll(async () => {
    here = new Here([{ text: "ok" }], {
      config:
        '[models.zebra-large]\napi_base_url = "http://127.0.0.1:1/v1"\nmodel = "z"\n[targets.quartz]\nssh = "x"\n',
    });
    here.write(
      "home/.ssh/config",
      "Host quokka-1 *.internal !no\n  User x\nInclude more/*\nInclude ~/.ssh/config\ninclude missing\n",
    );
    here.write("home/.ssh/more/a", 'host="quokka-2"\n');
    here.programs({ docker: "printf 'web-app\\tnginx\\nweb-db\\tpostgres\\n'" });
    await here.exec({ prompt: "fix it" });
  });
  afterAll(async () => await here[Symbol.asyncDispose]());

  test.each([
    [["se"], ["sessions"]],
    [
      ["help", "se"],
      ["sessions", "security"],
    ],
    [["help", "po"], ["policy"]],
    [["logout", "zeb"], ["zebra-large"]],
    [["trace", "summary", "x"], [":files"]],
    [["exec", "--trace", "x"], [":files"]],
    [["help", "exec", ""], []],
    [["exec", "--js"], ["--json"]],
    [["--no-t"], ["--no-tmux"]],
    [["-m", "zeb"], ["zebra-large"]],
    [["exec", "--model=zeb"], ["--model=zebra-large"]],
    [["login", "zeb"], ["zebra-large"]],
    [
      ["--ssh", ""],
      ["quokka-1", "quokka-2"],
    ],
    [
      ["--container", "web"],
      ["web-app", "web-db"],
    ],
    [["--ssh=quokka-1", "--container", ""], []],
    [
      ["--ssh", "deploy@qu"],
      ["deploy@quokka-1", "deploy@quokka-2"],
    ],
    [["--ssh=deploy@qu"], ["--ssh=deploy@quokka-1", "--ssh=deploy@quokka-2"]],
    [
      ["--on", "qu"],
      ["quartz", "quokka-1", "quokka-2"],
    ],
    [
      ["exec", "--on=quartz,quo"],
      ["--on=quartz,quokka-1", "--on=quartz,quokka-2"],
    ],
    [["targets", "qua"], ["quartz"]],
    [["targets", "local,qua"], ["local,quartz"]],
    [["--on", "quartz,deploy@quokka-2"], ["quartz,deploy@quokka-2"]],
    [["run", "--on", "@~/.ssh/mo"], ["@~/.ssh/more/"]],
    [["run", "--on", "quartz,@~/.ssh/more/"], ["quartz,@~/.ssh/more/a"]],
    [["run", "--on", "@no/such/"], []],
    [
      ["--approve", "a"],
      ["ask", "all"],
    ],
    [["exec", "--resume", "la"], ["last"]],
    [["sessions", "list", ""], []],
    [["sessions", "ex"], ["export"]],
    [["completion", "f"], ["fish"]],
    [["exec", "--output-schema", "x"], [":files"]],
    [["exec", "--output-schema=x"], [":files"]],
    [["-C", "x"], [":directories"]],
    [["policy", "path", "/et"], [":files"]],
    [["exec", "--timeout", ""], []],
    [["exec", "--", "--js"], []],
  ] as [string[], string[]][])("buddy %p: %p", async (words, candidates) => {
    expect(await offered(...words)).toEqual(candidates);
  });

  test("every command, where none is typed yet", async () => {
    expect(await offered("")).toContain("doctor");
  });

  test("a session by the beginning of its id", async () => {
    const [, id = ""] = await offered("resume", "");
    expect(id).toMatch(/^[0-9a-z]{4}(-[0-9a-z]{4}){3}$/);
    expect(await offered("sessions", "rm", id.slice(0, 4))).toEqual([id]);
  });
});

test("a docker that does not answer hides no container of podman", async () => {
  await using here = new Here();
  here.programs({ docker: "exit 1", podman: "printf 'mine\\timage\\n'" });
  expect(await offered("--container", "")).toEqual(["mine"]);
});

test("a broken configuration, no home and no engine offer nothing, quietly", async () => {
  await using here = new Here();
  here.write("home/.config/buddy/buddy.toml", "[agent");
  expect(await offered("-m", "")).toEqual([]);
  delete process.env.HOME;
  expect(await offered("--ssh", "")).toEqual([]);
  here.programs({}, { only: true });
  expect(await offered("--container", "")).toEqual([]);
});

test("names of the inventory: read once, then remembered until it changes", async () => {
  await using here = new Here([], { config: '[targets.quartz]\nssh = "x"\n[fleet]\ninventory = "hosts.ini"\n' });
  const directory = dirname(here.write("home/.config/buddy/hosts.ini", "listed by the program below\n"));
  const listing = (host: string) => JSON.stringify({ quarry: { hosts: [host] } });
  here.programs({ "ansible-inventory": `cat ${quote(directory)}/listing; echo >> ${quote(directory)}/asked` });
  const asked = () => readFileSync(join(directory, "asked"), "utf8").length;
  here.write("home/.config/buddy/listing", listing("quail-1"));
  expect(await offered("--on", "qua")).toEqual(["quartz", "quarry", "quail-1"]);
  expect(await offered("exec", "--on=quartz,quai")).toEqual(["--on=quartz,quail-1"]);
  expect(asked()).toBe(1);
  here.write("home/.config/buddy/listing", listing("quail-2"));
  utimesSync(join(directory, "hosts.ini"), new Date(), new Date(Date.now() + 5_000));
  expect(await offered("targets", "quai")).toEqual(["quail-2"]);
  here.programs({ "ansible-inventory": "exit 1" });
  expect(await offered("targets", "quai")).toEqual(["quail-2"]);
});
