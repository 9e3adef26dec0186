/** The servers of a run as lines for a person: state, tools, resources, prompts. */
import type { Listed } from "./connection.ts";
import type { McpServers, ServerStatus } from "./servers.ts";

export async function serverRows(servers: McpServers | undefined): Promise<string[]> {
  if (servers === undefined) return ["no MCP servers; add one with: buddy mcp add NAME -- PROGRAM ARGUMENTS"];
  await servers.settled(PATIENCE_MS);
  const all = servers.status();
  const beside = await Promise.all(
    all.map(({ name, state }) => (state === "ready" ? servers.beside(name) : { resources: [], prompts: [] })),
  );
  return all.flatMap((one, at) => {
    const { resources = [], prompts = [] } = beside[at] ?? {};
    return [
      `${one.name}: ${one.state}${one.about === "" ? "" : `, ${one.about}`}${one.problem === undefined ? "" : `: ${one.problem}`}`,
      ...one.tools.slice(0, MOST).map((tool) => `  ${tool.offered}${hint(tool, one)}`),
      ...(one.tools.length > MOST ? [`  and ${one.tools.length - MOST} more tools`] : []),
      ...one.problems.map((text) => `  problem: ${text}`),
      ...named("resource", resources),
      ...named("prompt", prompts),
    ];
  });
}

function named(what: string, list: readonly Listed[]): string[] {
  const rows = list
    .slice(0, MOST_NAMED)
    .map(({ name, about }) => `  ${what} ${name}${about === "" ? "" : `: ${about}`}`);
  return list.length > MOST_NAMED ? [...rows, `  and ${list.length - MOST_NAMED} more ${what}s`] : rows;
}

function hint({ readOnly, destructive }: ServerStatus["tools"][number], { trusted }: ServerStatus): string {
  if (readOnly) return trusted ? "  only reads: runs without a question" : "  says that it only reads";
  return destructive ? "  may destroy something" : "";
}

const MOST = 40;
const MOST_NAMED = 10;
const PATIENCE_MS = 2_000;
