/**
 * How changes that can lock the operator out are reverted: what is saved before them and what restores it, as sh
 * that runs as root in its own directory.
 */
import { words } from "../lib/text.ts";
import { inQuotes } from "../lib/quote.ts";
import { expandTilde } from "../lib/user-directories.ts";

/** A part of a command that can lock the operator out, found by the policy. */
export interface LockoutUse {
  readonly kind: string;
  readonly program: string;
  readonly words: readonly string[];
  /** Absolute, or below `~`. */
  readonly file?: string;
}

export interface Recipe {
  /** For people: "the firewall rules, the files of sshd". */
  readonly what: string;
  /** Fails where this machine cannot save it. */
  readonly save: string;
  readonly back: string;
}

/** `unknown`: commands that no recipe reverts. */
export function revertRecipe(
  uses: readonly LockoutUse[],
  home: string,
): { readonly recipe: Recipe | undefined; readonly unknown: readonly string[] } {
  const pieces = new Map<string, Recipe>();
  const unknown = new Set<string>();
  for (const use of uses) {
    const found = use.file === undefined ? piecesFor(use) : filePieces(use.kind, expandTilde(use.file, home));
    if (found === undefined) unknown.add(use.words.slice(0, 3).join(" ") || use.program);
    for (const piece of found ?? []) pieces.set(piece.what, piece);
  }
  const all = [...pieces.values()];
  return { recipe: all.length === 0 ? undefined : joined(all), unknown: [...unknown] };
}

/** Each piece runs in its own directory; one that fails does not stop the others. */
function joined(pieces: readonly Recipe[]): Recipe {
  const inOwn = (text: string, at: number) => `( cd p${at} || exit 1\n${text}\n)`;
  return {
    what: pieces.map(({ what }) => what).join(", "),
    save: pieces.map(({ save }, at) => `mkdir p${at} && ${inOwn(save, at)} || exit 1`).join("\n"),
    back: ["failed=0", ...pieces.map(({ back }, at) => `${inOwn(back, at)} || failed=1`), "[ $failed = 0 ]"].join("\n"),
  };
}

function piecesFor({ kind, program, words: given }: LockoutUse): readonly Recipe[] | undefined {
  const args = given.slice(1).filter((word) => !word.startsWith("-"));
  if (program === "systemctl") return units(args.slice(1), kind);
  if (SERVICES.has(program)) return service(args);
  switch (kind) {
    case "firewall":
      return FIREWALLS.has(program) ? [files("the firewall files", FIREWALL_FILES), RULES] : undefined;
    case "ssh":
      return /^(?:pkill|killall|skill)$/.test(program) ? [SSHD] : undefined;
    case "network":
      return network(program, args, given);
    case "pam":
      return program === "pam-auth-update" ? [files("the PAM files", PAM_FILES)] : undefined;
    case "sudoers":
      return [files("the sudoers files", SUDO_FILES)];
    case "account":
      return ACCOUNT_TOOLS.has(program) ? [files("the accounts", ACCOUNT_FILES)] : undefined;
    case "service":
      return opposite(program, args);
    default:
      return undefined;
  }
}

/** A file that is written, and what has to be reloaded with it. */
function filePieces(kind: string, path: string): readonly Recipe[] | undefined {
  if (/[*?…]/.test(path) || !path.startsWith("/")) return undefined;
  const piece = files(path, [path]);
  return kind === "ssh" && !path.includes("/.ssh") ? [files("the sshd files", SSH_FILES), piece, SSHD] : [piece];
}

const FIREWALLS = new Set(
  words(`nft iptables ip6tables iptables-nft ip6tables-nft iptables-legacy ip6tables-legacy iptables-restore
    ip6tables-restore iptables-nft-restore iptables-legacy-restore iptables-apply ip6tables-apply ufw firewall-cmd
    firewall-offline-cmd ipset shorewall shorewall6 csf netfilter-persistent`),
);
const SERVICES = new Set(words("service rc-service invoke-rc.d"));
const ACCOUNT_TOOLS = new Set(
  words("usermod passwd userdel deluser chage chsh chpasswd gpasswd groupdel delgroup vipw vigr"),
);
const FIREWALL_FILES = words(
  "/etc/nftables.conf /etc/nftables /etc/iptables /etc/ufw /etc/firewalld /etc/sysconfig/iptables",
);
const SSH_FILES = words("/etc/ssh /etc/default/ssh /etc/sysconfig/sshd /etc/dropbear");
const NETWORK_FILES = words(`/etc/network/interfaces /etc/network/interfaces.d /etc/netplan /etc/NetworkManager
  /etc/systemd/network /etc/sysconfig/network-scripts /etc/dhcpcd.conf`);
