/** From words of an operator to places: names, groups, globs, ranges, lists and files. */
import { afterAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  knownNames,
  type PlaceSources,
  resolvePlaces,
  withKnownNames,
} from "../../../src/targets/names/resolve-places.ts";
import { labelOfPath, placeOf } from "../../../src/targets/place.ts";
import { needs } from "../../support/needs.ts";
import { ACCOUNT } from "../../support/processes.ts";
import type { NamedTarget } from "../../../src/targets/names/make-places.ts";
import { temporaryDirectory } from "../../support/temporary.ts";

const home = temporaryDirectory();
mkdirSync(join(home, ".ssh"));
writeFileSync(
  join(home, ".ssh/config"),
  "Include extra\nHost web1 web2\n  User deploy\nHost db-* fe80::*\n  User pg\nHost 2001:db8::7 fe80::1%eth0\nHost *\n  ServerAliveInterval 5\n",
);
writeFileSync(join(home, ".ssh/extra"), 'Host "jump" !bad\n  Port 2222\n');

const TARGETS: Record<string, NamedTarget> = {
  web: { ssh: ["web1", "deploy@web[2-3]"] },
  pg: { ssh: ["db1"], inner: [{ kind: "container", name: "postgres" }], cd: "/var/lib" },
  api: { inner: [{ kind: "via", argv: ["kubectl", "exec", "-i", "api", "--"] }] },
  site: { cd: "/srv/site" },
  prod: { include: ["web", "pg", "api"] },
  all: { include: ["prod", "jump"] },
};

function sources(more: Partial<PlaceSources> = {}): PlaceSources {
  return { targets: TARGETS, home, cwd: home, ...more };
}

async function names(what: string, more?: Partial<PlaceSources>): Promise<string[]> {
  return (await resolvePlaces(what, sources(more))).map(({ name }) => name);
}

async function problem(what: string, more?: Partial<PlaceSources>): Promise<{ code: string; text: string }> {
  const error = await resolvePlaces(what, sources(more)).then(
    (found) => ({ code: "none", message: JSON.stringify(found), hint: "" }),
    (thrown: { code: string; message: string; hint?: string }) => thrown,
  );
  return { code: error.code, text: `${error.message}\n${error.hint ?? ""}` };
}

(await needs("sshd")).test("a host written with and without its user or port was two machines", async () => {
  const places = await resolvePlaces(`web1,${ACCOUNT}@web1,web1:22,other@web1`, sources());
  expect(places.map(({ path }) => path)).toEqual([
    [{ kind: "ssh", destination: "web1" }],
    [{ kind: "ssh", destination: "other@web1" }],
  ]);
});

describe("what is written, and the machines meant", () => {
  test.each([
    ["pg", ["pg"]],
    ["web", ["web1", "web2", "web3"]],
    ["prod", ["web1", "web2", "web3", "pg", "api"]],
    ["all", ["web1", "web2", "web3", "pg", "api", "jump"]],
    ["web1", ["web1"]],
    ["root@web1", ["web1"]],
    ["db-7", ["db-7"]],
    ["2001:db8::7", ["2001:db8::7"]],
    ["root@[2001:db8::7]:2222", ["2001:db8::7"]],
    ["fe80::1%eth0,[fe80::2%eth0]", ["fe80::1%eth0", "fe80::2%eth0"]],
    ["local", ["local"]],
    ["site", ["site"]],
    ["p*", ["pg", "web1", "web2", "web3", "api"]],
    ["db-[1-2],web[1-2]*", ["db-1", "db-2", "web1", "web2"]],
    ["web?", ["web1", "web2", "web3"]],
    ["web3", ["web3"]],
    ["web[1-2]", ["web1", "web2"]],
    ["db-[08-10]", ["db-08", "db-09", "db-10"]],
    ["db-[1,3][a-b]", ["db-1a", "db-1b", "db-3a", "db-3b"]],
    ["pg, jump,pg", ["pg", "jump"]],
  ])("%s", async (what, expected) => expect(await names(what)).toEqual(expected));

  test("one machine under two names is one place, known by both", async () => {
    const places = await resolvePlaces("web1,web", sources());
    expect(places.map(({ name }) => name)).toEqual(["web1", "web2", "web3"]);
    expect(places[0]?.names).toEqual(expect.arrayContaining(["web1", "web", "prod", "all"]));
  });

  test("another user or path to a machine is another place with a name of its own", async () => {
    expect(await names("web1,other@web1")).toEqual(["web1", "other@web1"]);
  });

  test("the path leads inwards, and the label shows all of it", async () => {
    const [pg] = await resolvePlaces("pg", sources());
    expect(labelOfPath(pg?.path ?? [])).toBe("container postgres on ssh db1");
    expect(pg).toMatchObject({ cd: "/var/lib" });
  });
});

