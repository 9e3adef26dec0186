/** The servers of a run as lines for a person: state, tools, resources, prompts. */
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
      ...(resources.length === 0
        ? []
        : [
            `  resources: ${resources
              .slice(0, MOST)
              .map(({ name }) => name)
              .join(", ")}`,
          ]),
      ...(prompts.length === 0
        ? []
        : [
            `  prompts: ${prompts
              .slice(0, MOST)
              .map(({ name }) => name)
              .join(", ")}`,
          ]),
    ];
  });
}

function hint({ readOnly, destructive }: ServerStatus["tools"][number], { trusted }: ServerStatus): string {
  if (readOnly) return trusted ? "  only reads: runs without a question" : "  says that it only reads";
  return destructive ? "  may destroy something" : "";
}

const MOST = 40;
const PATIENCE_MS = 2_000;
