/** Signing in at an MCP server with the browser of this machine. */
import { connectTo, signInStore } from "../../../app/extensions/mcp-servers.ts";
import type { LoadedConfig } from "../../../config/load.ts";
import type { McpSettings } from "../../../config/schema.ts";
import { WaitingForBrowser } from "../../../extend/mcp/connection.ts";
import { BuddyError } from "../../../lib/errors.ts";
import { within } from "../../../lib/waiting.ts";
import { browserCallback } from "../../../auth/browser-flow.ts";

export async function signInAtServer(
  loaded: LoadedConfig,
  name: string,
  settings: McpSettings,
  say: (line: string) => void,
): Promise<void> {
  const state = crypto.randomUUID();
  using callback = browserCallback({ ports: [0], path: "/callback", state });
  // Another port than the last time: a client that was registered with that one would be refused.
  signInStore(loaded).write(new URL(settings.url ?? "").href, { client: undefined, tokens: undefined });
  const signIn = {
    redirectUri: `http://127.0.0.1:${callback.port}/callback`,
    state,
    onPage: (url: URL) => {
      say("Open this page in a browser on this machine:");
      say(`  ${url.href}`);
    },
  };
  try {
    await using connection = await connectTo(loaded, { name, settings, signIn });
    say(`${connection.about || name} needs no sign-in`);
  } catch (error) {
    if (!(error instanceof WaitingForBrowser)) throw error;
    const parameters = await within(callback.arrived, PATIENCE_MS);
    if (parameters === undefined) throw new BuddyError("timeout", "the browser did not return within 10 minutes");
    await error.finish(parameters);
    await using connection = await connectTo(loaded, { name, settings });
    say(`${connection.about || name} accepts the sign-in`);
  }
}

const PATIENCE_MS = 10 * 60_000;
