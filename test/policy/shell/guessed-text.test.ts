/**
 * What a command prints, splits or leaves unset is proven only where the text alone tells it; a guess finds dangers, no
 * more.
 */
import { describe, expect, test } from "bun:test";
import { judgeShell } from "../../../src/policy/shell/judge.ts";
import { RULES, verdictOf } from "./rules.ts";

const asks = (text: string) => expect(verdictOf(text)).toBe("ask");
const reads = (text: string) => expect(verdictOf(text)).toBe("allow");

describe("what a command prints", () => {
  test.each([
    "$(which gdf) touch P",
    "x=$(which gdf); $x kill -9 1",
    "$(type gdf) touch P",
    "sort $(readlink /tmp/x) f",
    "printf '%.0s-oP' x | xargs sort f",
    "printf '%-5s' f -oP | xargs sort",
    "sort \"$(printf '%.0s-oP' x)\" f",
    "printf -v x '%.0s-oP' x; sort \"$x\" f",
    "sort \"$(printf '\\u002doP')\" f",
    "sort \"$(echo -e '\\u002doP')\" f",
    'sort "$(grep -c -r x)" f',
    "sh -c \"echo '\\055oP' | xargs sort f\"",
    "awk $(echo 1 < nowhere) 'BEGIN{system(\"id\")}' f",
    "sort -k1 $(cat < nowhere)",
    "a=$(stat -c %s $f); echo $((a))",
    "a=$(stat -c %n f); echo $((a))",
    "a=$(grep -c x $(pidof y)); echo $((a))",
    "a=$(grep -oE '[0-9]+|x' f); echo $((a))",
    "a=$(grep -o '[0-9]+' f); echo $((a))",
    "a=$(grep -oP 'x|y\\K\\d+' f); echo $((a))",
    "a=$(grep -P '^x\\K\\d+$' f); echo $((a))",
    "a=$(tr -dc '[0-9]' < f); echo $((a))",
    "a=$(tr -dc 0-9a < f); echo $((a))",
    "a=$(cat f || echo 0); echo $((a))",
    "a=$(awk '/x/{print $2}' f); echo $((a))",
    "a=$(awk '/MemTotal/{print $1}' /proc/meminfo); echo $((a))",
    "a=$(cat /proc/sys/kernel/hostname); echo $((a))",
    "a=$(systemctl show -p Id --value x); echo $((a))",
    'a=$(systemctl show -p MainPID --value "$x"); echo $((a))',
    "echo $(( $(cat f) ))",
    "echo $((touch P $(nproc)))",
    "echo $((x $(nproc)))",
    "sort $(pgrep -a x) f",
    "taskset -p $(pidof x)",
    "taskset -p $(pidof -s x | tr 1 ' ')",
    "taskset -p $(pidof -s x | cat -n)",
    "taskset -p $(pgrep x | head -2)",
    "a=$(pgrep -n x | head 1); echo $((a))",
    "ps -o $(pgrep -d, x)",
    "docker inspect $(docker ps --format '{{.Names}}')",
    "sort $(git rev-parse $x)",
    "sort $(git rev-parse x)",
    "find . $(uname -a)",
    "sort f-$(date +%F%n-oP)",
    "[[ $(cat f) -gt 1 ]]",
    'echo $(( $(date -d "$(cat f)" +%s) + $(cat f) ))',
    "for p in $(pgrep x); do cat < /proc/$p/environ; done",
    "for p in $(pgrep x); do cat < /dev/$p; done",
    "for p in $(pgrep x); do cat < /proc/$p/fd/3; done",
    "a=$(uname -r); echo $((a))",
  ])("%s asks", asks);
  test.each([
    "n=$(wc -l < f); echo $((n + 1))",
    "echo $(( $(nproc) * 2 )) $((($(date +%s) - $(stat -c %Y f)) / 86400))",
    "n=$(grep -c x f || true); echo $((n + 1))",
    "u=$(df --output=pcent / | tail -1 | tr -dc 0-9); echo $((100 - u))",
    "t=$(awk '/MemTotal/{print $2}' /proc/meminfo); echo $((t / 1024))",
    "p=$(systemctl show -p MainPID --value nginx); echo $((p + 1))",
    "x=$(grep -oP 'pid=\\K\\d+' f | head -1); echo $((x))",
    "for p in $(ls /proc | grep -E '^[0-9]+$'); do cat /proc/$p/comm; ls /proc/$p/fd | wc -l; done",
    "for p in $(pgrep x); do taskset -cp $p; done",
    "n=$(wc -l < f | tr -d ' '); taskset -p $n",
    "cat f | xargs -n1 journalctl -u",
    "pgrep x | xargs -r ps -o pid,args -p",
    "docker inspect -f '{{.Name}}' $(docker ps -q)",
    "for c in $(docker ps -aq); do docker logs --tail 5 $c; done",
    "git show --stat $(git rev-parse HEAD)",
    "find /lib/modules/$(uname -r) -name '*.ko' | wc -l",
    "sort access-$(date +%F).log",
    "[[ $(wc -l < f) -gt 1 ]] && echo y",
    'echo $(( ($(date -d "$(cat f | cut -d= -f2)" +%s) - $(date +%s)) / 86400 ))',
    "for p in $(pgrep x); do tr '\\0' ' ' < /proc/$p/cmdline; done",
    'n=2; awk "NR==$((n + 1))" f',
    'n=$(grep -c x f); sed -n "${n}p" f',
    "echo f | xargs sort",
    "printf '%s\\n' a b | xargs sort",
    "echo \"$(printf '%-10s' x)\"",
    "cat $(which ls)",
    "ls -l $(readlink -f /bin/sh)",
  ])("%s is still a read", reads);
  test("a guess still finds a danger", () => {
    for (const text of ["echo '-rf /' | xargs rm", "printf '%5s' 'rm -rf /' | sh", "$(which rm) -rf /"])
      expect(verdictOf(text)).toBe("deny");
  });
  test("echo of a shell that is not bash", () => {
    const kind = (text: string) => judgeShell(text, RULES, { shell: "dash" }).verdict.kind;
    expect(kind("echo '\\055oP' | xargs sort f")).toBe("ask");
    expect(kind("echo f | xargs sort")).toBe("allow");
    expect(kind("pwd --help")).toBe("ask");
  });
});

