/** The dangers `data` and `lockout`: every example of their tables, and what the verdict makes of them. */
import { describe, expect, test } from "bun:test";
import { changedFiles } from "../../../src/policy/shell/file-changes.ts";
import type { Example } from "../../../src/policy/shell/dangers/danger.ts";
import { dataTable } from "../../../src/policy/shell/dangers/data.ts";
import { lockoutTable } from "../../../src/policy/shell/dangers/lockout.ts";
import { judgeShell } from "../../../src/policy/shell/judge.ts";
import everyDanger from "./every-danger.txt" with { type: "text" };
import { RULES } from "./rules.ts";

const cases = (examples: readonly Example[], counts: boolean) =>
  examples.filter((one) => one.counts === counts).map(({ section, text }) => [section, text] as const);

const lockoutOf = (command: string, cwd = "/srv") => judgeShell(command, RULES, { cwd }).lockouts;

const found = (text: string) => judgeShell(text, RULES).dangers;

describe("data", () => {
  test.each(cases(dataTable().examples, true))("%s: %s", (_, text) => {
    const { verdict, dangers, risk } = judgeShell(text, { ...RULES, safety: { ...RULES.safety, disk: "off" } });
    expect(dangers).toContain("data");
    expect([verdict.kind, risk, "answer" in verdict && verdict.answer]).toEqual(["ask", "high", "in-person"]);
  });
  test.each(cases(dataTable().examples, false))("%s: not %s", (_, text) => {
    expect(found(text)).not.toContain("data");
  });
});

describe("lockout", () => {
  test.each(cases(lockoutTable().examples, true))("%s: %s", (section, text) => {
    const { verdict, dangers, risk } = judgeShell(text, RULES);
    expect(dangers).toContain("lockout");
    expect([verdict.kind, risk, "answer" in verdict && verdict.answer]).toEqual(["ask", "high", "in-person"]);
    expect(lockoutOf(text).map(({ kind }) => kind as string)).toContain(section);
  });
  test.each(cases(lockoutTable().examples, false))("%s: not %s", (_, text) => {
    expect(found(text)).not.toContain("lockout");
  });
});

test("every program, word, option and file of the tables is in a command that counts", () => {
  let [check, section] = ["", ""];
  const words = new Set<string>();
  for (const line of everyDanger.trimEnd().split("\n").slice(1)) {
    const heading = /^\[(\w+) (\w+)\]$/.exec(line);
    if (heading !== null) [, check = "", section = ""] = heading;
    else {
      const judged = judgeShell(line, { ...RULES, safety: { ...RULES.safety, disk: "off" } }, { cwd: "/srv" });
      const kinds = check === "data" ? judged.dangers : judged.lockouts.map(({ kind }) => kind as string);
      expect([line, kinds]).toEqual([line, expect.arrayContaining([check === "data" ? "data" : section])]);
      for (const word of line.split(" ")) words.add(word);
    }
  }
  for (const table of [dataTable(), lockoutTable()]) {
    const paths = table.files.map(({ path }) => path.replaceAll(/\*+/g, "x"));
    expect([...table.programs(), ...paths].filter((one) => !words.has(one))).toEqual([]);
  }
});

describe("what a level does", () => {
  const at = (text: string, safety: Partial<typeof RULES.safety>) =>
    judgeShell(text, { ...RULES, allow: ["terraform", "nft"], safety: { ...RULES.safety, ...safety } });

  test.each([
    ["terraform destroy", "data"],
    ["nft flush ruleset", "lockout"],
  ] as const)("%s: block, ask and off", (text, check) => {
    expect(at(text, { [check]: "block" }).verdict.kind).toBe("deny");
    const asked = at(text, { [check]: "ask" }).verdict;
    expect([asked.kind, "answer" in asked && asked.answer]).toEqual(["ask", "in-person"]);
    expect(at(text, { [check]: "off" }).verdict.kind).toBe("allow");
  });

  test("guard asks as ask does", () => {
    const { verdict } = at("nft flush ruleset", { lockout: "guard" });
    expect([verdict.kind, "answer" in verdict && verdict.answer]).toEqual(["ask", "in-person"]);
  });

  test("a danger that asks does not hide one that is blocked, in another shell's reading either", () => {
    expect(judgeShell("terraform destroy; rm -rf /", RULES).verdict.kind).toBe("deny");
    expect(judgeShell("terraform destroy; echo (rm -rf /)", RULES).verdict.kind).toBe("deny");
  });

  test("other shells' readings are looked at for these dangers, too", () => {
    expect(judgeShell("echo (docker volume rm x)", RULES).dangers).toEqual(["data"]);
    expect(judgeShell("begin; nft flush ruleset; end", RULES).dangers).toEqual(["lockout"]);
  });

  test("always is not offered", async () => {
    const { prefixesOf } = await import("../../../src/policy/shell/allow-deny-lists.ts");
    for (const text of ["terraform destroy", "systemctl restart sshd"])
      expect(prefixesOf(text, judgeShell(text, RULES))).toBeUndefined();
  });
});

