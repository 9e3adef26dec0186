/** What a user without a usable model can do: sign in, give a key, use a local server that answers, or try the demo. */
import { BuddyError } from "../lib/errors.ts";

/** Servers on their usual ports. */
const LOCAL_SERVERS = [
  { name: "Ollama", url: "http://127.0.0.1:11434/v1" },
  { name: "LM Studio", url: "http://127.0.0.1:1234/v1" },
  { name: "llama.cpp", url: "http://127.0.0.1:8080/v1" },
];

export interface LocalServer {
  readonly name: string;
  readonly url: string;
  readonly models: readonly string[];
}

/** The same error with every way out in its hint; only for errors of code "auth", others come back as they are. */
export async function withWaysOut(error: unknown, servers = LOCAL_SERVERS): Promise<unknown> {
  if (!(error instanceof BuddyError) || error.code !== "auth") return error;
  const lines = [
    ...(error.hint === undefined ? [] : [error.hint, ""]),
    "ways to a model:",
    '  buddy login                         sign in (profiles with auth = "login")',
    "  export BUDDY_API_KEY=…              a key for the active profile",
    "  buddy --model demo                  the built-in demo: no key, no network",
    ...(await findLocalServers(servers)).map(
      ({ name, url, models }) =>
        `  buddy --base-url ${url} -m ${models[0] ?? "MODEL"}   ${name} answers on this machine`,
    ),
  ];
  return new BuddyError("auth", error.message, { hint: lines.join("\n"), cause: error.cause });
}

/** Asked all at once, and only for a moment: this stands between the user and an error message. */
export async function findLocalServers(
  servers: readonly { name: string; url: string }[] = LOCAL_SERVERS,
): Promise<LocalServer[]> {
  const found = await Promise.all(
    servers.map(async ({ name, url }): Promise<LocalServer[]> => {
      try {
        const response = await fetch(`${url}/models`, { signal: AbortSignal.timeout(400), proxy: false });
        if (!response.ok) return [];
        const body = (await response.json()) as { data?: readonly { id?: unknown }[] };
        const models = (body.data ?? []).flatMap(({ id }) => (typeof id === "string" ? [id] : []));
        return [{ name, url, models: models.slice(0, 8) }];
      } catch {
        return []; // nobody there, or not one of these
      }
    }),
  );
  return found.flat();
}
