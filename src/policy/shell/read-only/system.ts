/** Processes, services, logs, hardware, users, network state and packages of the machine. */
import { always, having, only, type Proof, type ReadOnlyRow, type Refused, subcommands, without } from "./proof.ts";

const systemctlOptions = {
  short: "alqr",
  values: "tpnos",
  long: [
    "all",
    "user",
    "system",
    "no-pager",
    "full",
    "failed",
    "no-legend",
    "plain",
    "quiet",
    "reverse",
    "after",
    "before",
    "value",
    "recursive",
    "with-dependencies",
    "legend",
    "version",
  ],
  longValues: ["type", "state", "property", "lines", "output", "timestamp"],
};
const unitWords = only(systemctlOptions);

/** Packages may be named by an address. */
function offline(refused: Refused): Proof {
  return (args) => (args.some((word) => word.includes("://")) ? "asks the network" : without(refused)(args));
}

const ip: Proof = (args) => {
  let at = 0;
  for (; at < args.length && (args[at] as string).startsWith("-"); at++)
    if (
      !/^-(?:4|6|0|B|M|br|brief|s|stats|statistics|d|details|j|json|p|pretty|o|oneline|h|human|human-readable|c|color|color=\w+|a|all|t|timestamp|ts|tshort|N|Numeric|V|Version)$/.test(
        args[at] as string,
      )
    )
      return `with ${args[at]}`;
  const [object = "", verb, ...rest] = args.slice(at);
  if (object === "") return args.some((word) => /^-(?:V|Version)$/.test(word)) ? undefined : "without an object";
  if (
    !/^(?:a|ad|add|addr|addre|addres|address|l|li|lin|link|r|ro|rou|rout|route|ru|rul|rule|n|ne|nei|neig|neigh|neighb|neighbo|neighbor|neighbour|maddr|maddress|mroute|tunnel|tuntap|netns|xfrm|netconf|nexthop)$/.test(
      object,
    )
  )
    return `${object} may change something`;
  if (verb === undefined || /^(?:show|list|lst|sh|ls)$/.test(verb)) return undefined;
  // `ip link s` is set, `ip xfrm s` is state.
  if (verb === "s" && !/^(?:l|x)/.test(object)) return undefined;
  return verb === "get" && object.startsWith("r") && rest.length > 0 ? undefined : `${verb} may change something`;
};

