/** The machine named by --ssh or --container: who and where it is, tmux, shell, disk, sudo, clock. */
import { BuddyError } from "../../../lib/errors.ts";
import type { TargetOptions } from "../../../targets/target.ts";
import { broken } from "./configuration.ts";
import type { Finding } from "./finding.ts";

export async function checkTarget(options: TargetOptions): Promise<Finding[]> {
  const { openTransport } = await import("../../../targets/connection/open-transport.ts");
  try {
    await using transport = await openTransport(options);
    const before = Date.now();
    const child = transport.spawn(["sh", "-c", SCRIPT]);
    child.stdin.end();
    const text = await new Response(child.stdout).text();
    await child.exited;
    const found = read(text, before, Date.now());
    const { checkLocks } = await import("./locks.ts");
    const locks = await checkLocks(transport, options.secondLock);
    return [{ check: "target", status: "ok", text: `${transport.label} answers` }, ...found, locks];
  } catch (error) {
    if (!(error instanceof BuddyError)) throw error;
    return [broken("target", error)];
  }
}

/** One round trip; `key=value` lines. */
const SCRIPT = `
echo "who=$(id -un 2>/dev/null || id -u)@$(uname -n), $(uname -sm)"
echo "clock=$(date +%s)"
echo "tmux=$(tmux -V 2>/dev/null)"
echo "shell=\${SHELL:-sh}"
echo "bash=$(command -v bash)"
echo "disk=$(df -Pk . 2>/dev/null | tail -n 1 | awk '{ print $4, $5 }')"
if [ "$(id -u)" = 0 ]; then echo "sudo=root"
elif ! command -v sudo >/dev/null 2>&1; then echo "sudo=none"
elif sudo -n true 2>/dev/null; then echo "sudo=free"
else echo "sudo=password"; fi
`;

function read(text: string, before: number, after: number): Finding[] {
  const facts = new Map(
    text.split("\n").map((line) => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)]),
  );
  const get = (name: string) => facts.get(name) ?? "";
  const findings: Finding[] = [{ check: "identity", status: "ok", text: get("who") }];
  findings.push(
    get("tmux") === ""
      ? {
          check: "target tmux",
          status: "warning",
          text: "no tmux there: commands run in a shell you cannot attach to",
          remedy: "install tmux on the target",
        }
      : { check: "target tmux", status: "ok", text: get("tmux") },
  );
  findings.push({ check: "shell", status: "ok", text: `${get("shell")}${get("bash") === "" ? ", no bash" : ""}` });
  const [free = "", used = ""] = get("disk").split(" ");
  if (used !== "") {
    const full = Number.parseInt(used, 10) >= 95;
    findings.push({
      check: "disk",
      status: full ? "warning" : "ok",
      text: `${Math.round(Number(free) / 1024)} MiB free in the working directory (${used} used)`,
      ...(full ? { remedy: "make room: output of commands is kept there" } : {}),
    });
  }
  findings.push({ check: "sudo", status: "info", text: SUDO[get("sudo")] ?? "unknown" });
  return [...findings, ...clock(Number(get("clock")), before, after)];
}

const SUDO: Readonly<Record<string, string>> = {
  root: "works as root: approve with care",
  none: "no sudo",
  free: "sudo asks for no password",
  password: "sudo asks for a password: type it in the attached pane when asked",
};

/** Whole seconds, and the answer took a while: only what cannot be explained by that counts. */
function clock(seconds: number, before: number, after: number): Finding[] {
  if (!Number.isFinite(seconds) || seconds === 0) return [];
  const there = seconds * 1000;
  const off = there < before - 1000 ? there - before : there > after + 1000 ? there - after : 0;
  if (Math.abs(off) < 5_000) return [{ check: "clock", status: "ok", text: "agrees with this machine" }];
  const words = `${Math.round(Math.abs(off) / 1000)} s ${off < 0 ? "behind" : "ahead of"} this machine`;
  return [
    {
      check: "clock",
      status: "warning",
      text: words,
      remedy: "check time synchronisation (chrony, systemd-timesyncd, ntpd)",
    },
  ];
}