describe("what xargs and env split by themselves", () => {
  test.each([
    "echo '-v x=\\ 1 BEGIN{system(\\\"id\\\")}' | xargs awk",
    "echo \"'-oP'\" | xargs -I{} sort {} f",
    "echo ' -oP' | xargs -I{} sort {} f",
    "printf 'f\\t-oP' | xargs -d '\\t' sort",
    "printf 'f,-oP' | xargs -d '\\054' sort",
    "printf 'f\\v-oP' | xargs sort",
    "cat f | xargs journalctl -u",
    "cat f | xargs ps -p",
    "cat f | xargs -L1 lsof -n -p",
    "cat f | xargs -n1 -L2 journalctl -u",
    "cat f | xargs --max-args=1 -n 5 journalctl -u",
    "echo 's/a/b/ 1wP' | xargs -n1 sed",
    "printf 's/a/b/\\n1wP\\n' | xargs -L1 sed",
    "echo 's/a/b/ 1wP' | xargs -s 12 sed",
    'x=p; true && x=wP; xargs sed -n <<< "$x"',
    "env -S 'sort \"-o\"P f'",
    "env -S 'sort ${X} f'",
    "env -S 'sort \\x2doP f'",
    "nice -n $x ls",
    "xargs -n $x echo",
    "timeout -s $x 5 ls",
  ])("%s asks", asks);
  test.each([
    "echo a b | xargs -n1 cat",
    "ls | xargs -n1 cat",
    "env -S 'ls -l'",
    "nice -n 5 ls",
    "echo a,b | xargs -d, cat",
  ])("%s is still a read", reads);
});