export const SYSTEM: readonly ReadOnlyRow[] = [
  {
    programs: [
      "ps",
      "pstree",
      "pgrep",
      "pidof",
      "uptime",
      "free",
      "vmstat",
      "iostat",
      "mpstat",
      "lscpu",
      "lsmem",
      "lsmod",
      "lsusb",
      "modinfo",
      "lsns",
      "lsipc",
      "lslocks",
      "lslogins",
      "uname",
      "arch",
      "nproc",
      "whoami",
      "id",
      "groups",
      "w",
      "users",
      "logname",
      "tty",
      "locale",
      "getconf",
      "cal",
      "ncal",
      "pmap",
      "pwdx",
      "numastat",
      "ipcs",
      "apropos",
      "whatis",
    ],
    proof: always,
    yes: [
      "ps aux",
      "ps -ef --forest",
      "uname -a",
      "id",
      "free -h",
      "uptime",
      "lscpu",
      "pgrep -fa nginx",
      "who",
      "last -n 5",
      "vmstat 1 2",
    ],
    no: ["pkill nginx", "ps aux > f", "killall x"],
  },
  {
    programs: ["tput"],
    proof: (args) =>
      args.some((word) => /^(?:init|reset|-S|[\uFDD0-\uFDD2])/.test(word)) ? "may change the terminal" : undefined,
    yes: ["tput cols", "tput setaf 1"],
    no: ["tput init", "tput reset", "tput -S", "tput $X"],
  },
  {
    programs: ["sar"],
    proof: without({ short: "o" }),
    yes: ["sar", "sar -u 1 3", "sar -n DEV"],
    no: ["sar -o f 1 1", "sar -Ao f", "sar $X"],
  },
  {
    programs: ["getenforce", "sestatus", "aa-status", "atq", "hash"],
    proof: (args) =>
      args.length === 0 || (args.length === 1 && args[0] === "-v") ? undefined : "may change something",
    yes: ["getenforce", "sestatus -v", "aa-status", "atq", "hash"],
    no: ["setenforce 0", "hash -p /x ls", "hash -r", "aa-disable x"],
  },
  {
    programs: ["systemd-cgls", "systemd-cgtop"],
    proof: only({
      short: "blak1",
      values: "nd",
      long: ["no-pager", "all", "full", "batch"],
      longValues: ["iterations", "depth"],
    }),
    yes: ["systemd-cgls", "systemd-cgls --no-pager", "systemd-cgtop -b -n 1"],
    no: ["systemd-cgls -M x", "systemd-cgtop -M x"],
  },
  {
    programs: ["udevadm"],
    proof: (args) =>
      args[0] === "info"
        ? only({
            short: "aqx",
            values: "npq",
            long: ["attribute-walk", "export", "export-db"],
            longValues: ["name", "path", "query"],
          })(args.slice(1))
        : "may change something",
    yes: ["udevadm info /dev/sda", "udevadm info -a -n /dev/sda", "udevadm info --query=all --name=sda"],
    no: ["udevadm trigger", "udevadm control -R", "udevadm info -c", "udevadm info --cleanup-db"],
  },
  {
    programs: ["dmidecode"],
    proof: only({ short: "qu", values: "ts", long: ["quiet", "version"], longValues: ["type", "string"], operands: 0 }),
    yes: ["dmidecode -t memory", "dmidecode", "dmidecode -s bios-version"],
    no: ["dmidecode --dump-bin f", "dmidecode -d f"],
  },
  {
    programs: ["ethtool"],
    proof: (args) =>
      (args.length === 1 && /^[a-z][\w.@-]*$/.test(args[0] as string)) ||
      (args.length === 2 &&
        /^-(?:i|S|k|g|c|a|l|T|m|P|u|n|x)$/.test(args[0] as string) &&
        /^[a-z][\w.@-]*$/.test(args[1] as string))
        ? undefined
        : "may change an interface",
    yes: ["ethtool eth0", "ethtool -i eth0", "ethtool -S eth0"],
    no: ["ethtool -s eth0 speed 10", "ethtool -K eth0 gro off", "ethtool -t eth0", "ethtool -p eth0"],
  },
  {
    programs: ["nmcli"],
    proof: (args) => {
      const words = args.filter(
        (word, index) => !/^-(?:t|p|f|g|c|m|e)$/.test(word) && !/^-[fgcme]$/.test(args[index - 1] ?? ""),
      );
      const [object = "", verb = "show", ...more] = words;
      if (more.some((word) => /^(?:--rescan|-s|--show-secrets)$/.test(word)) || object.startsWith("-"))
        return "with that option";
      if (object === "" || /^(?:g|gen|general|n|networking|r|radio)$/.test(object))
        return words.length <= 1 || (words.length === 2 && verb === "status") ? undefined : "may change the network";
      return (/^(?:d|dev|device)$/.test(object) && /^(?:status|show)$/.test(verb)) ||
        (/^(?:c|con|connection)$/.test(object) && verb === "show")
        ? undefined
        : "may change the network";
    },
    yes: ["nmcli", "nmcli device status", "nmcli con show", "nmcli -t -f NAME con show", "nmcli general status"],
    no: [
      "nmcli con up x",
      "nmcli dev disconnect x",
      "nmcli radio wifi off",
      "nmcli networking off",
      "nmcli dev wifi list",
    ],
  },
  {
    programs: ["firewall-cmd"],
    proof: only({
      long: [
        "state",
        "list-all",
        "list-all-zones",
        "list-services",
        "list-ports",
        "list-rich-rules",
        "get-zones",
        "get-default-zone",
        "get-active-zones",
        "permanent",
      ],
      longValues: ["zone"],
      operands: 0,
    }),
    yes: ["firewall-cmd --state", "firewall-cmd --list-all", "firewall-cmd --zone=public --list-ports"],
    no: ["firewall-cmd --reload", "firewall-cmd --add-port=1/tcp", "firewall-cmd --panic-on"],
  },
  {
    programs: ["ldconfig"],
    proof: (args) =>
      args.length === 1 && /^(?:-p|--print-cache)$/.test(args[0] as string) ? undefined : "rebuilds the cache",
    yes: ["ldconfig -p"],
    no: ["ldconfig", "ldconfig -p -C f"],
  },
  {
    programs: ["rfkill", "chronyc"],
    proof: (args) =>
      /^(?:list|-n (?:tracking|sources|sourcestats|activity)(?: -v)?)$/.test(args.join(" "))
        ? undefined
        : "may change something",
    yes: ["rfkill list", "chronyc -n sources -v", "chronyc -n tracking"],
    no: ["rfkill block all", "chronyc makestep", "chronyc sources"],
  },
  {
    programs: ["pidstat"],
    proof: without({ short: "e" }),
    yes: ["pidstat 1 1", "pidstat -u -p 1"],
    no: ["pidstat -e touch z", "pidstat -ue touch z"],
  },
  {
    programs: ["lshw"],
    proof: only({
      values: "cC",
      words: ["-short", "-json", "-xml", "-html", "-businfo", "-sanitize", "-numeric", "-quiet"],
      operands: 0,
    }),
    yes: ["lshw -short", "lshw -C disk"],
    no: ["lshw -dump f", "lshw -X"],
  },
  {
    programs: ["lspci"],
    proof: without({ short: "qQ" }),
    yes: ["lspci", "lspci -nnk"],
    no: ["lspci -q", "lspci -nQ"],
  },
  {
    programs: ["who", "last", "lastb"],
    proof: without({ short: "d", long: ["lookup", "dns"] }),
    yes: ["who", "who -a", "last -n 5", "lastb"],
    no: ["last -d", "who --lookup", "last --dns"],
  },
  {
    programs: ["lastlog"],
    proof: only({ values: "ubt", longValues: ["user", "before", "time"], operands: 0 }),
    yes: ["lastlog", "lastlog -u root"],
    no: ["lastlog -C -u root", "lastlog --set -u root"],
  },
  {
    programs: ["date"],
    proof: (args) => {
      const found = only({
        short: "uR",
        values: "dr",
        long: ["utc", "universal", "rfc-email", "iso-8601", "rfc-3339", "debug", "version", "resolution"],
        longValues: ["date", "reference", "iso-8601", "rfc-3339"],
        words: ["-I", "-Idate", "-Ihours", "-Iminutes", "-Iseconds", "-Ins"],
        operands: /^\+/,
      })(args);
      return found === undefined ? undefined : `${found}`;
    },
    yes: [
      "date",
      "date -u",
      "date +%s",
      "date -d yesterday +%F",
      "date -Iseconds",
      "date --date='1 day ago' +%F",
      "date -r f",
    ],
    no: ["date -s 12:00", "date --set=12:00", "date 010112002026", "date -us 1", "date $X", "date --se=x"],
  },
  {
    programs: ["hostname", "domainname", "dnsdomainname"],
    proof: only({ short: "sI", long: ["short", "all-ip-addresses", "version"], operands: 0 }),
    yes: ["hostname", "hostname -s", "hostname -I"],
    no: ["hostname newname", "hostname -F f", "hostname -b x", "hostname $X"],
  },
  {
    programs: ["dmesg"],
    proof: without({ short: "cCDEn", long: ["clear", "read-clear", "console-on", "console-off", "console-level"] }),
    yes: ["dmesg", "dmesg -T", "dmesg -w", "dmesg --level=err,warn"],
    no: ["dmesg -C", "dmesg -c", "dmesg -Tc", "dmesg -n 1", "dmesg --clear", "dmesg --console-off", "dmesg $X"],
  },
  {
    programs: ["journalctl"],
    proof: without({
      short: "MD",
      long: [
        "vacuum-size",
        "vacuum-time",
        "vacuum-files",
        "rotate",
        "flush",
        "sync",
        "relinquish-var",
        "smart-relinquish-var",
        "setup-keys",
        "update-catalog",
        "cursor-file",
        "machine",
        "force",
        "interval",
        "image",
        "root",
        "directory",
      ],
    }),
    yes: [
      "journalctl -u nginx -n 100 --no-pager",
      "journalctl -f",
      "journalctl --since '1 hour ago' -p err",
      "journalctl -xe",
      "journalctl -b -1",
      "journalctl -k",
    ],
    no: [
      "journalctl --vacuum-size=1G",
      "journalctl --vacuum-time 1d",
      "journalctl --rotate",
      "journalctl --flush",
      "journalctl --cursor-file=f",
      "journalctl --vac=1",
      "journalctl $X",
    ],
  },
  {
    programs: ["systemctl"],
    proof: subcommands(
      Object.fromEntries(
        [
          "status",
          "show",
          "cat",
          "list-units",
          "list-unit-files",
          "list-timers",
          "list-sockets",
          "list-dependencies",
          "list-jobs",
          "list-paths",
          "list-automounts",
          "is-active",
          "is-enabled",
          "is-failed",
          "is-system-running",
          "get-default",
          "show-environment",
        ].map((verb) => [verb, unitWords]),
      ),
      { ...systemctlOptions, none: always },
    ),
    yes: [
      "systemctl status nginx",
      "systemctl",
      "systemctl --failed",
      "systemctl list-units --type=service --state=running",
      "systemctl is-active nginx",
      "systemctl cat nginx",
      "systemctl show -p MainPID nginx",
      "systemctl --user status x",
      "systemctl list-timers --all",
      "systemctl -n 50 --no-pager status x",
    ],
    no: [
      "systemctl restart nginx",
      "systemctl stop nginx",
      "systemctl -H host status",
      "systemctl --host=h status",
      "systemctl -M c status",
      "systemctl daemon-reload",
      "systemctl edit x",
      "systemctl kill x",
      "systemctl set-default x",
      "systemctl $X",
      "systemctl status --root=/x y",
      "systemctl reboot",
    ],
  },
  {
    programs: ["sysctl"],
    proof: (args) =>
      args.some((word) => word.includes("="))
        ? "sets a value"
        : only({
            short: "aAXNnbeqd",
            long: ["all", "names", "values", "binary", "ignore", "quiet"],
            longValues: ["pattern"],
          })(args),
    yes: ["sysctl -a", "sysctl -n kernel.hostname", "sysctl vm.swappiness"],
    no: [
      "sysctl -w vm.swappiness=1",
      "sysctl vm.swappiness=1",
      "sysctl -p",
      "sysctl --system",
      "sysctl -f x",
      "sysctl $X",
    ],
  },
  {
    programs: ["top", "htop"],
    proof: having(/^-[a-zA-Z]*b/, "-b", only({ short: "bciHS1E", values: "ndopuUw" })),
    yes: ["top -b -n 1", "top -bn1"],
    no: ["top", "top -n1", "htop", "top -b -W"],
  },
  {
    programs: ["ss"],
    proof: without({ short: "rKDF", long: ["resolve", "kill", "diag", "filter"] }),
    yes: ["ss -tlnp", "ss -s", "ss -tan state established", "ss -anp"],
    no: ["ss -K dst 1.2.3.4", "ss -r", "ss --kill", "ss -D f", "ss $X"],
  },
  {
    programs: ["netstat", "route", "arp"],
    proof: having(
      /^-[a-zA-Z]*n|^--numeric$|^-[is]$/,
      "-n (names are asked for over the network)",
      only({
        short: "antulpeivorsgcWw46",
        long: ["numeric", "tcp", "udp", "listening", "programs", "all"],
        operands: 0,
      }),
    ),
    yes: ["netstat -tlnp", "netstat -anp", "route -n", "arp -an"],
    no: ["netstat", "netstat -a", "route add default gw x", "arp -d x", "route -n add x"],
  },
  {
    programs: ["ip"],
    proof: ip,
    yes: [
      "ip addr",
      "ip addr show",
      "ip a",
      "ip -br a",
      "ip route",
      "ip route show table all",
      "ip route get 1.1.1.1",
      "ip -s link show eth0",
      "ip -4 neigh",
      "ip rule",
      "ip link ls",
      "ip a s eth0",
      "ip r s",
    ],
    no: [
      "ip link set eth0 down",
      "ip l s eth0 down",
      "ip xfrm s deleteall",
      "ip addr add 1.2.3.4/24 dev eth0",
      "ip route add x",
      "ip netns exec x ls",
      "ip -b f",
      "ip -batch f",
      "ip addr flush dev eth0",
      "ip -r a",
      "ip $X",
      "ip link delete x",
      "ip addr del x",
    ],
  },
  {
    programs: ["ifconfig", "iwconfig"],
    proof: (args) =>
      args.length === 0 || (args.length === 1 && /^(?:-a|-s|[a-z][\w.-]*)$/.test(args[0] as string))
        ? undefined
        : "may change an interface",
    yes: ["ifconfig", "ifconfig -a", "ifconfig eth0"],
    no: ["ifconfig eth0 down", "ifconfig eth0 1.2.3.4", "ifconfig $X"],
  },
  {
    programs: ["lsof"],
    proof: having(/^-[a-zA-Z]*n/, "-n (names are asked for over the network)", without({ short: "DFXkm", long: [] })),
    yes: ["lsof -nP -i :80", "lsof -n", "lsof -nP"],
    no: ["lsof", "lsof -i :80", "lsof -n -D b"],
  },
  {
    programs: ["mount"],
    proof: (args) =>
      args.length === 0 ||
      (args.length === 1 && args[0] === "-l") ||
      (args.length === 2 && args[0] === "-t" && /^[\w,.]+$/.test(args[1] as string))
        ? undefined
        : "mounts something",
    yes: ["mount", "mount -l", "mount -t ext4"],
    no: ["mount /dev/sda1 /mnt", "mount -a", "mount -o remount,rw /"],
  },
  {
    programs: ["swapon"],
    proof: having(
      /^(?:-s|--show|--summary)/,
      "--show",
      only({ short: "s", long: ["show", "summary", "bytes", "noheadings", "raw"], operands: 0 }),
    ),
    yes: ["swapon --show", "swapon -s"],
    no: ["swapon -a", "swapon /swapfile", "swapon"],
  },
  {
    programs: ["fdisk"],
    proof: having(/^(?:-l|--list)$/, "-l", only({ short: "lu", long: ["list", "bytes"], operands: /^\/dev\// })),
    yes: ["fdisk -l", "fdisk -l /dev/sda"],
    no: ["fdisk /dev/sda", "fdisk"],
  },
  {
    programs: ["loginctl"],
    proof: subcommands(
      {
        "list-sessions": unitWords,
        "list-users": unitWords,
        "list-seats": unitWords,
        "session-status": unitWords,
        "user-status": unitWords,
        "show-session": unitWords,
        "show-user": unitWords,
      },
      { long: ["no-pager", "no-legend"], none: always },
    ),
    yes: ["loginctl", "loginctl list-sessions", "loginctl show-user 1000"],
    no: ["loginctl terminate-session 1", "loginctl enable-linger x", "loginctl -H h"],
  },
  {
    programs: ["timedatectl", "hostnamectl", "localectl", "networkctl", "resolvectl", "coredumpctl", "bootctl"],
    proof: (args) =>
      args.length === 0 ||
      (/^(?:status|show|list|lldp|timesync-status)$/.test(args[0] as string) &&
        args.slice(1).every((word) => /^(?:--no-pager|--all|-a|[\w.@-]+)$/.test(word) && !word.startsWith("--host")))
        ? undefined
        : "may change something or ask the network",
    yes: ["timedatectl", "timedatectl status", "hostnamectl", "networkctl list", "resolvectl status"],
    no: [
      "timedatectl set-time 1",
      "hostnamectl set-hostname x",
      "hostnamectl hostname x",
      "resolvectl query x",
      "resolvectl flush-caches",
      "networkctl up x",
      "timedatectl -H x",
      "coredumpctl debug",
    ],
  },
  {
    programs: ["systemd-analyze"],
    proof: (args) =>
      args.length === 0 ||
      /^(?:time|blame|critical-chain|security|timespan|calendar|timestamp)$/.test(args[0] as string)
        ? without({ short: "HM", long: ["host", "machine"] })(args)
        : "may change something",
    yes: ["systemd-analyze", "systemd-analyze blame"],
    no: ["systemd-analyze set-log-level debug", "systemd-analyze -H x blame", "systemd-analyze log-level debug"],
  },
  {
    programs: ["getent"],
    proof: (args) =>
      /^(?:passwd|group|services|protocols|rpc)$/.test(args[0] ?? "") && only({})(args) === undefined
        ? undefined
        : "may ask the network",
    yes: ["getent passwd root", "getent group"],
    no: ["getent hosts example.com", "getent ahosts x", "getent $X", "getent passwd -s x", "getent shadow"],
  },
  {
    programs: ["stty"],
    proof: (args) =>
      args.length === 0 || (args.length === 1 && /^(?:-a|--all|size|speed|-g)$/.test(args[0] as string))
        ? undefined
        : "changes the terminal",
    yes: ["stty -a", "stty size"],
    no: ["stty raw", "stty -echo"],
  },
  {
    programs: ["crontab"],
    proof: only({ short: "l", values: "u", operands: 0 }),
    yes: ["crontab -l", "crontab -u bob -l"],
    no: ["crontab -r", "crontab -e", "crontab f", "crontab -", "crontab"],
  },
  {
    programs: ["dpkg", "dpkg-query"],
    proof: having(
      /^(?:-[lLsSp]|--list|--listfiles|--status|--search|--get-selections|--print-architecture|--audit|-C|-W|--show|--version)$/,
      "a query",
      only({
        short: "lLsSpWC",
        long: [
          "list",
          "listfiles",
          "status",
          "search",
          "get-selections",
          "print-architecture",
          "audit",
          "show",
          "no-pager",
          "version",
        ],
        values: "f",
        longValues: ["showformat"],
      }),
    ),
    yes: ["dpkg -l", "dpkg -L bash", "dpkg -S /bin/ls", "dpkg --get-selections", "dpkg-query -W -f '${Package}\\n'"],
    no: ["dpkg -i x.deb", "dpkg -r x", "dpkg -l --admindir=x", "dpkg --configure -a", "dpkg --purge x"],
  },
  {
    programs: ["apt", "apt-cache"],
    proof: subcommands(
      {
        list: only({ short: "a", long: ["installed", "upgradable", "all-versions", "manual-installed", "verbose"] }),
        show: only({ short: "a", long: ["all-versions", "no-all-versions"] }),
        search: only({ short: "n", long: ["names-only", "full"] }),
        policy: only({}),
        depends: only({}),
        rdepends: only({}),
        showpkg: only({}),
        madison: only({}),
        pkgnames: only({}),
      },
      {},
    ),
    yes: ["apt list --installed", "apt-cache policy bash", "apt show bash", "apt search foo"],
    no: [
      "apt install x",
      "apt update",
      "apt -o x=y list",
      "apt remove x",
      "apt-cache gencaches",
      "apt-cache -c f show x",
    ],
  },
  {
    programs: ["rpm"],
    proof: having(
      /^-[a-z]*q|^--query$/,
      "-q",
      offline({
        short: "iUeFVD",
        long: [
          "define",
          "eval",
          "pipe",
          "root",
          "dbpath",
          "load",
          "macros",
          "rcfile",
          "install",
          "upgrade",
          "erase",
          "import",
          "initdb",
          "rebuilddb",
          "specfile",
          "verify",
        ],
      }),
    ),
    yes: ["rpm -qa", "rpm -ql bash", "rpm -q bash"],
    no: [
      "rpm -i x",
      "rpm -e x",
      "rpm -q --pipe sh x",
      "rpm -q --define 'x %(id)' y",
      "rpm -qa --eval '%(id)'",
      "rpm -qp http://x/y.rpm",
    ],
  },
  {
    programs: ["pacman"],
    proof: having(
      /^-Q[a-z]*$|^--query$/,
      "-Q",
      only({ short: "Qeqdtlikosumcg", long: ["query", "explicit", "quiet"] }),
    ),
    yes: ["pacman -Q", "pacman -Qe", "pacman -Ql bash"],
    no: ["pacman -S x", "pacman -R x", "pacman -Q --hookdir=x", "pacman -Sy"],
  },
  {
    programs: ["ufw", "nft"],
    proof: (args) =>
      args.length >= 1 &&
      ((args[0] === "status" && args.slice(1).every((word) => /^(?:verbose|numbered)$/.test(word))) ||
        (args[0] === "list" && args.length <= 5 && args.every((word) => /^\w[\w-]*$/.test(word))))
        ? undefined
        : "may change the firewall",
    yes: ["ufw status", "ufw status verbose", "nft list ruleset"],
    no: ["ufw enable", "ufw allow 22", "nft flush ruleset", "nft -f x", "nft list -f x"],
  },
  {
    programs: ["iptables", "ip6tables"],
    proof: having(/^(?:-S|--list-rules|-[vn]*L[vn]*|--list)$/, "-L", (args) =>
      args.some((word) => /^(?:-S|--list-rules|-[a-zA-Z]*n[a-zA-Z]*|--numeric)$/.test(word))
        ? only({
            short: "LSnvx",
            values: "t",
            long: ["list", "list-rules", "numeric", "verbose", "line-numbers", "exact"],
            longValues: ["table"],
            operands: 2,
          })(args)
        : "without -n asks the network for names",
    ),
    yes: ["iptables -nL", "iptables -S", "iptables -t nat -L -n -v --line-numbers"],
    no: ["iptables -F", "iptables -A INPUT -j DROP", "iptables -L", "iptables -L -n -Z", "iptables -nL -F"],
  },
  {
    programs: ["iptables-save", "ip6tables-save"],
    proof: only({ short: "c", values: "t", long: ["counters"], longValues: ["table"], operands: 0 }),
    yes: ["iptables-save", "iptables-save -c -t nat"],
    no: ["iptables-save -f out", "iptables-save -M prog", "iptables-restore"],
  },
  {
    programs: ["snap", "flatpak"],
    proof: (args) =>
      /^(?:list|version|--version|services|changes)$/.test(args[0] ?? "") &&
      args.slice(1).every((word) => /^[\w.@/-]+$/.test(word))
        ? undefined
        : "may change something",
    yes: ["snap list", "flatpak list", "snap services"],
    no: ["snap install x", "snap refresh", "flatpak run x", "snap set x a=b"],
  },
  {
    programs: ["crictl"],
    proof: subcommands(
      Object.fromEntries(
        ["ps", "pods", "images", "inspect", "inspecti", "inspectp", "logs", "stats", "info", "version"].map((verb) => [
          verb,
          only({
            short: "aqfv",
            values: "on",
            long: ["all", "quiet", "follow", "no-trunc", "verbose"],
            longValues: ["name", "output", "tail", "since", "state", "label", "pod"],
          }),
        ]),
      ),
    ),
    yes: ["crictl ps -a", "crictl logs --tail 50 x", "crictl images", "crictl inspect x"],
    no: ["crictl rm x", "crictl exec x ls", "crictl pull x", "crictl -r tcp://x ps"],
  },
  {
    programs: ["nvidia-smi"],
    proof: (args) =>
      args.every((word) => /^(?:-L|-q|--list-gpus|--query)$/.test(word)) ? undefined : "may change the device",
    yes: ["nvidia-smi", "nvidia-smi -L"],
    no: ["nvidia-smi -r", "nvidia-smi -pm 1"],
  },
  {
    programs: ["sensors"],
    proof: without({ short: "sc", long: ["set", "config-file"] }),
    yes: ["sensors", "sensors -j"],
    no: ["sensors -s"],
  },
  {
    programs: ["tmux"],
    proof: (args) =>
      /^(?:ls|list-sessions|list-windows|lsw|list-panes|lsp|list-clients|lsc|info)$/.test(args[0] ?? "") &&
      args.every((word) => /^[\w:.@$%=-]+$/.test(word) && word !== "-F")
        ? undefined
        : "may change a session",
    yes: ["tmux ls", "tmux list-panes -a"],
    no: ["tmux kill-server", "tmux send-keys x", "tmux new -d", "tmux ls -F '#(id)'", "tmux ls ; kill-server"],
  },
];
