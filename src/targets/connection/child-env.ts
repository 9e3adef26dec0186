/** The environment children get: buddy's own, without secrets and without what would change how buddy's runtime behaves. */
const OWN = ["BUN_OPTIONS", "BUN_BE_BUN", "BUDDY_API_KEY", "AGENT_API_KEY"];

export function childEnv(
  secretEnv: readonly string[],
  extra: Readonly<Record<string, string>> = {},
  from: Readonly<Record<string, string | undefined>> = process.env,
): Record<string, string> {
  const hidden = new Set([...OWN, ...secretEnv]);
  const env: Record<string, string> = {};
  for (const [name, value] of Object.entries({ ...from, ...extra })) {
    if (value !== undefined && !hidden.has(name)) env[name] = value;
  }
  return env;
}