const PAM_FILES = words("/etc/pam.d /etc/pam.conf /etc/security /etc/nsswitch.conf /etc/nologin /run/nologin");
const SUDO_FILES = words("/etc/sudoers /etc/sudoers.d /etc/doas.conf /etc/polkit-1");
const ACCOUNT_FILES = words("/etc/passwd /etc/shadow /etc/group /etc/gshadow /etc/subuid /etc/subgid");

/** Files and directories with their contents; files that did not exist before are removed. */
function files(what: string, paths: readonly string[]): Recipe {
  const each = `for p in ${paths.map(inQuotes).join(" ")}; do`;
  return {
    what,
    save: `set --
${each} if [ -e "$p" ] || [ -L "$p" ]; then set -- "$@" "\${p#/}"; fi; done
${each} find "$p" ! -type d 2>/dev/null; done >list
if [ $# = 0 ]; then exit 0; fi
tar --acls --xattrs -cpf files.tar -C / -- "$@" 2>/dev/null || tar -cpf files.tar -C / -- "$@"`,
    back: `${each} find "$p" ! -type d 2>/dev/null; done | while IFS= read -r f; do
  grep -Fxq -e "$f" list || rm -f -- "$f"
done
if [ ! -f files.tar ]; then exit 0; fi
tar --acls --xattrs -xpf files.tar -C / 2>/dev/null || tar -xpf files.tar -C /`,
  };
}

/** nft also saves the rules of iptables-nft, unless it cannot parse its own output for them. */
const RULES: Recipe = {
  what: "the firewall rules",
  save: `ok=1
if command -v ipset >/dev/null 2>&1; then ipset save >ipset.rules 2>/dev/null || rm -f ipset.rules; fi
if command -v nft >/dev/null 2>&1 && nft list ruleset >nft.rules; then
  { echo 'flush ruleset'; cat nft.rules; } >nft.back
  if nft -c -f nft.back; then ok=0; else rm -f nft.back; fi
fi
for t in iptables ip6tables; do
  command -v $t-save >/dev/null 2>&1 || continue
  case $($t --version 2>/dev/null) in *nf_tables*) if [ -f nft.back ]; then continue; fi ;; esac
  if $t-save >$t.rules; then ok=0; else rm -f $t.rules; continue; fi
  grep -q '^[*]filter' $t.rules || printf '*filter\\n:INPUT ACCEPT [0:0]\\n:FORWARD ACCEPT [0:0]\\n:OUTPUT ACCEPT [0:0]\\nCOMMIT\\n' >>$t.rules
done
if [ $ok != 0 ]; then echo "neither nft nor iptables-save can save the rules"; fi
exit $ok`,
  back: `r=0
if [ -f ipset.rules ]; then ipset flush; ipset restore -exist <ipset.rules; fi
if [ -f nft.back ]; then nft -f nft.back || r=1; fi
for t in iptables ip6tables; do if [ -f $t.rules ]; then $t-restore <$t.rules || r=1; fi; done
exit $r`,
};

const HAS_SYSTEMD = `[ -d /run/systemd/system ] && command -v systemctl >/dev/null 2>&1`;

/** sshd reads its configuration again, and runs if it did not. */
const SSHD: Recipe = {
  what: "sshd",
  save: `if ${HAS_SYSTEMD}; then
  for u in ssh.service sshd.service ssh.socket sshd.socket; do
    echo "$u $(systemctl is-active $u 2>/dev/null) $(systemctl is-enabled $u 2>/dev/null)"
  done >units
fi
exit 0`,
  back: `if [ -f units ]; then
  while read -r u active enabled; do
    case $enabled in enabled) systemctl unmask $u; systemctl enable $u ;; esac
    case $active in active | activating) systemctl reload-or-restart $u || systemctl start $u ;; esac
  done <units
  exit 0
fi
# The sshd that listens on this network: a session has sshd as its parent, and a container may run its own.
for p in $(cat /run/sshd.pid /var/run/sshd.pid 2>/dev/null) $(pgrep -x sshd); do
  [ "$(readlink "/proc/$p/ns/net")" = "$(readlink /proc/self/ns/net)" ] || continue
  parent=$(sed -n 's/^PPid:[^0-9]*//p' "/proc/$p/status" 2>/dev/null)
  [ "$(cat "/proc/$parent/comm" 2>/dev/null)" = sshd ] || { kill -HUP "$p" && exit 0; }
done
if command -v service >/dev/null 2>&1 && { service ssh start || service sshd start; }; then exit 0; fi
mkdir -p /run/sshd; exec "$(command -v sshd || echo /usr/sbin/sshd)"`,
};

