/**
 * Texts that once ran unasked, escaped a block or showed a secret, and their relatives: a class each, for bash and for
 * machines without it.
 */
import { describe, expect, test } from "bun:test";
import { judgeShell } from "../../../src/policy/shell/judge.ts";
import { RULES, verdictOf } from "./rules.ts";

const kinds = (text: string, cwd?: string) =>
  ["bash", "dash", "zsh", "fish"].map(
    (shell) => judgeShell(text, RULES, { shell, ...(cwd === undefined ? {} : { cwd }) }).verdict.kind,
  );
const asks = (text: string) => {
  const seen = kinds(text);
  expect(seen.filter((kind) => kind === "allow")).toEqual([]);
};
const blocks = (text: string) => expect(new Set(kinds(text))).toEqual(new Set(["deny"]));

describe("nothing closes or replaces the pipe by which the end of a text is known", () => {
  test.each([
    "sleep 600 9>&-",
    "cat <(sleep 600 9>&-)",
    "sleep 600 9>/dev/null",
    "sleep 600 12<f",
    "n=9; sleep 600 {n}>&-",
    'n=9; eval "sleep 600 $n>&-"',
    "bash -c 'sleep 600 9<&-'",
    "ls >&9",
    "sleep 600 3>&9-",
    "cat 9<<<x",
  ])("%s", asks);
  test("the low ones are free", () =>
    expect(["ls 3>&-", "ls 2>&1 8>&1"].map((text) => verdictOf(text))).toEqual(["allow", "allow"]));
});

describe("what bash makes of braces is text that it expands once more", () => {
  test.each([
    "echo {Z..a..6}touch${IFS}P{Z..a..6}'`'",
    "echo {a..Z}id{a..Z}'`'",
    "echo {x,{A..z}}",
    "echo {1..1000000000}",
    "sort {+1..3}",
    "sort {01..03}",
    "x=f; xa=-oP; sort $x{a,b}",
    "x=f; x1=-oP; sort $x{1..2}",
    "x=f; xa=-oP; sort {$x,b}a",
    "x=f; xa=-oP; sort {c,$x{a,b}}",
    "xa=-oP; sort {$,b}xa",
    "sort {$,x}'\\x2doP'",
    "sort {a,{b,{c,{d,{e,{f,{g,{h,{i,{j,{k,{l,-oP}}}}}}}}}}}}",
    "sort {a,b{,c}{,c}{,c}{,c}{,c}{,c}{,c}{,c}{,-oP}}",
  ])("%s asks", asks);

  test.each(["echo {1..9}", "echo {a..e}", "ls {a,b}{c,d}", "cat $HOME/x/{a,b}", "ls ${x}{a,b}", "cat {a,{b,c}}.txt"])(
    "%s is still a read",
    (text) => expect(kinds(text)[0]).toBe("allow"),
  );
});

describe("single quotes are text in an expansion that is quoted itself", () => {
  test.each([
    "cat <<E\n${x:-'$(id>P)'}\nE",
    "cat <<E\n\"${x:-'`id>P`'}\"\nE",
    "cat <<E\n${x:-$'$(id>P)'}\nE",
    "cat <<E\n${x='$(id>P)'}\nE",
    "x=a; cat <<E\n${x:+${x:+'$(id>P)'}}\nE",
    "cat <<E\n${x:-'}$(id>P)${y:-'}\nE",
    "echo \"${x:-$'$(id>P)'}\"",
    "echo \"${x:-$'`id>P`'}\"",
    "echo \"a ${x+b${y-$'$(id>P)'}}\"",
    'echo "${x:-\'}"; touch P; echo "\'}"',
    'echo "${x#\'}"; touch P; echo "\'}"',
  ])("%s asks", asks);

  test.each(["echo \"${x:-'none'}\"", "cat <<E\nit's ${x:-none} $(date)\nE"])("%s is still a read", (text) =>
    expect(kinds(text)[0]).toBe("allow"),
  );
});

describe("a script that loads other files may load a secret", () => {
  test.each([
    'jq -n \'import "config" as $d {search:"~/.docker"}; $d\'',
    "jq -n 'include \"x\"; .'",
    "jq -L ~/.docker . f",
    'jq -n "$(date \'+import \\"config\\" as $d; $d\')"',
    'jq "$x" f',
    "jq *",
    'yq -n \'load_str("/etc/" + "shadow")\'',
    "yq '.a = load(\"x\")' f",
  ])("%s asks", asks);
});

