/** Which rules hold for a machine that is open: found by every name it has, over real ssh and `via`. */
import { describe, expect, test } from "bun:test";
import { mkdtempSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { notesForModel, HostFiles } from "../../../src/app/machines/about-machines.ts";
import { MachineRules, rulesByName, rulesOf } from "../../../src/app/machines/machine-rules.ts";
import { targetNames, targetRows } from "../../../src/app/repl/change-machines.ts";
import type { Run } from "../../../src/app/run.ts";
import { loadConfig } from "../../../src/config/load.ts";
import type { Config } from "../../../src/config/schema.ts";
import { commandsIn } from "../../../src/policy/shell/judge.ts";
import { namedMachines } from "../../../src/policy/shell/named-machines.ts";
import { NO_RULES } from "../../../src/policy/machine-rules.ts";
import { localMachine } from "../../../src/targets/connection/identity.ts";
import { openTransport } from "../../../src/targets/connection/open-transport.ts";
import { resolvePlaces } from "../../../src/targets/names/resolve-places.ts";
import { LOCAL, type Place, placeOf } from "../../../src/targets/place.ts";
import type { Transport } from "../../../src/targets/target.ts";
import { useSshd } from "../../support/sshd.ts";
import { needs } from "../../support/needs.ts";
import { targetOptions } from "../../support/target-options.ts";

const remote = await needs("sshd");

async function config(...patterns: string[]): Promise<Config> {
  const dir = mkdtempSync(join(tmpdir(), "buddy-machine-rules-"));
  const file = join(dir, "buddy.toml");
  writeFileSync(file, patterns.map((pattern) => `[rules."${pattern}"]\nmode = "read-only"\n`).join(""));
  try {
    return (await loadConfig({ flags: { config: file }, env: { HOME: dir }, cwd: dir, create: false })).config;
  } finally {
    rmSync(dir, { recursive: true });
  }
}

function open(place: Place): Promise<Transport> {
  return openTransport(
    targetOptions({
      place,
      backgroundTimeoutMs: 0,
      interactive: false,
    }),
  );
}

const modeOn = async (pattern: string, place: Place, transport: Transport) =>
  (await rulesOf(await config(pattern), place, transport)).mode;

test("a via that names what is no host for ssh has the rules of that name", async () => {
  const via = (...argv: string[]): Place => ({ name: "box", path: [{ kind: "via", argv }], names: ["box"] });
  for (const [pattern, place] of [
    ["api", via("docker", "exec", "-i", "api")],
    ["prod", via("docker", "--context", "prod", "exec", "-i", "api")],
    ["web*", via("clush", "-w", "web[1-3]")],
  ] as const)
    expect([pattern, (await rulesByName(await config(pattern), place)).mode]).toEqual([pattern, "read-only"]);
});

test("/on @ completes the files of the operator's directory", async () => {
  const dir = mkdtempSync(join(tmpdir(), "buddy-lists-"));
  mkdirSync(join(dir, "lists"));
  writeFileSync(join(dir, "lists/web"), "web1\n");
  try {
    const loaded = await loadConfig({ env: { HOME: dir }, cwd: dir, create: false });
    const offered = async (begun: string) =>
      (await targetNames({ places: [LOCAL] } as unknown as Run, loaded, begun)).map(({ name }) => name);
    expect([await offered("@l"), await offered("@lists/w"), await offered("@none/")]).toEqual([
      ["@lists/"],
      ["@lists/web"],
      [],
    ]);
  } finally {
    rmSync(dir, { recursive: true });
  }
});

test("/targets showed the rules of names, but not those of the machines of a name or in use", async () => {
  const dir = mkdtempSync(join(tmpdir(), "buddy-targets-"));
  const file = join(dir, "buddy.toml");
  writeFileSync(
    file,
    '[targets.box]\ncontainer = "api"\n[rules.box]\nmode = "read-only"\n[rules.other]\nlabel = "X"\n',
  );
  try {
    const loaded = await loadConfig({ flags: { config: file }, env: { HOME: dir }, cwd: dir, create: false });
    const other: Place = { name: "other", path: [{ kind: "container", name: "other" }], names: ["other"] };
    const run = { places: [other] } as unknown as Run;
    const said = async (what?: string) =>
      (await targetRows(run, loaded, what)).map(({ name, meaning }) => [name, /rules: (.*)$/.exec(meaning)?.[1]]);
    expect(await said("box")).toEqual([["box", "read-only"]]);
    expect(await said()).toEqual([
      ["other", "X"],
      ["box", "read-only"],
    ]);
  } finally {
    rmSync(dir, { recursive: true });
  }
});

remote.describe("over ssh", () => {
  remote.test(
    "a machine is found by alias, resolved host, reported host, machine-id, and as this machine",
    async () => {
      using server = await useSshd();
      expect(server.port).toBeGreaterThan(0);
      const place = { ...placeOf({ ssh: "lab" }), names: ["harmless", "web", ...placeOf({ ssh: "lab" }).names] };
      await using transport = await open(place);
      for (const pattern of ["lab", "harmless", "web", hostname(), localMachine(), "local", "127.0.0.1"])
        expect([pattern, await modeOn(pattern, place, transport)]).toEqual([pattern, "read-only"]);
      for (const pattern of ["other", "lab2", "webs", "container*"])
        expect([pattern, await modeOn(pattern, place, transport)]).toEqual([pattern, "normal"]);
    },
  );

  remote.test("two aliases of one machine were two machines, and a change was made twice", async () => {
    using server = await useSshd();
    const host = `HostName 127.0.0.1\n  Port ${server.port}`;
    const text = `Host twin twin.example\n  ${host}\nHost other\n  ${host}\n  IdentityFile ${server.dir}/stranger\n`;
    server.configure(text);
    const home = mkdtempSync(join(tmpdir(), "buddy-aliases-"));
    mkdirSync(join(home, ".ssh"));
    writeFileSync(join(home, ".ssh/config"), text);
    try {
      const places = await resolvePlaces("twin*,other", { targets: {}, cwd: "/", home });
      // Another key may lead to another machine behind the same address.
      expect(places.map(({ names }) => names)).toEqual([["twin", "twin.example"], ["other"]]);
    } finally {
      rmSync(home, { recursive: true });
    }
  });

  remote.test("a machine that a command names is found by its groups, its address and by patterns", async () => {
    using server = await useSshd();
    const sources = {
      targets: { web1: { ssh: ["lab"] }, prod: { include: ["web1"] } },
      cwd: "/",
      home: server.env.HOME,
    };
    const mode = async (pattern: string, name: string) =>
      (await new MachineRules(await config(pattern), () => [], sources).named(name)).mode;
    for (const name of ["web1", "root@web1", "lab", "prod", "w*", "*", "web[1-3]", `127.0.0.1:${server.port}`])
      expect([name, await mode("prod", name)]).toEqual([name, "read-only"]);
    for (const name of ["web2", "d*", "127.0.0.1:1", "unknown.example"])
      expect([name, await mode("prod", name)]).toEqual([name, "normal"]);
    // Nobody knows which machines a pattern means where the operator has not named them.
    expect([await mode("db*", "d?"), await mode("db*", "web*")]).toEqual(["read-only", "normal"]);
  });

  remote.test("before it is open, the host that ssh makes of an alias counts", async () => {
    using server = await useSshd();
    server.configure("Host innocent\n  HostName prod-db.example.com\n  User deploy\n");
    const place = placeOf({ ssh: "innocent" });
    for (const pattern of ["prod-db*", "deploy@innocent", "deploy@prod-db*"])
      expect([pattern, (await rulesByName(await config(pattern), place)).mode]).toEqual([pattern, "read-only"]);
    for (const pattern of ["prod-web*", "root@innocent", "dep*"])
      expect([pattern, (await rulesByName(await config(pattern), place)).mode]).toEqual([pattern, "normal"]);
  });

  remote.test("a command of via that is ssh does not go around the rules of its machine", async () => {
    using server = await useSshd();
    server.configure("Host outwards\n  HostName prod-db.example.com\n");
    const argv = ["ssh", "-J", "root@bastion", "-p", "22", "deploy@outwards", "sudo", "-n"];
    const place: Place = { name: "db", names: ["db"], path: [{ kind: "via", argv }] };
    for (const pattern of ["outwards", "bastion", "prod-db*"])
      expect([pattern, (await rulesByName(await config(pattern), place)).mode]).toEqual([pattern, "read-only"]);
    expect((await rulesByName(await config("sudo"), place)).mode).toBe("normal");
  });

  remote.test.each([
    [["env", "A=1", "ssh", "-o", "Compression=no", "outwards", "--"]],
    [["sh", "-c", 'exec ssh outwards "$@"', "sh"]],
    [["timeout", "60", "/usr/bin/ssh", "outwards"]],
    [["sudo", "-u", "deploy", "ssh", "outwards"]],
    [["docker", "-H", "ssh://outwards", "exec", "-i", "db"]],
  ])("ssh is found in the words of via: %j", async (argv) => {
    using server = await useSshd();
    server.configure("Host outwards\n  HostName prod-db.example.com\n");
    const place: Place = { name: "db", names: ["db"], path: [{ kind: "via", argv }] };
    for (const [pattern, mode] of Object.entries({ outwards: "read-only", "prod-db*": "read-only", deploy: "normal" }))
      expect([pattern, (await rulesByName(await config(pattern), place)).mode]).toEqual([pattern, mode]);
  });

  remote.test("the address of a target is the target, as another user and further in, too", async () => {
    using server = await useSshd();
    const hosts = [
      "Host dbalias second gate\n  HostName 192.0.2.7\n  Port 2207",
      "Host dbalias second\n  IdentityFile ~/.ssh/one\nHost gate\n  IdentityFile ~/.ssh/two\n",
    ].join("\n");
    server.configure(hosts);
    const sources = {
      targets: { db: { ssh: ["dbalias"] }, vault: { include: ["db"] }, other: { ssh: ["192.0.2.7:2208"] } },
      cwd: "/",
    };
    const mode = async (pattern: string, place: Place) =>
      (await rulesByName(await config(pattern), place, sources)).mode;
    for (const pattern of ["db", "vault", "dbali*"])
      for (const ssh of ["192.0.2.7:2207", "root@192.0.2.7:2207"]) {
        expect([pattern, ssh, await mode(pattern, placeOf({ ssh }))]).toEqual([pattern, ssh, "read-only"]);
        expect(await mode(pattern, placeOf({ ssh, container: "c" }))).toBe("read-only");
      }
    for (const ssh of ["192.0.2.7:2208", "192.0.2.8:2207"]) expect(await mode("db", placeOf({ ssh }))).toBe("normal");
    expect(await mode("other", placeOf({ ssh: "192.0.2.7:2207" }))).toBe("normal");
    // A gateway that leads elsewhere by the key is another machine.
    expect(await mode("db", placeOf({ ssh: "second" }))).toBe("read-only");
    expect(await mode("db", placeOf({ ssh: "gate" }))).toBe("normal");
  });

  const SECOND_NAMES = [
    "Host prod1 innocent\n  HostName 192.0.2.7\nHost elsewhere\n  HostName 192.0.2.8",
    "Host through\n  HostName 192.0.2.8\n  ProxyJump innocent\nHost further\n  HostName 192.0.2.8\n  ProxyJump through",
    "Host tunnel\n  HostName 192.0.2.8\n  ProxyCommand ssh -W %h:%p innocent",
    "Host behind\n  HostName 192.0.2.9\n  Port 2207",
  ].join("\n");

  remote.test("a second name of a machine does not go around its rules in a command", async () => {
    using server = await useSshd();
    server.configure(`Host prod1 innocent\n  User deploy\n${SECOND_NAMES}`);
    const home = mkdtempSync(join(tmpdir(), "buddy-second-names-"));
    mkdirSync(join(home, ".ssh"));
    writeFileSync(join(home, ".ssh/config"), SECOND_NAMES);
    try {
      const mode = async (pattern: string, command: string) => {
        const rules = new MachineRules(await config(pattern), () => [], { targets: {}, cwd: "/", home });
        const found = await Promise.all(namedMachines(commandsIn(command)).map((name) => rules.named(name)));
        return found.some((one) => one.mode === "read-only");
      };
      for (const words of ["innocent", "192.0.2.7", "root@192.0.2.7", "::ffff:192.0.2.7", "-p 22 192.0.2.7"])
        expect([words, await mode("prod1", `ssh ${words} reboot`)]).toEqual([words, true]);
      for (const words of ["through", "further", "tunnel", "-J innocent elsewhere", "-S /tmp/s elsewhere", '"$H"'])
        expect([words, await mode("prod1", `ssh ${words} reboot`)]).toEqual([words, true]);
      for (const text of [
        "scp f innocent:",
        "rsync f 192.0.2.7:/",
        "curl -X PUT 192.0.2.7:8500/v1/kv/x",
        "clush -a id",
      ])
        expect([text, await mode("prod1", text)]).toEqual([text, true]);
      expect(await mode("prod1", "ssh elsewhere id")).toBe(false);
      expect(await mode("deploy@*", "ssh innocent id")).toBe(true);
      for (const [words, found] of [
        ["-p 2207 192.0.2.9", true],
        ["-oPort=2207 -l root 192.0.2.9", true],
        ["-p 2208 192.0.2.9", false],
      ] as const)
        expect([words, await mode("behind", `ssh ${words} id`)]).toEqual([words, found]);
    } finally {
      rmSync(home, { recursive: true });
    }
  });

  remote.test("a command is sent to another machine, whose ssh has other names", async () => {
    using server = await useSshd();
    const dir = mkdtempSync(join(tmpdir(), "buddy-names-there-"));
    writeFileSync(join(dir, "config"), SECOND_NAMES);
    writeFileSync(
      join(dir, "ssh"),
      `#!/bin/sh\nexec ${Bun.which("ssh", { PATH: "/usr/bin:/bin" })} -F ${dir}/config "$@"\n`,
      {
        mode: 0o755,
      },
    );
    const argv = ["env", `PATH=${dir}:${server.env.PATH}`];
    await using from = await open({ name: "there", path: [{ kind: "via", argv }], names: ["there"] });
    try {
      const rules = new MachineRules(await config("192.0.2.7", "prod1"), () => [], { targets: {}, cwd: "/" });
      const mode = async (name: string) => (await rules.named(name, from)).mode;
      for (const name of ["innocent", "through", "further", "tunnel"])
        expect([name, await mode(name)]).toEqual([name, "read-only"]);
      expect(await mode("elsewhere")).toBe("normal");
      // Nobody knows where a host leads if ssh itself refuses.
      writeFileSync(join(dir, "config"), "Port none");
      expect(await mode("another")).toBe("read-only");
    } finally {
      rmSync(dir, { recursive: true });
    }
  });
});

describe("on this machine", () => {
  test("its names are known at once", async () => {
    for (const pattern of ["local", hostname()])
      expect(new MachineRules(await config(pattern), () => [LOCAL]).current.mode).toBe("read-only");
    expect(new MachineRules(await config("elsewhere"), () => [LOCAL]).current).toEqual(NO_RULES);
  });

  test("a command that stays on it does not go around its rules", async () => {
    const place: Place = { name: "api", names: ["api"], path: [{ kind: "via", argv: ["env"] }] };
    await using transport = await open(place);
    expect(await modeOn("local", place, transport)).toBe("read-only");
    expect(await modeOn(hostname(), place, transport)).toBe("read-only");
    expect(await modeOn("other", place, transport)).toBe("normal");
  });

  test("of several machines, people see every label, and a mode that all have", async () => {
    const rules = (await config("a", "b")).rules.map((rule) => ({ ...rule, label: rule.pattern.toUpperCase() }));
    const place = (name: string): Place => ({ name, names: [name], path: [{ kind: "ssh", destination: name }] });
    expect(new MachineRules({ rules }, () => [place("a"), place("b")]).current).toMatchObject({
      label: "A B",
      mode: "read-only",
    });
    expect(new MachineRules({ rules }, () => [place("a"), place("c")]).current).toMatchObject({
      label: "A",
      mode: "normal",
    });
  });
});

describe("the memory of a host", () => {
  const withHosts = (work: (dir: string, problems: string[], read: (...names: string[]) => string[]) => void) => {
    const dir = mkdtempSync(join(tmpdir(), "buddy-hosts-"));
    mkdirSync(join(dir, "hosts"));
    const problems: string[] = [];
    try {
      work(dir, problems, (...names) =>
        new HostFiles(dir, (problem) => problems.push(problem))
          .of({ name: names[0] ?? "", names, path: [] }, undefined)
          .map(({ text }) => text),
      );
    } finally {
      rmSync(dir, { recursive: true });
    }
  };

  test("files of all its names, each once, and of no other machine", () => {
    withHosts((dir, _, read) => {
      writeFileSync(join(dir, "hosts/web1.md"), "first");
      symlinkSync("web1.md", join(dir, "hosts/web.md"));
      writeFileSync(join(dir, "hosts/db1.md"), "second");
      expect(read("web1", "web")).toEqual(["first"]);
      expect(read("../hosts/db1", ".", "x")).toEqual([]);
    });
  });

  test("8 KB at most, cut between characters, and it says so", () => {
    withHosts((dir, _, read) => {
      writeFileSync(join(dir, "hosts/web1.md"), "ä".repeat(5000));
      const [text = ""] = read("web1");
      expect(text).toContain("are left out");
      expect(text).not.toContain("\uFFFD");
      expect(Buffer.byteLength(text.split("\n")[0] ?? "")).toBeLessThanOrEqual(8192);
    });
  });

  test("what is not a regular text file is named and not read; a pipe holds up nothing", () => {
    withHosts((dir, problems, read) => {
      Bun.spawnSync(["mkfifo", join(dir, "hosts/pipe.md")]);
      mkdirSync(join(dir, "hosts/dir.md"));
      writeFileSync(join(dir, "hosts/binary.md"), "a\0b");
      symlinkSync("/etc/shadow", join(dir, "hosts/keys.md"));
      expect(read("pipe", "dir", "binary", "keys")).toEqual([]);
      expect(problems).toHaveLength(4);
    });
  });

  test("machines about which the same is written are one paragraph", () => {
    const rules = { ...NO_RULES, label: "PROD" };
    const text = notesForModel([
      { name: "web1", rules, files: [] },
      { name: "web2", rules, files: [] },
      { name: "db1", rules: { ...rules, mode: "read-only" }, files: [] },
      { name: "x", rules: NO_RULES, files: [] },
    ]);
    expect(text?.match(/PROD/g)).toHaveLength(2);
    expect(text).toContain("web[1-2]:");
    expect(notesForModel([{ name: "x", rules: NO_RULES, files: [] }])).toBeUndefined();
  });
});
