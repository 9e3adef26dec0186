/** Every tool buddy has. */
import { killShellTool, listShellsTool, shellOutputTool } from "./background-shells.ts";
import { editFileTool } from "./edit-file.ts";
import { type FetchSettings, fetchUrlTool } from "./fetch-url.ts";
import { capturePaneTool, sendKeysTool, tmuxObjectTools } from "./panes.ts";
import { planTool } from "./plan.ts";
import { readFileTool } from "./read-file.ts";
import { runShellTool, type ShellSettings } from "./run-shell.ts";
import { type SkillSource, skillTool } from "./skill.ts";
import { timeTool } from "./time.ts";
import type { Tool } from "./tool.ts";
import { type SearchSettings, webSearchTool } from "./web-search.ts";
import { writeFileTool } from "./write-file.ts";

export interface BuiltinSettings {
  readonly shell: ShellSettings;
  readonly fetch: FetchSettings;
  readonly search: SearchSettings;
  readonly skills?: SkillSource | undefined;
}

export function builtinTools({ shell, fetch, search, skills }: BuiltinSettings): readonly Tool[] {
  return [
    runShellTool(shell),
    shellOutputTool,
    killShellTool,
    listShellsTool,
    readFileTool,
    writeFileTool,
    editFileTool,
    fetchUrlTool(fetch),
    webSearchTool(search),
    capturePaneTool,
    sendKeysTool,
    ...tmuxObjectTools,
    timeTool,
    planTool,
    skillTool(skills),
  ] as readonly Tool[];
}