describe("lockouts of a text", () => {
  test("names the program, its words and the files behind wrappers", () => {
    expect(lockoutOf("sudo sh -c 'nft add rule inet filter input drop'")).toEqual([
      {
        kind: "firewall",
        does: "changes firewall rules",
        program: "nft",
        words: ["nft", "add", "rule", "inet", "filter", "input", "drop"],
      },
    ]);
    expect(lockoutOf("cd /etc/ssh && sudo sed -i s/a/b/ sshd_config")).toMatchObject([
      { kind: "ssh", program: "sed", file: "/etc/ssh/sshd_config" },
    ]);
    expect(lockoutOf("cp x sshd_config", "/etc/ssh")).toMatchObject([{ file: "/etc/ssh/sshd_config" }]);
    expect(lockoutOf("echo x > /etc/ssh/sshd_config && systemctl reload sshd").map(({ kind }) => kind)).toEqual([
      "ssh",
      "ssh",
    ]);
    expect(lockoutOf("cp nftables.conf /etc").map(({ file }) => file)).toEqual(["/etc/nftables.conf"]);
    expect(lockoutOf("ls")).toEqual([]);
  });

  test("a program in another network namespace is found", () => {
    expect(lockoutOf("ip netns exec lab nft flush ruleset").map(({ kind }) => kind)).toEqual(["firewall"]);
    expect(judgeShell("ip netns exec lab rm -rf /", RULES).verdict.kind).toBe("deny");
  });

  test("files by their path, for the file tools", async () => {
    const { lockoutFile } = await import("../../../src/policy/shell/dangers/lockout.ts");
    expect(lockoutFile("/etc/ssh/sshd_config.d/10.conf", "/data/ann")?.kind).toBe("ssh");
    expect(lockoutFile("/etc/sudoers", "/data/ann")?.kind).toBe("sudoers");
    expect(lockoutFile("/data/ann/.ssh/authorized_keys", "/data/ann/")?.kind).toBe("ssh");
    expect(lockoutFile("/home/bob/.ssh/authorized_keys", "/data/ann")?.kind).toBe("ssh");
    expect(lockoutFile("/etc/hosts", "/data/ann")).toBeUndefined();
  });
});