test.each([
  "env -a reboot systemctl",
  "env --argv0=touch busybox cat",
  "env -a lvremove lvs x",
  "env -u GIT_OPTIONAL_LOCKS git status",
  "env -u GIT_PAGER -u PAGER git log",
  "env -uSYSTEMD_PAGER systemctl status",
  "GIT_OPTIONAL_LOCKS=1 git status",
])("a program under another name, or without what keeps it quiet: %s asks", asks);

describe("what a variable holds", () => {
  test.each([
    "x=$(cat VERSION); [ $x = 1 ] && echo y",
    "[ $x ]",
    "read x <<< '\\-oP'; sort $x f",
    "read -u3 x 3<<<-oP <<<f; sort $x f",
    "x=-oP; read -t 0 x <<< f; sort $x f",
    "while read -r a; do :; done <<< f; awk $a 'BEGIN{system(\"id\")}'",
    "IFS=, read -r a b <<< 'f,-oP'; sort $b f",
    'mapfile -t -d, x <<< f,-oP; sort "${x[@]}"',
    "mapfile -s1 -t x <<< $'f\\n-oP'; sort \"${x[0]}\" f",
    "mapfile -t x <<< $'\\nf'; awk ${x[0]} 'BEGIN{system(\"id\")}'",
    'x=([1]=f [0]=-oP); sort "${x[0]}" f',
    'x=(f); x[0]=-oP; sort "${x[0]}" f',
    'x=(f g -oP); sort "${x[@]:2}" f',
    "x=; { x=1; } < nowhere; awk $x 'BEGIN{system(\"id\")}' f",
    "x=; for x in 1; do :; done < nowhere; awk $x 'BEGIN{system(\"id\")}' f",
  ])("%s asks", asks);
  test.each([
    "x=1; [ $x = y ]",
    '[ "$x" = y ]',
    'while read -r a b; do echo "$b"; done <<< "x y"',
    "x=(a b); echo ${x[0]}",
    'mapfile -t x <<< f; cat "${x[0]}"',
  ])("%s is still a read", reads);
});

test("where cd fails, what follows runs where the shell was", () => {
  const kind = (command: string) => judgeShell(command, RULES, { cwd: "/etc" }).verdict.kind;
  expect(kind("cd /nowhere; cat shadow")).toBe("ask");
  expect(kind("cd /nowhere && ls; cat shadow")).toBe("ask");
  expect(kind("cd /nowhere && cat shadow")).toBe("allow");
});

describe("a variable whose name says that it is a secret", () => {
  test.each([
    "echo $DB_PASSWORD",
    'echo "pw: ${API_TOKEN}"',
    "echo ${AWS_SECRET_ACCESS_KEY:0:8}",
    "x=$DB_PASSWORD; echo $x",
    "cat <<< $DB_PASSWORD",
    "ls /x/$DB_PASSWORD",
    '[ -n "$(echo $DB_PASSWORD)" ] && echo y',
    "cat <<E\n$GITHUB_TOKEN\nE",
    '[[ $DB_PASSWORD =~ .* ]]; echo "$BASH_REMATCH" | rev',
    "p=; for c in {a..z}; do [[ $DB_PASSWORD == $p$c* ]] && p=$p$c; done; echo $p",
    "[[ $DB_PASSWORD < m ]] && echo below",
    '[ "$DB_PASSWORD" = hunter2 ] && echo guessed',
    '[[ -n $DB_PASSWORD && "$API_TOKEN" != x* ]] && echo guessed',
    "test $PIN_CODE_SECRET -gt 5000 && echo above",
  ])("%s asks", asks);
  test.each([
    '[ -n "$DB_PASSWORD" ] && echo set',
    "[[ -z $API_TOKEN ]] && echo missing",
    '[ "$API_TOKEN" != "" ] && echo set',
    "[[ -n $DB_PASSWORD && ! -z $API_TOKEN ]] && echo both",
    "[ \"${API_TOKEN}\" == '' ] || test ${#DB_PASSWORD} -gt 8",
    "echo ${#DB_PASSWORD}",
    "echo $HOME $SSH_AUTH_SOCK $PWD",
    "KEY=a; echo $KEY",
    "for key in a b; do echo $key; done",
    "printenv DB_PASSWORD",
  ])("%s is still a read", reads);
});
