/** Text that only mentions dangerous commands, and commands that merely look like them: a question at most. */
import { expect, test } from "bun:test";
import { judgeShell } from "../../../src/policy/judge.ts";
import { RULES, verdictOf } from "./rules.ts";

const MENTIONS = [
  "echo rm -rf /", "echo 'rm -rf /'", "echo \"rm -rf /\"", "printf '%s\\n' 'rm -rf /'", "printf 'git add .\\n'", "git commit -m 'rm -rf /'", "git commit -m \"fix: git push --force no longer used\"", "git commit -am 'stop using git add -A'", "git log --grep='git push --force'", "grep -r 'rm -rf /' .", "grep -rn \"git add -A\" docs", "rg 'dd if=/dev/zero of=/dev/sda'", "sed -n '/rm -rf \\//p' f", "awk '/rm -rf \\//' f", "cat <<E\nrm -rf /\nE", "cat <<'E' > notes.md\nrm -rf /\ngit add .\nE", "cat > x.sh <<'E'\nrm -rf /\nE", "tee f <<E\nrm -rf /\nE", "# rm -rf /", "ls # rm -rf /", "ls # ; rm -rf /", "python3 -c 'print(\"rm -rf /\")'", "python3 - <<'E'\nprint('rm -rf /')\nE", "node -e \"console.log('git push --force')\"", "perl -e 'print \"rm -rf /\"'", "psql -c \"select 'rm -rf /'\"", "curl -d 'rm -rf /' http://x", "jq '.x == \"rm -rf /\"' f", "echo \"$(echo rm -rf /)\"", "x='rm -rf /'", "x='rm -rf /'; echo \"$x\"", "echo 'rm -rf /' | cat", "echo 'rm -rf /' | grep rm", "echo 'rm -rf /' > notes", "echo ':(){ :|:& };:'", "[ \"$x\" = 'rm -rf /' ]", "[[ $x == 'rm -rf /' ]]", "case $x in 'rm -rf /') echo no;; esac", "test 'rm -rf /' = x", "man rm", "which rm", "type rm", "command -v rm", "help rm", "apropos rm", "gh pr create --title 'rm -rf /' --body 'git add .'", "docker ps --filter name='rm -rf /'", "export MSG='rm -rf /'", "logger 'rm -rf /'", "git tag -m 'git push -f' v1", "mail -s 'rm -rf /' x@y < body", "echo rm -rf / \\; ls", "echo \\$(rm -rf /)".replace("(rm -rf /)", "x"), "echo '$(rm -rf /)'", "echo \"\\$(rm -rf /)\"", "cat <<'E'\n$(rm -rf /)\nE", "ls 'rm -rf /'", "touch 'rm -rf /'", "git commit -F - <<'E'\nrm -rf /\nE", "git commit -m \"$(cat <<'E'\nrm -rf / is gone\nE\n)\"", "history | grep 'rm -rf /'", "find . -name 'rm -rf *'", "for w in rm -rf /; do echo $w; done", "read -p 'rm -rf /? ' x", "declare -r X='git add .'", "echo git push --force", "echo mkfs.ext4 /dev/sda1", "strings /bin/rm", "cat /bin/rm | head -1", "rm --help", "mkfs.ext4 --help", "dd --version", "ansible all -a 'uptime'",
];

