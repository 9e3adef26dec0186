/** Every tool buddy has, switched by the configuration. */
import { killShellTool, listShellsTool, shellOutputTool } from "./background-shells.ts";
import { editFileTool } from "./edit-file.ts";
import { capturePaneTool, sendKeysTool } from "./panes.ts";
import { readFileTool } from "./read-file.ts";
import { runShellTool, type ShellSettings } from "./run-shell.ts";
import { timeTool } from "./time.ts";
import { tmuxObjectTools } from "./tmux-objects.ts";
import type { Tool } from "./tool.ts";
import { writeFileTool } from "./write-file.ts";

export interface BuiltinSettings {
  /** Absent: switched off. */
  readonly shell?: ShellSettings;
  readonly files: boolean;
  /** Tools made elsewhere, such as fetch_url and web_search. */
  readonly more?: readonly Tool[];
}

export function builtinTools(settings: BuiltinSettings): readonly Tool[] {
  const { shell, files, more = [] } = settings;
  return [
    ...(shell === undefined ? [] : [runShellTool(shell), shellOutputTool, killShellTool, listShellsTool]),
    ...(files ? [readFileTool, writeFileTool, editFileTool] : []),
    ...more,
    ...(shell === undefined ? [] : [capturePaneTool, sendKeysTool, ...tmuxObjectTools]),
    timeTool,
  ] as readonly Tool[];
}