describe("a name that a format makes may be that of a file of keys", () => {
  test.each([
    "date +/etc/shadow | xargs cat",
    "cat $(date +/etc/shadow)",
    "cat /var/log/$(date +../../etc/shadow)",
    "x=$(date +/etc/sh%nadow); cat $x",
    "printf '%c%s' / etc/shadow | xargs cat",
    "printf '%s%.0d' /etc/shadow 0 | xargs cat",
    "head -1 $(printf '%.4s%s' /etcx /shadow)",
    "echo '/etc/shad\\0157w' | xargs cat",
    "find . -maxdepth 0 -printf '/etc/shad\\157w' | xargs cat",
    "stat -c %n/etc/shadow . | xargs cat",
    "ls -l --time-style=+/etc/shadow | cut -d' ' -f6 | xargs cat",
    "basename .envx x | xargs cat",
    "basename -a -s x .envx | xargs cat",
    `docker ps --format '/etc{{"/"}}shadow' | xargs cat`,
  ])("%s asks", asks);

  test.each([
    "cat /var/log/app-$(date +%F).log",
    "cat app.$(date +%Y%m%d-%H:%M)",
    "cat f-$(printf '%03d' 1).log",
    "cat $(find . -name '*.log' -printf '%T@ %p\\n' | sort -n | tail -1 | cut -d' ' -f2)",
    "stat -c '%n %s' *.log | cut -d' ' -f1 | xargs cat",
    "basename -a x/a.log y/b.log | xargs cat",
    "docker inspect --format '{{.LogPath}}' x | xargs tail",
    "printf '%s\\n' *.log | xargs cat",
    "grep -rl x . | xargs cat",
  ])("%s is still a read", (text) => expect(kinds(text)[0]).toBe("allow"));
});

describe("a name is a number only where the same text made it one", () => {
  test.each([
    "echo $((f))",
    "echo $((x+1))",
    "echo $(( $x ))",
    "echo $(( ${x} ))",
    "echo $((HOME))",
    "echo $((USER))",
    "echo ${x:f}",
    "echo ${x:0:f}",
    "echo ${x: -f}",
    "echo ${a[f]}",
    "echo ${#a[f]}",
    "a[f]=1",
    "a=([f]=1)",
    "[[ f -eq 1 ]]",
    "[[ 1 -lt $f ]]",
    "[[ -v a[f] ]]",
    "[[ -v $x ]]",
    "test -v 'a[f]'",
    '[ -v "$x" ]',
    "(( f ))",
    "for ((i=0; i<n; i++)); do echo $i; done",
    "echo ${!x}",
    "x=1; x=$(cat f); echo $((x))",
    "read x < f; echo $((x))",
    "printf -v x %s 'a[$(id>P)]'; echo $((x))",
    "for x in 1 'a[$(id>P)]'; do echo $((x)); done",
    "mapfile -t a < f; echo $((a))",
    "bash -c 'echo $(($1))' _ 'a[$(id>P)]'",
    "f='a[$(id>P)]'; echo $((f))",
    "f='a[$(id>P)]'; echo ${x:f}",
    "f='a[$(id>P)]'; [[ f -eq 1 ]]",
    "f=g; g='a[$(id>P)]'; echo $((f))",
  ])("%s asks", asks);

  test.each([
    "echo $((1+2))",
    "x=3; echo $((x*x))",
    "n=$(ls | wc -l); echo $((n+1))",
    "for i in 1 2 3; do echo $((i*2)); done",
    "i=0; while [ $i -lt 3 ]; do echo $i; i=$((i+1)); done",
    "for ((i=0; i<3; i++)); do echo $i; done",
    "a=(1 2 3); echo ${a[1]}",
    "x=abc; echo ${x:0:2}",
    "echo $((RANDOM % 6))",
    "echo $((0x1f + 16#ff))",
    "s=$(date +%s); echo $((s / 60))",
  ])("%s runs unasked in bash", (text) => expect(kinds(text)[0]).toBe("allow"));
});

