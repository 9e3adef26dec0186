/** What completion offers, inside this process; the shells' side of it is in the journeys. */
import { expect, test } from "bun:test";
import { readFileSync, utimesSync } from "node:fs";
import { dirname, join } from "node:path";
import { Here } from "../../support/in-process.ts";
import { runHere } from "../../support/stdout.ts";

async function offered(...words: string[]): Promise<string[]> {
  const { code, stdout, stderr } = await runHere("__complete", ...words);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  return stdout.split("\n").flatMap((line) => (line === "" ? [] : [line.split("\t")[0] ?? ""]));
}

test("commands, flags, values, hosts, containers, profiles, sessions and files", async () => {
  await using here = new Here([{ text: "ok" }], {
    config: '[models.zebra-large]\napi_base_url = "http://127.0.0.1:1/v1"\nmodel = "z"\n[targets.quartz]\nssh = "x"\n',
  });
  here.write(
    "home/.ssh/config",
    "Host quokka-1 *.internal !no\n  User x\nInclude more/*\nInclude ~/.ssh/config\ninclude missing\n",
  );
  here.write("home/.ssh/more/a", 'host="quokka-2"\n');
  here.programs({ docker: "printf 'web-app\\tnginx\\nweb-db\\tpostgres\\n'" });
  await here.exec({ prompt: "fix it" });
  const [, id = ""] = await offered("resume", "");
  expect(id).toMatch(/^[0-9a-z]{4}(-[0-9a-z]{4}){3}$/);

  expect(await offered("se")).toEqual(["sessions"]);
  expect(await offered("help", "se")).toEqual(["sessions", "security"]);
  expect(await offered("help", "po")).toEqual(["policy"]);
  expect(await offered("logout", "zeb")).toEqual(["zebra-large"]);
  expect(await offered("trace", "summary", "x")).toEqual([":files"]);
  expect(await offered("exec", "--trace", "x")).toEqual([":files"]);
  expect(await offered("help", "exec", "")).toEqual([]);
  expect(await offered("exec", "--js")).toEqual(["--json"]);
  expect(await offered("--no-t")).toEqual(["--no-tmux"]);
  expect(await offered("-m", "zeb")).toEqual(["zebra-large"]);
  expect(await offered("exec", "--model=zeb")).toEqual(["--model=zebra-large"]);
  expect(await offered("login", "zeb")).toEqual(["zebra-large"]);
  expect(await offered("--ssh", "")).toEqual(["quokka-1", "quokka-2"]);
  expect(await offered("--container", "web")).toEqual(["web-app", "web-db"]);
  expect(await offered("--ssh=quokka-1", "--container", "")).toEqual([]);
  expect(await offered("--ssh", "deploy@qu")).toEqual(["deploy@quokka-1", "deploy@quokka-2"]);
  expect(await offered("--ssh=deploy@qu")).toEqual(["--ssh=deploy@quokka-1", "--ssh=deploy@quokka-2"]);
  expect(await offered("--on", "qu")).toEqual(["quartz", "quokka-1", "quokka-2"]);
  expect(await offered("exec", "--on=quartz,quo")).toEqual(["--on=quartz,quokka-1", "--on=quartz,quokka-2"]);
  expect(await offered("targets", "qua")).toEqual(["quartz"]);
  expect(await offered("--approve", "a")).toEqual(["ask", "all"]);
  expect(await offered("exec", "--resume", "la")).toEqual(["last"]);
  expect(await offered("sessions", "rm", id.slice(0, 4))).toEqual([id]);
  expect(await offered("sessions", "list", "")).toEqual([]);
  expect(await offered("sessions", "ex")).toEqual(["export"]);
  expect(await offered("completion", "f")).toEqual(["fish"]);
  expect(await offered("exec", "--output-schema", "x")).toEqual([":files"]);
  expect(await offered("exec", "--output-schema=x")).toEqual([":files"]);
  expect(await offered("-C", "x")).toEqual([":directories"]);
  expect(await offered("policy", "path", "/et")).toEqual([":files"]);
  expect(await offered("exec", "--timeout", "")).toEqual([]);
  expect(await offered("exec", "--", "--js")).toEqual([]);
  expect((await offered("")).includes("doctor")).toBe(true);
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
  here.programs({ "ansible-inventory": `cat '${directory}/listing'; echo >> '${directory}/asked'` });
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
