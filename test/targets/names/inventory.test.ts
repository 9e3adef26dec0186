/** Names from an Ansible inventory: hosts, groups and what Ansible knows of their connections. */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { rulesByName } from "../../../src/app/machines/machine-rules.ts";
import { attachCommand } from "../../../src/targets/attach-command.ts";
import { openTransport } from "../../../src/targets/connection/open-transport.ts";
import { parseInventory, readInventory } from "../../../src/targets/names/inventory.ts";
import { resolvePlaces } from "../../../src/targets/names/resolve-places.ts";
import { type Hop, labelOfPath, placeOf } from "../../../src/targets/place.ts";
import { buddyError } from "../../support/errors.ts";
import { needs } from "../../support/needs.ts";
import { useSshd } from "../../support/sshd.ts";
import { targetOptions } from "../../support/target-options.ts";
import { temporaryDirectory } from "../../support/temporary.ts";
import { until } from "../../support/until.ts";

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
  ])("%s is reached as %s", (name, label) =>
    expect(labelOfPath((hosts.get(name)?.path ?? []) as readonly Hop[])).toBe(label),
  );

  test("groups hold the hosts of their children, also where they include each other", () => {
    expect(groups.get("prod")?.toSorted()).toEqual(["six", "web1", "web2"]);
    expect(hosts.get("web1")?.groups.toSorted()).toEqual(["loop", "prod", "web"]);
  });

  test.each([[null], [[]], ["text"], [{ web: { hosts: "web1" } }]])("%j has no hosts, and is not a crash", (listed) =>
    expect(parseInventory(listed).hosts.size).toBe(0),
  );
});

describe("the connection variables of a host", () => {
  const key = join(dir, "key");
  writeFileSync(key, "");
  const pathOf = (variables: Record<string, unknown>) =>
    parseInventory({ _meta: { hostvars: { h: variables } } }, [dir]).hosts.get("h")?.path;
  const ssh = (destination: string, ...args: string[]) => [
    { kind: "ssh", destination, ...(args.length === 0 ? {} : { args }) } as Hop,
  ];

  test.each<[Record<string, unknown>, Hop[]]>([
    [{ ansible_ssh_private_key_file: key }, ssh("h", "-i", key)],
    [{ ansible_private_key_file: "key" }, ssh("h", "-i", key)],
    [{ ansible_ssh_common_args: "-o ProxyJump=b -C -q" }, ssh("h", "-o", "ProxyJump=b", "-C")],
    [{ ansible_ssh_extra_args: "-J b" }, ssh("h", "-J", "b")],
    [
      { ansible_ssh_common_args: `-o ProxyCommand="ssh -W %h:%p 'a b'"`, ansible_ssh_extra_args: "-Jb" },
      ssh("h", "-o", "ProxyCommand=ssh -W %h:%p 'a b'", "-Jb"),
    ],
    // The older names win, as in Ansible; what is empty counts as not set.
    [{ ansible_host: "a", ansible_ssh_host: "b", ansible_user: "u", ansible_ssh_user: "" }, ssh("u@b")],
    [{ ansible_port: 1, ansible_ssh_port: 2, ansible_user: null }, ssh("h:2")],
    [{ ansible_user: { __ansible_unsafe: "u" } }, ssh("u@h")],
    [{ ansible_connection: "ansible.builtin.ssh" }, ssh("h")],
    [{ ansible_connection: "smart" }, ssh("h")],
    [{ ansible_connection: "podman" }, [{ kind: "container", name: "h", engine: "podman" }]],
    [
      { ansible_connection: "community.docker.docker", ansible_host: "box" },
      [{ kind: "container", name: "box", engine: "docker" }],
    ],
  ])("%j is followed", (variables, path) => expect(pathOf(variables)).toEqual(path));

  test.each<[Record<string, unknown>, string]>([
    [{ ansible_connection: "winrm" }, "winrm"],
    [{ ansible_connection: "kubernetes.core.kubectl" }, "kubectl"],
    [{ ansible_connection: "somebody.else.ssh" }, "somebody.else.ssh"],
    [{ ansible_connection: "docker", ansible_user: "www" }, "ansible_user"],
    [{ ansible_connection: "podman", ansible_podman_extra_args: "--remote" }, "ansible_podman_extra_args"],
    [{ ansible_host: "{{ address }}" }, "ansible_host has a template"],
    [{ ansible_ssh_common_args: "-o ProxyJump={{ bastion }}" }, "template"],
    [{ ansible_user: { __ansible_vault: "x" } }, "ansible_user is not a plain text"],
    [{ ansible_private_key_file: "/no/such/key" }, "/no/such/key does not exist"],
    [{ ansible_ssh_common_args: "-o ProxyJump=b other" }, "other"],
    [{ ansible_ssh_common_args: "-W a:1" }, "-W"],
    [{ ansible_ssh_extra_args: "-o 'ProxyJump=b" }, "quote"],
    [{ ansible_ssh_extra_args: "-- other" }, "--"],
    [{ ansible_ssh_executable: "/opt/ssh" }, "ansible_ssh_executable"],
    [{ ansible_port: "ssh" }, '"ssh" is not a port'],
  ])("%j is refused", (variables, why) => expect(pathOf(variables)).toContain(why));
});

const real = await needs("ansible");
const connected = await needs("ansible", "sshd");