describe("variables in front of a command and for later ones", () => {
  test.each([
    "COLUMNS='path[$(id>P)1]' ls",
    "LINES='path[$(id>P)1]' ls",
    "COLUMNS=x ls",
    "LANG=(touch P) ls",
    "LANG='(touch P)' ls",
    "LANG=../../x ls",
    "LANG=$X ls",
    "LC_ALL=`id` ls",
    "TZ=/etc/shadow date",
    "PAGER=./x git log",
    "FOO=bar ls",
    "LD_PRELOAD=./x.so ls",
    "PATH=. ls",
    "PATH=.:$PATH; ls",
    "NODE_OPTIONS='-r ./x'; ls",
    "GIT_EXTERNAL_DIFF=./x git diff",
    "COLUMNS='path[$(id>P)1]'; ls",
    "LANG=x/y; ls",
    "read PATH < f; ls",
    "for LD_PRELOAD in ./x.so; do ls; done",
    ": ${BASH_ENV:=./x}; ls",
    "printf -v PATH %s .; ls",
    "http_proxy=x; ls",
    "x=(1)prog",
    "TERM=../x ls",
  ])("%s asks", asks);

  test.each([
    "LC_ALL=C sort f",
    "LANG=en_US.UTF-8 date",
    "TZ=UTC date",
    "TZ=Europe/Berlin date",
    "COLUMNS=120 ps aux",
    "NO_COLOR=1 ls",
    "PAGER=cat git log -1",
    "SYSTEMD_PAGER= systemctl status x",
    'F=/etc/hosts; cat "$F"',
    'log_file=/var/log/syslog; tail -5 "$log_file"',
    "START_DATE=2024-01-01; echo $START_DATE",
  ])("%s runs unasked in bash", (text) => expect(kinds(text)[0]).toBe("allow"));
});

describe("text for another shell is judged by what all shells share", () => {
  test.each([
    "sh -c '((a/b))'",
    "dash -c '[[ x || rm == y ]]'",
    "fish -c 'LANG=(touch P) ls'",
    "zsh -c 'x=(1)prog'",
    "zsh -c ls",
    "fish -c ls",
    "csh -c ls",
    "busybox sh -c '((a/b))'",
    "sh -c 'echo $((f))'",
    "sh -c \"printf '%d' 'path[\\$(id>P)1]'\"",
    "env sh -c 'x=(1)prog'",
    "eval \"sh -c '((a/b))'\"",
  ])("%s asks", asks);

  test.each(["sh -c 'ls -la'", "bash -c 'for f in a b; do echo $f; done'", "sh -c 'cat f 2>/dev/null | wc -l'"])(
    "%s runs unasked in bash",
    (text) => expect(kinds(text)[0]).toBe("allow"),
  );
});

describe("buddy's own variables, marks and files", () => {
  test.each([
    "echo $__buddy_key",
    'echo "${__buddy_key}"',
    "echo ${!__buddy*}",
    "x=__buddy; echo ${x}_key",
    "echo __bud''dy_key",
    "printf '\\033]7771;x'",
    "printf '\\033]77''71;x'",
    ": <(sleep 2; printf '\\033]7771;%s;P;900;0;0;/scratch\\a' \"$__buddy_key\" >&2)",
    "cat /tmp/buddy-1000/x",
    "ls /tmp/buddy-0",
    "grep -r . /tmp",
    "rg key /tmp",
    "cd /tmp && grep -rn '' .",
    "find /tmp -type f -exec cat {} +",
    "find /tmp -type f | xargs cat",
    "find /tmp -name key -exec cat {} +",
    "find / -name key -exec cat {} +",
    "find /tmp -maxdepth 3 -name '[k]ey' -exec cat {} +",
    "find /tmp -name key | xargs cat",
    "find /tmp -type d -execdir cat key ';'",
    "find ~ -execdir cat .netrc ';'",
    "ls /tmp | xargs -I{} cat /tmp/{}/x/key",
    "grep -r . ~/.cache",
    "grep -r . /dev/shm",
    "cat /dev/shm/buddy-0/s/run",
    "cd /tmp/buddy-0 && cat direct-1/out",
    "cat /tmp/bud*/x",
    "cat .buddyx/sessions/x.jsonl",
    "ls .buddyx",
    "cat ~/.local/state/buddy/key",
    "wc -l < /tmp/buddy-0/x",
  ])("%s asks", asks);
});

