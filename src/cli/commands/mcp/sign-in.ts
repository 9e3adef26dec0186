/** Signing in at an MCP server with the browser of this machine. */
import { connectTo, signInStore } from "../../../app/mcp-servers.ts";
import type { LoadedConfig } from "../../../config/load.ts";
import type { McpSettings } from "../../../config/schema.ts";
import { WaitingForBrowser } from "../../../extend/mcp/connection.ts";
import { BuddyError } from "../../../lib/errors.ts";
import { within } from "../../../lib/waiting.ts";

export async function signInAtServer(
  loaded: LoadedConfig,
  name: string,
  settings: McpSettings,
  say: (line: string) => void,
): Promise<void> {
  const state = crypto.randomUUID();
  using callback = listen(state);
  // Another port than the last time: a client that was registered with that one would be refused.
  signInStore(loaded).write(new URL(settings.url ?? "").href, { client: undefined, tokens: undefined });
  const signIn = {
    redirectUri: callback.redirectUri,
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
    if (parameters === undefined) throw new BuddyError("timeout", "the browser did not come back within 10 minutes");
    if (parameters.get("code") === null) throw new BuddyError("auth", "the sign-in was declined in the browser");
    await error.finish(parameters);
    await using connection = await connectTo(loaded, { name, settings });
    say(`${connection.about || name} accepts the sign-in`);
  }
}

/** Answers the browser on a loopback port, and only who knows the state. */
function listen(state: string) {
  const arrived = Promise.withResolvers<URLSearchParams>();
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch(request) {
      const { pathname, searchParams } = new URL(request.url);
      if (pathname !== "/callback") return page("Not found.", 404);
      if (searchParams.get("state") !== state) return page("This is not the sign-in.", 400);
      arrived.resolve(searchParams);
      return page("You can close this page and return to the terminal.");
    },
  });
  return {
    redirectUri: `http://127.0.0.1:${server.port}/callback`,
    arrived: arrived.promise,
    [Symbol.dispose]: () => void server.stop(true),
  };
}

function page(words: string, status = 200): Response {
  return new Response(`<!doctype html><meta charset="utf-8"><title>buddy</title><p>${words}</p>\n`, {
    status,
    headers: { "content-type": "text/html; charset=utf-8", connection: "close" },
  });
}

const PATIENCE_MS = 10 * 60_000;
