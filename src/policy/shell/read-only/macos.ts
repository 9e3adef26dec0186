/** What macOS tells about itself. */
import { always, only, type Proof, type ReadOnlyRow, subcommands, without } from "./proof.ts";

/** The first word must be one of these; plain words may follow. */
function verb(pattern: RegExp): Proof {
  return (args) =>
    pattern.test(args[0] ?? "") && args.slice(1).every((word) => /^[\w./@:+=, -]*$/.test(word))
      ? undefined
      : "may change something";
}

export const MACOS: readonly ReadOnlyRow[] = [
  {
    programs: ["sw_vers", "vm_stat", "kextstat", "mdls", "otool", "ioreg"],
    proof: always,
    yes: ["sw_vers -productVersion", "vm_stat", "otool -L f", "ioreg -l", "mdls f"],
    no: ["kextload x", "sw_vers > f"],
  },
  {
    programs: ["system_profiler"],
    proof: only({ words: ["-listDataTypes", "-json", "-xml", "-detailLevel"] }),
    yes: ["system_profiler SPHardwareDataType", "system_profiler -json SPDisplaysDataType"],
    no: ["system_profiler -usage x", "system_profiler $X"],
  },
  {
    programs: ["mdfind"],
    proof: only({ short: "0", words: ["-name", "-onlyin", "-count", "-literal"] }),
    yes: ["mdfind foo", "mdfind -onlyin /x foo"],
    no: ["mdfind -live x", "mdfind $X"],
  },
  {
    programs: ["diskutil"],
    proof: subcommands({
      list: only({ words: ["-plist", "internal", "external"] }),
      info: only({ words: ["-plist", "-all"] }),
      apfs: verb(/^list$/),
      cs: verb(/^list$/),
      activity: always,
    }),
    yes: ["diskutil list", "diskutil info disk0", "diskutil apfs list"],
    no: [
      "diskutil eraseDisk JHFS+ x disk2",
      "diskutil unmount disk2",
      "diskutil apfs deleteContainer disk1",
      "diskutil",
    ],
  },
  {
    programs: ["launchctl"],
    proof: verb(/^(?:list|print|print-disabled|blame|version|managername|manageruid|hostinfo)$/),
    yes: ["launchctl list", "launchctl print system/com.apple.x", "launchctl print-disabled gui/501"],
    no: ["launchctl load x", "launchctl kickstart x", "launchctl submit -l x -- sh", "launchctl"],
  },
  {
    programs: ["pmset"],
    proof: verb(/^-g$/),
    yes: ["pmset -g", "pmset -g batt"],
    no: ["pmset -a sleep 0", "pmset sleepnow", "pmset"],
  },
  {
    programs: ["networksetup"],
    proof: verb(/^-(?:list|get|show)[a-zA-Z0-9]+$/),
    yes: ["networksetup -listallhardwareports", "networksetup -getinfo Wi-Fi"],
    no: ["networksetup -setdnsservers Wi-Fi 1.1.1.1", "networksetup -removenetworkservice x"],
  },
  {
    programs: ["scutil"],
    proof: verb(/^--(?:dns|proxy|get|nwi)$/),
    yes: ["scutil --dns", "scutil --get HostName"],
    no: ["scutil --set HostName x", "scutil"],
  },
  {
    programs: ["defaults"],
    proof: verb(/^(?:read|read-type|domains|find)$/),
    yes: ["defaults read com.apple.dock", "defaults domains"],
    no: ["defaults write x y z", "defaults delete x", "defaults import x f"],
  },
  {
    programs: ["plutil"],
    proof: (args) => (args.includes("-o") || args.includes("-e") ? "may write" : verb(/^-(?:p|lint)$/)(args)),
    yes: ["plutil -p f.plist", "plutil -lint f.plist"],
    no: ["plutil -convert xml1 f", "plutil -replace a -string b f"],
  },
  {
    programs: ["dscl"],
    proof: (args) =>
      args[0] === "." && /^-?(?:list|ls|read|cat|search|readall)$/.test(args[1] ?? "")
        ? undefined
        : "may change something or ask the network",
    yes: ["dscl . list /Users", "dscl . -read /Users/kim UserShell"],
    no: ["dscl . create /Users/x", "dscl . -passwd /Users/x", "dscl /LDAPv3/h -list /Users"],
  },
  {
    programs: ["csrutil", "fdesetup", "spctl", "nvram", "tmutil"],
    proof: (args) =>
      /^(?:status|--status|-p|-xp|listbackups|destinationinfo|latestbackup)$/.test(args[0] ?? "") && args.length === 1
        ? undefined
        : "may change something",
    yes: ["csrutil status", "fdesetup status", "spctl --status", "nvram -p", "tmutil listbackups"],
    no: ["csrutil disable", "spctl --master-disable", "nvram x=y", "tmutil delete x"],
  },
  {
    programs: ["top"],
    proof: (args) =>
      args.some((word) => word.startsWith("-l"))
        ? only({ short: "FSr", values: "lnosiUp", words: ["-stats", "-pid"], operands: 1 })(args)
        : "without -l",
    yes: ["top -l 1", "top -l 1 -n 10 -o cpu"],
    no: ["top -o cpu", "top -l 1 -W"],
  },
  {
    programs: ["date"],
    proof: (args) => (args[0] === "-j" ? only({ short: "juRn", values: "fvrz" })(args) : "without -j"),
    yes: ["date -j -f %s 1 +%F", "date -j -v-1d +%F"],
    no: ["date -f %s 1", "date -js 1", "date -j -s x"],
  },
  {
    programs: ["md5", "shasum"],
    proof: without({}),
    yes: ["md5 f", "md5 -q f", "shasum -a 256 f", "shasum -c f"],
    no: ["md5 f > g", "shasum $X"],
  },
];