describe("reading a device may disturb it, whatever directory its name counts from", () => {
  test.each([
    "cd /dev; cat watchdog",
    "cd /dev && head -c1 w*",
    "cd /; wc -c dev/watchdog",
    "cd /dev; cat < watchdog",
    "cd /dev; sed p sda",
    "cd /dev; ls | xargs cat",
    'cd /dev; for f in *; do cat "$f"; done',
  ])("%s asks", asks);
  test("where the shell is counts, too", () => {
    expect(kinds("cat watchdog", "/dev")).not.toContain("allow");
    expect(kinds("ls -l sda", "/dev")[0]).toBe("allow");
  });
});

describe("reads that act, or ask another machine", () => {
  test.each([
    "cat /sys/kernel/debug/dri/0/i915_wedged",
    "cat /sys/kernel/debug/tracing/per_cpu/cpu0/trace_pipe_raw",
    "grep -r . /sys/kernel",
    "find /sys -type f -exec cat {} +",
    "find /dev -type c -exec head -c1 {} +",
    "cat /sys/kernel/*/x",
    "cat /run/initctl",
    "xxd -s 4096 -l 64 /proc/7/task/7/mem",
    "ls /net/files.example.com",
    "test -e /net/secret.example.com",
    "cat < /afs/example.com/x",
    "cd /net && cat host/x",
    "cd /afs && cat example.com/x",
  ])("%s asks", asks);
  test.each([
    "grep -r . /sys/class/net/eth0",
    "find /sys/class/net -name carrier -exec cat {} +",
    "cat /sys/kernel/mm/transparent_hugepage/enabled",
    "ls /net /sys/kernel/debug",
    "cat net/host/x",
  ])("%s is still a read", (text) => expect(kinds(text)[0]).toBe("allow"));
});

describe("variables that become text of another command", () => {
  test.each([
    'echo "# $(printenv API_KEY)"',
    'ls "$(printenv API_KEY)"',
    'cat <<< "error: $(printenv API_KEY)"',
    "printenv API_KEY | xargs id",
    'env | while read -r l; do echo "# $l"; done',
    'x=$(env); echo "PATH=$x"',
    "mapfile -t a < <(env); echo ${a[0]}",
  ])("%s asks", asks);
  test.each([
    "printenv API_KEY",
    "env | sort | grep -i proxy",
    'ls "$(printenv HOME)"',
    "printenv PATH | tr : '\\n'",
    "env | cut -d= -f1 | sort",
    "cd /srv && env | grep -i proxy || echo none",
    'env | wc -l; for f in *; do wc -l "$f"; done',
  ])("%s is still a read", (text) => expect(kinds(text)[0]).toBe("allow"));
});

describe("a search that is limited to files of keys", () => {
  test.each([
    "grep -rhoE '.{4}' --include='.e*' .",
    "grep -rh . --include '.en?' .",
    "rg --hidden -g '.e*' . src",
    "rg --hidden -g.env x",
    "rg --hidden --glob='id_*' .",
  ])("%s asks", asks);
  test.each([
    "grep -rn x --include='*.ts' .",
    "grep -r x --include='*' src",
    "rg -g '!.env' x",
    "rg -g '*.{ts,js}' x src",
  ])("%s is still a read", (text) => expect(kinds(text)[0]).toBe("allow"));
});

describe("variables whose values a text would tell piece by piece", () => {
  test.each([
    // What is printed gets a name; the same made of a guess gets the same name.
    `jq -rn 'env.API_KEY | explode[] | "xxxxxxxx\\(.)"'`,
    "jq -n '$ENV.API_KEY[0:1]'",
    "jq -n '$ ENV'",
    "jq -n '{a: 1, b: env}'",
    "jq -n '-env.API_KEY'",
    "yq -n 'strenv(API_KEY)'",
    "yq -n 'env(API_KEY)'",
    "yq -n '\"$API_KEY\" | envsubst'",
    "printenv API_KEY | fold -w1",
    "printenv API_KEY | cut -c1",
    "env | sed 's/./& /g'",
    "env | sort -t= -k2.1,2.1",
    "env | uniq -s 12",
    'for c in a b c; do env | grep -q "^API_KEY=$c" && ls -d "/$c"; done',
    'while true; do printenv API_KEY | grep -c "^a"; done',
    "{ printenv API_KEY; echo A; echo B; } | sort",
    "(printenv API_KEY; echo A) | sort",
    "env | grep KEY=a; env | grep KEY=b; env | grep KEY=c; env | grep KEY=d",
  ])("%s asks", asks);
  test.each([
    "jq '.spec.containers[].env' f",
    "jq '{name, env: .env}' f",
    "jq '{env, name}' f",
    "jq --arg env prod '.[$env]' f",
    `jq '.["env"]' f`,
  ])("%s is still a read", (text) => expect(kinds(text)[0]).toBe("allow"));
});

