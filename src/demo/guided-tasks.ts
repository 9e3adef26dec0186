/** The questions that the demo model can answer: disk, memory, processes, this repository. */
import { type Plan, type Round, shellCall, block, resultWords } from "./plan.ts";

export interface GuidedTask {
  readonly about: RegExp;
  readonly plan: Plan;
}

export const GUIDED_TASKS: readonly GuidedTask[] = [
  {
    about: /\b(disks?|storage|file ?systems?|space|df)\b/i,
    plan: {
      stages: [() => ({ calls: [shellCall("df -hP", "see how full the disks are")] })],
      answer: ([df]) => diskWords(df),
    },
  },
  {
    about: /\b(memory|ram|swap|oom)\b/i,
    plan: {
      stages: [
        () => ({ calls: [shellCall("free -m", "see how much memory is in use")] }),
        // A small Linux has no free; macOS has neither free nor /proc.
        ([free]) => ({
          calls:
            free?.outcome === "failed"
              ? [shellCall("cat /proc/meminfo 2>/dev/null || vm_stat", "see how much memory is in use")]
              : [],
        }),
      ],
      answer: (seen) => memoryWords(seen.at(-1)),
    },
  },
  {
    about: /\b(process(es)?|cpu|load|busy|slow|running|ps|top)\b/i,
    plan: {
      stages: [
        () => ({
          calls: [
            shellCall("uptime", "see the load"),
            shellCall("ps -eo pid,user,pcpu,pmem,comm --sort=-pcpu | head -n 6", "see the busiest processes"),
          ],
        }),
        // BusyBox and macOS know other options.
        ([, ps]) => ({
          calls:
            ps && processRows(ps).length === 0 && ps.outcome !== "refused"
              ? [shellCall("ps", "see the processes")]
              : [],
        }),
      ],
      answer: (seen) => processWords(seen),
    },
  },
  {
    about: /\b(repo(sitory)?|git|commits?|branch|project|code ?base|director(y|ies)|folder)\b/i,
    plan: {
      stages: [
        () => ({
          calls: [
            shellCall("git status --short --branch", "see the state of the repository"),
            shellCall("git log --oneline -n 5", "see the latest commits"),
            shellCall("ls -1", "see what is here"),
          ],
        }),
      ],
      answer: (seen) => repositoryWords(seen),
    },
  },
];

function diskWords(df: Round | undefined): string {
  if (!df) return "";
  const all = df.text.split("\n").flatMap((line) => {
    const found = /^(\S+)\s+(\S+)\s+(\S+)\s+(\S+)\s+(\d+)%\s+(\/.*)$/.exec(line.trim());
    if (!found) return [];
    const [, of, size, used, free, percent, at] = found as unknown as string[];
    return { of: of!, size: size!, used: used!, free: free!, percent: Number(percent), at: at! };
  });
  const disks = all.filter(({ of }) => !/^(tmpfs|devtmpfs|udev|shm|none|efivarfs)$/.test(of));
  // A chroot may have no others.
  const rows = disks.length > 0 ? disks : all;
  if (df.outcome !== "ok" || rows.length === 0) return resultWords("`df -hP`", df);
  const fullest = rows.toSorted((a, b) => b.percent - a.percent).slice(0, 5);
  const lines = fullest.map(
    (row) => `- ${row.at} is ${row.percent} % full: ${row.used} of ${row.size} used, ${row.free} free`,
  );
  const worst = fullest[0]!;
  const verdict =
    worst.percent >= 90
      ? `${worst.at} is nearly full and needs attention.`
      : `No file system is nearly full; the fullest is ${worst.at}.`;
  return `${verdict}\n\n${lines.join("\n")}`;
}

