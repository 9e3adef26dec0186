/** What a stored session was run with, for the options that this command line leaves open. */
import type { Replay } from "../session/replay.ts";
import type { GlobalOptions } from "../cli/args/options.ts";

/** The target of the session, unless the command line names one. */
export function withStoredTarget(globals: GlobalOptions, { target, cwd }: Replay): GlobalOptions {
  if (globals.ssh !== undefined || globals.container !== undefined) return globals;
  const { ssh, container } = readLabel(target);
  if (ssh === undefined && container === undefined) return globals;
  return {
    ...globals,
    ...(ssh === undefined ? {} : { ssh }),
    ...(container === undefined ? {} : { container }),
    ...(globals.cd === undefined && cwd !== "" ? { cd: cwd } : {}),
  };
}

/** The profile of the session, unless --model or BUDDY_MODEL chose one. */
export function storedModel(globals: GlobalOptions, { profile, model }: Replay, configured: string | undefined) {
  if (globals.model !== undefined || process.env.BUDDY_MODEL || process.env.AGENT_MODEL || profile === "")
    return undefined;
  return model === "" || model === profile || model === configured || profile === "demo"
    ? profile
    : `${profile}:${model}`;
}

/** Whether two labels name one place: before it is open, an ssh target may lack the user it turns out to have. */
export function samePlace(one: string, other: string): boolean {
  const bare = (label: string) => label.replace(/\bssh [^@\s]+@/, "ssh ");
  return one === other || ((one === bare(one) || other === bare(other)) && bare(one) === bare(other));
}

/** `ssh deploy@web1`, `container api`, `container api on ssh deploy@web1`; anything else is this machine. */
function readLabel(label: string): { ssh?: string; container?: string } {
  const [, container, ssh] = /^(?:container (\S+?))?(?: on )?(?:ssh (\S+))?$/.exec(label) ?? [];
  return { ...(ssh === undefined ? {} : { ssh }), ...(container === undefined ? {} : { container }) };
}