test("a variable that another one names is not set unasked", () => {
  asks("x=IFS; echo ${!x:=a}");
  expect(kinds("x=HOME; echo ${!x:-a}")[0]).toBe("allow");
});

describe("files of keys", () => {
  test.each([
    "cat ~/.a*/c*",
    "cat /etc/ssh/*",
    "cat $(ls -A)",
    "ls -A | xargs cat",
    "locate shadow | xargs cat",
    "jq -R . .env",
    "jq --arg a b -R . server.key",
    "jq -n --rawfile a server.key '$a'",
    "cat *pass.txt vault_p*",
    "cat github_ed25519",
    "cat wg0.conf",
    'yq \'eval("lo" + "ad(.a)")\' f',
    "cat ~/.a?s/credentials",
    "cat ~/.[a]ws/cred*",
    "cat /etc/../etc/shadow",
    "cat /usr/../etc/./shadow",
    "cat //etc//shadow",
    "cat /proc/self/root/etc/shadow",
    "cat /etc/sh[a]dow",
    "cat /etc/{shadow,hosts}",
    'wc -l <~/.ssh/"id_rsa"',
    "cat < ~/.ss''h/id_rsa",
    "cat < /etc/../etc/shadow",
    "read x < ~/.netrc; echo $x",
    "echo $(<~/.ssh/id_rsa)",
    "while read l; do echo $l; done < ~/.pgpass",
    "sed '$r /etc/shadow' f",
    "sed -n '$r /etc/shadow' f",
    "sed -e '1R /etc/shadow' f",
    "grep -r x ~/.ssh",
    "grep -rn '' ~",
    "grep -R password /root",
    "rg token ~/.config",
    "cd ~; grep -r x",
    "cd /etc && rg x",
    "git show HEAD:.env",
    "cd ~/.ssh && ls | xargs cat",
    "grep -f /etc/shadow f",
    "grep -f/etc/shadow f",
    "diff /dev/null /etc/shadow",
    "cat /proc/*/environ",
    "cat /proc/$$/environ",
    "cat /proc/self/task/1/environ",
    "tr '\\0' '\\n' < /proc/1/environ",
    "xargs -0 -a /proc/1/environ echo",
    "cat .env",
    "cat app/.env.production",
    "head -1 ~/.kube/config",
    "cat /etc/kubernetes/admin.conf",
    "find ~ -name id_rsa -exec cat {} +",
    "find ~ -name 'id_*' -exec cat {} \\;",
    "find / -name shadow -exec cat {} +",
    "find ~ -type f -exec cat {} +",
    "find ~ -name id_rsa | xargs cat",
    "find / -name shadow -print0 | xargs -0 head",
    "ls -d ~/.ssh/* | xargs cat",
    "cat $(find ~ -name id_rsa)",
    "cat $(echo /rgp/funqbj | tr a-z n-za-m)",
    "cd ~/.ssh && cat id_rsa",
    "cd ~/.ssh; cat *",
    "cd /etc; cat shadow",
    "cd /; head etc/shadow",
    "(cd ~/.aws && cat credentials)",
    "env -C /etc cat shadow",
    "tar cf - ~/.ssh",
    "zip -r - ~/.gnupg",
    "dd if=/etc/shadow",
    "xxd ~/.ssh/id_rsa",
    "base64 ~/.ssh/id_ed25519",
    "od -c /etc/shadow",
    "strings ~/.netrc",
    "file -f /etc/shadow",
    "date -f /etc/shadow",
    "du --files0-from=/etc/shadow",
    "awk 1 /etc/shadow",
    "cat ~root/.ssh/id_rsa",
    "d=.ssh; cat ~/$d/id_rsa",
    "cat server.key",
    "cat /etc/ssl/private/x.pem",
    "cat /run/secrets/db",
    "cat /proc/self/root/../etc/shadow",
    "cat /proc/self/cwd/../etc/shadow",
    "cat /proc/self/task/1/root/etc/shadow",
    "cat /proc/1/r*t/etc/shadow",
    "cat /var/run/../etc/shadow",
    "cat link/../shadow",
    "cd -P /var/run/..; cat etc/shadow",
    "cd /proc/1/root && cat etc/shadow",
    "grep -d recurse x /etc",
    "grep --directories=recurse x /root",
    "git grep --no-index -h . ~",
    "git diff --no-index /x ~",
    "diff /etc copies",
    "diff /etc ./shadow",
    "find ~ -type f -exec grep -h KEY {} +",
    "find / -name '*.pem' -exec cat {} +",
    "find ~ -name '?n*' | xargs cat",
    "find ~ -newer x | xargs cat",
    "find / -samefile x -exec cat {} +",
    "find /etc -regex '.*/sha.*' | xargs cat",
    'cat "$KUBECONFIG"',
    "cat $GOOGLE_APPLICATION_CREDENTIALS",
    "printenv KUBECONFIG | xargs cat",
    "cat $(cat list)",
    'cat "$(<list)"',
    "xargs cat < list",
    "xargs -a list cat",
    "xargs -a list wc",
    "xargs -a list ls",
    "xargs wc < list",
    "cat list | xargs wc -c",
    "cat list | xargs md5sum",
    "wc -l $(cat list)",
    "jq -r .path f.json | xargs file",
    'while read f; do cat "$f"; done < list',
    'mapfile -t a < list; cat "${a[@]}"',
    "while read d; do cat $d/credentials; done < list",
    "jq -r .path f.json | xargs cat",
    "git show HEAD:list | xargs cat",
    'cat $(awk \'BEGIN{print "/etc/sha" "dow"}\')',
    "ls / | sed 's,.*,/etc/sh\\adow,' | xargs cat",
    "git diff --no-index /dev/null /etc/shadow",
  ])("%s asks", asks);

  test("a relative name counts from the directory of the shell", () => {
    expect(kinds("cat shadow", "/etc")[0]).toBe("ask");
    expect(kinds("cat id_dsa_old", "/home/me/.ssh")[0]).toBe("ask");
    expect(kinds("cat credentials", "/home/me/.aws")[0]).toBe("ask");
    expect(kinds("cd .. && cat .ssh/x", "/home/me/src")[0]).toBe("ask");
    expect(kinds("wc -l < environ", "/proc/1")[0]).toBe("ask");
    expect(kinds("cat shadow", "/srv")[0]).toBe("allow");
  });

  test.each([
    "ls -la ~/.ssh",
    "ls ~/.ssh | wc -l",
    "stat /etc/shadow",
    "cat ~/.ssh/id_rsa.pub",
    "cat ~/.ssh/*.pub",
    "cat ~/.ssh/config",
    "cat ~/.ssh/known_hosts",
    "cat /etc/passwd",
    "cat /etc/nginx/*",
    "cat /etc/*.conf",
    "cat .env.example",
    "grep -rn TODO src",
    "grep -n foo *",
    "grep id_rsa README.md",
    "head -3 /var/log/*",
    "find . -name '*.json' -exec grep -l x {} +",
    "find /etc -name '*.conf' -exec grep -l x {} +",
    "git ls-files | xargs grep -n foo",
    'cat "$(ls -t | head -1)"',
    'cat "$(systemctl show -p FragmentPath --value nginx)"',
    "git diff --name-only | xargs grep -n foo",
    "grep -rl foo src | xargs grep -n bar",
    "find . -name '*.py' | while read -r f; do head -1 \"$f\"; done",
    'while read -r h; do grep "$h" /etc/hosts; done < hosts.txt',
    "tail -n 3 $LOGFILE",
    "timeout 5 ls ~/.ssh",
  ])("%s runs unasked in bash", (text) => expect(kinds(text)[0]).toBe("allow"));
});

