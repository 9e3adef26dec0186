/** The examples of docs/policy.md and docs/security.md are judged as these pages say, and are still in them. */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { judgePath } from "../../src/policy/files/paths.ts";
import { judgeUrl } from "../../src/policy/web/urls.ts";
import { verdictOf } from "./shell/rules.ts";

const page = (name: string) => readFileSync(join(import.meta.dir, "../../docs", name), "utf8").replace(/\s+/g, " ");
const PAGES = page("policy.md") + page("security.md");

/** One a line. */
const lines = (text: string): string[] =>
  text
    .split("\n")
    .map((line) => line.trim())
    .filter(Boolean);

const BLOCKED = `
  echo (rm -rf /)
  \\x72m -rf /
  =rm -rf ~
  [[ x || rm -rf / ]]
  find / -delete
`;

const ASKED = `
  echo $((f))
  ps e
  ps auxeww
  pgrep --env
  systemctl show-environment
  $(which x) …
  echo … | xargs -n1 sed
  [ $x = y ]
  {Z..a}
  $x{a,b}
  env -i
  ./ls
  ls /net/HOST
  cat ~/.a*/c*
  sed '$r /etc/shadow'
  xargs cat < list
  cat "$KUBECONFIG"
  echo $DB_PASSWORD
  [[ $DB_PASSWORD == a* ]]
  sort $F
  sort *
  cat f | ssh web1 …
  tr a-z n-za-m < .env
  echo "# $(printenv API_KEY)"
  env | xargs
  read -s
  git clean
  git stash drop
  redis-cli del
  rails db:drop
  flyway clean
  docker volume rm
  compose down -v
  helm uninstall
  terraform destroy
  restic forget
  borg delete
  usermod -L
  passwd -l
`;

const READ = `
  ps -p $(pidof nginx)
  docker inspect $(docker ps -q)
  find /lib/modules/$(uname -r)
  LC_ALL=C
  [ -n … ]
  sort ./*
  test -w
  findmnt
  printenv
  sed 's/./&-/g'
`;

const OPERATOR = `
  ping -c
  mtr -r
  nc -z
  iptables -L
  nginx -t
  sshd -t
  dnf list
  apk version
  dmsetup ls
  ipmitool sensor
  echo mntr | nc HOST PORT
  echo 'show stat' | socat - /run/haproxy/admin.sock
`;

/** What a page leaves open, filled in. */
const WHOLE: Readonly<Record<string, string>> = {
  "$(which x) …": "$(which x) a",
  "echo … | xargs -n1 sed": "echo a | xargs -n1 sed",
  "{Z..a}": "echo {Z..a}",
  "$x{a,b}": "echo $x{a,b}",
  "env -i": "env -i ls",
  "sed '$r /etc/shadow'": "sed '$r /etc/shadow' f",
  "cat f | ssh web1 …": "cat f | ssh web1 cat",
  "LC_ALL=C": "LC_ALL=C ls",
  "[ -n … ]": '[ -n "$DB_PASSWORD" ]',
  "sed 's/./&-/g'": "sed 's/./&-/g' f",
  "test -w": "test -w f",
  "pgrep --env": "pgrep --env X",
  "compose down -v": "docker compose down -v",
  "redis-cli del": "redis-cli del k",
  "docker volume rm": "docker volume rm v",
  "helm uninstall": "helm uninstall x",
  "ping -c": "ping -c 1 x",
  "mtr -r": "mtr -r x",
  "nc -z": "nc -z x 80",
  "echo mntr | nc HOST PORT": "echo mntr | nc HOST 2181",
  "restic forget": "restic forget --keep-last 1",
  "borg delete": "borg delete r",
  "usermod -L": "usermod -L x",
  "passwd -l": "passwd -l x",
};

test.each([
  ["blocked", "deny", BLOCKED, {}],
  ["asked about", "ask", ASKED, {}],
  ["run without a question", "allow", READ, {}],
  ["run with the preset operator", "allow", OPERATOR, { autoApprove: "operator" }],
  ["asked about without the preset", "ask", OPERATOR, {}],
] as const)("commands that the pages call %s", (_, verdict, examples, rules) => {
  const all = lines(examples);
  expect(all.filter((example) => !PAGES.includes(`\`${example}\``))).toEqual([]);
  expect(all.filter((example) => verdictOf(WHOLE[example] ?? example, rules) !== verdict)).toEqual([]);
});

test("hosts that the page calls refused, and lists as it describes them", async () => {
  const kind = async (url: string, allow: readonly string[] = []) => (await judgeUrl(url, { allow, deny: [] })).kind;
  for (const host of ["localhost", "a.localhost", "ip6-localhost", "a.local", "a.internal", "a.lan", "a.home.arpa"])
    expect([host, await kind(`http://${host}/`)]).toEqual([host, "deny"]);
  expect(await kind("https://a.example.com/", ["example.com"])).toBe("allow");
  expect(await kind("https://notexample.com/", ["example.com"])).toBe("deny");
  expect(await kind("http://10.1.2.3/", ["10.0.0.0/8"])).toBe("allow");
});

test("places that the page names", () => {
  const kind = (path: string, more: object = {}) =>
    judgePath({ path, home: "/home/u", caseInsensitive: false, ...more }, { allowedRoots: [] }).kind;
  const refused = ["/etc/x", "/usr/x", "/boot/x", "/dev/x", "/proc/x", "/sys/x", "/run/x", "/var/lib/x"];
  expect(refused.filter((path) => kind(path) !== "deny")).toEqual([]);
  const fine = ["/tmp/x", "/var/tmp/x", "/dev/shm/x", "/run/user/0/x"];
  expect(fine.filter((path) => kind(path) !== "allow")).toEqual([]);
  const always = ["/srv/app/.git/x", "/srv/authorized_keys", "/srv/sudoers", "/srv/crontab", "/x"];
  expect(always.filter((path) => kind(path) !== "ask")).toEqual([]);
  expect(kind("/etc/hosts", { sudo: true })).toBe("ask");
});
