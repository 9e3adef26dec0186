/** How a target protects what runs without a question, in words. */
import type { Locks } from "../target.ts";

export function lockWords({ shell, namespace }: Pick<Locks, "shell" | "namespace">): string {
  const first = shell === "bash" ? "clean child (bash -p)" : "clean child (sh, fewer commands run unasked)";
  switch (namespace.kind) {
    case "making":
      return `${first}; read-only file systems: being prepared`;
    case "none":
      return `${first}; no read-only file systems: ${namespace.why}`;
    case "ready":
      return `${first}; read-only file systems${namespace.sealed ? "" : " (root could undo it: no setpriv or capsh)"}`;
  }
}