const READ_ONLY = {
  mode: "read-only" as const,
  label: undefined,
  shell_auto_approve: undefined,
  deny: undefined,
  allow: undefined,
  approve_max: undefined,
  notes: undefined,
};

connected.describe("an inventory with its own keys, port and jump host", () => {
  connected.test("they are used to connect, to attach, and by every name its groups hold", async () => {
    using server = await useSshd();
    const key = server.key("inventory-key", { accept: 'environment="WHICH=inventory"' });
    const marker = join(dir, "jumped");
    const file = join(dir, "keys.ini");
    const proxy = join(dir, "proxy");
    writeFileSync(proxy, `touch ${marker}\nexec ssh -W "$1:$2" lab\n`);
    writeFileSync(
      file,
      `[prod]\nm1 ansible_host=127.0.0.1 ansible_port=${server.port} ansible_ssh_private_key_file=${key} ` +
        `ansible_ssh_common_args='-o "ProxyCommand=sh ${proxy} %h %p"'\nwin ansible_connection=winrm\n`,
    );
    const sources = { targets: {}, inventory: file, home: server.env.HOME, cwd: dir };
    await expect(resolvePlaces("prod", sources)).rejects.toMatchObject({ message: expect.stringContaining("winrm") });
    const [place] = await resolvePlaces("m1", sources);
    await using transport = await openTransport(
      targetOptions({ place: place!, backgroundTimeoutMs: 0, interactive: false }),
    );
    expect((await transport.run("echo $WHICH")).stdout.toString()).toBe("inventory\n");
    expect(existsSync(marker)).toBe(true);
    const attach = attachCommand(targetOptions({ place: place!, tmuxSocket: "" }), "s", transport) ?? "";
    const typed = attach.replace("ssh -t", "ssh").replace("tmux attach -t s", "echo '$WHICH'");
    expect(Bun.spawnSync(["sh", "-c", typed], { env: process.env }).stdout.toString()).toBe("inventory\n");

    const readOnly = (pattern: string) => [{ ...READ_ONLY, pattern }];
    const prod = readOnly("prod");
    const other = placeOf({ ssh: "lab" });
    expect((await rulesByName({ rules: prod }, other, sources)).mode).toBe("read-only");
    expect((await rulesByName({ rules: prod }, placeOf({ ssh: "127.0.0.1:1" }), sources)).mode).toBe("normal");
    // While it cannot be read, the rules that may be about it hold.
    const unread = { ...sources, inventory: join(dir, "no-such.ini") };
    const held = await rulesByName({ rules: prod }, other, unread);
    expect({ mode: held.mode, notes: held.notes.join() }).toEqual({
      mode: "read-only",
      notes: expect.stringContaining("no-such.ini"),
    });
    const named = { ...unread, targets: { db: { ssh: ["db1"] } } };
    expect((await rulesByName({ rules: readOnly("db") }, other, named)).mode).toBe("normal");
  });
});

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

real.test("one command ran a slow inventory several times, without a word", async () => {
  const file = join(dir, "slow");
  const runs = join(dir, "runs");
  const answer = join(dir, "answer");
  const script = `#!/bin/sh\necho run >>${runs}\nwhile [ ! -e ${answer} ]; do sleep 0.05; done\necho '{"_meta":{"hostvars":{}},"web":{"hosts":["slow1"]}}'\n`;
  writeFileSync(file, script, { mode: 0o755 });
  const said: string[] = [];
  const waiting = (what: string): void => void said.push(what);
  const names = { targets: {}, cwd: dir, home: dir, inventory: file, waiting };
  const found = Promise.all([resolvePlaces("slow1", names), resolvePlaces("web", { ...names })]);
  await until(() => said.length > 0, "it says what it waits for");
  expect(said[0]).toContain(file);
  // One who gives up does not end it for the others.
  const stop = new AbortController();
  const stopped = resolvePlaces("web", { ...names, signal: stop.signal });
  stop.abort(new Error("stopped"));
  expect(stopped).rejects.toThrow("stopped");
  writeFileSync(answer, "");
  expect((await found).flat().map(({ name }) => name)).toEqual(["slow1", "slow1"]);
  await resolvePlaces("web", names);
  expect(readFileSync(runs, "utf8")).toBe("run\n");
  expect(said).toHaveLength(1);
});

test("an inventory that is missing, or ansible that is, is named; other names do not need it", async () => {
  const inventory = join(dir, "missing.ini");
  const sources = { targets: { db: { ssh: ["own"] } }, inventory, home: dir, cwd: dir };
  expect((await resolvePlaces("db", sources)).length).toBe(1);
  await expect(resolvePlaces("web", sources)).rejects.toThrow(buddyError("config", "missing.ini"));
  const before = process.env["PATH"];
  process.env["PATH"] = dir;
  try {
    writeFileSync(inventory, "web1\n");
    await expect(resolvePlaces("web", sources)).rejects.toThrow(buddyError("config", "ansible-inventory"));
    // It was said to have taken too long.
    writeFileSync(join(dir, "ansible-inventory"), "#!/bin/sh\nkill -SEGV $$\n", { mode: 0o755 });
    await expect(resolvePlaces("web", sources)).rejects.toThrow(buddyError("config", "SIGSEGV"));
  } finally {
    process.env["PATH"] = before;
  }
});
