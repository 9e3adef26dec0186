/** What an operator wants to know about a machine before working on it, in one round trip. */
import report from "../../templates/target/machine-report.sh" with { type: "text" };
import { script } from "../lib/script.ts";
import type { Transport } from "./target.ts";

export interface MachineReport {
  /** "deploy@web1, Linux x86_64". */
  readonly who: string;
  readonly shell: string;
  readonly hasBash: boolean;
  /** Of the working directory; undefined if unknown. */
  readonly disk?: { readonly freeKiB: number; readonly used: string };
  readonly sudo: "root" | "none" | "free" | "password" | "unknown";
  /** How far its clock is from ours; 0 if the time of the round trip explains the difference. */
  readonly clockOffMs: number;
}

const SCRIPT = script(report);

export async function machineReport(transport: Transport): Promise<MachineReport> {
  const before = Date.now();
  const child = transport.spawn(["sh", "-c", SCRIPT]);
  child.stdin.end();
  const text = await new Response(child.stdout).text();
  await child.exited;
  const after = Date.now();
  const facts = new Map(
    text.split("\n").map((line) => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)]),
  );
  const get = (name: string) => facts.get(name) ?? "";
  const [free = "", used = ""] = get("disk").split(" ");
  return {
    who: get("who"),
    shell: get("shell"),
    hasBash: get("bash") !== "",
    ...(used === "" ? {} : { disk: { freeKiB: Number(free), used } }),
    sudo: SUDO.find((mode) => mode === get("sudo")) ?? "unknown",
    clockOffMs: clockOff(Number(get("clock")), before, after),
  };
}

const SUDO = ["root", "none", "free", "password"] as const;

/** The clock is in whole seconds, and the answer took a while: only a larger difference counts. */
function clockOff(seconds: number, before: number, after: number): number {
  if (!Number.isFinite(seconds) || seconds === 0) return 0;
  const remote = seconds * 1000;
  return remote < before - 1000 ? remote - before : remote > after + 1000 ? remote - after : 0;
}
