/** Volumes, pools, arrays and disks: what their tools report. */
import { having, only, type ReadOnlyRow, subcommands, without } from "./proof.ts";

const zfsList = only({ short: "HprdS", values: "otsS", longValues: [], long: ["json"] });
const pool = only({ short: "vxHpPLgTDt", values: "o", long: ["json"] });
const tree = only({
  short: "bhHkmgtTdpacuqRso",
  long: ["raw", "human-readable", "si", "iec", "mounted", "all-devices"],
});

export const STORAGE: readonly ReadOnlyRow[] = [
  {
    programs: ["lvs", "vgs", "pvs", "lvdisplay", "vgdisplay", "pvdisplay", "lvscan", "pvscan", "vgscan"],
    proof: only({
      short: "avmcCPHo",
      values: "oOS",
      long: ["all", "noheadings", "nosuffix", "segments", "verbose", "maps", "columns", "colon", "readonly", "units"],
      longValues: ["options", "sort", "units", "separator", "select", "reportformat"],
    }),
    yes: ["lvs", "vgs -o +devices", "pvs --noheadings", "lvdisplay /dev/vg/x", "lvs -a -o name,size --units g"],
    no: ["lvs --config 'x{y=1}'", "pvscan --cache", "vgscan --mknodes", "lvremove x", "lvs $X", "vgs --profile x"],
  },
  {
    programs: ["zpool"],
    proof: subcommands({ status: pool, list: pool, iostat: pool, get: pool, history: only({ short: "il" }) }),
    yes: ["zpool status", "zpool list -v", "zpool status -x", "zpool history"],
    no: ["zpool destroy x", "zpool import", "zpool scrub x", "zpool status -c x", "zpool iostat -c x"],
  },
  {
    programs: ["zfs"],
    proof: subcommands({ list: zfsList, get: zfsList }),
    yes: ["zfs list", "zfs list -t snapshot", "zfs get compression x"],
    no: ["zfs destroy x", "zfs set a=b x", "zfs snapshot x@y", "zfs mount -a"],
  },
  {
    programs: ["btrfs"],
    proof: subcommands({
      filesystem: subcommands({ show: tree, usage: tree, df: tree, du: only({ short: "s", long: ["raw"] }) }),
      fi: subcommands({ show: tree, usage: tree, df: tree }),
      subvolume: subcommands({ list: tree, show: tree }),
      sub: subcommands({ list: tree, show: tree }),
      device: subcommands({ stats: only({}), usage: tree }),
      scrub: subcommands({ status: only({ short: "dR" }) }),
    }),
    yes: ["btrfs filesystem show", "btrfs fi usage /", "btrfs subvolume list /", "btrfs device stats /"],
    no: ["btrfs subvolume delete x", "btrfs device stats -z /", "btrfs balance start /", "btrfs fi resize 1g /"],
  },
  {
    programs: ["smartctl"],
    // -l scterc,70,70 and -l scttempint,5 set what they name.
    proof: (args) =>
      args.some((word) => /sct(?:erc|tempint),/.test(word))
        ? "changes a setting of the disk"
        : only({
            short: "iHcAaxv",
            values: "ldTn",
            long: ["scan", "info", "health", "all", "xall", "attributes", "json", "capabilities"],
            longValues: ["log", "device"],
          })(args),
    yes: [
      "smartctl -a /dev/sda",
      "smartctl -l error /dev/sda",
      "smartctl -H /dev/sda",
      "smartctl --scan",
      "smartctl -d sat -x /dev/sda",
    ],
    no: [
      "smartctl -t short /dev/sda",
      "smartctl -s on /dev/sda",
      "smartctl -X /dev/sda",
      "smartctl --smart=off /dev/sda",
      "smartctl -l scterc,70,70 /dev/sda",
      "smartctl --log=scttempint,5,p /dev/sda",
    ],
  },
  {
    programs: ["losetup"],
    proof: having(
      /^(?:-[al]+|--all|--list)$/,
      "-l",
      only({ short: "aln", long: ["all", "list", "noheadings", "raw", "json"], longValues: ["output"], operands: 0 }),
    ),
    yes: ["losetup -a", "losetup -l", "losetup --list --json"],
    no: ["losetup /dev/loop0 x", "losetup -f x", "losetup -d /dev/loop0", "losetup", "losetup -D"],
  },
  {
    programs: ["mdadm"],
    proof: having(
      /^(?:-D|--detail|-Q|--query|-E|--examine)$/,
      "--detail",
      only({ short: "DQEsv", long: ["detail", "query", "examine", "scan", "verbose", "export"] }),
    ),
    yes: ["mdadm --detail /dev/md0", "mdadm -D /dev/md0", "mdadm --detail --scan"],
    no: ["mdadm --stop /dev/md0", "mdadm --detail --zero-superblock /dev/sda", "mdadm -A --scan"],
  },
  {
    programs: ["hdparm"],
    proof: having(/^-[iI]$/, "-I", only({ short: "iI" })),
    yes: ["hdparm -I /dev/sda", "hdparm -i /dev/sda"],
    no: ["hdparm -S 1 /dev/sda", "hdparm -W0 /dev/sda", "hdparm -I -y /dev/sda"],
  },
  {
    programs: ["tune2fs", "parted", "sfdisk"],
    proof: having(/^(?:-l|--list)$/, "-l", only({ short: "l", long: ["list"], operands: 1 })),
    yes: ["tune2fs -l /dev/sda1", "parted -l", "sfdisk -l", "sfdisk --list /dev/sda"],
    no: ["tune2fs -c 1 /dev/sda1", "parted /dev/sda rm 1", "sfdisk /dev/sda", "tune2fs -l -O x /dev/sda1"],
  },
  {
    programs: ["sfdisk"],
    proof: having(/^(?:-d|--dump|-J|--json)$/, "-d", only({ short: "dJ", long: ["dump", "json"], operands: 1 })),
    yes: ["sfdisk -d /dev/sda", "sfdisk --json /dev/sda"],
    no: ["sfdisk -d --delete /dev/sda", "sfdisk --delete /dev/sda"],
  },
  {
    programs: ["dumpe2fs", "xfs_info"],
    proof: without({ short: "bix" }),
    yes: ["dumpe2fs -h /dev/sda1", "xfs_info /"],
    no: ["dumpe2fs -i f /dev/sda1", "xfs_growfs /"],
  },
];