describe("blind git add and forced push, however they are written", () => {
  test.each([
    "git add --a",
    "git add --al",
    "git add --u",
    "git add -u",
    "git add --upd",
    "git add --no-ignore-rem",
    "git add '?*'",
    "git add '[a-z]*'",
    "git add '*.*'",
    "git add ':/'",
    "git add ':/*'",
    "git add ':(top)'",
    "git add ':(glob)**'",
    "git add ':(top,glob)**/*'",
    "git add ':!x'",
    "git add ':^x'",
    "git add ':(exclude)x'",
    "git add -n --no-dry-run -A",
    "git add --dry-run --no-dry-run .",
    "git add -vA",
    "git stage --al",
    "git push --forc",
    "git push --for origin main",
    "git push --mir",
    "git push origin +main",
    "git push origin main +dev",
    "git push --no-force --force",
    "git push -uf origin main",
    "git send-pack --force x",
    "git send-pack --mirror x",
    "git send-pack x +main",
    "git http-push -f x main",
  ])("%s is blocked", blocks);

  test.each([
    "git add src",
    "git add -n -A",
    "git add '*.ts'",
    "git add --update src",
    "git add -p",
    "git push --force-with-lease",
    "git push --follow-tags",
    "git push --force --no-force",
    "git push origin main",
  ])("%s is not", (text) => expect(kinds(text)).not.toContain("deny"));
});

