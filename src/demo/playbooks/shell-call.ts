/** A call of run_shell with the four fields that say what it is about. */
import type { Call } from "./plan.ts";

export function shellCall(command: string, why: string, more: Readonly<Record<string, unknown>> = {}): Call {
  return { tool: "run_shell", args: { command, ...declared(command), why, ...more } };
}

/** A guess by the words of the command; buddy's policy judges by itself and takes the stricter view. */
function declared(command: string): { risk: "low" | "medium" | "high"; mutation: boolean; privesc: boolean } {
  const privesc = /(^|[\s;&|(])(sudo|su|doas|pkexec)\s/.test(command);
  const dangerous =
    /(^|[\s;&|(])(rm|dd|mkfs\S*|shutdown|reboot|halt|fdisk|parted|wipefs|kill|pkill|killall|chmod|chown|iptables)\s/.test(
      command,
    );
  const looks =
    !privesc && !dangerous && READS.test(command) && !/[>]|\btee\b|-delete\b|-exec\b|\bsed\s+-i/.test(command);
  return { risk: dangerous || privesc ? "high" : looks ? "low" : "medium", mutation: !looks, privesc };
}

const READS =
  /^\s*(ls|cat|head|tail|df|du|free|ps|uptime|uname|hostname|whoami|id|date|pwd|echo|printf|grep|egrep|rg|find|wc|stat|file|which|type|env|printenv|seq|true|false|sleep|sort|uniq|cut|awk|sed|git\s+(status|log|diff|show|branch)|lsblk|lscpu|mount|ip|ss|netstat|vm_stat|sw_vers|test|\[)(\s|$|;)/;