describe("Host lines of ~/.ssh/config, as ssh reads them", () => {
  const other = mkdtempSync(join(tmpdir(), "buddy-names-"));
  mkdirSync(join(other, ".ssh/conf d"), { recursive: true });
  writeFileSync(
    join(other, ".ssh/config"),
    [
      "Include \"conf d/*.conf\" 'conf d/single' # more",
      "Host one \"two\" 'three' # four five",
      "  HostName 127.0.0.1",
      "host=six",
      "Host = seven",
      "Host app* !app-old !app-?x",
      "Host gone !gone",
      "Host #eight",
      "Host * !nine",
      "Match host ten",
    ].join("\r\n"),
  );
  writeFileSync(join(other, ".ssh/conf d/a.conf"), "Host eleven\nInclude ~/.ssh/config\n");
  writeFileSync(join(other, ".ssh/conf d/single"), "\tHost\ttwelve\n");
  afterAll(() => rmSync(other, { recursive: true, force: true }));
  const there = { targets: {}, home: other };

  test("the names", () =>
    expect(knownNames(there)).toEqual(["local", "eleven", "twelve", "one", "two", "three", "six", "seven"]));

  test.each([["app1"], ["root@app1"]])("%s is covered by a pattern", async (what) =>
    expect(await names(what, there)).toEqual(["app1"]),
  );

  test.each([["app-old"], ["app-1x"], ["gone"], ["four"], ["eight"], ["nine"], ["ten"], ["#"], ["!one"], ["!t*"]])(
    "%s is not known",
    async (what) => expect((await problem(what, there)).code).toBe("usage"),
  );

  test("a glob with a user takes the hosts of that file", async () => {
    const places = await resolvePlaces("root@t*", sources(there));
    expect(places.map(({ path }) => labelOfPath(path))).toEqual(["ssh root@twelve", "ssh root@two", "ssh root@three"]);
  });
});

describe("lists", () => {
  test("a file names one machine a line; what is not a name is an ssh destination", async () => {
    writeFileSync(join(home, "hosts"), "\uFEFF# fleet\r\nweb1\r\n\n10.0.0.[1-2]  # two\npg\nroot@[::1]:2222\n");
    expect(await names("@hosts")).toEqual(["web1", "10.0.0.1", "10.0.0.2", "pg", "::1"]);
    expect(await names("@~/hosts,jump")).toHaveLength(6);
  });

  test.each([["-"], ["@-"]])("%s reads standard input where it is free", async (what) => {
    expect(await names(what, { stdin: () => Promise.resolve("web1\nweb2\n") })).toEqual(["web1", "web2"]);
    expect((await problem(what)).code).toBe("usage");
  });

  test.each([
    ["@missing", /does not exist/],
    ["@empty", /names no machine/],
    ["@.", /not a file/],
    ["@", /name of the file is missing/],
    ["@wrong", /wrong line 2: .*more than one name/],
    ["@nested", /nested line 1: .*another list/],
    ["@option", /option line 1: .*dash/],
    ["@binary", /not a text file/],
  ])("%s is refused", async (what, why) => {
    writeFileSync(join(home, "empty"), "# nothing\n\n");
    writeFileSync(join(home, "wrong"), "web1\nweb1 web2\n");
    writeFileSync(join(home, "nested"), "@hosts\n");
    writeFileSync(join(home, "option"), "-oProxyCommand=x\n");
    writeFileSync(join(home, "binary"), "web1\0");
    const { code, text } = await problem(what);
    expect(code).toBe("usage");
    expect(text).toMatch(why);
  });
});

describe("mistakes", () => {
  test.each([
    ["prdo", /prod/],
    ["wbe1", /web1/],
    ["web9", /web1/],
    ["zzzzzz", /buddy targets/],
    ["pgg*", /pg/],
    ["web[3-1]", /larger/],
    ["web[1-", /bracket/],
    ["[web[1-3]]", /"\[web\[1-3\]\]".*nested/],
    ["web1]", /bracket/],
    ["web[]", /empty/],
    ["web[a-]", /"a-"/],
    ["web[1-99999]", /99999 machines/],
    ["web[1-100][1-100]", /10000 machines/],
    ["web[1-99999999999999999999]", /too long/],
    ["", /no machine/],
    [" , ", /no machine/],
    ["root@nowhere", /nowhere/],
    ["__proto__", /__proto__/],
  ])("%p names what is wrong", async (what, why) => {
    const { code, text } = await problem(what);
    expect(code).toBe("usage");
    expect(text).toMatch(why);
  });

  test("groups that include each other, are empty, or name what does not exist", async () => {
    const targets = {
      a: { include: ["b"] },
      b: { include: ["c"] },
      c: { include: ["a"] },
      none: { include: [] },
      bad: { include: ["nothing"] },
      file: { include: ["@hosts"] },
    };
    expect((await problem("a", { targets })).text).toContain("a → b → c → a");
    expect(await problem("none", { targets })).toMatchObject({
      code: "config",
      text: expect.stringContaining("empty"),
    });
    expect((await problem("bad", { targets })).text).toContain('"nothing"');
    expect((await problem("file", { targets })).code).toBe("config");
  });

  test("a glob in a group does not include the group itself", async () => {
    expect(await names("db", { targets: { db: { include: ["db*"] }, db1: { ssh: ["x"] } } })).toEqual(["db1"]);
  });
});