/** Restores which units are started and enabled. */
function units(names: readonly string[], kind: string): readonly Recipe[] | undefined {
  if (names.length === 0 || !names.every((name) => /^[\w@.:\\-]+$/.test(name))) return undefined;
  const list = names.map(inQuotes).join(" ");
  const state: Recipe = {
    what: names.join(", "),
    save: `${HAS_SYSTEMD} || { echo "systemd does not run"; exit 1; }
for u in ${list}; do echo "$u $(systemctl is-active "$u") $(systemctl is-enabled "$u" 2>/dev/null)"; done >units
exit 0`,
    back: `r=0
while read -r u active enabled; do
  case $enabled in enabled) systemctl unmask "$u"; systemctl enable "$u" ;; esac
  case $active in active | activating) systemctl start "$u" || r=1 ;; inactive) systemctl stop "$u" ;; esac
done <units
exit $r`,
  };
  const also =
    kind === "firewall"
      ? [RULES]
      : kind === "network"
        ? [NETWORK]
        : kind === "ssh"
          ? [files("the sshd files", SSH_FILES), SSHD]
          : [];
  return [...also, state];
}

/** Reverts `service NAME stop` with a start: without systemd there is no more state. */
function service([name = ""]: readonly string[]): readonly Recipe[] | undefined {
  return /^[\w@.-]+$/.test(name) ? [step(name, `service ${inQuotes(name)} start`)] : undefined;
}

/** Interfaces, addresses, routes and rules, with iproute2. */
const NETWORK: Recipe = {
  what: "interfaces, addresses and routes",
  save: `ip -o link show >links && ip addr save >addr && ip -o addr show >addrs || exit 1
for f in 4 6; do
  ip -$f route save table all >route$f && ip -$f route show >routes$f && ip -$f rule show >rules$f && ip -$f rule save >rule$f || exit 1
done`,
  back: `while IFS= read -r line; do
  n=\${line#*: }; n=\${n%%:*}; n=\${n%%@*}
  m=\${line#* mtu }; m=\${m%% *}
  ip link set dev "$n" mtu "$m" 2>/dev/null
  case $line in *[,\\<]UP[,\\>]*) ip link set dev "$n" up ;; *) ip link set dev "$n" down ;; esac
done <links
ip addr restore <addr
place() { printf '%s %s %s\\n' "$2" "$3" "$4"; }
while IFS= read -r line; do place $line; done <addrs >known
ip -o addr show | while IFS= read -r line; do
  set -- $(place $line)
  grep -Fxq -e "$*" known || ip addr del "$3" dev "$1"
done
for f in 4 6; do
  ip -$f route show | while IFS= read -r line; do grep -Fxq -e "$line" routes$f || ip -$f route del $line; done
  ip -$f route restore <route$f
  ip -$f rule show | while IFS= read -r line; do grep -Fxq -e "$line" rules$f || ip -$f rule del pref "\${line%%:*}"; done
  ip -$f rule show >now$f
  while IFS= read -r line; do grep -Fxq -e "$line" now$f || { ip -$f rule restore <rule$f; break; }; done <rules$f
done 2>/dev/null
exit 0`,
};

function network(program: string, args: readonly string[], given: readonly string[]): readonly Recipe[] | undefined {
  const state = [files("the network files", NETWORK_FILES), NETWORK];
  switch (program) {
    case "ip":
      // A deleted interface cannot be recreated from its name.
      return given.some((word) => /^-b|^n(?:etns)?$/.test(word)) ||
        ((args[0] ?? "").startsWith("l") && (args[1] ?? "").startsWith("d"))
        ? undefined
        : [NETWORK];
    case "ifconfig":
    case "route":
      return [NETWORK];
    case "ifdown":
    case "ifup":
      return args.length === 1 && /^[\w.:-]+$/.test(args[0] ?? "")
        ? [...state, step(`${args[0]} up`, `ifup ${inQuotes(args[0] ?? "")}`)]
        : undefined;
    case "netplan":
      return [...state, step("netplan", "netplan apply")];
    case "networkctl":
      return [...state, step("networkd", "networkctl reload")];
    case "nmcli":
      return [...state, step("NetworkManager", `nmcli networking on; nmcli connection reload${connection(args)}`)];
    case "dhclient":
    case "dhcpcd":
      return [...state, step(program, program)];
    default:
      return undefined;
  }
}

/** `nmcli connection down NAME`, `nmcli device disconnect NAME`: up again. */
function connection([object = "", verb = "", name = ""]: readonly string[]): string {
  if (name === "" || !/^(?:do|u|di|m)/.test(verb)) return "";
  return object.startsWith("d")
    ? `; nmcli device connect ${inQuotes(name)}`
    : `; nmcli connection up ${inQuotes(name)}`;
}

function opposite(program: string, [verb = "", name = ""]: readonly string[]): readonly Recipe[] | undefined {
  if (program === "wg-quick" && /^[\w./-]+$/.test(name))
    return [step(name, `wg-quick ${verb === "down" ? "up" : "down"} ${inQuotes(name)}`)];
  return program === "tailscale" && verb === "down" ? [step("tailscale", "tailscale up")] : undefined;
}

const step = (what: string, back: string): Recipe => ({ what, save: "", back });
