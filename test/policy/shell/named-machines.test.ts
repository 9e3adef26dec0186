import { describe, expect, test } from "bun:test";
import { machineRows } from "../../../src/policy/effects/table.ts";
import { commandsIn } from "../../../src/policy/shell/judge.ts";
import { namedMachines } from "../../../src/policy/shell/named-machines.ts";

const named = (text: string): string[] => namedMachines(commandsIn(text));

test("a machine whose name is a number was taken for the value of ssh -M, and its rules did not hold", () => {
  expect(named("ssh -M 10 touch x")).toEqual(["10"]);
  expect(named("autossh -M 0 web1 touch x")).toEqual(["web1"]);
});

describe("the machines that a command names", () => {
  test.each<[string, string[]]>([
    ["ssh deploy@db1 touch x", ["deploy@db1"]],
    ["ssh -tt -i key db1 -- rm x", ["db1"]],
    ["ssh -vJ db1 web1 id", ["db1", "web1"]],
    ["ssh -W db1:22 jump", ["db1:22", "jump"]],
    ["ssh -o ProxyJump=db1,db2 web1", ["db1", "db2", "web1"]],
    ["ssh -oHostName=db1 web1", ["db1", "web1"]],
    ["s''sh db1 touch x", ["db1"]],
    ["env LC_ALL=C ssh db1 touch x", ["db1"]],
    ["mosh -p 6000 db1 -- touch x", ["db1"]],
    ["scp -P 22 x root@db1:/etc/", ["root@db1"]],
    ["rsync -a x db1::module/", ["db1"]],
    ["sshfs db1:/srv /mnt", ["db1"]],
    ["sftp -b batch db1:/srv", ["db1"]],
    ["git push git@db1:repo.git main", ["git@db1"]],
    ["git -C /srv clone ssh://git@db1:22/repo.git", ["git@db1:22"]],
    ["git show HEAD:README.md", []],
    ["git push origin main:prod", []],
    ["git clone -b main db1:repo.git", ["db1"]],
    ["git remote add prod db1:repo.git", ["db1"]],
    ["git archive --remote=git@db1:repo.git HEAD", ["git@db1", "repo.git"]],
    ["rclone sync /srv db1:srv", ["db1"]],
    ["restic -r sftp:root@db1:/backup forget x", ["root@db1"]],
    ["docker -H ssh://root@db1 restart api", ["root@db1"]],
    ["docker --log-level debug --context db1 restart api", ["db1"]],
    ["docker -c=db1 ps", ["db1"]],
    ["DOCKER_HOST=ssh://db1 docker restart api", ["db1"]],
    ["export DOCKER_HOST=tcp://db1:2375; docker restart api", ["db1:2375"]],
    ["DOCKER_CONTEXT=db1 docker restart api", ["db1"]],
    ["podman --url ssh://root@db1/run/podman.sock restart api", ["root@db1"]],
    ["podman --connection=db1 restart api", ["db1"]],
    ["docker run -c 512 nginx", []],
    ["docker exec -it -u root api rm x", ["api"]],
    ["docker container exec api rm x", ["api"]],
    ["podman cp x api:/etc/", ["api"]],
    ["incus exec api -- rm x", ["api"]],
    ["pdsh -w 'db[1-3],web1' reboot", ["db[1-3]", "web1"]],
    ["pdsh -w db[1-3],web1 reboot", ["db?", "web1"]],
    ["clush -bw @prod reboot", ["prod"]],
    ["pssh -H 'db1 root@db2' reboot", ["db1", "root@db2"]],
    ["ansible -m shell -a 'rm x' 'web:&prod:!web3'", ["web", "prod"]],
    ["ansible all -m reboot", ["*"]],
    ["ansible-playbook site.yml -l db1", ["db1"]],
    ["ansible-playbook -i db1, site.yml", ["db1"]],
    ["salt 'db*' cmd.run reboot", ["db*"]],
    ["parallel -S 4/db1,web1 reboot ::: 1", ["db1", "web1"]],
    ["systemctl -H root@db1 restart nginx", ["root@db1"]],
    ["virsh -c qemu+ssh://root@db1/system destroy vm", ["root@db1"]],
    ["ls -J db1; echo ssh db1; cat a:b", []],
  ])("%s", (text, machines) => {
    expect(named(text)).toEqual(machines);
  });
});

test("an option that nobody listed hides no machine", () => {
  const missed = machineRows()
    .all()
    .flatMap(({ effects }) => effects)
    .map(({ command, gives }) => ({ command, gives: gives.filter((one) => one.startsWith("reaches ")) }))
    .flatMap(({ command, gives }) => {
      const [program, ...words] = command.split(" ");
      return ["--quite-new", "--quite-new x", "-Z"].flatMap((added) => {
        const all = named([program, added, ...words].join(" "));
        return gives.every((one) => all.some((name) => one.endsWith(name.replace(/^.*@/, "")))) ? [] : [command, added];
      });
    });
  expect(missed).toEqual([]);
});