describe("no second name goes around a rule", () => {
  test.each([
    [{ ssh: "web1" }, ["web", "prod", "all"]],
    [{ ssh: "root@WEB1" }, ["web", "prod", "all"]],
    [{ ssh: "web1", container: "any" }, ["web", "prod", "all"]],
    [{ ssh: "db1", container: "postgres" }, ["pg", "prod", "all"]],
    [{ ssh: "db1" }, []],
    [{}, ["site"]],
  ])("%j has the names of targets and groups that lead to it", async (written, expected) => {
    const { names: known } = await withKnownNames(placeOf(written), sources());
    const groups = known.filter((name) => Object.hasOwn(TARGETS, name));
    expect(groups.toSorted()).toEqual(expected.toSorted());
  });

  test.each<[string, string[], string, boolean]>([
    ["what it names literally", ["web1", "x"], "x", true],
    ["a name that is nearly the machine's", ["nothing", "web-01"], "web-02", true],
    ["another name", ["nothing"], "web-02", false],
    ["a pattern without a match", ["stage-*"], "stage-7", true],
    ["another pattern", ["stage-*"], "web-02", false],
    ["a range that cannot be read", ["web-[1-"], "web-02", true],
    ["a list, which a group cannot have", ["@list"], "web-02", true],
    ["the group of an entry", ["inner"], "web-02", false],
  ])("a group that cannot be read may hold a machine: %s", async (_, include, ssh, isHeld) => {
    const targets = { bad: { include }, inner: { include: ["nothing"] } };
    const { names, unsure = [] } = await withKnownNames(placeOf({ ssh }), sources({ targets }));
    expect(names.includes("bad")).toBe(isHeld);
    expect(unsure.map(({ group }) => group).includes("bad")).toBe(isHeld);
  });

  test("what can be read of a group is in it for certain, also where groups include each other", async () => {
    const targets = {
      a: { include: ["b", "one"] },
      b: { include: ["a", "two", "nothing"] },
      one: { ssh: ["m1"] },
      two: { ssh: ["m2"] },
    };
    for (const ssh of ["m1", "m2"]) {
      const { names, unsure } = await withKnownNames(placeOf({ ssh }), sources({ targets }));
      expect({ known: names.includes("a") && names.includes("b"), unsure }).toEqual({ known: true, unsure: undefined });
    }
  });

  test("with an inventory that cannot be read a group may hold any machine", async () => {
    const broken = sources({ targets: { bad: { include: ["nothing"] } }, inventory: "/nowhere/hosts.ini" });
    expect((await withKnownNames(placeOf({ ssh: "x" }), broken)).unsure).toHaveLength(1);
  });
});

test("a machine of a target with several is known by the name it is shown with, unless two share it", async () => {
  const [web3] = await resolvePlaces("web3", sources());
  expect(labelOfPath(web3?.path ?? [])).toBe("ssh deploy@web3");
  const targets = { a: { ssh: ["ann@x[1-2]"] }, b: { ssh: ["bob@x[2-3]"] } };
  expect(await names("x1,x3", { targets })).toEqual(["x1", "x3"]);
  expect((await problem("x2", { targets })).code).toBe("usage");
});

test("a machine of two targets began in the directory of the one that was written last", async () => {
  const targets = {
    a: { ssh: ["x[1-2]"], cd: "/srv" },
    b: { ssh: ["x[2-3]"], cd: "/tmp" },
    c: { ssh: ["x[2-3]"], cd: "/tmp" },
  };
  const places = await resolvePlaces("x1,x2,x3", sources({ targets }));
  expect(places.map(({ cd }) => cd)).toEqual(["/srv", undefined, "/tmp"]);
});

test("the names that can be listed at once", () => {
  expect(knownNames(sources())).toEqual([
    "local",
    ...Object.keys(TARGETS),
    "web1",
    "web2",
    "web3",
    "jump",
    "2001:db8::7",
    "fe80::1%eth0",
  ]);
});
