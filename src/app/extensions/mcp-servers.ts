/** The MCP servers of a run, with what they need from it: its directories, its environment, its sign-ins. */
import { dirname, join } from "node:path";
import type { LoadedConfig } from "../../config/load.ts";
import { buddyPaths } from "../../config/paths.ts";
import type { ServerConnection, ServerOptions } from "../../extend/mcp/connection.ts";
import { rememberedLists } from "../../extend/mcp/tool-lists.ts";
import { McpServers } from "../../extend/mcp/servers.ts";
import { SignInStore } from "../../extend/mcp/oauth-sign-in.ts";
import { stateDirectory } from "../../lib/user-directories.ts";
import { variablesIn } from "../../lib/values.ts";
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
  return connectServer({ ...options, cwd, env: loaded.env, signIns: signInStore(loaded) }, signal);
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
