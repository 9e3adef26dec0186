/** Each command that can lock the operator out, and what puts back what it changes. */
import { expect, test } from "bun:test";
import { revertRecipe } from "../../src/changes/revert-recipes.ts";
import { judgeShell } from "../../src/policy/shell/judge.ts";
import { RULES } from "../policy/shell/rules.ts";
import reverts from "./reverts.txt" with { type: "text" };

const HOME = "/home/ann";
const revertOf = (command: string) =>
  revertRecipe(judgeShell(command, RULES, { cwd: "/srv", home: HOME, user: "ann" }).lockouts, HOME);

test("what is put back, in words", () => {
  let what = "";
  const found: string[] = [];
  for (const line of reverts.trimEnd().split("\n").slice(1)) {
    if (!line.startsWith("  ")) found.push((what = line));
    else {
      const { recipe, unknown } = revertOf(line.trim());
      found.push(line);
      expect([line, recipe?.what ?? "-", unknown.length > 0]).toEqual([line, what, what === "-"]);
    }
  }
  expect(found.length).toBeGreaterThan(150);
});

test.each([
  ["ifdown eth0", "ifup 'eth0'"],
  ["service ssh stop", "service 'ssh' start"],
  ["netplan apply", "netplan apply"],
  ["networkctl down eth0", "networkctl reload"],
  ["nmcli con down eth0", "; nmcli connection up 'eth0'"],
  ["nmcli connection modify eth0 ipv4.method manual", "; nmcli connection up 'eth0'"],
  ["nmcli device disconnect eth0", "; nmcli device connect 'eth0'"],
  ["nmcli networking off", "nmcli networking on; nmcli connection reload\n"],
  ["wg-quick down wg0", "wg-quick up 'wg0'"],
  ["tailscale down", "tailscale up"],
])("%s: %s", (command, back) => expect(revertOf(command).recipe?.back).toContain(back));

test.each([
  ["iptables -F", "/etc/nftables.conf /etc/nftables /etc/iptables /etc/ufw /etc/firewalld /etc/sysconfig/iptables"],
  ["systemctl stop sshd", "/etc/ssh /etc/default/ssh /etc/sysconfig/sshd /etc/dropbear"],
  [
    "ifdown eth0",
    "/etc/network/interfaces /etc/network/interfaces.d /etc/netplan /etc/NetworkManager /etc/systemd/network /etc/sysconfig/network-scripts /etc/dhcpcd.conf",
  ],
  ["pam-auth-update --force", "/etc/pam.d /etc/pam.conf /etc/security /etc/nsswitch.conf /etc/nologin /run/nologin"],
  ["visudo", "/etc/sudoers /etc/sudoers.d /etc/doas.conf /etc/polkit-1"],
  ["usermod -L bob", "/etc/passwd /etc/shadow /etc/group /etc/gshadow /etc/subuid /etc/subgid"],
])("%s: files that are kept", (command, paths) => {
  const kept = revertOf(command).recipe?.save ?? "";
  for (const path of paths.split(" ")) expect(kept).toContain(`'${path}'`);
});
