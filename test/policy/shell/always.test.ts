/** What "always", shell_allow and the developer preset cover: never an option that was not seen or is not listed. */
import { describe, expect, test } from "bun:test";
import { coversPrefix } from "../../../src/policy/approvals.ts";
import { DEVELOPER, prefixesOf } from "../../../src/policy/shell/allow-deny-lists.ts";
import { judgeShell } from "../../../src/policy/shell/judge.ts";
import { rowOf } from "../../../src/policy/shell/known-options.ts";
import { RULES, verdictOf } from "./rules.ts";

function covered(allowed: string, wanted: string): boolean {
  const prefixes = (text: string) => prefixesOf(text, judgeShell(text, RULES));
  const known = prefixes(allowed);
  const asked = prefixes(wanted);
  if (known === undefined || asked === undefined) return false;
  return asked.every((one) => known.some((other) => coversPrefix(other, one)));
}

describe("always", () => {
  test("names what it would remember once", () => {
    const text = "touch a\ntouch b\nmkdir c\ntouch d";
    expect(prefixesOf(text, judgeShell(text, RULES))?.map(({ words }) => words)).toEqual([["touch"], ["mkdir"]]);
  });

  test.each([
    ["git fetch .", "git fetch . --upload-pack='touch P'"],
    ["git fetch .", "git fetch --upload-pac=x ."],
    ["git fetch .", "git fetch evil"],
    ["git fetch -p", "git -c core.sshCommand=x fetch -p"],
    ["make -n", "make -n --eval 'x:;id'"],
    ["make -n", "make -n --eval=x"],
    ["make -n", "make"],
    ["make test", "make test SHELL=./x"],
    ["make test", "make install"],
    ["make -f a.mk", "make -f b.mk"],
    ["npm run build", "npm run build --script-shell=./x"],
    ["npm run build", "npm run deploy"],
    ["git commit -m x", "git commit -m x --no-verify"],
    ["git push origin main", "git push evil main"],
    ["git push origin main", "git push origin :main"],
    ["git push origin main", "git push origin x:main"],
    ["pip install requests", "pip install http://x/y.tgz"],
    ["pip install requests", "pip install ./x"],
    ["pip install requests", "pip install git+https://x/y"],
    ["npm install", "npm install left-pad"],
    ["npm install left-pad", "npm install someone/repository"],
    ["npm install left-pad", "npm install left-pad@npm:other"],
    ["apt-get install nginx", "apt-get install ./x.deb"],
    ["helm upgrade web repo/web", "helm upgrade web https://x/y.tgz"],
    ["docker run alpine", "docker run -v /:/h alpine"],
    ["docker run alpine", "docker run evil"],
    ["pytest", "pytest -p evil"],
    ["mkdir a", "mkdir -m 777 b"],
    ["cargo test", "cargo test --config 'build.rustc=\"x\"'"],
  ])("of “%s” does not cover “%s”", (allowed, wanted) => expect(covered(allowed, wanted)).toBe(false));

  test.each([
    ["git fetch -p origin", "git fetch origin"],
    ["git commit -m x", "git commit -m 'another text'"],
    ["git commit -am x", "git commit -m y"],
    ["mkdir -p a", "mkdir -p b/c d"],
    ["git add src/a.ts", "git add test/b.ts"],
    ["git push origin main", "git push origin other"],
    ["pip install requests", "pip install flask"],
    ["apt-get install nginx", "apt-get install curl"],
    ["systemctl restart nginx", "systemctl restart apache2"],
    ["make -j4 test", "make -j8 test"],
    ["npm run build", "npm run build"],
    ["npm ci", "npm ci"],
    ["pytest -x tests/a.py", "pytest tests/b.py"],
    ["rm a.log", "rm a.log"],
  ])("of “%s” covers “%s”", (allowed, wanted) => expect(covered(allowed, wanted)).toBe(true));
});