function memoryWords(round: Round | undefined): string {
  if (!round) return "";
  const row = (name: string) =>
    new RegExp(`^${name}:?\\s+(.*)$`, "m").exec(round.text)?.[1]?.trim().split(/\s+/).map(Number);
  const mem = row("Mem") ?? fromMeminfo(row);
  if (round.outcome !== "ok" || !mem || mem.length < 3)
    return resultWords(`\`${String(round.args["command"])}\``, round);
  const gib = (mib: number | undefined) => `${((mib ?? 0) / 1024).toFixed(1)} GiB`;
  const [swapKib] = row("SwapTotal") ?? [];
  const swap = swapKib === undefined ? row("Swap") : [swapKib / 1024, (swapKib - (row("SwapFree")?.[0] ?? 0)) / 1024];
  const swapWords = swap?.[0] ? `Swap: ${gib(swap[1])} of ${gib(swap[0])} used.` : "There is no swap.";
  return `Memory: ${gib(mem[1])} of ${gib(mem[0])} used, ${gib(mem[5] ?? mem[2])} available to programs. ${swapWords}`;
}

/** Like the columns of `free -m`: total, used, and in the sixth place available. */
function fromMeminfo(row: (name: string) => number[] | undefined): number[] | undefined {
  const [total] = row("MemTotal") ?? [];
  const [available] = row("MemAvailable") ?? row("MemFree") ?? [];
  if (total === undefined || available === undefined) return undefined;
  return [total / 1024, (total - available) / 1024, 0, 0, 0, available / 1024];
}

interface ProcessRow {
  readonly pid: string;
  readonly user: string;
  readonly cpu: string;
  readonly memory: string;
  readonly name: string;
}

function processRows(ps: Round): ProcessRow[] {
  return ps.text.split("\n").flatMap((line) => {
    const found = /^\s*(\d+)\s+(\S+)\s+(\d+(?:\.\d+)?)\s+(\d+(?:\.\d+)?)\s+(.+)$/.exec(line);
    return found ? { pid: found[1]!, user: found[2]!, cpu: found[3]!, memory: found[4]!, name: found[5]!.trim() } : [];
  });
}

function processWords(seen: readonly Round[]): string {
  const [uptime, ps, plain] = seen;
  if (!uptime || !ps) return "";
  const load = /load averages?:\s*([\d.,]+)[, ]+\s*([\d.,]+)[, ]+\s*([\d.,]+)/.exec(uptime.text);
  const loadWords = load
    ? `The load over 1, 5 and 15 minutes is ${load.slice(1).join(", ").replaceAll(",,", ",")}.`
    : resultWords("`uptime`", uptime);
  const rows = processRows(ps);
  if (rows.length === 0) return `${loadWords}\n\n${resultWords("`ps`", plain ?? ps)}`;
  const lines = rows.map(
    (row) => `- ${row.name} (pid ${row.pid}, ${row.user}): ${row.cpu} % CPU, ${row.memory} % memory`,
  );
  return `${loadWords} The busiest processes:\n\n${lines.join("\n")}`;
}

function repositoryWords([status, log, files]: readonly Round[]): string {
  if (!status || !log || !files) return "";
  const entries = files.text.split("\n").filter((name) => name.trim() !== "");
  const named =
    entries.length === 0
      ? "The directory is empty."
      : `${entries.length === 1 ? "One entry" : `${entries.length} entries`} here:\n\n${block(entries.join("\n"))}`;
  const listing = files.outcome === "ok" ? named : resultWords("`ls -1`", files);
  if (status.outcome === "failed") return `This directory is not a git repository. ${listing}`;
  if (status.outcome !== "ok") return resultWords("`git status`", status);
  const [first = "", ...changes] = status.text.trimEnd().split("\n");
  const branch = first.replace(/^## /, "").replace(/^No commits yet on /, "");
  const state =
    changes.length === 0
      ? "the working tree is clean"
      : `${changes.length} ${changes.length === 1 ? "path is" : "paths are"} changed`;
  const commits =
    log.outcome === "ok" && log.text.trim() !== ""
      ? `The latest commits:\n\n${block(log.text)}`
      : "There are no commits yet.";
  return `The branch is \`${branch}\` and ${state}. ${commits}\n\n${listing}`;
}