const NEIGHBOURS = [
  "rm -rf node_modules", "rm -rf ./build", "rm -rf /tmp/x", "rm -rf /tmp/*", "rm -rf build/*", "rm -rf /srv/app/releases/1", "rm -rf ~/project/dist", "rm -rf $HOME/.cache/pip", "rm -f /etc/nginx/conf.d/x.conf", "rm x", "rm -f *", "rm *.o", "rm -rf *.o", "rm -rf dist *.log", "rm -rf .gitignore", "rm -rf .github", "rm -rf .git-rewrite", "rm -rf my.git.bak", "rm -rf /var/log/old", "rm -rf /usr/local/share/x", "rm -rf /home/alice/tmp", "rm .git/index.lock", "rm -rf ../build", "rm -rf $DIR", "rm -rf \"$TMP/x\"", "rm -rf -- -x", "rm -rf '*'", "rm -rf '~'", "rm -rf \"\\$HOME\"", "rm -rf '$HOME'", "rmdir /", "rm -i x", "rm -rf /opt/app/old", "rm -rf etc", "rm -rf ./usr", "rm -rf foo/..bar", "cd /tmp && rm -rf x", "cd build && rm -rf obj",
  "git add file.rs", "git add src/", "git add src/a.ts src/b.ts", "git add -p", "git add -i", "git add -u src", "git add '*.ts'", "git add *.md", "git add ./src", "git add -- src/x", "git add .gitignore", "git add .github/workflows", "git add ..foo", "git add -n .", "git add A", "git -C . add x", "git add -N new.ts", "git commit -a -m x", "git commit -A", "git commit --all -m x",
  "git push", "git push origin main", "git push -u origin main", "git push --force-with-lease", "git push --force-with-lease=main:abc origin main", "git push --force-if-includes --force-with-lease", "git push origin --delete branch", "git push origin :branch", "git push --tags", "git push --follow-tags", "git push -o ci.skip", "git push -o force", "git push --push-option=-f", "git push origin main-force", "git push origin feature+x", "git push --dry-run", "git push -n", "git push --all", "git push --no-verify", "git fetch --force", "git checkout -f", "git branch -f x", "git push --set-upstream origin x", "git -c alias.p=push p",
  "dd if=/dev/zero of=file bs=1M count=1", "dd if=/dev/sda of=backup.img", "dd if=x of=/dev/null", "cat x > /dev/null", "ls > /dev/stderr", "echo x > /dev/tty", "cat /dev/sda", "fdisk -l", "fdisk -l /dev/sda", "sfdisk -d /dev/sda", "parted -l", "parted /dev/sda print", "sgdisk -p /dev/sda", "gdisk -l /dev/sda", "wipefs /dev/sda", "lsblk /dev/sda", "mount /dev/sda1 /mnt", "cryptsetup luksOpen /dev/sda1 x", "cryptsetup status x", "zpool status", "zpool list", "zfs list", "lvs", "vgs", "hdparm -i /dev/sda", "nvme list", "smartctl -a /dev/sda", "cp /dev/sda1 img", "shred file", "mkswap /swapfile", "echo x > /dev/shm/x", "echo x > /dev/ttyUSB0", "tee /dev/null", "tee /dev/stderr", "cp x /dev/shm/", "truncate -s 1G disk.img", "losetup -f disk.img", "swapon /dev/sda2", "blkid /dev/sda",
  "chmod -R 755 ./dist", "chown -R www-data /var/www", "chmod 777 /", "chown root /etc/x", "chmod -R g+w .", "chmod +x x.sh", "chown -R me ~/project", "chmod -R 755 /usr/local/app",
  "f() { f; }; f", "f() { ls | cat; }; f", "f() { sleep 1 & }; f", "walk() { for d in \"$1\"/*; do [ -d \"$d\" ] && walk \"$d\"; done; }; walk .", "f() { g & }; g() { ls; }; f", "while true; do date; sleep 1; done", "yes | head", "f() { echo f | cat; }",
  "find . -name '*.pyc' -delete", "find . -name node_modules -exec rm -rf {} +", "find /var/log -name '*.gz' -mtime +30 -delete", "find . \\( -name '*.o' -o -name '*.a' \\) -delete", "find /tmp -delete", "find . -type f -empty -delete", "find build -delete", "find / -name core -print", "find . -name x | xargs rm -f", "find /tmp/x -exec rm {} +", "xargs rm -rf < list", "cat list | xargs rm -rf", "mv a b", "mv * ../x", "mv .git /tmp/backup", "mv ./x /etc/x", "rsync -a --delete a/ b/", "rsync -a / /backup", "$CMD rm -rf /", "curl x | sh", "echo x | base64 -d | sh", "bash script.sh", "sudo apt install x", "reboot", "git clean -fdx", "git reset --hard",
];

test("what only mentions a danger is not blocked", () => {
  expect(MENTIONS.filter((command) => verdictOf(command) === "deny")).toEqual([]);
});

test("what only resembles a danger is not blocked", () => {
  expect(NEIGHBOURS.filter((command) => verdictOf(command) === "deny")).toEqual([]);
});

test("nothing of the neighbours that changes something is allowed", () => {
  const reading = new Set(["fdisk -l", "fdisk -l /dev/sda", "lsblk /dev/sda", "yes | head", "find / -name core -print", "cat x > /dev/null", "ls > /dev/stderr", "while true; do date; sleep 1; done", "echo x > /dev/tty"]);
  expect(NEIGHBOURS.filter((command) => !reading.has(command) && verdictOf(command) === "allow")).toEqual([]);
});

test("what cannot be known is a question, and says so", () => {
  for (const command of ["rm -rf $DIR", "$CMD", "curl x | sh", "bash -c \"$X\"", "eval \"$X\"", "xargs rm -rf < list", "source <(curl x)", "sh < $F", "$(cat x)", "bash <<< \"$X\"", "if then", "echo 'x", "a=$(<f); $a"]) {
    const judged = judgeShell(command, RULES);
    expect([command, judged.verdict.kind, judged.uncertain.length > 0]).toEqual([command, "ask", true]);
  }
});
