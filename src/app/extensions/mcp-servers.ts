/** The MCP servers of a run, with what they need from it: its directories, its environment, its sign-ins. */
import { dirname, join } from "node:path";
import type { LoadedConfig } from "../../config/load.ts";
import { buddyPaths } from "../../config/paths.ts";
import type { ServerConnection, ServerOptions } from "../../extend/mcp/connection.ts";
import { rememberedLists } from "../../extend/mcp/tool-lists.ts";
import { McpServers } from "../../extend/mcp/servers.ts";
import { SignInStore } from "../../extend/mcp/oauth-sign-in.ts";
import { BuddyError } from "../../lib/errors.ts";
import { stateDirectory } from "../../lib/user-directories.ts";
import { defined, variablesIn } from "../../lib/values.ts";
import type { MoreTools } from "../../tools/registry.ts";

export interface RunServers {
  readonly servers: McpServers;
  readonly tools: MoreTools;
}

/** Loads nothing of the client package: a server is connected to when it is needed. */
export function runServers(loaded: LoadedConfig, notice: (text: string) => void): RunServers {
  const servers = new McpServers({
    servers: loaded.config.mcp,
    memory: rememberedLists(stateDirectory(loaded.env)),
    connect: (options, signal) => connectTo(loaded, options, signal),
    notice,
  });
  return {
    servers,
    tools: {
      get schemas() {
        return servers.schemas;
      },
      async get(name) {
        const found = servers.find(name);
        if (found === undefined) return undefined;
        const { serverTool } = await import("../../extend/mcp/server-tool.ts");
        return serverTool(servers, found);
      },
    },
  };
}

type Given = Pick<ServerOptions, "name" | "settings" | "onListChanged" | "onEnd" | "signIn">;

export async function connectTo(loaded: LoadedConfig, options: Given, signal?: AbortSignal): Promise<ServerConnection> {
  const { connectServer } = await import("../../extend/mcp/connection.ts");
  const cwd = directoryOf(loaded, options.name);
  const reach = (url: string | URL, init: RequestInit = {}) => reachPublic(loaded, new URL(url), init);
  return connectServer({ ...options, cwd, env: loaded.env, signIns: signInStore(loaded), reach }, signal);
}

/** By the rules for addresses that fetch_url has; those listed in fetch_allowed_domains may be private. */
async function reachPublic({ config }: LoadedConfig, url: URL, init: RequestInit): Promise<Response> {
  const { safeRequest } = await import("../../policy/web/safe-fetch.ts");
  const { fetch_allowed_domains: allow, fetch_blocked_domains: deny } = config.tools;
  const options = {
    timeoutMs: config.network.fetch_timeout,
    signal: init.signal ?? new AbortController().signal,
    headers: Object.fromEntries(new Headers(init.headers)),
    ...defined({ method: init.method, body: init.body ?? undefined }),
  };
  const asPublic = await safeRequest(url.href, { ...options, rules: { allow: [], deny } });
  const answer =
    "kind" in asPublic && allow.length > 0
      ? await safeRequest(url.href, { ...options, rules: { allow, deny } })
      : asPublic;
  if (!("kind" in answer)) return answer;
  throw new BuddyError("auth", `the server wants its sign-in at ${url.origin}, which is not asked: ${answer.why}`, {
    hint: "If that is right, add the host to fetch_allowed_domains.",
  });
}

/**
 * The directory of the file that configures the server: a relative path, or what a runner such as npx finds first, must
 * not depend on the repository that buddy is started in.
 */
function directoryOf({ origins, cwd }: LoadedConfig, name: string): string {
  const origin = origins.get(`mcp.${name}.command`);
  return origin?.kind === "file" ? dirname(origin.file) : cwd;
}

export function signInStore(loaded: LoadedConfig): SignInStore {
  const directory = buddyPaths(loaded.env)?.dir;
  return new SignInStore(directory === undefined ? undefined : join(directory, "mcp-auth.json"));
}

/** Values that headers take from the environment: masked on screens, in logs and for the model. */
export function serverSecrets({ config, env }: LoadedConfig): string[] {
  const texts = Object.values(config.mcp).flatMap(({ headers = {} }) => Object.values(headers));
  return texts.flatMap((text) => variablesIn(text).flatMap((name) => env[name] || []));
}
