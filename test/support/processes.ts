/** Looks for processes by what their command line contains: for tests that nothing is left behind. */
import { readFileSync, readdirSync } from "node:fs";

/** Who runs the tests; os.userInfo() takes it from variables that need not be set. */
export const ACCOUNT = Bun.spawnSync(["id", "-un"]).stdout.toString().trim();

/** Of all processes, or of the children of one. */
export function processesWith(text: string, parent?: number): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && name !== String(process.pid))
    .filter((name) => {
      try {
        const stat = readFileSync(`/proc/${name}/stat`, "utf8");
        const [state = "", ppid] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
        if (/^[ZX]/.test(state) || (parent !== undefined && Number(ppid) !== parent)) return false;
        return readFileSync(`/proc/${name}/cmdline`, "utf8").replaceAll("\0", " ").includes(text);
      } catch {
        return false;
      }
    })
    .map(Number);
}

let last = 0;

/** Seconds for `sleep` that no other process has. */
export function uniqueSeconds(): string {
  return `${4_000_000 + (process.pid % 100_000)}${String(++last).padStart(3, "0")}`;
}
