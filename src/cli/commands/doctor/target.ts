/** The machine named by --ssh or --container: who and where it is, tmux, shell, disk, sudo, clock. */
import { BuddyError } from "../../../lib/errors.ts";
import type { MachineReport } from "../../../targets/machine-report.ts";
import type { TransportOptions } from "../../../targets/connection/open-transport.ts";
import type { TargetOptions } from "../../../targets/target.ts";
import { broken, checkUnasked, type Finding, finding } from "./machine.ts";

export async function checkTarget(options: TransportOptions & Pick<TargetOptions, "secondLock">): Promise<Finding[]> {
  const { openTransport } = await import("../../../targets/connection/open-transport.ts");
  try {
    await using transport = await openTransport(options);
    const { machineReport } = await import("../../../targets/machine-report.ts");
    const found = findingsOf(await machineReport(transport), transport.facts.tmuxProblem);
    const locks = await checkUnasked(transport, options.secondLock);
    return [finding("target", "ok", `${transport.label} answers`), ...found, locks];
  } catch (error) {
    if (!(error instanceof BuddyError)) throw error;
    return [broken("target", error)];
  }
}

function findingsOf(
  { who, tmux, shell, hasBash, disk, sudo, clockOffMs }: MachineReport,
  tmuxProblem?: string,
): Finding[] {
  const findings: Finding[] = [finding("identity", "ok", who)];
  findings.push(
    tmux === ""
      ? finding(
          "target tmux",
          "warning",
          `${tmuxProblem ?? "tmux is not installed"}: commands run in a shell you cannot attach to`,
          tmuxProblem === undefined ? "install tmux on the target" : "run tmux -V on the target",
        )
      : finding("target tmux", "ok", tmux),
  );
  findings.push(finding("shell", "ok", `${shell}${hasBash ? "" : ", no bash"}`));
  if (disk !== undefined) {
    const full = isFull(disk);
    const text = `${Math.round(disk.freeKiB / 1024)} MiB free in the working directory (${disk.used} used)`;
    findings.push(
      full ? finding("disk", "warning", text, "free some space on the target") : finding("disk", "ok", text),
    );
  }
  findings.push(finding("sudo", "info", SUDO_WORDS[sudo]));
  findings.push(
    isOff(clockOffMs)
      ? finding(
          "clock",
          "warning",
          clockWords(clockOffMs),
          "check time synchronisation (chrony, systemd-timesyncd, ntpd)",
        )
      : finding("clock", "ok", "agrees with this machine"),
  );
  return findings;
}

export function isFull({ used }: NonNullable<MachineReport["disk"]>): boolean {
  return Number.parseInt(used, 10) >= 95;
}

export function isOff(clockOffMs: number): boolean {
  return Math.abs(clockOffMs) >= 5_000;
}

export function clockWords(clockOffMs: number): string {
  return `${Math.round(Math.abs(clockOffMs) / 1000)} s ${clockOffMs < 0 ? "behind" : "ahead of"} this machine`;
}

const SUDO_WORDS: Readonly<Record<MachineReport["sudo"], string>> = {
  root: "works as root: approve with care",
  none: "no sudo",
  free: "sudo asks for no password",
  password: "sudo asks for a password: type it in the attached pane when asked",
  unknown: "unknown",
};