describe("deleting what must stay", () => {
  test.each([
    "rm -rf ~/Documents",
    "rm -rf $HOME/x",
    'rm -rf "$HOME/x y"',
    "rm -r ${HOME}/a/b/c",
    "rm -r ~root/x",
    "rm --recursive ~/x",
    "rm --r ~/x",
    "h=$HOME; rm -rf $h/x",
    "rm -rf ~/x/*",
    "sudo rm -rf ~/x",
    "rm -rf --no-pres /",
    "find / -size -1000000G -delete",
    "find / -size +0 -delete",
    "find / -size -1G -delete",
    "find / -newermt 1970-01-01 -delete",
    "find / -newermt '100 years ago' -delete",
    "find / -newerct @0 -delete",
    "find ~ -mtime -99999 -delete",
    "find ~ -mmin +0 -delete",
    "find / -atime +0 -delete",
    "find / -user root -delete",
    "find / -uid 0 -delete",
    "find / -uid +0 -delete",
    "find / -perm -000 -delete",
    "find / -perm /777 -delete",
    "find / -links +0 -delete",
    "find / -inum +0 -delete",
    "find . -name '?*' -delete",
    "find . -name '[!x]*' -delete",
    "find . -path './*' -delete",
    "find . -regex '.*' -delete",
    "find . -regex '\\./.+' -delete",
    "find / -true -delete",
    "find / -name '*' -exec rm {} +",
    "find / -size -1000000G -exec rm -f {} \\;",
  ])("%s is blocked", blocks);

  test.each([
    "rm -rf /home/me/x",
    "rm ~/x",
    "rm -rf build",
    "find . -name '*.pyc' -delete",
    "find . -mtime +30 -delete",
    "find . -type f -size +100M -delete",
    "find /var/log -name '*.gz' -mtime +7 -delete",
    "find ~/p -name node_modules -exec rm -rf {} +",
    "find . -empty -delete",
  ])("%s is not", (text) => expect(kinds(text)).not.toContain("deny"));

  test("the directory of the shell counts", () => {
    expect(kinds("rm -rf etc", "/")[0]).toBe("deny");
    expect(kinds("rm -rf ../me", "/home/me")[0]).toBe("deny");
    expect(kinds("rm -rf x", "/srv/app")[0]).toBe("ask");
    expect(kinds("git add /srv/app", "/srv/app")[0]).toBe("deny");
  });
});

