/** What a scripted model calls. */

/** A call of run_shell with honest metadata. */
export function shell(
  command: string,
  more: Record<string, unknown> = {},
): { toolCalls: [{ name: string; args: unknown }] } {
  return call("run_shell", {
    command,
    risk: "low",
    mutation: false,
    privesc: false,
    why: "the test wants it",
    ...more,
  });
}

export function call(name: string, args: unknown = {}): { toolCalls: [{ name: string; args: unknown }] } {
  return { toolCalls: [{ name, args }] };
}

export const DECLARED = { risk: "medium", mutation: true, privesc: false, why: "the test wants it" } as const;
