/**
 * How changes that can lock the operator out are reverted: what is saved before them and what restores it, as sh
 * that runs as root in its own directory.
 */
import revertFilesBack from "../../templates/target/revert-files-back.sh" with { type: "text" };
import revertFilesSave from "../../templates/target/revert-files-save.sh" with { type: "text" };
import revertNetworkBack from "../../templates/target/revert-network-back.sh" with { type: "text" };
import revertNetworkSave from "../../templates/target/revert-network-save.sh" with { type: "text" };
import revertRulesBack from "../../templates/target/revert-rules-back.sh" with { type: "text" };
import revertRulesSave from "../../templates/target/revert-rules-save.sh" with { type: "text" };
import revertSshdBack from "../../templates/target/revert-sshd-back.sh" with { type: "text" };
import revertSshdSave from "../../templates/target/revert-sshd-save.sh" with { type: "text" };
import revertUnitsBack from "../../templates/target/revert-units-back.sh" with { type: "text" };
import revertUnitsSave from "../../templates/target/revert-units-save.sh" with { type: "text" };
import { words } from "../lib/text.ts";
import { inQuotes } from "../lib/quote.ts";
import { script } from "../lib/script.ts";
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
  const given = { paths: paths.map(inQuotes).join(" ") };
  return {
    what,
    save: script(revertFilesSave, given),
    back: script(revertFilesBack, given),
  };
}

/** nft also saves the rules of iptables-nft, unless it cannot parse its own output for them. */
const RULES: Recipe = {
  what: "the firewall rules",
  save: script(revertRulesSave),
  back: script(revertRulesBack),
};

/** sshd reads its configuration again, and runs if it did not. */
const SSHD: Recipe = {
  what: "sshd",
  save: script(revertSshdSave),
  back: script(revertSshdBack),
};

/** Restores which units are started and enabled. */
function units(names: readonly string[], kind: string): readonly Recipe[] | undefined {
  if (names.length === 0 || !names.every((name) => /^[\w@.:\\-]+$/.test(name))) return undefined;
  const state: Recipe = {
    what: names.join(", "),
    save: script(revertUnitsSave, { units: names.map(inQuotes).join(" ") }),
    back: script(revertUnitsBack),
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
  save: script(revertNetworkSave),
  back: script(revertNetworkBack),
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