/** One table (src/policy/shell/file-changes.ts): lockout, risk, data, disk and undo see the same files of a command. */
describe("files that a command changes", () => {
  const CONTEXT = { cwd: "/srv/app", home: "/home/ann", user: "ann" };
  const judged = (form: string, path: string) => judgeShell(form.replaceAll("%", path), RULES, CONTEXT);
  const forms = (text: string) =>
    text
      .trim()
      .split(/\n|¦/)
      .map((one) => one.trim());

  const ONE_FILE = forms(`
    rm % ¦ rm -f -- % ¦ unlink % ¦ shred -n 3 % ¦ truncate -s 0 % ¦ truncate % -s 0 ¦ truncate -r x %
    tee % ¦ tee -a % ¦ sponge % ¦ touch -d now % ¦ touch -r x % ¦ sudo tee % ¦ sudo -e % ¦ sudo -u x -e %
    cp x % ¦ cp -t % x ¦ cp -t% x ¦ cp -rt % x ¦ cp --target-directory=% x ¦ cp --target % x ¦ cp x y -t % ¦ cp -T x %
    cp x % -S .b ¦ cp x % --suffix .b ¦ cp -- x % ¦ env A=b cp x % ¦ echo y | xargs cp -t % ¦ /bin/c? x %
    mv x % ¦ mv % /tmp/x ¦ mv -t /tmp % ¦ mv -ft /tmp % ¦ mv x % -S .b ¦ mv --target-directory=/tmp %
    install -m 644 x % ¦ install x % -o root ¦ install -t % x ¦ ln -sf x % ¦ ln -sfn x % ¦ ln -st % x
    dd if=x of=% ¦ sort -o % x ¦ sort x -o % ¦ sort --output=% x ¦ uniq x % ¦ shuf -o % x
    sed -i s/a/b/ % ¦ sed -i.b s/a/b/ % ¦ sed s/a/b/ % -i ¦ sed -i '' s/a/b/ % ¦ sed -ne p -i % ¦ sed --in-place=.b s/a/b/ %
    perl -pi -e s/a/b/ % ¦ perl -0pi -e s/a/b/ % ¦ perl -lpi -e s/a/b/ % ¦ perl -pi -e 'system("x")' % ¦ perl -i x.pl % ¦ gawk -i inplace 1 % ¦ yq -i .a=1 %
    chmod 600 % ¦ chmod -x % ¦ chmod -R -x % ¦ chmod --reference=x % ¦ chmod --reference x % ¦ chown a:b % ¦ chgrp a %
    chattr -i % ¦ chattr +i % ¦ chattr -p 5 % ¦ cp x - && mv - % ¦ setfacl -b % ¦ setfacl -m u:x:rw % ¦ restorecon -v % ¦ chcon -t t % ¦ setcap -r %
    tar czf % x ¦ tar --create --file % x ¦ tar cf x --remove-files % ¦ gzip % ¦ xz -9 % ¦ zstd --rm %
    curl -o % http://x ¦ curl -sSLo% http://x ¦ curl -o x http://x -o % http://y ¦ curl --output=% http://x ¦ curl -D % http://x
    wget -qO % http://x ¦ wget --output-document=% http://x ¦ patch % < d ¦ vi % ¦ crudini --set % a b c
    find / -fprint % ¦ find % -delete ¦ find /tmp -name x -exec cp {} % ';' ¦ echo x > % ¦ echo x >> % ¦ > %`);
  test.each(ONE_FILE)("%s: a file of sshd", (form) => {
    const path = "/etc/ssh/sshd_config";
    expect(judged(form, path).lockouts.map(({ file }) => file)).toContain(path);
    expect(judged(form, "/etc/motd").risk).toBe("high");
    const { places } = changedFiles(form.replaceAll("%", path), CONTEXT);
    expect(places.map((place) => place.path)).toContain(path);
  });

  test.each(
    forms(`rsync x % ¦ rsync -a x/ % --exclude y ¦ rsync -a h:x % ¦ scp h:x % ¦ scp h:x % -i k ¦ tar xf a -C % ¦ tar xfC a %
    tar --extract --file a --directory % ¦ unzip a -d % ¦ wget -P % http://x ¦ patch -d % -p1 < d ¦ cd % && tar xf a
    cd % && curl -O http://x/a ¦ cd % && wget http://x/a ¦ cd % && unzip a ¦ cd % && patch -p1 < d`),
  )("%s: files in a directory that only the program knows", (form) => {
    expect(judged(form, "/etc/ssh").lockouts.map(({ file }) => file)).toEqual(["/etc/ssh"]);
    expect(judged(form, "/etc/app").risk).toBe("high");
    const { unknown } = changedFiles(form.replaceAll("%", "/etc/app"), CONTEXT);
    expect(unknown).toEqual(["files in /etc/app"]);
  });

  test.each(
    forms("cp % /etc ¦ mv % /etc ¦ cp -t /etc % ¦ install x % /etc ¦ ln -st /etc % ¦ rsync % /etc ¦ scp h:% /etc/"),
  )("%s: a file of accounts in its directory", (form) =>
    expect(judged(form, "/srv/passwd").lockouts.map(({ file }) => file)).toEqual(["/etc/passwd"]),
  );

  test.each(
    forms(`tee % ¦ cat x | sudo tee % ¦ sort -o % x ¦ curl -o % http://x ¦ wget -O % http://x ¦ find / -fprint % ¦ wipe -r %
    rsync -a --remove-source-files % /tmp/x ¦ tar cf x --remove-files % ¦ rsync -a --delete x/ % --exclude y ¦ mv -t /tmp %
    /bin/r? -f % ¦ cd % && find -delete ¦ grm %`),
  )("%s: stored data", (form) => expect(judged(form, "/var/lib/mysql").dangers).toContain("data"));

  test.each(
    forms(`cp x % -S .b ¦ install x % -o root ¦ install -t % x ¦ rsync x % --exclude y ¦ scp h:x % ¦ curl -sSLo% http://x
    uniq x % ¦ find / -fprint % ¦ gtee % ¦ sponge % ¦ tar cf % x ¦ tar -c -f % x ¦ ddrescue -d x % m ¦ cp -t /dev sda`),
  )("%s: a disk", (form) => {
    expect(judged(form, "/dev/sda").verdict.kind).toBe("deny");
    expect(judgeShell(`cd /dev && ${form.replaceAll("%", "sda")}`, RULES).verdict.kind).toBe("deny");
  });

  test.each(
    forms(`cp % /tmp/x ¦ cp % /tmp/x -S .b ¦ touch -r % /tmp/x ¦ truncate -r % /tmp/x ¦ chmod --reference=% /tmp/x ¦ ln -s %
    sed -i -f % x ¦ sed s/a/b/ % ¦ perl -ne print % ¦ dd if=% of=/tmp/x ¦ tar czf /tmp/x % ¦ tar tf % ¦ sort %
    scp % h:x ¦ rsync % h:/x ¦ install % /tmp/x ¦ uniq % ¦ gzip -c % ¦ unzip -l % ¦ curl -T % http://x ¦ crudini --get % a`),
  )("%s: only read", (form) => {
    const { lockouts, dangers } = judged(form, "/etc/ssh/sshd_config");
    expect([lockouts, dangers]).toEqual([[], []]);
    expect(judged(form, "/etc/motd").risk).toBe(judged(form, "/srv/motd").risk);
    const { places } = changedFiles(form.replaceAll("%", "/etc/motd"), CONTEXT);
    expect(places.map(({ path }) => path)).not.toContain("/etc/motd");
  });

  test.each([
    ["gzip /w/f", ["/w/f", "/w/f.gz"]],
    ["gzip -kf /w/f", ["/w/f.gz"]],
    ["gunzip -f /w/f.gz", ["/w/f.gz", "/w/f.gz.gz", "/w/f"]],
    ["gzip -d /w/f.tgz", ["/w/f.tgz", "/w/f.tgz.gz", "/w/f.tar"]],
    ["gzip -S .x /w/f", ["/w/f", "/w/f.gz", "/w/f.x"]],
    ["gzip -c /w/f", []],
    ["xz -9 /w/f", ["/w/f", "/w/f.xz"]],
    ["zstd -q /w/f", ["/w/f.zst"]],
    ["zstd /w/f -o /w/g", ["/w/g"]],
    ["sed -i.bak s/a/b/ /w/f", ["/w/f", "/w/f.bak"]],
    ["sed -i'old/*~' -e s/a/b/ /w/f", ["/w/f", "/w/old/f~"]],
    ["sed --in-place=.bak s/a/b/ /w/f", ["/w/f", "/w/f.bak"]],
    ["perl -pi.orig -e s/a/b/ f", ["/w/f", "/w/f.orig"]],
  ])("%s: what it makes beside a file, which may have been there, is kept", (text, paths) => {
    const { places, unknown } = changedFiles(text, { ...CONTEXT, cwd: "/w" });
    expect([places.map(({ path }) => path).toSorted(), unknown]).toEqual([paths.toSorted(), []]);
  });

  test("a copy that may take the place of a link keeps the link and the file behind it", () => {
    const follows = (text: string) => changedFiles(text, CONTEXT).places.map(({ follow }) => follow);
    expect(follows("cp /w/f /w/l")).toEqual([true]);
    expect(follows("cp --remove-destination /w/f /w/l")).toEqual([true, false]);
    expect(follows("cp -a /w/f /w/l")).toEqual([true, false]);
  });

  test("a name that is not UTF-8 is not taken for another one", () => {
    const { places, unknown } = changedFiles("rm $'f\\xff'", CONTEXT);
    expect([places.length, unknown.length]).toEqual([0, 1]);
  });

  test("moving files into a directory does not move the directory away", () => {
    for (const form of ["mv x %", "mv -t % x", "mv --target-directory=% x"])
      expect([judged(form, "/etc").verdict.kind, judged(form, "/etc").risk]).toEqual(["ask", "high"]);
    for (const form of ["mv % /tmp/x", "mv -t /tmp %"]) expect(judged(form, "/etc").verdict.kind).toBe("deny");
  });

  test("names count from where the text or the shell is", () => {
    expect(judgeShell("cd /etc && rm motd", RULES).risk).toBe("high");
    expect(judgeShell("cd /etc && echo x > motd", RULES).risk).toBe("high");
    expect(judgeShell("rm motd", RULES, { cwd: "/etc" }).risk).toBe("high");
    expect(judgeShell("rm motd", RULES, { cwd: "/srv/app" }).risk).toBe("medium");
    expect(judgeShell("> /etc/motd", RULES).risk).toBe("high");
  });

  test("a sink changes no file", () => {
    expect(
      changedFiles("cat x | tee /dev/null; curl -o /dev/null http://x; wget -qO- http://x", CONTEXT),
    ).toMatchObject({
      places: [],
      unknown: [],
    });
  });
});