describe("a danger in the reading of any shell is blocked", () => {
  test.each([
    // fish
    "echo (rm -rf /)",
    "echo (r''m -rf /)",
    '[[ x || r""m -rf / ]]',
    "ls (rm -rf ~)",
    "rm -rf (echo /)",
    "eval (echo rm -rf /)",
    "\\x72m -rf /",
    "r\\x6d -rf /",
    "\\u0072m -rf /",
    "\\162m -rf /",
    "git push \\x2d-force",
    "git add \\x2dA",
    "begin; rm -rf /; end",
    "if true; rm -rf /; end",
    "while true; git add -A; end",
    "and rm -rf /",
    "not rm -rf /",
    "function f; f | f &; end; f",
    "function f; rm -rf /; end",
    "echo 'a\\'; rm -rf /; echo '",
    "eval echo \\nrm -rf /",
    "LANG=(rm -rf /) ls",
    "set x /; rm -rf $x",
    "set -g x /; rm -rf $x",
    "rm -rf (pwd)",
    "docker exec web fish -c 'echo (rm -rf /)'",
    // zsh
    "=rm -rf ~",
    "=git push --force",
    "rm -rf ~/*(D)",
    "repeat 3 rm -rf /",
    "repeat 3 { rm -rf / }",
    "for x (a b) rm -rf /",
    "if (( 1 )) { rm -rf / }",
    "foreach x (a)\nrm -rf /\nend",
    "- rm -rf /",
    "noglob rm -rf /",
    "x=(1)rm -rf /",
    "x=/; rm -rf ${~x}",
    "x=/; rm -rf $=x",
    "ssh h '=rm -rf /'",
    // POSIX
    "((rm -rf /))",
    "[[ x || rm -rf / ]]",
    "[[ x && git push --force ]]",
    "[[ x; rm -rf / ]]",
    "echo ${ rm -rf /; }",
    "echo ${|rm -rf /; }",
    "true | ! rm -rf /",
  ])("%s", blocks);

  test.each([
    "git commit -m '(rm -rf /)'",
    "echo '(rm -rf /)'",
    'echo "(rm -rf /)"',
    "cat <<'E'\n(rm -rf /)\nE",
    "# (rm -rf /)\nls",
    "find . \\( -name a -o -name b \\) -print",
    "case x in rm) ls;; esac",
    "cd /tmp/x && (rm -rf *)",
    "grep -E '(rm -rf /|git push --force)' f",
    "arr=(git push); echo ${arr[0]}",
    "echo 'begin; rm -rf /; end'",
  ])("%j only mentions one", (text) => expect(kinds(text)).not.toContain("deny"));
});

test.each([
  ["echo 1<(touch P)", "ask"],
  ["ls {x}>(touch P)", "ask"],
  ["for x in 1<(touch P); do ls; done", "ask"],
  ["[[ 1<(touch P) ]]", "ask"],
  ["cat <<E\n$(echo 1<(touch P))\nE", "ask"],
  ["echo \"it's\" 1<(rm -rf /) 'x'", "deny"],
] as const)("a number right in front of a process substitution hides nothing: %j", (text, kind) => {
  expect(verdictOf(text)).toBe(kind);
});

describe("output that goes to a file which was opened for reading", () => {
  test.each([
    "echo x 3<f >/dev/fd/3",
    ": < f > /dev/fd/0",
    "(echo x >/dev/fd/5) 5<f",
    "echo x 1<f >/dev/stdout",
    "{ echo x >/dev/stdout; } <f 1>&0",
    "{ echo x 2>/dev/stderr; } 2<f",
    "ls >&3",
  ])("%s asks", asks);
  test.each(["ls > /dev/stderr", "ls 2>&1", "ls >&2", "ls 2>/dev/null 1>&2", "cat <&0"])("%s runs unasked", (text) =>
    expect(kinds(text)[0]).toBe("allow"),
  );
});

describe("what one version of a program reads otherwise than another", () => {
  test.each([
    // busybox awk goes on after a line that ends in any operator.
    "awk 'BEGIN{print 1 +\n 2 > \"P\"}'",
    "awk 'BEGIN{print 1 /\n 2 > \"P\"}'",
    "awk 'BEGIN{print 1 in # x\n a > \"P\"}'",
    "awk 'BEGIN{print a =\n 2 > \"P\"}'",
    // BSD sed, and GNU sed with POSIXLY_CORRECT, take no option behind an operand.
    "sed 'w P' -e p",
    "sed '1e touch P' -n --expression=p f",
    // busybox find ends a command at any +.
    "find . -exec echo {} a + -exec touch P \\;",
    "find . -exec echo {} a + -delete -exec echo b \\;",
    // The time-out of an old busybox is an option.
    "timeout ./evil ls",
    // yq has many names for it, and jq a file.
    "yq -n 'strload(\"x\")'",
    "jq -rf prog.jq f",
  ])("%s asks", asks);

  test("find . -exec echo {} a + -exec rm -rf / \\; is blocked", () =>
    blocks("find . -exec echo {} a + -exec rm -rf / \\;"));

  test.each([
    "awk '{ print $1\n if ($1 > 3) n++ }' f",
    "sed -e p f",
    "sed p f -n",
    "timeout 1.5s ls",
    'for f in *.log; do echo "$f: $(wc -l < "$f")"; done',
  ])("%s is still a read", (text) => expect(kinds(text)[0]).toBe("allow"));
});