describe("shell_allow of a program whose options can run something", () => {
  const allow = [
    "make",
    "git fetch",
    "go test",
    "npm run",
    "cargo",
    "tar",
    "rsync",
    "ssh web1",
    "sudo systemctl reload",
  ];
  test.each([
    "make --eval 'x:;id'",
    "make --eva=x",
    "make SHELL=./x",
    "make -f /tmp/x",
    "make -e --warn -f x",
    "git fetch --upload-pack=./x",
    "git fetch --upload-pac=./x",
    "git -c core.sshCommand=./x fetch",
    "git --exec-path=./x fetch",
    "go test -exec ./x",
    "go test -toolexec ./x",
    "go test -vettool=./x ./...",
    "npm run build --script-shell=./x",
    "npm run x --node-options='-r ./x'",
    "cargo build --config 'build.rustc-wrapper=\"./x\"'",
    "cargo --config a=b build",
    "tar xf a.tar --to-command=./x",
    "tar xf a.tar -I ./x",
    "tar cf a.tar --checkpoint=1 --checkpoint-action=exec=./x .",
    "rsync -e ./x a b",
    "rsync --rsh=./x a b",
    "ssh web1 -o ProxyCommand=./x",
    "sudo systemctl reload nginx -H evil",
  ])("%s asks", (text) => expect(verdictOf(text, { allow })).toBe("ask"));

  test.each([
    "make -j8 -k all",
    "make -C sub test",
    "git fetch --prune origin",
    "go test -race -run TestX ./...",
    "npm run test -- --watch",
    "cargo build --release",
    "cargo test -- --nocapture",
    "tar -xzf a.tar.gz -C out",
    "rsync -av --delete a/ b/",
    "sudo systemctl reload nginx",
  ])("%s runs unasked", (text) => expect(verdictOf(text, { allow })).toBe("allow"));

  test.each([
    "find . -exec touch P ';'",
    "man -P ./x ls",
    "sort --compress-program=./x f",
    "sort --compress-prog ./x f",
    "split --filter=./x f",
    "rg --pre ./x y",
    "rg --hostname-bin=./x y",
    "fd -x ./x",
    "fdfind --exec-batch ./x",
    "tcpdump -i eth0 -w f -C 1 -z ./x",
    "rpm --pipe=./x -qa",
    "rpm -q -E '%(./x)'",
    "dpkg --pre-invoke=./x -i a.deb",
    "gcc -wrapper ./x a.c",
    "clang -fplugin=./x.so a.c",
    "psql -c '\\! ./x'",
    "mysql -e 'system ./x'",
    "gdb -ex 'shell ./x'",
    "strace -o '|./x' true",
    "nc -e ./x -l 80",
    "rclone --password-command ./x ls a:",
    "restic --password-command=./x snapshots",
    "borg --rsh ./x list a",
    "sftp -S ./x host",
    "svn --diff-cmd ./x diff",
    "hg --config alias.x='!./x' x",
    "pandoc --filter ./x a.md",
    "nmap --script ./x host",
    "ansible-playbook -i ./x a.yml",
    "cpio --rsh-command=./x -i",
    "logrotate -s ./x a",
  ])("of the program alone: %s asks", (text) => {
    expect(verdictOf(text, { allow: [text.split(" ")[0] as string] })).toBe("ask");
  });

  test.each([
    "sort -u -k 2 f -o g",
    "rpm -Uvh a.rpm",
    "gcc -O2 -Wall -Iinclude -o a a.c -lm",
    "strace -f -p 12",
    "psql -h db -l",
    "nc -zv db 5432",
  ])("of the program alone: %s runs unasked", (text) =>
    expect(verdictOf(text, { allow: [text.split(" ")[0] as string] })).toBe("allow"),
  );

  test("an option that the entry itself names is allowed", () => {
    expect(verdictOf("make --eval=x all", { allow: ["make --eval=x"] })).toBe("allow");
    expect(verdictOf("make --eval=y all", { allow: ["make --eval=x"] })).toBe("ask");
  });
});

describe("the developer preset", () => {
  const developer = (text: string) => verdictOf(text, { autoApprove: "developer" });
  test.each([
    "make --eval 'x:;id'",
    "make CC=./x",
    "go test -exec ./x ./...",
    "go build -toolexec=./x",
    "go vet -vettool=./x",
    "git fetch --upload-pac=./x",
    "git fetch --upload-pack ./x .",
    "git pull --upload-pack=./x",
    "git merge -s ./x b",
    "git add -f secret",
    "git fetch 'ext::sh -c id'",
    "npm test --script-shell=./x",
    "pytest -p evil",
    "pytest -c evil.ini",
    "eslint --rulesdir .",
    "eslint -c evil.js",
    "prettier --plugin=./x.js .",
    "jest --config=./x",
    "mvn test -Dexec=./x",
    "gradle build -I ./x.gradle",
    "cmake --build b -- --eval=x",
    "ninja -f x.ninja",
    "just --shell ./x a",
    "cargo fmt --config-path x --manifest-path /tmp/x",
    "bundle exec rspec -r ./x",
  ])("%s asks", (text) => expect(developer(text)).toBe("ask"));

  test("every prefix has a row of options", () => {
    expect(DEVELOPER.filter((entry) => rowOf(entry.split(" ")) === undefined)).toEqual([]);
  });
});

describe("what a list allows runs in the operator's own shell", () => {
  const rules = { ...RULES, allow: ["make", "pytest"] };
  const kind = (text: string, pane: string) => judgeShell(text, rules, { pane }).verdict.kind;
  test.each(["make \\x2d-eval=x", "pytest \\x2dpevil", "make (touch P)", "make =x", "make ~x/y", "make 'a\\\\'"])(
    "%s asks in fish and zsh",
    (text) => {
      expect([kind(text, "fish"), kind(text, "zsh")]).toEqual(["ask", "ask"]);
    },
  );
  test("plain words run unasked in every shell", () => {
    for (const pane of ["bash", "zsh", "fish", "sh"]) expect(kind("cd x && make -j4 all 2>&1", pane)).toBe("allow");
  });
  test("always is not offered for what shells read differently", () => {
    for (const text of ["pytest \\x2dpevil", "make 'a\\\\'", "mkdir =x"])
      expect(prefixesOf(text, judgeShell(text, RULES))).toBeUndefined();
  });
});
