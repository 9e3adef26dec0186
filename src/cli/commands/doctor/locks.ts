/** The locks on what runs without a question, tried out on the machine. */
import type { SecondLock, Transport } from "../../../targets/target.ts";
import { CleanChildren } from "../../../targets/unasked/clean-children.ts";
import { lockWords } from "../../../targets/unasked/lock-words.ts";
import type { Finding } from "./finding.ts";

export async function checkLocks(transport: Transport, lock: SecondLock = "auto"): Promise<Finding> {
  const children = new CleanChildren(transport, lock);
  children.start();
  const room = await children.settled;
  const text = lockWords({ shell: children.shell, room });
  await children.end();
  if (room.kind === "ready" || lock === "off") return { check: "locks", status: "ok", text };
  if (lock !== "required") return { check: "locks", status: "info", text };
  return {
    check: "locks",
    status: "warning",
    text: `${text}; second_lock = "required", so every command asks`,
    remedy: 'allow user namespaces or install util-linux there, or set second_lock = "auto"',
  };
}
