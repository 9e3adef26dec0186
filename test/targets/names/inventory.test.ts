/** Names from an Ansible inventory: hosts, groups and what Ansible knows of their connections. */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseInventory, readInventory } from "../../../src/targets/names/inventory.ts";
import { resolvePlaces } from "../../../src/targets/names/resolve-places.ts";
import { labelOfPath } from "../../../src/targets/place.ts";
import { needs } from "../../support/needs.ts";
import { temporaryDirectory } from "../../support/temporary.ts";

setDefaultTimeout(60_000);

const dir = temporaryDirectory();

const LISTED = {
  _meta: {
    hostvars: {
      web1: { ansible_host: "10.0.0.1", ansible_user: "deploy", ansible_port: 2222 },
      web2: {},
      box: { ansible_connection: "community.docker.docker" },
      six: { ansible_host: "fd00::1", ansible_port: 22 },
      here: { ansible_connection: "local" },
    },
  },
  all: { children: ["ungrouped", "prod"] },
  prod: { children: ["web", "loop"], hosts: ["six"] },
  loop: { children: ["prod"] },
  web: { hosts: ["web1", "web2"] },
  ungrouped: { hosts: ["box", "here", "only-in-group"] },
};

describe("what ansible-inventory lists", () => {
  const { hosts, groups } = parseInventory(LISTED);

  test.each([
    ["web1", "ssh deploy@10.0.0.1:2222"],
    ["web2", "ssh web2"],
    ["box", "container box"],
    ["six", "ssh [fd00::1]:22"],
    ["here", "local"],
    ["only-in-group", "ssh only-in-group"],
  ])("%s is reached as %s", (name, label) => expect(labelOfPath(hosts.get(name)?.path ?? [])).toBe(label));

  test("groups hold the hosts of their children, also where they include each other", () => {
    expect(groups.get("prod")?.toSorted()).toEqual(["six", "web1", "web2"]);
    expect(hosts.get("web1")?.groups.toSorted()).toEqual(["loop", "prod", "web"]);
  });

  test.each([[null], [[]], ["text"], [{ web: { hosts: "web1" } }]])("%j has no hosts, and is not a crash", (listed) =>
    expect(parseInventory(listed).hosts.size).toBe(0),
  );
});

const real = await needs("ansible");

real.describe("a real inventory", () => {
  const file = join(dir, "hosts.ini");
  writeFileSync(
    file,
    "[web]\nweb[01:03] ansible_user=deploy\n[db]\ndb1 ansible_host=10.0.0.9\n[prod:children]\nweb\ndb\n",
  );
  const names = async (what: string) => {
    const sources = { targets: { db: { ssh: ["own"] } }, inventory: file, home: dir, cwd: dir };
    return (await resolvePlaces(what, sources)).map(({ name, path }) => `${name} ${labelOfPath(path)}`);
  };

  real.test("groups, hosts and globs; a name of the configuration comes first", async () => {
    expect(await names("web")).toEqual(["web01 ssh deploy@web01", "web02 ssh deploy@web02", "web03 ssh deploy@web03"]);
    expect(await names("prod,web02,db,db?")).toEqual([
      "web01 ssh deploy@web01",
      "web02 ssh deploy@web02",
      "web03 ssh deploy@web03",
      "db1 ssh 10.0.0.9",
      "db ssh own",
    ]);
  });

  real.test(
    "a pattern of ~/.ssh/config does not take a name of the inventory away, a host named there does",
    async () => {
      mkdirSync(join(dir, ".ssh"), { recursive: true });
      writeFileSync(join(dir, ".ssh/config"), "Host w* p*\n  User other\nHost db1\n");
      try {
        expect(await names("prod,win1")).toEqual([
          "web01 ssh deploy@web01",
          "web02 ssh deploy@web02",
          "web03 ssh deploy@web03",
          "db1 ssh 10.0.0.9",
          "win1 ssh win1",
        ]);
        expect(await names("db1")).toEqual(["db1 ssh db1"]);
      } finally {
        rmSync(join(dir, ".ssh"), { recursive: true });
      }
    },
  );

  real.test("one that ansible cannot read is an error with what it said", async () => {
    writeFileSync(join(dir, "broken.yml"), "all: [\n");
    await expect(readInventory(join(dir, "broken.yml"))).rejects.toMatchObject({ code: "config" });
  });
});

test("an inventory that is missing, or ansible that is, is named; other names do not need it", async () => {
  const inventory = join(dir, "missing.ini");
  const sources = { targets: { db: { ssh: ["own"] } }, inventory, home: dir, cwd: dir };
  expect((await resolvePlaces("db", sources)).length).toBe(1);
  await expect(resolvePlaces("web", sources)).rejects.toMatchObject({
    code: "config",
    message: expect.stringContaining("does not exist"),
  });
  const before = process.env["PATH"];
  process.env["PATH"] = dir;
  try {
    writeFileSync(inventory, "web1\n");
    await expect(resolvePlaces("web", sources)).rejects.toMatchObject({
      message: expect.stringContaining("ansible-inventory is not installed"),
    });
  } finally {
    process.env["PATH"] = before;
  }
});
