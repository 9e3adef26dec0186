/** The settings the shell judge needs, taken from the configuration. */
import type { Config } from "../config/schema.ts";
import type { ShellRules } from "../policy/verdict.ts";

export function shellRules({ tools, safety }: Pick<Config, "tools" | "safety">): ShellRules {
  return {
    autoApprove: tools.shell_auto_approve,
    hosts: tools.fetch_allowed_domains,
    allow: tools.shell_allow,
    denylist: tools.shell_denylist,
    safety: {
      gitAdd: safety.git_add,
      forcePush: safety.force_push,
      dangerousRm: safety.dangerous_rm,
      disk: safety.disk,
      forkBomb: safety.fork_bomb,
    },
  };
}
