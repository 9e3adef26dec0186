/** What a user without a usable model can do: sign in, give a key, use a local server that answers, or try the demo. */
import { BuddyError } from "../lib/errors.ts";
import type { Candidate } from "../model/local-servers.ts";

/** The same error with all of these in its hint; only for errors of code "auth", others come back as they are. */
export async function withNoModelHint(error: unknown, servers?: readonly Candidate[]): Promise<unknown> {
  if (!(error instanceof BuddyError) || error.code !== "auth") return error;
  const [{ findLocalServers }, { firstModels }] = await Promise.all([
    import("../model/local-servers.ts"),
    import("./first-model.ts"),
  ]);
  const keys = (await firstModels(process.env, [])).map(({ text }) => text);
  const lines = [
    ...(error.hint === undefined ? [] : [error.hint, ""]),
    "To connect a model:",
    ...keys.map((text) => `  buddy                               offers ${text}`),
    ...(keys.length > 0 ? ["  buddy init < /dev/null              uses it without a question, for scripts"] : []),
    '  buddy login                         sign in (profiles with auth = "login")',
    "  buddy init                          choose a model and paste a key",
    "  export BUDDY_API_KEY=…              a key for the active profile",
    "  buddy --model demo                  the built-in demo: no key, no network",
    ...(await findLocalServers(servers)).map(
      ({ name, baseUrl, models }) =>
        `  buddy --base-url ${baseUrl} -m ${models[0] ?? "MODEL"}   ${name} answers on this machine`,
    ),
  ];
  return new BuddyError("auth", error.message, { hint: lines.join("\n"), cause: error.cause });
}
