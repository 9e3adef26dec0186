/** Every process of this machine whose command line or environment names one of these texts. */
import { readFileSync, readdirSync } from "node:fs";

export interface Found {
  readonly pid: number;
  readonly parent: number;
  readonly command: string;
}

export function processesOf(texts: readonly string[]): Found[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        const stat = readFileSync(`/proc/${name}/stat`, "utf8");
        const [state = "", parent] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
        if (/^[ZX]/.test(state)) return [];
        const command = readFileSync(`/proc/${name}/cmdline`, "utf8").replaceAll("\0", " ").trim();
        const all = texts.length === 0 ? "" : `${command}\n${readFileSync(`/proc/${name}/environ`, "latin1")}`;
        if (texts.length > 0 && !texts.some((text) => all.includes(text))) return [];
        return [{ pid: Number(name), parent: Number(parent), command }];
      } catch {
        return [];
      }
    });
}
